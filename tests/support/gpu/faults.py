"""Fault injection into worker processes: an armed fault fires once, in the worker's next stage of its kind."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from distributed.diagnostics.plugin import WorkerPlugin

from gpudb.engine.gpu.cluster.cluster import Cluster
from gpudb.engine.gpu.rpc.calls import wrap_handler
from gpudb.engine.gpu.rpc.messages import ChunkRequest, OutputRequest, RpcRequest

FAULTS = ("kill", "stop", "raise", "memory", "disconnect")
"""SIGKILL, SIGSTOP, an unexpected exception, memory above the limit, and a reset of every connection. `full`, a
failed allocation, is an additional fault.
"""
STAGES = ("hash", "broadcast", "gather", "stay", "result")
"""The kinds of stages."""
POINTS = ("compute", "give")
"""While a stage computes, or while another worker or the client reads its output."""


@dataclass(frozen=True, slots=True)
class Arm(RpcRequest[bool]):
    """Arms a fault in the next stage of a kind."""

    handler: ClassVar[str] = "fault_arm"
    fault: str
    point: str
    stage: str


@dataclass(frozen=True, slots=True)
class Struck(RpcRequest[int]):
    """Returns how many faults have fired."""

    handler: ClassVar[str] = "fault_struck"


@dataclass(frozen=True, slots=True)
class Asked(RpcRequest[int]):
    """Returns how often other processes have requested rows."""

    handler: ClassVar[str] = "fault_asked"


class Faulty(WorkerPlugin):
    """Adds the handlers of `Arm`, `Struck` and `Asked` to workers."""

    name = "faulty"

    def setup(self, worker: Any) -> None:
        self._worker = worker
        self._armed: tuple[str, str, str] | None = None
        self.struck = self.asked = 0
        stages = worker.plugins["gpudb"]
        computing = stages.executor
        computed, part, rows = computing.execute, stages.send_output, stages.send_chunk

        def compute(task: Any, received: Any, **arguments: Any) -> Any:
            self._strike("compute", task.stage.output)
            return computed(task, received, **arguments)

        async def give(request: OutputRequest) -> Any:
            self.asked += 1
            self._strike("give", "any")
            return await part(request)

        async def read(request: ChunkRequest) -> Any:
            self._strike("give", "result")
            return await rows(request)

        computing.execute = compute
        handlers: dict[type[RpcRequest[Any]], Any] = {
            OutputRequest: give, ChunkRequest: read, Arm: self._arm, Struck: self._struck, Asked: self._asked
        }  # fmt: skip
        for request, handler in handlers.items():
            worker.handlers[request.handler] = wrap_handler(request, handler)

    async def _arm(self, request: Arm) -> bool:
        self._armed = request.fault, request.point, request.stage
        return True

    async def _struck(self, request: Struck) -> int:
        return self.struck

    async def _asked(self, request: Asked) -> int:
        return self.asked

    def _strike(self, point: str, stage: str) -> None:
        if self._armed is None or self._armed[1] != point or (stage != "any" and self._armed[2] not in (stage, "any")):
            return
        fault, self._armed = self._armed[0], None
        self.struck += 1
        match fault:
            case "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            case "stop":
                os.kill(os.getpid(), signal.SIGSTOP)
            case "raise":
                raise RuntimeError("injected")
            case "memory":
                self._hoard(self._worker.plugins["gpudb"]._limit)
            case "full":
                raise MemoryError("injected")
            case "disconnect":
                self._worker.loop.add_callback(self._disconnect)
            case "hang":
                time.sleep(60)

    def _hoard(self, limit: int) -> None:
        held = []
        ends = time.monotonic() + 5
        while time.monotonic() < ends:
            if 2**22 * len(held) < limit:
                held.append(b"\1" * 2**22)
            else:
                time.sleep(0.01)

    def _disconnect(self) -> None:
        for comm in list(self._worker._comms):
            comm.abort()


class Slow(WorkerPlugin):
    """Delays workers by some seconds while they start."""

    name = "slow"

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def setup(self, worker: Any) -> None:
        time.sleep(self.seconds)


class Unready(WorkerPlugin):
    """Breaks the next worker that starts while a file exists, and removes the file."""

    name = "unready"

    def __init__(self, path: str) -> None:
        self.path = path

    def setup(self, worker: Any) -> None:
        try:
            Path(self.path).unlink()
        except FileNotFoundError:
            return
        for name in [name for name in worker.handlers if name.startswith("gpudb_")]:
            del worker.handlers[name]


def hold_up(seconds: float, dask_worker: Any) -> None:
    """On a worker: blocks its event loop for some seconds, soon."""
    dask_worker.loop.add_callback(time.sleep, seconds)


def room(left: int, dask_worker: Any) -> None:
    """On a worker: reports to statements that `left` bytes of memory are available."""
    dask_worker.plugins["gpudb"].executor.available_memory = lambda: left


def space(left: int, dask_worker: Any) -> None:
    """On a worker: limits the memory of all statements together to `left` bytes."""
    dask_worker.plugins["gpudb"].executor.statement_bytes = left


def install(cluster: Cluster) -> None:
    """Installs the fault handlers on a cluster's workers, including restarted ones."""
    cluster._client.register_plugin(Faulty())


def arm(cluster: Cluster, worker: int, fault: str, point: str = "compute", stage: str = "any") -> None:
    """Arms a fault on one worker."""
    assert cluster.run(cluster.call(cluster._ready[worker], Arm(fault, point, stage))).result(5)


def asked(cluster: Cluster) -> int:
    """Returns how often other workers have requested rows."""
    calls = [cluster.run(cluster.call(each.address, Asked())) for each in cluster.heartbeats()]
    return sum(each.result(20) or 0 for each in calls)


def whole(cluster: Cluster, within: float = 60) -> bool:
    """Waits until every worker is ready and has the fault handlers; returns whether that happened in time."""
    ends = time.monotonic() + within
    while time.monotonic() < ends:
        told = cluster.heartbeats()
        try:
            if len(told) == cluster.size and all(
                cluster.run(cluster.call(address, Struck())).result(3) is not None for _, address, _ in told
            ):
                return True
        except (OSError, TimeoutError):
            pass
        time.sleep(0.05)
    return False


def idle(cluster: Cluster, within: float = 60) -> bool:
    """Waits until no worker holds any state of a statement; returns whether that happened in time."""
    ends = time.monotonic() + within
    while time.monotonic() < ends:
        known = [each.heartbeat for each in cluster.heartbeats() if each.heartbeat is not None]
        held = [(each.statements, each.results) for each in known]
        if len(held) == cluster.size and not any(map(any, held)):
            return True
        time.sleep(0.1)
    return False
