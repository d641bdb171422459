"""Clients whose short statements another thread answers: whatever comes after those is handled as ever."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager

import psycopg
import pytest

from gpudb.server.wire import handler
from gpudb.server.wire.server import PgServer
from gpudb.session.database import Database
from tests.support import raw_wire
from tests.support.raw_wire import FLUSH, SYNC, Answer, RawClient, bind, describe, execute, message, parse, query
from tests.support.sessions import wait_until
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


def ask(client: RawClient, sent: bytes) -> list[Answer]:
    client.send(sent)
    return client.until()


def row(answers: list[Answer]) -> list[bytes | None]:
    return next(each.values for each in answers if each.kind == "D")


def error(answers: list[Answer]) -> str:
    return next(each.fields["C"] for each in answers if each.kind == "E")


@contextmanager
def parked(server: PgServer, first: bytes = b"", again: bytes = ONE) -> Iterator[RawClient]:
    """A client that is parked, after it has sent `first`, and often `again` in turns with another one."""
    with raw_wire.connected(server.address) as beside, raw_wire.connected(server.address) as client:
        if first:
            ask(client, first)

        def is_parked() -> bool:
            for _ in range(2 * handler._PARKED_AFTER):
                assert row(ask(client, again)) == [b"1"]
                assert row(ask(beside, ONE)) == [b"1"]
            port = client.socket.getsockname()[1]
            return any(each.client_address[1] == port for each in server.parked.list_clients())

        wait_until(is_parked, "a client that is parked")
        assert row(ask(client, again)) == [b"1"]
        yield client


@contextmanager
def connected(server: PgServer) -> Iterator[psycopg.Connection]:
    host, port = server.address
    with psycopg.connect(host=host, port=port, user="gpudb", dbname="gpudb", autocommit=True) as connection:
        yield connection


def test_a_longer_statement_returns_to_its_own_thread(server: PgServer) -> None:
    with parked(server) as client:
        for _ in range(3):
            assert row(ask(client, query("SELECT count(*) FROM numbers"))) == [b"1000"]
            for _ in range(2 * handler._PARKED_AFTER):
                assert row(ask(client, ONE)) == [b"1"]


def test_statements_sent_together_are_answered_in_order(server: PgServer) -> None:
    with parked(server) as client:
        texts = ["SELECT 1", "SELECT sum(g) FROM numbers", "SELECT 1", "SELECT 2", "BEGIN", "SELECT 1", "COMMIT"]
        client.send(b"".join(map(query, texts)))
        answers = [client.until() for _ in texts]
        values = [row(each) for each in answers if any(answer.kind == "D" for answer in each)]
        assert values == [[b"1"], [b"500500"], [b"1"], [b"2"], [b"1"]]
        assert [each[-1].payload for each in answers] == [b"I"] * 4 + [b"T"] * 2 + [b"I"]


def test_a_message_in_pieces(server: PgServer) -> None:
    with parked(server) as client:
        for at in (1, 4, 6, len(ONE) - 1):
            client.send(ONE[:at])
            time.sleep(0.01)  # so that the pieces come one by one
            assert row(ask(client, ONE[at:])) == [b"1"]


def test_prepared_statements_and_their_errors(server: PgServer) -> None:
    run = bind("", "s", [b"1"]) + describe("P") + execute() + SYNC
    with parked(server, parse("SELECT $1::int", "s") + SYNC, run) as client:
        assert error(ask(client, bind("", "s", [b"none"]) + describe("P") + execute() + SYNC)) == "22P02"
        assert [each.kind for each in ask(client, run)] == ["2", "T", "D", "C", "Z"]
        assert error(ask(client, bind("", "other") + execute() + SYNC)) == "26000"
        client.send(bind("", "s", [b"5"]) + FLUSH)
        assert client.receive().kind == "2"
        assert row(ask(client, execute() + SYNC)) == [b"5"]
        binary = ask(client, bind("", "s", [b"\0\0\0\7"], [1], [1]) + execute() + SYNC)
        assert row(binary) == [b"\0\0\0\7"]


def test_a_failed_transaction_is_failed_until_its_end(server: PgServer) -> None:
    with parked(server) as client:
        ask(client, query("BEGIN"))
        assert error(ask(client, query("SELECT 1 / 0"))) == "22012"
        answers = ask(client, ONE)
        assert error(answers) == "25P02"
        assert answers[-1].payload == b"E"
        assert ask(client, query("COMMIT"))[0].text == "ROLLBACK"
        assert row(ask(client, ONE)) == [b"1"]


def test_a_transaction_with_changes_is_committed(server: PgServer) -> None:
    with parked(server) as client, connected(server) as other:
        ask(client, query("CREATE TABLE changed (a int)"))
        ask(client, query("BEGIN"))
        ask(client, query("INSERT INTO changed VALUES (7)"))
        for _ in range(3 * handler._PARKED_AFTER):
            assert row(ask(client, ONE)) == [b"1"]
        assert other.execute("SELECT count(*) FROM changed").fetchone() == (0,)
        assert ask(client, query("COMMIT"))[0].text == "COMMIT"
        assert other.execute("SELECT count(*) FROM changed").fetchone() == (1,)
        ask(client, query("DROP TABLE changed"))


def test_a_query_ends_what_was_executed_without_sync(server: PgServer) -> None:
    def insert(values: str) -> bytes:
        return parse(f"INSERT INTO unsynced VALUES {values}") + bind() + execute()

    with parked(server) as client, connected(server) as other:
        key = "REFERENCES unsynced (a) DEFERRABLE INITIALLY DEFERRED"
        ask(client, query(f"CREATE TABLE unsynced (a int PRIMARY KEY, b int {key})"))
        for _ in range(3):  # from the second one on its answer is known
            assert row(ask(client, ONE)) == [b"1"]
        answers = ask(client, insert("(7, 7)") + ONE)
        assert (row(answers), answers[-1].payload) == ([b"1"], b"I")
        assert other.execute("SELECT count(*) FROM unsynced").fetchone() == (1,)
        assert error(ask(client, insert("(8, 9)") + ONE)) == "23503"
        assert other.execute("SELECT count(*) FROM unsynced").fetchone() == (1,)
        ask(client, query("DROP TABLE unsynced"))


def test_a_statement_for_a_node_is_not_the_same_by_itself(server: PgServer) -> None:
    direct = parse("EXECUTE DIRECT ON (no_such) 'SELECT 1'") + bind() + execute() + SYNC
    with parked(server) as client:
        assert error(ask(client, direct)) == "42704"
        assert row(ask(client, ONE)) == [b"1"]


def test_definitions_settings_and_roles_change_what_a_text_means(server: PgServer) -> None:
    with parked(server) as client:
        ask(client, query("SET application_name = 'other'"))
        assert row(ask(client, ONE)) == [b"1"]
        assert row(ask(client, query("SHOW application_name"))) == [b"other"]
        text = query("SELECT 'a\\\\b' AS text")
        for _ in range(3):
            assert row(ask(client, text)) == [b"a\\\\b"]
        ask(client, query("SET standard_conforming_strings = on"))
        assert row(ask(client, text)) == [b"a\\\\b"]


def test_another_session_ends_it(server: PgServer) -> None:
    with parked(server) as client, connected(server) as other:
        pid = row(ask(client, query("SELECT pg_backend_pid()")))[0] or b""
        for _ in range(3 * handler._PARKED_AFTER):
            ask(client, ONE)
        found = other.execute("SELECT query, state FROM pg_stat_activity WHERE pid = %s", [int(pid)]).fetchone()
        assert found == ("SELECT 1", "idle")
        other.execute("SELECT pg_terminate_backend(%s)", [int(pid)])
        assert error(client.to_end()) == "57P01"


def test_it_hears_notifications_once_it_listens(server: PgServer) -> None:
    with parked(server) as client, connected(server) as other:
        ask(client, query("BEGIN"))
        ask(client, query("LISTEN parked"))
        for _ in range(3 * handler._PARKED_AFTER):
            ask(client, ONE)
        ask(client, query("COMMIT"))
        other.execute("NOTIFY parked, 'news'")
        assert client.receive().kind == "A"


def test_limits_of_idle_clients_hold(server: PgServer) -> None:
    with parked(server) as client:
        ask(client, query("SET idle_session_timeout = '100ms'"))
        assert error(client.to_end()) == "57P05"
    with parked(server, query("SET idle_in_transaction_session_timeout = 0")) as client:
        ask(client, query("BEGIN"))
        ask(client, query("SET LOCAL idle_in_transaction_session_timeout = '100ms'"))
        assert error(client.to_end()) == "25P03"


def test_a_client_that_leaves_is_forgotten(server: PgServer) -> None:
    wait_until(lambda: not server.ctxts, "no clients")
    with parked(server):
        assert server.ctxts
    wait_until(lambda: not server.ctxts and not server.parked.list_clients(), "the end of both clients")


def test_a_message_of_no_kind_ends_the_connection(server: PgServer) -> None:
    with parked(server) as client:
        client.send(message("?"))
        assert error(client.to_end()) == "08P01"


def test_who_takes_no_answers_holds_up_nobody(server: PgServer) -> None:
    with parked(server) as stuck, parked(server) as client:
        stuck.socket.setblocking(False)
        with pytest.raises(BlockingIOError):
            while True:
                stuck.socket.send(ONE * 100)
        for _ in range(100):
            assert row(ask(client, ONE)) == [b"1"]


def test_shutdown_ends_parked_clients() -> None:
    with serving(Database(None)) as server, parked(server) as client, parked(server) as busy:
        ask(busy, query("BEGIN"))
        for _ in range(3 * handler._PARKED_AFTER):
            ask(busy, ONE)
        server.shutdown(timeout=0.5)
        assert [error(each.to_end()) for each in (client, busy)] == ["57P01", "57P01"]


def test_transactions_are_counted(server: PgServer) -> None:
    def count(other: psycopg.Connection) -> int:
        found = other.execute("SELECT xact_commit FROM pg_stat_database WHERE datname = 'gpudb'").fetchone()
        assert found is not None
        return int(found[0])

    with parked(server) as client, connected(server) as other:
        before = count(other)
        for _ in range(50):
            ask(client, ONE)
        assert count(other) - before in range(50, 60)


def test_a_client_that_alone_is_active_returns_to_its_own_thread(server: PgServer) -> None:
    with parked(server) as client:
        assert server.parked.list_clients()

        def is_alone() -> bool:
            for _ in range(100):
                assert row(ask(client, ONE)) == [b"1"]
            port = client.socket.getsockname()[1]
            return all(each.client_address[1] != port for each in server.parked.list_clients())

        wait_until(is_alone, "its own thread")
        assert row(ask(client, ONE)) == [b"1"]
