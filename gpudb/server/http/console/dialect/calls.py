"""PostgreSQL's form of DuckDB's functions, operators and types: templates whose `$n` are the operands.

`functions.tsv` has the functions by name and number of operands that gpudb itself does not have, or in another sense
(`gpudb.functions.composed`). Names with a word after them are cases that `trees` tells apart: bins of days begin on
Monday 2000-01-03, those of months at 2000-01, and three numbers of months have a shorter form.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

import postgast
from postgast import pg_query_pb2 as pg

from gpudb.functions.composed import composed_functions

_FUNCTIONS = Path(__file__).with_name("functions.tsv")

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

TIMESTAMP = "$1::timestamp"


@cache
def functions() -> Mapping[tuple[str, int], str]:
    """Returns the templates of functions by name and number of operands."""
    rows = (line.split("\t") for line in _FUNCTIONS.read_text(encoding="utf-8").splitlines()[1:])
    own = {(name, int(operands)): template for name, operands, template in rows}
    return {**composed_functions(), **own}


@cache
def read_template(text: str) -> pg.Node:
    """Returns the tree of an expression with operands."""
    tree = postgast.parse(f"SELECT {text}")
    node: pg.Node = tree.stmts[0].stmt.select_stmt.target_list[0].res_target.val
    return node
