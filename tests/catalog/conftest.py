"""Both servers with the same objects and no others."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.catalog_sides import Side, open_side
from tests.support.oracle.server import start_oracle
from tests.support.server_program import start_server


@pytest.fixture(scope="session")
def postgresql() -> Iterator[Side]:
    """A separate PostgreSQL: other tests leave objects in the shared one."""
    with start_oracle() as oracle:
        side = open_side(oracle.dsn)
        yield side
        side.client.close()


@pytest.fixture(scope="session")
def gpudb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Side]:
    """A separate gpudb server."""
    host, port, stop = start_server(tmp_path_factory.mktemp("catalog-data"))
    try:
        side = open_side(f"host={host} port={port} user=gpudb dbname=gpudb connect_timeout=60 client_encoding=UTF8")
        yield side
        side.client.close()
    finally:
        stop()
