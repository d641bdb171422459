"""Faults in worker processes: armed from a test, each strikes once, in the next stage of its kind that runs there."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

from distributed.diagnostics.plugin import WorkerPlugin

from gpudb.engine.gpu.cluster.cluster import Cluster
from gpudb.engine.gpu.rpc.calls import wrap_handler

FAULTS = ("kill", "stop", "raise", "memory", "disconnect")
"""SIGKILL, SIGSTOP, an exception that nobody expects, more memory than allowed, every connection cut. Beside them
`full`, a failed allocation."""
STAGES = ("hash", "broadcast", "gather", "stay", "result")
"""The kinds of stages."""
POINTS = ("compute", "give")
"""While a stage computes, or as another worker or the client reads what it gave."""


class Faulty(WorkerPlugin):
    """Adds the handlers `fault_arm`, `fault_struck` and `fault_asked` to workers."""

    name = "faulty"

    def setup(self, worker: Any) -> None:
        self._worker = worker
        self._armed: tuple[str, str, str] | None = None
        self.struck = self.asked = 0
        stages = worker.plugins["gpudb"]
        computing = stages.executor
        computed, part, rows = computing.execute, stages.part, stages.rows

        def compute(task: Any, received: Any, **arguments: Any) -> Any:
            self._strike("compute", task.stage.output)
            return computed(task, received, **arguments)

        async def give(statement: int, stage: int, **arguments: Any) -> Any:
            self.asked += 1
            self._strike("give", "any")
            return await part(statement=statement, stage=stage, **arguments)

        async def read(**arguments: Any) -> Any:
            self._strike("give", "result")
            return await rows(**arguments)

        computing.execute = compute
        worker.handlers["gpudb_part"] = wrap_handler(give)
        worker.handlers["gpudb_rows"] = wrap_handler(read)
        worker.handlers["fault_arm"] = wrap_handler(self._arm)
        worker.handlers["fault_struck"] = wrap_handler(self._struck)
        worker.handlers["fault_asked"] = wrap_handler(self._asked)

    async def _arm(self, fault: str, point: str, stage: str) -> bool:
        self._armed = fault, point, stage
        return True

    async def _struck(self) -> int:
        return self.struck

    async def _asked(self) -> int:
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
    """Workers are held up for some seconds while they start."""

    name = "slow"

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def setup(self, worker: Any) -> None:
        time.sleep(self.seconds)


class Unready(WorkerPlugin):
    """The next worker that starts while there is a file, which is removed then, cannot ready itself."""

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
    """On a worker: holds up its event loop for so long, soon."""
    dask_worker.loop.add_callback(time.sleep, seconds)


def room(left: int, dask_worker: Any) -> None:
    """On a worker: statements are told that so many bytes are left of its memory."""
    dask_worker.plugins["gpudb"].computing.room = lambda: left


def space(left: int, dask_worker: Any) -> None:
    """On a worker: statements are told that they have so many bytes together."""
    dask_worker.plugins["gpudb"].computing.space = left


def install(cluster: Cluster) -> None:
    """Has a cluster's workers, those that come back too, strike when told."""
    cluster._client.register_plugin(Faulty())


def arm(cluster: Cluster, worker: int, fault: str, point: str = "compute", stage: str = "any") -> None:
    """Arms a fault on one worker."""
    assert cluster.run(cluster.call(cluster._ready[worker], "fault_arm", fault=fault, point=point, stage=stage)).result(
        5
    )


def asked(cluster: Cluster) -> int:
    """How often workers have been asked for rows by others."""
    return sum(cluster.run(cluster.call(address, "fault_asked")).result(20) for _, address, _ in cluster.heartbeats())


def whole(cluster: Cluster, within: float = 60) -> bool:
    """Whether every worker is ready, and can be struck, within some seconds."""
    ends = time.monotonic() + within
    while time.monotonic() < ends:
        told = cluster.heartbeats()
        try:
            if len(told) == cluster.size and all(
                cluster.run(cluster.call(address, "fault_struck")).result(3) is not None for _, address, _ in told
            ):
                return True
        except (OSError, TimeoutError):
            pass
        time.sleep(0.05)
    return False


def idle(cluster: Cluster, within: float = 60) -> bool:
    """Whether no worker holds anything of a statement, within some seconds."""
    ends = time.monotonic() + within
    while time.monotonic() < ends:
        held = [(told["statements"], told["results"]) for _, _, told in cluster.heartbeats() if told]
        if len(held) == cluster.size and not any(map(any, held)):
            return True
        time.sleep(0.1)
    return False
