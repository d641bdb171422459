"""Deviations, correlations and regressions of exact numbers: by kernels, by frames and in parts, without a host step."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from gpudb.engine.gpu.backend.host import HostBackend
from gpudb.engine.gpu.fused.runner import NumpyRunner
from gpudb.plan.physical.exchange_planning import Costs
from tests.support.gpu import local_stages
from tests.support.lab import Lab

ROWS = """
CREATE TABLE ea (k int, t text, i int, j int2, n numeric(10, 2), b int8);
INSERT INTO ea SELECT g % 7, 'a' || g % 5, CASE WHEN g % 11 > 0 THEN g % 5 END, CASE WHEN g % 17 > 0 THEN g % 13 END,
    g * 0.25, g * 1000000007::int8 FROM generate_series(1, 1000) g;
INSERT INTO ea VALUES (99, 'z', 1, 2, 3, 4), (98, 'y', NULL, NULL, NULL, NULL)
"""
STATEMENTS = (
    "SELECT t, k, corr(i, j), stddev(i), regr_slope(n, i) FROM ea GROUP BY t, k ORDER BY 1, 2",
    "SELECT k, covar_pop(i, j), covar_samp(n, j), regr_r2(i, n), regr_intercept(i, j), regr_sxx(n, i), regr_syy(n, i),"
    " regr_sxy(n, i), regr_avgx(n, i), regr_avgy(n, j), regr_count(n, i) FROM ea GROUP BY k ORDER BY 1",
    "SELECT k, stddev(n), var_pop(n), stddev_pop(i), variance(b / 1000), stddev(i) FILTER (WHERE j > 3) FROM ea"
    " GROUP BY k ORDER BY 1",
    "SELECT stddev(n), var_pop(n), stddev_samp(i), var_samp(j), corr(i, 1), corr(1, i), corr(n, b) FROM ea",
    "SELECT corr(i, j) FILTER (WHERE k > 3), covar_samp(n, b) FILTER (WHERE k = 98), regr_slope(b, n) FROM ea",
    "SELECT k, t, i, stddev(i) OVER w, avg(n) OVER w, corr(i, j) OVER w FROM ea WHERE n < 20"
    " WINDOW w AS (PARTITION BY k ORDER BY n, t ROWS BETWEEN 3 PRECEDING AND CURRENT ROW) ORDER BY n, t",
    "SELECT k, avg(n) / avg(i), sum(n) / count(*), sum(n) / nullif(sum(i), 0) / 3 FROM ea GROUP BY k ORDER BY 1",
    "SELECT stddev(i), corr(i, j), avg(n) FROM ea WHERE k > 1000",
    "SELECT sum(i), sum(i + 1), sum(i - 2), avg(i + 3), sum(4 + i), count(i + 1) FROM ea",
    "SELECT k, sum(n + 1), sum(n - 0.5), avg(n + 3), sum(b + 7), sum(b - 9223372036854) FROM ea GROUP BY 1 ORDER BY 1",
)


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    made = Lab()
    made.run(ROWS)
    yield made
    made.close()


Rows = list[tuple[str | None, ...]]


def _values(rows: Rows, kinds: list[Any]) -> list[tuple[object, ...]]:
    """Floats compare to ten digits: exact sums and running means differ in the last ones."""
    return [
        tuple(
            pytest.approx(float(value), rel=1e-10) if value is not None and kind.name == "float8" else value
            for value, kind in zip(row, kinds, strict=True)
        )
        for row in rows
    ]


def _numbers(rows: Rows, kinds: list[Any]) -> list[tuple[object, ...]]:
    return [
        tuple(
            float(value) if value is not None and kind.name == "float8" else value
            for value, kind in zip(row, kinds, strict=True)
        )
        for row in rows
    ]


@pytest.mark.parametrize("sql", STATEMENTS, ids=range(len(STATEMENTS)))
@pytest.mark.parametrize("fused", [False, True])
def test_aggregates_are_the_embedded_engines(lab: Lab, sql: str, fused: bool) -> None:
    request = lab.request(sql)
    kinds = [column.type for column in request.query.columns]
    wanted = _values(local_stages.as_text(lab.database.cpu.run(request), kinds), kinds)
    for workers, chunks in ((1, 1), (3, 1), (1, 3)):
        kernels = NumpyRunner(local_stages.PACKED) if fused else None
        found = local_stages.rows(request, workers, lab.database.cpu, Costs(scan=0), kernels=kernels, chunks=chunks)
        assert _numbers(found, kinds) == wanted, (workers, chunks)


@pytest.mark.parametrize("sql", [sql for sql in STATEMENTS if "regr_count" not in sql and "corr(i, j) OVER" not in sql])
def test_nothing_is_computed_on_the_host(lab: Lab, sql: str, monkeypatch: pytest.MonkeyPatch) -> None:
    frames, reasons = HostBackend(), list[str]()
    compute = frames.compute_on_host
    monkeypatch.setattr(frames, "compute_on_host", lambda lazy, why: reasons.append(why) or compute(lazy, why))
    for workers in (1, 2):
        local_stages.rows(lab.request(sql), workers, lab.database.cpu, frames=frames)
    assert reasons == []


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT corr(i, j), regr_slope(n, i), stddev(n), var_pop(j - 3) FROM ea GROUP BY k",
        "SELECT k, covar_pop(i, j) FILTER (WHERE n > 3), avg(n + 1), sum(n + 2) FROM ea GROUP BY k",
    ],
)
def test_kernels_compute_the_sums(lab: Lab, sql: str) -> None:
    kernels = NumpyRunner(local_stages.PACKED)
    local_stages.rows(lab.request(sql), 1, lab.database.cpu, Costs(scan=0), kernels=kernels)
    assert len(kernels.take_reports()) == 1
    assert kernels.declined is None
