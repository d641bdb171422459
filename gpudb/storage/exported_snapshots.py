"""Snapshots that open transactions export, for other transactions to read the same state."""

from __future__ import annotations

import itertools
import threading
from dataclasses import dataclass

from gpudb.catalog.model import Catalog
from gpudb.errors import FeatureNotSupported
from gpudb.storage.garbage import Garbage


@dataclass(frozen=True, slots=True)
class _ExportedSnapshot:
    """A catalog that the transaction of a number reads."""

    transaction: int
    catalog: Catalog


class ExportedSnapshots:
    """The exported snapshots by identifier; each is there until the transaction that exports it ends. Thread-safe.

    Those that are `known` may be tested without a lock: no transaction ends while it exports.
    """

    def __init__(self, garbage: Garbage) -> None:
        self._garbage = garbage
        self._lock = threading.Lock()
        self._counts = itertools.count(1)
        self.known: dict[str, _ExportedSnapshot] = {}

    def add(self, transaction: int, catalog: Catalog) -> str:
        """Exports a catalog that a transaction reads; returns the identifier, in PostgreSQL's form."""
        with self._lock:
            identifier = f"{transaction >> 32:08X}-{transaction & 0xFFFFFFFF:08X}-{next(self._counts)}"
            self.known[identifier] = _ExportedSnapshot(transaction, catalog)
            return identifier

    def open(self, identifier: str, reader: int, database: str) -> Catalog | None:
        """Returns a snapshot's catalog, and keeps its files for the transaction `reader` too; None if there is none.

        Raises 0A000 for a snapshot of another database than the reader's.
        """
        with self._lock:
            found = self.known.get(identifier)
            if found is None:
                return None
            if found.catalog.database != database:
                raise FeatureNotSupported("cannot import a snapshot from a different database")
            self._garbage.register_with(reader, found.transaction)
            return found.catalog

    def end_transaction(self, transaction: int) -> None:
        """Removes the snapshots of a transaction; called before its files are released."""
        with self._lock:
            for identifier in [each for each, found in self.known.items() if found.transaction == transaction]:
                del self.known[identifier]
