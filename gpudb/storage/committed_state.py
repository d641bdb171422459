"""The last committed state: the catalogs, their tables' Iceberg states, and the files that transactions still read."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from types import MappingProxyType

from gpudb.catalog.model import Catalog
from gpudb.catalog.tables import Table
from gpudb.errors import SqlError
from gpudb.storage.catalog.changes import Catalogs
from gpudb.storage.catalog.merge import Compaction
from gpudb.storage.data_directory import DataDirectory
from gpudb.storage.garbage import Garbage, remove_from_disk
from gpudb.storage.table_states import TableStates


class CommittedState:
    """What transactions begin with. Whoever replaces it, or reads `states`, holds `lock`, the lock of commits.

    `commits` is the number of the last commit, as this store counts them.
    """

    def __init__(self, directory: DataDirectory, keep_seconds: float) -> None:
        """`keep_seconds` is the time that unused files stay on disk for other programs that read the tables."""
        self.lock = threading.RLock()
        self.is_closed = False
        self.catalogs: Catalogs = MappingProxyType({})
        self.commits = 0
        self.states = TableStates(directory.tables)
        self.compactions: list[Compaction] = []
        """Those that open transactions may not have seen."""
        self.garbage = Garbage(
            directory.tables, keep_seconds if directory.durable else 0.0, directory.table_files.remove
        )
        self._directory = directory
        self._replacing = threading.Lock()
        self._versions = itertools.count(1)
        self._numbers = itertools.count(1)

    def open(
        self, catalogs: Catalogs, commits: int, *, new_oid: Callable[[], int] | None = None, first_number: int = 1
    ) -> None:
        """Sets the state at the opening; without `new_oid` this store alone gives OIDs.

        Transactions are numbered from `first_number` on.
        """
        self._numbers = itertools.count(first_number)
        self._versions = itertools.count(max(each.version for each in catalogs.values()) + 1)
        new_oid = new_oid or itertools.count(max(each.next_oid for each in catalogs.values())).__next__
        self.catalogs = MappingProxyType({name: replace(each, oids=new_oid) for name, each in catalogs.items()})
        self.commits = commits

    def catalog(self, database: str) -> Catalog:
        """Returns the catalog of a database; 3D000 if there is none."""
        found = self.catalogs.get(database)
        if found is None:
            raise SqlError.of("invalid_catalog_name", f'database "{database}" does not exist')
        return found

    def open_snapshot(self, number: int, database: str) -> Catalog:
        """Returns the catalog of a database and registers the transaction of that number as its reader."""
        with self._replacing:
            catalog = self.catalog(database)
            self.garbage.register_reader(number, self.commits)
            return catalog

    def iter_tables(self) -> Iterator[Table]:
        """Yields the tables of all databases."""
        return (table for catalog in self.catalogs.values() for table in catalog.tables())

    def next_number(self) -> int:
        """Returns the number of a new transaction."""
        return next(self._numbers)

    def next_version(self) -> int:
        """Returns a new catalog version."""
        return next(self._versions)

    def install(self, catalogs: Catalogs) -> None:
        """Makes the catalogs of the next commit those that transactions see from here on."""
        with self._replacing:
            self.catalogs = catalogs
            self.commits += 1

    def restore(self, number: int, catalog: Catalog) -> None:
        """Makes the catalog of a commit that the log had at the opening the committed one of its database."""
        with self._replacing:
            self.catalogs = MappingProxyType({**self.catalogs, catalog.database: catalog})
            self.commits = number

    def oldest_commit_read(self) -> int:
        """Returns the number of the oldest commit that is read, the last one if none is."""
        with self._replacing:
            oldest = self.garbage.oldest_commit_read()
            return self.commits if oldest is None else oldest

    def add_compactions(self, made: Iterable[Compaction]) -> None:
        """Remembers what a commit has merged, and forgets what all open transactions have seen."""
        oldest = self.garbage.oldest_commit_read()
        kept = (each for each in self.compactions if oldest is not None and each.commit > oldest)
        self.compactions = [*kept, *made]

    def remove_temporary_tables(self) -> None:
        """Removes the folders of the tables that end with the store."""
        for table in self.iter_tables():
            if table.temporary:
                remove_from_disk(self._directory.folder(table.oid))
