"""The query behind `Relation.describe`: one row of statistics for each column, computed in one pass over the rows."""

from __future__ import annotations

from collections.abc import Sequence

from gpudb.session.results import ResultColumn
from gpudb.types import SqlType
from gpudb.types.facts import NUMBERS

_ORDERED = NUMBERS | frozenset("text varchar bpchar date time timestamp timestamptz interval money".split())
_NAMES = ("count", "nulls", "mean", "std", "min", "25%", "50%", "75%", "max")


def build_summary(query: str, fields: Sequence[ResultColumn]) -> str:
    """Returns a query of the columns column, type, count (of values that are not NULL), nulls, mean, std, min, 25%,
    50%, 75% and max. Least and greatest values are texts; what a type does not have is NULL.
    """
    computed, rows = ["count(*) AS total"], []
    for number, field in enumerate(fields, 1):
        values = [_aggregate(field.type, f"c{number}", name) for name in _NAMES]
        computed += [f"{value} AS s{number}_{index}" for index, value in enumerate(values) if value is not None]
        cells = [f"s{number}_{index}" if value is not None else "NULL" for index, value in enumerate(values)]
        cells[1] = f"total - s{number}_0"
        rows.append(f"({number}, {_quote(field.name)}, {_quote(str(field.type))}, {', '.join(cells)})")
    if not rows:
        rows.append("(0" + ", NULL" * (len(_NAMES) + 2) + ")")
    names = ", ".join(f'"{name}"' for name in ("number", "column", "type", *_NAMES))
    # A column of VALUES that is NULL in all rows is text
    casts = {"min": "text", "max": "text", "count": "int8", "nulls": "int8"}
    shown = ['"column"', '"type"', *(f'"{name}"::{casts.get(name, "float8")} AS "{name}"' for name in _NAMES)]
    columns = ", ".join(f"c{number}" for number in range(1, len(fields) + 1))
    source = f"(\n{query}\n) AS described" + (f"({columns})" if columns else "")
    return (
        f"SELECT {', '.join(shown)} FROM (SELECT {', '.join(computed)} FROM {source}) AS computed,"
        f" LATERAL (VALUES {', '.join(rows)}) AS statistics ({names}) WHERE number > 0 ORDER BY number"
    )


def _aggregate(type_: SqlType, column: str, name: str) -> str | None:
    """Returns one statistic of a column as SQL; None if its type has none."""
    number = f"{column}::int4" if type_.name == "bool" else column
    match name:
        case "count":
            return f"count({column})"
        case "nulls":
            return None
        case "mean" if type_.name in NUMBERS or type_.name == "bool":
            return f"avg({number})::float8"
        case "std" if type_.name in NUMBERS:
            return f"stddev_samp({column})::float8"
        case "min" | "max" if type_.name in _ORDERED:
            return f"{name}({column})::text"
        case "25%" | "50%" | "75%" if type_.name in NUMBERS:
            return f"percentile_cont({int(name[:-1]) / 100}) WITHIN GROUP (ORDER BY {column}::float8)"
    return None


def _quote(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
