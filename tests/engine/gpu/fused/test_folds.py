"""Aggregates of PL/CUDA functions: whole groups, states of frames, and fused pipelines, with NumPy and as kernels."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.fused.outcomes import outcomes_equal
from gpudb.engine.gpu.fused.codegen.building_blocks import load_headers
from gpudb.engine.gpu.fused.codegen.kernel import generate_kernel
from gpudb.engine.gpu.fused.cuda import nvrtc
from gpudb.engine.gpu.fused.numpy_backend import executor
from gpudb.engine.gpu.fused.planning.prepared_pipeline import PreparedPipeline
from gpudb.errors import GpudbError
from tests.support.fused.hosted import COMPILER, Hosted
from tests.support.fused.recording import Recording
from tests.support.gpu import local_stages
from tests.support.gpu.comparison import EVERY, embedded, sorted_rows
from tests.support.lab import Lab

SETUP = """
CREATE EXTENSION plcuda;
CREATE TABLE t AS SELECT n, n % 9 AS g, n * 2.0::float8 AS x, CASE WHEN n % 7 > 0 THEN n END AS m
    FROM generate_series(1, 1000) n;
INSERT INTO t VALUES (1001, NULL, NULL, NULL);
CREATE TYPE mean_state AS (total float8, n int);
CREATE FUNCTION mean_add(s mean_state, x float8) RETURNS mean_state STRICT LANGUAGE plcuda AS
    's.total += x; s.n++; return s;';
CREATE FUNCTION mean_merge(a mean_state, b mean_state) RETURNS mean_state STRICT LANGUAGE plcuda AS
    'return {a.total + b.total, a.n + b.n};';
CREATE FUNCTION mean_end(s mean_state) RETURNS float8 STRICT LANGUAGE plcuda AS
    'if (s.n == 0) RETURN_NULL(); return s.total / s.n;';
CREATE AGGREGATE mean(float8) (SFUNC = mean_add, STYPE = mean_state, COMBINEFUNC = mean_merge, FINALFUNC = mean_end,
    INITCOND = '(0,0)');
CREATE FUNCTION most_add(a int, b int) RETURNS int STRICT LANGUAGE plcuda AS 'return max(a, b);';
CREATE AGGREGATE most(int) (SFUNC = most_add, STYPE = int, COMBINEFUNC = most_add);
CREATE FUNCTION nulls_add(a bigint, b int) RETURNS bigint LANGUAGE plcuda AS 'return a + b_isnull;';
CREATE FUNCTION nulls_merge(a bigint, b bigint) RETURNS bigint LANGUAGE plcuda AS 'return a + b;';
CREATE AGGREGATE nulls(int) (SFUNC = nulls_add, STYPE = bigint, COMBINEFUNC = nulls_merge, INITCOND = '0');
CREATE FUNCTION small_add(a int, b int) RETURNS int STRICT LANGUAGE plcuda AS $$
  if (b > 900) RAISE_ERROR("22003", "too many");
  return a + b;
$$;
CREATE AGGREGATE small(int) (SFUNC = small_add, STYPE = int, COMBINEFUNC = most_add);
CREATE AGGREGATE alone(int) (SFUNC = most_add, STYPE = int);
"""
FUSED = (
    "SELECT g, count(*), mean(x), most(m), nulls(m), sum(n) FROM t GROUP BY g",
    "SELECT mean(x), most(m), nulls(m), count(*) FROM t WHERE n > 5",
    "SELECT g, mean(x) FILTER (WHERE n > 400), most(n - 5) FROM t GROUP BY g",
    "SELECT mean(x), most(m), nulls(m) FROM t WHERE n < 0",
    "SELECT g, most(n) FROM t WHERE n < 0 GROUP BY g",
)
OTHERS = (
    "SELECT n, mean(x), most(m) FROM t GROUP BY n",
    "SELECT g, alone(n), mean(DISTINCT x), most(n ORDER BY n) FROM t GROUP BY g",
    "SELECT n, mean(x) OVER (ORDER BY n ROWS 2 PRECEDING) FROM t WHERE n < 20",
)


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    made = Lab()
    made.run(SETUP)
    yield made
    made.close()


def test_answers_of_the_embedded_engine(lab: Lab) -> None:
    same = "SELECT g, avg(x), max(m), count(*) - count(m), sum(n) FROM t GROUP BY g"
    mine = "SELECT g, mean(x), most(m), nulls(m), sum(n) FROM t GROUP BY g"
    assert sorted_rows(embedded(lab, lab.request(mine))) == sorted_rows(embedded(lab, lab.request(same)))
    assert lab.run("SELECT mean(x), most(n), nulls(n) FROM t WHERE n < 0") == [(None, None, 0)]


@pytest.mark.parametrize("workers", [1, 3])
def test_answers_of_frames(lab: Lab, workers: int) -> None:
    for query in (*FUSED, *OTHERS):
        wanted = sorted_rows(embedded(lab, lab.request(query)))
        assert sorted_rows(local_stages.rows(lab.request(query), workers, lab.database.cpu)) == wanted, query


def test_answers_of_pipelines(lab: Lab, tmp_path: Path) -> None:
    prepared: list[PreparedPipeline] = []
    for query in FUSED:
        for workers in (1, 3):
            kernels = Recording()
            found = local_stages.rows(lab.request(query), workers, lab.database.cpu, EVERY, kernels=kernels)
            assert kernels.prepared, query
            assert sorted_rows(found) == sorted_rows(embedded(lab, lab.request(query))), query
        prepared += kernels.prepared[:1]
    for each in prepared:
        kernel = generate_kernel(each.pipeline)
        assert nvrtc.compile_source(kernel.source, load_headers(), "sm_90", folder=tmp_path).cubin[:4] == b"\x7fELF"
    if COMPILER is None:
        return
    hosted = Hosted([each.pipeline for each in prepared], tmp_path)
    for each in prepared:
        wanted = executor.run(each.pipeline, each.segments, each.lookups, each.tables)
        assert outcomes_equal(wanted, hosted.run(each.pipeline, each.segments, each.lookups, each.tables))


def test_many_groups_are_not_fused(lab: Lab) -> None:
    kernels = Recording()
    local_stages.rows(lab.request(OTHERS[0]), 1, lab.database.cpu, EVERY, kernels=kernels)
    assert not kernels.prepared


@pytest.mark.parametrize("fused", [False, True])
def test_errors(lab: Lab, fused: bool) -> None:
    with pytest.raises(GpudbError) as caught:
        kernels = Recording() if fused else None
        local_stages.rows(lab.request("SELECT small(n) FROM t"), 2, lab.database.cpu, EVERY, kernels=kernels)
    assert (caught.value.sqlstate, caught.value.message) == ("22003", "too many")


@pytest.mark.parametrize(
    ("definition", "sqlstate"),
    [
        ("SFUNC = mean_add, STYPE = mean_state, INITCOND = '(0,0)'", "0A000"),
        ("SFUNC = mean_add, STYPE = mean_state, FINALFUNC = mean_end, INITCOND = '(0,x)'", "22P02"),
        ("SFUNC = mean_add, STYPE = mean_state, FINALFUNC = mean_end, INITCOND = '(0,9999999999)'", "22003"),
        ("SFUNC = mean_add, STYPE = mean_state, FINALFUNC = mean_end", "42P13"),
        ("SFUNC = none, STYPE = mean_state", "42883"),
    ],
)
def test_definitions(lab: Lab, definition: str, sqlstate: str) -> None:
    with pytest.raises(GpudbError) as caught:
        lab.run(f"CREATE AGGREGATE wrong(float8) ({definition})")
    assert caught.value.sqlstate == sqlstate
