"""Columns of the types that their node of the plan declares.

cudf-polars keeps the list's type for the values of an exploded list, and libcudf's results have now and then another
type than the node says: groups of no rows that of their values, the greatest of small integers that were conditions a
condition's. Whoever puts them beside another worker's rows, or casts them, would be misled.
"""

from __future__ import annotations

from typing import Any

import polars as pl
import pylibcudf as plc
from cudf_polars.containers import Column, DataFrame
from cudf_polars.dsl import ir

from gpudb.engine.gpu.cudf.convert import to_device


def install() -> None:
    """Has the values of exploded lists bear their own type."""
    known = ir.MapFunction.do_evaluate

    def mapped(cls: Any, schema: Any, name: str, options: Any, frame: Any, *, context: Any) -> Any:
        made = known(schema, name, options, frame, context=context)
        return declared(made, schema) if name == "explode" else made

    ir.MapFunction.do_evaluate = classmethod(mapped)


def declared(frame: Any, schema: Any) -> Any:
    """A frame whose columns have the types that a node's `schema` names."""
    if not schema:
        return frame
    if not frame.num_rows:
        return to_device(pl.DataFrame(schema={name: kind.polars_type for name, kind in schema.items()}))
    columns = [_as(column, schema[column.name], frame.stream) for column in frame.columns]
    if all(made is column for made, column in zip(columns, frame.columns, strict=True)):
        return frame
    return DataFrame(columns, stream=frame.stream, num_rows=frame.num_rows)


def _as(column: Any, kind: Any, stream: Any) -> Any:
    held, wanted = column.obj, kind.plc_type
    if held.type().id() != wanted.id():
        # Dates are bits of integers in places: see `dialect`.
        if not (plc.traits.is_numeric(held.type()) and plc.traits.is_numeric(wanted)):
            return column
        held = plc.unary.cast(held, wanted, stream=stream)
    elif column.dtype.polars_type == kind.polars_type:
        return column
    order = {"is_sorted": column.is_sorted, "order": column.order, "null_order": column.null_order}
    return Column(held, kind, name=column.name, **order)
