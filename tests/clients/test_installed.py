"""Scenarios of the clients that the development environment has: each check has the outcome that the matrix shows."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients import matrix, server
from tests.clients.scenarios import HERE, Scenario, run

INSTALLED = ("pgvector", "psycopg3")


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[server.Server]:
    with server.running(tmp_path_factory.mktemp("clients")) as started:
        yield started


@pytest.mark.parametrize("name", INSTALLED)
def test_a_client_that_is_installed(name: str, running: server.Server, tmp_path: Path) -> None:
    scenario = Scenario("python", HERE / "python" / f"{name}_client.py")
    with running.database(scenario.database) as environment:
        result = run(scenario, [sys.executable, str(scenario.source)], environment, tmp_path)
    shown = next(each for each in matrix.load().results if each.client == scenario.client)
    known = {(check.feature, check.name) for check in shown.failed}
    assert not [check for check in result.failed if (check.feature, check.name) not in known]
    assert {(check.feature, check.name) for check in result.checks} == {
        (check.feature, check.name) for check in shown.checks
    }
