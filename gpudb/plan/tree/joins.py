"""Builds joins from conditions: equalities between the inputs become keys, NOT IN becomes a null-aware anti-join."""

from __future__ import annotations

from typing import Any

from gpudb.plan.errors import NotSupportedOnWorkers
from gpudb.plan.tree.functions import NOT_IN, cast_to
from gpudb.plan.tree.nodes import Join, JoinKind, Node
from gpudb.plan.tree.predicates import EQUALITIES, common_key_type, equality_function
from gpudb.plan.tree.traversal import columns_read, remap_columns
from gpudb.sql import bound
from gpudb.sql.traverse import join_conjuncts
from gpudb.types import BOOL


def build_join(kind: JoinKind, left: Node, right: Node, parts: tuple[Any, ...]) -> Join:
    """Builds a join whose equalities between the sides are its keys."""
    width = len(left.types)
    keys, rest = split_keys(parts, width)
    aware = any(_is_not_in(part) and part not in rest for part in parts)
    if aware and (kind != "ANTI" or len(keys) > 1 or rest):
        # NOT IN with a correlation: the comparison itself decides, row by row.
        keys, rest = [], [_compare_not_in(part) if _is_not_in(part) else part for part in parts]
        for part in [each for each in rest if _match_key(each, width) is not None]:
            keys.append(_match_key(part, width) or keys[-1])
            rest.remove(part)
        aware = False
    return Join(kind, left, right, tuple(keys), join_conjuncts(tuple(rest)), aware)


def split_keys(parts: tuple[Any, ...], width: int) -> tuple[list[tuple[Any, Any]], list[Any]]:
    """Splits conditions on two inputs, the left one with `width` columns, into keys and the rest."""
    keys: list[tuple[Any, Any]] = []
    rest: list[Any] = []
    for part in parts:
        pair = _match_key(part, width)
        if pair is not None:
            keys.append(pair)
        elif not is_true(part):
            rest.append(part)
    return keys, rest


def _is_not_in(part: Any) -> bool:
    return isinstance(part, bound.Call) and part.function == NOT_IN


def _compare_not_in(part: Any) -> Any:
    left, right = part.args
    return bound.Test(build_equality(left, right, negated=False), "FALSE", negated=True)


def _match_key(part: Any, width: int) -> tuple[Any, Any] | None:
    """Returns the left and right side of an equality between two inputs, the left one with `width` columns."""
    if not isinstance(part, bound.Call) or len(part.args) != 2:
        return None
    if part.function != NOT_IN and part.function.name not in EQUALITIES:
        return None
    first, second = part.args
    kind = common_key_type(first.type, second.type)
    one, other = columns_read(first), columns_read(second)
    if kind is None or not one or not other:
        return None
    if max(other) < width <= min(one):
        first, second, one, other = second, first, other, one
    if not (max(one) < width <= min(other)):
        return None
    return cast_to(first, kind), cast_to(remap_columns(second, lambda index: index - width), kind)


def build_equality(left: Any, right: Any, *, negated: bool) -> Any:
    kind = common_key_type(left.type, right.type)
    if kind is None:
        raise NotSupportedOnWorkers(f"equality of {left.type} and {right.type}")
    call = bound.Call(equality_function(kind), (cast_to(left, kind), cast_to(right, kind)), BOOL)
    return bound.BoolOp("NOT", (call,)) if negated else call


def is_true(part: Any) -> bool:
    """Returns whether a condition is always true."""
    return isinstance(part, bound.Constant) and part.value is True
