"""Starts a wire server on a free port of loopback, in the process of the tests."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gpudb.config.wire import WireSettings
from gpudb.server.wire.server import PgServer
from gpudb.session.database import Database
from gpudb.session.interfaces import DatabaseInterface

Address = tuple[str, int]
FREE_PORT = WireSettings(port=0)


@contextlib.contextmanager
def serving(database: DatabaseInterface, settings: WireSettings = FREE_PORT, **options: Any) -> Iterator[PgServer]:
    """A server of these settings; `options` are PgServer's others."""
    server = PgServer(database, settings, **options)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown(timeout=1)
        thread.join(60)
        database.close()
        assert not thread.is_alive()


@contextlib.contextmanager
def running_database(directory: Path) -> Iterator[str]:
    """Serves a database over a directory, and counts statements; yields a connection string for its superuser."""
    database = Database(directory)
    database.recorder.start()
    with serving(database, recorder=database.recorder) as server:
        host, port = server.address
        yield f"host={host} port={port} user=gpudb dbname=gpudb connect_timeout=60 client_encoding=UTF8"
