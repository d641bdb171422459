"""Launchers: what a nanny reports of its worker's process, and the cluster's reaction."""

from __future__ import annotations

import asyncio
import itertools
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from types import SimpleNamespace
from typing import Any

import pytest

from gpudb.engine.gpu.cluster.cluster import Cluster, WorkerState
from gpudb.engine.gpu.cluster.launcher import LocalLauncher, NannyHandlers, WorkerInfo
from gpudb.engine.gpu.rpc.messages import AliveRequest, Heartbeat


def _alive(nanny: Any) -> bool:
    answer = asyncio.run(
        nanny.handlers[AliveRequest.handler](message=pickle.dumps(AliveRequest("tcp://here:1").to_wire()))
    )
    found: bool = pickle.loads(answer["packed"])
    return found


def _nanny(address: str | None, pid: int | None, status: str = "running") -> Any:
    process = SimpleNamespace(pid=pid, status=SimpleNamespace(name=status))
    made = SimpleNamespace(worker_address=address, process=process, handlers={})
    NannyHandlers().setup(made)
    return made


def test_a_worker_that_readies_itself_could_go_on_and_one_that_is_another_could_not() -> None:
    assert _alive(_nanny("tcp://here:1", os.getpid()))
    assert _alive(_nanny(None, os.getpid(), "starting"))
    assert _alive(_nanny("tcp://before:1", os.getpid(), "starting"))
    assert not _alive(_nanny("tcp://here:1", os.getpid(), "starting"))
    assert not _alive(_nanny("tcp://here:2", os.getpid()))
    assert not _alive(_nanny("tcp://here:1", None))


def test_one_that_is_stopped_or_has_ended_could_not_go_on() -> None:
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    nanny = _nanny("tcp://here:1", process.pid)
    assert _alive(nanny)
    process.send_signal(signal.SIGSTOP)
    ends = time.monotonic() + 10
    while _alive(nanny) and time.monotonic() < ends:
        time.sleep(0.01)
    assert not _alive(nanny)
    process.kill()
    process.wait()
    assert not _alive(nanny)


@pytest.mark.parametrize(
    "error, alive",
    [
        (OSError("Timed out trying to connect"), True),
        (ConnectionRefusedError(), False),
    ],
)
def test_a_nanny_that_is_late_is_no_sign_that_its_worker_is_gone(error: OSError, alive: bool) -> None:
    if alive:
        error.__cause__ = TimeoutError()

    async def call(*_: object, **__: object) -> None:
        raise error

    cluster: Any = SimpleNamespace(
        _launcher=SimpleNamespace(workers={"tcp://here:1": WorkerInfo(0, "tcp://here:2")}), call=call
    )
    assert asyncio.run(Cluster._is_alive(cluster, "tcp://here:1")) is alive


class _NoClient:
    """In the place of Dask's client: it connects to nothing."""

    def __init__(self, *_: object, **__: object) -> None: ...


def test_workers_are_numbered_whatever_their_gpus_are_called(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("distributed.Client", _NoClient)
    for names in ([0, 1], [2, 3], ["GPU-1f", "GPU-2a"], [1, 2]):
        states = {
            f"tcp://here:{number}": SimpleNamespace(address=f"tcp://here:{number}", name=name, nanny="")
            for number, name in enumerate(names)
        }
        cluster = SimpleNamespace(worker_spec=dict.fromkeys(names), scheduler=SimpleNamespace(workers=states))
        assert [found.number for found in LocalLauncher(cluster, Any).workers.values()] == [0, 1]


def test_statements_that_threads_begin_at_the_same_time_have_numbers_of_their_own() -> None:
    cluster: Any = SimpleNamespace(_numbers=itertools.count(1), _live=set(), _last_statement=0)
    given: list[list[int]] = [[] for _ in range(4)]

    def begin(mine: list[int]) -> None:
        mine.extend(Cluster.begin(cluster) for _ in range(20_000))

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=begin, args=(mine,)) for mine in given]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    assert len({number for mine in given for number in mine}) == 80_000
    assert len(cluster._live) == 80_000


def test_workers_whose_gpus_are_reached_from_others_are_ended_once_for_one_that_cannot_start() -> None:
    ended: list[str] = []

    async def restart(address: str) -> None:
        ended.append(address)

    beats = [Heartbeat(0, 0, 0, 0, (0, 0), address) for address in ("ucx://here:2", "")]
    workers = [
        WorkerState(0, "tcp://here:1", beats[0]),
        WorkerState(2, "tcp://here:3", beats[1]),
        WorkerState(3, "tcp://here:4", None),
    ]
    cluster: Any = SimpleNamespace(_unready=set(), heartbeats=lambda: workers, _end=restart)
    for _ in range(2):
        asyncio.run(Cluster._end_mapping_workers(cluster, 1))
        assert ended == ["tcp://here:1"]
