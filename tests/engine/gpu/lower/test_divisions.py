"""Quotients by expressions are those of Python's integers, wherever they are made at all."""

from __future__ import annotations

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from gpudb.engine.cpu.udf_quotient import quotient_of
from gpudb.engine.gpu.lower.divisions import LEFT, quotients

_DIGITS = st.integers(0, 20).flatmap(
    lambda n: st.sampled_from([10**n, -(10**n), 10**n - 1]) | st.integers(-(10**n), 10**n)
)
_SCALE = st.integers(0, 20)


@given(st.lists(st.tuples(_DIGITS, _DIGITS, _SCALE), min_size=1, max_size=30), _SCALE, _SCALE)
def test_as_integers_divide(rows: list[tuple[int, int, int]], first: int, second: int) -> None:
    a, b, s = zip(*rows, strict=True)
    parts = pl.LazyFrame({"a": pl.Series(a, dtype=pl.Int128), "b": pl.Series(b, dtype=pl.Int128), "s": s})
    for (x, y, shown), value, told in zip(rows, *quotients(parts, first, second).collect(), strict=True):
        if y == 0:
            assert (value, told) == (None, 0)
        elif told == LEFT:
            assert value is None
        else:
            assert (value, told) == quotient_of(x, first, y, second, shown)


def test_what_is_common_is_made() -> None:
    """Averages and shares of money: sums below 10¹⁷ by counts and each other."""
    rows = [(10**16 + 7, 3), (-5, 7), (0, 4), (123_456_789, 10**12), (None, 1), (1, None)]
    parts = pl.LazyFrame(
        {"a": pl.Series([a for a, _ in rows], dtype=pl.Int128), "b": pl.Series([b for _, b in rows]), "s": 2}
    )
    made = quotients(parts, 2, 0).collect()
    assert made["t"].max() < LEFT  # type: ignore[operator]
    assert made["v"][0] == quotient_of(10**16 + 7, 2, 3, 0, 2)[0]
    assert made["v"][4] is None
