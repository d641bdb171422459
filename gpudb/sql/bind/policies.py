"""Conditions of policies: boolean expressions over the columns of a table, with subqueries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from gpudb.catalog.row_types import get_row_type
from gpudb.catalog.tables import Table
from gpudb.errors import GpudbError
from gpudb.sql.bind.base import Binder
from gpudb.sql.bind.dml.checks import parse_expression
from gpudb.sql.bind.expressions.expressions import bind_expression
from gpudb.sql.bind.scope import POLICIES, NamespaceItem, Scope
from gpudb.sql.bind.types.conversions import coerce_condition
from gpudb.sql.bound import Column, Expr
from gpudb.sql.parse.parser import inner, kind
from gpudb.values.datetime_style import use_style


def bind_policy_condition(binder: Binder, table: Table, node: Any, columns: Sequence[Column | None]) -> Expr:
    """Binds a condition (a Node) over a table whose columns `columns` stand for; one that is None cannot be named.

    As in PostgreSQL, errors have no position.
    """
    scope = Scope(clause=POLICIES)
    seen = tuple((column.name, expr) for column, expr in zip(table.columns, columns, strict=True) if expr is not None)
    row = get_row_type(table) if len(seen) == len(table.columns) else None
    scope.add((NamespaceItem(table.name, seen, table.schema, row_type=row, oid=table.catalog_oid),), seen)
    scope.rels |= {expr.rel for _, expr in seen}
    try:
        return coerce_condition(binder, bind_expression(binder, scope, node), "POLICY")
    except GpudbError as error:
        error.position = 0
        raise


@use_style()
def bind_stored_condition(binder: Binder, table: Table, text: str, columns: Sequence[Column | None]) -> Expr:
    """Binds a condition as the catalog has it, whatever the search path."""
    with binder.bind_stored(schema=table.schema):
        return bind_policy_condition(binder, table, parse_expression(text), columns)


class _Fresh(list[tuple[str, Expr]]):
    """Columns of a scope that are a new object whenever they are looked up, so that each has one parse node."""

    def __iter__(self) -> Iterator[tuple[str, Expr]]:
        return ((name, replace(expr)) for name, expr in super().__iter__())


def list_references(binder: Binder, table: Table, node: Any) -> tuple[list[tuple[str, Any]], Expr]:
    """Returns the column and the parse node of each reference of a condition to its table, and the bound condition."""
    rel = binder.new_rel()
    fresh: Any = _Fresh((each.name, Column(rel, n, each.type, each.name)) for n, each in enumerate(table.columns))
    scope = Scope(clause=POLICIES)
    scope.items = [NamespaceItem(table.name, fresh, table.schema, row_type=get_row_type(table), oid=table.catalog_oid)]
    scope.columns = fresh
    scope.rels.add(rel)
    with binder.bind_stored(schema=table.schema):
        test = bind_expression(binder, scope, node)
    found = [
        (expr.name, inner(named))
        for expr, named in binder.parse_nodes.values()
        if isinstance(expr, Column) and expr.rel == rel and kind(named) == "column_ref"
    ]
    return found, test
