"""The host backend: rows partitioned by the hash of keys, and the first rows of an order."""

from __future__ import annotations

import itertools

import numpy as np
import polars as pl
import pytest

from gpudb.engine.gpu.backend.base import SortOrder
from gpudb.engine.gpu.backend.host import HostBackend


@pytest.mark.parametrize("sizes", [(5,), (4, 5), (2, 3, 4), (0,), (1, 1)])
@pytest.mark.parametrize("key", [pl.lit(-350).cast(pl.Int64), pl.lit(None, pl.Int32), pl.lit(1.5)])
def test_rows_of_a_constant_key_stay_together(sizes: tuple[int, ...], key: pl.Expr) -> None:
    """For any number of chunks of the frame."""
    pieces = [pl.DataFrame({"v": range(size)}, schema={"v": pl.Int64}) for size in sizes]
    table = pl.concat(pieces, rechunk=False)
    parts = [each.to_polars() for each in HostBackend().partition_by_hash(table.lazy(), [key], 3)]
    assert sorted(part.height for part in parts) == [0, 0, sum(sizes)]
    assert all(part.columns == ["v"] for part in parts)


@pytest.mark.parametrize("count", [3, 12])
def test_rows_go_to_their_places(count: int) -> None:
    rows = pl.DataFrame({"v": range(100), "place": [n % 2 * 2 for n in range(100)]})
    parts = [part.to_polars() for part in HostBackend().partition_by_number(rows.lazy(), "place", count)]
    assert [part.height for part in parts] == [50, 0, 50] + [0] * (count - 3)
    assert all(part.columns == ["v"] and (part["v"] % 2 * 2 == place).all() for place, part in enumerate(parts))


def test_equal_values_go_to_one_part() -> None:
    pieces = [pl.DataFrame({"v": [0.0, -0.0, 1.5, None, float("nan")], "n": [1, 2, 3, 4, 5]}) for _ in range(3)]
    parts = HostBackend().partition_by_hash(pl.concat(pieces, rechunk=False).lazy(), [pl.col("v"), pl.lit(7)], 4)
    found = [set(part.to_polars()["n"].to_list()) for part in parts]
    assert sum(map(len, found)) == 5
    assert any({1, 2} <= each for each in found)
    assert sum(part.rows for part in parts) == 15


_KEYS = {
    "numbers": lambda v: pl.Series(v),
    "wide numbers": lambda v: pl.Series(v).cast(pl.Int128),
    "floats": lambda v: pl.Series(np.where(v % 50 == 0, np.nan, v / 3)),
    "texts": lambda v: pl.Series([f"k{each}" for each in v]),
    "moments": lambda v: pl.Series(v).cast(pl.Datetime("us")),
    "moments beyond Python's": lambda v: pl.Series(v * 10**16).cast(pl.Datetime("us")),
    "days beyond Python's": lambda v: pl.Series(v * 10**5).cast(pl.Int32).cast(pl.Date),
    "booleans": lambda v: pl.Series(v > 0),
    "bytes": lambda v: pl.Series([str(each).encode() for each in v]),
}


@pytest.mark.parametrize("name", _KEYS)
def test_first_rows_are_those_of_the_whole_order(name: str) -> None:
    made: pl.Series = _KEYS[name](np.random.default_rng(7).integers(-300, 300, 3000))
    for nulls in (0, 3, 300, 2990):
        keys = made.scatter(list(range(nulls)), None) if nulls else made
        frame = pl.DataFrame({"k": keys, "row": np.arange(3000)})
        for down, first, count in itertools.product((True, False), (True, False), (1, 7, 100, 2900)):

            def ordered(lazy: pl.LazyFrame, down: bool = down, first: bool = first, count: int = count) -> pl.DataFrame:
                return lazy.sort("k", descending=down, nulls_last=not first, maintain_order=True).head(count).collect()

            wanted = ordered(frame.lazy())
            for again in (True, False):
                few = HostBackend().prefilter_top(frame.lazy(), pl.col("k"), SortOrder(down, first), count, again=again)
                assert ordered(few).equals(wanted, null_equal=True)
                if name in {"numbers", "texts"} and count < 8 and nulls < 8:
                    assert few.collect().height < 100
