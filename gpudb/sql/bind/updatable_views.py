"""Automatically updatable views, as the information schema reports them."""

from __future__ import annotations

from typing import Any

from gpudb.catalog.model import Catalog
from gpudb.catalog.relations import View
from gpudb.errors import GpudbError
from gpudb.sql.bind.binder import StatementBinder
from gpudb.sql.bind.dml.view_targets import resolve_target
from gpudb.sql.bound import Column
from gpudb.sql.parse.parser import kind, parse


def updatable_columns(catalog: Catalog, view: View) -> frozenset[int] | None:
    """Returns the numbers of a view's updatable columns; None for a view that is not automatically updatable.

    A view without updatable columns still allows DELETE.
    """
    node: Any = parse(view.query)[0].node
    if len(node.from_clause) != 1 or kind(node.from_clause[0]) != "range_var":
        return None
    try:
        result = resolve_target(StatementBinder(catalog), view, 1, "delete from")
    except GpudbError:
        return None
    return frozenset(n for n, (_, expr) in enumerate(result.columns, 1) if isinstance(expr, Column) and expr.rel == 1)
