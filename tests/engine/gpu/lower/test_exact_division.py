"""Quotients by expressions equal those of Python's integers, if expressions compute them at all."""

from __future__ import annotations

import random

import polars as pl
import pytest

from gpudb.duckdb.udf.quotient import divide_numeric
from gpudb.engine.gpu.lower.exact_division import NOT_COMPUTED, exact_quotients


def _digits(draw: random.Random) -> int:
    power = 10 ** draw.randrange(21)
    return draw.choice([0, power, -power, power - 1, draw.randint(-power, power), draw.randint(-power, power)])


@pytest.mark.parametrize(("first", "second"), [(0, 0), (2, 0), (2, 2), (4, 2), (0, 4), (20, 0), (3, 7), (1, 20)])
def test_as_integers_divide(first: int, second: int) -> None:
    draw = random.Random(first * 100 + second)
    rows = [(_digits(draw), _digits(draw), draw.choice([0, 2, first, second, 20])) for _ in range(1000)]
    a, b, s = zip(*rows, strict=True)
    parts = pl.LazyFrame({"a": pl.Series(a, dtype=pl.Int128), "b": pl.Series(b, dtype=pl.Int128), "s": s})
    made = exact_quotients(parts, first, second).collect()
    for (x, y, shown), value, told in zip(rows, made["v"], made["t"], strict=True):
        if y == 0:
            assert (value, told) == (None, 0)
        elif told == NOT_COMPUTED:
            assert value is None
        else:
            assert (value, told) == divide_numeric(x, first, y, second, shown)
    assert (made["t"] != NOT_COMPUTED).sum() > 300


def test_what_is_common_is_made() -> None:
    """Averages and shares of money: sums below 10¹⁷ divided by counts and by each other."""
    rows = [(10**16 + 7, 3), (-5, 7), (0, 4), (123_456_789, 10**12), (None, 1), (1, None)]
    parts = pl.LazyFrame(
        {"a": pl.Series([a for a, _ in rows], dtype=pl.Int128), "b": pl.Series([b for _, b in rows]), "s": 2}
    )
    made = exact_quotients(parts, 2, 0).collect()
    assert made["t"].max() < NOT_COMPUTED  # type: ignore[operator]
    assert made["v"][0] == divide_numeric(10**16 + 7, 2, 3, 0, 2)[0]
    assert made["v"][4] is None
