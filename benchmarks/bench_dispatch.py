"""asv: cost of the fast path on several workers, from the plan to the rows; as a program it prints a table.

    python -m benchmarks.bench_dispatch [--gpus 0 1] [--workers 1 2 4 8] [--machine LABEL]

Three measurements of the same statements over 20,000 rows, medians in milliseconds. `dispatch`: each worker is replaced
by a process that returns the worker's recorded answer without computing it, so that only the coordinator's work and
the round trip are left; `own` is the processor time of the calling thread in it. `at once`: the workers compute, one
after the other if cores are fewer than workers. `usual`: staged execution by Dask's messages. With --machine results
are written to results/dispatch.MACHINE.json.
"""

from __future__ import annotations

import argparse
import contextlib
import multiprocessing
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.harness import Row, make_row, save_results

WORKERS = (1, 2, 4, 8)
ROWS = 20_000
STATEMENTS = {
    "one group": "SELECT count(*), sum(price) FROM orders",
    "seven groups in order": "SELECT k, sum(price) FROM orders GROUP BY k ORDER BY k",
    "300 groups of texts": "SELECT name, label, avg(price) FROM orders JOIN kinds USING (k) GROUP BY name, label",
    "an expression of groups": "SELECT k, sum(price) * 2 / count(*) FROM orders GROUP BY k",
}
TABLES = f"""
CREATE TABLE orders AS SELECT i AS id, i % 7 AS k, 'name ' || i % 43 AS name, ((i % 100) / 4.0)::numeric(10,2) AS price
    FROM generate_series(1, {ROWS}) i;
CREATE TABLE kinds AS SELECT i AS k, 'kind ' || i AS label FROM generate_series(0, 6) i
"""
_SECONDS = 120
Times = list[float]


class Dispatch:
    """Medians in milliseconds, by number of CPU workers."""

    params = (WORKERS, tuple(STATEMENTS))
    param_names = ("workers", "statement")
    unit = "ms"
    timeout = 300

    def setup(self, workers: int, statement: str) -> None:
        """Starts workers that have prepared the statement."""
        self.cluster = PreparedCluster(workers)
        self.cluster.prepare(STATEMENTS[statement])

    def teardown(self, workers: int, statement: str) -> None:
        """Ends them."""
        self.cluster.close()

    def track_dispatch(self, workers: int, statement: str) -> float:
        """Everything except the workers' computation."""
        return 1000 * statistics.median(self.cluster.time_dispatch()[0])

    def track_at_once(self, workers: int, statement: str) -> float:
        """The whole time."""
        return 1000 * statistics.median(self.cluster.time_fast_path()[0])


class PreparedCluster:
    """A cluster over the tables, on CPU workers with the kernels' NumPy backend, or on these GPUs."""

    def __init__(self, workers: int, gpus: Sequence[str] = ()) -> None:
        from gpudb.engine.gpu.cluster.cluster import Cluster
        from gpudb.engine.gpu.cluster.config import cpu_processes, gpu_processes
        from gpudb.engine.gpu.engine import ClusterEngine
        from gpudb.engine.routing import RoutedEngine
        from gpudb.session.database import Database

        self.workers = workers
        self.database: Any = Database(None)
        self._cluster: Any = Cluster(gpu_processes(gpus) if gpus else cpu_processes(workers, fuse=True))
        self.engine: Any = ClusterEngine(self._cluster, self.database.cpu, "gpu" if gpus else "twin")
        self.database.engine = RoutedEngine(self.engine, self.database.cpu)
        self.session: Any = self.database.session("gpudb")
        self._run(TABLES)
        self._run("SET gpudb.fallback = off")

    def close(self) -> None:
        """Closes everything."""
        self.session.close()
        self.database.close()

    def _run(self, sql: str) -> int:
        return sum(batch.num_rows for result in self.session.run(sql) for batch in result.batches)

    def prepare(self, sql: str) -> None:
        """Takes a statement's request and lets the workers prepare it."""
        requests: list[Any] = []
        start = self.engine.run

        def run(request: Any) -> Any:
            requests.append(request)
            return start(request)

        self.engine.run = run
        self._run(sql)
        self.engine.run = start
        self._request = requests[0]
        ends = time.monotonic() + _SECONDS
        while not self.run_once()[2]:
            if time.monotonic() > ends:
                raise RuntimeError(f"the workers do not hold it ready: {sql}")
            time.sleep(0.05)

    def run_once(self) -> tuple[float, float, bool]:
        """One run: its seconds, this thread's processor seconds, and whether the fast path answered it."""
        from gpudb.engine.gpu.engine import BatchStream
        from gpudb.engine.protocol import Cancel

        request = replace(self._request, cancel=Cancel())
        begun, spent = time.perf_counter(), time.thread_time()
        stream = self.engine.run(request)
        rows = sum(batch.num_rows for batch in stream)
        assert rows
        return time.perf_counter() - begun, time.thread_time() - spent, isinstance(stream, BatchStream)

    def time_fast_path(self, runs: int = 200) -> tuple[Times, Times]:
        """Seconds of runs that all workers answer by the fast path, and this thread's."""
        found = [self.run_once() for _ in range(runs)]
        assert all(short for _, _, short in found)
        return [whole for whole, _, _ in found], [own for _, own, _ in found]

    def time_staged(self, runs: int = 60) -> Times:
        """Seconds of runs by staged execution."""
        enabled = self._cluster.fast_path_pool.is_enabled
        self._cluster.fast_path_pool.is_enabled = lambda digest, parameters: False
        try:
            return [self.run_once()[0] for _ in range(runs)]
        finally:
            self._cluster.fast_path_pool.is_enabled = enabled

    def time_dispatch(self) -> tuple[Times, Times]:
        """Seconds of runs with recorded answers, and this thread's."""
        from gpudb.engine.gpu.cluster.cluster import WorkerState
        from gpudb.engine.gpu.rpc.messages import Heartbeat

        pool, heartbeats, secret = self._cluster.fast_path_pool, self._cluster.heartbeats, self._cluster._secret
        ask, recorded = pool.request, {}

        def record(entries: Any, questions: Any, cancel: Any, *others: Any) -> Any:
            answers = ask(entries, questions, cancel, *others)
            recorded.update(
                {(each.partition, bool(each.first_phase)): answer for each, answer in zip(questions, answers)}
            )
            return answers

        pool.request = record
        assert self.run_once()[2]
        pool.request = ask
        with fast_path_servers([_recorded_answers(recorded, share) for share in range(self.workers)], secret) as paths:
            self._cluster.heartbeats = lambda: [
                WorkerState(number, "", Heartbeat(0, 0, 0, 0, (0, 0), endpoints=(path,)))
                for number, path in enumerate(paths)
            ]
            try:
                self.time_fast_path(20)
                return self.time_fast_path()
            finally:
                self._cluster.heartbeats = heartbeats


def _recorded_answers(recorded: dict[tuple[int, bool], bytes], partition: int) -> dict[bool, bytes]:
    """A partition's recorded answers: the first one, and that for remaining work, which may move between workers."""
    rest = next((answer for (_, given), answer in recorded.items() if given), b"")
    return {False: recorded[partition, False], True: rest}


@contextlib.contextmanager
def fast_path_servers(answers: Sequence[dict[bool, bytes]], secret: bytes) -> Iterator[list[str]]:
    """Starts fast-path servers in their own processes, for those who know `secret`; yields their paths."""
    context = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as folder:
        processes: list[tuple[Any, Any]] = []
        try:
            for number, answer in enumerate(answers):
                place = Path(folder) / str(number)
                place.mkdir(mode=0o700)
                ours, theirs = context.Pipe()
                process = context.Process(target=_serve, args=(place, answer, secret, theirs), daemon=True)
                process.start()
                processes.append((process, ours))
            yield [pipe.recv() for _, pipe in processes]
        finally:
            for process, pipe in processes:
                pipe.send(None)
                process.join(_SECONDS)


def _serve(folder: Path, answer: dict[bool, bytes], secret: bytes, pipe: Any) -> None:
    from gpudb.engine.gpu.fastpath.server import FastPathServer

    server = FastPathServer(folder, lambda question: answer[bool(question.first_phase)], secret)
    pipe.send(server.endpoints[0])
    pipe.recv()
    server.close()


def main(arguments: list[str] | None = None) -> int:
    """Prints each statement's medians."""
    parser = argparse.ArgumentParser(description="cost of the fast path on several workers")
    parser.add_argument("--workers", type=int, nargs="+", default=list(WORKERS))
    parser.add_argument("--gpus", nargs="+", default=[], help="use these GPUs instead of CPU workers")
    parser.add_argument("--machine")
    options = parser.parse_args(arguments)
    rows: list[Row] = []
    print(f"{'':35}{'dispatch':>10}{'own':>8}{'at once':>10}{'usual':>8}   ms", flush=True)
    for count in [len(options.gpus)] if options.gpus else options.workers:
        cluster = PreparedCluster(count, options.gpus)
        try:
            for name, sql in STATEMENTS.items():
                cluster.prepare(sql)
                (bare, own), (whole, _), usual = (
                    cluster.time_dispatch(),
                    cluster.time_fast_path(),
                    cluster.time_staged(),
                )
                medians = [1000 * statistics.median(each) for each in (bare, own, whole, usual)]
                print(f"{count} workers, {name:24}" + "{:10.2f}{:8.2f}{:10.2f}{:8.2f}".format(*medians), flush=True)
                case = f"{count} workers, {name}"
                for system, times in (
                    ("dispatch", bare),
                    ("its thread", own),
                    ("at once", whole),
                    ("usual way", usual),
                ):
                    rows.append(make_row(case, system, times, ROWS))
                if options.machine:
                    save_results("dispatch", rows, {}, options.machine, "bench_dispatch")
        finally:
            cluster.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
