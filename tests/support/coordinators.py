"""Two servers over one catalog in PostgreSQL and one data directory."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg

from tests.support.server_program import Program

Connection = psycopg.Connection[tuple[Any, ...]]


def start_coordinator(data_dir: Path, url: str, *options: str) -> Program:
    """Starts a server whose catalog is in the PostgreSQL at `url`."""
    return Program(data_dir, "--catalog", url, *options)


@contextlib.contextmanager
def two_coordinators(data_dir: Path, url: str, *options: str) -> Iterator[tuple[Program, Program]]:
    """Runs two servers; at the end they are stopped."""
    with start_coordinator(data_dir, url, *options) as one, start_coordinator(data_dir, url, *options) as two:
        yield one, two
        for program in (one, two):
            if program.process.poll() is None:
                program.end()


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
