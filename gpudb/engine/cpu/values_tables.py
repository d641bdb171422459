"""Long VALUES lists as Arrow tables: as SQL, a row costs DuckDB's uninterruptible parser some 100 µs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pyarrow as pa

from gpudb.sql.bound import Cast, Constant, Expr, Parameter, Values
from gpudb.sql.prepared import Artifact
from gpudb.sql.widening import WIDENING_CASTS
from gpudb.storage.plain_rows import PlainRows, get_plain_kind, is_plain
from gpudb.types import SqlType

MIN_ROWS = 256
PLAIN_TYPES = frozenset("bool int2 int4 int8 float4 float8 text varchar date bytea timestamp timestamptz".split())
"""Types whose Python values Arrow accepts unchanged."""


def values_table(query: Values, parameters: Sequence[object], least: int = MIN_ROWS) -> pa.Table | None:
    """Returns `least` or more rows of constants or parameters of plain types as a table with columns c1, c2, …; else
    None.
    """
    if len(query.rows) < least or any(column.type.name not in PLAIN_TYPES for column in query.columns):
        return None
    arrays = []
    for cells, column in zip(zip(*query.rows, strict=True), query.columns, strict=True):
        result = _array(cells, column.type.arrow, parameters)
        if result is None:
            return None
        arrays.append(result)
    return pa.table(arrays, names=[f"c{number}" for number in range(1, len(arrays) + 1)]) if arrays else None


_RECIPE: Artifact[tuple[tuple[SqlType, int, object], ...]] = Artifact()
"""For each value of one row its type, and the place of a parameter, or -1 and a constant."""


def make_plain_rows(query: Values, rows: Sequence[Sequence[object]]) -> PlainRows | None:
    """Returns one row of constants or parameters for each of some values of these; None unless all values are plain."""
    recipe = query.prepared.get(_RECIPE)
    if recipe is None:
        if len(query.rows) != 1 or any(get_plain_kind(column.type) is None for column in query.columns):
            return None
        sources = [_constant_or_parameter(cell) for cell in query.rows[0]]
        if None in sources:
            return None
        recipe = tuple(
            (column.type, each.number - 1, None) if isinstance(each, Parameter) else (column.type, -1, each.value)  # type: ignore[union-attr]
            for column, each in zip(query.columns, sources, strict=True)
        )
        query.prepared.put(_RECIPE, recipe)
    columns = []
    for kind, place, constant in recipe:
        values = [constant] * len(rows) if place < 0 else [row[place] for row in rows]
        if not is_plain(kind, values):
            return None
        columns.append(values)
    return PlainRows(columns, len(rows))


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
