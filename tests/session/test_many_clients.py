"""Many concurrent clients with mixed reads and writes: no one waits for ever, and the sums are right."""

from __future__ import annotations

import contextlib
import random
import threading
import time
from pathlib import Path

import psycopg
import pytest

from tests.support.data_directory import run_over
from tests.support.server_program import Program
from tests.support.sessions import wait_until

CLIENTS = 64
ROUNDS, SOAK_ROUNDS = 2, 60


@pytest.mark.parametrize("rounds", [ROUNDS, pytest.param(SOAK_ROUNDS, marks=pytest.mark.soak)])
@pytest.mark.timeout(1800)
def test_sixty_four_clients(tmp_path: Path, rounds: int) -> None:
    failures: list[str] = []
    inserted = [0] * CLIENTS
    barrier = threading.Barrier(CLIENTS, timeout=120)

    def work(number: int, dsn: str) -> None:
        chance = random.Random(number)
        try:
            with contextlib.closing(psycopg.connect(dsn, autocommit=True)) as connection:
                barrier.wait()
                for _ in range(rounds):
                    kind = chance.randrange(5)
                    if kind == 0:
                        connection.execute(f"INSERT INTO written VALUES ({number}, {chance.randrange(100)})")
                        inserted[number] += 1
                    elif kind == 1:
                        connection.execute(f"CREATE TEMP TABLE IF NOT EXISTS own AS SELECT {number} AS n")
                        assert connection.execute("SELECT n FROM own").fetchone() == (number,)
                    elif kind == 2:
                        with connection.transaction():
                            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
                            first = connection.execute("SELECT count(*) FROM written").fetchone()
                            assert connection.execute("SELECT count(*) FROM written").fetchone() == first
                    elif kind == 3:
                        row = connection.execute(
                            "SELECT count(*), sum(n) FROM read WHERE n %% 7 = %s", [number % 7]
                        ).fetchone()
                        assert row == (len(range(number % 7 or 7, 10_001, 7)), sum(range(number % 7 or 7, 10_001, 7)))
                    else:
                        row = connection.execute(
                            "SELECT max(k) FROM (SELECT n % 100 AS k, count(*) FROM read GROUP BY 1) t"
                        ).fetchone()
                        assert row == (99,)
        except BaseException as error:
            failures.append(f"{number}: {error!r}")

    with Program(tmp_path / "data") as program:
        with psycopg.connect(program.dsn, autocommit=True) as connection:
            connection.execute("CREATE TABLE read AS SELECT i AS n FROM generate_series(1, 10000) i")
            connection.execute("CREATE TABLE written (client int, v int)")
        threads = [threading.Thread(target=work, args=(n, program.dsn), daemon=True) for n in range(CLIENTS)]
        for thread in threads:
            thread.start()
        deadline = time.monotonic() + 120 + 10 * rounds
        for thread in threads:
            thread.join(max(0.0, deadline - time.monotonic()))
            assert not thread.is_alive(), "a client waits still"
        assert not failures, failures[:5]
        with psycopg.connect(program.dsn, autocommit=True) as connection:
            rows = connection.execute("SELECT client, count(*) FROM written GROUP BY client").fetchall()
            assert dict(rows) == {n: count for n, count in enumerate(inserted) if count}
        assert program.stop() == 0


COMPUTES = "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%7 = 3'"


def test_sigterm_ends_running_statements_in_order(tmp_path: Path) -> None:
    """Running statements get a grace period and are then cancelled, idle clients are notified; commits are durable."""
    told: list[str | None] = []
    with Program(tmp_path / "data") as program:
        with psycopg.connect(program.dsn, autocommit=True) as connection:
            connection.execute("CREATE TABLE t AS SELECT 1 AS a")
        idle = psycopg.connect(program.dsn, autocommit=True)
        open_block = psycopg.connect(program.dsn)
        open_block.execute("INSERT INTO t VALUES (2)")

        def run_for_long() -> None:
            with contextlib.closing(psycopg.connect(program.dsn, autocommit=True)) as connection:
                try:
                    connection.execute(
                        "SELECT count(*) FROM generate_series(1, 400000) a, generate_series(1, 400000) b"
                        " WHERE (a::bigint * b) % 7 = 3"
                    )
                    told.append(None)
                except psycopg.Error as error:
                    told.append(error.sqlstate)

        thread = threading.Thread(target=run_for_long, daemon=True)
        thread.start()
        with psycopg.connect(program.dsn, autocommit=True) as connection:
            wait_until(lambda: connection.execute(COMPUTES).fetchone() == (1,), "the statement computes")
        assert program.stop() == 0
        thread.join(60)
        assert not thread.is_alive()
        assert told[0] in {None, "57P01"}
        for connection in (idle, open_block):
            try:
                connection.execute("SELECT 1")
            except psycopg.Error as error:
                told.append(error.sqlstate)
            connection.close()
        assert told[1:] == ["57P01", "57P01"]
        assert "Traceback" not in program.read_log()
    assert run_over(tmp_path / "data", "SELECT a FROM t") == [(1,)]
