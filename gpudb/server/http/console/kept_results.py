"""Results that the page shows, kept for a while: downloads and charts read these rows, and no statement runs again."""

from __future__ import annotations

import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pyarrow as pa

from gpudb.duckdb.literals import quote_identifier
from gpudb.errors import SqlError
from gpudb.server.http.console.logins import ConsoleLogin
from gpudb.session.results import ResultColumn
from gpudb.session.session import Session
from gpudb.sql.bound import OutputColumn

MAX_RESULT, MAX_ALL = 64 << 20, 256 << 20
"""Bytes of one result that is kept, and of all together; beyond them the longest unused ones go."""
MAX_KEPT = 1000
"""Results that are kept together: a text may have more statements than that."""


@dataclass(frozen=True, slots=True)
class KeptResult:
    """The whole rows of a result: `rows` has the columns c1, c2 …; `zone` is the TimeZone in which it was shown."""

    token: str
    columns: tuple[ResultColumn, ...]
    rows: pa.Table
    zone: str

    @property
    def query(self) -> str:
        """The SELECT of its rows, in a session to which it is shown."""
        names = (
            f"c{number} AS {quote_identifier(column.name)}" if column.name else f"c{number}"
            for number, column in enumerate(self.columns, 1)
        )
        return f"SELECT {', '.join(names)} FROM {quote_identifier(name_frame(self.token))}"

    @contextmanager
    def show(self, session: Session) -> Iterator[None]:
        """Context in which a session reads the rows as a table."""
        name = name_frame(self.token)
        session.frame_columns[name] = tuple(
            OutputColumn(f"c{number}", column.type) for number, column in enumerate(self.columns, 1)
        )
        session.frames[name] = self.rows
        session.settings.set("gpudb.fallback", "on")  # workers have no such rows
        try:
            yield
        finally:
            session.frames.pop(name, None)
            session.frame_columns.pop(name, None)


def name_frame(token: str) -> str:
    """Returns the name by which statements read a kept result."""
    return f"gpudb result {token}"


class Collector:
    """The batches of a result while they are sent, until they are too many."""

    def __init__(self) -> None:
        self._batches: list[pa.RecordBatch] | None = []
        self._size = 0

    def add(self, batch: pa.RecordBatch) -> None:
        """Adds a batch."""
        if self._batches is not None:
            self._batches.append(batch)
            self._size += batch.nbytes
            if self._size > MAX_RESULT:
                self._batches = None

    def finish(self, columns: tuple[ResultColumn, ...], zone: str) -> KeptResult | None:
        """Returns the result if all of its rows were kept."""
        if self._batches is None or not columns:
            return None
        schema = pa.schema([(f"c{number}", column.type.arrow) for number, column in enumerate(columns, 1)])
        batches = [pa.RecordBatch.from_arrays(batch.columns, schema=schema) for batch in self._batches]
        rows = _own(pa.Table.from_batches(batches, schema))
        return KeptResult(secrets.token_urlsafe(12), columns, rows, zone)


def _own(rows: pa.Table) -> pa.Table:
    """Returns rows whose memory is theirs: a copy of a part of others, which would stay with it."""
    if rows.get_total_buffer_size() <= 2 * rows.nbytes:
        return rows
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_table(rows)
    return pa.ipc.open_stream(sink.getvalue()).read_all()


class KeptResults:
    """The results of all logins' tabs. Thread-safe."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, tuple[ConsoleLogin, str, KeptResult]] = OrderedDict()
        self._size = 0
        self._lock = threading.Lock()

    def put(self, login: ConsoleLogin, tab: str, result: KeptResult) -> str:
        """Keeps a result of a tab; returns its token."""
        with self._lock:
            self._kept[result.token] = login, tab, result
            self._size += result.rows.nbytes
            while self._size > MAX_ALL or len(self._kept) > MAX_KEPT:
                self._remove(next(iter(self._kept)))
        return result.token

    def find(self, login: ConsoleLogin, token: str) -> KeptResult:
        """Returns a login's own result; 42704 if it is not kept, or not any more."""
        with self._lock:
            owner, _, result = self._kept.get(token, (None, "", None))
            if result is not None and owner is login:
                self._kept.move_to_end(token)
                return result
        hint = "Run the statement again."
        raise SqlError.of("undefined_object", "the server does not keep this result any more", hint=hint)

    def drop(self, login: ConsoleLogin, tab: str) -> None:
        """Forgets the results of a tab."""
        self._drop(lambda owner, name: owner is login and name == tab)

    def drop_ended(self) -> None:
        """Forgets the results of logins and of tabs that have ended, also of runs that ended later than these."""
        self._drop(lambda owner, name: owner.is_ended or name not in owner.tabs)

    def _drop(self, is_gone: Callable[[ConsoleLogin, str], bool]) -> None:
        with self._lock:
            for token, (owner, tab, _) in list(self._kept.items()):
                if is_gone(owner, tab):
                    self._remove(token)

    def _remove(self, token: str) -> None:
        _, _, result = self._kept.pop(token)
        self._size -= result.rows.nbytes
