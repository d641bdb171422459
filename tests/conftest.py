"""Fixtures for every test: the PostgreSQL oracle, and gpudb's real server program, each started once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.differential.program import Stopper, start_server
from tests.oracle.server import Oracle, start_oracle


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds --gpudb-dsn: compare with a server that runs already instead of starting one."""
    parser.addoption(
        "--gpudb-dsn", default=None, help="connection string of a gpudb server that runs already"
    )


@pytest.fixture(scope="session")
def oracle() -> Iterator[Oracle]:
    """A real PostgreSQL 16, started once a session."""
    with start_oracle() as running:
        yield running


@pytest.fixture(scope="session")
def gpudb_server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Connection string of a gpudb server with an empty data directory, run as users run it."""
    given: str | None = request.config.getoption("--gpudb-dsn")
    if given is not None:
        yield given
        return
    data_dir: Path = tmp_path_factory.mktemp("gpudb-data")
    stop: Stopper | None = None
    try:
        host, port, stop = start_server(data_dir)
        yield f"host={host} port={port} user=gpudb dbname=gpudb connect_timeout=10 client_encoding=UTF8"
    finally:
        if stop is not None:
            stop()
