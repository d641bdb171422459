"""COPY in both directions and all formats: the same input produces the same rows, errors and output bytes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.support.oracle.compare import assert_same
from tests.support.oracle.server import Oracle
from tests.support.oracle.wire import WireClient

_TABLE = """
CREATE TABLE copied (
    id integer NOT NULL, name varchar(10), amount numeric(8,2), ratio double precision, born date,
    seen timestamptz, ok boolean, raw bytea, tags text[], span interval
)
"""

_COLUMNS = "id, name, amount, ratio, born, seen, ok, raw, tags, span"


@dataclass(frozen=True, slots=True)
class Case:
    """One COPY FROM STDIN: its clauses, the data, and PostgreSQL's SQLSTATE if it fails."""

    name: str
    copy: str
    data: bytes
    sqlstate: str | None = None


_IN = [
    Case("csv", "(id, name) FROM STDIN (FORMAT csv)", b'1,ann\n2,\n3,""\n4,"a,b"\n5,"say ""hi"""\n'),
    Case("csv newline in quotes", "(id, name) FROM STDIN (FORMAT csv)", b'1,"a\nb"\n2,"c\r\nd"\n'),
    Case("csv mark", "(name) FROM STDIN (FORMAT csv)", "\ufeffa\nb\n\ufeff\ufeffc\n".encode(), "23502"),
    Case("csv mark as text", "(name, id) FROM STDIN (FORMAT csv)", "\ufeffa,1\nb,2\n\ufeff\ufeffc,3\n".encode()),
    Case("csv mark in a number", "(id, name) FROM STDIN (FORMAT csv)", "\ufeff1,a\n2,b\n".encode(), "22P02"),
    Case("csv quoted mark", "(name, id) FROM STDIN (FORMAT csv)", '"\ufeffa",1\n'.encode()),
    Case("text mark", "(name, id) FROM STDIN", "\ufeffa\t1\nb\t2\n".encode()),
    Case("text mark in a number", "(id, name) FROM STDIN", "\ufeff1\ta\n".encode(), "22P02"),
    Case("csv crlf", "(id, name) FROM STDIN (FORMAT csv)", b"1,a\r\n2,b\r\n"),
    Case("csv no last newline", "(id, name) FROM STDIN (FORMAT csv)", b"1,a\n2,b"),
    Case("csv empty", "FROM STDIN (FORMAT csv)", b""),
    Case("csv header", "(id, name) FROM STDIN (FORMAT csv, HEADER)", b"id,whatever\n1,a\n"),
    Case("csv header match", "(id, name) FROM STDIN (FORMAT csv, HEADER match)", b"id,name\n1,a\n"),
    Case("csv header mismatch", "(id, name) FROM STDIN (FORMAT csv, HEADER match)", b"id,nope\n1,a\n", "22P04"),
    Case("csv delimiter", "(id, name) FROM STDIN (FORMAT csv, DELIMITER ';')", b'1;a,b\n2;"x;y"\n'),
    Case(
        "csv quote escape",
        "(id, name) FROM STDIN (FORMAT csv, QUOTE '''', ESCAPE '\\')",
        b"1,'it\\'s'\n2,'a\"b'\n",
    ),
    Case("csv null", "(id, name) FROM STDIN (FORMAT csv, NULL 'NA')", b'1,NA\n2,"NA"\n3,\n'),
    Case("csv force null", "(id, name) FROM STDIN (FORMAT csv, FORCE_NULL (name))", b'1,""\n2,x\n'),
    Case("csv force not null", "(id, name) FROM STDIN (FORMAT csv, FORCE_NOT_NULL (name))", b"1,\n2,x\n"),
    Case("csv latin1", "(id, name) FROM STDIN (FORMAT csv, ENCODING 'LATIN1')", b"1,caf\xe9\n"),
    Case("csv unicode", "(id, name) FROM STDIN (FORMAT csv)", "1,naïve\n2,日本語\n3,😀\n".encode()),
    Case(
        "csv all types",
        "FROM STDIN (FORMAT csv)",
        b'1,a,1.005,NaN,2024-02-29,2024-02-29 10:00+02,t,\\xdead,"{a,NULL,""b c""}",1 mon 2 days\n'
        b"2,,-0.01,-Infinity,infinity,2024-02-29 10:00,no,,{},-00:00:01\n3,,,,,,,,,\n",
    ),
    Case("csv spaces", "(id, amount) FROM STDIN (FORMAT csv)", b" 1 , 2.5 \n"),
    Case("csv end mark", "(id, name) FROM STDIN (FORMAT csv)", b"1,a\n\\.\n2,b\n"),
    Case("csv too few", "(id, name) FROM STDIN (FORMAT csv)", b"1,a\n2\n", "22P04"),
    Case("csv too many", "(id, name) FROM STDIN (FORMAT csv)", b"1,a,b\n", "22P04"),
    Case("csv open quote", "(id, name) FROM STDIN (FORMAT csv)", b'1,"a\n', "22P04"),
    Case("csv bad integer", "(id, name) FROM STDIN (FORMAT csv)", b"1,a\nx,b\n", "22P02"),
    Case("csv big integer", "(id) FROM STDIN (FORMAT csv)", b"99999999999\n", "22003"),
    Case("csv bad date", "(id, born) FROM STDIN (FORMAT csv)", b"1,2023-02-29\n", "22008"),
    Case("csv null key", "(id, name) FROM STDIN (FORMAT csv)", b",a\n", "23502"),
    Case("csv long", "(id, name) FROM STDIN (FORMAT csv)", b"1,elevenchars\n", "22001"),
    Case("csv overflow", "(id, amount) FROM STDIN (FORMAT csv)", b"1,1000000\n", "22003"),
    Case("csv bad utf8", "(id, name) FROM STDIN (FORMAT csv)", b"1,\xff\xfe\n", "22021"),
    Case("text", "(id, name) FROM STDIN", b"1\tann\n2\t\\N\n3\t\n4\ta\\tb\n5\tc\\\\d\n"),
    Case("text escapes", "(id, name) FROM STDIN", b"1\t\\x41\\102\\n\n2\ta\\\nb\n3\t\\q\n"),
    Case("text end mark", "(id, name) FROM STDIN", b"1\ta\n\\.\n"),
    Case("text delimiter", "(id, name) FROM STDIN (DELIMITER '|', NULL '-')", b"1|a\n2|-\n3|x\\|y\n"),
    Case("text header", "(id, name) FROM STDIN (HEADER)", b"id\tname\n1\ta\n"),
    Case("text old syntax", "(id, name) FROM STDIN WITH DELIMITER ',' NULL ''", b"1,a\n2,\n"),
    Case("text too few", "(id, name) FROM STDIN", b"1\n", "22P04"),
    Case("text where", "(id, name) FROM STDIN WHERE id > 1", b"1\ta\n2\tb\n"),
    Case("unknown column", "(id, nope) FROM STDIN", b"1\t2\n", "42703"),
    Case("unknown option", "FROM STDIN (NOSUCH true)", b"", "42601"),
    Case("unknown format", "FROM STDIN (FORMAT parquetish)", b"", "22023"),
    Case("binary bad mark", "(id) FROM STDIN (FORMAT binary)", b"not binary at all....", "22P04"),
]

_OUT = [
    "TO STDOUT",
    "TO STDOUT (FORMAT csv)",
    "TO STDOUT (FORMAT csv, HEADER)",
    "TO STDOUT (FORMAT csv, HEADER, DELIMITER ';', NULL 'NA')",
    "TO STDOUT (FORMAT csv, QUOTE '''', ESCAPE '\\', FORCE_QUOTE *)",
    "TO STDOUT (FORMAT csv, FORCE_QUOTE (name, born))",
    "TO STDOUT (DELIMITER '|', NULL '<null>')",
    "(id, name, amount) TO STDOUT (FORMAT csv)",
]

_QUERIES = [
    "COPY (SELECT id, upper(name) AS n FROM copied WHERE ok ORDER BY id) TO STDOUT (FORMAT csv, HEADER)",
    "COPY (SELECT sum(amount), count(*) FROM copied) TO STDOUT",
    "COPY (SELECT 1 WHERE false) TO STDOUT (FORMAT csv)",
    "COPY (SELECT id::smallint, id::bigint, ratio, id::real, amount, name, raw FROM copied ORDER BY 1) TO STDOUT (FORMAT binary)",
]

_ROWS = r"""
INSERT INTO copied VALUES
  (1, 'plain', 1.5, 0.1, '2024-02-29', '2024-02-29 10:00+00', true, '\xdeadbeef', '{a,"b c",NULL}', '1 mon 2 days 03:04:05.5'),
  (2, 'a,b"c', -0.01, 'NaN', 'infinity', '-infinity', false, '', '{}', '-1 year'),
  (3, NULL, NULL, '-Infinity', NULL, NULL, NULL, NULL, NULL, NULL),
  (4, E'tab\tnl\n\\', 999999.99, 1e300, '0001-01-01', '1999-12-31 23:59:59.999999+00', true, '\x00', '{"q\"uote",日本}', '0'),
  (5, '', 0, -0.0, '1970-01-01', '2000-01-01 00:00+00', true, 'x', '{""}', '-00:00:00.000001')
"""

Sessions = tuple[WireClient, WireClient]


@pytest.fixture(scope="module")
def sessions(oracle: Oracle, gpudb_server: str) -> Iterator[Sessions]:
    """A session on PostgreSQL and one on gpudb, with the table."""
    with WireClient(oracle.create_database("copies")) as left, WireClient(gpudb_server) as right:
        for client in (left, right):
            created = client.execute(_TABLE)
            assert not created.failed, created.message
        yield left, right


@pytest.fixture
def emptied(sessions: Sessions) -> Sessions:
    """Both sessions with an empty table, one test each."""
    for client in sessions:
        outcome = client.execute("TRUNCATE copied")
        assert not outcome.failed, outcome.message
    return sessions


@pytest.fixture
def filled(emptied: Sessions) -> Sessions:
    """Both sessions with a few rows of every kind."""
    for client in emptied:
        outcome = client.execute(_ROWS)
        assert not outcome.failed, outcome.message
    return emptied


@pytest.mark.parametrize("case", _IN, ids=[case.name for case in _IN])
def test_copy_in(case: Case, emptied: Sessions) -> None:
    """The outcomes agree, and the tables afterwards; a failed COPY stores nothing."""
    expected, actual = (client.copy_in(f"COPY copied {case.copy}", [case.data]) for client in emptied)
    assert expected.sqlstate == case.sqlstate, expected.message
    assert_same(expected, actual, ordered=True)
    left, right = (client.execute(f"SELECT {_COLUMNS} FROM copied") for client in emptied)
    assert_same(left, right, ordered=False)
    assert case.sqlstate is None or left.rows == ()


@pytest.mark.parametrize("size", [1, 7, 4096])
def test_chunks_may_end_anywhere(size: int, emptied: Sessions) -> None:
    """Boundaries of CopyData messages have no meaning, not even inside a character or a quoted value."""
    data = "".join(f'{number},"n\n{number} é"\n' for number in range(200)).encode()
    chunks = [data[start : start + size] for start in range(0, len(data), size)]
    sql = "COPY copied (id, name) FROM STDIN (FORMAT csv)"
    expected, actual = (client.copy_in(sql, chunks) for client in emptied)
    assert_same(expected, actual, ordered=True)
    left, right = (client.execute("SELECT id, name FROM copied") for client in emptied)
    assert_same(left, right, ordered=False)
    assert len(left.rows) == 200


@pytest.mark.parametrize("clauses", _OUT)
def test_copy_out(clauses: str, filled: Sessions) -> None:
    """The bytes agree, with lines as a multiset: a table has no order."""
    (expected, left), (actual, right) = (client.copy_out(f"COPY copied {clauses}") for client in filled)
    assert not left.failed, left.message
    assert_same(left, right, ordered=True)
    assert sorted(actual.splitlines()) == sorted(expected.splitlines())


@pytest.mark.parametrize("sql", _QUERIES)
def test_copy_query_out(sql: str, filled: Sessions) -> None:
    """A query's result is copied like a table."""
    (expected, left), (actual, right) = (client.copy_out(sql) for client in filled)
    assert not left.failed, left.message
    assert_same(left, right, ordered=True)
    assert actual == expected


def test_binary_goes_round(filled: Sessions) -> None:
    """gpudb reads PostgreSQL's binary output to the same rows, and PostgreSQL gpudb's."""
    left, right = filled
    (theirs, _), (ours, outcome) = (client.copy_out("COPY copied TO STDOUT (FORMAT binary)") for client in filled)
    assert not outcome.failed, outcome.message
    for client, data in ((left, ours), (right, theirs)):
        assert not client.execute("TRUNCATE copied").failed
        copied = client.copy_in("COPY copied FROM STDIN (FORMAT binary)", [data])
        assert copied.tag == "COPY 5", copied.message
    sql = f"SELECT {_COLUMNS} FROM copied"
    assert_same(left.execute(sql), right.execute(sql), ordered=False)


def test_copy_in_a_transaction(emptied: Sessions) -> None:
    """COPY rolls back with its transaction, and a failed COPY aborts the transaction."""
    for sql in ("BEGIN", "COPY", "SELECT count(*) FROM copied", "ROLLBACK", "SELECT count(*) FROM copied"):
        expected, actual = (
            client.copy_in("COPY copied (id) FROM STDIN", [b"1\n2\n"]) if sql == "COPY" else client.execute(sql)
            for client in emptied
        )
        assert_same(expected, actual, ordered=True)
    for sql in ("BEGIN", "COPY", "SELECT 1", "ROLLBACK"):
        expected, actual = (
            client.copy_in("COPY copied (id) FROM STDIN", [b"x\n"]) if sql == "COPY" else client.execute(sql)
            for client in emptied
        )
        assert_same(expected, actual, ordered=True)
