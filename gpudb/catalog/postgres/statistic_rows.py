"""Rows of pg_statistic for ANALYZE's statistics; pg_stats is a view over them."""

from __future__ import annotations

from gpudb.catalog.model import Table
from gpudb.catalog.postgres.column_rows import type_facts
from gpudb.catalog.postgres.row_builder import Rows

_HEADER = 1
"""Bytes of the length header of a short value of variable length."""


def add_statistics(rows: Rows, table: Table) -> None:
    """Adds a row for each analysed column: its NULLs, width and distinct values."""
    found = {each.field_id: each for each in table.statistics}
    for number, column in enumerate(table.columns, 1):
        each = found.get(column.field_id)
        if each is None:
            continue
        length = int(type_facts(column.type)["typlen"])
        distinct = float(each.distinct)
        if distinct > each.rows / 10:
            # PostgreSQL's form of a number of distinct values that grows with the table.
            distinct = -distinct / each.rows
        rows.add(
            "pg_statistic", starelid=table.oid, staattnum=number, stainherit=False, stanullfrac=each.nulls / each.rows,
            stawidth=length if length > 0 else each.width + _HEADER, stadistinct=distinct,
        )  # fmt: skip
