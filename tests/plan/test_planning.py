"""Plans of the benchmarks' queries: planned by blocks, optimised, cut into stages."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest

from benchmarks.tables import queries, schema
from gpudb.engine.gpu.lower.groups.aggregates import is_mergeable
from gpudb.plan.cost.estimate import estimate
from gpudb.plan.errors import NotSupportedOnWorkers
from gpudb.plan.logical.query_planner import plan_query
from gpudb.plan.optimize import optimize
from gpudb.plan.physical.stage_cutting import cut_stages
from gpudb.plan.tree.nodes import Join, Node, Plan, Scan
from gpudb.plan.tree.stage_nodes import Receive
from gpudb.plan.tree.traversal import walk_nodes
from tests.support.lab import Lab

_ALL = [(benchmark, name) for benchmark in ("tpch", "ssb", "taxi") for name in sorted(queries(benchmark))]


@pytest.fixture(scope="module")
def tables() -> Iterator[dict[str, Lab]]:
    labs = {name: Lab() for name in ("tpch", "ssb", "taxi")}
    for name, made in labs.items():
        for statement in schema(name):
            made.run(statement)
    yield labs
    for made in labs.values():
        made.close()


def _plan(lab: Lab, sql: str) -> Plan:
    plan = plan_query(lab.request(sql).query, estimate)
    return Plan(optimize(plan.root), plan.columns)


@pytest.mark.parametrize(("benchmark", "name"), _ALL, ids=[f"{b}-{n}" for b, n in _ALL])
def test_every_benchmark_query_is_planned(tables: dict[str, Lab], benchmark: str, name: str) -> None:
    """Every query is supported and returns its columns; every join has a key unless one side has a single row."""
    lab = tables[benchmark]
    plan = _plan(lab, queries(benchmark)[name])
    assert [kind.plain for kind in plan.root.types] == [column.type.plain for column in plan.columns]
    for node in walk_nodes(plan.root):
        if isinstance(node, Join) and not node.keys:
            assert estimate(node.right) == 1


@pytest.mark.parametrize(("benchmark", "name"), _ALL, ids=[f"{b}-{n}" for b, n in _ALL])
def test_stages_read_only_stages_before_them(tables: dict[str, Lab], benchmark: str, name: str) -> None:
    plan = _plan(tables[benchmark], queries(benchmark)[name])
    stages = cut_stages(plan.root, is_mergeable)
    for stage in stages:
        received = {node.stage for node in walk_nodes(stage.root) if isinstance(node, Receive)}
        assert received == set(stage.inputs)
        assert all(number < stage.number for number in stage.inputs)
    assert [stage.output for stage in stages].count("result") == 1
    assert stages[-1].output == "result"


def test_nothing_is_folded_by_the_planner(lab: Lab) -> None:
    """dask-sql folds constants in 64 bits and floating point; it sees none of ours."""
    lab.run("CREATE TABLE pf (a bigint, n numeric(10, 2))")
    plan = _plan(lab, "SELECT a FROM pf WHERE n < 0.06 - 0.01 AND a < 9223372036854775806 + 1")
    (scan,) = [node for node in walk_nodes(plan.root) if isinstance(node, Scan)]
    assert "numeric_sub" in repr(scan.filter)
    assert "int84pl" in repr(scan.filter)


@pytest.mark.parametrize(
    ("sql", "construct"),
    [
        (
            "SELECT (WITH RECURSIVE r AS (SELECT o.a AS n UNION ALL SELECT n + 1 FROM r WHERE n < 3)"
            " SELECT max(n) FROM r) FROM nc o",
            "RECURSIVE",
        ),
        ("SELECT a.a, j.a FROM nc a, LATERAL (SELECT x.a FROM nc x FULL JOIN nc y ON x.b = y.b + a.a) j", "FULL JOIN"),
    ],
)
def test_what_is_not_supported_is_named(lab: Lab, sql: str, construct: str) -> None:
    lab.run("CREATE TABLE IF NOT EXISTS nc (a int, b int)")
    with pytest.raises(NotSupportedOnWorkers, match=construct):
        _plan(lab, sql)


def _kinds(node: Node) -> list[str]:
    return [type(each).__name__ for each in walk_nodes(node)]


def test_not_in_is_null_aware(lab: Lab) -> None:
    lab.run("CREATE TABLE IF NOT EXISTS nc (a int, b int)")
    plan = _plan(lab, "SELECT a FROM nc WHERE a NOT IN (SELECT b FROM nc)")
    (join,) = [node for node in walk_nodes(plan.root) if isinstance(node, Join)]
    assert (join.kind, join.null_aware, len(join.keys)) == ("ANTI", True, 1)


def test_columns_that_nothing_reads_are_not_read(lab: Lab) -> None:
    lab.run("CREATE TABLE wide_one AS SELECT 1 AS a, 2 AS b, 3 AS c, 4 AS d")
    plan = _plan(lab, "SELECT s.a FROM (SELECT a, b, c + d AS e FROM wide_one) s WHERE s.b = 2")
    (scan,) = [node for node in walk_nodes(plan.root) if isinstance(node, Scan)]
    assert scan.names == ("a", "b")
    assert _kinds(plan.root)[-1] == "Scan"


def test_the_planner_loads_the_library_of_dask_sql_alone() -> None:
    program = (
        "import sys; from gpudb.plan.dask import dask_sql_planner; dask_sql_planner.warm_up(); "
        "print(sorted({'dask', 'dask_sql', 'fastapi', 'pandas', 'prompt_toolkit', 'scipy', 'sklearn', 'sqlalchemy', "
        "'uvicorn', 'dask_sql._datafusion_lib'} & set(sys.modules)))"
    )
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=200)
    assert out.stdout.strip() == "['dask_sql._datafusion_lib']"
