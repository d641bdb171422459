"""What statements of several exchanges wait for, step by step on each worker; by mapped memory, and by UCX alone.

    python -m benchmarks.gpu.exchange_trace [--gpus 0 1 | --workers 2] [--rows N] [--runs 20] [--machine LABEL]

Functions of the workers are timed while statements run one at a time, by a clock that the processes of a host share.
Printed are the steps of one run with the median of its time, and for every exchange the milliseconds from the end of
the last stage that produced its rows to their arrival. With --machine the medians are written to
results/exchange-trace.MACHINE.json.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, NamedTuple

from benchmarks.harness import make_row, save_results

GROUPS = 7
STATEMENTS = {
    "two exchanges of few rows": "WITH t AS MATERIALIZED (SELECT k, sum(price) AS s FROM orders GROUP BY k)"
    " SELECT label, max(s) FROM t JOIN kinds USING (k) GROUP BY label ORDER BY label",
    "groups as many as half of the rows": "SELECT count(*), max(s) FROM"
    " (SELECT half, sum(price) AS s FROM orders GROUP BY half) AS t",
    "a join of all rows": "SELECT count(*), sum(a.price) FROM orders a JOIN orders b ON a.id = b.other",
}
TRANSPORTS = ("mapped memory", "UCX alone")
_RECORDED = "_exchange_trace"


class Step(NamedTuple):
    """A step of a worker: its name, the stage and partition where it has them (-1), and its seconds by the clock."""

    name: str
    stage: int
    partition: int
    begin: float
    end: float


# ------------------------------------------------------------------------------------------ on a worker


def install(dask_worker: Any) -> bool:
    """Times the functions of a worker from now on; returns whether it has a UCX server."""
    from gpudb.engine.gpu.exchange.client import ExchangeClient
    from gpudb.engine.gpu.worker.executor import Executor
    from gpudb.engine.gpu.worker.query import QueryRun

    steps: list[Step] = []
    setattr(dask_worker, _RECORDED, steps)

    def nowhere(*given: Any) -> tuple[int, int]:
        return -1, -1

    def of_stage(run: Any, stage: Any, partition: int, *more: Any) -> tuple[int, int]:
        return stage.number, partition

    def of_input(run: Any, stage: int, partition: int) -> tuple[int, int]:
        return stage, partition

    def of_task(executor: Any, task: Any, received: Any) -> tuple[int, int]:
        return task.stage.number, task.partition.index

    def of_request(client: Any, address: str, request: Any) -> tuple[int, int]:
        return request.stage, request.consumer

    places: tuple[tuple[type, str, str, Callable[..., tuple[int, int]]], ...] = (
        (QueryRun, "_run_stage", "stage", of_stage),
        (QueryRun, "_receive", "receive", of_input),
        (Executor, "execute", "compute", of_task),
        (Executor, "_to_device", "copy inputs to the GPU", nowhere),
        (Executor, "store_result", "encode the result", nowhere),
        (ExchangeClient, "_request", "request", of_request),
        (ExchangeClient, "encode", "encode for a peer", nowhere),
        (ExchangeClient, "_copy_from", "map and copy", nowhere),
    )
    for owner, function, name, where in places:
        setattr(owner, function, _timed(getattr(owner, function), name, where, steps))
    return bool(dask_worker.plugins["gpudb"]._exchange.ucx_address)


def _timed(
    function: Callable[..., Any], name: str, where: Callable[..., tuple[int, int]], steps: list[Step]
) -> Callable[..., Any]:
    if asyncio.iscoroutinefunction(function):

        @wraps(function)
        async def waited(*given: Any, **named: Any) -> Any:
            begin = time.perf_counter()
            try:
                return await function(*given, **named)
            finally:
                steps.append(Step(name, *where(*given), begin, time.perf_counter()))

        return waited

    @wraps(function)
    def called(*given: Any, **named: Any) -> Any:
        begin = time.perf_counter()
        try:
            return function(*given, **named)
        finally:
            places = where(*given[:3]) if name != "copy inputs to the GPU" else (-1, -1)
            steps.append(Step(name, *places, begin, time.perf_counter()))

    return called


def take(dask_worker: Any) -> list[Step]:
    """Returns a worker's steps since the last call."""
    steps: list[Step] = getattr(dask_worker, _RECORDED)
    taken = list(steps)
    steps.clear()
    return taken


def use_transport(mapped: bool, dask_worker: Any) -> None:
    """Lets a worker map its peers' memory, or fetch all buffers by UCX."""
    client = dask_worker.plugins["gpudb"]._exchange
    client.__dict__.pop("_is_near", None)
    if not mapped:
        client._is_near = lambda address: False


# ------------------------------------------------------------------------------------------ here


def exchanges(steps: dict[str, list[Step]]) -> list[tuple[int, float]]:
    """Returns each exchange's stage, and its seconds from the end of that stage on all workers to the last arrival."""
    ended: defaultdict[int, float] = defaultdict(float)
    arrived: defaultdict[int, float] = defaultdict(float)
    for each in (step for of_worker in steps.values() for step in of_worker):
        if each.name == "compute":
            ended[each.stage] = max(ended[each.stage], each.end)
        elif each.name == "receive":
            arrived[each.stage] = max(arrived[each.stage], each.end)
    return sorted((stage, max(arrived[stage] - ended[stage], 0.0)) for stage in arrived)


def print_steps(begin: float, steps: dict[str, list[Step]]) -> None:
    """Prints the steps of a run in the order of their begin, in milliseconds from its begin."""
    lines = sorted((step.begin, number, step) for number, of_worker in enumerate(steps.values()) for step in of_worker)
    for _, number, step in lines:
        stage = f"stage {step.stage}, partition {step.partition}" if step.stage >= 0 else ""
        at, took = 1000 * (step.begin - begin), 1000 * (step.end - step.begin)
        print(f"  {at:8.2f} ms  worker {number}  {took:8.2f} ms  {step.name:24} {stage}")


class Traced:
    """A cluster whose workers record their steps."""

    def __init__(self, rows: int, workers: int, gpus: Sequence[str]) -> None:
        from gpudb.engine.gpu.cluster.cluster import Cluster
        from gpudb.engine.gpu.cluster.config import cpu_processes, gpu_processes
        from gpudb.engine.gpu.engine import ClusterEngine
        from gpudb.engine.routing import RoutedEngine
        from gpudb.session.database import Database

        self.database: Any = Database(None)
        self.cluster: Any = Cluster(gpu_processes(gpus) if gpus else cpu_processes(workers, fuse=True))
        engine = ClusterEngine(self.cluster, self.database.cpu, "gpu" if gpus else "twin")
        self.database.engine = RoutedEngine(engine, self.database.cpu)
        self.session: Any = self.database.session("gpudb")
        self.run(
            "CREATE TABLE orders AS SELECT i AS id, i % 7 AS k, i / 2 AS half,"
            f" (i * 7919) % {rows} + 1 AS other, (i % 100) / 4.0::numeric(10,2) AS price"
            f" FROM generate_series(1::bigint, {rows}) i"
        )
        self.run(f"CREATE TABLE kinds AS SELECT i AS k, 'kind ' || i AS label FROM generate_series(0, {GROUPS - 1}) i")
        self.run("SET gpudb.fallback = off")
        # The fast path has no exchanges: the first of its workers computes, the second merges.
        self.cluster.fast_path_pool.is_enabled = lambda digest, parameters: False
        self.has_ucx = all(self.cluster._client.run(install).values())

    def close(self) -> None:
        """Ends the workers."""
        self.session.close()
        self.database.close()

    def run(self, sql: str) -> list[tuple[Any, ...]]:
        """Returns a statement's rows."""
        batches = [batch for result in self.session.run(sql) for batch in result.batches]
        return [tuple(row.values()) for batch in batches for row in batch.to_pylist()]

    def use(self, transport: str) -> None:
        """Sets how rows in GPU memory cross."""
        self.cluster._client.run(use_transport, transport == TRANSPORTS[0])

    def trace(self, sql: str) -> tuple[float, float, dict[str, list[Step]], list[tuple[Any, ...]]]:
        """Runs a statement; returns its begin, its seconds, the workers' steps and its rows."""
        self.cluster._client.run(take)
        begin = time.perf_counter()
        rows = self.run(sql)
        return begin, time.perf_counter() - begin, self.cluster._client.run(take), rows


def add_cluster_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of a `Traced` cluster, and the results' label."""
    parser.add_argument("--gpus", nargs="+", default=[])
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--machine")


def main(arguments: list[str] | None = None) -> int:
    """Traces the statements; returns status 1 if the transports' answers differ."""
    parser = argparse.ArgumentParser(description="what statements with exchanges wait for")
    add_cluster_arguments(parser)
    parser.add_argument("--runs", type=int, default=20)
    options = parser.parse_args(arguments)
    traced = Traced(options.rows, options.workers, options.gpus)
    transports = TRANSPORTS if traced.has_ucx else ("TCP",)
    rows, differ = [], False
    try:
        for case, sql in STATEMENTS.items():
            answers = []
            for transport in transports:
                traced.use(transport)
                for _ in range(3):
                    traced.run(sql)
                runs = [traced.trace(sql) for _ in range(options.runs)]
                answers.append(runs[0][3])
                rows.append(make_row(case, f"gpudb, {transport}", [each[1] for each in runs], options.rows))
                begin, took, steps, _ = sorted(runs, key=lambda run: run[1])[len(runs) // 2]
                print(f"{case}, {transport}: {1000 * took:.2f} ms")
                print_steps(begin, steps)
                stages = [dict(exchanges(each[2])) for each in runs]
                for stage in stages[0]:
                    found = [each[stage] for each in stages if stage in each]
                    print(f"  exchange of stage {stage}: median {1000 * statistics.median(found):.2f} ms")
                    rows.append(make_row(f"{case}: exchange {stage}", f"gpudb, {transport}", found, options.rows))
            differ |= any(each != answers[0] for each in answers)
    finally:
        traced.close()
    if options.machine:
        save_results("exchange-trace", rows, {}, options.machine, "gpu.exchange_trace")
    if differ:
        print("the transports' answers differ", file=sys.stderr)
    return int(differ)


if __name__ == "__main__":
    sys.exit(main())
