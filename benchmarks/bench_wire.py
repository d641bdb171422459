"""Short statements through the protocol beside PostgreSQL, with 1, 16 and 200 clients, and what Python takes of them.

    python -m benchmarks.bench_wire [--machine LABEL] [--clients 1 16 200] [--cases SELECT…] [--seconds 1.5] [--turns 3]

Both servers listen on loopback and are measured by turns, through the same clients on raw sockets in another process
(`benchmarks.wire_client`): a row by its key and ten groups of a table of 10,000 rows, and `SELECT 1`; each as a Query,
prepared, and between BEGIN and COMMIT. For `SELECT 1` two servers that only receive and send, in Python
(`benchmarks.wire_echo`), take part: no server in one interpreter is faster. Prints medians and 99th percentiles, with
their ratios. With --machine results are written to results/wire.MACHINE.json.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

from benchmarks.harness import Row, save_results
from benchmarks.systems import Wire, gpudb_server, postgres
from benchmarks.wire_client import CASES, SETUP

ECHO_CASE = "SELECT 1"


@dataclass(slots=True)
class Served:
    """A server that listens on loopback; without a `system` it only echoes. `times` and `rows` are by case."""

    name: str
    port: int
    user: str
    database: str
    system: Wire | None = None
    times: dict[tuple[str, int], list[float]] = field(default_factory=dict)
    rows: dict[tuple[str, int], list[str]] = field(default_factory=dict)

    def measure(self, case: str, clients: int, seconds: float) -> None:
        """Measures a case in a process of clients, and adds its times."""
        command = [sys.executable, "-m", "benchmarks.wire_client", "127.0.0.1", str(self.port)]
        command += [self.user, self.database, case, str(clients), str(seconds)]
        found = json.loads(subprocess.run(command, check=True, capture_output=True, timeout=120).stdout)
        self.times.setdefault((case, clients), []).extend(found["times"])
        self.rows[case, clients] = found["rows"]


@contextmanager
def echo_server(layout: str) -> Iterator[Served]:
    """A server that receives and sends, and does nothing else."""
    command = [sys.executable, "-m", "benchmarks.wire_echo", layout]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            yield Served(f"echo, {layout}", int(process.stdout.readline()), "echo", "echo")
        finally:
            process.terminate()


def _serve(system: Wire) -> Served:
    for statement in SETUP:
        system.query_none(statement)
    info = system.connection.info
    return Served(system.name, info.port, info.user, info.dbname, system)


def _percentile(times: list[float]) -> float:
    return sorted(times)[min(len(times) - 1, int(len(times) * 0.99))]


def _make_rows(served: list[Served]) -> list[Row]:
    """Returns two rows for each case: the median, and the 99th percentile."""
    rows = []
    for key in served[0].times:
        for each in served:
            times = each.times.get(key)
            if not times:
                continue
            case, clients = key
            title = f"{case}, {clients} client{'s' if clients > 1 else ''}"
            agree = each.rows[key] == served[0].rows[key] if each.system is not None else None
            more = {"result_rows": len(each.rows[key]), "answers_agree": agree}
            fixed = each.name, min(times), len(times), 0
            for label, value in (("", statistics.median(times)), (", p99", _percentile(times))):
                rows.append(Row(title + label, fixed[0], value, *fixed[1:], **more))
    return rows


def _print_times(served: list[Served]) -> None:
    peer, ours = served[0], served[1]
    for key, theirs in peer.times.items():
        mine = ours.times[key]
        medians = statistics.median(theirs), statistics.median(mine)
        tails = _percentile(theirs), _percentile(mine)
        line = f"{key[0]:28}{key[1]:4} clients"
        for label, (one, other) in (("median", medians), ("p99", tails)):
            line += f"   {label} {1e6 * one:8.0f} {1e6 * other:8.0f} us {other / one:5.2f} times"
        for each in served[2:]:
            if times := each.times.get(key):
                line += f"   {each.name} {1e6 * statistics.median(times):6.0f} {1e6 * _percentile(times):6.0f}"
        print(line, flush=True)


def main() -> int:
    """Measures all servers and prints their times; 1 if answers differ."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--machine", help="write results under this label")
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 16, 200])
    parser.add_argument("--cases", nargs="+", choices=list(CASES), default=list(CASES))
    parser.add_argument("--seconds", type=float, default=1.5)
    parser.add_argument("--turns", type=int, default=3)
    options = parser.parse_args()
    with ExitStack() as stack:
        peer, server = stack.enter_context(postgres(max_connections=250)), stack.enter_context(gpudb_server())
        versions = {"PostgreSQL": peer.version, "gpudb": server.version}
        served = [_serve(peer), _serve(server)]
        served += [stack.enter_context(echo_server(layout)) for layout in ("threads", "loop")]
        for case in options.cases:
            for clients in options.clients:
                for _ in range(options.turns):
                    for each in served:
                        if each.system is not None or case == ECHO_CASE:
                            each.measure(case, clients, options.seconds)
        _print_times(served)
        rows = _make_rows(served)
    if options.machine:
        save_results("wire", rows, versions, options.machine, "bench_wire")
    if not all(row.answers_agree is not False for row in rows):
        print("answers differ")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
