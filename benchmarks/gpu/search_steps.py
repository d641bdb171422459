"""Steps of a search for the nearest vectors, on the worker that runs it and in the server, in milliseconds a statement.

    python -m benchmarks.gpu.search_steps [--rows 500000] [--dimensions 768] [--engine gpu|twin] [--where SQL] [--index]

Makes a table of random vectors, runs the same search for another vector each time, and prints what each function takes
without the ones that it calls, on the fast path. With `--index` an index by CAGRA answers. A step with work on the GPU
has that work's time, if it waits for it: so the kernel of the distances is in `start kernels`.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.gpu.spent import Breakdown, timed_functions
from gpudb.engine.gpu.cluster.cluster import Cluster
from gpudb.engine.gpu.cluster.config import cpu_processes, gpu_processes
from gpudb.engine.gpu.engine import BatchStream, ClusterEngine
from gpudb.engine.protocol import Request
from tests.support.lab import Lab

WARM, RUNS, QUERIES = 20, 100, 16
PART = 1 << 16
_WORKER = "gpudb.engine.gpu."
HOST_STEPS = {
    "answer": _WORKER + "worker.worker:StageWorker.answer_fast_path",
    "make run": _WORKER + "worker.query:QueryRun.__init__",
    "run": _WORKER + "worker.query:QueryRun.run_unbound",
    "stage": _WORKER + "worker.executor:Executor.execute",
    "finish": _WORKER + "worker.executor:Executor.finish",
    "lower": _WORKER + "lower.nodes:StageLowering.coded_frame",
    "lower expression": _WORKER + "lower.expressions.expressions:ExpressionLowering.value",
    "deferred": _WORKER + "lower.expressions.deferred:DeferredSteps.run",
    "encode result": _WORKER + "worker.query:QueryRun._encode_result",
    "compute on host": _WORKER + "backend.host:collect",
    "search index": _WORKER + "lower.nodes:StageLowering._nearest_frame",
}
"""Functions of every worker."""
GPU_STEPS = {
    "scan": _WORKER + "cudf.resident_columns:CudfTableCache.frame",
    "compute": _WORKER + "cudf.backend:CudfBackend._compute",
    "translate": _WORKER + "cudf.backend:translate",
    "evaluate": _WORKER + "cudf.backend:CudfBackend._evaluate_node",
    "start kernels": _WORKER + "cudf.algorithms.exact_kernels:ExactKernels.compute",
    "launch distances": _WORKER + "cudf.algorithms.exact_kernels:start_distances",
    "prefilter": _WORKER + "cudf.backend:CudfBackend.prefilter_top",
    "find top": _WORKER + "cudf.backend:find_top",
    "take": _WORKER + "cudf.backend:take_places",
    "to host": _WORKER + "cudf.columns.frame:to_host",
    "lazy source": _WORKER + "cudf.columns.frame:register_io_source",
    "search graph": _WORKER + "cudf.algorithms.vector_indexes:CuvsIndex.search",
}
"""Those of workers with a GPU."""
SERVER_STEPS = {
    "plan": _WORKER + "engine:ClusterEngine._plan",
    "fast path": _WORKER + "coordinator.fast_path:FastPath.try_run",
    "request and wait": _WORKER + "fastpath.pool:FastPathPool.request",
    "encode parameters": _WORKER + "engine:encode_parameters",
    "decode result": _WORKER + "coordinator.fast_path:decode_batch",
}
_held = ExitStack()
_spent = Breakdown()


def begin(steps: Mapping[str, str]) -> None:
    """Begins to time functions of this process."""
    for name, place in steps.items():
        try:
            _held.enter_context(timed_functions({name: place}, _spent))
        except (ImportError, AttributeError) as error:
            print(f"not timed: {name} ({error})", flush=True)


def reset() -> None:
    """Forgets what was timed."""
    _spent.seconds.clear()
    _spent.calls.clear()


def read() -> dict[str, tuple[float, int]]:
    """Returns the seconds and calls of each function."""
    return {name: (_spent.seconds[name], _spent.calls[name]) for name in _spent.seconds}


def make_files(folder: Path, rows: int, dimensions: int) -> None:
    """Writes random vectors as Parquet files."""
    for first in range(0, rows, PART):
        count = min(PART, rows - first)
        numbers = np.random.default_rng(first).standard_normal((count, dimensions), np.float32)
        lists = pa.FixedSizeListArray.from_arrays(pa.array(numbers.ravel()), dimensions).cast(pa.list_(pa.float32()))
        ids = np.arange(first, first + count, dtype=np.int32)
        table = pa.table({"id": ids, "kind": ids % 10, "v": lists})
        pq.write_table(table, folder / f"{first}.parquet", use_dictionary=False, compression=None)


def time_searches(engine: ClusterEngine, request: Request, queries: list[tuple[float, ...]], runs: int) -> list[float]:
    """Returns the seconds of searches; says how many did not take the fast path."""
    times, other = [], 0
    for number in range(runs):
        started = time.perf_counter()
        stream = engine.run(replace(request, parameters=(queries[number % QUERIES],)))
        rows = sum(batch.num_rows for batch in stream)
        times.append(time.perf_counter() - started)
        other += not isinstance(stream, BatchStream)
        assert rows == 10
    if other:
        print(f"{other} of {runs} searches did not take the fast path", flush=True)
    return times


def show(title: str, found: Mapping[str, tuple[float, int]], runs: int) -> None:
    """Prints milliseconds and calls a statement, the longest first."""
    print(f"\n{title}: {1000 * sum(each for each, _ in found.values()) / runs:.3f} ms in all")
    for name, (seconds, calls) in sorted(found.items(), key=lambda each: -each[1][0]):
        print(f"  {name:20}{1000 * seconds / runs:9.3f} ms{calls / runs:7.1f} calls")


def measure(lab: Lab, engine: ClusterEngine, given: argparse.Namespace) -> None:
    """Times searches alone, then with all steps timed."""
    draw = np.random.default_rng(1)
    queries = [tuple(draw.standard_normal(given.dimensions, np.float32).tolist()) for _ in range(QUERIES)]
    request = lab.request(f"SELECT id FROM items {given.where} ORDER BY v <-> $1 LIMIT 10", (queries[0],))
    nearest = replace(request.settings.nearest, enabled=given.index)
    request = replace(request, settings=replace(request.settings, nearest=nearest))
    started = time.perf_counter()
    time_searches(engine, request, queries, WARM)
    print(f"first {WARM} searches: {time.perf_counter() - started:.1f} s", flush=True)
    times = time_searches(engine, request, queries, RUNS)
    print(f"a search: {1000 * statistics.median(times):.3f} ms, at best {1000 * min(times):.3f}", flush=True)
    client: Any = engine._cluster._client
    begin(SERVER_STEPS)
    client.run(begin, HOST_STEPS if given.engine == "twin" else {**HOST_STEPS, **GPU_STEPS})
    time_searches(engine, request, queries, WARM)
    reset()
    client.run(reset)
    times = time_searches(engine, request, queries, RUNS)
    print(f"a search with its steps timed: {1000 * statistics.median(times):.3f} ms", flush=True)
    show("server", read(), RUNS)
    for found in client.run(read).values():
        show("worker", found, RUNS)


def main() -> None:
    """Makes the table and measures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=500_000)
    parser.add_argument("--dimensions", type=int, default=768)
    parser.add_argument("--engine", choices=("gpu", "twin"), default="gpu")
    parser.add_argument("--where", default="", help="a condition, such as WHERE kind = 3")
    parser.add_argument("--index", action="store_true", help="search by an index")
    given = parser.parse_args()
    lab = Lab()
    try:
        with tempfile.TemporaryDirectory() as folder:
            make_files(Path(folder), given.rows, given.dimensions)
            lab.run(f"CREATE TABLE items (id int, kind int, v vector({given.dimensions}))")
            lab.run(f"INSERT INTO items SELECT id, kind, v::vector({given.dimensions}) FROM '{folder}/*.parquet'")
        if given.index:
            lab.run("CREATE INDEX near ON items USING cagra (v vector_l2_ops)")
        cluster: Any = Cluster(gpu_processes(["0"]) if given.engine == "gpu" else cpu_processes(1, fuse=True))
        engine = ClusterEngine(cluster, lab.database.cpu, given.engine)
        try:
            measure(lab, engine, given)
        finally:
            engine.close()
    finally:
        lab.close()


if __name__ == "__main__":
    # Workers import this module's functions; those of __main__ would be copied to them.
    import_module("benchmarks.gpu.search_steps").main()
