"""Hypothetical-set aggregates over GROUPING SETS: a key that a set lacks is NULL in the hypothetical row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gpudb.sql.bind.base import Binder
from gpudb.sql.bind.expressions.operators import apply_operator
from gpudb.sql.bind.scope import Hypothetical
from gpudb.sql.bound import Case, Constant, Expr, Grouping
from gpudb.sql.traverse import replace_nodes, walk
from gpudb.types import INT4

Sets = tuple[tuple[int, ...], ...]


def build_set_change(
    binder: Binder, found: Sequence[Hypothetical], keys: Sequence[Expr], sets: Sets
) -> Callable[[Any], Any | None]:
    """Returns the change, for `replace_nodes`, of hypothetical-set aggregates under the `sets` of `keys`."""
    result = {id(each.expr): _bind_for_sets(binder, each, keys, sets) for each in found}
    return lambda node: result.get(id(node))


def _bind_for_sets(binder: Binder, each: Hypothetical, keys: Sequence[Expr], sets: Sets) -> Expr | None:
    parts = [part for arg in each.args for part in walk(arg)]
    used = [index for index, key in enumerate(keys) if key in parts and not all(index in held for held in sets)]
    if not used:
        return None
    grouping = Grouping(tuple(keys[index] for index in used))
    branches = []
    for missing in dict.fromkeys(tuple(index for index in used if index not in held) for held in sets):
        mask = sum((index in missing) << place for place, index in enumerate(reversed(used)))
        test = apply_operator(binder, "=", grouping, Constant(mask, INT4))
        branches.append((test, each.rebind([_null_keys(arg, [keys[index] for index in missing]) for arg in each.args])))
    *others, (_, last) = branches
    return Case(tuple(others), last, last.type)


def _null_keys(arg: Expr, keys: Sequence[Expr]) -> Expr:
    result: Expr = replace_nodes(arg, lambda node: Constant(None, node.type) if node in keys else None)
    return result
