"""Figures of stages for EXPLAIN ANALYZE and traces: workers measure them, the coordinator adds them up.

They are named tuples since every reply has some for each stage: frozen dataclasses take twice as long to build.
Reads of files as tables, and steps of a statement beside its computation, are recorded here, too, in the variables of
the thread that does them.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Literal, NamedTuple

Wire = tuple[Any, ...]
"""The fields of an object, as messages carry them."""


class KernelFigures(NamedTuple):
    """A run of a fused part.

    The table, the bytes read, launches, rows skipped by zones, milliseconds, registers; of the `rows` of the table on
    this worker those that `passed` filters and joins (None: unknown); the bytes of its hash tables; or why it was
    `declined`, so that the general engine answered.
    """

    table: str
    bytes: int
    segments: int
    skipped: int
    milliseconds: float
    registers: int = 0
    reused: bool = False
    declined: str = ""
    rows: int = 0
    passed: int | None = None
    hashed: int = 0


class NarrowedScan(NamedTuple):
    """What a scan, at an index among its stage's scans, was narrowed to.

    The keys in words, the files that it reads and skips, the skipped rows of this partition, and whether rows are
    compared too.
    """

    scan: int
    keys: str
    read: int
    skipped: int
    rows: int
    compared: bool


class OperatorFigures(NamedTuple):
    """What an operator did, by its index in its stage.

    Rows read (by operators that filter), rows returned, rows and bytes of its hash table, and its milliseconds.
    """

    place: int
    read: int
    rows: int
    hashed: int
    bytes: int
    milliseconds: float


class FileReads(NamedTuple):
    """Bytes that were read of files that a statement reads as tables, by what, and for how many milliseconds."""

    way: str
    bytes: int
    milliseconds: float


class ExchangeFigures(NamedTuple):
    """Rows of a stage that a partition of another stage has fetched, from `started` (seconds since 1970 UTC) on.

    The numbers of both workers; rows, and bytes as they were sent; the milliseconds until the rows existed, of their
    encoding, and of their transfer and decoding; and how they came: `tcp`, `ucx`, or `ipc` from another GPU's memory.
    """

    stage: int
    source: int
    target: int
    started: float
    rows: int
    bytes: int
    waited: float
    encoded: float
    transferred: float
    transport: str


class StageFigures(NamedTuple):
    """What a stage did on a partition, from `started` (seconds since 1970 UTC) on.

    Of its bytes, `spilled` were written to files or offloaded. Of its milliseconds, `compiling` were waits for kernels
    that are compiled, and `loading` those in which it read columns into memory.
    """

    stage: int
    partition: int
    rows: int
    bytes: int
    spilled: int
    milliseconds: float
    host: tuple[str, ...] = ()
    """Steps on the host of a GPU worker."""
    started: float = 0.0
    compiling: float = 0.0
    loading: float = 0.0
    kernels: tuple[KernelFigures, ...] = ()
    narrowed: tuple[NarrowedScan, ...] = ()
    operators: tuple[OperatorFigures, ...] = ()
    reads: tuple[FileReads, ...] = ()
    exchanges: tuple[ExchangeFigures, ...] = ()
    """What it has fetched from other workers, if exchanges are measured."""

    def to_wire(self) -> Wire:
        """Returns the fields as plain tuples."""
        return *self[:10], *(tuple([tuple(each) for each in figures]) for figures in self[10:])

    @classmethod
    def from_wire(cls, wire: Wire) -> StageFigures:
        """Returns the figures of such fields."""
        kernels, narrowed, operators, reads, exchanges = wire[10:]
        return cls(*wire[:10])._replace(
            kernels=tuple([KernelFigures(*each) for each in kernels]),
            narrowed=tuple([NarrowedScan(*each) for each in narrowed]),
            operators=tuple([OperatorFigures(*each) for each in operators]),
            reads=tuple([FileReads(*each) for each in reads]),
            exchanges=tuple([ExchangeFigures(*each) for each in exchanges]),
        )


# ---- reads of files as tables

_Read = tuple[str, int, float, float]
"""How bytes were read, how many, and from when until when, in seconds."""
_recorded: ContextVar[list[_Read] | None] = ContextVar("recorded", default=None)


@contextmanager
def record_reads() -> Iterator[list[_Read]]:
    """Context whose reads are added to the list; threads need a copy of its variables."""
    reads: list[_Read] = []
    token = _recorded.set(reads)
    try:
        yield reads
    finally:
        _recorded.reset(token)


@contextmanager
def track_read(way: str, size: int) -> Iterator[None]:
    """Context of a read of so many bytes; `way` says by what."""
    started = time.perf_counter()
    yield
    reads = _recorded.get()
    if reads is not None:
        reads.append((way, size, started, time.perf_counter()))


def sum_reads(reads: list[_Read]) -> tuple[FileReads, ...]:
    """Returns the figures of reads by their way: reads at the same time take their time once."""
    found = []
    for way in dict.fromkeys(each[0] for each in reads):
        spent = _join_spans([(start, end) for each, _, start, end in reads if each == way])
        found.append(FileReads(way, sum(size for each, size, *_ in reads if each == way), 1000 * spent))
    return tuple(found)


# ---- steps of a statement beside its computation

Step = Literal["compiling", "loading"]
"""Waits for kernels that are compiled; reads of columns into memory."""
_Steps = list[tuple[Step, float, float]]
"""Steps, each from when until when, in seconds."""
_steps: ContextVar[_Steps | None] = ContextVar("steps", default=None)


@contextmanager
def record_steps() -> Iterator[_Steps]:
    """Context whose steps are added to the list; threads need a copy of its variables."""
    steps: _Steps = []
    token = _steps.set(steps)
    try:
        yield steps
    finally:
        _steps.reset(token)


@contextmanager
def track_step(step: Step) -> Iterator[None]:
    """Context of a step, and a decorator of a function that is one."""
    started = time.perf_counter()
    try:
        yield
    finally:
        steps = _steps.get()
        if steps is not None:
            steps.append((step, started, time.perf_counter()))


def sum_steps(steps: _Steps, step: Step) -> float:
    """Returns the milliseconds of the steps of one kind; those within each other take their time once."""
    return 1000 * _join_spans([(start, end) for each, start, end in steps if each == step])


def _join_spans(spans: list[tuple[float, float]]) -> float:
    """Returns how long some span of time lasts; those at the same time last once."""
    spent, until = 0.0, 0.0
    for start, end in sorted(spans):
        spent += max(end - max(start, until), 0.0)
        until = max(until, end)
    return spent
