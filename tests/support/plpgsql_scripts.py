"""Scripts in PL/pgSQL on a server: the rows, notices and errors of each statement, with the CONTEXT of errors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from psycopg.adapt import Buffer, Loader

CASES = Path(__file__).parents[1] / "plpgsql" / "cases"
_SHOWN_AS_TEXT = (20, 21, 23, 25, 700, 701, 1007, 1009, 1082, 1114, 1184, 1186, 1700, 2249)


class _Text(Loader):
    def load(self, data: Buffer) -> str:
        return bytes(data).decode()


def read_script(path: Path) -> list[str]:
    """Returns the statements of a script: they are between lines of `---`."""
    return [each.strip() for each in path.read_text(encoding="utf-8").split("\n---\n") if each.strip()]


@contextmanager
def connect(dsn: str) -> Iterator[psycopg.Connection]:
    """Opens a connection that returns values as text."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        for oid in _SHOWN_AS_TEXT:
            connection.adapters.register_loader(oid, _Text)
        connection.prepare_threshold = None
        yield connection


def run_statement(connection: psycopg.Connection, sql: str) -> tuple[object, ...]:
    """Runs a statement; its results or its error, and its notices. An open transaction that failed is rolled back."""
    notices: list[tuple[object, ...]] = []

    def collect(each: psycopg.errors.Diagnostic) -> None:
        found = each.severity_nonlocalized, each.sqlstate, each.message_primary, each.message_detail, each.message_hint
        notices.append(found)

    connection.add_notice_handler(collect)
    try:
        cursor = connection.execute(sql.encode())
        rows = cursor.fetchall() if cursor.description is not None else None
        names = [each.name for each in cursor.description or ()]
        return cursor.statusmessage, names, rows, notices
    except psycopg.Error as error:
        found = error.diag
        shown = found.message_primary, found.message_detail, found.message_hint, found.context
        return found.sqlstate, *shown, found.statement_position, notices
    finally:
        connection.remove_notice_handler(collect)
        if connection.info.transaction_status == psycopg.pq.TransactionStatus.INERROR:
            connection.rollback()
