"""Runs a statement's stages on the workers, each as soon as what it reads is there, and fetches the result."""

from __future__ import annotations

import asyncio
import itertools
import pickle
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from gpudb.engine.gpu.cluster import Cluster
from gpudb.engine.gpu.resident import Share
from gpudb.engine.gpu.stage import Task
from gpudb.errors import InternalError, SqlError
from gpudb.plan.stages import Stage

_NUMBERS = itertools.count(1)
STOP_SECONDS = 0.4
"""How long a worker may go on after a cancel before its process is ended."""


@dataclass
class Measured:
    """What a stage did on each worker that ran it."""

    workers: tuple[int, ...] = ()
    rows: list[int] = field(default_factory=list)
    bytes: list[int] = field(default_factory=list)
    milliseconds: list[float] = field(default_factory=list)


class Execution:
    """One statement under way. `measured` tells of each stage that has ended, by its number."""

    def __init__(self, cluster: Cluster, stages: Sequence[Stage], parameters: tuple[object, ...]) -> None:
        self._cluster = cluster
        self._stages = stages
        self._parameters = parameters
        self._statement = next(_NUMBERS)
        self._peers = cluster.addresses()
        self.measured: dict[int, Measured] = {}

    async def run(self) -> None:
        """Runs every stage; the first error ends the statement."""
        running: dict[int, asyncio.Task[None]] = {}
        async with asyncio.TaskGroup() as group:
            for stage in self._stages:
                before = [running[number] for number in stage.inputs]
                running[stage.number] = group.create_task(self._stage(stage, before))

    async def _stage(self, stage: Stage, before: Sequence[asyncio.Task[None]]) -> None:
        for each in before:
            await each
        workers = (0,) if stage.alone else tuple(range(len(self._peers)))
        sources: dict[int, tuple[str, tuple[int, ...]]] = {
            number: (self._stages[number].output, self.measured[number].workers) for number in stage.inputs
        }
        calls = []
        for index in workers:
            share = Share(index, len(self._peers))
            task = Task(self._statement, stage, share, self._peers, sources, self._parameters)
            calls.append(self._call(index, "gpudb_stage", task=pickle.dumps(task)))
        measured = Measured(workers)
        for answer in await asyncio.gather(*calls):
            if "error" in answer:
                raise pickle.loads(answer["error"])
            if "fault" in answer:
                raise InternalError(str(answer["fault"]))
            measured.rows.append(answer["rows"])
            measured.bytes.append(answer["bytes"])
            measured.milliseconds.append(answer["milliseconds"])
        self.measured[stage.number] = measured

    async def _call(self, index: int, handler: str, **arguments: object) -> dict[str, Any]:
        try:
            answer: dict[str, Any] = await self._cluster.call(self._peers[index], handler, **arguments)
            return answer
        except OSError as error:
            message = "a worker of the cluster was lost while the statement ran"
            raise SqlError.of("admin_shutdown", message, hint="Run the statement again.") from error

    async def results(self) -> AsyncIterator[bytes]:
        """The result's parts, as Arrow's IPC streams, worker by worker."""
        last = self._stages[-1]
        for index in self.measured[last.number].workers:
            part = await self._cluster.call(
                self._peers[index], "gpudb_fetch", statement=self._statement, stage=last.number, part=index
            )
            yield part

    async def stop(self) -> None:
        """Has the workers forget the statement, and ends those that go on with it: Polars cannot be interrupted."""
        await self.drop()
        await asyncio.sleep(STOP_SECONDS)
        for peer in self._peers:
            try:
                async with asyncio.timeout(STOP_SECONDS):
                    busy = await self._cluster.call(peer, "gpudb_running", statement=self._statement)
            except (OSError, TimeoutError):
                busy = True
            if busy:
                await self._cluster.restart(peer)

    async def drop(self) -> None:
        """Has the workers forget the statement; a lost one has already."""
        calls = [self._cluster.call(peer, "gpudb_drop", statement=self._statement) for peer in self._peers]
        await asyncio.gather(*calls, return_exceptions=True)
