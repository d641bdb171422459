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
from tests.support.sessions import wait_until

ROUNDS = 3
SOAK_ROUNDS = 100
SEED = 20261121


def _wait_for_work(known: Acknowledged) -> None:
    """Waits until clients got work of every kind acknowledged."""
    logged, moves, definitions = len(known.logged), known.moves, known.definitions

    def worked() -> bool:
        every = len(known.logged) > logged + 5 and known.moves > moves and known.definitions > definitions
        return every or bool(known.unexpected)

    wait_until(worked, "the clients write")


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
            if round_number % 3 != 1:  # others are killed amid their first commits
                _wait_for_work(known)
            time.sleep(chance.uniform(0.0, 0.5))  # so that the kill hits any moment of a commit
            program.kill()
            workload.end()
        assert not known.unexpected, known.unexpected
    with Program(directory) as program:
        check(program.dsn, known)
        assert "Traceback" not in program.read_log()
    assert known.moves
    assert known.definitions


@pytest.mark.timeout(900)
def test_three_kills(tmp_path: Path) -> None:
    _survive(tmp_path / "data", ROUNDS)


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_hundred_kills(tmp_path: Path) -> None:
    _survive(tmp_path / "data", SOAK_ROUNDS)
