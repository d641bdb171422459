"""Conversion of a query's columns, in its select list or by a projection around it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from gpudb.functions.carried import demand_wide_layout, is_wide_layout
from gpudb.sql.bind.base import Binder
from gpudb.sql.bind.types.coercion import coerce, coerce_to_branch
from gpudb.sql.bound import Column, Derived, Expr, OutputColumn, Query, Select, SetOperation, Values
from gpudb.types import SqlType, widen


def project_columns(binder: Binder, query: Query, types: Mapping[int, SqlType], context: str = "i") -> Query:
    """Returns a projection of `query` that converts the columns at some positions to other types."""
    rel = binder.new_rel()
    columns, targets = [], []
    for index, column in enumerate(query.columns):
        expr: Expr = Column(rel, index, column.type, column.name)
        if index in types:
            expr = coerce(binder, expr, types[index], context)
            column = OutputColumn(column.name, expr.type)
        columns.append(column)
        targets.append(expr)
    return Select(tuple(columns), tuple(targets), Derived(rel, query))


def coerce_columns(binder: Binder, query: Query, types: Mapping[int, SqlType], context: str = "i") -> Query:
    """Returns `query` with columns converted: untyped literals in place, others by a projection around it."""
    literal = {index: item for index, item in types.items() if query.columns[index].type.name == "unknown"}
    if literal:
        query = _coerce_literals(binder, query, literal, context)
    rest = {index: item for index, item in types.items() if query.columns[index].type != item}
    return project_columns(binder, query, rest, context) if rest else query


def _coerce_literals(binder: Binder, query: Query, types: Mapping[int, SqlType], context: str) -> Query:
    def convert(exprs: tuple[Expr, ...]) -> tuple[Expr, ...]:
        made = tuple(
            coerce_to_branch(binder, expr, types[index], context) if index in types else expr
            for index, expr in enumerate(exprs)
        )
        if any(made[index].type.wide and not item.wide for index, item in types.items()):
            demand_wide_layout()
        return made

    if is_wide_layout():
        types = {index: widen(item) for index, item in types.items()}

    columns = tuple(
        replace(column, type=types[index]) if index in types else column for index, column in enumerate(query.columns)
    )
    match query:
        case Select():
            return replace(query, columns=columns, targets=convert(query.targets))
        case Values():
            return replace(query, columns=columns, rows=tuple(convert(row) for row in query.rows))
        case SetOperation():
            left, right = (_coerce_literals(binder, side, types, context) for side in (query.left, query.right))
            return replace(query, columns=columns, left=left, right=right)
