"""Servers for the tests: one over the fake database for all that leave it in order, and a way to start others."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from gpudb.server.wire.server import PgServer
from gpudb.session.interfaces import DatabaseFace
from tests.server.fake import FakeDatabase

Address = tuple[str, int]


@contextlib.contextmanager
def serving(database: DatabaseFace, **options: Any) -> Iterator[PgServer]:
    """A server on a free port of loopback."""
    server = PgServer(database, "127.0.0.1", 0, **options)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown(timeout=1)
        thread.join(60)
        database.close()
        assert not thread.is_alive()


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
