"""Long VALUES lists as Arrow tables: as SQL, a row costs DuckDB's uninterruptible parser some 100 µs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pyarrow as pa

from gpudb.sql.bound import Cast, Constant, Expr, Parameter, Values
from gpudb.sql.widening import WIDENING_CASTS

MIN_ROWS = 256
_TYPES = frozenset("bool int2 int4 int8 float4 float8 text varchar date bytea timestamp timestamptz".split())
"""Types whose Python values Arrow accepts unchanged."""


def values_table(query: Values, parameters: Sequence[object]) -> pa.Table | None:
    """Returns many rows of constants or parameters of plain types as a table with columns c1, c2, …; else None."""
    if len(query.rows) < MIN_ROWS or any(column.type.name not in _TYPES for column in query.columns):
        return None
    arrays = []
    for cells, column in zip(zip(*query.rows, strict=True), query.columns, strict=True):
        result = _array(cells, column.type.arrow, parameters)
        if result is None:
            return None
        arrays.append(result)
    return pa.table(arrays, names=[f"c{number}" for number in range(1, len(arrays) + 1)]) if arrays else None


def _array(cells: Iterable[Expr], kind: pa.DataType, parameters: Sequence[object]) -> pa.Array | None:
    values = []
    for cell in cells:
        source = _constant_or_parameter(cell)
        if isinstance(source, Parameter):
            values.append(parameters[source.number - 1])
        elif isinstance(source, Constant):
            values.append(source.value)
        else:
            return None
    try:
        return pa.array(values, kind)
    except pa.ArrowException:
        return None  # infinity, or a year that Python dates lack: DuckDB parses them


def _constant_or_parameter(expr: Expr) -> Constant | Parameter | None:
    """Returns the constant or parameter that an expression is equal to; None for any other expression."""
    while isinstance(expr, Cast) and (expr.arg.type.name, expr.type.name) in WIDENING_CASTS:
        expr = expr.arg
    return expr if isinstance(expr, Constant | Parameter) else None
