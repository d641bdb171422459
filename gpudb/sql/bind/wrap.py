"""A projection around a query: to convert its columns, or to rename them."""

from __future__ import annotations

from collections.abc import Mapping

from gpudb.sql.bind.binder import Binder
from gpudb.sql.bind.coerce import coerce
from gpudb.sql.bound import Column, Derived, Expr, OutputColumn, Query, Select
from gpudb.types import SqlType


def projected(binder: Binder, query: Query, types: Mapping[int, SqlType], context: str = "i") -> Query:
    """`query` with the columns at some positions converted to other types."""
    rel = binder.rel()
    columns, targets = [], []
    for index, column in enumerate(query.columns):
        expr: Expr = Column(rel, index, column.type, column.name)
        if index in types:
            expr = coerce(binder, expr, types[index], context)
            column = OutputColumn(column.name, expr.type)
        columns.append(column)
        targets.append(expr)
    return Select(tuple(columns), tuple(targets), Derived(rel, query))
