"""What runs in each worker process: stages of statements, what they give, and the tables' columns that they read.

The coordinator and the other workers call it by handlers of Dask's worker, one message each:

    gpudb_stage   run a stage: fetch what it receives, compute, keep what it gives; tells rows, bytes and times
    gpudb_fetch   a part of what a stage gave, as Arrow's IPC stream
    gpudb_drop    forget a statement
"""

from __future__ import annotations

import asyncio
import io
import logging
import pickle
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import polars as pl
from distributed.diagnostics.plugin import WorkerPlugin

from gpudb.engine.gpu.lower.expressions import Expressions
from gpudb.engine.gpu.lower.nodes import Frame, Lowering
from gpudb.engine.gpu.lower.values import lanes, type_bounds
from gpudb.engine.gpu.resident import ResidentTables, Share
from gpudb.errors import GpudbError
from gpudb.plan.errors import NotCarried
from gpudb.plan.nodes import Node, Scan
from gpudb.plan.stages import Partial, Receive, Stage
from gpudb.types import SqlType

_LOG = logging.getLogger(__name__)
SEED = 20261


@dataclass(frozen=True)
class Task:
    """One stage for one worker: `peers` are all workers' addresses, in order; `sources` says of each input stage how
    its rows were put out and which workers ran it."""

    statement: int
    stage: Stage
    share: Share
    peers: tuple[str, ...]
    sources: dict[int, tuple[str, tuple[int, ...]]]
    parameters: tuple[object, ...] = ()


@dataclass
class _Given:
    """What a stage gave: a part for each worker, or one for all."""

    parts: list[pl.DataFrame] = field(default_factory=list)


class StageWorker(WorkerPlugin):
    """Adds gpudb's handlers to a Dask worker. `budget` bounds resident columns, in bytes."""

    name = "gpudb"

    def __init__(self, budget: int) -> None:
        self._budget = budget

    def setup(self, worker: Any) -> None:
        """Called by Dask in the worker's process."""
        self._worker = worker
        self._tables = ResidentTables(self._budget)
        self._given: dict[tuple[int, int], _Given] = {}
        # One stage at a time: several would share the same cores or the same GPU.
        self._pool = ThreadPoolExecutor(1, "gpudb stage")
        worker.handlers["gpudb_stage"] = self._stage
        worker.handlers["gpudb_fetch"] = self._fetch
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
            rows, size = await loop.run_in_executor(self._pool, self._run, work, received)
        except (GpudbError, NotCarried) as error:
            return {"error": pickle.dumps(error)}
        except pl.exceptions.PolarsError as error:
            _LOG.exception("stage %s of statement %s", work.stage.number, work.statement)
            return {"fault": f"{type(error).__name__}: {error}"}
        return {"rows": rows, "bytes": size, "milliseconds": 1000 * (time.perf_counter() - started)}

    async def _fetch(self, statement: int, stage: int, part: int) -> bytes:
        given = self._given[statement, stage]
        return _written(given.parts[part if len(given.parts) > 1 else 0])

    async def _drop(self, statement: int) -> None:
        for key in [key for key in self._given if key[0] == statement]:
            del self._given[key]

    # ---------------------------------------------------------------------------------------- a stage

    async def _received(self, work: Task) -> dict[int, list[pl.DataFrame]]:
        received: dict[int, list[pl.DataFrame]] = {}
        for stage, (output, runners) in work.sources.items():
            if output == "stay":
                runners = tuple(each for each in runners if each == work.share.index)
            elif output == "gather" and work.share.index != 0:
                runners = ()
            parts = [self._part(work, stage, runner) for runner in runners]
            received[stage] = list(await asyncio.gather(*parts))
        return received

    async def _part(self, work: Task, stage: int, runner: int) -> pl.DataFrame:
        if runner == work.share.index:
            given = self._given[work.statement, stage]
            return given.parts[runner if len(given.parts) > 1 else 0]
        peer = self._worker.rpc(work.peers[runner])
        return _read(await peer.gpudb_fetch(statement=work.statement, stage=stage, part=work.share.index))

    def _run(self, work: Task, received: dict[int, list[pl.DataFrame]]) -> tuple[int, int]:
        def source(node: Node) -> Frame:
            if isinstance(node, Scan):
                return self._tables.frame(node, work.share, work.parameters)
            assert isinstance(node, Receive)
            found = [part for part in received[node.stage] if part.width]
            frame = pl.concat(found) if found else _nothing(node.types)
            return Frame(frame.lazy(), tuple(map(type_bounds, node.types)))

        lowering = Lowering(source, _collect, work.parameters)
        frame = lowering.frame(work.stage.root)
        table = _collect(frame.lazy)
        parts = [table]
        if work.stage.output == "hash":
            parts = self._split(table, work, frame)
        self._given[work.statement, work.stage.number] = _Given(parts)
        return table.height, int(table.estimated_size())

    @staticmethod
    def _split(table: pl.DataFrame, work: Task, frame: Frame) -> list[pl.DataFrame]:
        """The rows by the hash of their keys, a part for each worker."""
        if isinstance(work.stage.root, Partial):
            keys = [pl.col(f"k{number}") for number in range(len(work.stage.keys))]
        else:
            over = Expressions(frame.bounds, work.parameters)
            values = [over.value(key) for key in work.stage.keys]
            keys = [value.expr.cast(lanes(value.type)[""]) for value in values]
        count = work.share.count
        place = table.select(place=_hashed(keys, table) % count)["place"]
        return [table.filter(place == number) for number in range(count)]


def _hashed(keys: Sequence[pl.Expr], table: pl.DataFrame) -> pl.Expr:
    made = pl.lit(SEED, pl.UInt64)
    for key in keys:
        kind = table.select(key.alias("k")).schema["k"]
        if kind.is_float():
            key = key + 0.0  # -0 and 0 are one value
        made = made * pl.lit(31, pl.UInt64) + key.hash(SEED)
    return made


def _collect(lazy: pl.LazyFrame) -> pl.DataFrame:
    return lazy.collect()


def _nothing(types: Sequence[SqlType]) -> pl.DataFrame:
    schema = {f"c{n}{suffix}": held for n, kind in enumerate(types) for suffix, held in lanes(kind).items()}
    return pl.DataFrame(schema=schema)


def _written(frame: pl.DataFrame) -> bytes:
    out = io.BytesIO()
    frame.write_ipc_stream(out)
    return out.getvalue()


def _read(data: bytes) -> pl.DataFrame:
    return pl.read_ipc_stream(io.BytesIO(data))
