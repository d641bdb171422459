"""What runs in each worker process: stages of statements, what they give, and the tables' columns that they read.

The coordinator and the other workers call it by handlers of Dask's worker, one message each:

    gpudb_stage   run a stage: fetch what it receives, compute, keep what it gives; tells rows, bytes and times
    gpudb_fetch   a part of what a stage gave, as Arrow's IPC stream
    gpudb_running whether a statement computes here
    gpudb_drop    forget a statement
"""

from __future__ import annotations

import asyncio
import io
import logging
import pickle
import time
from collections import Counter, deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import polars as pl
import pyarrow as pa
from distributed.diagnostics.plugin import WorkerPlugin

from gpudb.engine.gpu.frames import Frames, Held, HostFrames
from gpudb.engine.gpu.resident import ResidentTables
from gpudb.engine.gpu.stage import Tables, Task, compute
from gpudb.errors import GpudbError
from gpudb.plan.errors import NotCarried

_LOG = logging.getLogger(__name__)


@dataclass
class _Given:
    """What a stage gave: a part for each worker, or one for all."""

    parts: list[Held] = field(default_factory=list)


class StageWorker(WorkerPlugin):
    """Adds gpudb's handlers to a Dask worker. `budget` bounds resident columns, in bytes."""

    name = "gpudb"

    def __init__(self, budget: int) -> None:
        self._budget = budget

    def setup(self, worker: Any) -> None:
        """Called by Dask in the worker's process."""
        self._worker = worker
        self._frames: Frames = HostFrames()
        self._tables: Tables = ResidentTables(self._budget)
        self._given: dict[tuple[int, int], _Given] = {}
        self._running: Counter[int] = Counter()
        # Statements that have ended: what waits in the queue for one is not begun.
        self._gone: deque[int] = deque(maxlen=10_000)
        # One stage at a time: several would share the same cores or the same GPU.
        self._pool = ThreadPoolExecutor(1, "gpudb stage")
        worker.handlers["gpudb_stage"] = self._stage
        worker.handlers["gpudb_fetch"] = self._fetch
        worker.handlers["gpudb_running"] = self._is_running
        worker.handlers["gpudb_drop"] = self._drop

    def teardown(self, worker: Any) -> None:
        """Called by Dask as the worker ends."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def __getstate__(self) -> dict[str, Any]:
        return {"_budget": self._budget}

    # ---------------------------------------------------------------------------------------- handlers

    async def _stage(self, task: bytes) -> dict[str, Any]:
        """Runs a stage; an error comes back as a value, pickled."""
        work: Task = pickle.loads(task)
        started = time.perf_counter()
        try:
            received = await self._received(work)
            loop = asyncio.get_running_loop()
            parts = await loop.run_in_executor(self._pool, self._computed, work, received)
        except (GpudbError, NotCarried) as error:
            return {"error": pickle.dumps(error)}
        except (pl.exceptions.PolarsError, pa.ArrowException, OSError, MemoryError) as error:
            _LOG.exception("stage %s of statement %s", work.stage.number, work.statement)
            return {"fault": f"{type(error).__name__}: {error}"}
        if work.statement not in self._gone:
            self._given[work.statement, work.stage.number] = _Given(parts)
        rows, size = sum(part.rows for part in parts), sum(part.bytes for part in parts)
        return {"rows": rows, "bytes": size, "milliseconds": 1000 * (time.perf_counter() - started)}

    async def _fetch(self, statement: int, stage: int, part: int) -> bytes:
        given = self._given[statement, stage]
        return _written(given.parts[part if len(given.parts) > 1 else 0].frame())

    async def _is_running(self, statement: int) -> bool:
        return self._running[statement] > 0

    async def _drop(self, statement: int) -> None:
        self._gone.append(statement)
        for key in [key for key in self._given if key[0] == statement]:
            del self._given[key]

    # ---------------------------------------------------------------------------------------- a stage

    def _computed(self, work: Task, received: dict[int, list[Held]]) -> list[Held]:
        if work.statement in self._gone:
            return []
        self._running[work.statement] += 1
        try:
            return compute(work, self._tables, received, self._frames)
        finally:
            self._running[work.statement] -= 1

    async def _received(self, work: Task) -> dict[int, list[Held]]:
        received: dict[int, list[Held]] = {}
        for stage, (output, runners) in work.sources.items():
            if output == "stay":
                runners = tuple(each for each in runners if each == work.share.index)
            elif output == "gather" and work.share.index != 0:
                runners = ()
            parts = [self._part(work, stage, runner) for runner in runners]
            received[stage] = list(await asyncio.gather(*parts))
        return received

    async def _part(self, work: Task, stage: int, runner: int) -> Held:
        if runner == work.share.index:
            given = self._given[work.statement, stage]
            return given.parts[runner if len(given.parts) > 1 else 0]
        peer = self._worker.rpc(work.peers[runner])
        return self._frames.given(
            _read(await peer.gpudb_fetch(statement=work.statement, stage=stage, part=work.share.index))
        )


def _written(frame: pl.DataFrame) -> bytes:
    out = io.BytesIO()
    frame.write_ipc_stream(out)
    return out.getvalue()


def _read(data: bytes) -> pl.DataFrame:
    return pl.read_ipc_stream(io.BytesIO(data))
