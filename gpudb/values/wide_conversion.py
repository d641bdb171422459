"""Columns of numerics turned into the wide form, and back."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from gpudb.types import SqlType
from gpudb.values.arrow_columns import to_arrow_array
from gpudb.values.text_columns import replace_items
from gpudb.values.wide_numerics import decode_column, encode_column, fits_narrow, round_to


def widen_column(column: pa.Array, type_: SqlType) -> pa.Array:
    """Returns a column of a narrow numeric type, or of arrays of it, in the wide form."""
    if type_.item is not None:
        return replace_items(column, widen_column(column.flatten(), type_.item))
    if not type_.is_carried:
        return encode_column(column.to_pylist())
    values, scales = pc.struct_field(column, [0]).to_pylist(), pc.struct_field(column, [1]).to_pylist()
    pairs = zip(values, scales, strict=True)
    return encode_column(None if value is None else round_to(value, scale or 0) for value, scale in pairs)


def narrow_column(column: pa.Array, type_: SqlType) -> pa.Array | None:
    """Returns a column of wide numerics in the form of a narrow type; None if a value does not fit 128 bits."""
    if type_.item is not None:
        items = narrow_column(column.flatten(), type_.item)
        return None if items is None else replace_items(column, items)
    values = decode_column(column)
    if not all(value is None or fits_narrow(value, *type_.numeric_digits) for value in values):
        return None
    return to_arrow_array(type_, values)
