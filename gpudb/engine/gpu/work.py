"""A statement on a worker: its stages as their inputs come, and what the coordinator is told of them."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import pickle
import time
import weakref
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpudb.engine.gpu.exchange import givers, runners, takers
from gpudb.engine.gpu.finish import Finished
from gpudb.engine.gpu.frames import Held
from gpudb.engine.gpu.fused.match import scan_of
from gpudb.engine.gpu.given import Kept, Parts, Spilled, SpillFile
from gpudb.engine.gpu.outcome import packed, to_batch
from gpudb.engine.gpu.share import Share
from gpudb.engine.gpu.stage import FEW, Again, Task
from gpudb.errors import GpudbError, InternalError, OutOfMemory, SqlError
from gpudb.plan.errors import NotCarried
from gpudb.plan.fused import Fused
from gpudb.plan.nodes import Node, Scan
from gpudb.plan.physical import Receive
from gpudb.plan.stages import Stage
from gpudb.plan.traversal import walk_nodes
from gpudb.types import SqlType

if TYPE_CHECKING:
    from gpudb.engine.gpu.worker import StageWorker

_LOG = logging.getLogger(__name__)

_Tuples = tuple[tuple[Any, ...], ...]
Figures = tuple[int, int, int, int, int, float, tuple[str, ...], _Tuples, _Tuples]
"""What a stage did on a share: both numbers, rows, bytes, bytes of them that went to files, milliseconds, what ran on
the host, what was launched, what its scans were narrowed to."""
_MANY = 10_000_000
INLINE_BYTES = 2**20
"""A result of fewer bytes comes with the answer."""


class Lost(Exception):
    """A share whose worker did not give its rows."""


class Running:
    """A statement on this worker."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.task: asyncio.Task[dict[str, Any]] | None = None
        self.error: GpudbError | None = None
        self.short = False
        self.began = time.monotonic()
        self.computing = 0
        self.results: dict[int, Kept] = {}
        self.types: tuple[SqlType, ...] = ()
        self.ended = 0.0
        self._parts: dict[tuple[int, int], asyncio.Future[Parts]] = {}
        self._files: weakref.WeakSet[SpillFile] = weakref.WeakSet()

    def parts(self, stage: int, share: int) -> asyncio.Future[Parts]:
        """What a stage gives on a share, which may be still to come."""
        found = self._parts.get((stage, share))
        if found is None:
            found = self._parts[stage, share] = asyncio.get_running_loop().create_future()
        return found

    async def taken(self, stage: int, givers: Sequence[int], taker: int) -> list[Held | Spilled]:
        """What a stage gives to a share on others, once it is there."""
        return [(await asyncio.shield(self.parts(stage, giver))).take(taker) for giver in givers]

    def file(self, folder: Path) -> SpillFile:
        """A new file for parts, which ends with the statement."""
        made = SpillFile(folder)
        self._files.add(made)
        if self.ended:
            made.close()
        return made

    @property
    def read(self) -> bool:
        """Whether all that was given has been read."""
        given = all(each.done() and not each.cancelled() and each.result().read for each in self._parts.values())
        return given and not self.results and self.task is not None and self.task.done()

    def fail(self, error: GpudbError) -> None:
        """Ends the statement here with an error."""
        if self.task is not None and not self.task.done():
            self.error = error
            self.task.cancel()

    def end(self) -> None:
        """Ends the statement here and frees what it holds."""
        # Files of which all has been taken go with those that read them still.
        files = [] if self.read else list(self._files)
        self.ended = time.monotonic()
        if self.task is not None:
            self.task.cancel()
        for each in self._parts.values():
            each.cancel()
        for kept in self.results.values():
            kept.end()
        for file in files:
            file.close()
        self._parts.clear()
        self.results.clear()


class Work:
    """One statement's stages on this worker."""

    def __init__(
        self,
        worker: StageWorker,
        running: Running,
        stages: Sequence[Stage],
        peers: tuple[str, ...],
        chunks: int,
        parameters: bytes,
    ) -> None:
        self._worker, self._running, self._stages, self._peers = worker, running, stages, peers
        self._chunks, self._count = chunks, len(peers) * chunks
        self._key = parameters
        self._parameters, self._timezone = pickle.loads(parameters)
        running.types = stages[-1].root.types
        self._measured: list[Figures] = []
        self._results: list[tuple[int, bytes | None]] = []
        self._finished: Finished | None = None

    async def run(self, shares: tuple[int, ...]) -> dict[str, Any]:
        """Runs every stage as soon as what it reads is there; what each did, by stage and share, and the result."""
        try:
            if self._count == 1:
                await self._alone()
            elif self._chunks > 1:
                await self._in_turn(shares)
            else:
                async with asyncio.TaskGroup() as group:
                    for stage in self._stages:
                        for share in set(shares).intersection(runners(stage, self._count)):
                            group.create_task(self._stage(stage, share, {}))
        except BaseExceptionGroup as failed:
            return await self._failed(_first(failed))
        except Exception as error:
            return await self._failed(error)
        return {"measured": self._measured, "results": self._results, "again": self._bound()}

    async def _failed(self, error: BaseException) -> dict[str, Any]:
        if not isinstance(error, Exception) or isinstance(error, Lost | NotCarried):
            return told(error, self._running.number)
        return await self._worker.failed(error, self._running.number)

    async def _alone(self) -> None:
        """The stages one after the other, without what only the build sides of parts that are bound would read."""
        again = self._worker.again(self._stages, self._key)
        wanted = needed(self._stages, again)
        # Columns may have to be read first: that takes as long as it takes.
        self._running.short = self._running.short and all(rows < _MANY for rows in _unbound(self._stages, again))
        left = [stage for stage in self._stages if stage.number in wanted]
        given: dict[int, list[Held]] = {}
        while left:
            left = await self._worker.in_lane(self._running, partial(self._some, left, given, again))
        for rows in given.values():
            self._results.append((0, await self._worker.keep(self._running, 0, rows[0])))
        if self._finished is not None:
            self._results.append((0, packed(self._finished.batch)))

    def _bound(self) -> bool:
        """Whether the statement could be answered at once now: it left few rows, made of bound parts alone."""
        if self._count > 1 or any(data is None for _, data in self._results):
            return False
        again = self._worker.again(self._stages, self._key)
        wanted = needed(self._stages, again)
        few = all(figures[2] <= FEW for figures in self._measured)
        return few and all(_is_bound(stage.root, again) for stage in self._stages if stage.number in wanted)

    def at_once(self) -> bytes | None:
        """The rows of a statement that is bound, in the caller's thread; None where they are many, or it is not."""
        again = self._worker.again(self._stages, self._key)
        wanted = needed(self._stages, again)
        left = [stage for stage in self._stages if stage.number in wanted]
        given: dict[int, list[Held]] = {}
        if not all(_is_bound(stage.root, again) for stage in left) or self._some(left, given, again):
            return None
        if self._finished is not None:
            return packed(self._finished.batch)
        ((rows,),) = given.values()
        if rows.bytes > INLINE_BYTES:
            return None
        return packed(to_batch(rows.frame(), self._running.types))

    def _some(self, left: list[Stage], given: dict[int, list[Held]], again: Mapping[int, Again]) -> list[Stage]:
        """Runs stages until the statement has to change its lane, or ends; those that are left."""
        short = self._worker.short(self._running)
        task = self._running.task
        while left and self._worker.short(self._running) == short:
            if task is not None and task.cancelling():
                return []
            stage, *left = left
            work = Task(stage, Share(0, 1), self._parameters, self._timezone, self._key, again)
            received = {number: given[number] for number in stage.inputs if number in given}
            done = self._worker.finished(work, received)
            if done is not None:
                given.clear()
                self._finished, figures = done
            else:
                made, figures = self._worker.computed(work, received)
                given[stage.number] = [each for each in made if not isinstance(each, Spilled)]
            self._measured.append(figures)
            for number in given.keys() - {stage.number} - {number for each in left for number in each.inputs}:
                del given[number]
        return left

    async def _in_turn(self, shares: tuple[int, ...]) -> None:
        """Stage by stage, and of each one share after the other: so little is in memory at once.

        Every worker keeps to that order, so none waits for one that waits for it.
        """
        for stage in self._stages:
            shared: dict[int, list[Held]] = {}
            for share in sorted(set(shares).intersection(runners(stage, self._count))):
                await self._stage(stage, share, shared)

    async def _stage(self, stage: Stage, share: int, shared: dict[int, list[Held]]) -> None:
        """A stage on a share; what goes to every share is `shared` by those that run here."""
        received = {number: shared.get(number) or await self._received(number, share) for number in stage.inputs}
        shared |= {number: rows for number, rows in received.items() if self._stages[number].output == "broadcast"}
        task = Task(stage, Share(share, self._count, self._chunks), self._parameters, self._timezone)
        readers = takers(self._stages, stage.number, share, self._count, self._chunks)
        spill = self._running if self._chunks > 1 and readers else None
        work = partial(self._worker.computed, task, received, spill=spill)
        frames, figures = await self._worker.in_lane(self._running, work)
        self._measured.append(figures)
        if stage.output == "result":
            (rows,) = frames
            assert not isinstance(rows, Spilled)
            self._results.append((share, await self._worker.keep(self._running, share, rows)))
        else:
            self._running.parts(stage.number, share).set_result(Parts(frames, readers))

    async def _received(self, number: int, share: int) -> list[Held]:
        """A stage's rows for a share: from each worker those of all its shares at once."""
        if self._stages[number].output == "broadcast":
            share -= share % self._chunks
        found = givers(self._stages[number], share, self._count)
        by_peer = [tuple(group) for _, group in groupby(found, lambda giver: giver // self._chunks)]
        return list(await asyncio.gather(*(self._fetch(number, group, share) for group in by_peer)))

    async def _fetch(self, stage: int, givers: tuple[int, ...], taker: int) -> Held:
        address = self._peers[givers[0] // self._chunks]
        return await self._worker.fetch(address, self._running.number, stage, givers, taker)


def needed(stages: Sequence[Stage], again: Mapping[int, object]) -> set[int]:
    """The numbers of the stages that run: all that the last one reads, but for the build sides of bound parts."""
    found = {stages[-1].number}
    for stage in reversed(stages):
        if stage.number in found:
            found |= _received(stage.root, again)
            found |= {stage.sample} - {None}  # type: ignore[arg-type]
    return found


def _unbound(stages: Sequence[Stage], again: Mapping[int, object]) -> Iterator[int]:
    """The rows of the tables of fused parts that are to be bound."""
    for node in (node for stage in stages for node in walk_nodes(stage.root)):
        if isinstance(node, Fused) and id(node) not in again:
            yield scan_of(node.root).table.rows


def _is_bound(node: Node, again: Mapping[int, object]) -> bool:
    """Whether a stage reads nothing but what bound parts give."""
    if id(node) in again:
        return True
    return not isinstance(node, Scan | Fused) and all(_is_bound(each, again) for each in node.inputs)


def _received(node: Node, again: Mapping[int, object]) -> set[int]:
    if id(node) in again:
        return set()
    if isinstance(node, Receive):
        return {node.stage}
    return {number for each in node.inputs for number in _received(each, again)}


def _first(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def told(error: BaseException, statement: int) -> dict[str, Any]:
    """An error of a statement, or of none (0), as a value that the coordinator reads."""
    if isinstance(error, Lost):
        return {"lost": error.args[0]}
    if isinstance(error, GpudbError | NotCarried):
        return {"error": pickle.dumps(error)}
    if isinstance(error, MemoryError):  # Arrow's is one too
        return {"error": pickle.dumps(OutOfMemory("out of memory", detail=str(error)))}
    if isinstance(error, OSError) and error.errno in {errno.ENOSPC, errno.EDQUOT}:
        full = SqlError.of("disk_full", f"could not write a temporary file: {error.strerror}")
        return {"error": pickle.dumps(full)}
    with contextlib.suppress(Exception):
        _LOG.error("statement %s", statement, exc_info=error)
    return {"error": pickle.dumps(InternalError(f"{type(error).__name__}: {str(error)[:500]}"))}
