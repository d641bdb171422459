"""Outcome of one COPY on gpudb and on the oracle, as a comparable value."""

from __future__ import annotations

from dataclasses import dataclass

import psycopg

from gpudb.errors import GpudbError
from gpudb.session.database import Database
from gpudb.session.results import CopyIn, CopyOut
from gpudb.session.session import Session
from tests.support.oracle.server import Oracle


@dataclass(frozen=True, slots=True)
class Seen:
    """Outcome of a COPY: the tag or the error. `rows` is the table afterwards, as COPY TO prints it."""

    tag: str = ""
    sqlstate: str = ""
    message: str = ""
    detail: str | None = None
    hint: str | None = None
    context: str | None = None
    rows: bytes = b""


def run(session: Session, sql: str, data: bytes = b"", chunk: int = 1 << 16) -> tuple[str, bytes]:
    """Runs one statement; returns its tag and the output of COPY TO or of a SELECT of one column."""
    tag, out = "", b""
    for result in session.run(sql):
        if isinstance(result, CopyIn):
            try:
                for start in range(0, len(data), chunk):
                    result.feed(data[start : start + chunk])
                tag = result.finish()
            except BaseException:
                result.abort("the test met an error")
                raise
            finally:
                result.close()
        elif isinstance(result, CopyOut):
            out = b"".join(result.payloads())
            tag = result.tag
        elif result.columns is not None:
            values = [str(value) for batch in result.batches for value in batch.column(0).to_pylist()]
            tag, out = result.tag, ",".join(values).encode()
        else:
            tag = result.tag
    return tag, out


def on_gpudb(database: Database, setup: str, copy: str, data: bytes, chunk: int = 1 << 16, table: str = "t") -> Seen:
    """Runs the COPY in a new session of gpudb; drops the table afterwards."""
    session = database.session("gpudb")
    try:
        run(session, setup)
        failed: dict[str, str | None] = {}
        tag = ""
        try:
            tag, _ = run(session, copy, data, chunk)
        except GpudbError as error:
            failed = {
                "sqlstate": error.sqlstate,
                "message": error.message,
                "detail": error.detail,
                "hint": error.hint,
                "context": error.where,
            }
            session.sync()
        rows = run(session, f"COPY {table} TO STDOUT")[1]
        return Seen(tag, rows=rows, **failed)  # type: ignore[arg-type]
    finally:
        session.take_notices()
        run(session, f"DROP TABLE IF EXISTS {table}")
        session.close()


def on_oracle(oracle: Oracle, setup: str, copy: str, data: bytes, table: str = "t") -> Seen:
    """Runs the COPY in PostgreSQL and rolls back."""
    with psycopg.connect(oracle.dsn) as connection, connection.cursor() as cursor:
        cursor.execute(setup)
        connection.execute("SAVEPOINT before")
        failed: dict[str, str | None] = {}
        tag = ""
        try:
            with cursor.copy(copy) as pipe:
                pipe.write(data)
            tag = cursor.statusmessage or ""
        except psycopg.Error as error:
            told = error.diag
            failed = {
                "sqlstate": told.sqlstate,
                "message": told.message_primary,
                "detail": told.message_detail,
                "hint": told.message_hint,
                "context": told.context,
            }
            connection.execute("ROLLBACK TO before")
        rows = b""
        with cursor.copy(f"COPY {table} TO STDOUT") as pipe:
            for part in pipe:
                rows += bytes(part)
        connection.rollback()
        return Seen(tag, rows=rows, **failed)  # type: ignore[arg-type]
