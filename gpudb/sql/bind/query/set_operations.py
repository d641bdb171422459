"""UNION, INTERSECT, EXCEPT and VALUES, whose rows must agree in type."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from postgast import pg_query_pb2 as pg

from gpudb.errors import FeatureNotSupported, GpudbError, SqlError, UndefinedColumn
from gpudb.sql.bind.base import Binder
from gpudb.sql.bind.expressions.stars import bind_list
from gpudb.sql.bind.query.all_columns import is_all, record_all
from gpudb.sql.bind.query.grouping import find_output
from gpudb.sql.bind.query.limits import apply_limits, bind_limits
from gpudb.sql.bind.scope import Scope
from gpudb.sql.bind.types.coercion import resolve_branch_type, unify_branches
from gpudb.sql.bind.types.column_coercion import coerce_columns
from gpudb.sql.bind.types.conversions import check_equality
from gpudb.sql.bound import Column, Cte, Expr, OutputColumn, Query, Select, SetOperation, Values
from gpudb.sql.parse.parser import expression_location, inner, kind, output_location, strings
from gpudb.types import UNKNOWN


def bind_set_operation(binder: Binder, scope: Scope, node: Any, ctes: tuple[Cte, ...]) -> Query:
    """Binds a SelectStmt message of a set operation."""
    op = pg.SetOperation.Name(node.op).removeprefix("SETOP_")
    left, right = (binder.bind_query(each, scope, resolve_unknowns=False) for each in (node.larg, node.rarg))
    if len(left.columns) != len(right.columns):
        error = SqlError.of("syntax_error", f"each {op} query must have the same number of columns")
        raise binder.locate(error, output_location(node.rarg, 0))
    types = []
    for index, (one, other) in enumerate(zip(left.columns, right.columns, strict=True)):
        try:
            branches = [
                *_list_branches(left, index, Column(0, 0, one.type)),
                *_list_branches(right, index, Column(0, 0, other.type)),
            ]
            types.append(resolve_branch_type(branches, op))
        except GpudbError as mismatch:
            raise binder.locate(mismatch, output_location(node.rarg, index)) from None
    if not (node.all and op == "UNION"):
        for index, item in enumerate(types):
            try:
                check_equality([item])
            except GpudbError as missing:
                raise binder.locate(missing, output_location(node.larg, index)) from None
    sides = []
    for side in (left, right):
        differing = {
            index: wanted
            for index, (column, wanted) in enumerate(zip(side.columns, types, strict=True))
            if column.type != wanted
        }
        sides.append(coerce_columns(binder, side, differing) if differing else side)
    columns = tuple(OutputColumn(c.name, t) for c, t in zip(left.columns, types, strict=True))
    order = _bind_positions(binder, node.sort_clause, columns)
    limit, offset = bind_limits(binder, scope, node)
    return apply_limits(
        binder, SetOperation(columns, op, node.all, sides[0], sides[1], order, limit, offset, ctes), node
    )


def _list_branches(query: Query, index: int, column: Column) -> list[Expr]:
    """Returns the expressions that determine a column's type: the column, or untyped ones in its place."""
    if column.type.name != "unknown":
        return [column]
    match query:
        case Select():
            return [query.targets[index]]
        case Values():
            return [row[index] for row in query.rows]
        case SetOperation():
            return [*_list_branches(query.left, index, column), *_list_branches(query.right, index, column)]


def _bind_positions(
    binder: Binder, nodes: Sequence[Any], columns: Sequence[OutputColumn]
) -> tuple[tuple[int, bool, bool], ...]:
    result = []
    targets: list[tuple[str, Expr]] = [
        (column.name, Column(0, index, column.type)) for index, column in enumerate(columns)
    ]
    for each in nodes:
        node = inner(each)
        descending = node.sortby_dir == pg.SORTBY_DESC
        first = {pg.SORTBY_NULLS_FIRST: True, pg.SORTBY_NULLS_LAST: False}.get(node.sortby_nulls, descending)
        if is_all(node.node):
            record_all(binder, node.node, range(len(columns)))
            result += [(index, descending, first) for index in range(len(columns))]
            continue
        expr = find_output(binder, node.node, targets, "ORDER BY")
        if expr is None and kind(node.node) == "column_ref" and len(inner(node.node).fields) == 1:
            (name,) = strings(inner(node.node).fields)
            raise binder.locate(UndefinedColumn(f'column "{name}" does not exist'), inner(node.node).location)
        if not isinstance(expr, Column):
            error = FeatureNotSupported(
                "invalid UNION/INTERSECT/EXCEPT ORDER BY clause",
                detail="Only result column names can be used, not expressions or functions.",
                hint="Add the expression/function to every SELECT, or move the UNION into a FROM clause.",
            )
            raise binder.locate(error, expression_location(node.node))
        result.append((expr.index, descending, first))
    return tuple(result)


def check_lengths(binder: Binder, rows: Sequence[Any], lengths: Sequence[int]) -> None:
    """Raises 42601 for rows of VALUES that differ in length."""
    for row, length in zip(rows, lengths, strict=True):
        if length != lengths[0]:
            error = SqlError.of("syntax_error", "VALUES lists must all be the same length")
            raise binder.locate(error, expression_location(inner(row).items[0]))


def bind_values(binder: Binder, scope: Scope, node: Any, ctes: tuple[Cte, ...], *, resolve_unknowns: bool) -> Query:
    """Binds a SelectStmt message with VALUES."""
    scope.clause = "VALUES"
    rows = [[expr for _, expr in bind_list(binder, scope, inner(values).items)] for values in node.values_lists]
    check_lengths(binder, node.values_lists, [len(row) for row in rows])
    columns, cells = [], []
    for number, column in enumerate(zip(*rows, strict=True), 1):
        untyped = not resolve_unknowns and all(expr.type.name == "unknown" for expr in column)
        exprs, target = (column, UNKNOWN) if untyped else unify_branches(binder, column, "VALUES")
        columns.append(OutputColumn(f"column{number}", target))
        cells.append(exprs)
    outputs = tuple(columns)
    order = _bind_positions(binder, node.sort_clause, outputs)
    limit, offset = bind_limits(binder, scope, node)
    return apply_limits(binder, Values(outputs, tuple(zip(*cells, strict=True)), order, limit, offset, ctes), node)
