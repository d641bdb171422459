"""Lazy queries: a relation's rows are computed when they are requested."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa

from gpudb.api.display import format_aligned
from gpudb.api.rows import Row, Rows
from gpudb.errors import FeatureNotSupported
from gpudb.session.results import ResultColumn
from gpudb.types import SqlType

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl


class QueryRunner(Protocol):
    """The part of `Connection` that relations use; its methods are described there."""

    def describe(self, query: str, params: Sequence[object] = ()) -> tuple[ResultColumn, ...]:
        """Returns the columns of a query."""

    def execute(self, sql: str, params: Sequence[object] = ()) -> Rows:
        """Runs a statement."""

    def head(self, query: str, params: Sequence[object], rows: int) -> Rows:
        """Returns at least the first `rows` rows of a query."""

    def stream(self, query: str, params: Sequence[object] = ()) -> Iterator[Row]:
        """Yields the rows of a query."""

    def register(self, name: str, frame: object) -> Relation:
        """Registers a frame as a table."""


class Relation:
    """A query of a connection. Immutable; created by `Connection.sql`.

    `arrow`, `polars`, `pandas`, `show`, `fetchall` and iteration each run it again, in the connection's transaction.
    `filter`, `select`, `order` and `limit` return new relations around this one; nothing runs.
    """

    def __init__(
        self, connection: QueryRunner, query: str, params: tuple[object, ...], *, composable: bool = True
    ) -> None:
        self._connection = connection
        self._query = query
        self._params = params
        self._composable = composable

    @property
    def query(self) -> str:
        """The SQL text."""
        return self._query

    # ---- description

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns' names. The query is bound but not run: 42P01, 42703 … if it is invalid."""
        return tuple(field.name for field in self._connection.describe(self._query, self._params))

    @property
    def types(self) -> tuple[SqlType, ...]:
        """The columns' SQL types; `str` of one is PostgreSQL's name for it."""
        return tuple(field.type for field in self._connection.describe(self._query, self._params))

    def explain(self, analyze: bool = False) -> str:
        """Returns the plan as text; with `analyze` the query runs, and the plan has rows and times."""
        verb = "EXPLAIN ANALYZE" if analyze else "EXPLAIN"
        rows = self._connection.execute(f"{verb} {self._query}", self._params)
        return "\n".join(str(row[0]) for row in rows)

    # ---- rows

    def __iter__(self) -> Iterator[Row]:
        """Yields rows as tuples of Python values; an embedded database yields them while the query runs.

        Another statement of the connection has the rest read into memory first.
        """
        return self._connection.stream(self._query, self._params)

    def fetchall(self) -> list[Row]:
        """Returns all rows as tuples of Python values (see `gpudb.api.arrow`); None is NULL."""
        return self._rows().fetchall()

    def fetchone(self) -> Row | None:
        """Returns the first row; None if there is none."""
        return self._connection.head(self._query, self._params, 1).fetchone()

    def arrow(self) -> pa.Table:
        """Returns an Arrow table (see `Rows.arrow`)."""
        return self._rows().arrow()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Exports the rows as an Arrow stream: `polars.DataFrame(relation)`, `pyarrow.table(relation)`."""
        return self.arrow().__arrow_c_stream__(requested_schema)

    def polars(self) -> pl.DataFrame:
        """Returns a Polars frame (see `Rows.polars`)."""
        return self._rows().polars()

    def pandas(self) -> pd.DataFrame:
        """Returns a pandas frame of Arrow-backed columns (see `Rows.pandas`); ImportError without pandas."""
        return self._rows().pandas()

    def show(self, rows: int = 20) -> None:
        """Prints the first rows in psql's format."""
        rows_ = self._connection.head(self._query, self._params, rows + 1)
        texts = list(islice(rows_.texts(), rows))
        sys.stdout.write(format_aligned(rows_.fields, texts, more=len(rows_) > rows) + "\n")

    def _rows(self) -> Rows:
        return self._connection.execute(self._query, self._params)

    # ---- derived relations

    def filter(self, condition: str) -> Relation:
        """Returns the rows that satisfy an SQL condition over the columns."""
        return self._wrap(f"WHERE {condition}")

    def select(self, *expressions: str) -> Relation:
        """Returns other columns: SQL expressions over these (`"a", "a + b AS c"`)."""
        return self._wrap("", ", ".join(expressions) or "*")

    def order(self, *by: str) -> Relation:
        """Returns the rows sorted by SQL expressions (`"a DESC", "b"`)."""
        return self._wrap("ORDER BY " + ", ".join(by))

    def limit(self, rows: int, offset: int = 0) -> Relation:
        """Returns at most `rows` rows, after skipping `offset`."""
        return self._wrap(f"LIMIT {int(rows)}" + (f" OFFSET {int(offset)}" if offset else ""))

    def register(self, name: str) -> Relation:
        """Runs the query and keeps its rows as a table of this connection; returns that table as a relation."""
        return self._connection.register(name, self.arrow())

    def _wrap(self, clause: str, columns: str = "*") -> Relation:
        if not self._composable:
            raise FeatureNotSupported("only a query can be used within another")
        # The line break ends a comment at the query's end.
        text = f"SELECT {columns} FROM (\n{self._query}\n) AS relation {clause}".rstrip()
        return Relation(self._connection, text, self._params)

    def __repr__(self) -> str:
        """The query; it does not run."""
        text = " ".join(self._query.split())
        return f"<gpudb.Relation: {text if len(text) <= 100 else text[:99] + '…'}>"
