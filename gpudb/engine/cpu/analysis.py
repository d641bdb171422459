"""ANALYZE: the query that estimates columns' statistics, and the statistics in its result."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from gpudb.catalog.tables import Column, ColumnStatistics, Table
from gpudb.functions import equality
from gpudb.storage.iceberg.scan import name_scanned, scan_sql
from gpudb.types.facts import WITHOUT_CLASSES

_UNEQUAL = WITHOUT_CLASSES | {"jsonpath"}
"""Types without equality."""


def statistics_query(table: Table, columns: Sequence[Column]) -> str:
    """Returns SQL for one row: the row count, then for each column its non-NULL and distinct counts and text width."""
    found = ["count(*)"]
    named = name_scanned(table)
    for column in columns:
        reference = f"s.{named[column.name]}"
        value = f"({reference}).v" if column.type.is_carried else reference
        same = equality.render_equality_key(value, column.type)
        distinct = "0" if column.type.name in _UNEQUAL else f"approx_count_distinct({same})"
        found += [f"count({reference})", distinct, f"avg(strlen(CAST({value} AS VARCHAR)))"]
    listed = ", ".join(f"{each} AS v{number}" for number, each in enumerate(found))
    return f"SELECT {listed} FROM ({scan_sql(table)}) AS s"


def statistics_schema(columns: Sequence[Column]) -> pa.Schema:
    """Returns the schema of the query's result."""
    kinds = [pa.int64()] + [pa.int64(), pa.int64(), pa.float64()] * len(columns)
    return pa.schema([(f"c{number}", kind) for number, kind in enumerate(kinds, 1)])


def statistics(columns: Sequence[Column], found: pa.Table) -> tuple[ColumnStatistics, ...]:
    """Extracts the statistics from the query's row; none for an empty table."""
    rows, *figures = (column[0].as_py() for column in found.columns)
    result = []
    for place, column in enumerate(columns):
        known, distinct, width = figures[3 * place : 3 * place + 3]
        result.append(ColumnStatistics(column.field_id, rows, rows - known, min(distinct, known), round(width or 0)))
    return tuple(result) if rows else ()
