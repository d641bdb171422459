"""What every engine is: a bound query and a snapshot in, Arrow batches out."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import pyarrow as pa

from gpudb.catalog.model import Catalog, Table
from gpudb.errors import QueryCanceled, SqlError, UndefinedTable
from gpudb.sql.bound import Query


@dataclass(frozen=True, slots=True)
class Settings:
    """What of a session's state an answer depends on, beside the snapshot that the query's tables carry.

    `values` are what session functions give in this statement (`now`, `current_user`, …), by the key of their
    registration; `frames` are registered Arrow tables. `search_path` is where names without a schema are looked up;
    `fallback` lets the embedded engine run what another one does not carry, of which `notice` tells. `system` gives
    the rows of functions that tell the server's state (`pg_stat_get_activity`, `pg_show_all_settings` …), each row by
    column name. `session` is the number of who asks: an engine shares itself out among sessions. `node` is the worker
    over whose rows alone a query is, if it is for one. Without `fused` workers that have kernels run none.
    """

    timezone: str = "UTC"
    values: Mapping[str, object] = field(default_factory=dict)
    frames: Mapping[str, pa.Table] = field(default_factory=dict)
    search_path: tuple[str, ...] = ("public",)
    system: Mapping[str, Callable[[], Sequence[Mapping[str, object]]]] = field(default_factory=dict)
    fallback: bool = True
    notice: Callable[[str], None] = lambda message: None
    session: int = 0
    node: int | None = None
    fused: bool = True


class Cancel:
    """A flag that ends a statement: set by a cancel request, a timeout or a lost client.

    An engine hangs a way to interrupt itself on it; `stop` may come from any thread, before or after. `waits_for` is
    what the statement waits for, as pg_stat_activity names it; None while it runs.
    """

    def __init__(self) -> None:
        self.waits_for: str | None = None
        self._lock = threading.Lock()
        self._reason: str | None = None
        self._interrupts: dict[int, object] = {}

    @property
    def reason(self) -> str | None:
        """Why the statement was stopped; None while it may run."""
        return self._reason

    def stop(self, reason: str = "canceling statement due to user request") -> None:
        """Ends the statement; the first reason stays."""
        with self._lock:
            self._reason = self._reason or reason
            interrupts = list(self._interrupts.values())
        for interrupt in interrupts:
            interrupt()  # type: ignore[operator]

    def attach(self, interrupt: object) -> None:
        """Has `interrupt()` called on a stop; at once if that has come already."""
        with self._lock:
            self._interrupts[id(interrupt)] = interrupt
            stopped = self._reason is not None
        if stopped:
            interrupt()  # type: ignore[operator]

    def detach(self, interrupt: object) -> None:
        """Forgets an interrupt whose work has ended."""
        with self._lock:
            self._interrupts.pop(id(interrupt), None)

    def check(self) -> None:
        """Raises 57014 if the statement was stopped."""
        if self._reason is not None:
            raise QueryCanceled(self._reason)


@dataclass(frozen=True, slots=True)
class Request:
    """One query to run: over a snapshot (a transaction's uncommitted files included), with its parameters' values."""

    query: Query
    snapshot: Catalog
    settings: Settings = Settings()
    parameters: tuple[object, ...] = ()
    cancel: Cancel = field(default_factory=Cancel)

    def table(self, bound: Table) -> Table:
        """A table of the query as the snapshot has it; 55000 for a materialized view without data."""
        found = self.snapshot.relations.get((bound.schema, bound.name))
        if not isinstance(found, Table) or found.oid != bound.oid:
            raise UndefinedTable(f'relation "{bound.name}" does not exist')
        if not found.populated:
            message = f'materialized view "{found.name}" has not been populated'
            hint = "Use the REFRESH MATERIALIZED VIEW command."
            raise SqlError.of("object_not_in_prerequisite_state", message, hint=hint)
        return found


@dataclass(frozen=True, slots=True)
class WorkerShare:
    """What one worker did of an operator: the rows and bytes that it gave, and how long it took."""

    worker: int
    rows: int
    bytes: int
    milliseconds: float


@dataclass(frozen=True, slots=True)
class PlanNode:
    """One operator of a plan as EXPLAIN tells it: `milliseconds` are its own, its inputs' left out.

    `width` is the bytes of a row, as estimated; `output` the names of its columns, which VERBOSE shows; `shares` are
    the workers' parts of what it did. `execution` is the statement's own time, in milliseconds, where it took longer
    to tell what each operator did.
    """

    operator: str
    details: tuple[tuple[str, str], ...] = ()
    estimated_rows: int | None = None
    rows: int | None = None
    milliseconds: float | None = None
    inputs: tuple[PlanNode, ...] = ()
    width: int | None = None
    output: tuple[str, ...] = ()
    shares: tuple[WorkerShare, ...] = ()
    execution: float | None = None


class Stream(Protocol):
    """A running query's rows: batches of the query's columns, each of `SqlType.arrow`."""

    schema: pa.Schema

    def __iter__(self) -> Iterator[pa.RecordBatch]: ...

    def close(self) -> None:
        """Stops the query if it runs still, and frees what it holds."""


class Engine(Protocol):
    """An engine: a bound query over a snapshot, whose tables say which files are theirs."""

    name: str

    def run(self, request: Request) -> Stream:
        """Starts a query. Errors come here or while the stream is read, with PostgreSQL's SQLSTATE."""

    def explain(self, request: Request, *, analyze: bool) -> PlanNode:
        """The plan; with `analyze` the query is run, and its rows and times are told."""

    def close(self) -> None:
        """Frees everything."""
