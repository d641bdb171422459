"""Repeated kill -9 of the real server under concurrent INSERT, COPY, UPDATE, DELETE and DDL."""

from __future__ import annotations

import itertools
import random
import time
from pathlib import Path

import psycopg
import pytest

from tests.support.crash_workload import SETUP, Acknowledged, Workload, check
from tests.support.server_program import Program

ROUNDS = 10
SOAK_ROUNDS = 100
SEED = 20261121


def _survive(directory: Path, rounds: int) -> None:
    chance = random.Random(SEED)
    known = Acknowledged()
    numbers = itertools.count(1)
    with Program(directory) as program, psycopg.connect(program.dsn, autocommit=True) as connection:
        connection.execute(SETUP)
    for round_number in range(rounds):
        with Program(directory) as program:
            check(program.dsn, known)
            workload = Workload(program.dsn, round_number, numbers, known)
            workload.start()
            time.sleep(chance.uniform(0.1, 1.5))
            program.kill()
            workload.end()
        assert not known.unexpected, known.unexpected
    with Program(directory) as program:
        check(program.dsn, known)
        assert "Traceback" not in program.read_log()
    # The rounds did work of every kind; a busy machine does less of it.
    assert len(known.logged) > 10 * rounds
    assert known.moves > rounds / 5
    assert known.definitions > rounds / 5


@pytest.mark.timeout(900)
def test_ten_kills(tmp_path: Path) -> None:
    _survive(tmp_path / "data", ROUNDS)


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_hundred_kills(tmp_path: Path) -> None:
    _survive(tmp_path / "data", SOAK_ROUNDS)
