"""A worker is killed in the middle of an exchange, time after time: how each statement ends, and when all is well again.

    python -m tests.engine.gpu.kills_in_exchanges OUT [--gpus 0 1 | --workers 2] [--rows N] [--kills 10] [--machine LABEL]

Workers are killed in turn, by SIGKILL, when another worker asks for their rows: at once, or some milliseconds later,
while the rows are copied. The statement must return the right answer or fail with 57P01 within 2 s of the death, and
the same statement must be answered rightly by all workers within 10 s. OUT gets every kill; with --machine the
result goes to benchmarks/results/kills-in-exchanges.MACHINE.json. Returns status 1 if a limit is exceeded.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.gpu.exchange_trace import STATEMENTS, Traced, add_cluster_arguments
from benchmarks.harness import make_row, save_results, write_json
from gpudb.errors import GpudbError

ENDED_S = 2.0
"""Time limit for a statement, from the death of a worker."""
HEALED_S = 10.0
"""Time limit for the right answer by all workers, from the death of one."""
DELAYS_MS = (0.0, 1.0, 3.0, 10.0)
"""Time from the request for rows to the kill."""
_WAIT_S = 120.0
_LIVES_S = 0.5
"""Time after the statement until which an armed worker dies if its rows were read."""


@dataclass(frozen=True, slots=True)
class Kill:
    """A kill: the statement's outcome, and seconds from the death to it and to the right answer by all workers."""

    case: str
    worker: int
    delay_ms: float
    outcome: str
    ended_s: float
    healed_s: float

    @property
    def succeeded(self) -> bool:
        """Whether it kept the limits."""
        kept = self.ended_s <= ENDED_S and self.healed_s <= HEALED_S
        return kept and self.outcome in {"right", "57P01"}


def arm(delay_ms: float | None, dask_worker: Any) -> int:
    """On a worker: ends it when the next request for rows arrives, after a delay; None disarms it.

    Returns its process id.
    """
    from gpudb.engine.gpu.rpc.calls import wrap_handler
    from gpudb.engine.gpu.rpc.messages import OutputRequest

    send = dask_worker.plugins["gpudb"].send_output

    async def send_output(request: OutputRequest) -> Any:
        if delay_ms is None:
            return await send(request)
        threading.Timer(delay_ms / 1000, os.kill, (os.getpid(), signal.SIGKILL)).start()
        return await send(request)

    dask_worker.handlers[OutputRequest.handler] = wrap_handler(OutputRequest, send_output)
    return os.getpid()


class _Death(threading.Thread):
    """Waits for the death of a process of this host, and records its time."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self._pid, self.at = pid, 0.0
        self.start()

    def run(self) -> None:
        ends = time.monotonic() + _WAIT_S
        while time.monotonic() < ends:
            try:
                state = Path(f"/proc/{self._pid}/stat").read_text().rpartition(")")[2].split()[0]
            except OSError:
                state = "Z"
            if state == "Z":
                self.at = time.monotonic()
                return
            time.sleep(0.0005)


def kill_once(traced: Traced, case: str, worker: int, delay_ms: float, right: list[tuple[Any, ...]]) -> Kill | None:
    """Kills a worker in an exchange of a statement; None if no other worker reads its rows."""
    cluster = traced.cluster
    address = sorted(cluster._client.scheduler_info()["workers"])[worker]
    ((_, pid),) = cluster._client.run(arm, delay_ms, workers=[address]).items()
    death = _Death(pid)
    try:
        outcome = "right" if traced.run(STATEMENTS[case]) == right else "wrong"
    except GpudbError as error:
        outcome = error.sqlstate
    ended = time.monotonic()
    death.join(_LIVES_S)
    if not death.at:
        cluster._client.run(arm, None, workers=[address])
        return None
    healed = _heal(traced, case, right)
    return Kill(case, worker, delay_ms, outcome, max(ended - death.at, 0.0), healed - death.at)


def _heal(traced: Traced, case: str, right: list[tuple[Any, ...]]) -> float:
    """Returns the time at which all workers have answered a statement rightly."""
    ends = time.monotonic() + _WAIT_S
    while time.monotonic() < ends:
        if len(traced.cluster.heartbeats()) == traced.cluster.size:
            try:
                if traced.run(STATEMENTS[case]) == right:
                    return time.monotonic()
            except GpudbError as error:
                print(f"not yet: {error.sqlstate} {error}", file=sys.stderr)
        time.sleep(0.01)
    return float("inf")


def main(arguments: list[str] | None = None) -> int:
    """Returns status 1 if a limit is exceeded or an answer is wrong."""
    parser = argparse.ArgumentParser(description="workers killed in exchanges")
    parser.add_argument("out", type=Path)
    add_cluster_arguments(parser)
    parser.add_argument("--kills", type=int, default=10)
    options = parser.parse_args(arguments)
    traced = Traced(options.rows, options.workers, options.gpus)
    kills: list[Kill] = []
    cases = list(STATEMENTS)
    try:
        right = {case: traced.run(sql) for case, sql in STATEMENTS.items()}
        for number in range(options.kills):
            case = cases[number % len(cases)]
            delay = DELAYS_MS[number % len(DELAYS_MS)]
            workers = [(number + turn) % traced.cluster.size for turn in range(traced.cluster.size)]
            tried = (kill_once(traced, case, worker, delay, right[case]) for worker in workers)
            kills.append(next(kill for kill in tried if kill is not None))
            print(kills[-1], flush=True)
            write_json(options.out / "kills-in-exchanges.json", {"kills": [asdict(each) for each in kills]})
    finally:
        traced.close()
    if options.machine:
        made = [
            make_row(name, outcome, times, options.rows)
            for outcome in sorted({each.outcome for each in kills})
            for name, times in (
                ("the statement ends", [each.ended_s for each in kills if each.outcome == outcome]),
                ("all workers answer", [each.healed_s for each in kills if each.outcome == outcome]),
            )
        ]
        save_results("kills-in-exchanges", made, {}, options.machine, "tests.engine.gpu.kills_in_exchanges")
    return int(not all(each.succeeded for each in kills))


if __name__ == "__main__":
    sys.exit(main())
