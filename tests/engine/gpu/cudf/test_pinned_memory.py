"""Rows of a GPU offloaded to pinned memory: they come back unchanged, and their blocks are reused."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from gpudb.engine.gpu.backend.host import HostFrame
from gpudb.engine.gpu.cache.buffer_pool import GROUP_BYTES
from gpudb.engine.gpu.exchange.buffers import SpillFile, decode_frame

pytestmark = pytest.mark.gpu

DAY = datetime.date(1999, 2, 28)


def _near(frames: Any, limit: int) -> Any:
    """A backend with a limit of pinned memory, once `frames` has opened the GPU."""
    from gpudb.engine.gpu.cudf.backend import CudfBackend
    from gpudb.engine.gpu.cudf.columns.pinned_memory import pinned_pool

    return CudfBackend(pinned_pool(limit))


def _rows(count: int) -> pl.DataFrame:
    draws = np.random.default_rng(count)
    numbers = pl.Series("n", draws.integers(-(2**62), 2**62, count))
    few = draws.integers(0, 50, count)
    return pl.DataFrame(
        {
            "k": few,
            "n": numbers,
            "i": pl.Series([None if n % 3 == 0 else n for n in few.tolist()], dtype=pl.Int32),
            "w": numbers.cast(pl.Int128) * pl.Series([10**18], dtype=pl.Int128),
            "x": draws.random(count),
            "t": [None if n == 7 else f"ß{n}" * n for n in few.tolist()],
            "b": [n % 2 == 0 if n else None for n in few.tolist()],
            "d": [DAY + datetime.timedelta(n) for n in few.tolist()],
            "l": [[n, None] * (n % 4) if n != 9 else None for n in few.tolist()],
            "s": [{"a": n or None, "b": str(n)} if n != 9 else None for n in few.tolist()],
            "y": [bytes([n, 255]) if n != 9 else None for n in few.tolist()],
        },
        schema_overrides={"l": pl.List(pl.Int64)},
    )


@pytest.mark.parametrize("count", [1, 5000, 300_000])
def test_parts_come_back_as_they_were(frames: Any, count: int) -> None:
    near = _near(frames, 16 * GROUP_BYTES)
    rows = _rows(count)
    parts = [each for each in near.partition_by_hash(near.from_host(rows).lazy, [pl.col("k")], 7) if each.rows]
    wanted = pl.concat([each.to_polars() for each in parts])
    away = [near.offload(each) for each in parts]
    assert all(each is not None for each in away)
    assert sum(each.size for each in away) > 60 * count
    del parts
    assert_frame_equal(near.reload(away).to_polars(), wanted)
    assert_frame_equal(pl.concat([decode_frame(each.data()) for each in away]), wanted)
    assert near.reload(away[:1]).rows == decode_frame(away[0].data()).height
    assert_frame_equal(wanted.sort("n"), rows.sort("n"))


def test_arrays_without_elements_are_beside_those_with_some(frames: Any) -> None:
    """A slice of a column counts only the NULLs among its own elements."""
    near = _near(frames, GROUP_BYTES)
    lists = [[], None, []], [[None, None], [1]], [[2, None]]
    rows = pl.DataFrame({"k": [0, 0, 0, 1, 1, 2], "l": [each for part in lists for each in part]})
    parts = near.partition_by_number(near.from_host(rows).lazy, "k", 3)
    away = [near.offload(each) for each in parts]
    assert_frame_equal(near.reload(away).to_polars(), rows.drop("k"))
    for each, part in zip(away, lists, strict=True):
        alone = near.reload([each])
        assert alone.to_polars()["l"].to_list() == part
        held = near.compute(alone.lazy.explode("l", empty_as_null=True).drop_nulls())
        assert held.to_polars()["l"].to_list() == [n for some in part for n in some or () if n is not None]


def test_parts_in_other_places_stay_between_them(frames: Any, tmp_path: Path) -> None:
    near, rows = _near(frames, GROUP_BYTES), _rows(1000)
    first, second, third, fourth, last = (rows.slice(200 * part, 200) for part in range(5))
    file = SpillFile(tmp_path)
    away = [near.offload(near.from_host(each)) for each in (first, last)]
    parts = [away[0], HostFrame(second), file.write(third), near.from_host(fourth), away[1]]
    assert_frame_equal(near.reload(parts).to_polars(), rows)
    assert near.reload(parts[1:4]) is None
    assert near.offload(near.from_host(rows.head(0))) is None
    assert near.offload(HostFrame(rows)) is None
    file.close()


def test_blocks_are_others_once_nobody_holds_the_rows(frames: Any) -> None:
    near = _near(frames, GROUP_BYTES)
    rows = GROUP_BYTES // 16 * 11 // 10  # which do not all fit
    held = near.from_host(pl.DataFrame({"n": np.arange(rows), "v": np.arange(rows) * 0.5}))
    for _ in range(3):
        assert near.offload(held) is None
        half = near.from_host(held.to_polars().head(rows // 2))
        made = near.offload(half)
        assert made.size >= half.rows * 16
        assert near.offload(half) is None
        assert_frame_equal(near.reload([made]).to_polars(), half.to_polars())
        del made
        assert near._pool.available == GROUP_BYTES
    assert near.can_offload
    assert not _near(frames, 0).can_offload
