"""Casts that drop a type's modifiers: the embedded engine renders nothing for them."""

from __future__ import annotations

import pytest

from gpudb.functions.casts import cast
from gpudb.types import SqlType, numeric

_DECLARED = [
    SqlType("varchar", 9),
    SqlType("bpchar", 9),
    SqlType("bit", 4),
    SqlType("varbit", 4),
    SqlType("time", 3),
    SqlType("timetz", 3),
    SqlType("timestamp", 3),
    SqlType("timestamptz", 3),
    SqlType("interval", 2147418114),
    numeric(8, 2),
]


@pytest.mark.parametrize("kind", [*_DECLARED, *(each.array for each in _DECLARED)], ids=str)
def test_a_value_stays_as_it_is(kind: SqlType) -> None:
    assert kind.without_modifier.modifier == -1
    assert kind.without_modifier.duckdb == kind.duckdb
    assert cast("x", "2", kind, kind.without_modifier, True)[0] == "x"
