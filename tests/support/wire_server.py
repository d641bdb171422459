"""Starts a wire server on a free port of loopback."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

from gpudb.config.wire import WireSettings
from gpudb.server.wire.server import PgServer
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
