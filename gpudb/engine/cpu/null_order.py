"""Sort keys over columns without NULLs: NULLS LAST, by which DuckDB finds the first rows of groups without a sort."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from gpudb.catalog.tables import Table
from gpudb.sql import bound
from gpudb.sql.traverse import replace_nodes

MayBeNull = Callable[[bound.Scan, int], bool]
"""Returns whether a column of a scan, by its place, may have a NULL."""


def order_nulls_last(query: bound.Select, may_be_null: MayBeNull) -> bound.Select:
    """Returns a SELECT over one table that places NULLs last where there are none, else the query itself."""
    scan = query.source
    if not isinstance(scan, bound.Scan) or query.grouping_sets is not None:
        return query

    def change(node: Any) -> Any:
        if not isinstance(node, bound.SortKey) or not node.nulls_first or not isinstance(node.expr, bound.Column):
            return None
        is_own = node.expr.rel == scan.rel and node.expr.index < len(scan.table.columns)
        return replace(node, nulls_first=False) if is_own and not may_be_null(scan, node.expr.index) else None

    targets, order_by = replace_nodes(query.targets, change), replace_nodes(query.order_by, change)
    if targets is query.targets and order_by is query.order_by:
        return query
    return replace(query, targets=targets, order_by=order_by)


def has_nulls(table: Table, index: int) -> bool:
    """Returns whether a column of a snapshot may have a NULL, as its definition and its files' statistics say."""
    column = table.columns[index]
    return not column.not_null and any(file.nulls.get(column.field_id, 1) for file in table.files)
