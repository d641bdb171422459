"""SUMMARIZE: a row of statistics for each column of a table or a query, computed in one pass, as DuckDB's.

What DuckDB estimates, the quartiles, is exact here; the number of distinct values is an estimate.
"""

from __future__ import annotations

from typing import Any

from gpudb.functions.text_literal import quote_literal
from gpudb.sql.bind.query.table_expressions.source import Source
from gpudb.sql.parse.templates import fill_template
from gpudb.types import SqlType
from gpudb.types.facts import NUMBERS

_TEMPORAL = frozenset({"date", "timestamp", "timestamptz"})
_TEXTS = frozenset({"text", "varchar", "bpchar", "name", "uuid", "bytea"})
_ORDERED = NUMBERS | _TEMPORAL | frozenset("text varchar bpchar name time timetz interval money oid inet".split())
_QUARTILES = NUMBERS | _TEMPORAL | frozenset({"time", "interval"})
_COUNTED = _ORDERED | _TEXTS | {"bool"}
_NAMES = "column_name column_type min max approx_unique avg std q25 q50 q75 count null_percentage".split()
_FRACTIONS = {"q25": "0.25", "q50": "0.5", "q75": "0.75"}


def summarize(source: Source) -> Any:
    """Returns the query of a SUMMARIZE."""
    computed, rows = ["count(*) AS total"], []
    for number, column in enumerate(source.columns, 1):
        cells = [quote_literal(column.name), quote_literal(str(column.type))]
        for name in _NAMES[2:-2]:
            value = _aggregate(column.type, f"c{number}", name)
            cells.append("NULL" if value is None else f"{name}{number}")
            computed += [] if value is None else [f"{value} AS {name}{number}"]
        computed.append(f"count(c{number}) AS count{number}")
        share = f"round(100.0 * (total - count{number}) / nullif(total, 0), 2)::numeric(9, 2)"
        rows.append(f"({number}, {', '.join(cells)}, total, {share})")
    if not rows:
        rows.append("(0" + ", NULL" * len(_NAMES) + ")")
    casts = dict.fromkeys(_NAMES, "text") | {
        "approx_unique": "int8",
        "count": "int8",
        "null_percentage": "numeric(9,2)",
    }
    shown = ", ".join(f"{name}::{casts[name]} AS {name}" for name in _NAMES)
    columns = ", ".join(f"c{number}" for number in range(1, len(source.columns) + 1))
    named = f"summarized ({columns})" if columns else "summarized"
    return fill_template(
        f'SELECT {shown} FROM (SELECT {", ".join(computed)} FROM "$source" AS {named}) AS computed,'
        f" LATERAL (VALUES {', '.join(rows)}) AS statistics (number, {', '.join(_NAMES)})"
        " WHERE number > 0 ORDER BY number",
        {"$source": source.node},
    )


def _aggregate(type_: SqlType, column: str, name: str) -> str | None:
    """Returns a statistic of a column as SQL; None if its type has none."""
    match name:
        case "min" | "max" if type_.name == "bool":
            return f"bool_{'and' if name == 'min' else 'or'}({column})::text"
        case "min" | "max" if type_.name in _ORDERED:
            return f"{name}({column})::text"
        case "approx_unique" if type_.name in _COUNTED:
            return f"approx_count_distinct({column})"
        case "avg" if type_.name in NUMBERS:
            return f"avg({column})::float8::text"
        case "avg" if type_.name in _TEMPORAL:
            seconds = f"avg(extract(epoch FROM {column}))::float8"
            zone = "tz" if type_.name == "timestamptz" else ""
            moment = f"(timestamp{zone} 'epoch' + {seconds} * interval '1 second')::text"
            infinite = f"{seconds} IN ('Infinity', '-Infinity') THEN lower({seconds}::text)"
            return f"CASE WHEN {infinite} WHEN {seconds} <> 'NaN' THEN {moment} END"
        case "std" if type_.name in NUMBERS:
            return f"stddev_samp({column})::float8::text"
        case "q25" | "q50" | "q75" if type_.name in _QUARTILES:
            return f"(percentile_disc({_FRACTIONS[name]}) WITHIN GROUP (ORDER BY {column}))::text"
    return None
