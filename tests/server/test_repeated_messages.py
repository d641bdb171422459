"""Statements that repeat, whose plans are known: in one packet or in pieces, and amid changes of what they mean."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager

import psycopg
import pytest

from gpudb.server.wire.server import PgServer
from gpudb.session.database import Database
from tests.support import raw_wire
from tests.support.raw_wire import FLUSH, SYNC, Answer, RawClient, bind, describe, execute, parse, query
from tests.support.wire_server import serving

ONE = query("SELECT 1")


@pytest.fixture(scope="module")
def server() -> Iterator[PgServer]:
    database = Database(None)
    with closing(database.session("gpudb")) as session:
        for result in session.run("CREATE TABLE numbers AS SELECT g FROM generate_series(1, 1000) g"):
            result.close()
    with serving(database) as made:
        yield made


@pytest.fixture
def client(server: PgServer) -> Iterator[RawClient]:
    """A client that has run ONE before."""
    with raw_wire.connected(server.address) as client:
        for _ in range(3):
            assert row(ask(client, ONE)) == [b"1"]
        yield client


@pytest.fixture
def other(server: PgServer) -> Iterator[psycopg.Connection]:
    with connected(server) as connection:
        yield connection


def ask(client: RawClient, sent: bytes) -> list[Answer]:
    client.send(sent)
    return client.until()


def row(answers: list[Answer]) -> list[bytes | None]:
    return next(each.values for each in answers if each.kind == "D")


def error(answers: list[Answer]) -> str:
    return next(each.fields["C"] for each in answers if each.kind == "E")


@contextmanager
def connected(server: PgServer) -> Iterator[psycopg.Connection]:
    host, port = server.address
    with psycopg.connect(host=host, port=port, user="gpudb", dbname="gpudb", autocommit=True) as connection:
        yield connection


def test_statements_sent_together_are_answered_in_order(client: RawClient) -> None:
    texts = ["SELECT 1", "SELECT sum(g) FROM numbers", "SELECT 1", "SELECT 2", "BEGIN", "SELECT 1", "COMMIT"]
    client.send(b"".join(map(query, texts)))
    answers = [client.until() for _ in texts]
    values = [row(each) for each in answers if any(answer.kind == "D" for answer in each)]
    assert values == [[b"1"], [b"500500"], [b"1"], [b"2"], [b"1"]]
    assert [each[-1].payload for each in answers] == [b"I"] * 4 + [b"T"] * 2 + [b"I"]


def test_a_message_in_pieces(client: RawClient) -> None:
    for at in (1, 4, 6, len(ONE) - 1):
        client.send(ONE[:at])
        time.sleep(0.01)
        assert row(ask(client, ONE[at:])) == [b"1"]


def test_prepared_statements_and_their_errors(client: RawClient) -> None:
    run = bind("", "s", [b"1"]) + describe("P") + execute() + SYNC
    ask(client, parse("SELECT $1::int", "s") + SYNC)
    for _ in range(3):
        assert [each.kind for each in ask(client, run)] == ["2", "T", "D", "C", "Z"]
    assert error(ask(client, bind("", "s", [b"none"]) + describe("P") + execute() + SYNC)) == "22P02"
    assert error(ask(client, bind("", "other") + execute() + SYNC)) == "26000"
    client.send(bind("", "s", [b"5"]) + FLUSH)
    assert client.receive().kind == "2"
    assert row(ask(client, execute() + SYNC)) == [b"5"]
    binary = ask(client, bind("", "s", [b"\0\0\0\7"], [1], [1]) + execute() + SYNC)
    assert row(binary) == [b"\0\0\0\7"]


def test_a_query_ends_what_was_executed_without_sync(client: RawClient, other: psycopg.Connection) -> None:
    def insert(values: str) -> bytes:
        return parse(f"INSERT INTO unsynced VALUES {values}") + bind() + execute()

    key = "REFERENCES unsynced (a) DEFERRABLE INITIALLY DEFERRED"
    ask(client, query(f"CREATE TABLE unsynced (a int PRIMARY KEY, b int {key})"))
    answers = ask(client, insert("(7, 7)") + ONE)
    assert (row(answers), answers[-1].payload) == ([b"1"], b"I")
    assert other.execute("SELECT count(*) FROM unsynced").fetchone() == (1,)
    assert error(ask(client, insert("(8, 9)") + ONE)) == "23503"
    assert other.execute("SELECT count(*) FROM unsynced").fetchone() == (1,)
    ask(client, query("DROP TABLE unsynced"))


def test_a_statement_for_a_node_is_not_the_same_by_itself(client: RawClient) -> None:
    direct = parse("EXECUTE DIRECT ON (no_such) 'SELECT 1'") + bind() + execute() + SYNC
    assert error(ask(client, direct)) == "42704"
    assert row(ask(client, ONE)) == [b"1"]


def test_a_plan_is_of_the_catalog_that_its_transaction_sees(client: RawClient, other: psycopg.Connection) -> None:
    count = query("SELECT * FROM altered")
    ask(client, query("CREATE TABLE altered AS SELECT 1 AS a"))
    for _ in range(3):
        assert row(ask(client, count)) == [b"1"]
    other.execute("ALTER TABLE altered ADD COLUMN b int DEFAULT 2")
    assert row(ask(client, count)) == [b"1", b"2"]
    ask(client, query("BEGIN"))
    ask(client, query("ALTER TABLE altered ADD COLUMN c int DEFAULT 3"))
    assert row(ask(client, count)) == [b"1", b"2", b"3"]
    ask(client, query("ROLLBACK"))
    assert row(ask(client, count)) == [b"1", b"2"]
    ask(client, query("DROP TABLE altered"))


def test_transactions_are_counted(client: RawClient, other: psycopg.Connection) -> None:
    def count() -> int:
        found = other.execute("SELECT xact_commit FROM pg_stat_database WHERE datname = 'gpudb'").fetchone()
        assert found is not None
        return int(found[0])

    before = count()
    for _ in range(50):
        ask(client, ONE)
    assert count() - before in range(50, 60)
