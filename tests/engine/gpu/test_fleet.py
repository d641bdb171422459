"""What a nanny tells of its worker's process."""

from __future__ import annotations

import asyncio
import os
import pickle
import signal
import subprocess
import sys
import time
from types import SimpleNamespace
from typing import Any

from gpudb.engine.gpu.fleet import Keeper


def _alive(nanny: Any) -> bool:
    answer = asyncio.run(nanny.handlers["gpudb_alive"](message=pickle.dumps({"address": "tcp://here:1"})))
    found: bool = pickle.loads(answer["packed"])
    return found


def _nanny(address: str | None, pid: int | None, status: str = "running") -> Any:
    process = SimpleNamespace(pid=pid, status=SimpleNamespace(name=status))
    made = SimpleNamespace(worker_address=address, process=process, handlers={})
    Keeper().setup(made)
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
