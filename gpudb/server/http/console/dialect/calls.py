"""PostgreSQL's form of DuckDB's functions, operators and types: templates whose `$n` are the operands."""

from __future__ import annotations

from functools import cache

import postgast
from postgast import pg_query_pb2 as pg

TYPES = {
    "blob": "bytea",
    "datetime": "timestamp",
    "double": "float8",
    "hugeint": "numeric",
    "signed": "int4",
    "string": "text",
    "timestamp_ms": "timestamp",
    "timestamp_ns": "timestamp",
    "timestamp_s": "timestamp",
    "tinyint": "int2",
    "ubigint": "numeric",
    "uinteger": "int8",
    "usmallint": "int4",
    "utinyint": "int2",
}
"""DuckDB's types by PostgreSQL's names, where those differ."""

QUOTIENT = "$1::float8 / $2"
"""A quotient whose divisor is a constant other than zero."""
OPERATORS = {
    "/": f"CASE WHEN $2 = 0 THEN 'Infinity'::float8 * sign($1) ELSE {QUOTIENT} END",
    "//": "$1 / $2",
    "**": "pow($1::float8, $2::float8)",
}
"""Operators: DuckDB's `/` of integers is a fraction, and infinite or NaN by zero; its `//` is PostgreSQL's `/`."""

FUNCTIONS = {
    # aggregates
    ("approx_quantile", 2): "approx_percentile($1, $2)",
    ("geomean", 1): "exp(avg(ln($1::float8)))",
    ("list", 1): "array_agg($1)",
    ("mode", 1): "mode() WITHIN GROUP (ORDER BY $1)",
    ("quantile", 2): "percentile_disc($2) WITHIN GROUP (ORDER BY $1)",
    ("quantile_cont", 2): "percentile_cont($2) WITHIN GROUP (ORDER BY $1)",
    ("quantile_disc", 2): "percentile_disc($2) WITHIN GROUP (ORDER BY $1)",
    ("string_agg", 1): "string_agg($1::text, ',')",
    # numbers
    ("isfinite", 1): "$1::float8 NOT IN ('NaN', 'Infinity', '-Infinity')",
    ("isinf", 1): "$1::float8 IN ('Infinity', '-Infinity')",
    ("isnan", 1): "$1::float8 = 'NaN'",
    ("ln", 1): "CASE WHEN $1 = 0 THEN '-Infinity'::float8 ELSE ln($1::float8) END",
    ("log", 1): "CASE WHEN $1 = 0 THEN '-Infinity'::float8 ELSE log($1::float8) END",
    ("log10", 1): "CASE WHEN $1 = 0 THEN '-Infinity'::float8 ELSE log($1::float8) END",
    ("log2", 1): "CASE WHEN $1 = 0 THEN '-Infinity'::float8 ELSE ln($1::float8) / ln(2::float8) END",
    ("round", 1): "trunc($1 + 0.5 * sign($1))",
    ("round", 2): "round($1::numeric, $2)::float8",
    # texts
    ("contains", 2): "strpos($1, $2) > 0",
    ("ends_with", 2): "right($1, length($2)) = $2",
    ("ifnull", 2): "coalesce($1, $2)",
    ("prefix", 2): "starts_with($1, $2)",
    ("regexp_matches", 2): "$1 ~ $2",
    ("suffix", 2): "right($1, length($2)) = $2",
    # lists
    ("list_contains", 2): "$2 = ANY($1)",
    ("list_has", 2): "$2 = ANY($1)",
    ("list_has_all", 2): "$1 @> $2",
    ("list_has_any", 2): "$1 && $2",
    # times
    ("dayname", 1): "to_char($1, 'FMDay')",
    ("epoch", 1): "extract(epoch FROM $1)::float8",
    ("epoch_ms", 1): "floor(extract(epoch FROM $1) * 1000)::int8",
    ("epoch_us", 1): "(extract(epoch FROM $1) * 1000000)::int8",
    ("monthname", 1): "to_char($1, 'FMMonth')",
    ("today", 0): "current_date",
    **{
        (name, 1): f"extract({field} FROM $1)::int4"
        for name, field in {
            "century": "century",
            "day": "day",
            "dayofmonth": "day",
            "dayofweek": "dow",
            "dayofyear": "doy",
            "hour": "hour",
            "isodow": "isodow",
            "isoyear": "isoyear",
            "minute": "minute",
            "month": "month",
            "quarter": "quarter",
            "week": "week",
            "weekday": "dow",
            "weekofyear": "week",
            "year": "year",
        }.items()
    },
    ("second", 1): "floor(extract(second FROM $1))::int4",
}
"""Functions by name and number of arguments, where PostgreSQL's name or sense differs."""

CASELESS_MATCH = "$1 ~* $2"
SERIES = "generate_series(0::int8, ceil($1)::int8 - 1)"
"""UNNEST(range(n))."""
DATE_BIN = "date_bin($1, $2, TIMESTAMP '2000-01-03')"
"""time_bucket of days and less, which begins on a Monday."""
DATE_BINS_OF_MONTHS = {
    1: "date_trunc('month', $1)",
    3: "date_trunc('quarter', $1)",
    12: "date_trunc('year', $1)",
}
"""time_bucket of months, whose numbers divide a year."""
MONTHS_BIN = (
    "TIMESTAMP '2000-01-01' + (floor((extract(year FROM $2) * 12 + extract(month FROM $2) - 24001) / $1::numeric)"
    " * $1)::int4 * INTERVAL '1 month'"
)
"""time_bucket of other numbers of months, which begins at 2000-01."""
TIMESTAMP = "$1::timestamp"


@cache
def read_template(text: str) -> pg.Node:
    """Returns the tree of an expression with operands."""
    tree = postgast.parse(f"SELECT {text}")
    node: pg.Node = tree.stmts[0].stmt.select_stmt.target_list[0].res_target.val
    return node
