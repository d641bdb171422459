"""Launches fused kernels with CuPy over packed columns in the GPU's memory."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpudb.engine.gpu.backend.stopping import check_stop
from gpudb.engine.gpu.fused.codegen.kernel import Kernel, Options, choose_options, generate_kernel
from gpudb.engine.gpu.fused.columns.packed_column import Encoding
from gpudb.engine.gpu.fused.columns.text_columns import RawText
from gpudb.engine.gpu.fused.cuda import compaction, nvrtc
from gpudb.engine.gpu.fused.cuda.compile_pool import nvrtc_pool
from gpudb.engine.gpu.fused.cuda.replay import Launch, Replay
from gpudb.engine.gpu.fused.cuda.result_buffers import ResultBuffers, group_bytes
from gpudb.engine.gpu.fused.ir.pipeline import GroupSink, NotFused, Pipeline, RowSink
from gpudb.engine.gpu.fused.numpy_backend.executor import Outcome, Segment, specialize
from gpudb.engine.gpu.fused.numpy_backend.row_block import Table
from gpudb.lru import IdentityKey, LruCache

_MAX_LOADED = 4096
"""Maximum pipelines whose loaded kernels are cached; for others the source is generated again."""
_HOST_ROWS, _DEVICE_ROWS = 1 << 26, 1 << 30
"""Maximum output rows that are copied to the host, and that stay on the device."""
_SEGMENT_ROWS = 1 << 33
"""Maximum rows of a segment: kernels number groups of at least four rows with 32 bits."""
_FIRST_SLOTS = 1 << 22
"""Maximum initial slots of a hash table of groups."""
_MAX_BY_IDENTITY = 1024
"""Maximum pipelines whose kernels are cached by identity, without their digests."""
_THREADS = 2048
"""Threads of a multiprocessor."""
_SHARED_ATTRIBUTE, _REGISTERS_ATTRIBUTE = 8, 4
"""The driver's numbers of function attributes."""
_ALLOCATION_FAILED = 2
"""Error number of a failed allocation, in the driver and the runtime."""
_SCALARS: dict[str, Any] = {
    "int": np.int32, "u32": np.uint32, "i64": np.int64, "u64": np.uint64, "double": np.float64,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class LoadedKernel:
    """A kernel that is loaded on the device: its function and resources."""

    kernel: Kernel
    options: Options
    function: Any
    blocks: int
    registers: int
    milliseconds: float


class _Timing(threading.local):
    milliseconds = 0.0


class Launcher:
    """Runs pipelines on the current device. A kernel is loaded once, whatever the constants of its pipelines."""

    def __init__(self) -> None:
        import cupy

        self._cupy: Any = cupy
        self._loading = threading.Lock()
        self._loaded: LruCache[tuple[str, Options], LoadedKernel] = LruCache(_MAX_LOADED)
        self._functions: dict[str, tuple[Any, nvrtc.CompiledKernel]] = {}
        self._shared: dict[str, int] = {}
        self._by_identity: LruCache[tuple[IdentityKey[Pipeline], tuple[Encoding, ...]], LoadedKernel] = LruCache(
            _MAX_BY_IDENTITY
        )
        self._timing = _Timing()
        self._capacities: LruCache[IdentityKey[Pipeline], int] = LruCache(_MAX_BY_IDENTITY)
        self._compact_function: Any = None
        device = cupy.cuda.Device()
        self._processors: int = device.attributes["MultiProcessorCount"]
        self.compile_pool = nvrtc_pool(f"sm_{device.compute_capability}")

    def load(self, pipeline: Pipeline, options: Options | None = None) -> LoadedKernel:
        """Returns a pipeline's kernel, compiled and loaded."""
        options = options or choose_options(pipeline)
        key = pipeline.digest, options
        found = self._loaded.get(key)
        if found is None:
            with self._loading:
                found = self._loaded.get(key) or self._load(pipeline, options)
                self._loaded.put(key, found)
        return found

    def _load(self, pipeline: Pipeline, options: Options) -> LoadedKernel:
        kernel = generate_kernel(pipeline, options)
        function, made = self._function(kernel)
        driver = self._cupy.cuda.driver
        if kernel.shared_bytes > self._shared.get(kernel.source, 48 * 1024):
            driver.funcSetAttribute(function.ptr, _SHARED_ATTRIBUTE, kernel.shared_bytes)
            self._shared[kernel.source] = kernel.shared_bytes
        blocks = driver.occupancyMaxActiveBlocksPerMultiprocessor(
            function.ptr, kernel.block_threads, kernel.shared_bytes
        )
        registers = driver.funcGetAttribute(_REGISTERS_ATTRIBUTE, function.ptr)
        return LoadedKernel(kernel, options, function, max(blocks, 1), registers, made.milliseconds)

    def _function(self, kernel: Kernel) -> tuple[Any, nvrtc.CompiledKernel]:
        if kernel.source not in self._functions:
            made = self.compile_pool.get(kernel.source)
            module = self._cupy.cuda.function.Module()
            module.load(made.cubin)
            self._functions[kernel.source] = module.get_function(kernel.name), made
        return self._functions[kernel.source]

    def compact(self, target: ResultBuffers) -> None:
        """Starts the compaction of a target's groups."""
        if self._compact_function is None:
            module = self._cupy.cuda.function.Module()
            module.load(self.compile_pool.get(compaction.compaction_source()).cubin)
            self._compact_function = module.get_function("compact")
        grid = min(
            -(-target.slots // compaction.BLOCK_THREADS), self._processors * _THREADS // compaction.BLOCK_THREADS
        )
        self._compact_function((grid,), (compaction.BLOCK_THREADS,), target.compaction_arguments())

    def kernel_for(self, pipeline: Pipeline, segment: Segment) -> LoadedKernel:
        """Returns a pipeline's kernel for the encodings of a segment's columns."""
        key = IdentityKey(pipeline), tuple(column.encoding for column in segment.columns)
        found = self._by_identity.get(key)
        if found is None:
            found = self.load(specialize(pipeline, segment))
            self._by_identity.put(key, found)
        return found

    def to_device(self, array: Any) -> Any:
        """Copies an array to the device; None stays None."""
        return None if array is None else self._cupy.asarray(array)

    def synchronize(self) -> None:
        """Waits until all work that the calling thread has queued on the device is done."""
        self._cupy.cuda.get_current_stream().synchronize()

    def loaded_kernels(self) -> list[LoadedKernel]:
        """Returns the kernels of the cached pipelines."""
        return list(self._loaded.values())

    def run(
        self,
        pipeline: Pipeline,
        segments: Sequence[Segment],
        lookups: Sequence[Sequence[Any]],
        tables: Sequence[Table],
        *,
        keep: bool = False,
    ) -> Outcome:
        """Runs a pipeline over segments, which are on the device; the other arrays may be on the host.

        The outcome is copied to the host; with `keep` a large outcome stays on the device, in any order. Raises
        MemoryError where the device has too little memory for the outcome, or for the kernel.
        """
        with self._map_memory_errors():
            return self._run(pipeline, segments, lookups, tables, keep)

    @contextmanager
    def _map_memory_errors(self) -> Iterator[None]:
        """Raises MemoryError where an allocation on the device fails."""
        cuda = self._cupy.cuda
        try:
            yield
        except (cuda.driver.CUDADriverError, cuda.runtime.CUDARuntimeError) as error:
            if error.status == _ALLOCATION_FAILED:
                raise MemoryError(str(error)) from error
            raise

    def _run(
        self,
        pipeline: Pipeline,
        segments: Sequence[Segment],
        lookups: Sequence[Sequence[Any]],
        tables: Sequence[Table],
        keep: bool,
    ) -> Outcome:
        xp = self._cupy
        arrays = [[self.to_device(each) for each in made] for made in lookups]
        entries = [(self.to_device(made), self.to_device(known)) for made, known in tables]
        if any(segment.rows > _SEGMENT_ROWS for segment in segments):
            raise NotFused("more rows in a file than a kernel can count")
        first = capacity = self._capacity(pipeline, segments)
        kernels = [self.kernel_for(pipeline, segment) for segment in segments]
        begin, end = xp.cuda.Event(), xp.cuda.Event()
        while True:
            check_stop()
            target = ResultBuffers(xp, pipeline.sink, capacity)
            begin.record()
            for segment, kernel in zip(segments, kernels, strict=True):
                if segment.rows:
                    self.launch(kernel, segment, arrays, entries, target).start()
            end.record()
            outcome = target.fetch(self.compact, keep=keep)
            if outcome is not None:
                end.synchronize()
                if capacity > first:
                    self._capacities.put(IdentityKey(pipeline), capacity)
                self._timing.milliseconds = xp.cuda.get_elapsed_time(begin, end)
                return outcome
            capacity = max(
                8 * capacity if target.required_capacity is None else 1 << target.required_capacity.bit_length(),
                2 * capacity,
            )
            if isinstance(pipeline.sink, RowSink) and capacity > (_DEVICE_ROWS if keep else _HOST_ROWS):
                raise NotFused("too many rows to copy through the host")

    def _capacity(self, pipeline: Pipeline, segments: Sequence[Segment]) -> int:
        """Returns the initial slots of a hash table of groups, or the initial capacity for output rows."""
        capacity, rows = _FIRST_SLOTS, sum(segment.rows for segment in segments)
        while capacity > 2 * max(rows, 8):
            capacity //= 2
        known = self._capacities.get(IdentityKey(pipeline))
        return capacity if known is None else max(capacity, known)

    def replay(
        self,
        pipeline: Pipeline,
        segments: Sequence[Segment],
        lookups: Sequence[Sequence[Any]],
        tables: Sequence[Table],
        max_bytes: int,
    ) -> Replay | None:
        """Prepares a pipeline that has run for repeated launches: see `run`.

        All arrays are on the device, and must stay there. None where the sink is not groups, needs more than
        `max_bytes` bytes, or memory is short.
        """
        capacity = self._capacity(pipeline, segments)
        if not isinstance(pipeline.sink, GroupSink) or group_bytes(pipeline.sink, capacity) > max_bytes:
            return None
        try:
            with self._map_memory_errors():
                target = ResultBuffers(self._cupy, pipeline.sink, capacity)
                launches = [
                    self.launch(self.kernel_for(pipeline, segment), segment, lookups, tables, target)
                    for segment in segments
                    if segment.rows
                ]
                return Replay(self._cupy, pipeline, segments, launches, target, self.compact)
        except MemoryError:
            return None

    @property
    def milliseconds(self) -> float:
        """Duration of this thread's last run on the device."""
        return float(self._timing.milliseconds)

    def launch(
        self,
        loaded: LoadedKernel,
        segment: Segment,
        arrays: Sequence[Sequence[Any]],
        tables: Sequence[tuple[Any, Any]],
        target: ResultBuffers,
    ) -> Launch:
        """Returns the launch of a kernel over a segment that is not empty; all arguments are on the device."""
        kernel = loaded.kernel
        arguments = kernel_arguments(kernel, segment, arrays, tables, target)
        grid = grid_size(kernel, loaded.options.rows, segment.rows, self._processors * loaded.blocks)
        return Launch(loaded.function, grid, kernel.block_threads, kernel.shared_bytes, tuple(arguments))


def kernel_arguments(
    kernel: Kernel,
    segment: Segment,
    arrays: Sequence[Sequence[Any]],
    tables: Sequence[tuple[Any, Any]],
    target: ResultBuffers,
) -> list[Any]:
    """Returns a kernel's arguments in the order of its parameters: arrays and scalars."""
    arguments: list[Any] = []
    for key in kernel.parameters:
        match key:
            case ("data", column):
                part = segment.columns[int(column)]
                arguments.append(part.data if part.texts is None else part.texts.ends)
            case ("texts" | "starts" | "skip" as which, column):
                arguments.append(_text_argument(segment.columns[int(column)].texts, which))
            case ("valid", column):
                arguments.append(segment.columns[int(column)].valid)
            case ("base", column):
                arguments.append(np.int64(segment.columns[int(column)].base))
            case ("array", lookup, which):
                arguments.append(arrays[int(lookup)][int(which)])
            case ("mask", lookup):
                arguments.append(np.int64(len(arrays[int(lookup)][0]) - 1))
            case ("table", number):
                arguments.append(tables[int(number)][0])
            case ("known", number):
                arguments.append(tables[int(number)][1])
            case ("rows",):
                arguments.append(np.int64(segment.rows))
            case ("constant", number):
                kind, value = kernel.constants[int(number)]
                arguments.append(_SCALARS[kind](value))
            case _:
                arguments.append(target.argument(key))
    return arguments


def grid_size(kernel: Kernel, together: int, rows: int, resident: int) -> int:
    """Returns the number of blocks for `rows` rows, of which a thread processes `together` at once.

    At most as many as can be `resident` on the device, but more where the rows per block are limited.
    """
    turns = -(-rows // (kernel.block_threads * together))
    if kernel.max_rows is None:
        return min(turns, resident)
    return max(min(turns, resident), -(-turns // max(kernel.max_rows // (kernel.block_threads * together), 1)))


def _text_argument(texts: RawText | None, which: str) -> Any:
    assert texts is not None
    return {"texts": texts.data, "starts": texts.starts, "skip": np.int64(texts.skip)}[which]
