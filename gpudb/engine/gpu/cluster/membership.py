"""The cluster's members as users see them: address, device and cached columns of each worker; and loading of tables.

Every call goes to the ready workers and waits for none longer than SILENT_SECONDS.
"""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import Sequence
from dataclasses import dataclass, replace

from gpudb.catalog.tables import Table
from gpudb.engine.gpu.cache.column_cache import CachedColumnInfo
from gpudb.engine.gpu.cluster.cluster import Cluster, WorkerState
from gpudb.engine.gpu.cluster.config import SILENT_SECONDS
from gpudb.engine.gpu.cluster.launcher import SchedulerState
from gpudb.engine.gpu.cluster.run_again import RunAgain, WorkerGone
from gpudb.engine.gpu.rpc.messages import CacheAction, CacheRequest, DeviceFacts, DeviceInfo, DeviceRequest, Failed
from gpudb.engine.protocol import Cancel


@dataclass(frozen=True, slots=True)
class Member:
    """A ready worker: its number, its address, facts of its device, and its cached columns."""

    number: int
    host: str
    port: int
    device: DeviceFacts = ()
    held: tuple[CachedColumnInfo, ...] = ()


class Membership:
    """The workers of a cluster."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.count = cluster.size

    def list_addresses(self) -> list[Member]:
        """Returns the ready workers without calling them."""
        found = []
        for number, address, _ in self._cluster.heartbeats():
            host, _, port = address.partition("://")[2].rpartition(":")
            found.append(Member(number, host, int(port)))
        return found

    def list_heartbeats(self) -> tuple[WorkerState, ...]:
        """Returns the ready workers with their last heartbeats, without calling them."""
        return self._cluster.heartbeats()

    def describe_scheduler(self) -> SchedulerState:
        """Returns what the scheduler answered last, without calling it."""
        return self._cluster.scheduler_state

    def list_members(self) -> list[Member]:
        """Returns the ready workers with their devices and cached columns."""
        return self._cluster.run(self._describe_all()).result()

    async def _describe_all(self) -> list[Member]:
        members = self.list_addresses()
        by_number = {number: address for number, address, _ in self._cluster.heartbeats()}
        answers = await asyncio.gather(*(self._describe(by_number[each.number]) for each in members))
        return [
            replace(each, device=tuple(answer.facts), held=tuple(CachedColumnInfo(*one) for one in answer.columns))
            for each, answer in zip(members, answers, strict=True)
            if answer is not None
        ]

    async def _describe(self, address: str) -> DeviceInfo | None:
        try:
            async with asyncio.timeout(SILENT_SECONDS):
                return await self._cluster.call(address, DeviceRequest())
        except (OSError, TimeoutError):
            return None

    def apply(self, table: Table, action: CacheAction, cancel: Cancel) -> int:
        """Loads, pins or evicts a table on every worker; returns the bytes on all of them.

        Begins again if a worker is lost meanwhile (see `run_again`), or raises WorkerLost.
        """
        work = self._cluster.run(self._apply_all(pickle.dumps(table), action))
        cancel.attach(work.cancel)
        try:
            return sum(work.result())
        except BaseException:
            cancel.check()
            raise
        finally:
            cancel.detach(work.cancel)

    def evict(self, table: Table) -> None:
        """Evicts a dropped table from every worker, without waiting."""
        self._cluster.run(self._apply_all(pickle.dumps(table), CacheAction.EVICT))

    async def _apply_all(self, table: bytes, action: CacheAction) -> Sequence[int]:
        again = RunAgain()
        while True:
            peers = await self._cluster.peers()
            calls = (self._apply(address, table, partition, action) for partition, address in enumerate(peers))
            try:
                return await asyncio.gather(*calls)
            except WorkerGone as gone:
                again.record(gone)

    async def _apply(self, address: str, table: bytes, partition: int, action: CacheAction) -> int:
        try:
            answer = await self._cluster.call(address, CacheRequest(table, partition, self.count, action))
        except OSError as error:
            raise await self._cluster.find_cause(address) from error
        if answer is None:
            raise WorkerGone
        if isinstance(answer, Failed):
            raise answer.error
        return answer.bytes
