"""Planning of statements that were never seen before, for workers: milliseconds of processor time, phase by phase.

    python -m benchmarks.bench_planning [--scale 0.01] [--processes 3] [--gpu] [--only q04 q11] [--save]

A process loads TPC-H and TPC-DS at a small scale, plans TPC-H's 22 statements so that everything is imported, then
plans each of the 99 of TPC-DS once, from its text to what is sent to workers. The medians of several processes count.
`--gpu` plans with the costs and limits of GPUs; none is needed. Fails if the median exceeds 25 ms.
"""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

from benchmarks import tables
from benchmarks.harness import Row, make_row, save_results

LIMIT_S = 0.025
PHASES = ("parse", "bind", "check", "plan", "encode", "dask-sql", "rules", "constants", "fuse", "stages", "capability",
          "pickle", "other")  # fmt: skip


class Watch:
    """Seconds of processor time by phase; a phase within another one counts for itself alone."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self._open: list[str] = []
        self._since = time.process_time()

    def _turn(self) -> None:
        now = time.process_time()
        if self._open:
            self.seconds[self._open[-1]] += now - self._since
        self._since = now

    def within(self, name: str) -> bool:
        """Returns whether a phase runs."""
        return name in self._open

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Counts what runs within for a phase."""
        self._turn()
        self._open.append(name)
        try:
            yield
        finally:
            self._turn()
            self._open.pop()

    def around(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        """Returns a function whose time counts for a phase."""

        def timed(*operands: Any, **options: Any) -> Any:
            with self.phase(name):
                return call(*operands, **options)

        return timed


class _Planned(Exception):
    """Ends a statement that has been planned."""


def watch_phases(stack: ExitStack, watch: Watch) -> None:
    """Replaces the functions of each phase, where they are called, by functions that are timed."""
    from gpudb.engine.gpu.planning import request_planner
    from gpudb.plan.dask.encode import Encoder
    from gpudb.plan.logical import query_planner
    from gpudb.session import plans, session

    places = {
        "parse": [(session, "parse_statements")],
        "bind": [(plans, "bind_statement")],
        "check": [(plans, "check_statement_constants"), (plans, "authorize")],
        "plan": [(request_planner, "plan_query")],
        "encode": [(Encoder, "encode_select"), (Encoder, "columns_read")],
        "dask-sql": [(query_planner, "plan_text")],
        "rules": [(request_planner, "optimize"), (request_planner, "optimize_request")],
        "fuse": [(request_planner, "fuse_parts")],
        "stages": [(request_planner, "cut_stages"), (request_planner.Planner, "_apply_stage_rules")],
        "capability": [(request_planner, "check_stages")],
    }
    for phase, names in places.items():
        for place, name in names:
            stack.enter_context(mock.patch.object(place, name, watch.around(phase, getattr(place, name))))
    make = request_planner.make_evaluator
    timed = mock.patch.object(
        request_planner, "make_evaluator", lambda *operands: watch.around("constants", make(*operands))
    )
    stack.enter_context(timed)


def plan_suites(scale: float, folder: Path, gpu: bool, only: Sequence[str]) -> dict[str, dict[str, float]]:
    """Plans both suites in this process; returns each statement's seconds by phase."""
    from gpudb.engine.gpu.planning.request_planner import Planner, exchange_costs
    from gpudb.plan.dask.dask_sql_planner import warm_up
    from gpudb.session.database import Database

    warm_up()
    gc.collect()
    gc.freeze()  # as a server does once it listens
    database: Any = Database(None)
    planner = Planner(database.cpu, exchange_costs(2, gpu=gpu), fuse=True, gpu=gpu)
    watch = Watch()

    class PlanningEngine:
        """The embedded engine; plans statements for workers and runs none."""

        def __getattr__(self, name: str) -> Any:
            return getattr(database.cpu, name)

        def run(self, request: Any) -> Any:
            """Plans, and raises _Planned; runs what the session's checks ask for."""
            if watch.within("check"):
                return database.cpu.run(request)
            planned = planner.plan(request)
            with watch.phase("pickle"):
                _ = planned.digest
            raise _Planned

    found: dict[str, dict[str, float]] = {}
    for suite in (tables.tpch(scale, folder), tables.tpcds(scale, folder)):
        session = database.session("gpudb")
        for statement in (f"CREATE SCHEMA {suite.name}", f"SET search_path TO {suite.name}", *suite.schema):
            list(session.run(statement))
        for table, path in suite.tables.items():
            for result in session.run(f"SELECT load_data('{table}', '{path}')"):
                list(result.batches or ())
        database.engine = PlanningEngine()
        with ExitStack() as stack:
            watch_phases(stack, watch)
            for query, text in suite.queries.items():
                if only and suite.name == "tpcds" and query not in only:
                    continue
                watch.seconds = defaultdict(float)
                try:
                    with watch.phase("other"):
                        list(session.run(text))
                except _Planned:
                    session.sync()
                found[f"{suite.name} {query}"] = dict(watch.seconds)
        database.engine = database.cpu
        session.close()
    database.close()
    return found


def main() -> int:
    """Measures in new processes, prints, and with --save writes the results; 1 if the median is above its limit."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=float, default=0.01)
    parser.add_argument("--processes", type=int, default=3)
    parser.add_argument("--data", type=Path, default=Path("/tmp/gpudb-bench"))
    parser.add_argument("--gpu", action="store_true")
    parser.add_argument("--only", nargs="*", default=())
    parser.add_argument("--save", action="store_true")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(json.dumps(plan_suites(options.scale, options.data, options.gpu, options.only)))
        return 0
    command = [sys.executable, "-m", "benchmarks.bench_planning", "--child", *sys.argv[1:]]
    runs: list[dict[str, dict[str, float]]] = []
    for _ in range(options.processes):
        out = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
        runs.append(json.loads(out.splitlines()[-1]))
    statements = [each for each in runs[0] if each.startswith("tpcds")]
    rows: list[Row] = []
    whole = []
    for statement in statements:
        totals = [sum(run[statement].values()) for run in runs]
        whole.append(statistics.median(totals))
        for phase in PHASES:
            rows.append(make_row(statement, phase, [run[statement].get(phase, 0.0) for run in runs], 0))
        rows.append(make_row(statement, "all", totals, 0))
    for phase in (*PHASES, "all"):
        times = sorted(row.median_s or 0.0 for row in rows if row.system == phase)
        at = times[int(0.9 * (len(times) - 1))]
        figures = [1000 * each for each in (statistics.median(times), at, times[-1], sum(times))]
        print("{:12} median {:7.2f} ms  90 % {:7.2f}  max {:7.2f}  sum {:8.1f}".format(phase, *figures))
    middle = statistics.median(whole)
    if options.save:
        versions = {"scale": f"{options.scale:g}", "processes": str(options.processes)}
        save_results("planning-tpcds", rows, versions, program="bench_planning")
    return int(middle > LIMIT_S)


if __name__ == "__main__":
    sys.exit(main())
