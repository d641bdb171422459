"""Exact functions (kernels/exact.cu), distances (kernels/vectors.cu) and PL/CUDA functions over frames on the GPU, and
searches for first rows (kernels/top_rows.cu).

See `backend.exact_calls`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Lock, Thread
from typing import Any

import cupy
import numpy as np
import polars as pl
import pylibcudf as plc

from gpudb.engine.gpu.backend.distance_calls import DistanceCall
from gpudb.engine.gpu.backend.exact_calls import CoMomentCall, DeviationCall, ExactCall, QuotientCall
from gpudb.engine.gpu.backend.function_calls import FinishCall, FunctionCall
from gpudb.engine.gpu.backend.tree_calls import TreeCall
from gpudb.engine.gpu.cudf.algorithms.distances import Distances, start_distances
from gpudb.engine.gpu.cudf.algorithms.functions import Finished, Results, finish_states, start_function
from gpudb.engine.gpu.cudf.algorithms.tree_scores import Scores, start_scores
from gpudb.engine.gpu.cudf.columns.arrays import integer_halves, make_column, validity_mask, values_array
from gpudb.engine.gpu.cudf.columns.convert import build_frame, data_type
from gpudb.engine.gpu.fused.codegen.building_blocks import load_headers, read_source
from gpudb.engine.gpu.fused.cuda import nvrtc
from gpudb.errors import numeric_overflow
from gpudb.lru import LruCache
from gpudb.plcuda.source import make_error

_EXACT, _VECTORS, _TOP_ROWS = "exact.cu", "vectors.cu", "top_rows.cu"
_BLOCK_THREADS = 256
_LOST = 2  # the flag of lost decimals, without that of an overflow
_MAX_BLOCKS = 1 << 16
_MAX_BODIES = 1024
"""Kernels of PL/CUDA functions that stay loaded."""
_WIDE, _SCALE = plc.DataType(plc.TypeId.DECIMAL128, scale=0), plc.DataType(plc.TypeId.INT8)
_REAL = plc.DataType(plc.TypeId.FLOAT64)


Columns = dict[str, Any]


class ExactKernels:
    """The kernels, loaded when one of their file is first started; exact arithmetic is compiled in the background.

    Thread-safe.
    """

    def __init__(self) -> None:
        self._architecture = f"sm_{cupy.cuda.Device().compute_capability}"
        self._modules: dict[str, Any] = {}
        self._bodies: LruCache[str, Any] = LruCache(_MAX_BODIES)
        self._lock = Lock()
        Thread(target=self._compile, args=(read_source(_EXACT),), name="exact arithmetic").start()

    def compute(self, table: Any, calls: Sequence[ExactCall]) -> Any:
        """Returns the frame of the results of calls over a frame's columns. Raises 22003 beyond 38 digits, and what the
        bodies of PL/CUDA functions raise.

        The kernels run on the calling thread's stream, which the caller synchronizes.
        """
        columns = {column.name: column.obj for column in table.columns}
        flags = cupy.zeros(1 + len(calls), np.uint32)
        started = [self._start_call(columns, call, table.num_rows, flags, place) for place, call in enumerate(calls, 1)]
        failed, *nulls = flags.get().tolist()
        for each in started:
            if isinstance(each, Results) and each.call.function.errors and (number := int(each.error.get()[0])):
                raise make_error(each.call.function, number)
        if failed:
            raise numeric_overflow(lost=failed == _LOST)
        made = [each for results, count in zip(started, nulls, strict=True) for each in results.columns(count)]
        names, kinds = [name for name, _, _ in made], [data_type(kind) for _, kind, _ in made]
        return build_frame([column for _, _, column in made], names, kinds, table.num_rows)

    def _start_call(
        self, columns: Columns, call: ExactCall, rows: int, flags: Any, place: int
    ) -> _Results | Distances | Results | Finished | Scores:
        if isinstance(call, DistanceCall):
            return start_distances(self._start_distances, columns, call)
        if isinstance(call, FinishCall):
            return finish_states(columns, call)
        if isinstance(call, FunctionCall):
            return start_function(self._start_body, columns, call, rows, flags, place)
        if isinstance(call, TreeCall):
            return start_scores(self._start_scores, columns, call)
        return _STARTS[type(call)](self, columns, call, flags, place)

    def start(self, name: str, rows: int, arguments: Sequence[Any]) -> None:
        """Starts a kernel over rows."""
        if rows:
            blocks = min(-(-rows // _BLOCK_THREADS), _MAX_BLOCKS)
            self._function(_EXACT, name)((blocks,), (_BLOCK_THREADS,), tuple(arguments))

    def _start_distances(self, name: str, blocks: int, arguments: Sequence[Any]) -> None:
        if blocks:
            self._function(_VECTORS, name)((min(blocks, _MAX_BLOCKS),), (_BLOCK_THREADS,), tuple(arguments))

    def start_top_rows(self, name: str, blocks: int, arguments: Sequence[Any]) -> None:
        """Starts a kernel of a search for the first rows."""
        self._function(_TOP_ROWS, name)((min(blocks, _MAX_BLOCKS),), (_BLOCK_THREADS,), tuple(arguments))

    def _start_body(self, source: str, rows: int, arguments: Sequence[Any]) -> None:
        """Starts the kernel of a PL/CUDA function over rows."""
        if not rows:
            return
        with self._lock:
            function = self._bodies.get(source)
            if function is None:
                module = cupy.cuda.function.Module()
                module.load(nvrtc.compile_source(source, {}, self._architecture).cubin)
                function = module.get_function("run")
                self._bodies.put(source, function)
        function((min(-(-rows // _BLOCK_THREADS), _MAX_BLOCKS),), (_BLOCK_THREADS,), tuple(arguments))

    def _start_scores(self, source: str, blocks: int, arguments: Sequence[Any]) -> None:
        if blocks:
            self._load(source, source).get_function("score")((min(blocks, _MAX_BLOCKS),), (_BLOCK_THREADS,), arguments)

    def _compile(self, source: str) -> nvrtc.CompiledKernel:
        return nvrtc.compile_source(source, load_headers(), self._architecture)

    def _function(self, file: str, name: str) -> Any:
        return self._load(file, read_source(file)).get_function(name)

    def _load(self, key: str, source: str) -> Any:
        """Returns the module of a source, of which there is one for each key."""
        with self._lock:
            if key not in self._modules:
                module = cupy.cuda.function.Module()
                module.load(self._compile(source).cubin)
                self._modules[key] = module
            return self._modules[key]


class _Results:
    """The arrays that a kernel fills: values, display scales of numerics, and which rows have a result."""

    def __init__(self, name: str, rows: int, *, real: bool = False) -> None:
        self._name = name
        self.values = cupy.empty(rows, np.float64) if real else cupy.empty((rows, 2), np.int64)
        self.shown = None if real else cupy.empty(rows, np.int8)
        self.valid = cupy.empty(rows, np.bool_)

    def columns(self, nulls: int) -> list[tuple[str, pl.DataType, Any]]:
        """Returns the results as named columns, of which `nulls` rows are NULL."""
        rows, valid = len(self.valid), self.valid if nulls else None
        if self.shown is None:
            return [(self._name, pl.Float64(), make_column(_REAL, rows, self.values, valid))]
        return [
            (self._name, pl.Int128(), make_column(_WIDE, rows, self.values, valid)),
            (self._name + "s", pl.Int8(), make_column(_SCALE, rows, self.shown, valid)),
        ]


def _start_quotient(kernels: ExactKernels, columns: Columns, call: QuotientCall, flags: Any, place: int) -> _Results:
    a, b = columns[call.dividend], columns[call.divisor]
    rows = a.size()
    valid = _all_valid(a, b)
    made = _Results(call.name, rows)
    kernels.start(
        "quotients",
        rows,
        (
            *(integer_halves(a), np.int32(call.dividend_scale), integer_halves(b), np.int32(call.divisor_scale)),
            *(values_array(columns[call.shown]), np.int32(call.carried)),
            *(np.uint64(0) if valid is None else valid, np.int64(rows)),
            *(made.values, made.shown, made.valid, flags, np.int32(place)),
        ),
    )
    return made


def _start_deviation(kernels: ExactKernels, columns: Columns, call: DeviationCall, flags: Any, place: int) -> _Results:
    counts, total, squares = (columns[name] for name in (call.count, call.total, call.squares))
    rows = counts.size()
    high = np.uint64(0) if call.high is None else integer_halves(columns[call.high])
    made = _Results(call.name, rows)
    kernels.start(
        "deviations",
        rows,
        (
            *(values_array(counts), integer_halves(total), integer_halves(squares), high, np.int32(call.scale)),
            *(np.int32(call.sample), np.int32(call.root), np.int32(call.carried), np.int64(rows)),
            *(made.values, made.shown, made.valid, flags, np.int32(place)),
        ),
    )
    return made


def _start_co_moment(kernels: ExactKernels, columns: Columns, call: CoMomentCall, flags: Any, place: int) -> _Results:
    counts = values_array(columns[call.count])
    rows = len(counts)
    made = _Results(call.name, rows, real=True)
    sums = (integer_halves(columns[name]) for name in (call.x, call.y, call.products))
    kernels.start("co_moments", rows, (counts, *sums, np.int64(rows), made.values, made.valid, flags, np.int32(place)))
    return made


_STARTS: dict[type, Callable[[ExactKernels, Columns, Any, Any, int], _Results]] = {
    QuotientCall: _start_quotient,
    DeviationCall: _start_deviation,
    CoMomentCall: _start_co_moment,
}


def _all_valid(*columns: Any) -> Any | None:
    """Returns which rows are valid in all columns; None for all."""
    masks = [mask for mask in map(validity_mask, columns) if mask is not None]
    if not masks:
        return None
    result = masks[0]
    for mask in masks[1:]:
        result = result & mask
    return result
