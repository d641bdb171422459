"""Every operator of pg_operator between types that have edge values, over pairs of them, as literals and as columns."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import cache

from gpudb.functions.library import operators_by_name
from gpudb.types import SqlType
from tests.support.generated.statement import ZONES, Made
from tests.support.generated.values import VALUES, literal

_POLYMORPHIC = {
    "anyarray": ("_int4", "_text", "_date"),
    "anycompatiblearray": ("_int4", "_numeric"),
    "anyelement": ("int4", "text"),
    "anycompatible": ("int4", "int8", "numeric"),
    "anynonarray": ("int4", "bool", "date", "numeric"),
    "anycompatiblenonarray": ("int4",),
}


def statements(chance: random.Random, pairs: int) -> Iterator[Made]:
    """`pairs` statements for every operator and pair of types."""
    for each in _every():
        for _ in range(pairs):
            yield Made("operator", _statement(chance, *each), chance.choice(ZONES))


def one(chance: random.Random) -> Made:
    """Returns a statement of any of them."""
    return Made("operator", _statement(chance, *chance.choice(_every())), chance.choice(ZONES))


@cache
def _every() -> list[tuple[str, str | None, str]]:
    """Every operator with the types of its operands."""
    return [
        (name, left, right)
        for name, overloads in sorted(operators_by_name().items())
        for operator in overloads
        for left in (_types(operator.left) if operator.left is not None else (None,))
        for right in _types(operator.right)
    ]


def _types(declared: SqlType) -> tuple[str, ...]:
    if declared.name in _POLYMORPHIC:
        return _POLYMORPHIC[declared.name]
    return (declared.name,) if declared.name in VALUES else ()


def _statement(chance: random.Random, name: str, left: str | None, right: str) -> str:
    one, other = _value(chance, left) if left else "", _value(chance, right)
    if chance.random() < 0.5:
        return f"SELECT {one} {name} {other} AS v"
    if left is None:
        return f"SELECT {name} y AS v FROM (VALUES ({other})) t(y)"
    return f"SELECT x {name} y AS v FROM (VALUES ({one}, {other})) t(x, y)"


def _value(chance: random.Random, name: str) -> str:
    return literal(name, None if chance.random() < 0.06 else chance.choice(VALUES[name]))
