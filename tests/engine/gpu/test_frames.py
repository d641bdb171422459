"""Frames on the host: rows that are spread over workers by the values of keys."""

from __future__ import annotations

import polars as pl
import pytest

from gpudb.engine.gpu.frames import HostFrames


@pytest.mark.parametrize("sizes", [(5,), (4, 5), (2, 3, 4), (0,), (1, 1)])
@pytest.mark.parametrize("key", [pl.lit(-350).cast(pl.Int64), pl.lit(None, pl.Int32), pl.lit(1.5)])
def test_rows_of_a_constant_key_stay_together(sizes: tuple[int, ...], key: pl.Expr) -> None:
    """However many chunks the frame has."""
    pieces = [pl.DataFrame({"v": range(size)}, schema={"v": pl.Int64}) for size in sizes]
    table = pl.concat(pieces, rechunk=False)
    parts = [each.frame() for each in HostFrames().split(table.lazy(), [key], 3)]
    assert sorted(part.height for part in parts) == [0, 0, sum(sizes)]
    assert all(part.columns == ["v"] for part in parts)


def test_equal_values_go_to_one_part() -> None:
    pieces = [pl.DataFrame({"v": [0.0, -0.0, 1.5, None, float("nan")], "n": [1, 2, 3, 4, 5]}) for _ in range(3)]
    parts = HostFrames().split(pl.concat(pieces, rechunk=False).lazy(), [pl.col("v"), pl.lit(7)], 4)
    found = [set(part.frame()["n"].to_list()) for part in parts]
    assert sum(map(len, found)) == 5
    assert any({1, 2} <= each for each in found)
    assert sum(part.rows for part in parts) == 15
