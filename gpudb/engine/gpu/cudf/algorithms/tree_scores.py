"""Scores by ensembles of trees (kernels/trees.cuh) over columns in GPU memory; see `backend.tree_calls`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import cupy
import numpy as np
import polars as pl
import pylibcudf as plc

from gpudb.engine.gpu.backend.tree_calls import TreeCall
from gpudb.engine.gpu.cudf.columns.arrays import make_column, validity_mask, values_array
from gpudb.engine.gpu.fused.codegen.trees import BLOCK_THREADS, render_kernel
from gpudb.lru import LruCache

_KEPT = 8
"""Ensembles whose arrays stay in GPU memory; one takes 4 MiB at most (`trees.ensemble.MAX_NODES`)."""
_REAL, _CLASS = plc.DataType(plc.TypeId.FLOAT64), plc.DataType(plc.TypeId.INT32)
_arrays: LruCache[str, tuple[Any, ...]] = LruCache(_KEPT)


class Scores:
    """The result of a call: its column, which is never NULL."""

    def __init__(self, call: TreeCall, values: Any, used: Any) -> None:
        """`used` is what the kernel reads, which stays until it has run."""
        self._call, self._values, self._used = call, values, used

    def columns(self, _nulls: int) -> list[tuple[str, pl.DataType, Any]]:
        """Returns the named column."""
        kind, item = (pl.Int32(), _CLASS) if self._call.label else (pl.Float64(), _REAL)
        return [(self._call.name, kind, make_column(item, len(self._values), self._values, None))]


def start_scores(
    start: Callable[[str, int, Sequence[Any]], None], columns: Mapping[str, Any], call: TreeCall
) -> Scores:
    """Starts the kernel of a call by `start`, from its source, blocks and arguments; the stream is the caller's."""
    given = [columns[each] for each in call.columns]
    values = [values_array(each) for each in given]
    masks = [validity_mask(each) for each in given]
    rows = given[0].size()
    found = cupy.empty(rows, np.int32 if call.label else np.float64)
    addresses = cupy.asarray(np.array([each.data.ptr for each in values], np.uint64))
    known = cupy.asarray(np.array([0 if each is None else each.data.ptr for each in masks], np.uint64))
    tables = _to_device(call)
    arguments = addresses, known, np.int64(rows), *tables, found
    start(render_kernel(call.ensemble.shape, label=call.label), -(-rows // BLOCK_THREADS), arguments)
    return Scores(call, found, (values, masks, addresses, known, tables))


def _to_device(call: TreeCall) -> tuple[Any, ...]:
    held = _arrays.get(call.ensemble.key)
    if held is None:
        held = tuple(cupy.asarray(each) for each in call.ensemble.tables)
        # Calls on other streams read them too
        cupy.cuda.get_current_stream().synchronize()
        _arrays.put(call.ensemble.key, held)
    return held
