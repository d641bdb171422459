"""The binder of a statement: implements the entry points that expressions, queries and conversions share.

A function that would call upwards, such as a function call that binds its arguments, calls the `Binder` that it gets.
"""

from __future__ import annotations

from typing import Any

from gpudb.sql.bind.base import Binder
from gpudb.sql.bind.expressions.expressions import bind_expression
from gpudb.sql.bind.query.select import bind_query
from gpudb.sql.bind.scope import Scope
from gpudb.sql.bind.types.coercion import coerce
from gpudb.sql.bound import Expr, Query
from gpudb.types import SqlType


class StatementBinder(Binder):
    """Binds one statement."""

    __slots__ = ()

    def bind_expression(self, scope: Scope, node: Any) -> Expr:
        """Binds a `Node` to an expression."""
        return bind_expression(self, scope, node)

    def bind_query(self, node: Any, outer: Scope | None, *, resolve_unknowns: bool = True) -> Query:
        """Binds a SelectStmt message to a query."""
        return bind_query(self, node, outer, resolve_unknowns=resolve_unknowns)

    def coerce(self, expr: Expr, target: SqlType, context: str = "i", target_name: str | None = None) -> Expr:
        """Converts an expression to a type."""
        return coerce(self, expr, target, context, target_name)
