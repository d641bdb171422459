"""SELECT, set operations and VALUES, with WITH, ORDER BY and LIMIT."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from postgast import pg_query_pb2 as pg

from gpudb.errors import FeatureNotSupported, GpudbError, SqlError
from gpudb.sql.bind.base import Binder
from gpudb.sql.bind.expressions.expressions import bind_expression
from gpudb.sql.bind.expressions.ordering import build_sort_key
from gpudb.sql.bind.expressions.records import add_presence_columns
from gpudb.sql.bind.expressions.stars import expand_star, record_star
from gpudb.sql.bind.expressions.windows import collect_windows
from gpudb.sql.bind.name_errors import missing_table
from gpudb.sql.bind.query.from_clause import bind_from
from gpudb.sql.bind.query.grouped_subqueries import find_equivalent, list_subqueries, replace_grouped
from gpudb.sql.bind.query.grouping import bind_group_by, check_grouped, find_output
from gpudb.sql.bind.query.hypothetical_grouping import build_set_change
from gpudb.sql.bind.query.limits import apply_limits, bind_limits
from gpudb.sql.bind.query.outer_aggregates import split_grouped
from gpudb.sql.bind.query.output_names import derive_output_name
from gpudb.sql.bind.query.qualify import apply_qualify, bind_qualify
from gpudb.sql.bind.query.row_locks import bind_row_locks, check_lockable
from gpudb.sql.bind.query.set_operations import bind_set_operation, bind_values
from gpudb.sql.bind.query.sorted_set_functions import wrap_sorted_sets
from gpudb.sql.bind.query.with_clause import bind_with
from gpudb.sql.bind.scope import Scope
from gpudb.sql.bind.types.coercion import resolve_unknown
from gpudb.sql.bind.types.conversions import check_equality, coerce_condition
from gpudb.sql.bound import (
    Column,
    Cte,
    Expr,
    From,
    Join,
    OutputColumn,
    Query,
    Scan,
    Select,
    SortKey,
)
from gpudb.sql.parse.parser import expression_location, inner, kind, present, strings
from gpudb.sql.traverse import replace_nodes

Targets = list[tuple[str, Expr]]


def bind_query(binder: Binder, node: Any, outer: Scope | None, *, resolve_unknowns: bool = True) -> Query:
    """Binds a SelectStmt message.

    Without `resolve_unknowns` an untyped literal stays untyped, so that the caller can convert it.
    """
    binder.depth += 1
    try:
        if binder.depth > 100:
            raise SqlError.of("statement_too_complex", "stack depth limit exceeded")
        scope = Scope(parent=outer)
        ctes = bind_with(binder, scope, node.with_clause) if node.HasField("with_clause") else ()
        if len(node.locking_clause):
            check_lockable(node)
        if node.HasField("into_clause"):
            raise FeatureNotSupported("SELECT … INTO is not allowed here")
        if node.op != pg.SETOP_NONE:
            return bind_set_operation(binder, scope, node, ctes)
        if len(node.values_lists):
            return bind_values(binder, scope, node, ctes, resolve_unknowns=resolve_unknowns)
        return _bind_select(binder, scope, node, ctes, resolve_unknowns=resolve_unknowns)
    finally:
        binder.depth -= 1


# ------------------------------------------------------------------------------------------------ SELECT


def _bind_select(binder: Binder, scope: Scope, node: Any, ctes: tuple[Cte, ...], *, resolve_unknowns: bool) -> Query:
    scope.clause = "FROM clause of their own query level"
    source = bind_from(binder, scope, node.from_clause)
    scope.clause = ""
    where = None
    if present(node.where_clause):
        scope.clause = "WHERE"
        where = coerce_condition(binder, bind_expression(binder, scope, node.where_clause), "WHERE")
    scope.windows = collect_windows(node.window_clause)
    scope.clause = "SELECT"
    targets = bind_targets(binder, scope, node.target_list, resolve_unknowns=resolve_unknowns)
    scope.clause = "GROUP BY"
    keys, sets = bind_group_by(binder, scope, node.group_clause, targets, distinct=node.group_distinct)
    subqueries = list_subqueries(keys)
    keys = tuple(replace_grouped(key, subqueries) for key in keys)  # equal subqueries make equal keys
    targets = [(name, replace_grouped(expr, subqueries)) for name, expr in targets]
    having = None
    if present(node.having_clause):
        scope.clause = "HAVING"
        having = coerce_condition(binder, bind_expression(binder, scope, node.having_clause), "HAVING")
        having = replace_grouped(having, subqueries)
    test = bind_qualify(binder, scope, node, targets) if len(node.window_clause) else None
    scope.clause = "ORDER BY"
    order = tuple(replace_grouped(key, subqueries) for key in _bind_order_by(binder, scope, node.sort_clause, targets))
    distinct = _bind_distinct(binder, scope, node.distinct_clause, targets, order)
    grouped = bool(keys) or sets is not None or having is not None or scope.aggregates
    exprs = [expr for _, expr in targets]
    if grouped:
        used = [*exprs, *(key.expr for key in order), *(each for each in (having, test) if each is not None)]
        implied = check_grouped(binder, scope, keys, sets, used, source)
        if sets is not None:
            extra = tuple(range(len(keys), len(keys) + len(implied)))
            sets = tuple((*each, *extra) for each in sets)
        keys = (*keys, *implied)
    limit, offset = bind_limits(binder, scope, node)
    columns = tuple(_build_output(name, expr, source) for name, expr in targets)
    source = add_presence_columns(binder, source)
    result = Select(
        columns, tuple(exprs), source, where, grouped, keys, sets, having, distinct, order, limit, offset, ctes
    )
    if len(node.locking_clause):
        bind_row_locks(binder, scope, node, result)
    if scope.hypotheticals and sets is not None:
        change = build_set_change(binder, scope.hypotheticals, keys, sets)
        result, test = replace_nodes(result, change), None if test is None else replace_nodes(test, change)
    if test is not None:
        return apply_limits(binder, apply_qualify(binder, result, test, scope.outer_aggregates), node)
    result = split_grouped(binder, result, scope.outer_aggregates) if scope.outer_aggregates else result
    return apply_limits(binder, wrap_sorted_sets(binder, result), node)


_MAX_TARGETS = 1664


def bind_targets(binder: Binder, scope: Scope, nodes: Sequence[Any], *, resolve_unknowns: bool = True) -> Targets:
    """Binds the select list with stars expanded; untyped literals become text if `resolve_unknowns` is set."""
    targets: Targets = []
    for each in nodes:
        node = inner(each)
        if kind(node.val) == "column_ref" and kind(inner(node.val).fields[-1]) == "a_star":
            columns = _bind_star(binder, scope, inner(node.val))
            binder.parse_nodes.update({id(expr): (expr, node.val) for _, expr in columns})
            targets += columns
            continue
        if kind(node.val) == "a_indirection" and (spread := expand_star(binder, scope, node.val)) is not None:
            targets += spread
            continue
        expr = bind_expression(binder, scope, node.val)
        name = node.name or derive_output_name(node.val, binder.subquery_names)
        targets.append((name, resolve_unknown(binder, expr) if resolve_unknowns else expr))
    if len(targets) > _MAX_TARGETS:
        raise SqlError.of("too_many_columns", f"target lists can have at most {_MAX_TARGETS} entries")
    return targets


def _bind_star(binder: Binder, scope: Scope, node: Any) -> Targets:
    try:
        names = strings(node.fields[:-1])
        if not names:
            if not scope.items and not scope.columns:
                raise SqlError.of("syntax_error", "SELECT * with no tables specified is not valid")
            _record_star(binder, node, [(_find_owner(scope, name, expr), name) for name, expr in scope.columns])
            return record_star(binder, scope.columns)
        item = scope.resolve_relation(names[-1], names[-2] if len(names) > 1 else None)
        if item is None:
            raise missing_table(scope, names[-1])
        _record_star(binder, node, [(names, name) for name, _ in item.columns])
        return record_star(binder, item.columns)
    except GpudbError as error:
        raise binder.locate(error, node.location) from None


def _find_owner(scope: Scope, name: str, expr: Expr) -> tuple[str, ...]:
    """Returns the qualified name of a column's only relation; () for a column that a join merged."""
    owners = [item for item in scope.items if item.alias and (name, expr) in item.columns]
    if len(owners) != 1:
        return ()
    alone = sum(item.alias == owners[0].alias for item in scope.items) == 1
    return (owners[0].alias,) if alone or owners[0].schema is None else (owners[0].schema, owners[0].alias)


def _record_star(binder: Binder, node: Any, columns: list[tuple[tuple[str, ...], str]]) -> None:
    """Records the columns of a star; a star whose columns cannot be told apart by name is not recorded."""
    if binder.stars is not None and len(set(columns)) == len(columns):
        binder.stars[node.location] = tuple((*owner, name) for owner, name in columns)


def _build_output(name: str, expr: Expr, source: From | None) -> OutputColumn:
    if isinstance(expr, Column) and source is not None:
        for scan in _list_scans(source):
            if scan.rel == expr.rel and expr.index < len(scan.table.columns):
                return OutputColumn(name, expr.type, scan.table.catalog_oid, expr.index + 1)
    return OutputColumn(name, expr.type)


def _list_scans(source: From) -> list[Scan]:
    if isinstance(source, Join):
        return _list_scans(source.left) + _list_scans(source.right)
    return [source] if isinstance(source, Scan) else []


def _bind_order_by(binder: Binder, scope: Scope, nodes: Sequence[Any], targets: Targets) -> tuple[SortKey, ...]:
    """Binds ORDER BY items: an output's name or position, or an expression over the input."""
    keys = []
    for each in nodes:
        node = inner(each)
        expr = find_output(binder, node.node, targets, "ORDER BY")
        if expr is None:
            expr = find_equivalent(bind_expression(binder, scope, node.node), [each for _, each in targets])
        try:
            keys.append(build_sort_key(binder, expr, node))
        except GpudbError as error:
            raise binder.locate(error, expression_location(node.node)) from None
    return tuple(keys)


def _bind_distinct(
    binder: Binder, scope: Scope, nodes: Sequence[Any], targets: Targets, order: tuple[SortKey, ...]
) -> bool | tuple[Expr, ...]:
    if not len(nodes):
        return False
    if not present(nodes[0]):
        selected = [expr for _, expr in targets]
        for key in order:
            if key.expr not in selected:
                message = "for SELECT DISTINCT, ORDER BY expressions must appear in select list"
                raise binder.locate_expr(SqlError.of("invalid_column_reference", message), key.expr)
        for each in selected:
            try:
                check_equality([each.type])
            except GpudbError as error:
                raise binder.locate_expr(error, each) from None
        return True
    result = []
    known = [*(each for _, each in targets), *(key.expr for key in order)]
    for node in nodes:
        expr = find_output(binder, node, targets, "DISTINCT ON")
        if expr is None:
            expr = find_equivalent(resolve_unknown(binder, bind_expression(binder, scope, node)), known)
        check_equality([expr.type])
        result.append(expr)
    leading = [key.expr for key in order[: len(result)]]
    if any(expr not in result for expr in leading):
        message = "SELECT DISTINCT ON expressions must match initial ORDER BY expressions"
        odd = next((n for n, expr in zip(nodes, result, strict=True) if expr not in leading), nodes[0])
        raise binder.locate(SqlError.of("invalid_column_reference", message), expression_location(odd))
    return tuple(result)
