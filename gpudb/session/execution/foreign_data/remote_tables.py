"""Foreign tables of postgres_fdw: rows of another PostgreSQL server, which sends them as COPY does."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from gpudb.catalog.file_tables import FileColumn, FileTable
from gpudb.catalog.foreign import ForeignServer, make_mapping_key, read_foreign_options
from gpudb.catalog.tables import Column, Table
from gpudb.engine.protocol import Cancel
from gpudb.errors import SqlError, UndefinedObject, sqlstates
from gpudb.session.authorization.membership import is_superuser
from gpudb.session.context import Context
from gpudb.session.execution.foreign_data.remote_sql import make_remote_sql
from gpudb.sql.bound import ForeignScan, Query
from gpudb.storage.copy.conversion import Clock
from gpudb.storage.copy.options import CopyOptions
from gpudb.types import TEXT
from gpudb.values.datetime_style import DateTimeStyle

if TYPE_CHECKING:
    import psycopg

_CONNECTION = ("host", "hostaddr", "port", "dbname", "connect_timeout", "sslmode", "application_name")
_SETTINGS = (
    "SET search_path = pg_catalog; SET timezone = 'UTC'; SET datestyle = ISO; SET intervalstyle = postgres;"
    " SET extra_float_digits = 3"
)


@dataclass(frozen=True, slots=True)
class RemoteAccess:
    """How a role connects to a server: `options` are libpq's. With `needs_password` the server must ask for it."""

    server: str
    options: dict[str, str]
    needs_password: bool


def open_remote_table(context: Context, query: Query, scan: ForeignScan, server: ForeignServer) -> FileTable:
    """Returns the rows of a foreign table that a query reads, as a source of text; 42704, 2F003 for a user mapping."""
    from gpudb.storage.files.copy_source import CopySource

    text, columns = make_remote_sql(query, scan)
    access = find_access(context, server, scan.role or context.session.user)
    returned = _narrow(scan.table, columns)
    read = partial(_read_rows, access, text, context.cancel)
    source = CopySource(returned, CopyOptions(), Clock("UTC", context.started, DateTimeStyle()), read, text)
    shown = tuple(FileColumn(column.name, column.type, "") for column in scan.table.columns)
    return FileTable((), "copy", shown, options={"source": source})


def _narrow(table: Table, columns: tuple[Column, ...]) -> Table:
    """The table with some of its columns, or with one of NULLs for rows without any."""
    return replace(table, columns=columns or (Column("gpudb$none", TEXT),))


def find_access(context: Context, server: ForeignServer, user: str) -> RemoteAccess:
    """Returns the server's options and those of a role's user mapping; 42704 without one, 2F003."""
    catalog = context.transaction.catalog
    mappings, oid = catalog.user_mappings, catalog.roles[user].oid
    mapping = mappings.get(make_mapping_key(server.oid, oid)) or mappings.get(make_mapping_key(server.oid, 0))
    if mapping is None:
        raise UndefinedObject(f'user mapping not found for user "{user}", server "{server.name}"')
    own = read_foreign_options(mapping.options)
    needs_password = not is_superuser(catalog, user)
    if needs_password and not own.get("password"):
        raise _password_error("Non-superusers must provide a password in the user mapping.")
    given = read_foreign_options(server.options)
    options = {name: value for name, value in given.items() if name in _CONNECTION}
    options |= {"user": own.get("user", user), **{n: own[n] for n in ("password",) if n in own}}
    return RemoteAccess(server.name, options, needs_password)


def _password_error(detail: str, hint: str | None = None) -> SqlError:
    return SqlError.of("prohibited_sql_statement_attempted", "password is required", detail=detail, hint=hint)


@contextmanager
def connect(access: RemoteAccess, cancel: Cancel) -> Iterator[psycopg.Connection[Any]]:
    """Connects to a server for a statement, which cancels what runs there; 08001, 2F003, the other server's errors."""
    import psycopg

    try:
        connection = psycopg.connect(client_encoding="UTF8", **access.options)  # type: ignore[arg-type]
    except psycopg.Error as error:
        message = f'could not connect to server "{access.server}"'
        raise SqlError.of("sqlclient_unable_to_establish_sqlconnection", message, detail=str(error).strip()) from None
    if access.needs_password and not connection.pgconn.used_password:
        # The server would trust whoever runs this process: the role could be anyone there
        connection.close()
        raise _password_error(
            "Non-superuser cannot connect if the server does not request a password.",
            "Target server's authentication method must be changed.",
        )
    interrupt = connection.cancel
    cancel.attach(interrupt)
    try:
        with connection:
            connection.execute(_SETTINGS)
            yield connection
    except psycopg.Error as error:
        cancel.check()
        raise _as_error(error) from None
    finally:
        cancel.detach(interrupt)


def _as_error(error: psycopg.Error) -> SqlError:
    """The error of another server, with its SQLSTATE."""
    states = {state: condition for condition, state in sqlstates().items()}
    condition = states.get(error.sqlstate or "", "fdw_error")
    diagnosis = error.diag
    message = diagnosis.message_primary or str(error).strip()
    return SqlError.of(condition, message, detail=diagnosis.message_detail, hint=diagnosis.message_hint)


def _read_rows(access: RemoteAccess, text: str, cancel: Cancel) -> Iterator[bytes]:
    """Yields the rows of a query on another server as COPY sends them."""
    with connect(access, cancel) as connection, connection.cursor() as cursor:
        try:
            with cursor.copy(f"COPY ({text}) TO STDOUT") as rows:
                for block in rows:
                    yield bytes(block)
        except GeneratorExit:
            connection.cancel()
            raise
