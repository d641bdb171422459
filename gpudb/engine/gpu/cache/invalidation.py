"""Evicts the columns of dropped tables from the workers once a statement's catalog lacks the tables."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable

from gpudb.catalog.model import Catalog
from gpudb.catalog.tables import Table


class CacheInvalidation:
    """Tables that statements have read, with the catalog version of the read, by database.

    Calls `evict` for each table that is gone.

    Another transaction's catalog may lack an uncommitted table. Its columns are evicted too early then, and read again.
    """

    def __init__(self, evict: Callable[[Table], object]) -> None:
        self._evict = evict
        self._tables_read: dict[str, dict[int, tuple[int, Table]]] = {}
        self._newest: dict[str, int] = {}
        self._lock = threading.Lock()

    def record_read(self, tables: Iterable[Table], catalog: Catalog) -> None:
        """Records that a statement over these tables is about to run."""
        gone: list[Table] = []
        with self._lock:
            read = self._tables_read.setdefault(catalog.database, {})
            for table in (each for each in tables if not each.format):
                read[table.oid] = catalog.version, table
            if catalog.version > self._newest.get(catalog.database, -1):
                self._newest[catalog.database] = catalog.version
                there = {table.oid for table in catalog.tables()}
                gone = [table for oid, (seen, table) in read.items() if oid not in there and seen < catalog.version]
                for table in gone:
                    del read[table.oid]
                for name in self._tables_read.keys() - catalog.databases.keys() - {catalog.database}:
                    gone += [table for _, table in self._tables_read.pop(name).values()]
        for table in gone:
            self._evict(table)
