"""The Python API: `gpudb.connect` and its connections. Imports session and everything below it; never CUDA.

`Connection` (a session), `Relation` (a query that has not run), `Rows` (rows in memory).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from gpudb.api.boundary import public
from gpudb.api.connection import Connection
from gpudb.api.relation import Relation
from gpudb.api.rows import Rows
from gpudb.errors import SqlError

__all__ = ["Connection", "Relation", "Rows", "connect"]

_URLS = ("postgresql://", "postgres://")


@public
def connect(
    path_or_url: str | os.PathLike[str] | None = None,
    *,
    user: str = "gpudb",
    memory_limit: int | None = None,
    settings: Mapping[str, str] | None = None,
    local_frames: bool = True,
) -> Connection:
    """Opens a connection to a database in this process, or to a server.

    A path is the data directory of an embedded database, created if it is missing; connections of one process
    share it. None or ":memory:" is a temporary database that ends with its connection. A URL
    `postgresql://user:password@host:port/database` is a server: gpudb's, or any PostgreSQL (needs psycopg).

    `memory_limit` bounds the embedded engine, in bytes. `settings` are the session's: `{"TimeZone": "Europe/Paris"}`.
    Without `local_frames` variables of the calling code are no tables of its statements (see `Connection.sql`).

    Errors: 55006 if another process has the directory open; 28000 for an unknown user; 42704 and 22023 for
    settings; 08001, 08006 if a server cannot be reached.
    """
    text = os.fspath(path_or_url) if path_or_url is not None else ":memory:"
    if text.startswith(_URLS):
        if memory_limit is not None:
            raise SqlError.of("invalid_parameter_value", "memory_limit belongs to an embedded database")
        from gpudb.api.remote import RemoteBackend

        return Connection(RemoteBackend(text, settings or {}), local_frames=local_frames)
    if "://" in text:
        message = f'"{text.partition("://")[0]}://" is no address of a database'
        raise SqlError.of("invalid_parameter_value", message, hint="Use a path, or postgresql://….")
    from gpudb.api.embedded import EmbeddedBackend

    path = None if text == ":memory:" else Path(text)
    return Connection(EmbeddedBackend(path, user, memory_limit, settings or {}), local_frames=local_frames)
