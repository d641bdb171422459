"""Chunks of table columns for fused kernels: libcudf decodes them into GPU memory, as CuPy arrays."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock, Thread
from typing import Any

import cupy
import numpy as np
import pylibcudf as plc

from gpudb.catalog.tables import Column, DataFile
from gpudb.engine.gpu.cudf.columns.arrays import (
    KINDS,
    encode_texts,
    integer_halves,
    validity_bits,
    values_array,
    view_bytes,
)
from gpudb.engine.gpu.cudf.files.reader import read_columns
from gpudb.engine.gpu.cudf.memory.streams import run_synchronized, synchronize
from gpudb.engine.gpu.fused.codegen.building_blocks import load_headers
from gpudb.engine.gpu.fused.columns.packed_column import PackedColumn
from gpudb.engine.gpu.fused.cuda import nvrtc
from gpudb.engine.gpu.fused.packed_cache.column_chunks import ColumnChunk
from gpudb.engine.gpu.fused.packed_cache.packing import (
    BLOCK_THREADS,
    VALUE_TYPES,
    Packer,
    packing_source,
    source_of_kernel,
)
from gpudb.engine.gpu.fused.translate.typed_values import TEXT, NotFused

_OTHERS = {plc.TypeId.STRING, plc.TypeId.DECIMAL128}


class CudfChunkReader:
    """Reads chunks into the memory of this process's GPU and packs them there; results are complete.

    Packing consists of short kernels: launched by several threads they would wait for each other and for Python's lock.
    """

    packs_in_order = True

    def __init__(self) -> None:
        kernels = _PackingKernels()
        self._packing = Packer(cupy, kernels)
        # The first compilation takes a second; later processes load the result from disk.
        Thread(target=kernels.compile, name="packing").start()

    def pack(self, chunks: Sequence[ColumnChunk]) -> list[PackedColumn | NotFused]:
        """See `ChunkReader`."""
        return run_synchronized(self._packing.pack, chunks)

    def concatenate(self, parts: Sequence[PackedColumn]) -> PackedColumn:
        """See `ChunkReader`."""
        return run_synchronized(self._packing.concatenate, parts)

    def pack_codes(self, chunk: ColumnChunk, codes: np.ndarray[Any, Any]) -> PackedColumn:
        """See `ChunkReader`."""
        return run_synchronized(self._packing.pack_codes, chunk, codes)

    def read(self, file: DataFile, columns: Sequence[Column], first: int, last: int) -> list[ColumnChunk | NotFused]:
        """See `ChunkReader`."""
        decoded = read_columns(file, columns, first, last)
        found: list[ColumnChunk | NotFused] = []
        for column, parts in zip(columns, decoded, strict=True):
            try:
                found.append(_to_chunk(column, *parts))
            except NotFused as reason:
                found.append(reason)
        synchronize()
        return found

    def read_raw_text(self, file: DataFile, column: Column, first: int, last: int) -> PackedColumn:
        """See `ChunkReader`."""
        ((made,),) = read_columns(file, [column], first, last)
        if made.type().id() != plc.TypeId.STRING or made.offset():
            raise NotFused(f"a column of type {column.type.plain} without a dictionary")
        if not made.size():
            return self._packing.raw_text_chunk(cupy.empty(0, np.uint8), cupy.empty(0, np.int32), None)
        ends = values_array(made.child(0))[1 : made.size() + 1]
        return run_synchronized(
            self._packing.raw_text_chunk, view_bytes(made.data(), int(ends[-1]), made), ends, validity_bits(made)
        )


def _to_chunk(column: Column, made: Any, *more: Any) -> ColumnChunk:
    if more or (made.type().id() not in KINDS and made.type().id() not in _OTHERS):
        raise NotFused(f"a column of type {column.type.plain}")
    valid = validity_bits(made)
    if column.type.name in TEXT:
        codes, keys = encode_texts(made)
        return ColumnChunk(codes, valid, keys)
    return ColumnChunk(integer_halves(made) if made.type().id() == plc.TypeId.DECIMAL128 else values_array(made), valid)


class _PackingKernels:
    """The packing kernels, compiled and loaded when one is first started; thread-safe."""

    def __init__(self) -> None:
        self._architecture = f"sm_{cupy.cuda.Device().compute_capability}"
        self._functions: dict[str, Any] = {}
        self._modules: dict[str, Any] = {}
        self._lock = Lock()

    def __call__(self, name: str, blocks: int, arguments: Sequence[Any]) -> None:
        function = self._functions.get(name) or self._function(name)
        function((blocks,), (BLOCK_THREADS,), tuple(arguments))

    def compile(self) -> None:
        """Compiles all kernels in advance, so that no statement waits for one."""
        for kind in (*VALUE_TYPES, "texts"):
            nvrtc.compile_source(packing_source(kind), load_headers(), self._architecture)

    def _function(self, name: str) -> Any:
        kind = source_of_kernel(name)
        with self._lock:
            if kind not in self._modules:
                module = cupy.cuda.function.Module()
                module.load(nvrtc.compile_source(packing_source(kind), load_headers(), self._architecture).cubin)
                self._modules[kind] = module
            return self._functions.setdefault(name, self._modules[kind].get_function(name))
