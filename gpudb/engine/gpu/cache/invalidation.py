"""Tables that are dropped: workers let go of what they hold of them once a statement shows that they are gone."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable

from gpudb.catalog.model import Catalog, Table


class Dropped:
    """Which tables statements have read, and in which version of the catalog; `evict` is told of one that is gone.

    A catalog of another transaction may lack a table that is not committed yet: what workers let go of is read again.
    """

    def __init__(self, evict: Callable[[Table], object]) -> None:
        self._evict = evict
        self._read: dict[int, tuple[int, Table]] = {}
        self._newest = -1
        self._lock = threading.Lock()

    def reading(self, tables: Iterable[Table], catalog: Catalog) -> None:
        """A statement over some tables is about to run."""
        gone: list[Table] = []
        with self._lock:
            for table in tables:
                self._read[table.oid] = catalog.version, table
            if catalog.version > self._newest:
                self._newest = catalog.version
                there = {table.oid for table in catalog.tables()}
                gone = [table for oid, (seen, table) in self._read.items() if oid not in there and seen < self._newest]
                for table in gone:
                    del self._read[table.oid]
        for table in gone:
            self._evict(table)
