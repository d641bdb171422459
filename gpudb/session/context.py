"""What a statement runs in: its session, transaction, and the value of now; handed to whoever carries it out."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

import pyarrow as pa

from gpudb.engine.protocol import Cancel, Request, Settings
from gpudb.session.execution import cluster_tables, system_tables
from gpudb.session.results import Notice, Result, ResultColumn
from gpudb.sql.bind.binder import Arguments
from gpudb.sql.bound import OutputColumn, Query, Statement, outputs
from gpudb.sql.parse.parser import RawStatement
from gpudb.storage.transaction import Transaction
from gpudb.types import TEXT, SqlType

if TYPE_CHECKING:
    from gpudb.session.session import Session

K = TypeVar("K")
V = TypeVar("V")


class Later(Mapping[K, V]):
    """A mapping that is made when it is first looked into: most statements never do."""

    def __init__(self, make: Callable[[], Mapping[K, V]]) -> None:
        self._make: Callable[[], Mapping[K, V]] | None = make
        self._made: Mapping[K, V] = {}

    def _all(self) -> Mapping[K, V]:
        make, self._make = self._make, None
        if make is not None:
            self._made = make()
        return self._made

    def __getitem__(self, key: K) -> V:
        return self._all()[key]

    def __iter__(self) -> Iterator[K]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())


@dataclass(slots=True)
class Context:
    """One statement being carried out.

    `draws` says whether it calls sequence functions, where that is known; `arguments` are those of the procedure that
    it is a statement of, and `level` counts the procedures around it.
    """

    session: Session
    statement: RawStatement
    transaction: Transaction
    cancel: Cancel
    parameters: tuple[object, ...] = ()
    parameter_oids: tuple[int, ...] = ()
    started: dt.datetime = field(default_factory=lambda: dt.datetime.now(dt.UTC))
    draws: bool | None = None
    arguments: Arguments | None = None
    level: int = 0

    def request(self, query: Query) -> Request:
        """A query over this transaction's snapshot."""
        return Request(query, self.transaction.catalog, self.settings(), self.parameters, self.cancel)

    def settings(self) -> Settings:
        """What of the session an answer depends on."""
        session = self.session
        return Settings(
            session.settings["timezone"],
            Later(lambda: session.function_values(self)),
            dict(session.frames) if session.frames else {},
            session.search_path(),
            Later(lambda: system_tables.tables(session, self)),
            session.settings["gpudb.fallback"] == "on",
            self.notice,
            session.process_id,
            self._node(),
            session.settings["gpudb.fused"] == "on",
        )

    def _node(self) -> int | None:
        """The worker over whose rows alone EXECUTE DIRECT is."""
        name = self.statement.node_named
        if name is None:
            return None
        return cluster_tables.worker_named(self, name)

    def notice(self, message: str, **more: str) -> None:
        """Tells the client something beside the result."""
        self.session.notices.append(Notice(message, **more))


def result_columns(columns: tuple[OutputColumn, ...]) -> tuple[ResultColumn, ...]:
    """A query's columns as a client is told of them."""
    return tuple(ResultColumn(c.name, c.type, c.table_oid, c.number) for c in columns)


def columns_of(bound: Statement) -> tuple[ResultColumn, ...] | None:
    """The columns of what a bound statement gives; None for a change without RETURNING."""
    columns = outputs(bound)
    return None if columns is None else result_columns(columns)


def command(tag: str) -> Result:
    """A result of a command tag alone."""
    return Result(tag)


def text_rows(tag: str, names: tuple[str, ...], rows: list[tuple[str | None, ...]], type_: SqlType = TEXT) -> Result:
    """A small result of columns that are held as text (SHOW, EXPLAIN)."""
    columns = tuple(ResultColumn(name, type_) for name in names)
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
