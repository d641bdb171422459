"""NOTIFY of clients between coordinators, through NOTIFY of the PostgreSQL that has their catalog."""

from __future__ import annotations

import hashlib
import itertools
import json
import logging
import threading
import uuid
from collections.abc import Callable, Iterable, Sequence

import psycopg

from gpudb.errors import GpudbError
from gpudb.storage.catalog.postgres_connection import Connection, connect, describe

PIECE_LENGTH = 7000
"""Characters of a payload at most: PostgreSQL takes fewer than 8000 bytes."""
_POLL_SECONDS = 0.25
_RETRY_SECONDS = 0.2
_LAST_COMMIT = "SELECT value FROM gpudb_state WHERE key = 'commit'"
_LOG = logging.getLogger(__name__)

Message = tuple[int, str, str]
"""The process ID of the session that sent a notification, its channel and its payload."""


class PostgresNotifications:
    """Sends what sessions of one coordinator notify to the others, and receives theirs in a thread.

    What is sent while PostgreSQL is away, or while a coordinator has lost its connection to it, does not reach that
    coordinator's sessions.
    """

    def __init__(
        self,
        url: str,
        catalog: str,
        catch_up: Callable[[int], None],
        deliver: Callable[[int, Iterable[Message]], None],
    ) -> None:
        """`deliver` gets a database's OID and notifications, after `catch_up` with the number of the last commit."""
        self._url = url
        self._channel = f"gpudb_notify_{hashlib.blake2b(catalog.encode(), digest_size=12).hexdigest()}"
        self._catch_up, self._deliver = catch_up, deliver
        self._source = uuid.uuid4().hex
        self._numbers = itertools.count()
        self._lock = threading.Lock()
        self._sending: Connection | None = None
        self._partial: dict[str, list[str]] = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="gpudb-notifications", daemon=True)
        self._thread.start()

    def send(self, database: int, messages: Sequence[Message]) -> None:
        """Sends notifications of a committed transaction; a failure is logged."""
        text = json.dumps([database, messages])
        pieces = [text[start : start + PIECE_LENGTH] for start in range(0, len(text), PIECE_LENGTH)]
        name = f"{self._source} {next(self._numbers)}"
        payloads = [f"{name} {number} {len(pieces)} {piece}" for number, piece in enumerate(pieces)]
        with self._lock:
            for attempt in (1, 2):  # the connection may be of before PostgreSQL was started anew
                try:
                    if self._sending is None or self._sending.closed:
                        self._sending = connect(self._url)
                    with self._sending.transaction():
                        for payload in payloads:
                            self._sending.execute("SELECT pg_notify(%s, %s)", (self._channel, payload))
                except (psycopg.Error, GpudbError) as error:
                    if self._sending is not None:
                        self._sending.close()
                    if attempt == 2:
                        _LOG.warning("notifications did not reach other coordinators: %s", error)
                else:
                    return

    def close(self) -> None:
        """Stops the thread and closes the connections."""
        self._stop.set()
        self._thread.join(timeout=30)
        with self._lock:
            if self._sending is not None:
                self._sending.close()

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                with connect(self._url) as connection:
                    self._listen(connection)
            except (psycopg.Error, GpudbError, OSError) as error:
                _LOG.debug("cannot listen: %s", describe(error) if isinstance(error, psycopg.Error) else error)
            except Exception:
                _LOG.exception("the thread that receives other coordinators' notifications failed, and begins anew")
            self._stop.wait(_RETRY_SECONDS)

    def _listen(self, connection: Connection) -> None:
        connection.execute(f"LISTEN {self._channel}")
        self._partial.clear()
        while not self._stop.is_set():
            payloads = [each.payload for each in connection.notifies(timeout=_POLL_SECONDS, stop_after=1)]
            complete = [text for payload in payloads if (text := self._assemble(payload)) is not None]
            if complete:
                row = connection.execute(_LAST_COMMIT).fetchone()
                assert row is not None
                self._catch_up(int(row[0]))
            for text in complete:
                database, messages = json.loads(text)
                self._deliver(database, [(pid, channel, payload) for pid, channel, payload in messages])

    def _assemble(self, payload: str) -> str | None:
        """Returns the text whose last piece this is; None for others, and for what this coordinator has sent."""
        source, number, index, count, piece = payload.split(" ", 4)
        if source == self._source:
            return None
        name = f"{source} {number}"
        pieces = self._partial.setdefault(name, [])
        pieces.append(piece)
        if int(index) + 1 < int(count):
            return None
        del self._partial[name]
        return "".join(pieces) if len(pieces) == int(count) else None
