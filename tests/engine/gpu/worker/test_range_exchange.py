"""Range partitioning: sorts of every type over all workers, with NULLs and range ends among the values."""

from __future__ import annotations

from typing import Any

import pytest

from gpudb.engine.gpu.backend.base import ComputedFrame
from gpudb.engine.gpu.backend.host import HostBackend
from gpudb.plan.physical.exchange_planning import Costs
from tests.support.gpu import local_stages
from tests.support.gpu.comparison import embedded
from tests.support.lab import Lab

ALL = Costs(exchange=0, range=0)
MANY = 6400
"""Every fourth row would be a sample of only even or only odd values."""
SETUP = f"""
CREATE TABLE many AS SELECT i AS id FROM generate_series(1, {MANY}) i;
CREATE TABLE t (id int, d date, ts timestamp, tz timestamptz, tm time, n numeric, x float8, i interval, b bytea, c text);
INSERT INTO t VALUES
  (1, '0001-01-01 BC', '0044-03-15 BC', '-infinity', '01:00', 1.5, 'NaN', '1 day', 'a', ''),
  (2, 'infinity', 'infinity', 'infinity', '24:00', 0, '-inf', '-1 mon', 'b', 'é'),
  (3, '-infinity', '-infinity', '2020-01-01', NULL, NULL, NULL, NULL, NULL, NULL),
  (4, '9999-12-31', '294000-12-31', '10000-01-01', '00:00', -100, '-0', '1 year', '', 'A');
INSERT INTO t SELECT 4 * g + id, d, ts, tz, tm, n, x, i, b, c FROM t, generate_series(1, 9) AS s(g);
INSERT INTO t SELECT i, date '2020-01-01' + i, timestamp '2020-01-01' + i * interval '1 hour',
  timestamptz '2020-01-01 00:00+00' - i * interval '1 day', '02:00', i, i % 4, interval '1 hour' * i, i::text::bytea,
  't' || i FROM generate_series(41, 50) i
"""
COLUMNS = ("d", "ts", "tz", "tm", "n", "x", "i", "b", "c")


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize("word", ["", "DESC", "NULLS FIRST", "DESC NULLS LAST"])
def test_rows_come_in_order(lab: Lab, column: str, word: str) -> None:
    request = lab.request(f"SELECT id, {column} FROM t ORDER BY {column} {word}, id")
    wanted = embedded(lab, request)
    for workers, chunks in ((2, 1), (5, 1), (2, 3)):
        assert local_stages.rows(request, workers, lab.database.cpu, ALL, chunks=chunks) == wanted


@pytest.mark.parametrize("keys", ["tm, n DESC, id", "x DESC NULLS LAST, d, id DESC", "c NULLS FIRST, i DESC, id"])
def test_rows_come_in_the_order_of_several_keys(lab: Lab, keys: str) -> None:
    request = lab.request(f"SELECT id, tm, n, x, d, c, i FROM t ORDER BY {keys}")
    assert local_stages.rows(request, 2, lab.database.cpu, ALL, chunks=4) == embedded(lab, request)


class _Parts(HostBackend):
    """Records the number of rows of each range."""

    def __init__(self) -> None:
        self.sizes: list[int] = []

    def partition_by_range(self, lazy: Any, ends: Any, order: Any, count: int, **more: Any) -> list[ComputedFrame]:
        made = super().partition_by_range(lazy, ends, order, count, **more)
        self.sizes = [before + each.rows for before, each in zip(self.sizes or [0] * count, made, strict=True)]
        return made


@pytest.mark.parametrize("keys", ["b", "b DESC, id", "s, b NULLS FIRST", "n, id DESC"])
def test_no_range_has_many_more_rows_than_its_share(lab: Lab, keys: str) -> None:
    """Ranges fit memory however few values the keys have; a range between two values has rows of both."""
    request = lab.request(f"SELECT id % 2 AS b, 'text' AS s, nullif(id, id) AS n, id FROM many ORDER BY {keys}")
    frames, chunks = _Parts(), 16
    given = local_stages.rows(request, 1, lab.database.cpu, ALL, frames, chunks=chunks)
    assert max(frames.sizes) < 2.2 * MANY / chunks
    wanted = embedded(lab, request)
    if keys in {"b DESC, id", "n, id DESC"}:
        assert given == wanted
    assert sorted(given) == sorted(wanted)
    assert [row[0] for row in given] == [row[0] for row in wanted] or keys.startswith("n")
