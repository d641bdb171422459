"""Arithmetic of int64 columns on the GPU, and the parts to which rows belong by their keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pylibcudf as plc
from cudf_polars.utils.sorting import sort_order

from gpudb.engine.gpu.backend.base import TURN, TURNS, SortOrder
from gpudb.engine.gpu.cudf.memory.streams import current_stream

INT64, INT32 = plc.DataType(plc.TypeId.INT64), plc.DataType(plc.TypeId.INT32)
ADD, SUB, MOD = (getattr(plc.binaryop.BinaryOperator, name) for name in ("ADD", "SUB", "MOD"))


def apply_operator(left: Any, right: Any, operator: Any) -> Any:
    """Applies an operator to two int64 columns, or to a column and a scalar."""
    return plc.binaryop.binary_operation(left, right, operator, INT64, stream=current_stream())


def cast(column: Any, kind: Any) -> Any:
    """Casts a column on the current stream."""
    return plc.unary.cast(column, kind, stream=current_stream())


def int64_scalar(value: int) -> Any:
    """Returns a scalar in the GPU's memory."""
    return plc.Scalar.from_py(value, INT64, stream=current_stream())


def range_positions(keys: Any, ends: Any, order: Sequence[SortOrder], *, spread: bool) -> Any:
    """Returns the int32 column of each row's part: the first whose end is not below the row's keys.

    With `spread` rows that equal the ends of several parts take these parts by turns.
    """
    nulls_last = [not key.nulls_first for key in order]
    by = sort_order([key.descending for key in order], nulls_last=nulls_last, num_keys=len(order))
    positions = plc.search.lower_bound(ends, keys, *by, stream=current_stream())
    if not spread:
        return positions
    first = cast(positions, INT64)
    last = cast(plc.search.upper_bound(ends, keys, *by, stream=current_stream()), INT64)
    zero, one, turn, turns = map(int64_scalar, (0, 1, TURN, TURNS))
    turned = apply_operator(plc.filling.sequence(keys.num_rows(), zero, turn, stream=current_stream()), turns, MOD)
    turns = apply_operator(turned, apply_operator(apply_operator(last, first, SUB), one, ADD), MOD)
    return cast(apply_operator(first, turns, ADD), INT32)
