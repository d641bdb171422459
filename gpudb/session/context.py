"""What a statement runs in: its session, transaction, and the value of now; handed to whoever carries it out."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa

from gpudb.engine.protocol import Cancel, Request, Settings
from gpudb.session import system_tables
from gpudb.session.results import Notice, Result, ResultColumn
from gpudb.sql.bound import OutputColumn, Query
from gpudb.sql.parse import RawStatement
from gpudb.storage.transaction import Transaction
from gpudb.types import TEXT

if TYPE_CHECKING:
    from gpudb.session.session import Session


@dataclass(slots=True)
class Context:
    """One statement being carried out."""

    session: Session
    statement: RawStatement
    transaction: Transaction
    cancel: Cancel
    parameters: tuple[object, ...] = ()
    parameter_oids: tuple[int, ...] = ()
    started: dt.datetime = field(default_factory=lambda: dt.datetime.now(dt.UTC))

    def request(self, query: Query) -> Request:
        """A query over this transaction's snapshot."""
        return Request(query, self.transaction.catalog, self.settings(), self.parameters, self.cancel)

    def settings(self) -> Settings:
        """What of the session an answer depends on."""
        session = self.session
        return Settings(
            session.settings["TimeZone"],
            session.function_values(self),
            dict(session.frames),
            session.search_path(),
            system_tables.tables(session, self),
        )

    def notice(self, message: str, **more: str) -> None:
        """Tells the client something beside the result."""
        self.session.notices.append(Notice(message, **more))


def result_columns(columns: tuple[OutputColumn, ...]) -> tuple[ResultColumn, ...]:
    """A query's columns as a client is told of them."""
    return tuple(ResultColumn(c.name, c.type, c.table_oid, c.number) for c in columns)


def command(tag: str) -> Result:
    """A result of a command tag alone."""
    return Result(tag)


def text_rows(tag: str, names: tuple[str, ...], rows: list[tuple[str | None, ...]]) -> Result:
    """A small result of text columns (SHOW, EXPLAIN)."""
    columns = tuple(ResultColumn(name, TEXT) for name in names)
    return Result(tag, columns, _batches(columns, rows))


def _batches(columns: tuple[ResultColumn, ...], rows: list[tuple[str | None, ...]]) -> Iterator[pa.RecordBatch]:
    arrays = [pa.array([row[index] for row in rows], type=column.type.arrow) for index, column in enumerate(columns)]
    names = [f"c{number}" for number in range(1, len(columns) + 1)]
    yield pa.RecordBatch.from_arrays(arrays, names=names)


Handler = Callable[[Context], Result]
_HANDLERS: dict[str, Handler] = {}


def handles(*kinds: str) -> Callable[[Handler], Handler]:
    """Declares who carries out a kind of statement (the parse tree's name for it)."""

    def register(handler: Handler) -> Handler:
        for kind in kinds:
            _HANDLERS[kind] = handler
        return handler

    return register


def handler(kind: str) -> Handler | None:
    """Who carries out a kind of statement."""
    return _HANDLERS.get(kind)
