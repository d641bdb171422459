"""PL/CUDA functions in fused pipelines: NumPy's answers, the kernels' on the host, errors, and what CASE guards."""

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
CREATE TABLE t AS SELECT n, n % 9 AS g, n * 2.0::float8 AS x, CASE WHEN n % 7 > 0 THEN n END AS m,
    date '2024-01-01' + n AS d, n % 2 = 0 AS b FROM generate_series(1, 1000) n;
CREATE FUNCTION half(a float8) RETURNS float8 STRICT LANGUAGE plcuda AS 'return a / 2;';
CREATE FUNCTION larger(a int, b int) RETURNS int LANGUAGE plcuda AS $$
  if (a_isnull && b_isnull) RETURN_NULL();
  if (a_isnull) return b;
  return b_isnull ? a : max(a, b);
$$;
CREATE FUNCTION inverse(a int) RETURNS float4 STRICT LANGUAGE plcuda AS $$
  if (a == 0) RAISE_ERROR("22012", "no \\"zero\\", please");
  if (a < -5) RAISE_ERROR("22003", "too small");
  return 1.0f / a;
$$;
CREATE FUNCTION next_day(d date) RETURNS date STRICT LANGUAGE plcuda AS 'return d + 1;';
CREATE FUNCTION is_odd(n bigint) RETURNS bool STRICT LANGUAGE plcuda AS 'return n % 2 != 0;';
CREATE FUNCTION defines(n bigint) RETURNS bool STRICT LANGUAGE plcuda AS $$
#define rows n
  return rows % 2 != 0;
$$;
"""
QUERIES = (
    "SELECT g, count(*), sum(half(x)), max(larger(m, 500)), count(larger(m, NULL)) FROM t WHERE half(x) > 9 GROUP BY g",
    "SELECT larger(g, m) % 5, min(next_day(d)), max(half(half(x))) FROM t WHERE is_odd(n) GROUP BY 1",
    "SELECT count(*) FILTER (WHERE is_odd(m)), bool_and(is_odd(n)) FROM t",
    "SELECT sum(CASE WHEN g > 0 THEN inverse(g) END), count(*) FROM t",
    "SELECT count(*) FROM t WHERE g > 0 AND inverse(g) > 0.3",
    "SELECT n, inverse(g) FROM t WHERE n < 30 AND g > 4",
    "SELECT count(inverse(larger(m, 5))) FROM t",
)


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    made = Lab()
    made.run(SETUP)
    yield made
    made.close()


def run_fused(lab: Lab, query: str) -> tuple[list[tuple[str | None, ...]], list[PreparedPipeline]]:
    kernels = Recording()
    rows = local_stages.rows(lab.request(query), 1, lab.database.cpu, EVERY, kernels=kernels)
    return rows, kernels.prepared


def test_answers_of_numpy_and_of_kernels(lab: Lab, tmp_path: Path) -> None:
    prepared: list[PreparedPipeline] = []
    for query in QUERIES:
        found, made = run_fused(lab, query)
        assert made, query
        assert sorted_rows(found) == sorted_rows(embedded(lab, lab.request(query))), query
        prepared += made
    for each in prepared:
        kernel = generate_kernel(each.pipeline)
        assert nvrtc.compile_source(kernel.source, load_headers(), "sm_90", folder=tmp_path).cubin[:4] == b"\x7fELF"
    if COMPILER is None:
        return
    hosted = Hosted([each.pipeline for each in prepared], tmp_path)
    for each in prepared:
        wanted = executor.run(each.pipeline, each.segments, each.lookups, each.tables)
        found = hosted.run(each.pipeline, each.segments, each.lookups, each.tables)
        assert outcomes_equal(wanted, found), each.pipeline


@pytest.mark.skipif(COMPILER is None, reason="needs g++")
def test_errors_of_bodies(lab: Lab, tmp_path: Path) -> None:
    query = "SELECT sum(inverse(g)) FROM t"
    with pytest.raises(GpudbError) as caught:
        run_fused(lab, query)
    assert (caught.value.sqlstate, caught.value.message) == ("22012", 'no "zero", please')
    kernels = Recording()
    with pytest.raises(GpudbError):
        local_stages.rows(lab.request(query), 1, lab.database.cpu, EVERY, kernels=kernels)
    (prepared,) = kernels.prepared
    hosted = Hosted([prepared.pipeline], tmp_path)
    outcome = hosted.run(prepared.pipeline, prepared.segments, prepared.lookups, prepared.tables)
    with pytest.raises(GpudbError) as caught:
        prepared.columns(outcome)
    assert (caught.value.sqlstate, caught.value.message) == ("22012", 'no "zero", please')
    assert caught.value.where == 'PL/CUDA function "inverse"'


def test_macros_of_bodies_are_none_of_kernels(lab: Lab, tmp_path: Path) -> None:
    _, (prepared,) = run_fused(lab, "SELECT count(*) FROM t WHERE defines(n)")
    nvrtc.compile_source(generate_kernel(prepared.pipeline).source, load_headers(), "sm_90", folder=tmp_path)


def test_another_body_is_another_kernel(lab: Lab) -> None:
    query = "SELECT sum(half(x)) FROM t"
    _, (one,) = run_fused(lab, query)
    lab.run("CREATE OR REPLACE FUNCTION half(a float8) RETURNS float8 STRICT LANGUAGE plcuda AS 'return a * 0.5;'")
    _, (other,) = run_fused(lab, query)
    assert one.pipeline.digest != other.pipeline.digest
    assert generate_kernel(one.pipeline).source != generate_kernel(other.pipeline).source
