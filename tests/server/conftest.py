"""Servers for tests: a shared one over the fake database, and a factory for others."""

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
    """Starts servers that stop with the test."""
    with contextlib.ExitStack() as stack:
        yield lambda *given, **options: stack.enter_context(serving(*given, **options))
