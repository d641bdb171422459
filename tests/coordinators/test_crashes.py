"""Writers over two servers, one of which, or the PostgreSQL of their catalog, is killed again and again.

Every acknowledged commit is there afterwards, none that was refused is, and the service goes on by itself.
"""

from __future__ import annotations

import contextlib
import itertools
import random
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.support.coordinators import catch_up, connect, start_coordinator
from tests.support.crash_workload import SETUP, Acknowledged, Workload, check
from tests.support.postgres_program import PostgresProgram
from tests.support.sessions import wait_until

SEED = 20261126
SOAK_ROUNDS = 100


class Cluster:
    """Two servers over one catalog, clients that write through both, and what they know."""

    def __init__(self, data_dir: Path, postgres: PostgresProgram) -> None:
        self._data_dir = data_dir
        self.postgres = postgres
        self.known = Acknowledged()
        self._numbers = itertools.count(1)
        with ThreadPoolExecutor(2) as threads:
            self.programs = list(threads.map(lambda _: start_coordinator(data_dir, postgres.url), range(2)))
        with connect(self.programs[0]) as connection:
            connection.execute(SETUP.encode())
        self.check()

    def start_writing(self, number: int) -> list[Workload]:
        """Starts the clients of both servers."""
        workloads = [
            Workload(program.dsn, number, self._numbers, self.known, name=f"{side}_")
            for side, program in enumerate(self.programs)
        ]
        for workload in workloads:
            workload.start()
        return workloads

    def wait_for_writes(self, what: str) -> None:
        """Waits until clients get several more commits acknowledged."""
        before = len(self.known.logged)
        wait_until(lambda: len(self.known.logged) > before + 5 or self.known.unexpected, what)

    def kill_server(self, side: int) -> None:
        """Kills a server, and starts it again once the other has gone on."""
        self.programs[side].kill()
        self.wait_for_writes("the other server commits")
        self.programs[side] = start_coordinator(self._data_dir, self.postgres.url)

    def kill_postgres(self, seconds: float) -> None:
        """Kills PostgreSQL, and starts it again."""
        self.postgres.kill()
        time.sleep(seconds)  # the length of the outage
        self.postgres.start()
        self.wait_for_writes("commits go on")

    def check(self) -> None:
        """Asserts through both servers what must hold, without any client writing."""
        assert not self.known.unexpected, self.known.unexpected
        for program in self.programs:
            with connect(program) as connection:
                catch_up(connection)
            check(program.dsn, self.known)

    def close(self) -> None:
        """Stops the servers."""
        for program in self.programs:
            if program.process.poll() is None:
                program.end()


def _survive(data_dir: Path, postgres: PostgresProgram, rounds: int, longest: float) -> None:
    chance = random.Random(SEED)
    with contextlib.closing(Cluster(data_dir, postgres)) as cluster:
        for number in range(rounds):
            workloads = cluster.start_writing(number)
            cluster.wait_for_writes("the clients write")
            time.sleep(chance.uniform(0.0, 0.5))  # so that the kill hits any moment of a commit
            if number % 2 == 1:
                cluster.kill_postgres(chance.uniform(0.2, longest))
            else:
                cluster.kill_server(number // 2 % 2)
            for workload in workloads:
                workload.end()
            cluster.check()
        log = cluster.programs[0].read_log()
    assert "Traceback" not in log, log[-4000:]
    assert cluster.known.moves
    assert cluster.known.definitions


@pytest.mark.timeout(600)
def test_two_kills(tmp_path: Path, postgres: PostgresProgram) -> None:
    """Of a server and of PostgreSQL."""
    _survive(tmp_path / "data", postgres, 2, 1.0)


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_hundred_kills(tmp_path: Path, postgres: PostgresProgram) -> None:
    _survive(tmp_path / "data", postgres, SOAK_ROUNDS, 10.0)


def test_readers_go_on_without_postgresql_and_all_servers_start_again(
    tmp_path: Path, postgres: PostgresProgram
) -> None:
    with postgres.connect("postgres") as connection:
        connection.execute("CREATE DATABASE again")
    url = postgres.url.replace("/catalog", "/again")
    with start_coordinator(tmp_path / "data", url) as program, connect(program) as connection:
        connection.execute("CREATE TABLE t AS SELECT i FROM generate_series(1, 1000) i")
        postgres.kill()
        try:
            assert connection.execute("SELECT count(*) FROM t").fetchall() == [(1000,)]
            with connect(program) as another:  # a login reads the catalog, too
                assert another.execute("SELECT max(i) FROM t").fetchall() == [(1000,)]
        finally:
            postgres.start()
        connection.execute("INSERT INTO t VALUES (1001)")
        assert connection.execute("SELECT max(i) FROM t").fetchall() == [(1001,)]
        program.kill()
        postgres.kill()
    postgres.start()
    with start_coordinator(tmp_path / "data", url) as program, connect(program) as connection:
        assert connection.execute("SELECT sum(i) FROM t").fetchall() == [(500_500 + 1001,)]
