"""Fixtures: a database in memory, its sessions, and a wire server over it."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest

from gpudb.config.wire import WireSettings
from gpudb.server.wire.server import PgServer
from gpudb.session.database import Database
from gpudb.session.session import Session

Connect = Callable[..., psycopg.Connection[tuple[Any, ...]]]


@pytest.fixture(scope="module")
def database() -> Iterator[Database]:
    made = Database(None)
    yield made
    made.close()


@pytest.fixture
def session(database: Database) -> Iterator[Session]:
    made = database.session("gpudb")
    yield made
    made.close()


@pytest.fixture
def other(database: Database) -> Iterator[Session]:
    made = database.session("gpudb")
    yield made
    made.close()


@pytest.fixture
def connect(database: Database) -> Iterator[Connect]:
    """Opens psycopg connections with autocommit to a server over the database."""
    server = PgServer(database, WireSettings(port=0))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    host, port = server.address
    with contextlib.ExitStack() as stack:

        def connected(**options: Any) -> psycopg.Connection[tuple[Any, ...]]:
            given = {"host": host, "port": port, "user": "gpudb", "dbname": "gpudb", "connect_timeout": 60, **options}
            return stack.enter_context(contextlib.closing(psycopg.connect(autocommit=True, **given)))

        yield connected
    server.shutdown(timeout=1)
    thread.join(60)
    assert not thread.is_alive()
