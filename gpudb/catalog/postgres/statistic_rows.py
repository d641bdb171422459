"""What ANALYZE found as rows of pg_statistic, over which pg_stats is a view."""

from __future__ import annotations

from gpudb.catalog.model import Table
from gpudb.catalog.postgres.column_rows import type_facts
from gpudb.catalog.postgres.row_builder import Rows

_HEADER = 1
"""A short value of a type of any length has a byte before it."""


def add_statistics(rows: Rows, table: Table) -> None:
    """A row for each column that has been analysed: its NULLs, its width and its distinct values."""
    found = {each.field_id: each for each in table.statistics}
    for number, column in enumerate(table.columns, 1):
        each = found.get(column.field_id)
        if each is None:
            continue
        length = int(type_facts(column.type)["typlen"])
        distinct = float(each.distinct)
        if distinct > each.rows / 10:
            # As PostgreSQL tells of a number of values that will grow with the table.
            distinct = -distinct / each.rows
        rows.add(
            "pg_statistic", starelid=table.oid, staattnum=number, stainherit=False, stanullfrac=each.nulls / each.rows,
            stawidth=length if length > 0 else each.width + _HEADER, stadistinct=distinct,
        )  # fmt: skip
