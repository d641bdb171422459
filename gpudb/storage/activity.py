"""Counts of what a store has done since it was opened."""

from __future__ import annotations

import threading
from dataclasses import dataclass


@dataclass(slots=True)
class TableActivity:
    """Rows of a table that statements have inserted, updated and deleted, those of failed transactions included."""

    inserted: int = 0
    updated: int = 0
    deleted: int = 0


class StoreActivity:
    """Commits, and the rows and bytes of files that they wrote; the same of compactions; loads of data, by COPY FROM,
    load_data and add_files, and their rows; changed rows by the OID of their table. Thread-safe.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._tables: dict[int, TableActivity] = {}
        self.commits = self.compactions = self.written_rows = self.compacted_rows = 0
        self.written_bytes = self.compacted_bytes = self.loads = self.loaded_rows = 0

    def add_commit(self, rows: int, size: int, *, compacting: bool) -> None:
        """Counts a commit that wrote so many rows and bytes."""
        with self._lock:
            if compacting:
                self.compactions += 1
                self.compacted_rows += rows
                self.compacted_bytes += size
            else:
                self.commits += 1
                self.written_rows += rows
                self.written_bytes += size

    def add_load(self, rows: int) -> None:
        """Counts a load of so many rows."""
        with self._lock:
            self.loads += 1
            self.loaded_rows += rows

    def add_changes(self, oid: int, *, inserted: int = 0, updated: int = 0, deleted: int = 0) -> None:
        """Counts changed rows of a table."""
        with self._lock:
            table = self._tables.setdefault(oid, TableActivity())
            table.inserted += inserted
            table.updated += updated
            table.deleted += deleted

    def list_tables(self) -> dict[int, TableActivity]:
        """Returns the changed rows by table."""
        with self._lock:
            return dict(self._tables)
