"""Hypothetical-set aggregates (rank, dense_rank, percent_rank, cume_dist) as counts of earlier rows."""

from __future__ import annotations

from collections.abc import Sequence

from gpudb.functions import resolve
from gpudb.functions.registry import Function
from gpudb.sql.bind.base import Binder
from gpudb.sql.bind.expressions.operators import apply_operator, build_call, conjunction, disjunction
from gpudb.sql.bind.types.coercion import coerce, unify_branches
from gpudb.sql.bound import Aggregate, BoolOp, Case, Cast, Constant, DistinctFrom, Expr, SortKey, Test
from gpudb.types import FLOAT8, INT4, INT8, TEXT

NAMES = frozenset({"rank", "dense_rank", "percent_rank", "cume_dist"})


def build_hypothetical(
    binder: Binder, name: str, args: Sequence[Expr], order: Sequence[SortKey], filter_expr: Expr | None
) -> tuple[Expr, tuple[Aggregate, ...]]:
    """Returns the rank that a row of `args` would have, and the aggregates that it consists of."""
    pairs = []
    for arg, key in zip(args, order, strict=True):
        (item, value), _ = unify_branches(binder, [key.expr, arg], "WITHIN GROUP")
        pairs.append((SortKey(item, key.descending, key.nulls_first), value))
    before = _sorts_before(binder, pairs)
    if name == "dense_rank":
        if len(pairs) > 1:
            ranks = _count(binder, _conjoin(filter_expr, before), _combine_keys(binder, [key.expr for key, _ in pairs]))
            return apply_operator(binder, "+", ranks, Constant(1, INT4)), (ranks,)
        expr = pairs[0][0].expr
        # DISTINCT does not count NULL, which is one more value if NULLs come first
        ranks = _count(binder, _conjoin(filter_expr, before), expr)
        nulls = _count(binder, _conjoin(filter_expr, before, Test(expr, "NULL")))
        some = Case(
            ((apply_operator(binder, ">", nulls, Constant(0, INT8)), Constant(1, INT8)),), Constant(0, INT8), INT8
        )
        total = apply_operator(binder, "+", apply_operator(binder, "+", ranks, some), Constant(1, INT4))
        return total, (ranks, nulls)
    first = _count(binder, _conjoin(filter_expr, before))
    if name == "rank":
        return apply_operator(binder, "+", first, Constant(1, INT4)), (first,)
    every = _count(binder, filter_expr)
    if name == "percent_rank":
        share = apply_operator(binder, "/", coerce(binder, first, FLOAT8), coerce(binder, every, FLOAT8))
        empty = apply_operator(binder, "=", every, Constant(0, INT8))
        return Case(((empty, Constant(0.0, FLOAT8)),), share, FLOAT8), (first, every)
    same = conjunction([DistinctFrom(key.expr, given, True) for key, given in pairs])
    reached = _count(binder, _conjoin(filter_expr, disjunction([before, same])))
    one = Constant(1.0, FLOAT8)
    above, below = (apply_operator(binder, "+", coerce(binder, each, FLOAT8), one) for each in (reached, every))
    return apply_operator(binder, "/", above, below), (reached, every)


def _combine_keys(binder: Binder, keys: Sequence[Expr]) -> Expr:
    """Returns one text for several keys, equal for equal keys: numerics without trailing zeros."""

    def called(name: str, args: Sequence[Expr]) -> Expr:
        return build_call(binder, resolve.resolve_function(name, tuple(arg.type.plain for arg in args)), args)

    parts = [called("trim_scale", [each]) if each.type.name == "numeric" else each for each in keys]
    return Cast(called("json_build_array", parts), TEXT)


def _sorts_before(binder: Binder, pairs: Sequence[tuple[SortKey, Expr]]) -> Expr:
    """Returns the condition that a row sorts before the hypothetical one."""
    (key, value), *rest = pairs
    item = key.expr
    differs = apply_operator(binder, ">" if key.descending else "<", item, value)
    first, last = (item, value) if key.nulls_first else (value, item)
    nulls = BoolOp("AND", (Test(first, "NULL"), Test(last, "NULL", negated=True)))
    ahead = disjunction([differs, nulls])
    if not rest:
        return ahead
    return disjunction([ahead, conjunction([DistinctFrom(item, value, True), _sorts_before(binder, rest)])])


def _conjoin(*conditions: Expr | None) -> Expr:
    return conjunction([each for each in conditions if each is not None])


def _count(binder: Binder, filter_expr: Expr | None, distinct: Expr | None = None) -> Aggregate:
    args = () if distinct is None else (distinct,)
    target = resolve.resolve_function("count", tuple(each.type.plain for each in args), "a").target
    assert isinstance(target, Function)
    return Aggregate(target, args, INT8, distinct is not None, filter=filter_expr, star=distinct is None)
