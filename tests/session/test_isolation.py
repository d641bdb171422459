"""Isolation: interleaved statements of several sessions have the outcomes that they have in PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.interleavings import SCRIPTS, play
from tests.support.oracle.server import Oracle
from tests.support.server_program import Program


@pytest.mark.parametrize("name", SCRIPTS)
def test_interleaved_sessions(name: str, oracle: Oracle, gpudb_server: str) -> None:
    expected = play(dict.fromkeys("abcd", oracle.dsn), SCRIPTS[name])
    assert play(dict.fromkeys("abcd", gpudb_server), SCRIPTS[name]) == expected


@pytest.fixture(scope="module")
def workers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    """A server whose statements workers run."""
    with Program(tmp_path_factory.mktemp("twin") / "data", "--engine", "twin") as program:
        yield program


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "name",
    [
        "sessions take different jobs",
        "jobs are taken in a WITH",
        "an update of an updated row adds to it",
        "a join locks the rows of both tables, or of one",
        "own changes stay on top",
        "on conflict waits for a row that is updated",
    ],
)
def test_interleaved_sessions_over_workers(name: str, oracle: Oracle, workers: Program) -> None:
    expected = play(dict.fromkeys("abcd", oracle.dsn), SCRIPTS[name])
    assert play(dict.fromkeys("abcd", f"{workers.dsn} options='-c gpudb.fallback=off'"), SCRIPTS[name]) == expected
