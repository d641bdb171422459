"""Gain of the optimizer: TPC-H and SSB on CPU workers with all rules and without those that use statistics.

    python -m benchmarks.optimizer [--scale 0.3] [--workers 2] [--runs 5] [--save]

Both plans of a query run in turn on the same workers over the same resident columns; their answers must equal the
embedded engine's. An error is recorded in the place of a time, and the other queries run. Then planning is timed: from
the bound statement to stages, without the check that workers support them.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks import tables
from benchmarks.compare import show
from benchmarks.harness import Answer, Row, check_answers, make_row, save_results
from gpudb.errors import GpudbError

PLAIN = "twin, plain plans"
FULL = "twin"


def main() -> None:
    """Runs, prints, and with --save writes the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=0.3)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--data", type=Path, default=Path("/tmp/gpudb-bench"))
    parser.add_argument("--save", action="store_true")
    options = parser.parse_args()
    import gpudb

    versions = {"gpudb": gpudb.__version__, "scale": f"{options.scale:g}", "workers": str(options.workers)}
    rows: list[Row] = []
    planned: list[Row] = []
    for suite in (tables.tpch(options.scale, options.data), tables.ssb(options.scale, options.data)):
        rows += list(_run_suite(suite, options.workers, options.runs))
        if suite.name == "tpch":
            planned = list(_time_planning(suite, options.runs))
    show("optimizer", rows)
    pairs = [(a.median_s, b.median_s) for a, b in zip(rows[::3], rows[1::3], strict=True) if a.median_s and b.median_s]
    for number, system in enumerate((FULL, PLAIN)):
        print(f"  {system}: {sum(pair[number] for pair in pairs):.3f} s for the {len(pairs)} that both have run")
    ratios = [plain / full for full, plain in pairs]
    print(f"  plain / with rules, geometric mean: {statistics.geometric_mean(ratios):.2f}")
    show("planning", planned)
    print(f"  median: {1000 * statistics.median(row.median_s or 0 for row in planned):.2f} ms")
    if options.save:
        save_results("optimizer", rows, versions, program="optimizer")
        save_results("planning", planned, versions, program="optimizer")


def _run_suite(suite: tables.Suite, workers: int, runs: int) -> Iterator[Row]:
    from gpudb.engine.gpu.cluster.cluster import Cluster
    from gpudb.engine.gpu.cluster.config import cpu_processes
    from gpudb.engine.gpu.engine import ClusterEngine
    from gpudb.engine.gpu.planning.request_planner import Planner
    from gpudb.plan.optimize import RULES
    from gpudb.plan.optimize.merge_projects import merge_projects
    from gpudb.plan.optimize.prune_columns import prune_columns
    from gpudb.plan.optimize.push_down_filters import push_down_filters
    from gpudb.plan.physical.exchange_planning import Costs
    from gpudb.session.database import Database

    basic_rules = (merge_projects, push_down_filters, prune_columns)
    plain = tuple(rule for rule in RULES if rule.phase != "query" or rule.needs or rule.apply in basic_rules)
    database = _load(suite, Database(None))
    cluster = Cluster(cpu_processes(workers, None))
    costs = Costs(workers=workers)
    systems = {
        FULL: ClusterEngine(cluster, database.cpu, planner=Planner(database.cpu, costs, rules=RULES)),
        PLAIN: ClusterEngine(cluster, database.cpu, planner=Planner(database.cpu, costs, rules=plain, optimize=True)),
        "cpu": database.cpu,
    }
    answers: dict[tuple[str, str], Answer] = {}
    rows: list[Row] = []
    try:
        for query, text in suite.queries.items():
            case = f"{suite.name} {query}"
            times: dict[str, list[float]] = {name: [] for name in systems}
            failed: dict[str, GpudbError] = {}
            for number in range(runs + 2):
                for name in [each for each in systems if each not in failed]:
                    database.engine = systems[name]
                    started = time.perf_counter()
                    try:
                        answers[case, name] = _run_query(database, text)
                    except GpudbError as error:
                        failed[name] = error
                    if number >= 2:
                        times[name].append(time.perf_counter() - started)
            print(f"  {case}", flush=True)
            for name in systems:
                if name in failed:
                    answers.pop((case, name), None)
                    rows.append(Row(case, name, None, None, 0, suite.rows, note=_format_error(failed[name])))
                else:
                    rows.append(make_row(case, name, times[name], suite.rows, result_rows=len(answers[case, name])))
        check_answers(rows, answers, "cpu")
    finally:
        cluster.close()
        database.engine = database.cpu
        database.close()
    return iter(rows)


def _format_error(error: GpudbError) -> str:
    """Formats an error for a row's note."""
    return ": ".join(each for each in (error.sqlstate, error.message, error.detail) if each)


def _time_planning(suite: tables.Suite, runs: int) -> Iterator[Row]:
    """Times planning of each query, bound once and planned without the plan cache each time."""
    from gpudb.engine.gpu.planning import request_planner as planning
    from gpudb.engine.gpu.planning.request_planner import Planner
    from gpudb.engine.protocol import Request
    from gpudb.plan.dask.dask_sql_planner import warm_up
    from gpudb.session.database import Database

    warm_up()
    database = _load(suite, Database(None))
    requests: list[Request] = []

    class RecordingEngine:
        """The embedded engine; records requests."""

        def __getattr__(self, name: str) -> Any:
            return getattr(database.cpu, name)

        def run(self, request: Request) -> Any:
            """Returns the embedded engine's stream."""
            requests.append(request)
            return database.cpu.run(request)

    checked = planning.check_stages
    try:
        for query, text in suite.queries.items():
            database.engine = RecordingEngine()  # type: ignore[assignment]
            _run_query(database, text)
            request = requests[-1]
            planning.check_stages = lambda stages, parameters: {}
            times = []
            for number in range(runs + 2):
                planner = Planner(database.cpu)
                started = time.perf_counter()
                planner.plan(request)
                if number >= 2:
                    times.append(time.perf_counter() - started)
            yield make_row(query, "bound to stages", times, 0)
            planning.check_stages = checked
    finally:
        planning.check_stages = checked
        database.engine = database.cpu
        database.close()


def _load(suite: tables.Suite, database: Any) -> Any:
    session = database.session("gpudb")
    for statement in suite.schema:
        list(session.run(statement))
    for table, path in suite.tables.items():
        for result in session.run(f"SELECT load_data('{table}', '{path}')"):
            list(result.batches or ())
    session.close()
    return database


def _run_query(database: Any, text: str) -> Answer:
    session = database.session("gpudb")
    try:
        answer: Answer = []
        for result in session.run(text):
            for batch in result.batches or ():
                answer += zip(*(column.to_pylist() for column in batch.columns), strict=True)
        return answer
    finally:
        session.close()


if __name__ == "__main__":
    main()
