"""The result of a cell of SQL: a relation whose first rows are here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import TypeVar
from uuid import uuid4

import pyarrow as pa

from gpudb.api.connection import Connection
from gpudb.api.frames import get_sql_type
from gpudb.api.names import quote_identifier
from gpudb.api.relation import Relation
from gpudb.api.rows import Row, Rows
from gpudb.api.statement_facts import find_query
from gpudb.engine.sharing import SharePlace
from gpudb.session.results import ResultColumn

KEPT_ROWS = 10_000
"""The rows of a larger result that a cell reads."""
_T = TypeVar("_T")


class Result(Relation):
    """A `Relation` of a statement that has run.

    Up to 10,000 rows are here, as are all rows of a statement that may not run again: one that is no query, or calls a
    volatile function. Charts, and relations around this one, read these rows. Of a larger query the first rows are
    here; it runs again, once, where all of them are asked for, and where the database is asked of them: for their
    number, charts, and relations around this one.
    """

    def __init__(self, relation: Relation) -> None:
        super().__init__(
            relation._connection,
            relation._query,
            relation._params,
            composable=relation._composable,
            frames=relation._frames,
            holds=relation._holds,
        )
        query = find_query(relation._query) if relation._composable else None
        is_part = query is not None and query.is_repeatable
        self._may_run_again = is_part
        self._here = super()._head(KEPT_ROWS + 1).head(KEPT_ROWS + 1) if is_part else super()._rows()
        self._is_whole = not is_part or len(self._here) <= KEPT_ROWS
        self._number: int | None = None

    @classmethod
    def run(cls, connection: Connection, sql: str, params: tuple[object, ...], frames: Mapping[str, object]) -> Result:
        """Runs a statement."""
        return cls(connection.sql(sql, params, frames=frames))

    @property
    def fields(self) -> tuple[ResultColumn, ...]:
        return self._here.fields

    def _head(self, rows: int) -> Rows:
        return self._here if self._is_whole or rows <= len(self._here) else super()._head(rows)

    def _rows(self) -> Rows:
        if not self._is_whole:
            self._here = super()._rows()
            self._is_whole = True
        return self._here

    def _stream(self) -> Iterator[Row]:
        return iter(self._here) if self._is_whole else super()._stream()

    def _stream_tables(self) -> Iterator[pa.Table]:
        return iter([self._here.arrow()]) if self._is_whole else super()._stream_tables()

    def _share(self, read: Callable[[str], _T], place: SharePlace = SharePlace.HOST) -> _T | None:
        return None if self._is_whole else super()._share(read, place)

    def _count(self) -> int:
        if self._is_whole:
            return len(self._here)
        if self._number is None:
            self._number = super()._count()
        return self._number

    def _get_source(self) -> Relation:
        source = super()._get_source()
        return source if self._may_run_again else self._rows_as_frame

    @cached_property
    def _rows_as_frame(self) -> Relation:
        """The kept rows as a frame, in the columns' types; 42701 for two columns of one name, 0A000 for none."""
        table = self._here.arrow()
        columns = [
            quote_identifier(field.name)
            if get_sql_type(kind, field.name) == field.type
            else f"{quote_identifier(field.name)}::{field.type} AS {quote_identifier(field.name)}"
            for field, kind in zip(self.fields, table.schema.types, strict=True)
        ]
        name = f"gpudb_result_{uuid4().hex}"  # no table of the database has it
        query = f"SELECT {', '.join(columns)} FROM {quote_identifier(name)}"
        return Relation(self._connection, query, (), frames={name: table})
