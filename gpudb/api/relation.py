"""A query that has not run: rows come when they are asked for."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

import pyarrow as pa

from gpudb.api.display import aligned
from gpudb.api.rows import Row, Rows
from gpudb.errors import FeatureNotSupported
from gpudb.types import SqlType

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

    from gpudb.api.connection import Connection


class Relation:
    """A query of a connection. Immutable; made by `Connection.sql`.

    Each of `arrow`, `polars`, `pandas`, `show`, `fetchall` and iteration runs it anew, in the connection's
    transaction. `filter`, `select`, `order` and `limit` give new relations around this one; nothing runs.
    """

    def __init__(
        self, connection: Connection, query: str, params: tuple[object, ...], *, composable: bool = True
    ) -> None:
        self._connection = connection
        self._query = query
        self._params = params
        self._composable = composable

    @property
    def query(self) -> str:
        """The SQL text."""
        return self._query

    # ---- what it will give

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns' names. The query is bound, not run: 42P01, 42703 … where it cannot be."""
        return tuple(field.name for field in self._connection.describe(self._query, self._params))

    @property
    def types(self) -> tuple[SqlType, ...]:
        """The columns' SQL types; `str` of one is PostgreSQL's name for it."""
        return tuple(field.type for field in self._connection.describe(self._query, self._params))

    def explain(self, analyze: bool = False) -> str:
        """The plan as text; with `analyze` the query runs, and rows and times are told."""
        verb = "EXPLAIN ANALYZE" if analyze else "EXPLAIN"
        rows = self._connection.execute(f"{verb} {self._query}", self._params)
        return "\n".join(str(row[0]) for row in rows)

    # ---- its rows

    def __iter__(self) -> Iterator[Row]:
        """Rows as tuples of Python values; an embedded database gives them while the query runs. A statement of
        the connection in between has the rest read into memory first.
        """
        return self._connection.stream(self._query, self._params)

    def fetchall(self) -> list[Row]:
        """All rows as tuples of Python values (see `gpudb.api.arrow`); None is NULL."""
        return self._rows().fetchall()

    def fetchone(self) -> Row | None:
        """The first row; None if there is none."""
        return self._connection.head(self._query, self._params, 1).fetchone()

    def arrow(self) -> pa.Table:
        """An Arrow table (see `Rows.arrow`)."""
        return self._rows().arrow()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The rows for whoever takes Arrow's streams: `polars.DataFrame(relation)`, `pyarrow.table(relation)`."""
        return self.arrow().__arrow_c_stream__(requested_schema)

    def polars(self) -> pl.DataFrame:
        """A Polars frame (see `Rows.polars`)."""
        return self._rows().polars()

    def pandas(self) -> pd.DataFrame:
        """A pandas frame of Arrow-backed columns (see `Rows.pandas`); ImportError without pandas."""
        return self._rows().pandas()

    def show(self, rows: int = 20) -> None:
        """Prints the first rows as psql does."""
        found = self._connection.head(self._query, self._params, rows + 1)
        shown = list(islice(found.texts(), rows))
        sys.stdout.write(aligned(found.fields, shown, more=len(found) > rows) + "\n")

    def _rows(self) -> Rows:
        return self._connection.execute(self._query, self._params)

    # ---- used again

    def filter(self, condition: str) -> Relation:
        """The rows for which a SQL condition over the columns holds."""
        return self._around(f"WHERE {condition}")

    def select(self, *expressions: str) -> Relation:
        """Other columns: SQL expressions over these (`"a", "a + b AS c"`)."""
        return self._around("", ", ".join(expressions) or "*")

    def order(self, *by: str) -> Relation:
        """Sorted by SQL expressions (`"a DESC", "b"`)."""
        return self._around("ORDER BY " + ", ".join(by))

    def limit(self, rows: int, offset: int = 0) -> Relation:
        """At most `rows` rows, after leaving out `offset`."""
        return self._around(f"LIMIT {int(rows)}" + (f" OFFSET {int(offset)}" if offset else ""))

    def register(self, name: str) -> Relation:
        """Runs the query and keeps its rows as a table of this connection; that table as a relation."""
        return self._connection.register(name, self.arrow())

    def _around(self, clause: str, columns: str = "*") -> Relation:
        if not self._composable:
            raise FeatureNotSupported("only a query can be used within another")
        # The line break ends a comment at the query's end.
        text = f"SELECT {columns} FROM (\n{self._query}\n) AS relation {clause}".rstrip()
        return Relation(self._connection, text, self._params)

    def __repr__(self) -> str:
        """The query; it does not run."""
        text = " ".join(self._query.split())
        return f"<gpudb.Relation: {text if len(text) <= 100 else text[:99] + '…'}>"
