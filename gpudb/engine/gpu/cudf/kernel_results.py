"""Converts result columns that a kernel left on the GPU to a frame there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import cupy
import numpy as np
import polars as pl
import pylibcudf as plc

from gpudb.engine.gpu.cudf.arrays import KINDS, make_column
from gpudb.engine.gpu.cudf.backend import CudfBackend, CudfFrame
from gpudb.engine.gpu.cudf.convert import build_frame, data_type, to_device
from gpudb.engine.gpu.cudf.streams import current_stream, synchronize
from gpudb.engine.gpu.fused.translate.result_columns import ResultColumn
from gpudb.engine.gpu.fused.translate.typed_values import Dictionary
from gpudb.lru import IdentityKey, LruCache

_MAX_DICTIONARIES = 16
"""Maximum dictionaries whose texts are cached on the GPU."""


class ResultFrameBuilder:
    """Converts columns on the GPU to frames; None where a column's form must pass through the host."""

    def __init__(self, frames: CudfBackend) -> None:
        self._frames = frames
        self._texts: LruCache[IdentityKey[Dictionary], Any] = LruCache(_MAX_DICTIONARIES)

    def __call__(self, results: Sequence[ResultColumn]) -> CudfFrame | None:
        """Returns the frame."""
        made = []
        for result in results:
            column = self._decode(result, result.dictionary) if result.dictionary is not None else _build_column(result)
            if column is None:
                return None
            made.append(column)
        synchronize()
        kinds = [data_type(pl.String() if result.dictionary is not None else result.kind) for result in results]
        return CudfFrame(build_frame(made, [result.name for result in results], kinds, results[0].rows), self._frames)

    def _decode(self, result: ResultColumn, dictionary: Dictionary) -> Any:
        """Decodes dictionary codes."""
        key = IdentityKey(dictionary)
        texts = self._texts.get(key)
        if texts is None:
            texts = to_device(pl.DataFrame({"v": dictionary.values})).table
            self._texts.put(key, texts)
        codes = (
            result.parts[0] if result.valid is None else cupy.where(result.valid, result.parts[0], np.int64(2**31 - 1))
        )
        indexes = _build_numbers(codes.astype(np.int32), plc.TypeId.INT32, None)
        bounds = plc.copying.OutOfBoundsPolicy
        policy = bounds.DONT_CHECK if result.valid is None else bounds.NULLIFY
        made = plc.copying.gather(texts, indexes, policy, stream=current_stream()).columns()[0]
        synchronize()  # another thread may evict the texts
        return made


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
