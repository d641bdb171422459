"""Two servers over one catalog in PostgreSQL and one data directory."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psycopg

from tests.support.server_program import Program

Connection = psycopg.Connection[tuple[Any, ...]]


def start_coordinator(data_dir: Path, url: str, *options: str) -> Program:
    """Starts a server whose catalog is in the PostgreSQL at `url`, and which a slow machine does not take for gone."""
    return Program(data_dir, "--catalog", url, *options, environment={"GPUDB_CATALOG_LEASE": "30"})


@contextlib.contextmanager
def two_coordinators(data_dir: Path, url: str, *options: str) -> Iterator[tuple[Program, Program]]:
    """Runs two servers; at the end they are stopped."""
    with ThreadPoolExecutor(2) as threads:  # both find no catalog, and make one
        one, two = (threads.submit(start_coordinator, data_dir, url, *options) for _ in range(2))
    with one.result(), two.result():
        yield one.result(), two.result()
        for program in (one.result(), two.result()):
            if program.process.poll() is None:
                program.process.terminate()
        for program in (one.result(), two.result()):
            program.end()


def catch_up(connection: Connection) -> None:
    """Lets a session's server see all that others have committed, as any lock does."""
    connection.execute("SELECT pg_advisory_xact_lock(1)")


def connect(program: Program, database: str = "gpudb") -> Connection:
    """Opens a connection with autocommit."""
    return psycopg.connect(program.dsn, dbname=database, autocommit=True)


def read_state(connection: Connection, statement: str) -> str | None:
    """Runs a statement; returns the SQLSTATE with which it fails, None if it does not."""
    try:
        connection.execute(statement.encode())
    except psycopg.Error as error:
        return error.sqlstate
    return None


def read_value(connection: Connection, query: str) -> Any:
    """Returns the value of a query of one row and column, None for no row."""
    found = connection.execute(query.encode()).fetchone()
    return None if found is None else found[0]
