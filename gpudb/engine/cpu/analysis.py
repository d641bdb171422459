"""ANALYZE: the query that tells of columns how many distinct values they have, about, and what it found."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from gpudb.catalog.model import Column, ColumnStatistics, Table
from gpudb.duckdb.literals import name
from gpudb.functions import equality
from gpudb.storage.iceberg.scan import scan_sql

_UNEQUAL = frozenset({"json", "jsonpath"})
"""Types without an equality."""


def query(table: Table, columns: Sequence[Column]) -> str:
    """One row: how many there are, then of each column those that are not NULL, its values and their bytes as text."""
    found = ["count(*)"]
    for column in columns:
        held = f"s.{name(column.name)}"
        value = f"({held}).v" if column.type.carried else held
        same = equality.key(value, column.type)
        distinct = "0" if column.type.name in _UNEQUAL else f"approx_count_distinct({same})"
        found += [f"count({held})", distinct, f"avg(strlen(CAST({value} AS VARCHAR)))"]
    listed = ", ".join(f"{each} AS v{number}" for number, each in enumerate(found))
    return f"SELECT {listed} FROM ({scan_sql(table)}) AS s"


def schema(columns: Sequence[Column]) -> pa.Schema:
    """The columns that the query gives."""
    kinds = [pa.int64()] + [pa.int64(), pa.int64(), pa.float64()] * len(columns)
    return pa.schema([(f"c{number}", kind) for number, kind in enumerate(kinds, 1)])


def statistics(columns: Sequence[Column], found: pa.Table) -> tuple[ColumnStatistics, ...]:
    """What the query's row says; nothing of a table without rows."""
    rows, *figures = (column[0].as_py() for column in found.columns)
    made = []
    for place, column in enumerate(columns):
        known, distinct, width = figures[3 * place : 3 * place + 3]
        made.append(ColumnStatistics(column.field_id, rows, rows - known, min(distinct, known), round(width or 0)))
    return tuple(made) if rows else ()
