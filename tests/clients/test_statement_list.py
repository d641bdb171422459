"""The statements of programs that are not run themselves: PostgreSQL and gpudb answer each alike."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.clients.python import statement_list
from tests.clients.python.statement_list import Statement
from tests.support import catalog_differences
from tests.support.oracle.server import Oracle
from tests.support.oracle.wire import Outcome, WireClient

PROGRAMS = ("dbeaver", "grafana", "metabase")
LISTED = [(program, each) for program in PROGRAMS for each in statement_list.read(program)[1]]

_TEXT, _OID, _XML, _FLOAT, _OIDS, _ACLS = 25, 26, 142, 701, 1028, 1034
_DATABASE = "statement_list"

# Statements whose rows differ, with the reason; columns and types are compared all the same.
OTHER_ROWS = {
    "access methods": "tables are Iceberg, not heaps",
    "available extensions": "gpudb has other ones",
    "collations": "gpudb has no collations of the operating system",
    "columns of a schema": "only PostgreSQL shows what a generated column depends on",
    "constraints of a schema": "expressions are kept as text, not as nodes",
    "databases": "gpudb counts no transactions",
    "description of a database": "gpudb's postgres has none",
    "functions of a schema": "expressions are kept as text, not as nodes",
    "indexes of a schema": "indexes have no size",
    "one setting": "set for the test's PostgreSQL",
    "roles": "gpudb is the bootstrap superuser",
    "search for functions": "expressions are kept as text, not as nodes",
    "sessions": "gpudb has no background processes",
    "settings": "gpudb has fewer",
    "size of a table": "bytes of Parquet files, not of heap pages",
    "sizes of a schema's tables": "bytes of Parquet files, not of heap pages",
    "sizes of databases": "bytes of Parquet files, not of heap pages",
    "tables and views of a schema": "tables are Iceberg, not heaps",
    "text of a view": "views are kept as written",
    "the plan as XML": "plans are gpudb's own",
    "types of a schema": "expressions are kept as text, not as nodes",
    "version": "gpudb names itself",
}


@pytest.fixture(scope="module")
def sides(oracle: Oracle, gpudb_server: str) -> Iterator[tuple[tuple[WireClient, dict[str, str]], ...]]:
    """Both servers with the same objects: a session and the objects' OIDs."""
    with oracle.database(_DATABASE) as dsn, WireClient(dsn) as expected, WireClient(gpudb_server) as actual:
        made = [_made(client) for client in (expected, actual)]
        yield (expected, made[0]), (actual, made[1])
        actual.execute("DROP SCHEMA sales CASCADE")


def _made(client: WireClient) -> dict[str, str]:
    for text in statement_list.setup():
        outcome = client.execute(text)
        assert not outcome.failed, f"{text}: {outcome.sqlstate} {outcome.message}"
    return {str(name): str(oid) for name, oid in client.execute(statement_list.OIDS).rows}


@pytest.mark.parametrize(
    ("program", "statement"), LISTED, ids=[f"{program}-{statement.what}" for program, statement in LISTED]
)
def test_same_as_postgresql(
    program: str, statement: Statement, sides: tuple[tuple[WireClient, dict[str, str]], ...]
) -> None:
    expected, actual = (client.execute(statement.fill(oids)) for client, oids in sides)
    assert not expected.failed, expected.message
    assert not actual.failed, f"{actual.sqlstate} {actual.message}"
    assert actual.columns == expected.columns
    assert [_type(oid) for oid in actual.oids] == [_type(oid) for oid in expected.oids]
    if statement.what not in OTHER_ROWS:
        assert [row for row in _rows(actual) if not catalog_differences.names_added(row)] == _rows(expected)


def _type(oid: int) -> int:
    """A type's OID, text's for xml, which gpudb has not, or the same number for every type that a user made."""
    return _TEXT if oid == _XML else min(oid, 16384)


def _rows(outcome: Outcome) -> list[tuple[str | None, ...]]:
    """The rows without columns that hold OIDs and owners, in one order; floats to 15 digits.

    Long values need no tables of their own in gpudb, so PostgreSQL's of such tables are left out.
    """
    kept = [index for index, oid in enumerate(outcome.oids) if oid not in (_OID, _OIDS, _ACLS)]
    rows = [tuple(_value(row[index], outcome.oids[index]) for index in kept) for row in outcome.rows]
    return sorted((row for row in rows if not {"pg_toast", "pg_toast_own"} & set(row)), key=repr)


def _value(text: str | None, oid: int) -> str | None:
    if text is None:
        return None
    if oid == _FLOAT:
        return f"{float(text):.15g}"
    return "gpudb" if text in (_DATABASE, "postgres") else re.sub(r"_\d{5,10}$", "_own", text)
