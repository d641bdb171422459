"""Servers for the tests: one over the fake database for all that leave it in order, and a way to start others."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

import pytest

from gpudb.server.wire.server import PgServer
from tests.support.fake_database import FakeDatabase
from tests.support.wire_server import Address, serving


@pytest.fixture(scope="session")
def fake() -> Iterator[tuple[FakeDatabase, PgServer]]:
    database = FakeDatabase()
    with serving(database) as server:
        yield database, server


@pytest.fixture(scope="session")
def address(fake: tuple[FakeDatabase, PgServer]) -> Address:
    return fake[1].address


@pytest.fixture
def serve() -> Iterator[Callable[..., PgServer]]:
    """Starts servers that end with the test."""
    with contextlib.ExitStack() as stack:
        yield lambda database, **options: stack.enter_context(serving(database, **options))
