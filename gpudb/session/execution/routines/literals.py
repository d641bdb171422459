"""Values of routines' arguments and results: as literals of a query, as Python values, and as columns."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from gpudb.plpgsql.records import column_values
from gpudb.session.context import Context
from gpudb.session.execution.requests.requests import fetch_from_engine
from gpudb.sql.bind.types.coercion import coerce
from gpudb.sql.bound import Cast, Constant, Expr, OutputColumn, Select
from gpudb.types import UNKNOWN, SqlType
from gpudb.values.arrow_columns import check_representable, to_arrow_array
from gpudb.values.datetime_style import use_style
from gpudb.values.text_columns import format_text_column


def get_literal_value(context: Context, arg: Expr) -> object:
    """Returns the value of a literal, as `gpudb.values` represents it."""
    if isinstance(arg, Constant):
        return arg.value
    table = fetch_from_engine(context, Select((OutputColumn("k1", arg.type),), (arg,)))
    return column_values(arg.type, table.column(0).combine_chunks(), context.session.settings["timezone"])[0]


def make_table(types: Sequence[SqlType], rows: Sequence[Sequence[object]]) -> pa.Table:
    """Returns rows as columns k1, k2, …; 22003 for values that a column cannot hold."""
    columns = []
    for place, item in enumerate(types):
        values = [row[place] for row in rows]
        for value in values:
            check_representable(item, value)
        columns.append(to_arrow_array(item, values))
    return pa.table(columns, names=[f"k{n}" for n in range(1, len(types) + 1)])


def literal(context: Context, item: SqlType, value: pa.Array) -> Expr:
    """The only value of an array as a literal of its type, by its text."""
    with use_style():
        (text,) = format_text_column(item, value, context.session.settings["timezone"]).to_pylist()
        if text is None:
            return Constant(None, item)
        expr = coerce(context.binder(), Constant(text, UNKNOWN), item)
    if isinstance(expr, Constant) and item.name == "numeric" and item.is_carried:
        return Constant(expr.value, item)
    return expr if expr.type == item else Cast(expr, item)
