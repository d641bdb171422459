"""Converts result columns that a kernel left on the GPU to a frame there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import cupy
import numpy as np
import polars as pl
import pylibcudf as plc

from gpudb.engine.gpu.backend.coded_frame import CodedFrame
from gpudb.engine.gpu.cudf.backend import CudfBackend
from gpudb.engine.gpu.cudf.columns.arrays import KINDS, make_column
from gpudb.engine.gpu.cudf.columns.convert import build_frame, data_type
from gpudb.engine.gpu.cudf.columns.frame import CudfFrame
from gpudb.engine.gpu.cudf.memory.streams import synchronize
from gpudb.engine.gpu.fused.translate.result_columns import ResultColumn, dictionaries_of, keeps_codes


class ResultFrameBuilder:
    """Converts columns on the GPU to frames; None where a column's form must pass through the host.

    The texts of rows stay codes; those of states of groups are decoded.
    """

    def __init__(self, frames: CudfBackend) -> None:
        self._frames = frames

    def __call__(self, results: Sequence[ResultColumn]) -> CodedFrame | CudfFrame | None:
        """Returns the frame."""
        made = []
        for result in results:
            column = _build_codes(result) if result.dictionary is not None else _build_column(result)
            if column is None:
                return None
            made.append(column)
        synchronize()
        kinds = [data_type(pl.Int32() if result.dictionary is not None else result.kind) for result in results]
        names = [result.name for result in results]
        held = CudfFrame(build_frame(made, names, kinds, results[0].rows), self._frames)
        texts = dictionaries_of(results)
        if keeps_codes(results):
            return CodedFrame(held, texts, self._frames.decode_computed)
        return self._frames.decode_frame(held, texts) if texts else held


def _build_codes(result: ResultColumn) -> Any:
    return _build_numbers(result.parts[0].astype(np.int32), plc.TypeId.INT32, result.valid)


def _build_column(result: ResultColumn) -> Any | None:
    kind = data_type(result.kind).plc_type.id()
    if kind == plc.TypeId.DECIMAL128:
        if len(result.parts) > 2:
            return None
        return _build_wide_column(result)
    if kind not in KINDS or len(result.parts) > 1:
        return None
    return _build_numbers(result.parts[0].astype(KINDS[kind]), kind, result.valid)


def _build_wide_column(result: ResultColumn) -> Any:
    """Assembles 128-bit integers from one 64-bit word, or from a 32-bit limb and one with all higher bits."""
    low = result.parts[0].view(np.uint64)
    halves = cupy.empty((result.rows, 2), np.uint64)
    if len(result.parts) == 1:
        halves[:, 0], halves[:, 1] = low, (result.parts[0].view(np.int64) >> 63).view(np.uint64)
    else:
        above = result.parts[1].view(np.int64)
        total = low + (above << 32).view(np.uint64)
        # The low limb's sum is not negative, so the carry is at most one.
        carried = (total < low).astype(np.int64)
        halves[:, 0], halves[:, 1] = total, ((above >> 32) + carried).view(np.uint64)
    return make_column(plc.DataType(plc.TypeId.DECIMAL128, scale=0), result.rows, halves, result.valid)


def _build_numbers(values: Any, kind: Any, valid: Any | None) -> Any:
    return make_column(plc.DataType(kind), len(values), cupy.ascontiguousarray(values), valid)
