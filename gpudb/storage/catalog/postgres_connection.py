"""Connections to the PostgreSQL that has the catalog of several coordinators, and its tables."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg

from gpudb.errors import GpudbError
from gpudb.storage.catalog.database_tables import CATALOG_TABLES

SCHEMA = "gpudb"
"""The schema of the catalog's tables in its PostgreSQL database."""
CHANNEL = "gpudb_commits"
"""The channel on which each commit's number is sent."""
CONNECTION_NAME = "gpudb locks of coordinator "
"""The application name of a connection that holds locks, before the coordinator's number."""
COMMITS_NAME = "gpudb commits of coordinator "
"""That of the connection on which a coordinator commits."""
SEQUENCES_NAME = "gpudb sequences of coordinator "
"""That of the connection on which it draws from sequences."""
COORDINATION_NAME = "gpudb coordinator "
"""That of the connection by which it shows that it lives, and leads."""
OWNED_NAMES = "^gpudb ((locks|commits|sequences) of )?coordinator [0-9]+$"
"""Matches the application names of connections that end with their coordinator."""
LIVES = "heartbeat > now() - make_interval(secs => lease)"
"""The condition of rows of gpudb_coordinators of which PostgreSQL has heard within their lease."""
CONNECT_SECONDS = 5
RETRY_SECONDS = 0.1
_SETTINGS = (
    f"SET search_path TO {SCHEMA}, pg_catalog",
    "SET client_min_messages TO warning",
    # Even where the server's default gives up durability: nothing refers to a commit that is lost.
    "SET synchronous_commit TO on",
    # A coordinator that hangs in a commit does not hold up all others for ever.
    "SET idle_in_transaction_session_timeout TO '60s'",
)

_TABLES = f"""
CREATE SCHEMA IF NOT EXISTS {SCHEMA};
SET LOCAL search_path TO {SCHEMA}, pg_catalog;
{CATALOG_TABLES}
CREATE TABLE IF NOT EXISTS gpudb_sequences (file bigint PRIMARY KEY, value bigint NOT NULL, called boolean NOT NULL);
CREATE TABLE IF NOT EXISTS gpudb_commits (
    commit bigint PRIMARY KEY, coordinator bigint NOT NULL, committed timestamptz NOT NULL DEFAULT now(),
    changes text NOT NULL);
CREATE TABLE IF NOT EXISTS gpudb_garbage (
    path text PRIMARY KEY, commit bigint NOT NULL, discarded timestamptz NOT NULL DEFAULT now());
CREATE TABLE IF NOT EXISTS gpudb_coordinators (
    id bigint PRIMARY KEY, host text NOT NULL, pid bigint NOT NULL, address text, port integer,
    started timestamptz NOT NULL DEFAULT now(),
    heartbeat timestamptz NOT NULL DEFAULT now(), oldest_commit bigint NOT NULL,
    oldest_began timestamptz NOT NULL DEFAULT now(), leads boolean NOT NULL DEFAULT false,
    temporary_tables bigint[] NOT NULL DEFAULT '{{{{}}}}', lease double precision NOT NULL DEFAULT 30);
DO $$ BEGIN
    -- Of an earlier gpudb; not by IF NOT EXISTS, which would wait for all who use the table
    IF NOT EXISTS (SELECT FROM pg_attribute WHERE attrelid = 'gpudb_coordinators'::regclass AND attname = 'lease') THEN
        ALTER TABLE gpudb_coordinators ADD COLUMN lease double precision NOT NULL DEFAULT 30;
    END IF;
END $$;
CREATE SEQUENCE IF NOT EXISTS gpudb_oids INCREMENT BY {{block}};
CREATE SEQUENCE IF NOT EXISTS gpudb_coordinator_ids MAXVALUE 2147483647 CYCLE;
"""
OID_BLOCK = 32
"""How many OIDs a coordinator takes at a time."""
_SETUP_LOCK = 0x6770756462
"""Key of the advisory lock under which the tables and their first rows are made."""

Connection = psycopg.Connection[Any]


def connect(url: str, name: str = "gpudb coordinator") -> Connection:
    """Opens a connection in autocommit mode under an application name; 08001 without an answer, or if it is refused."""
    try:
        connection: Connection = psycopg.connect(
            url,
            autocommit=True,
            connect_timeout=CONNECT_SECONDS,
            application_name=name,
            keepalives_idle=5,
            keepalives_interval=2,
            keepalives_count=3,
            tcp_user_timeout=10_000,
        )
    except psycopg.Error as error:
        message = f"could not connect to the catalog in PostgreSQL: {describe(error)}"
        raise GpudbError(message, condition="sqlclient_unable_to_establish_sqlconnection") from None
    try:
        with connection.pipeline():
            for statement in _SETTINGS:
                connection.execute(statement)
    except psycopg.Error as error:
        connection.close()
        message = f"could not connect to the catalog in PostgreSQL: {describe(error)}"
        raise GpudbError(message, condition="sqlclient_unable_to_establish_sqlconnection") from None
    return connection


def connect_again(url: str, ends: float, name: str = "gpudb coordinator") -> Connection:
    """Opens a connection, and tries until the time `ends` of the monotonic clock; then 08006."""
    while True:
        try:
            return connect(url, name)
        except GpudbError as error:
            if time.monotonic() >= ends:
                raise GpudbError(error.message, condition="connection_failure") from None
        time.sleep(RETRY_SECONDS)


def lock_setup(connection: Connection) -> None:
    """Lets one coordinator at a time make tables and first rows, to the transaction's end."""
    connection.execute("SELECT pg_advisory_xact_lock(%s)", (_SETUP_LOCK,))


def create_tables(connection: Connection) -> None:
    """Makes the catalog's tables that are missing; 42501 and the like as PostgreSQL reports them."""
    with transaction(connection):
        lock_setup(connection)
        connection.execute(_TABLES.format(block=OID_BLOCK))


@contextmanager
def transaction(connection: Connection, begin: str = "BEGIN") -> Iterator[None]:
    """Runs a transaction, and rolls it back after an error."""
    connection.execute(begin)
    try:
        yield
    except BaseException:
        roll_back(connection)
        raise
    connection.execute("COMMIT")


def roll_back(connection: Connection) -> None:
    """Rolls back what is open; a connection that is lost is closed."""
    try:
        if not connection.closed:
            connection.execute("ROLLBACK")
    except psycopg.Error:
        connection.close()


def is_lost(connection: Connection, error: psycopg.Error) -> bool:
    """Returns whether an error means that the connection is gone, and not that a statement is refused."""
    return connection.closed or connection.broken or isinstance(error, psycopg.InterfaceError)


def describe(error: psycopg.Error) -> str:
    """Returns an error's message in one line."""
    return " ".join(str(error).split())
