"""Builds joins from conditions: equalities between the inputs become keys, NOT IN becomes a null-aware anti-join."""

from __future__ import annotations

from typing import Any

from gpudb.plan.errors import NotCarried
from gpudb.plan.tree.functions import NOT_IN, as_type
from gpudb.plan.tree.nodes import Join, JoinKind, Node
from gpudb.plan.tree.predicates import EQUALITIES, equals, key_type
from gpudb.plan.tree.traversal import conjunction, moved, used
from gpudb.sql import bound
from gpudb.types import BOOL


def joined(kind: JoinKind, left: Node, right: Node, parts: tuple[Any, ...]) -> Join:
    """Builds a join whose equalities between the sides are its keys."""
    width = len(left.types)
    keys, rest = keys_among(parts, width)
    aware = any(_is_not_in(part) and part not in rest for part in parts)
    if aware and (kind != "ANTI" or len(keys) > 1 or rest):
        # NOT IN with a correlation: the comparison itself decides, row by row.
        keys, rest = [], [_spelled(part) if _is_not_in(part) else part for part in parts]
        for part in [each for each in rest if _sides(each, width) is not None]:
            keys.append(_sides(part, width) or keys[-1])
            rest.remove(part)
        aware = False
    return Join(kind, left, right, tuple(keys), conjunction(tuple(rest)), aware)


def keys_among(parts: tuple[Any, ...], width: int) -> tuple[list[tuple[Any, Any]], list[Any]]:
    """Splits conditions on two inputs, the left one with `width` columns, into keys and the rest."""
    keys: list[tuple[Any, Any]] = []
    rest: list[Any] = []
    for part in parts:
        pair = _sides(part, width)
        if pair is not None:
            keys.append(pair)
        elif not is_noise(part):
            rest.append(part)
    return keys, rest


def _is_not_in(part: Any) -> bool:
    return isinstance(part, bound.Call) and part.function == NOT_IN


def _spelled(part: Any) -> Any:
    left, right = part.args
    return bound.Test(compared(left, right, negated=False), "FALSE", negated=True)


def _sides(part: Any, width: int) -> tuple[Any, Any] | None:
    """Returns the left and right side of an equality between two inputs, the left one with `width` columns."""
    if not isinstance(part, bound.Call) or len(part.args) != 2:
        return None
    if part.function != NOT_IN and part.function.name not in EQUALITIES:
        return None
    first, second = part.args
    kind = key_type(first.type, second.type)
    one, other = used(first), used(second)
    if kind is None or not one or not other:
        return None
    if max(other) < width <= min(one):
        first, second, one, other = second, first, other, one
    if not (max(one) < width <= min(other)):
        return None
    return as_type(first, kind), as_type(moved(second, lambda index: index - width), kind)


def compared(left: Any, right: Any, *, negated: bool) -> Any:
    kind = key_type(left.type, right.type)
    if kind is None:
        raise NotCarried(f"equality of {left.type} and {right.type}")
    call = bound.Call(equals(kind), (as_type(left, kind), as_type(right, kind)), BOOL)
    return bound.BoolOp("NOT", (call,)) if negated else call


def is_noise(part: Any) -> bool:
    """Returns whether a condition is always true."""
    return isinstance(part, bound.Constant) and part.value is True
