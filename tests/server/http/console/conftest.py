"""A server with a console, and a superuser's login, one a module."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.console_client import Client
from tests.support.server_program import Program


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    folder = tmp_path_factory.mktemp("console")
    options = ("--http-port", "0", "--engine", "cpu", "--audit-log", str(folder / "audit.log"))
    environment = {"GPUDB_FAILED_LOGIN_DELAY": "0.4"}
    with Program(folder / "data", *options, environment=environment) as program:
        yield program
        program.stop()


@pytest.fixture(scope="module")
def client(server: Program) -> Iterator[Client]:
    with Client(server.http) as made:
        yield made
