"""INSERT … VALUES with literal rows: the same rows and errors as PostgreSQL's, whatever the literals are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from gpudb.sql.parse.literal_rows import shorten, take_literal_rows
from tests.support.oracle.compare import assert_same
from tests.support.oracle.server import Oracle
from tests.support.oracle.wire import WireClient

Sessions = tuple[WireClient, WireClient]
_TABLE = """
CREATE TABLE literal_rows (
    id serial, a smallint, b integer, c bigint, d double precision, e real, f numeric(8,2), g numeric, h text,
    i varchar(5), j char(5), k boolean, l date, m timestamp, n timestamptz, o uuid, p bytea, q text[], r interval,
    s integer DEFAULT 7, CHECK (b IS NULL OR b < 1000000)
);
CREATE UNIQUE INDEX ON literal_rows (c);
CREATE VIEW literal_view AS SELECT h, b FROM literal_rows
"""
_ALL = "SELECT id, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s FROM literal_rows"
_PAD = 40
"""Rows before the interesting ones."""


@dataclass(frozen=True, slots=True)
class Case:
    """Columns and their literals, row by row, after plain rows."""

    columns: str
    plain: str
    rows: tuple[str, ...] = ()
    target: str = "literal_rows"


_CASES = {
    "numbers": Case("a, b, c", "1, -2, NULL", ("32767, - 5, 9223372036854775807", "null, 0, -9223372036854775808")),
    "out of range": Case("a, b", "1, 2", ("40000, 3",)),
    "rounded": Case("b, f", "1, 2", ("1.5, 2.345", "2.5, .005", "1e3, 1.")),
    "leading zeros": Case("b, g", "007, 007", ("0, 0.10", "1, 1e5", "2, 1.50e-3")),
    "floats": Case("d, e", "1, 2.5", ("1e300, 0.1", "'NaN'::float, 'Infinity'", "-1.7976931348623157e308, 16777217")),
    "negative zeros": Case("d, e", "1, 2.5", ("-0.0, - 0", "'-0', -0e5", "-.0, '-0.0'", "-0.5, -00.10")),
    "too large a float": Case("d", "1", ("1e400",)),
    "numerics": Case("f, g", "1.00, 123456789.50", ("'12.345', '1e3'", "-1, 0.000")),
    "numeric overflow": Case("f", "1", ("1234567",)),
    "texts": Case("h, i, j", "'x', 'abcde', 'abc'", ("'it''s', 'a    ', ''", "'', NULL, 'ä'", "E'a\\nb', '', ''")),
    "quotes and separators": Case("h, h2", "'x', 1", ("'a), (b', 2",)),
    "parentheses in texts": Case("h, b", "'x', 1", ("'a), (b', 2", "'c''d,', 3", "'--', 4", "'/*', 5", "'\\', 6")),
    "too long": Case("i", "'abc'", ("'abcdef'",)),
    "numbers as texts": Case("h, i", "1, 2", ("007, 1.50",)),
    "texts as numbers": Case("a, b, f", "'1', ' 2 ', '3'", ("'-4', '5', '6.789'",)),
    "no number": Case("b", "1", ("'x'",)),
    "booleans": Case("k, b", "true, 1", ("FALSE, 2", "'yes', 3", "NULL, 4", "'0', 5")),
    "number as boolean": Case("k", "true", ("1",)),
    "moments": Case(
        "l, m, n",
        "'2024-02-29', '2024-01-01 12:00:00', '2024-01-01 12:00:00+02'",
        ("'2024-01-01'::date, '2024-01-01T01:02:03.5'::timestamp, '1999-12-31 23:59:59.999999-05'::timestamptz",),
    ),
    "words for moments": Case("l, m", "'2024-02-29', '2024-01-01'", ("'infinity', '-infinity'", "'epoch', 'epoch'")),
    "no date": Case("l", "'2024-02-28'", ("'2024-02-30'",)),
    "uuids and bytes": Case(
        "o, p", "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '\\xdeadbeef'", ("'A0EEBC999C0B4EF8BB6D6BB9BD380A12', 'abc'",)
    ),
    "arrays and intervals": Case("q, r", "'{a,b}', '1 day'", ("ARRAY['x'], interval '2 hours'",)),
    "expressions": Case("b, h", "1, 'x'", ("1 + 1, 'a' || 'b'", "length('abc'), upper('y')")),
    "default": Case("b, s", "1, 2", ("3, DEFAULT",)),
    "violated check": Case("b", "1", ("1000000",)),
    "duplicate": Case("c", "NULL", ("5", "5")),
    "no list": Case("", "1, 2, 3", ("4, 5, 6",)),
    "different lengths": Case("b, h", "1, 'x'", ("2",)),
    "too many": Case("b", "1, 2"),
    "too few": Case("b, h", "1"),
    "unknown column": Case("b, nope", "1, 2"),
    "twice": Case("b, b", "1, 2"),
    "quoted name": Case('"b", "h"', "1, 'x'", ("2, 'y'",)),
    "view": Case("h, b", "'x', 1", ("'y', 2",), target="literal_view"),
    "unknown table": Case("b", "1", target="nowhere"),
    "casts": Case("b, d, g", "1::int, 2::float, 3::numeric", ("4, '5'::float, 6.5::numeric",)),
    "other casts": Case("h, b", "1::text, 1.5::int", ("'x', 2",)),
    "unfinished": Case("h", "'x'", ("'y",)),
}


@pytest.fixture(scope="module")
def sessions(oracle: Oracle, gpudb_server: str) -> Iterator[Sessions]:
    """A session on PostgreSQL and one on gpudb, with the table."""
    with WireClient(oracle.create_database("literal_rows")) as left, WireClient(gpudb_server) as right:
        for client in (left, right):
            assert not (made := client.execute(_TABLE)).failed, made.message
        yield left, right
        right.execute("DROP TABLE literal_rows CASCADE")


def _render(case: Case) -> str:
    columns = f" ({case.columns})" if case.columns else ""
    rows = ", ".join(f"({row})" for row in (*[case.plain] * _PAD, *case.rows))
    return f"INSERT INTO {case.target}{columns} VALUES {' ' * 1200}{rows}"


@pytest.mark.parametrize("extended", [False, True], ids=["simple", "extended"])
@pytest.mark.parametrize("name", _CASES)
def test_literal_rows(name: str, extended: bool, sessions: Sessions) -> None:
    sql = _render(_CASES[name])
    outcomes = []
    for client in sessions:
        assert not client.execute("TRUNCATE literal_rows RESTART IDENTITY").failed
        outcomes.append(client.execute_extended(sql) if extended else client.execute(sql))
    assert_same(*outcomes, ordered=True)
    assert_same(*[client.execute(_ALL) for client in sessions], ordered=False)


def test_plain_literals_become_columns() -> None:
    taken = take_literal_rows(_render(_CASES["parentheses in texts"]))
    assert taken is not None
    assert shorten(_render(_CASES["parentheses in texts"])).endswith("('x', 1)")
    assert len(taken) == _PAD + 5
    assert taken.columns[0].literals[-4:] == ["'c''d,'", "'--'", "'/*'", "'\\'"]
    assert taken.columns[1].literals[-1] == "6"


@pytest.mark.parametrize("tail", ["", ";", " ;\n"])
def test_the_end_of_a_text(tail: str) -> None:
    taken = take_literal_rows(_render(_CASES["numbers"]) + tail)
    assert taken is not None
    assert len(taken) == _PAD + 2


@pytest.mark.parametrize(
    "tail", [" RETURNING b", "; SELECT 1", " ON CONFLICT DO NOTHING", ", (1 + 1, 2, 3)", ", (1, 2)", ",", " -- end"]
)
def test_what_is_not_only_literals_is_parsed(tail: str) -> None:
    assert take_literal_rows(_render(_CASES["numbers"]) + tail) is None


def test_texts_of_one_shape() -> None:
    one, other = (
        take_literal_rows(f"INSERT INTO t (a, b) VALUES {rows}") for rows in ("(1, 'x')", "(2, NULL), (3, '')")
    )
    wider = take_literal_rows("INSERT INTO t (a, b) VALUES (1, 2, 3)")
    assert one is not None
    assert other is not None
    assert wider is not None
    assert one.shape == other.shape != wider.shape


def test_dates_are_read_in_the_style_of_now(sessions: Sessions) -> None:
    outcomes = []
    for client in sessions:
        said = [client.execute("TRUNCATE literal_rows RESTART IDENTITY")]
        for style in ("ISO, MDY", "SQL, DMY", "ISO, MDY", "German, YMD", "SQL, DMY"):
            said.append(client.execute(f"SET datestyle = '{style}'"))
            said.append(client.execute("INSERT INTO literal_rows (l, m) VALUES ('01/02/2003', '2/1/2004 12:00')"))
        client.execute("RESET datestyle")
        outcomes.append([(each.tag, each.sqlstate) for each in said])
    assert outcomes[0] == outcomes[1]
    assert_same(*[client.execute(_ALL) for client in sessions], ordered=False)


@pytest.mark.parametrize("extended", [False, True], ids=["simple", "extended"])
@pytest.mark.parametrize("name", _CASES)
def test_rows_one_by_one(name: str, extended: bool, sessions: Sessions) -> None:
    """The first plain row is parsed and bound, the others take what it left."""
    case = _CASES[name]
    columns = f" ({case.columns})" if case.columns else ""
    for client in sessions:
        assert not client.execute("TRUNCATE literal_rows RESTART IDENTITY").failed
    for row in (case.plain, case.plain, *case.rows, case.plain):
        sql = f"INSERT INTO {case.target}{columns} VALUES ({row})"
        outcomes = [client.execute_extended(sql) if extended else client.execute(sql) for client in sessions]
        assert_same(*outcomes, ordered=True)
    assert_same(*[client.execute(_ALL) for client in sessions], ordered=False)


def test_a_trigger_and_a_transaction_see_the_rows(sessions: Sessions) -> None:
    sql = _render(_CASES["numbers"])
    found = []
    for client in sessions:
        for statement in (
            "TRUNCATE literal_rows RESTART IDENTITY",
            "BEGIN",
            sql,
            "SAVEPOINT s",
            sql.replace(" 922", " 822"),
        ):
            client.execute(statement)
        found.append(client.execute("SELECT count(*), sum(b), max(id) FROM literal_rows"))
        client.execute("ROLLBACK")
    assert_same(*found, ordered=True)
