"""What a statement gives its client: rows that stream, rows to copy in or out, or a command tag alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pyarrow as pa

from gpudb.errors import StalePlan
from gpudb.types import SqlType


@dataclass(frozen=True, slots=True)
class ResultColumn:
    """A column of a result; `table_oid` and `number` name the table column it is, or are 0."""

    name: str
    type: SqlType
    table_oid: int = 0
    number: int = 0


@dataclass(slots=True)
class Result:
    """A statement's result.

    `columns` is None for a statement without rows (NoData). `batches` hold `columns` in order, each of
    `SqlType.arrow`; an empty statement (only comments, or nothing) has the tag ''. `tag` is PostgreSQL's command
    tag; for rows it is a prefix (`SELECT`, `INSERT 0`, `FETCH`) to which whoever sends the rows adds their number.
    Batches may raise while they are read. `close` frees what the statement holds; call it always.
    """

    tag: str
    columns: tuple[ResultColumn, ...] | None = None
    batches: Iterator[pa.RecordBatch] = field(default_factory=lambda: iter(()))
    close: Callable[[], None] = lambda: None


@dataclass(slots=True)
class CopyOut(Result):
    """COPY … TO STDOUT: `chunks` are CopyData payloads, in bytes one of a row or more, in an array one a row.

    Tag `COPY n` stands once they end.
    """

    chunks: Iterator[bytes | pa.BinaryArray] = field(default_factory=lambda: iter(()))
    binary: bool = False
    width: int = 0

    def payloads(self) -> Iterator[bytes]:
        """The payloads one by one."""
        for chunk in self.chunks:
            yield from [chunk] if isinstance(chunk, bytes) else chunk.to_pylist()


@dataclass(slots=True)
class CopyIn(Result):
    """COPY … FROM STDIN: the client's CopyData payloads go to `feed`, then `finish` gives the tag `COPY n`.

    After an error of `feed` the rest of the data is to be read and dropped; `abort` (CopyFail, a lost client)
    leaves nothing behind.
    """

    feed: Callable[[bytes], None] = lambda data: None
    finish: Callable[[], str] = lambda: ""
    abort: Callable[[str], None] = lambda reason: None
    binary: bool = False
    width: int = 0


@dataclass(frozen=True, slots=True)
class Notice:
    """A message beside a result: severity NOTICE, WARNING, INFO or LOG."""

    message: str
    severity: str = "NOTICE"
    sqlstate: str = "00000"
    detail: str | None = None
    hint: str | None = None


@dataclass(frozen=True, slots=True)
class Prepared:
    """A parsed and bound statement: what Describe tells."""

    sql: str
    parameters: tuple[SqlType, ...]
    columns: tuple[ResultColumn, ...] | None
    bound: object
    from_sql: bool = False
    oids: tuple[int, ...] = field(init=False)
    """The parameters' types."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "oids", tuple(item.oid for item in self.parameters))


def as_prepared(prepared: Prepared, result: Result) -> Result:
    """The result of a prepared statement; 0A000 if its columns are no longer those that clients were told of."""
    told, given = prepared.columns or (), result.columns or ()
    if told is not given and list(map(_told, told)) != list(map(_told, given)):
        result.close()
        raise StalePlan("cached plan must not change result type")
    return result


def _told(column: ResultColumn) -> tuple[object, ...]:
    """What clients are told of a column: of a numeric not the digits that it is held with."""
    return column.name, column.type.oid, column.type.typmod
