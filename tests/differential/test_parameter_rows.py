"""INSERT … VALUES with rows of parameters, as psycopg and pandas send them: PostgreSQL's rows, types and errors."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import psycopg
import pytest

from gpudb.sql.parse.parameter_rows import take_parameter_rows
from tests.support.oracle.server import Oracle

_TABLE = """
CREATE TABLE parameter_rows (
    id serial, a smallint, b integer, c bigint UNIQUE, d float8, f numeric(8,2), h text, i varchar(5), k boolean,
    l date, m timestamp, q text[], s integer DEFAULT 7, CHECK (b IS NULL OR b < 1000000)
)
"""
_ALL = "SELECT id, a, b, c, d, f, h, i, k, l, m, q, s FROM parameter_rows ORDER BY id"
_DAY, _NOON = datetime.date(2024, 2, 29), datetime.datetime(2024, 2, 29, 12)

_CASES: dict[str, tuple[str, str, list[tuple[Any, ...]]]] = {
    "integers of any width": ("a, b, c", "%s, %s, %s", [(1, 2, 3), (-32768, 70_000, 2**40), (None, None, 4)]),
    "NULL first": ("b, d, h", "%s, %s, %s", [(None, None, None), (1, 0.5, "x"), (2, 1.5, "")]),
    "casts": (
        "b, d, h, m, f",
        "%s::INTEGER, %s::DOUBLE PRECISION, %s::VARCHAR, %s::TIMESTAMP WITHOUT TIME ZONE, %s::NUMERIC(10, 3)",
        [(1, 2.5, "it's", _NOON, Decimal("1.005")), (2, -0.0, "$1, ($2)", None, Decimal("-3"))],
    ),
    "other types": ("k, l, q, i", "%s, %s, %s, %s", [(True, _DAY, ["a", None], "abcde"), (None, None, None, None)]),
    "out of range": ("a, b", "%s, %s", [(1, 2), (40_000, 3)]),
    "too long": ("i", "%s", [("abcde",), ("abcdef",)]),
    "a check": ("b", "%s", [(1,), (2_000_000,)]),
    "a key that is there twice": ("c", "%s", [(1,), (2,), (1,)]),
    "integers and a float": ("d", "%s", [(1,), (2.5,)]),
    "a text as a number": ("b", "%s", [("1",), (" 2 ",), ("x",)]),
    "no such column": ("b, none", "%s, %s", [(1, 2), (3, 4)]),
    "a column more": ("b", "%s, %s", [(1, 2), (3, 4)]),
}


@pytest.fixture(scope="module")
def clients(oracle: Oracle, gpudb_server: str) -> Iterator[list[psycopg.Connection]]:
    """PostgreSQL and gpudb, with the table."""
    theirs = oracle.create_database("parameter_rows")
    with psycopg.connect(theirs, autocommit=True) as one, psycopg.connect(gpudb_server, autocommit=True) as other:
        for each in (one, other):
            each.execute("SET TimeZone = 'UTC'")
            each.execute(_TABLE)
        yield [one, other]
        other.execute("DROP TABLE parameter_rows")


def _insert(client: psycopg.Connection, case: str, repeats: int, *, binary: bool) -> tuple[Any, ...]:
    columns, row, rows = _CASES[case]
    every = rows[:-1] * repeats + rows[-1:]
    sql = f"INSERT INTO parameter_rows ({columns}) VALUES {', '.join([f'({row})'] * len(every))}"
    client.execute("TRUNCATE parameter_rows RESTART IDENTITY")
    try:
        with client.cursor(binary=binary) as cursor:
            done = cursor.execute(sql, [value for each in every for value in each])
            said: tuple[Any, ...] = (done.statusmessage, done.rowcount)
    except psycopg.Error as error:
        said = error.sqlstate, error.diag.message_primary, error.diag.statement_position
    return *said, client.execute(_ALL).fetchall()


@pytest.mark.parametrize("repeats", [1, 70])
@pytest.mark.parametrize("binary", [False, True], ids=["text", "binary"])
@pytest.mark.parametrize("case", _CASES)
def test_rows_are_those_of_postgresql(
    clients: list[psycopg.Connection], case: str, repeats: int, *, binary: bool
) -> None:
    if repeats > 1 and case.startswith("a key"):
        pytest.skip("the first row would be the one that is there")
    wanted, found = (_insert(client, case, repeats, binary=binary) for client in clients)
    assert found == wanted


def test_in_a_transaction_and_by_name(clients: list[psycopg.Connection]) -> None:
    """Prepared statements keep their rows' number: EXECUTE runs all of them, and an error ends the transaction."""
    said = []
    for client in clients:
        client.execute("TRUNCATE parameter_rows RESTART IDENTITY")
        client.execute("DEALLOCATE ALL")
        with client.transaction():
            for start in range(0, 12, 2):
                cursor = client.execute(
                    "INSERT INTO parameter_rows (b, h) VALUES (%s, %s), (%s, %s)",
                    (start, "x", start + 1, None),
                    prepare=True,
                )
                assert cursor.rowcount == 2
        ((name,),) = client.execute("SELECT name FROM pg_prepared_statements", prepare=False).fetchall()
        client.execute(f'EXECUTE "{name}" (200, $$y$$, 201, NULL)')
        client.execute("ALTER TABLE parameter_rows ALTER b TYPE bigint")
        client.execute("INSERT INTO parameter_rows (b, h) VALUES (%s, %s), (%s, %s)", (7, "z", 8, "z"), prepare=True)
        client.execute("ALTER TABLE parameter_rows ALTER b TYPE int")
        with pytest.raises(psycopg.errors.UniqueViolation), client.transaction():
            client.execute("INSERT INTO parameter_rows (c) VALUES (%s), (%s)", (1, 2), prepare=True)
            client.execute("INSERT INTO parameter_rows (c) VALUES (%s), (%s)", (3, 2), prepare=True)
        client.execute("PREPARE two (int, int) AS INSERT INTO parameter_rows (b) VALUES ($1), ($2)")
        client.execute("EXECUTE two (100, 101)")
        client.execute("DEALLOCATE two")
        said.append(client.execute(_ALL).fetchall())
    assert said[0] == said[1]
    assert len(said[1]) == 18


def test_what_is_asked_of_rows_is_asked_of_each(clients: list[psycopg.Connection]) -> None:
    """RETURNING, ON CONFLICT and triggers run as they did."""
    said: list[Any] = []
    for client in clients:
        client.execute("TRUNCATE parameter_rows RESTART IDENTITY")
        rows = "INSERT INTO parameter_rows (b, c) VALUES (%s, %s), (%s, %s)"
        returned = client.execute(f"{rows} RETURNING id, b", (1, 1, 2, 2)).fetchall()
        client.execute(f"{rows} ON CONFLICT (c) DO UPDATE SET b = excluded.b", (10, 1, 30, 3))
        client.execute(
            "CREATE FUNCTION double_b() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.b := 2 * NEW.b; RETURN NEW; END'"
        )
        client.execute(
            "CREATE TRIGGER doubles BEFORE INSERT ON parameter_rows FOR EACH ROW EXECUTE FUNCTION double_b()"
        )
        client.execute(rows, (5, 5, 6, 6))
        client.execute("DROP TRIGGER doubles ON parameter_rows")
        client.execute("DROP FUNCTION double_b")
        said.append((returned, client.execute(_ALL).fetchall()))
    assert said[0] == said[1]


@pytest.mark.parametrize(
    "text",
    [
        "INSERT INTO t VALUES ($1, $2)",
        "INSERT INTO t VALUES ($1, $2), ($3)",
        "INSERT INTO t VALUES ($2, $1), ($3, $4)",
        "INSERT INTO t VALUES ($1, $1), ($2, $2)",
        "INSERT INTO t VALUES ($1, 1), ($2, 2)",
        "INSERT INTO t VALUES ($1::int, $2), ($3, $4)",
        "INSERT INTO t VALUES ($1, $2), ($3, $4) ON CONFLICT DO NOTHING",
        "INSERT INTO t VALUES ($1, $2), ($3, $4) -- two",
        "INSERT INTO t VALUES ($1), ($2); SELECT 1",
    ],
)
def test_other_texts_have_no_such_rows(text: str) -> None:
    assert take_parameter_rows(text) is None


def test_the_first_row_means_all() -> None:
    found = take_parameter_rows(
        'insert into s.t (a, "b c") values ($1::numeric(10, 2), $2),\n ($3::numeric(10, 2), $4) ;'
    )
    assert found is not None
    assert (found.text, found.width, found.count) == (
        'insert into s.t (a, "b c") values ($1::numeric(10, 2), $2)',
        2,
        2,
    )
