"""Rows of pg_statistic for ANALYZE's statistics; pg_stats is a view over them."""

from __future__ import annotations

from gpudb.catalog.postgres.column_rows import get_type_facts
from gpudb.catalog.postgres.row_builder import SystemRows
from gpudb.catalog.tables import Table

_HEADER = 1
"""Bytes of the length header of a short value of variable length."""


def add_statistics(rows: SystemRows, table: Table) -> None:
    """Adds a row for each analysed column: its NULLs, width and distinct values."""
    statistics_by_field = {statistics.field_id: statistics for statistics in table.statistics}
    for number, column in enumerate(table.columns, 1):
        statistics = statistics_by_field.get(column.field_id)
        if statistics is None:
            continue
        length = get_type_facts(column.type).length
        distinct = float(statistics.distinct)
        if distinct > statistics.rows / 10:
            # PostgreSQL's form of a number of distinct values that grows with the table.
            distinct = -distinct / statistics.rows
        rows.add(
            "pg_statistic", starelid=table.oid, staattnum=number, stainherit=False,
            stanullfrac=statistics.nulls / statistics.rows,
            stawidth=length if length > 0 else statistics.width + _HEADER, stadistinct=distinct,
        )  # fmt: skip
