"""Texts of build sides, as keys and as results: by codes assigned on the host or on the device."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import polars as pl
import pytest

from gpudb.engine.gpu.backend.base import Backend, DictionaryColumn
from gpudb.engine.gpu.backend.host import HostBackend, HostFrame
from gpudb.engine.gpu.fused.packed_cache.column_chunks import chunk_from_series
from gpudb.engine.gpu.fused.packed_cache.packed_tables import PackedTables
from gpudb.engine.gpu.fused.runner import NumpyRunner
from gpudb.engine.gpu.fused.translate import build_sides
from tests.support.gpu import local_stages
from tests.support.gpu.comparison import EVERY, embedded, sorted_rows
from tests.support.lab import Lab

SETUP = """
CREATE TABLE p AS SELECT CASE WHEN i % 50 > 0 THEN 'n' || i % 50 END AS t, i % 17 AS y FROM generate_series(1, 3000) i;
CREATE TABLE q AS SELECT CASE WHEN i % 2 = 0 THEN 'n' ELSE 'm' END || i % 50 AS t, i % 23 AS x,
    CASE WHEN i % 3 > 0 THEN 'v' || i % 5 END AS v FROM generate_series(1, 300) i;
CREATE TABLE nothing (t text, x int, v text);
INSERT INTO nothing VALUES (NULL, 1, NULL), (NULL, 2, NULL)
"""
QUERIES = {
    "key": "SELECT count(*), sum(x) FROM p JOIN {} AS s ON s.t = p.t",
    "payload": "SELECT v, count(*) FROM p JOIN {} AS s ON s.x = p.y GROUP BY v",
    "left": "SELECT v, count(*), min(v) FROM p LEFT JOIN {} AS s ON s.t = p.t AND s.x > p.y GROUP BY v",
    "filtered": "SELECT count(*) FROM p JOIN {} AS s ON s.x = p.y AND s.v > 'v1' AND s.v < p.t",
    # Texts that the large table lacks match no row, and are not NULLs.
    "anti": "SELECT count(*), sum(y) FROM p WHERE NOT EXISTS (SELECT 1 FROM {} AS s WHERE s.t = p.t)",
    "anti with a condition": """SELECT count(*), sum(y) FROM p
        WHERE NOT EXISTS (SELECT 1 FROM {} AS s WHERE s.t = p.t AND s.x > p.y)""",
    "anti of two keys": """SELECT count(*), sum(y) FROM p
        WHERE NOT EXISTS (SELECT 1 FROM {} AS s WHERE s.t = p.t AND s.x = p.y)""",
    "not in": "SELECT count(*), sum(y) FROM p WHERE t NOT IN (SELECT t FROM {} AS s)",
    "not in nulls": "SELECT count(*), sum(y) FROM p WHERE t NOT IN (SELECT v FROM {} AS s)",
}


class _Coded(HostFrame):
    def dictionary_column(self, name: str) -> DictionaryColumn:
        piece = chunk_from_series(self.table[name], text=True)
        assert piece.keys is not None
        return piece.values, piece.valid, piece.keys


class _CodedFrames(HostBackend):
    """Frames whose texts are codes, as on a GPU."""

    def compute(self, lazy: pl.LazyFrame) -> HostFrame:
        return _Coded(super().compute(lazy).table)


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    made = Lab()
    made.run(SETUP)
    yield made
    made.close()


@pytest.mark.parametrize("side", ["q", "nothing"])
@pytest.mark.parametrize("frames", [HostBackend(), _CodedFrames()])
@pytest.mark.parametrize("name", QUERIES)
def test_joins_by_texts(lab: Lab, name: str, frames: Backend, side: str) -> None:
    request = lab.request(QUERIES[name].format(side))
    kernels = NumpyRunner(PackedTables(2**30))
    given = local_stages.rows(request, 1, lab.database.cpu, EVERY, frames, kernels=kernels)
    assert sorted_rows(given) == sorted_rows(embedded(lab, request))
    assert kernels.ran == 1


def test_many_texts_of_a_side_are_the_general_engine_s(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build_sides, "MANY_ROWS", 200)
    monkeypatch.setattr(build_sides, "_MANY_TEXTS", 3)
    request = lab.request(QUERIES["payload"].format("q"))
    for frames in (HostBackend(), _CodedFrames()):
        kernels: Any = NumpyRunner(PackedTables(2**30))
        given = local_stages.rows(request, 1, lab.database.cpu, EVERY, frames, kernels=kernels)
        assert sorted_rows(given) == sorted_rows(embedded(lab, request))
        assert (kernels.ran, kernels.declined) == (0, "too many texts in a build side")
