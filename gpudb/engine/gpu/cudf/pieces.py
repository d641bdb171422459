"""Pieces of tables' columns for fused kernels: decoded by libcudf into the GPU's memory, as CuPy's arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import cupy
import numpy as np
import pylibcudf as plc

from gpudb.catalog.model import Column, DataFile
from gpudb.engine.gpu.cudf.arrays import KINDS, coded, narrowed, valid_of, values_of, view_of, waited
from gpudb.engine.gpu.cudf.read import read
from gpudb.engine.gpu.fused.pieces import Piece, TextPiece
from gpudb.engine.gpu.fused.values import FLOATS, TEXT, NotFused

_OTHERS = {plc.TypeId.STRING, plc.TypeId.DECIMAL128}


class CudfPieces:
    """Reads pieces into the memory of this process's GPU."""

    xp: Any = cupy

    def pieces(self, file: DataFile, columns: Sequence[Column], first: int, last: int) -> list[Piece | NotFused]:
        """See `Pieces`."""
        decoded = read(file, columns, first, last)
        waited()
        found: list[Piece | NotFused] = []
        for column in columns:
            try:
                # A column's lanes go as soon as its piece is made.
                found.append(_piece(column, *decoded.pop(0)))
            except NotFused as reason:
                found.append(reason)
        return found

    def texts(self, file: DataFile, column: Column, first: int, last: int) -> TextPiece:
        """See `Pieces`."""
        ((made,),) = read(file, [column], first, last)
        if made.type().id() != plc.TypeId.STRING or made.offset():
            raise NotFused(f"a column of type {column.type.plain} as it is")
        waited()
        if not made.size():
            return TextPiece(cupy.empty(0, np.uint8), cupy.empty(0, np.int64), None)
        ends = values_of(made.child(0))[1 : made.size() + 1].astype(np.int64)
        return TextPiece(view_of(made.data(), int(ends[-1]), made), ends, valid_of(made))


def _piece(column: Column, made: Any, *more: Any) -> Piece:
    if more or (made.type().id() not in KINDS and made.type().id() not in _OTHERS):
        raise NotFused(f"a column of type {column.type.plain}")
    if column.type.name in TEXT:
        return Piece(*coded(made))
    valid = valid_of(made)
    if made.type().id() == plc.TypeId.DECIMAL128:
        values = narrowed(made, valid)
        if values is None:
            raise NotFused("a numeric of more than 64 bits")
        return Piece(values, valid)
    values = values_of(made)
    return Piece(values if column.type.name in FLOATS else values.astype(np.int64), valid)
