from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import quote

import pytest

import gpudb
from gpudb.api import Connection
from tests.oracle.server import Oracle


@pytest.fixture
def db() -> Iterator[Connection]:
    """A temporary database in this process."""
    with gpudb.connect() as connection:
        yield connection


def url_of(dsn: str) -> str:
    """A connection string as a URL."""
    parts = dict(part.split("=", 1) for part in dsn.split())
    host, port = parts.pop("host"), parts.pop("port", "")
    user, name = parts.pop("user"), parts.pop("dbname")
    if host.startswith("/"):
        return f"postgresql://{user}@/{name}?host={quote(host, safe='')}"
    return f"postgresql://{user}@{host}:{port}/{name}"


@pytest.fixture(params=["embedded", "server", "postgresql"])
def any_db(request: pytest.FixtureRequest) -> Iterator[Connection]:
    """Each of what `connect` connects to: an embedded database, gpudb's server, a real PostgreSQL."""
    match request.param:
        case "embedded":
            connection = gpudb.connect()
        case "server":
            connection = gpudb.connect(url_of(request.getfixturevalue("gpudb_server")))
        case _:
            oracle: Oracle = request.getfixturevalue("oracle")
            connection = gpudb.connect(url_of(oracle.dsn))
    with connection:
        yield connection
