"""Completion of the shell, over a database's own catalog: what is offered at the cursor, written as ^."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

import gpudb
from gpudb.cli.completion.completer import SqlCompleter
from gpudb.cli.completion.names import load_names
from tests.support.connection_urls import to_url
from tests.support.oracle.server import Oracle

MAKE = """
CREATE SCHEMA shop;
CREATE TABLE shop.customers (id bigint PRIMARY KEY, name text, "Joined" date);
CREATE TABLE shop.orders (
    id bigint PRIMARY KEY, customer_id bigint REFERENCES shop.customers (id), placed timestamp, total numeric(10, 2)
);
CREATE VIEW shop.recent_orders AS SELECT id, total FROM shop.orders;
SET search_path TO shop, public;
"""


@pytest.fixture(scope="module", params=["embedded", "postgresql"])
def completer(request: pytest.FixtureRequest) -> Iterator[SqlCompleter]:
    """A completer with the names of a database, of gpudb and of PostgreSQL in turn, that holds these alone."""
    with ExitStack() as stack:
        target = None
        if request.param == "postgresql":
            oracle: Oracle = request.getfixturevalue("oracle")
            target = to_url(stack.enter_context(oracle.database("completion")))
        with gpudb.connect(target) as db:
            for statement in MAKE.split(";"):
                if statement.strip():
                    db.execute(statement)
            yield SqlCompleter(load_names(db))


def complete(completer: SqlCompleter, text: str) -> list[str]:
    """The completions at ^, as texts."""
    at = text.index("^")
    document = Document(text.replace("^", ""), at)
    return [each.text for each in completer.get_completions(document, CompleteEvent(completion_requested=True))]


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("sel^", ["select"]),
        ("SELECT * FROM ord^", ["orders", "recent_orders"]),
        ("SELECT * FROM shop.^", ["customers", "orders", "recent_orders"]),
        ("SELECT * FROM rco^", ["recent_orders"]),
        ("SELECT tot^ FROM orders", ["total"]),
        ("SELECT o.^ FROM orders AS o", ["customer_id", "id", "placed", "total"]),
        ("SELECT o.pl^ FROM customers c, orders o", ["placed"]),
        ("SELECT * FROM orders JOIN cust^", ["customers"]),
        ("SELECT * FROM orders o JOIN customers c ON ^", ["o.customer_id = c.id", "o.id = c.id"]),
        ("SELECT * FROM orders JOIN customers USING (^", ["id"]),
        ("SELECT * FROM orders WHERE pla^", ["placed"]),
        ("SELECT * FROM orders WHERE total > 1 AND cus^", ["customer_id"]),
        ("SELECT * FROM customers ORDER BY na^", ["name"]),
        ('SELECT "Jo^ FROM customers', []),  # inside quotes
        ("SELECT joi^ FROM customers", ['"Joined"']),
        ("WITH big AS (SELECT id AS number, total FROM orders) SELECT num^ FROM big", ["number"]),
        ("WITH big AS (SELECT id FROM orders) SELECT * FROM bi^", ["big"]),
        ("SELECT s.^ FROM (SELECT id, total * 2 AS twice FROM orders) AS s", ["id", "twice"]),
        ("SELECT (SELECT max(pla^) FROM orders) FROM customers", ["placed"]),
        ("INSERT INTO orders (cus^", ["customer_id"]),
        ("INSERT INTO orders (id, ^", ["customer_id", "id", "placed", "total"]),
        ("UPDATE orders SET tot^", ["total"]),
        ("DELETE FROM cust^", ["customers"]),
        ("SELECT total::nume^", ["numeric"]),
        ("SET work_m^", ["work_mem"]),
        ("SHOW timez^", ["TimeZone"]),
        ("SELECT 1; SELECT na^ FROM customers; SELECT 2", ["name"]),
        ("SELECT 'it^", []),
        ("SELECT 1 -- ord^", []),
        ("\\wat^", ["\\watch"]),
        ("\\d ord^", ["orders", "recent_orders"]),
        ("DROP SCHEMA sh^", ["shop"]),
        ("TRUNCATE ord^", ["orders", "recent_orders"]),
        ("SELECT * FROM orders WHER^", ["WHERE"]),
        ("SELECT * FROM orders gro^", ["group"]),
    ],
)
def test_what_is_offered_first(completer: SqlCompleter, text: str, first: list[str]) -> None:
    offered = complete(completer, text)
    assert offered[: len(first)] == first
    if not first:
        assert offered == []


def test_functions_and_keywords_follow_columns(completer: SqlCompleter) -> None:
    offered = complete(completer, "SELECT co^ FROM orders")
    assert "count(" in offered
    assert "coalesce" in offered or "COALESCE" in offered
    assert complete(completer, "SELECT total ^")[:1] != []
    assert not [each for each in complete(completer, "SELECT * FROM ord^") if each.endswith("(")]


def test_nothing_is_offered_unasked_where_nothing_is_typed(completer: SqlCompleter) -> None:
    document = Document("SELECT * FROM ", 14)
    assert list(completer.get_completions(document, CompleteEvent(text_inserted=True))) == []
    document = Document("SELECT * FROM shop.", 19)
    assert len(list(completer.get_completions(document, CompleteEvent(text_inserted=True)))) == 3


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with files and a folder of files."""
    for name in ("rides.csv", "rides.parquet", "it's.sql", ".hidden", "raw/rides-1.csv", "raw/rides-2.csv"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("text", "offered"),
    [
        ("\\i r^", ["raw/", "rides.csv", "rides.parquet"]),
        ("\\i raw/^", ["rides-1.csv", "rides-2.csv"]),
        ("\\i .^", [".hidden"]),
        ("\\i 'it^", ["it''s.sql"]),
        ("\\o nothing^", []),
        ("\\copy rides FROM raw/rides-^", ["rides-1.csv", "rides-2.csv"]),
        ("\\copy rides from 'rid^", ["rides.csv", "rides.parquet"]),
        ("\\copy (SELECT 'x' FROM t) TO 'rid^", ["rides.csv", "rides.parquet"]),
        ("SELECT 1 \\g rides.c^", ["rides.csv"]),
        ("SELECT * FROM 'raw/^", ["rides-1.csv", "rides-2.csv"]),
        ("FROM read_csv('rides.^", ["rides.csv", "rides.parquet"]),
        ("COPY rides TO 'rides.p^", ["rides.parquet"]),
        ("SELECT a\nFROM 'rides.csv' JOIN 'raw/rides-1^", ["rides-1.csv"]),
        ("SELECT 'r^", []),
        ("SELECT 'from r^", []),
    ],
)
def test_files_are_offered_where_one_is_expected(folder: Path, text: str, offered: list[str]) -> None:
    assert complete(SqlCompleter(), text) == offered


def test_a_path_from_the_root_or_the_home(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(folder))
    assert complete(SqlCompleter(), f"FROM '{folder}/ra^") == ["raw/"]
    assert complete(SqlCompleter(), "\\i ~/rides.c^") == ["rides.csv"]
