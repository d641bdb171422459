"""Learned tables that live as long as a connection: transformed relations join them."""

from __future__ import annotations

from itertools import count
from weakref import WeakKeyDictionary

from gpudb.api.connection import Connection
from gpudb.ml.learned import Learned

_numbers = count(1)
_by_connection: WeakKeyDictionary[Connection, TemporaryTables] = WeakKeyDictionary()


class TemporaryTables:
    """See `learned.LearnedTables`: one temporary table a connection for each learned table."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._names: WeakKeyDictionary[Learned, str] = WeakKeyDictionary()

    def locate(self, learned: Learned) -> str:
        """Returns the name of the table, which is created if it is missing."""
        if (name := self._names.get(learned)) is None:
            name = f'pg_temp."learned_{next(_numbers)}"'
            learned.write(self._connection, name, temporary=True)
            self._names[learned] = name
        return name


def get_temporary_tables(connection: Connection) -> TemporaryTables:
    """Returns the temporary learned tables of a connection."""
    return _by_connection.setdefault(connection, TemporaryTables(connection))
