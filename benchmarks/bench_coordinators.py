"""What a catalog in PostgreSQL costs, and what a second coordinator brings.

    python -m benchmarks.bench_coordinators [--rounds N] [--seconds S] [--clients C]

In turns, in one run: a server with a catalog in SQLite, one with a catalog in PostgreSQL, and two over one catalog.
Each has committed single rows by one client and by several, which two servers share, each client in a table of its own;
updated rows, which take a lock; and answered a short SELECT. At the end one of the two servers commits, and the time is
measured until the other one shows it. PostgreSQL runs without fsync, so its own disk is not what is compared.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

from tests.support.coordinators import Connection, catch_up, connect, start_coordinator, two_coordinators
from tests.support.postgres_program import PostgresProgram
from tests.support.server_program import Program

LAG_ROUNDS = 200


def _count_commits(programs: Sequence[Program], clients: int, seconds: float, statement: str) -> float:
    """Commits a second of clients that are spread over servers."""
    done = [0] * clients
    begin = threading.Barrier(clients)

    def work(number: int) -> None:
        with connect(programs[number % len(programs)]) as connection:
            text = statement.format(number).encode()
            begin.wait()
            ends = time.monotonic() + seconds
            while time.monotonic() < ends:
                connection.execute(text)
                done[number] += 1

    threads = [threading.Thread(target=work, args=(number,)) for number in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(done) / seconds


def _time_queries(program: Program, seconds: float, setting: str = "") -> float:
    """The median time of a short SELECT, in milliseconds."""
    times = []
    with connect(program) as connection:
        if setting:
            connection.execute(setting.encode())
        ends = time.monotonic() + seconds
        while time.monotonic() < ends:
            start = time.perf_counter()
            connection.execute("SELECT count(*) FROM read_only WHERE n > 10")
            times.append(time.perf_counter() - start)
    return statistics.median(times) * 1000


def _prepare(program: Program, clients: int) -> None:
    with connect(program) as connection:
        connection.execute("CREATE TABLE read_only AS SELECT i AS n FROM generate_series(1, 1000) i")
        for number in range(clients):
            connection.execute(f"CREATE TABLE written_{number} (n int)".encode())
            connection.execute(f"CREATE TABLE changed_{number} AS SELECT 0 AS n".encode())


def _measure_lag(writer: Connection, reader: Connection) -> list[float]:
    """Times in milliseconds from the answer to a commit until another server shows it."""
    lags = []
    for number in range(LAG_ROUNDS):
        writer.execute(f"UPDATE lag SET n = {number}".encode())
        start = time.perf_counter()
        while reader.execute("SELECT n FROM lag").fetchone() != (number,):
            pass
        lags.append((time.perf_counter() - start) * 1000)
        time.sleep(0.02)
    return lags


def main() -> None:
    """Measures and prints the medians over rounds."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=3.0, help="of each measurement")
    parser.add_argument("--clients", type=int, default=8)
    options = parser.parse_args()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        postgres = stack.enter_context(PostgresProgram())
        with postgres.connect() as admin:
            admin.execute("CREATE DATABASE single")
        alone = stack.enter_context(Program(folder / "alone"))
        single = stack.enter_context(start_coordinator(folder / "single", postgres.url.replace("/catalog", "/single")))
        both = stack.enter_context(two_coordinators(folder / "both", postgres.url))
        systems: dict[str, Sequence[Program]] = {"SQLite": [alone], "PostgreSQL": [single], "PostgreSQL, two": both}
        for programs in systems.values():
            _prepare(programs[0], options.clients)
        with connect(both[1]) as connection:
            catch_up(connection)
        insert, update = "INSERT INTO written_{} VALUES (1)", "UPDATE changed_{} SET n = n + 1"
        fresh = "SET gpudb.fresh_reads = on"
        cases: dict[str, Callable[[Sequence[Program]], float]] = {
            "INSERT by 1, commits/s": lambda p: _count_commits(p, 1, options.seconds, insert),
            f"INSERT by {options.clients}, commits/s": lambda p: _count_commits(
                p, options.clients, options.seconds, insert
            ),
            "UPDATE by 1, commits/s": lambda p: _count_commits(p, 1, options.seconds, update),
            f"UPDATE by {options.clients}, commits/s": lambda p: _count_commits(
                p, options.clients, options.seconds, update
            ),
            "SELECT, ms": lambda p: _time_queries(p[0], options.seconds / 2),
            "SELECT, fresh_reads, ms": lambda p: _time_queries(p[0], options.seconds / 2, fresh),
        }
        found: dict[tuple[str, str], list[float]] = {}
        for _ in range(options.rounds):
            for case, measure in cases.items():
                for name, programs in systems.items():
                    found.setdefault((case, name), []).append(measure(programs))
        print(f"{'':28}" + "".join(f"{name:>18}" for name in systems))
        for case in cases:
            medians = (statistics.median(found[case, name]) for name in systems)
            print(f"{case:28}" + "".join(f"{value:18.2f}" for value in medians))
        with connect(both[0]) as writer, connect(both[1]) as reader:
            writer.execute("CREATE TABLE lag AS SELECT -1 AS n")
            catch_up(reader)
            lags = sorted(_measure_lag(writer, reader))
            print(f"lag of {LAG_ROUNDS} commits, ms: median {statistics.median(lags):.1f}", end="")
            print(f", p99 {lags[int(len(lags) * 0.99)]:.1f}, maximum {lags[-1]:.1f}")


if __name__ == "__main__":
    main()
