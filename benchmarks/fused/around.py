"""Time of a worker and a server on a statement besides its kernel, in one process, without sockets and client.

python -m benchmarks.fused.around taxi|ssb FOLDER [--engine gpu|twin] [--query NAME] [--profile]

FOLDER has a suite's files (`benchmarks.fused.files`). Each query is prepared, and answered RUNS times as by a worker's
fast path; the kernel's time in it is reported, and the encoding of the rows for the wire. Milliseconds, the median and
the minimum; --profile lists the functions that take the time.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from benchmarks import tables
from benchmarks.fused import files

RUNS = 50
_BYTES = 2**34


def time_call(run: Callable[[], Any]) -> tuple[float, float]:
    """Milliseconds of a call: the median and the minimum."""
    times = []
    for _ in range(RUNS):
        begun = time.perf_counter()
        run()
        times.append(1000 * (time.perf_counter() - begun))
    return statistics.median(times), min(times)


class Worker:
    """A worker without its process: the device and prepared statements."""

    def __init__(self, engine: str, folder: Path) -> None:
        from gpudb.engine.gpu.worker.device import open_gpu, open_host
        from gpudb.engine.gpu.worker.executor import Executor

        self.gpu = engine == "gpu"
        device = open_gpu(0, True) if self.gpu else open_host(_BYTES, _BYTES // 2, True)
        self.executor = Executor(device, folder, 2**28, gpu=self.gpu)
        self._plain: Callable[[], Any] = lambda: None

    def prepare(self, planned: Any, parameters: bytes) -> Callable[[], bytes | None]:
        """Prepares a statement; returns a function that answers it as the fast path does."""
        from gpudb.engine.gpu.fastpath.server import FastPathRequest
        from gpudb.engine.gpu.worker.query import QueryRun
        from gpudb.engine.gpu.worker.query_registry import RunningQuery
        from gpudb.engine.gpu.worker.worker_plan import WorkerPlan

        plan, fetch = WorkerPlan(list(planned.stages)), SimpleNamespace()
        stages = plan.stages
        question = FastPathRequest(1, planned.digest, parameters, 0, 1)

        def work() -> Any:
            return QueryRun(self.executor, fetch, RunningQuery(1), plan, ("here",), 1, parameters)  # type: ignore[arg-type]

        for _ in range(50):
            work()._run_stages(list(stages), {}, {})
            if work().answer_fast_path(question) is not None:
                break
            time.sleep(0.1)  # its kernel is being compiled
        self._plain = lambda: work()._run_stages(list(stages), {}, {})
        return lambda: work().answer_fast_path(question)

    def kernel_milliseconds(self) -> float:
        """Returns the milliseconds of the kernel of the last prepared pipeline."""
        launcher = getattr(self.executor.kernels, "_launcher", None)
        if launcher is None:
            return 0.0
        times = []
        for _ in range(5):
            self._plain()
            times.append(float(launcher.milliseconds))
        return statistics.median(times)


def encode_rows(planned: Any, data: bytes) -> int:
    """Encodes a result's rows; returns the number of bytes."""
    from gpudb.engine.gpu.exchange.result_codec import decode_batch
    from gpudb.server.wire.results import ResultRows

    types = tuple(column.type for column in planned.plan.columns)
    batches = iter([decode_batch(data, planned.schema)])
    result: Any = SimpleNamespace(columns=planned.plan.columns, batches=batches, tag="SELECT", close=lambda: None)
    sent: list[int] = []
    rows = ResultRows(result, (0,) * len(types))
    rows.send(lambda piece: sent.append(len(piece)), 0, "UTC", None)
    rows.close()
    return sum(sent)


def main() -> None:
    """Prints a line for each query."""
    parser = argparse.ArgumentParser()
    parser.add_argument("suite", choices=("taxi", "ssb"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--engine", choices=("gpu", "twin"), default="gpu")
    parser.add_argument("--query")
    parser.add_argument("--profile", action="store_true")
    options = parser.parse_args()
    from gpudb.engine.gpu.coordinator.coordinator import encode_parameters
    from gpudb.engine.gpu.planning.request_planner import Planner
    from gpudb.engine.protocol import Request
    from gpudb.plan.physical.exchange_planning import Costs
    from gpudb.session.database import Database
    from gpudb.session.execution.binding.binding import bind_statement, parse_statements
    from gpudb.sql.bind.binder import StatementBinder

    database = Database(None)
    session = database.session("gpudb")
    schema = {statement.split()[2]: statement for statement in tables.schema(options.suite)}
    for table in sorted(path.name for path in options.folder.iterdir() if path.is_dir() and path.name != "data"):
        columns = files.SCHEMAS[options.suite].get(table)
        create = f"CREATE TABLE {table} ({columns})" if columns else schema[table]
        for statement in (create, f"SELECT add_files('{table}', '{options.folder / table}/*.parquet')"):
            for result in session.run(statement):
                list(result.batches or ())
    catalog = database.store.begin().catalog
    planner = Planner(database.cpu, Costs(workers=1), fuse=True, gpu=options.engine == "gpu")
    with tempfile.TemporaryDirectory() as folder:
        worker = Worker(options.engine, Path(folder))
        for name, sql in tables.queries(options.suite).items():
            if options.query not in {None, name}:
                continue
            (statement,) = parse_statements(sql)
            request = Request(bind_statement(StatementBinder(catalog, statement.text), statement), catalog)  # type: ignore[arg-type]
            planned = planner.plan(request)
            answer = worker.prepare(planned, encode_parameters(request))
            data = answer()
            if data is None:
                print(f"{name:5s} is not answered at once", flush=True)
                continue
            size = encode_rows(planned, data)
            (median, minimum), kernel = time_call(answer), worker.kernel_milliseconds()
            wire = time_call(lambda p=planned, d=data: encode_rows(p, d))
            print(
                f"{name:5s} at once {median:7.3f} (least {minimum:.3f}), of it the kernel {kernel:.3f}; "
                f"written {wire[0]:.3f} (least {wire[1]:.3f}), {size:,} bytes",
                flush=True,
            )
            if options.profile:
                profile = cProfile.Profile()
                profile.enable()
                for _ in range(RUNS):
                    answer()
                profile.disable()
                pstats.Stats(profile).sort_stats("tottime").print_stats(25)
        worker.executor.close()
    session.close()
    database.close()


if __name__ == "__main__":
    main()
