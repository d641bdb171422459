"""Aggregate calls and GROUPING. Each belongs to the query level of its columns, which may be an outer one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from gpudb.errors import SqlError, UndefinedFunction
from gpudb.functions import resolve
from gpudb.functions.registry import get_implementation
from gpudb.sql.bind.base import Binder
from gpudb.sql.bind.expressions.hypothetical import NAMES, build_hypothetical
from gpudb.sql.bind.expressions.operators import build_call
from gpudb.sql.bind.scope import PARAMETERS, POLICIES, STORED_CLAUSES, Hypothetical, Scope, get_clause_name
from gpudb.sql.bind.types.coercion import coerce
from gpudb.sql.bind.types.conversions import check_equality
from gpudb.sql.bound import SUBQUERIES, Aggregate, Column, Constant, Expr, Grouping, SortKey, Window
from gpudb.sql.traverse import children, replace_nodes, walk
from gpudb.types import BOOL, TEXT, UNKNOWN

ORDERED_SETS = NAMES | {"percentile_cont", "percentile_disc", "mode"}
_FORBIDDEN = frozenset(
    (
        "WHERE",
        "trigger WHEN conditions",
        "GROUP BY",
        "JOIN",
        "LIMIT",
        "OFFSET",
        "VALUES",
        "FROM",
        "UPDATE",
        "RETURNING",
        "FILTER",
        "CHECK",
        PARAMETERS,
        POLICIES,
        *STORED_CLAUSES,
    )
    + ("FROM clause of their own query level", "MERGE WHEN", "window ROWS", "window RANGE", "window GROUPS")
)


def bind_aggregate(binder: Binder, scope: Scope, call: Aggregate) -> Expr:
    """Binds an aggregate call to its query level; 42803 if that clause allows none."""
    inputs: list[Any] = [*call.args, *call.order_by, *call.within_group]
    if call.filter is not None:
        inputs.append(call.filter)
    owner = _find_owner(scope, inputs)
    _check_clause(owner, "aggregate functions")
    if owner is not scope and owner.in_aggregate:
        raise SqlError.of("grouping_error", "aggregate function calls cannot be nested")
    for window in (n for part in inputs for n in walk(part) if isinstance(n, Window)):
        message = "aggregate function calls cannot contain window function calls"
        raise binder.locate_expr(SqlError.of("grouping_error", message), window)
    if call.distinct:
        check_equality(arg.type for arg in call.args)
    return _attach(scope, owner, call)


def bind_ordered_set(
    binder: Binder, scope: Scope, name: str, args: Sequence[Expr], order: tuple[SortKey, ...], filter_expr: Expr | None
) -> Expr:
    """Binds an ordered-set aggregate: percentile_cont(0.5) WITHIN GROUP (ORDER BY x)."""
    if name in NAMES:
        order = tuple(
            replace(key, expr=coerce(binder, key.expr, TEXT)) if key.expr.type == UNKNOWN else key for key in order
        )
    if name in NAMES and len(args) == len(order):
        return _bind_hypothetical(binder, scope, name, args, order, filter_expr)
    types = tuple(arg.type.plain for arg in (*args, *(key.expr for key in order)))
    if name in NAMES:
        hint = (
            f"To use the hypothetical-set aggregate {name}, the number of hypothetical direct arguments"
            f" (here {len(args)}) must match the number of ordering columns (here {len(order)})."
        )
        raise UndefinedFunction(f"function {name}({', '.join(map(str, types))}) does not exist", hint=hint)
    candidate = resolve.resolve_function(name, types, "a")
    if name not in ORDERED_SETS:
        message = f"{name} is not an ordered-set aggregate, so it cannot have WITHIN GROUP"
        raise SqlError.of("wrong_object_type", message)
    resolve.check_typed(candidate.types, types)
    result = build_call(binder, candidate, [*args, *(key.expr for key in order)])
    get_implementation(result.function)
    keys = tuple(
        SortKey(expr, key.descending, key.nulls_first)
        for expr, key in zip(result.args[len(args) :], order, strict=True)
    )
    direct = result.args[: len(args)]
    return bind_aggregate(
        binder, scope, Aggregate(result.function, direct, result.type, within_group=keys, filter=filter_expr)
    )


def _bind_hypothetical(
    binder: Binder, scope: Scope, name: str, args: Sequence[Expr], order: tuple[SortKey, ...], filter_expr: Expr | None
) -> Expr:
    result, parts = build_hypothetical(binder, name, args, order, filter_expr)
    for part in parts:
        bind_aggregate(binder, scope, part)
    owner = _find_owner(scope, parts)
    rebind = lambda row: build_hypothetical(binder, name, row, order, filter_expr)[0]  # noqa: E731
    owner.hypotheticals.append(Hypothetical(result, tuple(args), rebind))
    return result


def bind_grouping(binder: Binder, scope: Scope, node: Any) -> Expr:
    """Binds GROUPING(…); the query checks later that its arguments are grouping expressions."""
    result = Grouping(tuple(binder.bind_expression(scope, each) for each in node.args))
    owner = _find_owner(scope, result.args)
    _check_clause(owner, "grouping operations")
    if owner.in_aggregate:
        raise SqlError.of("grouping_error", "aggregate function calls cannot be nested")
    return _attach(scope, owner, result)


def _find_owner(scope: Scope, parts: Iterable[Any]) -> Scope:
    """Returns the innermost query level of the columns; the current level if there is no column."""
    rels = {n.rel for part in parts for n in walk(part) if isinstance(n, Column)}
    level: Scope | None = scope
    while level is not None:
        if rels & level.rels:
            return level
        level = level.parent
    return scope


def _attach(scope: Scope, owner: Scope, call: Aggregate | Grouping) -> Expr:
    owner.aggregates = True
    if owner is not scope:
        owner.outer_aggregates.append(call)
    return call


def bind_over_aggregates(scope: Scope, args: Sequence[Expr], bind: Callable[[Sequence[Expr]], Expr]) -> Expr:
    """Returns what `bind` makes of a function's arguments, whose aggregates its body may have inside subqueries.

    They are computed at the level of the call, as those that are written in subqueries are. There they have a filter,
    by which they differ from aggregates of the body.
    """
    result = bind(args)
    if not any(isinstance(each, Aggregate | Grouping) for arg in args for each in walk(arg)):
        return result
    if not any(isinstance(each, SUBQUERIES) for each in walk(result)):
        return result
    found: list[Aggregate | Grouping] = []

    def mark(node: Any) -> Any:
        if isinstance(node, SUBQUERIES):
            return node
        if isinstance(node, Aggregate | Grouping) and _find_owner(scope, children(node)) is scope:
            marked = node
            if isinstance(node, Aggregate) and node.filter is None:
                marked = replace(node, filter=Constant(True, BOOL))
            found.append(marked)
            return marked
        return None

    result = bind([replace_nodes(arg, mark) for arg in args])
    below = [each for query in walk(result) if isinstance(query, SUBQUERIES) for each in walk(query)]
    scope.outer_aggregates += [each for each in found if each in below and each not in scope.outer_aggregates]
    return result


def _check_clause(owner: Scope, what: str) -> None:
    if owner.clause in _FORBIDDEN:
        raise SqlError.of("grouping_error", f"{what} are not allowed in {get_clause_name(owner.clause)}")
