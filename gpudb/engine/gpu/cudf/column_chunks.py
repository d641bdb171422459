"""Chunks of table columns for fused kernels: libcudf decodes them into GPU memory, as CuPy arrays."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock, Thread
from typing import Any

import cupy
import numpy as np
import pylibcudf as plc

from gpudb.catalog.model import Column, DataFile
from gpudb.engine.gpu.cudf.arrays import (
    KINDS,
    bits_of,
    coded_places,
    halves_of,
    values_of,
    view_of,
)
from gpudb.engine.gpu.cudf.reader import read
from gpudb.engine.gpu.cudf.streams import complete, completed
from gpudb.engine.gpu.fused.codegen.building_blocks import headers
from gpudb.engine.gpu.fused.columns.packed_column import PackedColumn
from gpudb.engine.gpu.fused.cuda import nvrtc
from gpudb.engine.gpu.fused.packed_cache.column_chunks import Piece
from gpudb.engine.gpu.fused.packed_cache.packing import BLOCK, VALUES, Packing, source, source_of
from gpudb.engine.gpu.fused.translate.typed_values import TEXT, NotFused

_OTHERS = {plc.TypeId.STRING, plc.TypeId.DECIMAL128}


class CudfPieces:
    """Reads chunks into the memory of this process's GPU and packs them there; results are complete."""

    def __init__(self) -> None:
        kernels = _Kernels()
        self._packing = Packing(cupy, kernels)
        # The first compilation takes a second; later processes load the result from disk.
        Thread(target=kernels.compile, name="packing").start()

    def packed(self, pieces: Sequence[Piece]) -> list[PackedColumn | NotFused]:
        """See `Pieces`."""
        return completed(self._packing.packed, pieces)

    def joined(self, parts: Sequence[PackedColumn]) -> PackedColumn:
        """See `Pieces`."""
        return completed(self._packing.joined, parts)

    def coded(self, piece: Piece, codes: np.ndarray[Any, Any]) -> PackedColumn:
        """See `Pieces`."""
        return completed(self._packing.coded, piece, codes)

    def pieces(self, file: DataFile, columns: Sequence[Column], first: int, last: int) -> list[Piece | NotFused]:
        """See `Pieces`."""
        decoded = read(file, columns, first, last)
        found: list[Piece | NotFused] = []
        for column, lanes in zip(columns, decoded, strict=True):
            try:
                found.append(_piece(column, *lanes))
            except NotFused as reason:
                found.append(reason)
        complete()
        return found

    def texts(self, file: DataFile, column: Column, first: int, last: int) -> PackedColumn:
        """See `Pieces`."""
        ((made,),) = read(file, [column], first, last)
        if made.type().id() != plc.TypeId.STRING or made.offset():
            raise NotFused(f"a column of type {column.type.plain} as it is")
        if not made.size():
            return self._packing.texts(cupy.empty(0, np.uint8), cupy.empty(0, np.int32), None)
        ends = values_of(made.child(0))[1 : made.size() + 1]
        return completed(self._packing.texts, view_of(made.data(), int(ends[-1]), made), ends, bits_of(made))


def _piece(column: Column, made: Any, *more: Any) -> Piece:
    if more or (made.type().id() not in KINDS and made.type().id() not in _OTHERS):
        raise NotFused(f"a column of type {column.type.plain}")
    valid = bits_of(made)
    if column.type.name in TEXT:
        places, keys = coded_places(made)
        return Piece(places, valid, keys)
    return Piece(halves_of(made) if made.type().id() == plc.TypeId.DECIMAL128 else values_of(made), valid)


class _Kernels:
    """The packing kernels, compiled and loaded when one is first started; thread-safe."""

    def __init__(self) -> None:
        self._architecture = f"sm_{cupy.cuda.Device().compute_capability}"
        self._functions: dict[str, Any] = {}
        self._modules: dict[str, Any] = {}
        self._lock = Lock()

    def __call__(self, name: str, blocks: int, given: Sequence[Any]) -> None:
        function = self._functions.get(name) or self._function(name)
        function((blocks,), (BLOCK,), tuple(given))

    def compile(self) -> None:
        """Compiles all kernels in advance, so that no statement waits for one."""
        for kind in (*VALUES, "texts"):
            nvrtc.compiled(source(kind), headers(), self._architecture)

    def _function(self, name: str) -> Any:
        kind = source_of(name)
        with self._lock:
            if kind not in self._modules:
                module = cupy.cuda.function.Module()
                module.load(nvrtc.compiled(source(kind), headers(), self._architecture).cubin)
                self._modules[kind] = module
            return self._functions.setdefault(name, self._modules[kind].get_function(name))
