"""Statements that have run: what `Connection.sql` returns of one that is no query, as the relation of its rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from gpudb.engine.sharing import SharePlace
from gpudb.errors import FeatureNotSupported

if TYPE_CHECKING:
    from gpudb.api.relation import QueryRunner, Relation
    from gpudb.api.rows import Row, Rows
    from gpudb.session.results import ResultColumn

_T = TypeVar("_T")
_Frames = Mapping[str, object] | None


class FinishedStatement:
    """A `QueryRunner` that answers from the rows of a statement, which does not run again."""

    def __init__(self, connection: QueryRunner, rows: Rows) -> None:
        self._connection = connection
        self._done = rows

    def describe(
        self, query: str, params: Sequence[object] = (), *, frames: _Frames = None
    ) -> tuple[ResultColumn, ...]:
        """Returns the columns; none if the statement returned no rows."""
        return self._done.fields

    def execute(self, sql: str, params: Sequence[object] = (), *, frames: _Frames = None) -> Rows:
        """Raises 0A000: to explain a statement is to ask before it runs."""
        raise FeatureNotSupported("the statement has run", hint="Begin the statement with EXPLAIN.")

    def share(
        self,
        query: str,
        params: Sequence[object],
        read: Callable[[str], _T],
        place: SharePlace = SharePlace.HOST,
        *,
        frames: _Frames = None,
    ) -> _T | None:
        """Returns None: the rows are in this process."""
        return None

    def fetch(self, query: str, params: Sequence[object] = (), *, frames: _Frames = None) -> Rows:
        """Returns the rows."""
        return self._done

    def head(self, query: str, params: Sequence[object], rows: int, *, frames: _Frames = None) -> Rows:
        """Returns the first rows."""
        return self._done.head(rows)

    def stream(self, query: str, params: Sequence[object] = (), *, frames: _Frames = None) -> Iterator[Row]:
        """Yields the rows."""
        return iter(self._done)

    def stream_batches(self, query: str, params: Sequence[object] = (), *, frames: _Frames = None) -> Iterator[Rows]:
        """Yields the rows at once."""
        yield self._done

    def register(self, name: str, frame: object) -> Relation:
        """Registers a frame as a table of the connection."""
        return self._connection.register(name, frame)
