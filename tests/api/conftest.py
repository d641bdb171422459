from __future__ import annotations

from collections.abc import Iterator

import pytest

import gpudb
from gpudb.api import Connection
from tests.support.connection_urls import to_url
from tests.support.oracle.server import Oracle


@pytest.fixture
def db() -> Iterator[Connection]:
    """A temporary database in this process."""
    with gpudb.connect() as connection:
        yield connection


@pytest.fixture(params=["embedded", "server", "postgresql"])
def any_db(request: pytest.FixtureRequest) -> Iterator[Connection]:
    """Connects to an embedded database, to gpudb's server and to a real PostgreSQL in turn."""
    match request.param:
        case "embedded":
            connection = gpudb.connect()
        case "server":
            connection = gpudb.connect(to_url(request.getfixturevalue("gpudb_server")))
        case _:
            oracle: Oracle = request.getfixturevalue("oracle")
            connection = gpudb.connect(to_url(oracle.dsn))
    with connection:
        yield connection
