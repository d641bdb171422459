"""LIMIT and OFFSET, and FETCH FIRST … WITH TIES.

Engines support neither ties nor a limit that is a column of an outer query. For these, window functions number the
rows in a subquery, and WHERE filters by the number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from postgast import pg_query_pb2 as pg

from gpudb.errors import SqlError
from gpudb.functions import resolve
from gpudb.functions.row_counts import LIMIT_ROWS, OFFSET_ROWS
from gpudb.sql.bind.base import Binder
from gpudb.sql.bind.expressions.expressions import bind_expression
from gpudb.sql.bind.expressions.operators import apply_operator, build_call, conjunction
from gpudb.sql.bind.scope import Scope
from gpudb.sql.bind.types.coercion import coerce_row_count
from gpudb.sql.bound import (
    Call,
    Column,
    Constant,
    Derived,
    Exists,
    Expr,
    OutputColumn,
    Query,
    Select,
    SortKey,
    Window,
)
from gpudb.sql.parse.parser import inner, kind, present
from gpudb.sql.traverse import outer_columns, walk
from gpudb.types import INT8


def bind_limits(binder: Binder, scope: Scope, node: Any) -> tuple[Expr | None, Expr | None]:
    """Binds LIMIT and OFFSET of a SelectStmt message; 42P10 for columns of the query itself."""
    null = kind(node.limit_count) == "a_const" and inner(node.limit_count).isnull
    if null and node.limit_option == pg.LIMIT_OPTION_WITH_TIES:
        message = "row count cannot be null in FETCH FIRST ... WITH TIES clause"
        raise SqlError.of("invalid_row_count_in_limit_clause", message)
    level = Scope(parent=scope)
    found: list[Expr | None] = []
    # PostgreSQL binds OFFSET first
    for each, clause in ((node.limit_offset, "OFFSET"), (node.limit_count, "LIMIT")):
        level.clause = clause
        expr = coerce_row_count(binder, bind_expression(binder, level, each), clause) if present(each) else None
        for column in walk(expr) if expr is not None else ():
            if isinstance(column, Column) and column.rel in scope.rels:
                message = f"argument of {clause} must not contain variables"
                raise binder.locate_expr(SqlError.of("invalid_column_reference", message), column)
        found.append(expr)
    return found[1], found[0]


def apply_limits(binder: Binder, query: Query, node: Any) -> Query:
    """Returns the bound query of a SelectStmt message, with window functions for limits that engines lack."""
    ties = node.limit_option == pg.LIMIT_OPTION_WITH_TIES and query.limit is not None
    if not ties and not _is_correlated(query.limit) and not _is_correlated(query.offset):
        return query
    whole = separate_order(binder, query)
    rel = binder.new_rel()
    kinds = ("row_number", "rank" if ties else "row_number")
    numbers = tuple(_build_numbering(binder, name, whole.order) for name in kinds)
    width = len(whole.columns)
    outputs = (*whole.columns, *(OutputColumn(name, INT8) for name in kinds))
    rows = tuple(Column(whole.rel, n, c.type, c.name) for n, c in enumerate(whole.columns))
    numbered = Select(outputs, (*rows, *numbers), Derived(whole.rel, whole.query))
    number, counted = (Column(rel, width + n, INT8, name) for n, name in enumerate(kinds))
    before: Expr = Constant(0, INT8) if query.offset is None else Call(OFFSET_ROWS, (query.offset,), INT8)
    conditions: list[Expr] = []
    if query.limit is not None:
        last = apply_operator(binder, "+", before, Call(LIMIT_ROWS, (query.limit,), INT8))
        conditions.append(apply_operator(binder, "<=", counted, last))
        if not _is_correlated(query.limit):
            # No row has no ties; and a negative limit stays an error
            conditions.append(Exists(Select((), (), limit=query.limit)))
    if _is_correlated(query.offset):
        conditions.append(apply_operator(binder, ">", number, before))
    return Select(
        query.columns,
        tuple(Column(rel, n, c.type, c.name) for n, c in enumerate(query.columns)),
        Derived(rel, numbered),
        conjunction(conditions),
        order_by=(SortKey(number, False, False),),
        offset=None if _is_correlated(query.offset) else query.offset,
        ctes=query.ctes,
    )


def _is_correlated(expr: Expr | None) -> bool:
    """Whether a limit depends on a row of an outer query."""
    return expr is not None and bool(outer_columns(expr))


def _build_numbering(binder: Binder, name: str, order: Sequence[SortKey]) -> Expr:
    result = build_call(binder, resolve.resolve_function(name, (), "w"), ())
    return Window(result.function, (), result.type, order_by=tuple(order))


@dataclass(frozen=True, slots=True)
class OrderedQuery:
    """A query without its order and limit, as relation `rel`, and its order by columns of that relation.

    `columns` are the query's own, followed by the sort keys that it does not return.
    """

    rel: int
    query: Query
    columns: tuple[OutputColumn, ...]
    order: tuple[SortKey, ...]


def separate_order(binder: Binder, query: Query) -> OrderedQuery:
    """Separates a query from its order."""
    rel = binder.new_rel()
    if not isinstance(query, Select):
        keys = tuple(
            SortKey(Column(rel, index, query.columns[index].type), descending, first)
            for index, descending, first in query.order_by
        )
        return OrderedQuery(rel, replace(query, order_by=(), limit=None, offset=None, ctes=()), query.columns, keys)
    targets = list(query.targets)
    for key in query.order_by:
        if key.expr not in targets:
            targets.append(key.expr)
    extra = tuple(OutputColumn("key", each.type) for each in targets[len(query.columns) :])
    plain = replace(
        query,
        columns=(*query.columns, *extra),
        targets=tuple(targets),
        # DISTINCT ON takes the first row of this order
        order_by=query.order_by if isinstance(query.distinct, tuple) else (),
        limit=None,
        offset=None,
        ctes=(),
    )
    order = tuple(
        SortKey(Column(rel, targets.index(key.expr), key.expr.type), key.descending, key.nulls_first)
        for key in query.order_by
    )
    return OrderedQuery(rel, plain, plain.columns, order)
