"""Casts columns to the types that their plan node declares.

cudf-polars keeps the list type for the values of an exploded list, and libcudf's results sometimes have another type
than the node declares: groups of no rows have their values' type, the maximum of small integers that were booleans is
boolean. Concatenation with another worker's rows, or a cast, would then go wrong.
"""

from __future__ import annotations

from typing import Any

import polars as pl
import pylibcudf as plc
from cudf_polars.containers import Column, DataFrame
from cudf_polars.dsl import ir

from gpudb.engine.gpu.cudf.columns.convert import to_device


def install() -> None:
    """Patches cudf-polars so that the values of exploded lists have their own type."""
    known = ir.MapFunction.do_evaluate

    def mapped(cls: Any, schema: Any, name: str, options: Any, frame: Any, *, context: Any) -> Any:
        made = known(schema, name, options, frame, context=context)
        return cast_to_declared(made, schema) if name == "explode" else made

    ir.MapFunction.do_evaluate = classmethod(mapped)


def cast_to_declared(frame: Any, schema: Any) -> Any:
    """Returns a frame whose columns have the types in a node's `schema`."""
    if not schema:
        return frame
    if not frame.num_rows:
        return to_device(pl.DataFrame(schema={name: kind.polars_type for name, kind in schema.items()}))
    columns = [_cast_column(column, schema[column.name], frame.stream) for column in frame.columns]
    if all(made is column for made, column in zip(columns, frame.columns, strict=True)):
        return frame
    return DataFrame(columns, stream=frame.stream, num_rows=frame.num_rows)


def _cast_column(column: Any, kind: Any, stream: Any) -> Any:
    held, target = column.obj, kind.plc_type
    if held.type().id() != target.id():
        # Some integers hold the bits of dates: see `dialect`.
        if not (plc.traits.is_numeric(held.type()) and plc.traits.is_numeric(target)):
            return column
        held = plc.unary.cast(held, target, stream=stream)
    elif column.dtype.polars_type == kind.polars_type:
        return column
    order = {"is_sorted": column.is_sorted, "order": column.order, "null_order": column.null_order}
    return Column(held, kind, name=column.name, **order)
