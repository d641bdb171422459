"""LISTEN on one server hears NOTIFY of the other, after it has committed."""

from __future__ import annotations

from tests.support.coordinators import Connection, catch_up, read_value
from tests.support.postgres_program import PostgresProgram
from tests.support.sessions import wait_until


def _hear(connection: Connection, count: int) -> list[tuple[str, str]]:
    found = connection.notifies(timeout=20, stop_after=count)
    return [(each.channel, each.payload) for each in found]


def test_a_session_hears_the_other_server(one: Connection, two: Connection) -> None:
    one.execute("CREATE TABLE events (a int); LISTEN news")
    two.execute("LISTEN other")
    with two.transaction():
        two.execute("NOTIFY news, 'rolled back'")
        two.execute("ROLLBACK; BEGIN")
    with two.transaction():
        two.execute("NOTIFY news, 'first'")
        two.execute("NOTIFY unheard, 'x'")
        two.execute("SELECT pg_notify('news', repeat('é', 3900))")
    assert _hear(one, 2) == [("news", "first"), ("news", "é" * 3900)]
    assert list(two.notifies(timeout=0.2)) == []


def test_what_was_committed_with_it_is_seen(one: Connection, two: Connection) -> None:
    one.execute("CREATE TABLE queue (a int); LISTEN jobs")
    two.execute("LISTEN jobs")
    catch_up(two)
    for number in range(1, 6):
        writer, reader = (one, two) if number % 2 else (two, one)
        with writer.transaction():
            writer.execute(f"INSERT INTO queue VALUES ({number})".encode())
            writer.execute("NOTIFY jobs")
        assert _hear(reader, 1) == [("jobs", "")]
        assert read_value(reader, "SELECT max(a) FROM queue") == number
        _hear(writer, 1)  # its own


def test_it_goes_on_after_postgresql_was_killed(one: Connection, two: Connection, postgres: PostgresProgram) -> None:
    one.execute("LISTEN again")
    postgres.kill()
    postgres.start()

    def is_heard() -> bool:
        two.execute("NOTIFY again")
        return bool(list(one.notifies(timeout=0.2, stop_after=1)))

    wait_until(is_heard, "a notification arrives")
