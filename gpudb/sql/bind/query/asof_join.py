"""ASOF JOIN: bound as the LATERAL subquery that PostgreSQL would run, `(SELECT … ORDER BY b.t DESC LIMIT 1)`.

So every engine can run it, and those that have a faster way find the join in that subquery (`sql.asof_joins`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from gpudb.errors import FeatureNotSupported, SqlError
from gpudb.functions.library import get_comparison
from gpudb.sql.bind.base import Binder
from gpudb.sql.bind.expressions import operators
from gpudb.sql.bind.expressions.expressions import bind_expression
from gpudb.sql.bind.query.sources import Source, mark_nullable
from gpudb.sql.bind.query.using import bind_using
from gpudb.sql.bind.scope import Columns, Scope
from gpudb.sql.bind.types.conversions import coerce_condition
from gpudb.sql.bound import (
    BoolOp,
    Call,
    Column,
    Constant,
    Derived,
    Expr,
    FunctionScan,
    Join,
    OutputColumn,
    Select,
    SortKey,
)
from gpudb.sql.parse.asof_join import FUNCTION
from gpudb.sql.parse.parser import expression_location, inner, kind, strings
from gpudb.sql.traverse import outer_columns, replace_nodes, walk
from gpudb.types import BOOL, INT8

_ORDERS = frozenset({"<", "<=", ">", ">="})
_NEEDED = "a comparison (>=, >, <= or <) of an expression of the left table with one of the right table"


def read_asof_join(node: Any) -> Any | None:
    """Returns the call that stands for the conditions of an ASOF join; None for a JoinExpr message of another join."""
    if kind(node.quals) != "func_call" or strings(node.quals.func_call.funcname) != (FUNCTION,):
        return None
    return node.quals.func_call


def bind_asof_join(binder: Binder, level: Scope, call: Any, join_kind: str, left: Source, right: Source) -> Source:
    """Binds an ASOF join of two relations, whose conditions see `level`.

    42601 if no comparison of both sides chooses the nearest row, 0A000 for a join or LATERAL on the right.
    """
    _check_right(left, right)
    level.rels = set(left.rels | right.rels)
    match, on, *using = call.args
    by_match = not inner(match).isnull if kind(match) == "a_const" else True
    names = tuple(inner(each).sval.sval for each in using)
    conditions = _bind_condition(binder, level, on, "JOIN/ON")
    columns: Columns = left.columns + right.columns
    if names:
        shared, columns = bind_using(binder, join_kind, left, right, names, "=" if by_match else ">=")
        conditions = [*reversed(_split(shared)), *conditions]
    if by_match:
        conditions = [*_bind_condition(binder, level, match, "MATCH_CONDITION"), *conditions]
    # MATCH_CONDITION begins with the comparison; elsewhere it is the first one
    nearest = next(
        (found for each in (conditions[:1] if by_match else conditions) if (found := _read_order(each, left, right))),
        None,
    )
    if nearest is None:
        message = f"MATCH_CONDITION must begin with {_NEEDED}" if by_match else f"ASOF JOIN needs {_NEEDED}"
        raise binder.locate(SqlError.of("syntax_error", message), expression_location(match if by_match else on))
    relation = _build_nearest(binder, join_kind, left, right, conditions, *nearest)
    items = left.items + mark_nullable(right.items, join_kind == "LEFT")
    return Source(relation, items, columns, left.rels | right.rels)


def _check_right(left: Source, right: Source) -> None:
    relation = right.relation
    if isinstance(relation, Join):
        raise FeatureNotSupported("a join on the right of an ASOF JOIN is not supported", hint="Use a subquery.")
    if isinstance(relation, Derived) and relation.lateral:
        read = {rel for rel, _ in outer_columns(relation.query)}
    elif isinstance(relation, FunctionScan):
        read = {each.rel for arg in relation.args for each in walk(arg) if isinstance(each, Column)}
    else:
        return
    if not read.isdisjoint(left.rels):
        raise FeatureNotSupported("an ASOF JOIN with a LATERAL relation is not supported")


def _bind_condition(binder: Binder, level: Scope, node: Any, clause: str) -> list[Expr]:
    condition = coerce_condition(binder, bind_expression(binder, level, node), clause)
    return [] if isinstance(condition, Constant) and condition.value is True else _split(condition)


def _split(condition: Expr | None) -> list[Expr]:
    if isinstance(condition, BoolOp) and condition.op == "AND":
        return [part for each in condition.args for part in _split(each)]
    return [] if condition is None else [condition]


def _read_order(condition: Expr, left: Source, right: Source) -> tuple[Expr, bool] | None:
    """Returns the right side of a comparison of both relations, and whether the nearest row has its greatest value."""
    symbol = get_comparison(condition.function) if isinstance(condition, Call) else None
    if symbol not in _ORDERS or not isinstance(condition, Call):
        return None
    one, other = condition.args
    if _reads(one, left, right) and _reads(other, right, left):
        return other, symbol in {">", ">="}
    if _reads(one, right, left) and _reads(other, left, right):
        return one, symbol in {"<", "<="}
    return None


def _reads(expr: Expr, side: Source, other: Source) -> bool:
    """Whether an expression reads columns of one side and none of the other."""
    read = {each.rel for each in walk(expr) if isinstance(each, Column)}
    return bool(read & side.rels) and not read & other.rels


def _build_nearest(
    binder: Binder,
    join_kind: str,
    left: Source,
    right: Source,
    conditions: Sequence[Expr],
    value: Expr,
    greatest: bool,
) -> Join:
    """Returns the join with the subquery of the right rows that fulfil the conditions, of which it keeps one."""
    (rel,) = right.rels
    inside = binder.new_rel()

    def move(node: Any) -> Any:
        return replace(node, rel=inside) if isinstance(node, Column) and node.rel == rel else None

    known = {expr.index: (name, expr) for item in right.items for name, expr in _own_columns(item, rel)}
    columns = tuple(OutputColumn(known[n][0], known[n][1].type) for n in range(len(known)))
    targets = tuple(Column(inside, n, each.type, each.name) for n, each in enumerate(columns))
    where = replace_nodes(operators.conjunction(conditions), move)
    order = SortKey(replace_nodes(value, move), descending=greatest, nulls_first=greatest)
    source = replace(right.relation, rel=inside)  # type: ignore[arg-type]
    query = Select(columns, targets, source, where, order_by=(order,), limit=Constant(1, INT8))
    derived = Derived(rel, query, lateral=True)
    if join_kind == "LEFT":
        return Join("LEFT", left.relation, derived, Constant(True, BOOL))
    return Join("CROSS", left.relation, derived, None)


def _own_columns(item: Any, rel: int) -> list[tuple[str, Column]]:
    """Returns the columns of a relation's namespace that are its own, with their names."""
    every = (*item.columns, *item.hidden)
    return [(name, each) for name, each in every if isinstance(each, Column) and each.rel == rel]
