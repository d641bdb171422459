"""Results of statements: streams of rows, COPY data in or out, or a command tag alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from gpudb.errors import StalePlan
from gpudb.sql.bound import OutputColumn, Statement, output_columns
from gpudb.types import TEXT, SqlType


@dataclass(frozen=True, slots=True)
class ResultColumn:
    """A result column; `table_oid` and `number` identify its table column, or are 0."""

    name: str
    type: SqlType
    table_oid: int = 0
    number: int = 0


@dataclass(slots=True)
class Result:
    """A statement's result.

    `columns` is None for a statement without rows (NoData). `batches` have the columns in order, each of type
    `SqlType.arrow`. `tag` is PostgreSQL's command tag; for rows it is a prefix (`SELECT`, `INSERT 0`, `FETCH`) to which
    the sender of the rows appends their number. An empty statement (only comments, or nothing) has the tag ''. Batches
    may raise while they are read. `close` releases the statement's resources; always call it.
    """

    tag: str
    columns: tuple[ResultColumn, ...] | None = None
    batches: Iterator[pa.RecordBatch] = field(default_factory=lambda: iter(()))
    close: Callable[[], None] = lambda: None


@dataclass(slots=True)
class CopyOut(Result):
    """COPY … TO STDOUT: `chunks` are CopyData payloads, as bytes of one or more rows or an array with one per row.

    The tag `COPY n` is set when they end.
    """

    chunks: Iterator[bytes | pa.BinaryArray] = field(default_factory=lambda: iter(()))
    binary: bool = False
    width: int = 0

    def payloads(self) -> Iterator[bytes]:
        """Yields the payloads one by one."""
        for chunk in self.chunks:
            yield from [chunk] if isinstance(chunk, bytes) else chunk.to_pylist()


@dataclass(slots=True)
class CopyIn(Result):
    """COPY … FROM STDIN: `feed` takes the client's CopyData payloads, then `finish` returns the tag `COPY n`.

    After an error of `feed` the caller reads and discards the remaining data; `abort` (CopyFail, a lost client)
    discards everything.
    """

    feed: Callable[[bytes], None] = lambda data: None
    finish: Callable[[], str] = lambda: ""
    abort: Callable[[str], None] = lambda reason: None
    binary: bool = False
    width: int = 0


@dataclass(frozen=True, slots=True)
class Notice:
    """A message beside a result, of severity NOTICE, WARNING, INFO or LOG."""

    message: str
    severity: str = "NOTICE"
    sqlstate: str = "00000"
    detail: str | None = None
    hint: str | None = None


@dataclass(frozen=True, slots=True)
class Prepared:
    """A parsed and bound statement, as Describe reports it."""

    sql: str
    parameters: tuple[SqlType, ...]
    columns: tuple[ResultColumn, ...] | None
    statement: object
    from_sql: bool = False
    repeats: bool = False
    """Whether executions of it that follow each other may run together."""
    given_oids: tuple[int, ...] | None = None
    """None, or the OIDs that a client gave for the parameters of a statement whose columns depend on their values: then
    `parameters` are preliminary, and `bind_values` returns the statement with its columns."""
    rows: RowsOfOne | None = field(default=None, repr=False, compare=False)
    """The INSERT of one row that it runs for several rows of parameters, instead of a `statement`."""
    oids: tuple[int, ...] = field(init=False)
    """The OIDs of the parameters' types."""
    readers: dict[tuple[int, ...], tuple[Callable[[bytes], object], ...]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    """What the server reads plain values of parameters with, by their formats; nothing if some are of other types."""
    descriptions: dict[tuple[int, ...], bytes] = field(default_factory=dict, init=False, repr=False, compare=False)
    """What the server has sent to describe the rows, by the columns' formats."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "oids", tuple(item.oid for item in self.parameters))


@dataclass(frozen=True, slots=True)
class RowsOfOne:
    """The INSERT of one row that runs for each of `count` rows of parameters.

    `oids` are the types that the client declared, 0 for open ones. Parameters at the places `empty` have to be NULL:
    the row declares a type that they do not. In uniform rows each parameter has the type of the row's.
    """

    prepared: Prepared
    count: int
    oids: tuple[int, ...]
    empty: tuple[int, ...]
    is_uniform: bool

    def split(self, parameters: Sequence[object]) -> list[tuple[object, ...]] | None:
        """Returns the parameters of each row; None if one has a value that the row's type may not hold."""
        if any(parameters[place] is not None for place in self.empty):
            return None
        width = len(self.prepared.parameters)
        return [tuple(parameters[start : start + width]) for start in range(0, width * self.count, width)]


def check_columns(prepared: Prepared, result: Result) -> Result:
    """Returns the result of a prepared statement; 0A000 if its columns differ from the described ones."""
    if not have_same_columns(prepared.columns, result.columns):
        result.close()
        raise StalePlan("cached plan must not change result type")
    return result


def have_same_columns(one: tuple[ResultColumn, ...] | None, other: tuple[ResultColumn, ...] | None) -> bool:
    """Whether clients that expect the one columns can take the others."""
    return one is other or list(map(_described, one or ())) == list(map(_described, other or ()))


def _described(column: ResultColumn) -> tuple[object, ...]:
    """What RowDescription says of a column: without the precision that a numeric carries internally."""
    return column.name, column.type.oid, column.type.typmod


def result_columns(columns: tuple[OutputColumn, ...]) -> tuple[ResultColumn, ...]:
    """The columns of a query as result columns."""
    return tuple(ResultColumn(c.name, c.type, c.table_oid, c.number) for c in columns)


def statement_columns(bound: Statement) -> tuple[ResultColumn, ...] | None:
    """The result columns of a bound statement; None for a change without RETURNING."""
    columns = output_columns(bound)
    return None if columns is None else result_columns(columns)


def text_result(tag: str, names: tuple[str, ...], rows: list[tuple[str | None, ...]], type_: SqlType = TEXT) -> Result:
    """A small result whose columns are text (SHOW, EXPLAIN), or of another type that Arrow stores as text."""
    columns = tuple(ResultColumn(name, type_) for name in names)
    return Result(tag, columns, _batches(columns, rows))


def _batches(columns: tuple[ResultColumn, ...], rows: list[tuple[str | None, ...]]) -> Iterator[pa.RecordBatch]:
    arrays = [pa.array([row[index] for row in rows], type=column.type.arrow) for index, column in enumerate(columns)]
    names = [f"c{number}" for number in range(1, len(columns) + 1)]
    yield pa.RecordBatch.from_arrays(arrays, names=names)
