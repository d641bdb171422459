"""Learned tables that live as long as a connection: transformed relations join them."""

from __future__ import annotations

from itertools import count
from weakref import WeakKeyDictionary, finalize, ref

from gpudb.api.connection import Connection
from gpudb.ml.learned import Learned

_numbers = count(1)
_by_connection: WeakKeyDictionary[Connection, TemporaryTables] = WeakKeyDictionary()


class TemporaryTables:
    """See `learned.LearnedTables`: one temporary table a connection for each learned table that is in use."""

    def __init__(self, connection: Connection) -> None:
        self._connection = ref(connection)  # which is the key of these tables
        self._names: WeakKeyDictionary[Learned, str] = WeakKeyDictionary()
        self._unused: list[str] = []

    def locate(self, learned: Learned) -> str:
        """Returns the name of the table, which is created if it is missing; those of no fit any more are dropped."""
        while self._unused:
            self._use().execute(f"DROP TABLE IF EXISTS {self._unused.pop()}")
        if (name := self._names.get(learned)) is None:
            name = f'pg_temp."learned_{next(_numbers)}"'
            learned.write(self._use(), name, temporary=True)
            self._names[learned] = name
            finalize(learned, self._unused.append, name).atexit = False
        return name

    def _use(self) -> Connection:
        connection = self._connection()
        assert connection is not None
        return connection


def get_temporary_tables(connection: Connection) -> TemporaryTables:
    """Returns the temporary learned tables of a connection."""
    return _by_connection.setdefault(connection, TemporaryTables(connection))
