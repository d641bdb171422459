"""Conversions between types that have edge values: those of pg_cast, by text, to declared lengths, and missing ones."""

from __future__ import annotations

import random
from collections.abc import Iterator

from gpudb.functions.library import casts
from tests.support.generated.statement import ZONES, Made
from tests.support.generated.values import VALUES, literal

_STRINGS = ("text", "varchar", "bpchar")
_MODIFIED = (
    "numeric(5,2)", "numeric(3)", "numeric(18,9)", "varchar(3)", "char(4)", "timestamp(0)", "timestamptz(3)", "time(2)",
    "interval(1)", "interval day", "interval year to month", "interval hour to second", "numeric(8,3)[]", "varchar(1)[]",
)  # fmt: skip


def statements(chance: random.Random, values: int) -> Iterator[Made]:
    """`values` statements for every existing conversion; one for every pair of types without one."""
    known = casts()
    for source in VALUES:
        for target in (*VALUES, *_MODIFIED):
            if source == target:
                continue
            by_text = source in _STRINGS or target in _STRINGS
            exists = by_text or target in _MODIFIED or (source, target) in known
            for _ in range(values if exists else 1):
                yield Made("cast", _statement(chance, source, target), chance.choice(ZONES))


def one(chance: random.Random) -> Made:
    """Returns a statement of any of them."""
    return Made(
        "cast",
        _statement(chance, chance.choice(list(VALUES)), chance.choice((*VALUES, *_MODIFIED))),
        chance.choice(ZONES),
    )


def _statement(chance: random.Random, source: str, target: str) -> str:
    value = literal(source, None if chance.random() < 0.04 else chance.choice(VALUES[source]))
    if chance.random() < 0.5:
        return f"SELECT CAST({value} AS {target}) AS v"
    return f"SELECT x::{target} AS v FROM (VALUES ({value})) t(x)"
