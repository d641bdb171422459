"""Hypothetical-set aggregates over GROUPING SETS: a key that a set lacks is NULL in the hypothetical row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gpudb.sql.bind.base import Binder
from gpudb.sql.bind.expressions.operators import apply_operator
from gpudb.sql.bind.scope import Hypothetical
from gpudb.sql.bound import Case, Constant, Expr, Grouping
from gpudb.sql.traverse import mapped, walk
from gpudb.types import INT4

Sets = tuple[tuple[int, ...], ...]


def by_sets(
    binder: Binder, found: Sequence[Hypothetical], keys: Sequence[Expr], sets: Sets
) -> Callable[[Any], Any | None]:
    """Returns the change, for `mapped`, of hypothetical-set aggregates in a query over grouping `sets` of `keys`."""
    made = {id(each.made): _of_sets(binder, each, keys, sets) for each in found}
    return lambda node: made.get(id(node))


def _of_sets(binder: Binder, each: Hypothetical, keys: Sequence[Expr], sets: Sets) -> Expr | None:
    parts = [part for arg in each.args for part in walk(arg)]
    used = [index for index, key in enumerate(keys) if key in parts and not all(index in held for held in sets)]
    if not used:
        return None
    grouping = Grouping(tuple(keys[index] for index in used))
    branches = []
    for missing in dict.fromkeys(tuple(index for index in used if index not in held) for held in sets):
        mask = sum((index in missing) << place for place, index in enumerate(reversed(used)))
        test = apply_operator(binder, "=", grouping, Constant(mask, INT4))
        branches.append((test, each.of([_without(arg, [keys[index] for index in missing]) for arg in each.args])))
    *others, (_, last) = branches
    return Case(tuple(others), last, last.type)


def _without(arg: Expr, keys: Sequence[Expr]) -> Expr:
    made: Expr = mapped(arg, lambda node: Constant(None, node.type) if node in keys else None)
    return made
