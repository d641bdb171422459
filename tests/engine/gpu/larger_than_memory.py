"""One GPU with a memory limit: data three times as large, memory that runs out, a lost worker.

    python -m tests.engine.gpu.larger_than_memory OUT.json [--limit 192] [--rows 24000000] [--each 20] [--only "a sort" …]
        [--machine NAME] [--twin]

Each answer is compared with the embedded engine's, whose time is reported separately; a part that takes more than
`--each` seconds is cancelled, and the next one begins. Findings are written to OUT.json and to benchmarks/results/
beyond.MACHINE.json as they come. `--twin` runs on a CPU worker, to try this file.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import Row, make_row, save_results, visible_gpus
from gpudb.engine.gpu.cluster.cluster import Cluster
from gpudb.engine.gpu.cluster.config import cpu_processes, gpu_processes
from gpudb.engine.gpu.engine import ClusterEngine
from gpudb.engine.gpu.stage.batching import MemorySpace
from gpudb.engine.protocol import Cancel
from gpudb.errors import GpudbError
from gpudb.plan.dask.dask_sql_planner import warm_up
from tests.support.gpu import faults
from tests.support.lab import Lab

SETUP = """
CREATE TABLE by_big AS SELECT i AS id, i * 7919 % 5000021 AS k, i * 31 % 100000007 AS v FROM generate_series(1::bigint, {rows}) i;
CREATE TABLE by_other AS SELECT i * 17 % {rows} AS id, i AS w FROM generate_series(1::bigint, {rows} / 4) i
"""
JOIN = "SELECT count(*), sum(v), sum(w), max(k) FROM by_big JOIN by_other USING (id)"
GROUPS = "SELECT count(*), sum(n), max(s) FROM (SELECT k, count(*) AS n, sum(v) AS s FROM by_big GROUP BY k) t"
SORT = "SELECT v, id FROM by_big ORDER BY v, id"
FEW_VALUED = "SELECT id % 2 AS b, id FROM by_big ORDER BY b, id DESC"
WINDOW = "SELECT max(n), sum(l) FROM (SELECT row_number() OVER (ORDER BY v, id) AS n, lag(v) OVER (ORDER BY v, id) AS l FROM by_big) t"
DISTINCT = "SELECT count(DISTINCT v), count(DISTINCT k) FROM by_big"


_NOTED = (
    "sqlstate",
    "chunks",
    "tried",
    "spilled",
    "stages",
    "rows",
    "host",
    "ended after",
    "healed after",
    "running",
    "given",
    "wanted",
)


class Run:
    """One run and its findings by name."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options, self.found = options, {}
        self.found: dict[str, Any] = {"limit": options.limit << 20, "rows": options.rows}
        self.wanted: dict[str, list[tuple[Any, ...]]] = {}
        self.lab = Lab()
        self.part("setup", lambda: self.lab.run(SETUP.format(rows=options.rows)) or None)
        device = options.limit << 20
        warm_up()
        processes = (
            cpu_processes(1, 4 * device)
            if options.twin
            else replace(gpu_processes(visible_gpus(1).split(",")), device=device)
        )
        self.cluster = self.part("cluster", lambda: Cluster(processes))
        self.engine = ClusterEngine(self.cluster, self.lab.database.cpu, "twin" if options.twin else "gpu")

    def parts(self) -> dict[str, Callable[[], Any]]:
        """The parts in order."""
        return {
            "a join": lambda: self.answer(JOIN),
            "many groups": lambda: self.answer(GROUPS),
            "a sort": lambda: self.sorted(SORT, lambda v, i: v * 2**30 + i),
            "a window of one partition": lambda: self.answer(WINDOW),
            "distinct values": lambda: self.answer(DISTINCT),
            "a worker killed": self.killed,
            "after it": lambda: self.answer(JOIN),
            "memory that runs out": self.runs_out,
            "a sort by few values": lambda: self.sorted(FEW_VALUED, lambda b, i: b * 2**30 - i),
            "after all": lambda: self.answer(JOIN),
        }

    def part(self, name: str, do: Callable[[], Any]) -> Any:
        """Runs a part; records its findings and its time, or its error."""
        started = time.monotonic()
        try:
            told = do()
        except Exception as error:
            told = f"{type(error).__name__} {getattr(error, 'sqlstate', '')}: {str(error)[:500]}"
            told += f" ({detail})" if (detail := getattr(error, "detail", None)) else ""
        spent = round(time.monotonic() - started, 2)
        if told is None or isinstance(told, str | dict | bool):
            self.found[name] = {"told": told, "seconds": spent}
            print(name, self.found[name], flush=True)
            self.options.out.write_text(json.dumps(self.found, indent=1) + "\n")
            if rows := self.rows():
                save_results("beyond", rows, {}, self.options.machine, "tests.engine.gpu.larger_than_memory")
        return told

    def rows(self) -> list[Row]:
        """The findings as rows of results."""
        who, count = f"{self.options.limit} MiB for {'a worker' if self.options.twin else 'a GPU'}", self.options.rows
        found: list[Row] = []
        for name, part in self.found.items():
            told = part["told"] if isinstance(part, dict) else None
            if not isinstance(told, dict):
                if isinstance(told, str):  # an error
                    found.append(Row(name, who, None, None, 0, count, note=told[:200]))
                continue
            right = told.get("right", "sqlstate" in told)  # 57P01, for example, where its worker was killed
            more = {key: each for key, each in told.items() if key in _NOTED and each}
            note = ", ".join(f"{key} {each}" for key, each in more.items())
            taken = told.get("seconds", part["seconds"])
            found.append(make_row(name, who, [taken], count, answers_agree=right, note=note or None))
            if "oracle" in told:
                found.append(make_row(name, "the embedded engine", [told["oracle"]], count))
        return found

    def answer(self, sql: str) -> dict[str, Any]:
        """Compares a statement's answer with the embedded engine's; adds its chunks and its host operators."""
        started, stream = time.monotonic(), self.stream(sql)
        rows = [tuple(row.values()) for batch in stream for row in batch.to_pylist()]
        told: dict[str, Any] = {"seconds": round(time.monotonic() - started, 2), **ran(stream)}
        if sql not in self.wanted:
            started = time.monotonic()
            given = self.lab.database.cpu.run(self.lab.request(sql))
            self.wanted[sql] = [tuple(row.values()) for batch in given for row in batch.to_pylist()]
            told["oracle"] = round(time.monotonic() - started, 2)
        wanted = self.wanted[sql]
        told["right"] = rows == wanted
        return told if rows == wanted else {**told, "given": str(rows)[:200], "wanted": str(wanted)[:200]}

    def sorted(self, sql: str, keys: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> dict[str, Any]:
        """Checks a sort's rows: their number, their order, and that none is lost or duplicated."""
        started, stream = time.monotonic(), self.stream(sql)
        count, total, last, ordered = 0, 0, None, True
        for batch in stream:
            first, second = (np.asarray(column.to_numpy(zero_copy_only=False), np.int64) for column in batch.columns)
            key = keys(first, second)
            ordered = ordered and bool((key[1:] > key[:-1]).all()) and (last is None or int(key[0]) > last)
            last = int(key[-1]) if len(key) else last
            count, total = count + len(key), total + int(second.sum())
        rows = self.options.rows
        whole = count == rows and total == rows * (rows + 1) // 2
        told = {"right": ordered and whole, "seconds": round(time.monotonic() - started, 2), "rows": count}
        return {**told, "ordered": ordered, **ran(stream)}

    def stream(self, sql: str) -> Any:
        """Starts a statement on the cluster with a time limit."""
        cancel = Cancel()
        timer = threading.Timer(self.options.each, cancel.stop, ["canceling statement: its seconds are over"])
        timer.daemon = True
        timer.start()
        return self.engine.run(self.lab.request(sql, cancel=cancel))

    def runs_out(self) -> dict[str, Any]:
        """Runs a statement whose estimate fits memory but which does not: it continues in smaller chunks."""
        memory_space, self.cluster.memory_space = self.cluster.memory_space, lambda: MemorySpace(2**40, 2**40)  # type: ignore[method-assign]
        try:
            return self.answer(GROUPS.replace("max(s)", "max(s) + 0"))
        finally:
            self.cluster.memory_space = memory_space  # type: ignore[method-assign]

    def killed(self) -> dict[str, Any]:
        """Kills a worker while a statement runs."""
        told: dict[str, Any] = {}

        def run() -> None:
            try:
                told.update(self.answer(JOIN.replace("max(k)", "min(k)")))
            except GpudbError as error:
                told["sqlstate"] = error.sqlstate

        thread = threading.Thread(target=run)
        thread.start()
        time.sleep(self.options.after)
        (nanny,) = self.cluster._launcher.cluster.workers.values()
        before = nanny.pid
        os.kill(before, signal.SIGKILL)
        lost = time.monotonic()
        thread.join(120)
        told["ended after"] = round(time.monotonic() - lost, 2)
        told["running"] = thread.is_alive()
        while (self._process() in (None, before) or not faults.idle(self.cluster, 1)) and time.monotonic() < lost + 60:
            time.sleep(0.01)
        told["healed after"] = round(time.monotonic() - lost, 2)
        return told

    def _process(self) -> int | None:
        """Returns the worker's process, if there is one."""
        return next((nanny.pid for nanny in self.cluster._launcher.cluster.workers.values()), None)


def ran(stream: Any) -> dict[str, Any]:
    """Returns a statement's chunks, the numbers of chunks for which memory was too small, the spilled bytes, the
    seconds of each stage, and its host operators.
    """
    measured = stream.measured
    return {
        "chunks": stream.planned.chunks,
        "tried": list(stream.failed_chunks),
        "spilled": sum(sum(done.spilled) for done in measured.values()),
        "stages": {number: round(sum(done.milliseconds) / 1000, 2) for number, done in measured.items()},
        "host": sorted({each for done in measured.values() for told in done.host for each in told}),
    }


def main() -> int:
    """Runs all parts; returns status 1 if an answer is wrong or missing."""
    parser = argparse.ArgumentParser(description="data beyond a GPU's memory")
    parser.add_argument("out", type=Path)
    parser.add_argument("--limit", type=int, default=192, help="memory limit in MiB")
    parser.add_argument("--rows", type=int, default=24_000_000)
    parser.add_argument("--each", type=float, default=20, help="time limit of a part in seconds")
    parser.add_argument("--only", nargs="+", metavar="PART", help="names of the parts to run")
    parser.add_argument("--after", type=float, default=0.3, help="seconds after which the worker is killed")
    parser.add_argument("--machine", help="the results' label, such as h200x1")
    parser.add_argument("--twin", action="store_true")
    logging.basicConfig(level=logging.WARNING)
    run = Run(parser.parse_args())
    try:
        for name, do in run.parts().items():
            if run.options.only is None or name in run.options.only:
                run.part(name, do)
    finally:
        run.engine.close()
        run.lab.close()
    found = run.rows()
    return 0 if all(row.answers_agree is not False and row.median_s is not None for row in found) else 1


if __name__ == "__main__":
    sys.exit(main())
