"""SELECT, set operations and VALUES, with WITH, ORDER BY and LIMIT."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from postgast import pg_query_pb2 as pg

from gpudb.errors import FeatureNotSupported, GpudbError, SqlError, SyntaxError_
from gpudb.sql.bind.base import Binder
from gpudb.sql.bind.expressions.changed_stars import bind_changed_star
from gpudb.sql.bind.expressions.expressions import bind_expression
from gpudb.sql.bind.expressions.ordering import build_sort_key
from gpudb.sql.bind.expressions.records import add_presence_columns
from gpudb.sql.bind.expressions.repeated_columns import name_output
from gpudb.sql.bind.expressions.stars import bind_star, expand_star
from gpudb.sql.bind.expressions.windows import collect_windows
from gpudb.sql.bind.query.all_columns import is_all, record_all
from gpudb.sql.bind.query.from_clause import bind_from
from gpudb.sql.bind.query.grouped_subqueries import find_equivalent, list_subqueries, replace_grouped
from gpudb.sql.bind.query.grouping import bind_group_by, check_grouped, find_output
from gpudb.sql.bind.query.hypothetical_grouping import build_set_change
from gpudb.sql.bind.query.limits import apply_limits, bind_limits
from gpudb.sql.bind.query.outer_aggregates import split_grouped
from gpudb.sql.bind.query.output_names import UNNAMED, derive_output_name
from gpudb.sql.bind.query.qualify import apply_qualify, bind_qualify
from gpudb.sql.bind.query.row_locks import bind_row_locks, check_lockable
from gpudb.sql.bind.query.sample_clause import apply_sample, take_sample
from gpudb.sql.bind.query.set_operations import bind_set_operation, bind_values
from gpudb.sql.bind.query.sorted_set_functions import wrap_sorted_sets
from gpudb.sql.bind.query.with_clause import bind_with
from gpudb.sql.bind.scope import Repetition, Scope
from gpudb.sql.bind.types.coercion import resolve_unknown
from gpudb.sql.bind.types.conversions import check_equality, coerce_condition
from gpudb.sql.bound import (
    BoolOp,
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
from gpudb.sql.parse.parser import expression_location, inner, kind, present
from gpudb.sql.parse.star_changes import is_changed_star
from gpudb.sql.traverse import replace_nodes
from gpudb.types import BOOL

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
    items, sample = take_sample(node.from_clause)
    source = bind_from(binder, scope, items)
    scope.clause = ""
    where = None
    if sample is not None:
        source, where = apply_sample(binder, scope, source, sample)
    if present(node.where_clause):
        scope.clause = "WHERE"
        condition = coerce_condition(binder, bind_expression(binder, scope, node.where_clause), "WHERE")
        where = condition if where is None else BoolOp("AND", (where, condition), BOOL)
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
        result = bind_row_locks(binder, scope, node, result)
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
            columns = bind_star(binder, scope, inner(node.val))
            binder.parse_nodes.update({id(expr): (expr, node.val) for _, expr in columns})
            targets += columns
            continue
        if is_changed_star(node.val):
            if node.name:
                raise binder.locate(SyntaxError_(f'syntax error at or near "{node.name}"'), node.location)
            targets += _resolve(binder, bind_changed_star(binder, scope, inner(node.val)), resolve_unknowns)
            continue
        if kind(node.val) == "a_indirection" and (spread := expand_star(binder, scope, node.val)) is not None:
            targets += spread
            continue
        targets += _resolve(binder, _bind_item(binder, scope, node), resolve_unknowns)
    if len(targets) > _MAX_TARGETS:
        raise SqlError.of("too_many_columns", f"target lists can have at most {_MAX_TARGETS} entries")
    return targets


def _resolve(binder: Binder, targets: Targets, resolve_unknowns: bool) -> Targets:
    return [(name, resolve_unknown(binder, expr)) for name, expr in targets] if resolve_unknowns else targets


def _bind_item(binder: Binder, scope: Scope, node: Any) -> Targets:
    """Binds an item of a select list: one column, or with COLUMNS one for each of its columns."""
    outer, scope.repetition = scope.repetition, (repetition := Repetition())
    try:
        expr = bind_expression(binder, scope, node.val)
        if not repetition.columns:
            name = node.name or derive_output_name(node.val, binder.subquery_names)
            if binder.expansions is not None and not node.name and name != UNNAMED:
                binder.expansions.names[node.SerializeToString(deterministic=True)] = name
            return [(name, expr)]
        targets = [(name_output(repetition, node.name), expr)]
        for place in range(1, len(repetition.columns)):
            repetition.place = place
            expr = bind_expression(binder, scope, node.val)
            targets.append((name_output(repetition, node.name), expr))
        return targets
    finally:
        scope.repetition = outer


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
        if is_all(node.node):
            exprs = [expr for _, expr in targets]
            record_all(binder, node.node, range(len(targets)))
        elif (found := find_output(binder, node.node, targets, "ORDER BY")) is not None:
            exprs = [found]
        else:
            exprs = [find_equivalent(bind_expression(binder, scope, node.node), [each for _, each in targets])]
        try:
            keys += [build_sort_key(binder, expr, node) for expr in exprs]
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
    found: list[Expr] = []
    known = [*(each for _, each in targets), *(key.expr for key in order)]
    for node in nodes:
        expr = find_output(binder, node, targets, "DISTINCT ON")
        if expr is None:
            expr = find_equivalent(resolve_unknown(binder, bind_expression(binder, scope, node)), known)
        check_equality([expr.type])
        found.append(expr)
    result = tuple(expr for number, expr in enumerate(found) if expr not in found[:number])
    keys = [key.expr for key in order]
    leading = [expr for number, expr in enumerate(keys) if expr not in keys[:number]][: len(result)]
    if any(expr not in result for expr in leading):
        message = "SELECT DISTINCT ON expressions must match initial ORDER BY expressions"
        odd = next((n for n, expr in zip(nodes, found, strict=True) if expr not in leading), nodes[0])
        raise binder.locate(SqlError.of("invalid_column_reference", message), expression_location(odd))
    return result
