"""LISTEN and NOTIFY between sessions: the same notifications as PostgreSQL's, also while a client idles."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import psycopg
import pytest

from tests.support.oracle.server import Oracle
from tests.support.server_program import Program

Connection = psycopg.Connection[tuple[object, ...]]


def heard(connection: Connection, seconds: float = 60.0, most: int = 1) -> list[tuple[str, str]]:
    """The notifications that an idle client gets within a time, `most` at most."""
    found = connection.notifies(timeout=seconds, stop_after=most)
    return [(each.channel, each.payload) for each in found]


def play(dsn: str) -> list[object]:
    """What one session hears of another."""
    got: list[object] = []
    with psycopg.connect(dsn, autocommit=True) as one, psycopg.connect(dsn, autocommit=True) as two:
        one.execute("LISTEN news")
        two.execute("NOTIFY news, 'first'")
        found = next(one.notifies(timeout=60))
        got += [found.channel, found.payload, found.pid == two.info.backend_pid]
        with two.transaction():
            two.execute("NOTIFY news, 'same'")
            two.execute("NOTIFY news, 'same'")
            two.execute("SELECT pg_notify('news', 'other'), pg_notify('elsewhere', 'x')")
            got.append(heard(one, 0.1))
        got.append(heard(one, most=2))
        try:
            with two.transaction():
                two.execute("NOTIFY news, 'never'")
                raise psycopg.Rollback
        except psycopg.Rollback:
            pass
        with two.transaction():
            try:
                with two.transaction():
                    two.execute("NOTIFY news, 'undone'")
                    raise ValueError
            except ValueError:
                two.execute("NOTIFY news, 'done'")
        got.append(heard(one))
        with one.transaction():
            two.execute("NOTIFY news, 'inside'")
            one.execute("SELECT 1")
            got.append(heard(one, 0.1))
        got.append(heard(one))
        one.execute("NOTIFY news, 'to myself'")
        got.append(heard(one))
        one.execute("UNLISTEN news")
        two.execute("NOTIFY news, 'unheard'")
        got.append(heard(one, 0.1))
    return got


def test_sessions_hear_what_postgresql_lets_them_hear(oracle: Oracle, gpudb_server: str) -> None:
    expected = play(oracle.dsn)
    assert play(gpudb_server) == expected
    assert expected[:3] == ["news", "first", True]


def test_many_idle_clients_hear_everything_in_order(gpudb_server: str) -> None:
    listeners = [psycopg.connect(gpudb_server, autocommit=True) for _ in range(8)]
    sent = [str(number) for number in range(40)]
    got: dict[int, list[str]] = {}

    def listen(number: int, connection: Connection) -> None:
        got[number] = [payload for _, payload in heard(connection, 20.0, len(sent))]

    try:
        for each in listeners:
            each.execute("LISTEN many")
        threads = [threading.Thread(target=listen, args=pair) for pair in enumerate(listeners)]
        for thread in threads:
            thread.start()
        with psycopg.connect(gpudb_server, autocommit=True) as sender:
            for payload in sent:
                sender.execute("SELECT pg_notify('many', %s)", (payload,))
        for thread in threads:
            thread.join(30)
        assert got == dict.fromkeys(range(len(listeners)), sent)
    finally:
        for each in listeners:
            each.close()


def test_a_listening_client_can_be_ended(tmp_path: Path) -> None:
    """idle_session_timeout and the end of the server end a client that listens."""
    server = Program(tmp_path / "data")
    try:
        with psycopg.connect(server.dsn, autocommit=True) as one:
            one.execute("LISTEN news")
            one.execute("SET idle_session_timeout = '300ms'")
            started = time.monotonic()
            with pytest.raises(psycopg.OperationalError):
                heard(one, 60.0)
            assert 0.2 < time.monotonic() - started < 60
        with psycopg.connect(server.dsn, autocommit=True) as two:
            two.execute("LISTEN news")
            server.stop()
            with pytest.raises(psycopg.OperationalError):
                heard(two, 60.0)
    finally:
        server.kill()
