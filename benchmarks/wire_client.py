"""Clients of a PostgreSQL server on raw sockets, in a process of their own: statements as fast as they are answered.

    python -m benchmarks.wire_client HOST PORT USER DATABASE CASE CLIENTS SECONDS

Prints JSON: each answer's time in seconds, and the rows of the first. The program imports neither gpudb nor a driver:
what it costs is little, and the same for each server. All clients send their next statement once they have the whole
answer to the last one.
"""

from __future__ import annotations

import json
import select
import socket
import struct
import sys
import time
from dataclasses import dataclass, field

_READY = b"Z\0\0\0\x05"
_ROWS = 10_000


def _message(kind: bytes, payload: bytes = b"") -> bytes:
    return kind + struct.pack("!i", len(payload) + 4) + payload


def _query(sql: str) -> bytes:
    return _message(b"Q", sql.encode() + b"\0")


def _parse(sql: str) -> bytes:
    return _message(b"P", b"s\0" + sql.encode() + b"\0\0\0") + _message(b"S")


def _execute(parameter: bytes) -> bytes:
    """Runs the prepared statement as libpq does: Bind, Describe, Execute, Sync."""
    value = struct.pack("!hhi", 0, 1, len(parameter)) + parameter + b"\0\0"
    bind = _message(b"B", b"\0s\0" + value)
    return bind + _message(b"D", b"P\0") + _message(b"E", b"\0" + struct.pack("!i", 0)) + _message(b"S")


SETUP = (
    "CREATE TABLE bench_rows (id int PRIMARY KEY, kind int, value int, name text)",
    f"INSERT INTO bench_rows SELECT g, g % 10, g * 7919 % 1000, 'row ' || g FROM generate_series(1, {_ROWS}) g",
    "ANALYZE bench_rows",
)
"""The table of the statements."""

_BY_KEY = "SELECT name, value FROM bench_rows WHERE id = "
_GROUPED = "SELECT kind, count(*), sum(value) FROM bench_rows WHERE value < {} GROUP BY kind ORDER BY kind"
_STATEMENTS = {
    "SELECT 1": ("SELECT 1", "SELECT $1::int", b"1"),
    "by key": (f"{_BY_KEY}5000", f"{_BY_KEY}$1", b"5000"),
    "grouped": (_GROUPED.format(900), _GROUPED.format("$1"), b"900"),
}
"""By name: a statement, the same with a parameter, and its value."""


def _list_cases(name: str) -> dict[str, tuple[bytes, tuple[bytes, ...]]]:
    """Returns the cases of a statement: alone, prepared, and within a transaction."""
    text, prepared, parameter = _STATEMENTS[name]
    return {
        name: (b"", (_query(text),)),
        f"{name}, prepared": (_parse(prepared), (_execute(parameter),)),
        f"{name}, in a transaction": (b"", (_query("BEGIN"), _query(text), _query("COMMIT"))),
    }


CASES = {case: messages for name in _STATEMENTS for case, messages in _list_cases(name).items()}
"""By case: what a client sends first, and the messages of a statement, each of which has an answer."""


@dataclass(slots=True)
class Client:
    """One connection: the statement's step that is awaited, since when, and what has come of its answer."""

    connection: socket.socket
    step: int = 0
    started: float = 0.0
    received: bytes = b""
    answer: list[bytes] = field(default_factory=list)


def connect(host: str, port: int, user: str, database: str) -> socket.socket:
    """Returns an authenticated connection of a user without a password."""
    connection = socket.create_connection((host, port), timeout=60)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    parameters = f"user\0{user}\0database\0{database}\0\0".encode()
    connection.sendall(struct.pack("!ii", len(parameters) + 8, 196608) + parameters)
    read_answer(connection)
    return connection


def read_answer(connection: socket.socket) -> bytes:
    """Reads to ReadyForQuery; raises RuntimeError for an error."""
    data = b""
    while data[-6:-1] != _READY:
        piece = connection.recv(65536)
        if not piece:
            raise RuntimeError("the server closed the connection")
        data += piece
        if data[:1] == b"E":
            raise RuntimeError(data.decode("utf-8", "replace"))
    return data


def list_rows(answer: bytes) -> list[str]:
    """Returns the DataRow messages of an answer, without their heads."""
    at, rows = 0, []
    while at < len(answer):
        end = at + 1 + int.from_bytes(answer[at + 1 : at + 5], "big")
        if answer[at : at + 1] == b"D":
            rows.append(answer[at + 5 : end].hex())
        at = end
    return rows


def run(clients: list[Client], steps: tuple[bytes, ...], seconds: float) -> list[float]:
    """Runs a statement on all clients again and again; returns the time of each."""
    times: list[float] = []
    poll = select.epoll()
    by_number = {client.connection.fileno(): client for client in clients}
    for number, client in by_number.items():
        client.connection.setblocking(False)
        poll.register(number, select.EPOLLIN)
        client.step, client.started = 0, time.perf_counter()
        client.connection.send(steps[0])
    end = time.perf_counter() + seconds
    running = len(clients)
    while running:
        for number, _ in poll.poll(60):
            client = by_number[number]
            piece = client.connection.recv(65536)
            if client.received:
                piece = client.received + piece
            if piece[-6:-1] != _READY:
                if not piece or piece[:1] == b"E":
                    raise RuntimeError(f"no answer but {piece!r}")
                client.received = piece
                continue
            if client.received:
                client.received = b""
            if client.answer[client.step] != piece:
                raise RuntimeError(f"another answer than before: {piece!r}")
            client.step += 1
            if client.step == len(steps):
                now = time.perf_counter()
                times.append(now - client.started)
                client.step, client.started = 0, now
                if now > end:
                    running -= 1
                    continue
            client.connection.send(steps[client.step])
    for number in by_number:
        poll.unregister(number)
    return times


def main() -> None:
    """Connects, warms up for a fifth of the time, and measures."""
    host, port, user, database, case, count, seconds = sys.argv[1:]
    first, steps = CASES[case]
    clients = [Client(connect(host, int(port), user, database)) for _ in range(int(count))]
    for client in clients:
        if first:
            client.connection.sendall(first)
            read_answer(client.connection)
        for step in steps:
            client.connection.sendall(step)
            client.answer.append(read_answer(client.connection))
    run(clients, steps, float(seconds) / 5)
    times = run(clients, steps, float(seconds))
    rows = [row for answer in clients[0].answer for row in list_rows(answer)]
    json.dump({"times": times, "rows": rows}, sys.stdout)


if __name__ == "__main__":
    main()
