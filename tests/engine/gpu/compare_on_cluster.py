"""The suites on a real cluster: each statement's answer compared with the embedded engine's, and the differences.

    python -m tests.engine.gpu.compare_on_cluster [--gpus 0 1 | --workers 2] [--only cases tpch ssb taxi tpcds] [--json FILE]
        [--machine NAME] [--seconds N]

Findings are written to FILE as they come, and with --machine the shares to benchmarks/results/survey/NAME-cluster.json.
Rows are exchanged as in production, but without lower limits: from GPU to GPU over UCX. `--exchanges` plans as if
tables were large, so that joins and groups are shuffled instead of broadcast.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.harness import write_json
from gpudb.engine.gpu import limits
from gpudb.engine.gpu.cluster.cluster import Cluster
from gpudb.engine.gpu.cluster.config import cpu_processes, gpu_processes
from gpudb.engine.gpu.engine import ClusterEngine, ClusterStream
from gpudb.engine.gpu.planning.request_planner import Planner
from gpudb.engine.protocol import Request
from gpudb.errors import GpudbError
from gpudb.plan.errors import NotSupportedOnWorkers
from gpudb.plan.physical.exchange_planning import Costs
from tests.engine.gpu import survey
from tests.engine.gpu.survey import Found, statements
from tests.support.gpu import local_stages
from tests.support.gpu.comparison import embedded, outcome
from tests.support.gpu.suites import SUITES
from tests.support.lab import Lab

ORDER = ("tpch", "ssb", "taxi", "cases", "tpcds")
EVERY_S = 10.0
"""Interval at which findings are written."""


def prepare(gpu: bool, dask_worker: Any) -> str:
    """On a worker: discards every table, since another database reuses their OIDs; returns its UCX server's address."""
    plugin = dask_worker.plugins["gpudb"]
    stages = plugin.executor
    for columns in (stages.tables.columns, *([stages.kernels.tables.columns] if stages.kernels else [])):
        columns.discard_where(lambda key: True)
    if stages.kernels:
        stages.kernels.tables._runs.clear()
        stages.kernels._parts.clear()
    if gpu:
        limits.HOST_BYTES = 1
    return str(plugin._exchange.ucx_address)


def engine_of(cluster: Cluster, lab: Lab, exchanges: bool) -> ClusterEngine:
    """Returns an engine of the cluster for a lab's database."""
    few = {"exchange": 0, "broadcast": 2**10, "range": 100, "groups": 100, "scan": 1000}
    costs = Costs(workers=cluster.size, **(few if exchanges else {}))
    workers = cluster.processes
    planner = Planner(lab.database.cpu, costs, fuse=workers.fuse, gpu=workers.gpu)
    return ClusterEngine(cluster, lab.database.cpu, "gpu" if workers.gpu else "twin", planner)


def run(found: Found, name: str, lab: Lab, engine: ClusterEngine, request: Request) -> None:
    """Runs a statement on both engines and records the outcome."""
    wanted = outcome(lambda: embedded(lab, request))
    if wanted == "0A000":
        return  # needs a session's state, which these requests lack
    kinds = [column.type for column in request.query.columns]
    reasons: set[str] = set()

    def rows() -> list[tuple[str | None, ...]]:
        stream = engine.run(request)
        made = local_stages.as_text(stream, kinds)
        if isinstance(stream, ClusterStream):
            reasons.update(each for done in stream.measured.values() for told in done.host for each in told)
        return made

    try:
        given = outcome(rows)
    except NotSupportedOnWorkers as lacking:
        found.lacking[name] = lacking.construct
        return
    except Exception as error:
        found.broken[name] = f"{type(error).__name__}: {str(error)[:300]}"
        return
    if given == wanted and reasons:
        found.partly[name] = sorted(reasons)
    elif given == wanted:
        found.right.append(name)
    else:
        detail = ""
        if isinstance(given, str):
            try:
                list(engine.run(request))
            except GpudbError as error:
                detail = f" ({error})"
        found.wrong[name] = f"{given!r:.180}{detail} where {wanted!r:.180}"


def _made(suites: list[str], folder: Path) -> Iterator[str]:
    """Yields the suites whose data exist or can be generated."""
    for suite in suites:
        try:
            if suite in SUITES:
                SUITES[suite](folder)
        except Exception as error:
            print(f"{suite} cannot be made: {error}", flush=True)
            continue
        yield suite


def main(arguments: list[str] | None = None) -> int:
    """Returns status 1 if an answer is wrong or a statement breaks."""
    parser = argparse.ArgumentParser(description="the suites on a real cluster")
    parser.add_argument("--only", nargs="+", choices=ORDER, default=list(ORDER))
    parser.add_argument("--gpus", nargs="+", default=[])
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--fuse", action="store_true", help="CPU workers run fused parts by the NumPy backend")
    parser.add_argument("--exchanges", action="store_true")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--seconds", type=float, default=1e9, help="time limit; findings so far are kept")
    parser.add_argument("--part", default="1/1", help="part of the case files and of each suite's queries, such as 2/3")
    parser.add_argument("--machine", help="the results' label, such as h200x2")
    options = parser.parse_args(arguments)
    part, parts = int(options.part.split("/")[0]) - 1, int(options.part.split("/")[1])
    started = time.monotonic()
    gpus = options.gpus
    cluster = Cluster(gpu_processes(gpus) if gpus else cpu_processes(options.workers, fuse=options.fuse))
    print(f"{cluster.size} workers in {time.monotonic() - started:.1f} s", flush=True)
    found = Found()
    kept = started

    def keep(ended: bool) -> None:
        with tempfile.TemporaryDirectory() as beside:
            path = options.json or Path(beside) / "found.json"
            write_json(path, {**vars(found), "ended": ended})
            if options.machine:
                more = {
                    "seconds": round(time.monotonic() - started),
                    "processes": 1,
                    "processes that ended": int(ended),
                }
                survey.keep(
                    [path], "survey", f"{options.machine}-cluster", "tests.engine.gpu.compare_on_cluster", **more
                )

    ended = True
    lab_before: Lab | None = None
    with tempfile.TemporaryDirectory() as made:
        folder = options.data or Path(made)
        try:
            for suite in _made([each for each in ORDER if each in options.only], folder):
                begun, before = time.monotonic(), len(found.right) + len(found.partly)
                for name, lab, request in statements([suite], folder, (part, parts)):
                    if lab is not lab_before:
                        doors = cluster._client.run(prepare, bool(gpus))
                        engine, lab_before = engine_of(cluster, lab, options.exchanges), lab
                    run(found, name, lab, engine, request)
                    if time.monotonic() > kept + EVERY_S:
                        keep(ended=False)
                        kept = time.monotonic()
                    if time.monotonic() - started > options.seconds:
                        print(f"ended after {options.seconds} s, at {name}", flush=True)
                        ended = False
                        break
                right = len(found.right) + len(found.partly) - before
                print(f"{suite}: {right} right, {time.monotonic() - begun:.1f} s", flush=True)
                if not ended:
                    break
            print("doors", doors, flush=True)
        finally:
            cluster.close()
    print(found.told(), flush=True)
    print(f"{time.monotonic() - started:.0f} s", flush=True)
    keep(ended)
    return 1 if found.wrong or found.broken else 0


if __name__ == "__main__":
    sys.exit(main())
