"""Parameters stand where PostgreSQL's grammar sees a placeholder, and mean what they mean when they are sent apart."""

from __future__ import annotations

import datetime as dt
import ipaddress
from collections.abc import Sequence
from typing import Any

import pytest

import gpudb
from gpudb.api import Connection
from gpudb.api.placeholders import Place, insert_parameters, restore_position, shift_parameters
from gpudb.api.statement_facts import find_query
from gpudb.errors import GpudbError
from tests.support.connection_urls import to_url

ASKED: list[tuple[str, Sequence[object]]] = [
    (r"SELECT E'don\'t use $1 here' AS a, $1::text AS b", ["||(select current_user::text)||E"]),
    (r"SELECT E'\'', $1::int, 'c'", [5]),
    ("SELECT a$x$, $1, b$x$ FROM (VALUES (1, 2)) t(a$x$, b$x$)", [7]),
    ("SELECT 1 /* a /* b */ $1 */, $1::int", [3]),
    ('SELECT $$ $1 $$, $tag$ $1 $tag$, $1::int AS "$1" -- $1', [4]),
    ("SELECT $1[1]", [[7, 8]]),
    ("SELECT v FROM (VALUES ('b'), ('a')) t(v) ORDER BY $1, v", ["x"]),
    ("SELECT $1::text, count(*) FROM generate_series(1, 3) GROUP BY $1", ["x"]),
    ("SELECT $1 + 1, $2, $1", [1, "it's; DROP TABLE t --"]),
    ("SELECT -$1, 2 ^ $1, $1::text", [-3]),
    ("SELECT $1::date + 1, $2", [dt.date(2024, 2, 28), None]),
    ("SELECT 'é', $1::text, 'ü', $2::int", ["ä'", 1]),
]


@pytest.fixture(scope="module")
def served(gpudb_server: str) -> Any:
    """A connection to a server."""
    with gpudb.connect(to_url(gpudb_server)) as connection:
        yield connection


@pytest.mark.parametrize("query, values", ASKED, ids=[query for query, _ in ASKED])
def test_a_server_answers_as_the_embedded_database(served: Connection, query: str, values: Sequence[object]) -> None:
    with gpudb.connect() as embedded:
        assert served.execute(query, values).fetchall() == embedded.execute(query, values).fetchall()
        assert served.sql(query, values).fetchall() == embedded.sql(query, values).fetchall()


def _list_places(text: str) -> tuple[Place, ...]:
    found = find_query(text)
    assert found is not None
    assert found.text == text
    return found.places


def test_what_no_literal_says_is_sent_apart(served: Connection) -> None:
    asked: list[tuple[str, object]] = [
        ("SELECT $1", "\0"),
        ("SELECT $1", ipaddress.ip_address("10.0.0.1")),
        ("SELECT 1", 5),
        ("SELECT $2::int", 5),
    ]
    for text, value in asked:
        assert insert_parameters(text, _list_places(text), [value]) is None
    for query, values in (("SELECT $1::int, $2::int", [5]), ("SELECT $1::text", ["a\0b"])):
        with pytest.raises(GpudbError):
            served.execute(query, values)


def test_numbers_and_positions() -> None:
    query = "SELECT 'é$1', $1, /* $2 */ $2 + nothing"
    assert shift_parameters(query, 3) == "SELECT 'é$1', $4, /* $2 */ $5 + nothing"
    assert shift_parameters(f"  {query}", 3) == "  SELECT 'é$1', $4, /* $2 */ $5 + nothing"
    values, places = ["a long text", 12], _list_places(query)
    made = insert_parameters(query, places, values)
    assert made == "SELECT 'é$1', ('a long text'), /* $2 */ (CAST('12' AS integer)) + nothing"
    assert restore_position(places, values, made.index("nothing") + 1) == query.index("nothing") + 1
    assert restore_position(places, values, made.index("long") + 1) == query.index("$1,") + 1


def test_comments_before_a_statement() -> None:
    """As many as a dump has: the time is that of the text's length."""
    comments = "/* a */\n-- b\n" * 1000
    found = find_query(comments + "SELECT 1 AS a")
    assert found is not None
    assert (found.text.strip().endswith("SELECT 1 AS a"), found.is_bulk) == (True, True)
    assert find_query(comments + "INSERT INTO t VALUES (1)") is None
    assert find_query("SELECT 1 AS a INTO foo UNION SELECT 2") is None
