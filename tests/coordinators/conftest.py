"""A PostgreSQL for each module, which its tests may kill, and two servers over a catalog in it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.coordinators import Connection, connect, two_coordinators
from tests.support.postgres_program import PostgresProgram
from tests.support.server_program import Program


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgresProgram]:
    """A running PostgreSQL with an empty database for a catalog."""
    with PostgresProgram() as running:
        yield running


@pytest.fixture(scope="module")
def servers(postgres: PostgresProgram, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Program, Program]]:
    """Two running servers over one catalog."""
    with two_coordinators(tmp_path_factory.mktemp("coordinators") / "data", postgres.url) as programs:
        yield programs


@pytest.fixture
def one(servers: tuple[Program, Program]) -> Iterator[Connection]:
    """A session of the first server."""
    with connect(servers[0]) as connection:
        yield connection


@pytest.fixture
def two(servers: tuple[Program, Program]) -> Iterator[Connection]:
    """A session of the second server."""
    with connect(servers[1]) as connection:
        yield connection
