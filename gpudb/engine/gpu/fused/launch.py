"""Launches fused kernels on a GPU by CuPy: packed columns that lie there, lookups' arrays, one word for errors."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpudb.engine.gpu.fused import nvrtc
from gpudb.engine.gpu.fused.block import MAX, MIN, Table
from gpudb.engine.gpu.fused.generate import Kernel, Options, generated, headers, options_for
from gpudb.engine.gpu.fused.packed import Form
from gpudb.engine.gpu.fused.pipeline import Groups, NotFused, Pipeline, Rows
from gpudb.engine.gpu.fused.twin import Grouped, Outcome, Segment, in_forms
from gpudb.errors import InternalError

_FEW = 1 << 16
"""So many words of groups are copied to the host as they are; of more only those that are there."""
_STATE = 2
"""Words of 64 bits before them."""
_KEPT = 4096
"""So many pipelines' kernels are found at once, by the pipeline; of others the source is made again."""
_MOST = 1 << 26
"""So many rows may come out."""
_FIRST = 1 << 22
"""A hash table of groups begins with so many slots at most."""
_OVER = 1024
"""So many pipelines' kernels are found without their digests."""
_SHARED, _REGISTERS = 8, 4
"""The driver's numbers of a function's attributes."""
_SCALARS: dict[str, Any] = {
    "int": np.int32, "u32": np.uint32, "i64": np.int64, "u64": np.uint64, "double": np.float64,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Loaded:
    """A kernel on the device: its function, and what it needs."""

    kernel: Kernel
    options: Options
    function: Any
    blocks: int
    registers: int
    milliseconds: float


class _Spent(threading.local):
    milliseconds = 0.0


class Launcher:
    """Runs pipelines on the current device. A kernel is loaded once, whatever the constants of its pipelines."""

    def __init__(self) -> None:
        import cupy

        self._cupy: Any = cupy
        self._loaded: OrderedDict[tuple[str, Options], Loaded] = OrderedDict()
        self._functions: dict[str, tuple[Any, nvrtc.Compiled]] = {}
        self._shared: dict[str, int] = {}
        self._over: OrderedDict[tuple[int, tuple[Form, ...]], tuple[Pipeline, Loaded]] = OrderedDict()
        self._spent = _Spent()
        device = cupy.cuda.Device()
        self._processors: int = device.attributes["MultiProcessorCount"]
        self._architecture = f"sm_{device.compute_capability}"

    def loaded(self, pipeline: Pipeline, options: Options | None = None) -> Loaded:
        """A pipeline's kernel, compiled and loaded."""
        options = options or options_for(pipeline)
        key = pipeline.digest, options
        if key not in self._loaded:
            kernel = generated(pipeline, options)
            function, made = self._function(kernel)
            driver = self._cupy.cuda.driver
            if kernel.shared > self._shared.get(kernel.source, 48 * 1024):
                driver.funcSetAttribute(function.ptr, _SHARED, kernel.shared)
                self._shared[kernel.source] = kernel.shared
            blocks = driver.occupancyMaxActiveBlocksPerMultiprocessor(function.ptr, kernel.block, kernel.shared)
            registers = driver.funcGetAttribute(_REGISTERS, function.ptr)
            self._loaded[key] = Loaded(kernel, options, function, max(blocks, 1), registers, made.milliseconds)
            while len(self._loaded) > _KEPT:
                self._loaded.popitem(last=False)
        self._loaded.move_to_end(key)
        return self._loaded[key]

    def _function(self, kernel: Kernel) -> tuple[Any, nvrtc.Compiled]:
        if kernel.source not in self._functions:
            made = nvrtc.compiled(kernel.source, headers(), self._architecture)
            module = self._cupy.cuda.function.Module()
            module.load(made.cubin)
            self._functions[kernel.source] = module.get_function(kernel.name), made
        return self._functions[kernel.source]

    def over(self, pipeline: Pipeline, segment: Segment) -> Loaded:
        """The kernel of a pipeline for a segment's columns."""
        key = id(pipeline), tuple(column.form for column in segment.columns)
        found = self._over.get(key)
        if found is None:
            # Beside the kernel its pipeline, so that the id stays its own.
            found = self._over[key] = pipeline, self.loaded(in_forms(pipeline, segment))
            while len(self._over) > _OVER:
                self._over.popitem(last=False)
        return found[1]

    def placed(self, array: Any) -> Any:
        """An array on the device; None stays."""
        return None if array is None else self._cupy.asarray(array)

    def all_loaded(self) -> list[Loaded]:
        """The kernels of the last pipelines."""
        return list(self._loaded.values())

    def run(
        self,
        pipeline: Pipeline,
        segments: Sequence[Segment],
        lookups: Sequence[Sequence[Any]],
        tables: Sequence[Table],
    ) -> Outcome:
        """A pipeline over segments, which lie on the device; the other arrays may lie on the host."""
        xp = self._cupy
        arrays = [[self.placed(each) for each in made] for made in lookups]
        entries = [(self.placed(made), self.placed(known)) for made, known in tables]
        rows = sum(segment.rows for segment in segments)
        capacity = _FIRST
        while capacity > 2 * max(rows, 8):
            capacity //= 2
        kernels = [self.over(pipeline, segment) for segment in segments]
        begin, end = xp.cuda.Event(), xp.cuda.Event()
        while True:
            target = Target(xp, pipeline.sink, capacity)
            begin.record()
            for segment, kernel in zip(segments, kernels, strict=True):
                self.launch(kernel, segment, arrays, entries, target)
            end.record()
            outcome = target.outcome()
            if outcome is not None:
                end.synchronize()
                self._spent.milliseconds = xp.cuda.get_elapsed_time(begin, end)
                return outcome
            capacity *= 8
            if isinstance(pipeline.sink, Rows) and capacity > _MOST:
                raise NotFused("more rows than should go over the host")

    @property
    def milliseconds(self) -> float:
        """How long the kernels of this thread's last run took on the device."""
        return float(self._spent.milliseconds)

    def launch(
        self,
        loaded: Loaded,
        segment: Segment,
        arrays: Sequence[Sequence[Any]],
        tables: Sequence[tuple[Any, Any]],
        target: Target,
    ) -> None:
        """Starts a kernel over a segment on the current stream; everything given lies on the device."""
        if not segment.rows:
            return
        kernel = loaded.kernel
        given: list[Any] = []
        for key in kernel.parameters:
            match key:
                case ("data", column):
                    given.append(segment.columns[int(column)].data)
                case ("valid", column):
                    given.append(segment.columns[int(column)].valid)
                case ("base", column):
                    given.append(np.int64(segment.columns[int(column)].base))
                case ("array", lookup, which):
                    given.append(arrays[int(lookup)][int(which)])
                case ("mask", lookup):
                    given.append(np.int64(len(arrays[int(lookup)][0]) - 1))
                case ("table", number):
                    given.append(tables[int(number)][0])
                case ("known", number):
                    given.append(tables[int(number)][1])
                case ("rows",):
                    given.append(np.int64(segment.rows))
                case ("constant", number):
                    kind, value = kernel.constants[int(number)]
                    given.append(_SCALARS[kind](value))
                case _:
                    given.append(target.parameter(key))
        groups = -(-segment.rows // (kernel.block * loaded.options.rows))
        grid = min(groups, self._processors * loaded.blocks)
        loaded.function((grid,), (kernel.block,), tuple(given), shared_mem=kernel.shared)


class Target:
    """What a pipeline writes on the device: a state word for errors, groups' words or rows' values."""

    def __init__(self, xp: Any, sink: Groups | Rows, capacity: int) -> None:
        self._xp = xp
        self._sink = sink
        self._capacity = capacity
        slots = 0
        if isinstance(sink, Groups):
            slots = 1 if sink.form == "one" else sink.slots if sink.form == "dense" else capacity
            self.keys = xp.empty((len(sink.words), capacity), np.int64) if sink.form == "hash" else None
            self._shape = len(sink.accumulators), slots
        else:
            self.cursor = xp.zeros(1, np.uint64)
            self.out = [xp.zeros(capacity * _lanes(each), _kind(each)) for each in sink.values]
            self.there = [xp.zeros(capacity, np.uint8) for _ in sink.values]
            self._shape = 0, 0
        # In one piece, so that one copy brings both to the host.
        self._held = xp.empty(_STATE + self._shape[0] * slots, np.int64)
        self.state = self._held[:_STATE].view(np.uint32)
        self.words = self._held[_STATE:].reshape(self._shape)
        self.clear()

    def clear(self) -> None:
        """Back to the beginning."""
        self._held.fill(0)
        if isinstance(self._sink, Rows):
            self.cursor.fill(0)
            return
        for number, each in enumerate(self._sink.accumulators):
            if each.op in {"min", "max"}:
                self.words[number].fill(MAX if each.op == "min" else MIN)
        if self.keys is not None:
            self.keys.fill(-1)

    def parameter(self, key: tuple[str, ...]) -> Any:
        """What a kernel is given for one of its parameters."""
        match key:
            case ("state",):
                return self.state
            case ("words",):
                return self.words
            case ("keys",):
                return self.keys
            case ("mask of groups",):
                return np.int64(self._capacity - 1)
            case ("cursor",):
                return self.cursor
            case ("room",):
                return np.int64(self._capacity)
            case ("out", number):
                return self.out[int(number)]
            case ("there", number):
                return self.there[int(number)]
        raise InternalError(f"a kernel's parameter {key}")

    def outcome(self) -> Outcome | None:
        """What has come of it, on the host; None where there was too little room."""
        small = self._held[: None if self._held.size <= _FEW else _STATE].get()
        code, full, *_ = small[:_STATE].view(np.uint32).tolist()
        if isinstance(self._sink, Rows):
            count = int(self.cursor.get()[0])
            return None if count > self._capacity else Outcome(rows=self._values(count), code=code)
        if full:
            return None
        words = small[_STATE:].reshape(self._shape) if len(small) > _STATE else None
        return Outcome(grouped=self._groups(self._sink, words), code=code)

    def _values(self, count: int) -> list[tuple[Any, Any]]:
        assert isinstance(self._sink, Rows)
        found = []
        for each, out, there in zip(self._sink.values, self.out, self.there, strict=True):
            made = out[: count * _lanes(each)].get()
            if _lanes(each) == 2:
                low, high = made[0::2].astype(np.uint64).astype(object), made[1::2].astype(object)
                made = (high << 64) | low
            elif made.dtype.kind == "i":
                made = made.astype(np.int64)
            found.append((made, there[:count].get().astype(bool) if each.nullable else None))
        return found

    def _groups(self, sink: Groups, held: Any | None) -> Grouped:
        """The groups in order; `held` are their words on the host, where they are few."""
        xp = self._xp
        if self.keys is not None:
            place = xp.flatnonzero(self.keys[0] != -1)
            found = self.keys[:, place]
            order = xp.argsort(found[0]) if len(found) == 1 else xp.lexsort(xp.ascontiguousarray(found[::-1]))
            groups, words = found[:, order].get(), self.words[:, place[order]].get()
        elif held is not None:
            groups = (np.flatnonzero(held[0]) if sink.form == "dense" else np.zeros(1, np.int64))[None]
            words = held[:, groups[0]]
        else:
            place = xp.flatnonzero(self.words[0])
            groups, words = place.get()[None], self.words[:, place].get()
        return Grouped(
            groups.astype(np.int64, copy=False),
            tuple(
                made.view(np.float64) if each.op == "fadd" else made
                for each, made in zip(sink.accumulators, words, strict=True)
            ),
        )


def _lanes(expr: Any) -> int:
    return 2 if expr.bounds is not None and max(-expr.bounds[0] - 1, expr.bounds[1]) >= 2**63 else 1


def _kind(expr: Any) -> Any:
    if expr.bounds is None:
        return np.float64
    return np.int32 if max(-expr.bounds[0] - 1, expr.bounds[1]) < 2**31 else np.int64
