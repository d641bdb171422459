"""Lazy queries: a relation's rows are computed when they are requested."""

from __future__ import annotations

import os
import sys
import weakref
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from inspect import GEN_CREATED, getgeneratorstate
from itertools import islice
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import pyarrow as pa

from gpudb.api.arrays.methods import ArrayMethods
from gpudb.api.boundary import public
from gpudb.api.display import format_aligned
from gpudb.api.names import quote_identifier
from gpudb.api.rows import SHOWN_ROWS, Row, Rows
from gpudb.engine.sharing import SharePlace
from gpudb.errors import FeatureNotSupported, SqlError
from gpudb.session.results import ResultColumn
from gpudb.types import SqlType

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

    from gpudb.api.asof_join import Name, Tolerance
    from gpudb.api.plot import Plot


_T = TypeVar("_T")


class QueryRunner(Protocol):
    """The part of `Connection` that relations use; its methods are described there."""

    def describe(
        self, query: str, params: Sequence[object] = (), *, frames: Mapping[str, object] | None = None
    ) -> tuple[ResultColumn, ...]:
        """Returns the columns of a query."""

    def execute(self, sql: str, params: Sequence[object] = (), *, frames: Mapping[str, object] | None = None) -> Rows:
        """Runs a statement."""

    def share(
        self,
        query: str,
        params: Sequence[object],
        read: Callable[[str], _T],
        place: SharePlace = SharePlace.HOST,
        *,
        frames: Mapping[str, object] | None = None,
    ) -> _T | None:
        """Returns what `read` makes of rows in workers' memory; None if they cannot be shared."""

    def fetch(self, query: str, params: Sequence[object] = (), *, frames: Mapping[str, object] | None = None) -> Rows:
        """Returns all rows of a query."""

    def head(
        self, query: str, params: Sequence[object], rows: int, *, frames: Mapping[str, object] | None = None
    ) -> Rows:
        """Returns at least the first `rows` rows of a query."""

    def stream(
        self, query: str, params: Sequence[object] = (), *, frames: Mapping[str, object] | None = None
    ) -> Iterator[Row]:
        """Yields the rows of a query."""

    def stream_batches(
        self, query: str, params: Sequence[object] = (), *, frames: Mapping[str, object] | None = None
    ) -> Iterator[Rows]:
        """Yields the rows of a query batch by batch."""

    def register(self, name: str, frame: object) -> Relation:
        """Registers a frame as a table."""


class Relation(ArrayMethods):
    """A query of a connection. Immutable; created by `Connection.sql`.

    `arrow`, `polars`, `pandas`, `show`, `fetchall`, `len` and iteration each run it again, in the connection's
    transaction. `filter`, `select`, `order`, `limit`, `describe` and `[]` return new relations around this one; nothing
    runs. A notebook shows the first rows, their types and the count.
    """

    def __init__(
        self,
        connection: QueryRunner,
        query: str,
        params: tuple[object, ...],
        *,
        composable: bool = True,
        frames: Mapping[str, object] | None = None,
        holds: frozenset[object] = frozenset(),
    ) -> None:
        """`holds` lives as long as this relation and those made of it: what the tables of its query live by."""
        self._connection = connection
        self._query = query
        self._params = params
        self._composable = composable
        self._frames = frames or {}
        self._holds = holds
        self._unread: tuple[weakref.ref[Generator[Row]], list[list[Row]]] | None = None

    @property
    def query(self) -> str:
        """The SQL text."""
        return self._query

    # ---- description

    @property
    @public
    def fields(self) -> tuple[ResultColumn, ...]:
        """The columns' names and types. The query is bound but not run: 42P01, 42703 … if it is invalid."""
        return self._connection.describe(self._query, self._params, frames=self._frames)

    @property
    @public
    def columns(self) -> tuple[str, ...]:
        """The columns' names (see `fields`)."""
        return tuple(field.name for field in self.fields)

    @property
    @public
    def types(self) -> tuple[SqlType, ...]:
        """The columns' SQL types; `str` of one is PostgreSQL's name for it."""
        return tuple(field.type for field in self.fields)

    @public
    def explain(self, analyze: bool = False) -> str:
        """Returns the plan as text; with `analyze` the query runs, and the plan has rows and times."""
        verb = "EXPLAIN ANALYZE" if analyze else "EXPLAIN"
        rows = self._connection.execute(f"{verb} {self._query}", self._params, frames=self._frames)
        return "\n".join(str(row[0]) for row in rows)

    # ---- rows

    def __iter__(self) -> Iterator[Row]:
        """Yields rows as tuples of Python values; an embedded database yields them while the query runs.

        Another statement of the connection has the rest read into memory first.
        """
        ahead: list[list[Row]] = []
        rows = self._iterate(ahead)
        self._unread = weakref.ref(rows), ahead
        return rows

    def _iterate(self, ahead: list[list[Row]]) -> Generator[Row]:
        yield from ahead.pop() if ahead else self._stream()

    @public
    def __len__(self) -> int:
        """The number of rows; the database counts them.

        An iterator that has not begun is read into memory instead: `list(relation)` asks for the length of what it is
        about to read, and its query should run once.
        """
        if self._unread is not None:
            rows, ahead = self._unread
            unread = rows()
            if unread is not None and getgeneratorstate(unread) == GEN_CREATED:
                if not ahead:
                    ahead.append(list(self._stream()))
                return len(ahead[0])
        return self._count()

    def _count(self) -> int:
        if not self._composable:
            return len(self._rows())
        row = self._wrap("", "count(*)").fetchone()
        assert row is not None
        count = row[0]
        assert isinstance(count, int)
        return count

    @public
    def __bool__(self) -> bool:
        """Whether there is a row."""
        return len(self.head(1)) > 0

    @public
    def head(self, rows: int = SHOWN_ROWS) -> Rows:
        """Returns the first rows; the query is then abandoned."""
        return self._head(rows).head(rows)

    @public
    def fetchall(self) -> list[Row]:
        """Returns all rows as tuples of Python values (see `gpudb.api.arrow`); None is NULL."""
        return self._rows().fetchall()

    @public
    def fetchone(self) -> Row | None:
        """Returns the first row; None if there is none."""
        return self._head(1).fetchone()

    @public
    def arrow(self) -> pa.Table:
        """Returns an Arrow table (see `Rows.arrow`)."""
        return self._rows().arrow()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Exports the rows as an Arrow stream: `polars.DataFrame(relation)`, `pyarrow.table(relation)`."""
        return self.arrow().__arrow_c_stream__(requested_schema)

    @public
    def polars(self) -> pl.DataFrame:
        """Returns a Polars frame (see `Rows.polars`)."""
        return self._rows().polars()

    def pl(self) -> pl.DataFrame:
        """The same as `polars`."""
        return self.polars()

    @public
    def pandas(self) -> pd.DataFrame:
        """Returns a pandas frame of Arrow-backed columns (see `Rows.pandas`); ImportError without pandas."""
        return self._rows().pandas()

    def df(self) -> pd.DataFrame:
        """The same as `pandas`."""
        return self.pandas()

    # ---- arrays of numbers (see `ArrayMethods`)

    def _select_numbers(self) -> Relation:
        """Returns the same rows as numbers that arrays can hold: decimals are converted where the query runs."""
        from gpudb.api.arrays.columns import select_numbers

        expressions = select_numbers(self.fields)
        return self if expressions is None else self.select(*expressions)

    def _share(self, read: Callable[[str], _T], place: SharePlace = SharePlace.HOST) -> _T | None:
        """Returns what `read` makes of the rows in workers' memory; None if they cannot be shared."""
        if not self._composable:
            return None
        return self._connection.share(self._query, self._params, read, place, frames=self._frames)

    def _stream_tables(self) -> Iterator[pa.Table]:
        """Yields the rows as Arrow tables, while the query runs."""
        for rows in self._connection.stream_batches(self._query, self._params, frames=self._frames):
            yield rows.arrow()

    # ---- files and charts

    @public
    def to_parquet(self, path: str | os.PathLike[str], *, compression: str = "zstd") -> int:
        """Writes the rows to a Parquet file of this machine, which replaces one of that name; returns their number.

        Columns have the types of `arrow`. 0A000 for a column that Parquet has no type for (interval).
        """
        from gpudb.api.parquet import write_parquet

        return write_parquet(self.arrow(), path, compression)

    @public
    def to_csv(self, path: str | os.PathLike[str], *, delimiter: str = ",", header: bool = True) -> int:
        """Writes the rows to a csv file of this machine, as COPY writes csv; returns their number.

        As for all files, one of that name is replaced at the end, or stays as it is. OSError if it cannot be written.
        """
        from gpudb.api.files import encode_csv, write_rows

        rows = self._rows()
        return write_rows(rows, path, encode_csv(rows, delimiter=delimiter, header=header))

    @public
    def to_json(self, path: str | os.PathLike[str]) -> int:
        """Writes the rows as JSON, an object a line, to a file of this machine; returns their number."""
        from gpudb.api.files import encode_json, write_rows

        rows = self._rows()
        return write_rows(rows, path, encode_json(rows))

    @public
    def to_arrow(self, path: str | os.PathLike[str]) -> int:
        """Writes the rows to an Arrow file (Feather) of this machine, as COPY does; returns their number."""
        from gpudb.api.files import encode_arrow, write_rows

        rows = self._rows()
        return write_rows(rows, path, encode_arrow(rows))

    @public
    def to_xlsx(self, path: str | os.PathLike[str]) -> int:
        """Writes the rows to a workbook of Excel of this machine, with a header; returns their number.

        0A000 without the extra `excel`, 54000 for more rows than a sheet has room for.
        """
        from gpudb.api.files import encode_xlsx, write_rows

        rows = self._rows()
        return write_rows(rows, path, encode_xlsx(rows))

    @property
    def plot(self) -> Plot:
        """Charts of the rows by Altair (the extra `plot`): `relation.plot.line(x="day", y="rides")`."""
        from gpudb.api.plot import Plot

        return Plot(self)

    @public
    def show(self, rows: int = 20) -> None:
        """Prints the first rows in psql's format."""
        sys.stdout.write(self._format(rows) + "\n")

    def _format(self, rows: int) -> str:
        found = self._head(rows + 1)
        if not found.gives_rows:
            return found.tag
        return format_aligned(found.fields, list(islice(found.texts(), rows)), more=len(found) > rows)

    def _head(self, rows: int) -> Rows:
        """Returns at least the first rows."""
        return self._connection.head(self._query, self._params, rows, frames=self._frames)

    def _stream(self) -> Iterator[Row]:
        return self._connection.stream(self._query, self._params, frames=self._frames)

    def _rows(self) -> Rows:
        return self._connection.fetch(self._query, self._params, frames=self._frames)

    # ---- derived relations

    @public
    def filter(self, condition: str) -> Relation:
        """Returns the rows that satisfy an SQL condition over the columns."""
        return self._wrap(f"WHERE {condition}")

    @public
    def select(self, *expressions: str) -> Relation:
        """Returns other columns: SQL expressions over these (`"a", "a + b AS c"`)."""
        return self._wrap("", ", ".join(expressions) or "*")

    @public
    def order(self, *by: str) -> Relation:
        """Returns the rows sorted by SQL expressions (`"a DESC", "b"`)."""
        return self._wrap("ORDER BY " + ", ".join(by))

    @public
    def limit(self, rows: int, offset: int = 0) -> Relation:
        """Returns at most `rows` rows, after skipping `offset`."""
        return self._wrap(f"LIMIT {int(rows)}" + (f" OFFSET {int(offset)}" if offset else ""))

    @public
    def register(self, name: str) -> Relation:
        """Runs the query and keeps its rows as a table of this connection; returns that table as a relation."""
        return self._connection.register(name, self.arrow())

    @public
    def asof_join(
        self,
        other: Relation,
        on: Name,
        by: Name | Sequence[Name] = (),
        *,
        available_at: str | None = None,
        tolerance: Tolerance | None = None,
        forward: bool = False,
        strict: bool = False,
        inner: bool = False,
        suffix: str = "_right",
    ) -> Relation:
        """Returns each row beside the last row of `other` that is not later, or NULLs: features as they were then.

        `on` is the time, `by` are the keys that must be equal: a column's name, or (name here, name there).
        `available_at` is the column of `other` with the time from which a row was known: later ones are left out, so
        that late data cannot leak. `tolerance` is how far the row may be: a timedelta, an interval's text or a number.
        `forward` joins the first row that is not earlier; with `strict` it may not have the same time either; `inner`
        leaves out rows without a match. Columns of `other` whose names are taken get the suffix; keys of the same name
        occur once. Of rows with the same time any one is taken. ValueError for relations of two connections.
        """
        from gpudb.api.asof_join import AsofOptions, build_asof_join
        from gpudb.api.placeholders import shift_parameters

        if other._connection is not self._connection:
            raise ValueError("the relations belong to different connections")
        here, there = self._get_source(), other._get_source()
        options = AsofOptions(on, by, available_at, tolerance, forward, strict, inner, suffix)
        right = shift_parameters(there._query, len(here._params))
        text = build_asof_join((here._query, self.columns), (right, other.columns), options)
        for name in here._frames.keys() & there._frames.keys():
            if here._frames[name] is not there._frames[name]:
                raise ValueError(f'"{name}" is a different frame in each of the relations')
        frames = {**here._frames, **there._frames}
        params = (*here._params, *there._params)
        return Relation(self._connection, text, params, frames=frames, holds=here._holds | there._holds)

    @public
    def describe(self) -> Relation:
        """Returns statistics of each column as a relation, whose query reads the rows once.

        Its columns are column, type, count (of values that are not NULL), nulls, mean, std, min, 25%, 50%, 75% and max.
        Binds the query to learn its columns.
        """
        from gpudb.api.summary import build_summary

        source = self._get_source()
        return source._follow(build_summary(source._query, self.fields))

    @public
    def __getitem__(self, key: str | Sequence[str] | slice) -> Relation:
        """Returns columns by name (`relation["a"]`, `relation[["a", "b"]]`) or some of the rows (`relation[10:20]`).

        Bounds of rows count from 0 and are not negative: 22023 otherwise, and for a step.
        """
        if isinstance(key, str):
            return self.select(quote_identifier(key))
        if isinstance(key, slice):
            start, stop = key.start or 0, key.stop
            if key.step not in (None, 1) or start < 0 or (stop is not None and stop < 0):
                raise SqlError.of(
                    "invalid_parameter_value", "rows are selected from a first one to a last one, forwards"
                )
            if stop is None:
                return self._wrap(f"OFFSET {int(start)}")
            return self.limit(max(0, stop - start), start)
        if isinstance(key, list | tuple) and key and all(isinstance(name, str) for name in key):
            return self.select(*map(quote_identifier, key))
        raise TypeError(f"columns are selected by name and rows by a slice, not by {key!r}")

    def _wrap(self, clause: str, columns: str = "*") -> Relation:
        source = self._get_source()
        # The line break ends a comment at the query's end.
        return source._follow(f"SELECT {columns} FROM (\n{source._query}\n) AS relation {clause}".rstrip())

    def _get_source(self) -> Relation:
        """Returns the relation whose query others are built around; 0A000 if it can be part of none."""
        if not self._composable:
            raise FeatureNotSupported("only a query can be used within another")
        return self

    def _follow(self, text: str, holds: Iterable[object] = ()) -> Relation:
        """Returns the relation of another query of the same parameters and frames."""
        held = self._holds.union(holds)
        return Relation(self._connection, text, self._params, frames=self._frames, holds=held)

    def __repr__(self) -> str:
        """The query; it does not run."""
        text = " ".join(self.query.split())
        return f"<gpudb.Relation: {text if len(text) <= 100 else text[:99] + '…'}>"

    @public
    def __str__(self) -> str:
        """The first rows in psql's format; the query runs."""
        return self._format(SHOWN_ROWS)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """The first rows for IPython's prompt."""
        printer.text(str(self))

    @public
    def _repr_html_(self) -> str | None:
        """The first rows, their types and the count of all, for notebooks; None for a statement without rows."""
        rows = self._head(SHOWN_ROWS + 1)
        if not rows.gives_rows:
            return None
        return rows.head(SHOWN_ROWS).to_html(len(rows) if len(rows) <= SHOWN_ROWS else self._count())

    # ---- for features and models

    @property
    def connection(self) -> QueryRunner:
        """The connection whose query this is."""
        return self._connection

    @property
    def params(self) -> tuple[object, ...]:
        """The values of the query's parameters."""
        return self._params

    def derive(self, build: Callable[[str, Sequence[object]], str], holds: Iterable[object] = ()) -> Relation:
        """Returns the relation of the query that `build` makes of this one's text and parameters.

        `holds` are objects that live as long as it does, such as those that its query's temporary tables end with.
        """
        source = self._get_source()
        return source._follow(build(source._query, source._params), holds)
