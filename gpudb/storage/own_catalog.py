"""The catalog that one store has alone: in memory, or in the SQLite file of its data directory."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from gpudb.catalog.model import make_initial_catalog
from gpudb.catalog.predefined_roles import with_predefined_roles
from gpudb.catalog.relations import Relation
from gpudb.catalog.tables import Table
from gpudb.errors import GpudbError
from gpudb.storage.catalog.changes import CatalogChanges, Catalogs, Coordinator
from gpudb.storage.catalog.database import CatalogDatabase
from gpudb.storage.catalog.merge import Compaction, MergeResult
from gpudb.storage.catalog.sequences import Sequences
from gpudb.storage.commit_log import CommitLog, LoggedCommit
from gpudb.storage.committed_state import CommittedState
from gpudb.storage.data_directory import DataDirectory
from gpudb.storage.locks import LockManager, Locks
from gpudb.storage.opening import load_tables
from gpudb.storage.private_files import make_directory
from gpudb.storage.recovery.logged_commits import open_log, restore_files
from gpudb.storage.recovery.opening import check_not_shared, read_current_catalogs, require_catalog
from gpudb.storage.transaction import Transaction

if TYPE_CHECKING:
    from gpudb.storage.catalog.postgres_notifications import Message, PostgresNotifications


class OwnCatalog:
    """What the catalogs of one store alone have in common (see `CatalogStore`)."""

    leads = True
    is_alone = True
    log: CommitLog | None = None
    logged: Sequence[LoggedCommit] = ()

    def __init__(self, directory: DataDirectory, committed: CommittedState, sequences: Sequences) -> None:
        self.private_directory = directory.path
        self.spill = directory.spill
        self.locks: LockManager = Locks()
        self.sequences = sequences
        self._committed = committed
        known = (each for catalog in committed.catalogs.values() for each in catalog.sequences())
        self.sequences.retain({sequence.file for sequence in known})

    @property
    def last_commit(self) -> int:
        """The number of the last commit."""
        return self._committed.commits

    @property
    def written_commit(self) -> int:
        """The number of the last commit that the catalog itself has."""
        return self._committed.commits

    def exclusive(self, transaction: Transaction | None = None) -> AbstractContextManager[None]:
        """Does nothing: there are no other coordinators."""
        return nullcontext()

    def is_collected_here(self, relation: Relation | None) -> bool:
        """Returns whether a relation has files."""
        return isinstance(relation, Table)

    def refresh(self) -> None:
        """Does nothing: nobody else commits."""

    def announce(self, host: str, port: int) -> None:
        """Does nothing: nobody asks for the address."""

    def list_coordinators(self) -> tuple[int, list[Coordinator]]:
        """Returns 0 and none."""
        return 0, []

    def open_notifications(self, deliver: Callable[[int, Iterable[Message]], None]) -> PostgresNotifications | None:
        """Returns None: there is no other server."""

    def start(self) -> None:
        """Does nothing: nothing runs beside the statements."""

    def stop(self) -> None:
        """Does nothing: nothing runs beside the statements."""

    def close(self) -> None:
        """Closes the catalog after its last transaction, and removes the temporary files."""
        self.locks.close()
        self.sequences.close()
        shutil.rmtree(self.spill, ignore_errors=True)


class MemoryCatalog(OwnCatalog):
    """The catalog of a store without a data directory: in memory alone."""

    def __init__(self, directory: DataDirectory, committed: CommittedState) -> None:
        """Sets the committed state to the first catalogs."""
        make_directory(directory.spill)
        first = with_predefined_roles(make_initial_catalog())
        versions = enumerate(first.databases, first.version)
        committed.open({name: replace(first, database=name, version=version) for version, name in versions}, 0)
        super().__init__(directory, committed, Sequences(None))

    def write(
        self,
        changes: CatalogChanges,
        merged: MergeResult,
        unused: Mapping[int, list[Path]],
        compactions: Sequence[Compaction],
    ) -> None:
        """Does nothing: the committed state is all there is."""

    def last_definition(self) -> int:
        """Raises 55000: nothing outlives the store."""
        raise GpudbError("the store has no data directory", condition="object_not_in_prerequisite_state")

    def copy_to(self, path: Path) -> None:
        """Raises 55000: nothing outlives the store."""
        raise GpudbError("the store has no data directory", condition="object_not_in_prerequisite_state")


class FileCatalog(OwnCatalog):
    """The catalog in the SQLite file of a data directory."""

    def __init__(self, directory: DataDirectory, committed: CommittedState, *, read_only: bool = False) -> None:
        """Opens the file, and loads its tables into the committed state. What is `read_only` removes no files.

        Raises 58P01 if a directory that is to be read only has no catalog, XX001 if it cannot be read, or is missing or
        older than its tables, and 55000 if the directory's catalog is in PostgreSQL.
        """
        check_not_shared(directory.path)
        require_catalog(directory.path, directory.table_files.has_tables)
        self.leads = not read_only
        if read_only and not (directory.path / "catalog.db").exists():
            message = f'the directory "{directory.path}" holds no database'
            raise GpudbError(message, condition="undefined_file")
        shutil.rmtree(directory.spill, ignore_errors=True)
        make_directory(directory.spill)
        path = directory.path / "catalog.db"
        self._database = CatalogDatabase(path)
        try:
            self._written = self._database.last_commit()
            self.log = open_log(directory, read_only=read_only)
            self.logged = [] if self.log is None else self.log.read(self._written)
            committed.open(self._read(directory, committed), self._written)
            super().__init__(directory, committed, Sequences(path))
        except BaseException:
            self._database.close()
            raise

    def _read(self, directory: DataDirectory, committed: CommittedState) -> Catalogs:
        catalogs, pointers = read_current_catalogs(directory.path, self._database)
        restored = restore_files(directory.tables, self.logged)
        return load_tables(directory, committed.states, catalogs, pointers, restored, alone=self.leads)

    @property
    def written_commit(self) -> int:
        """The number of the last commit in the file."""
        return self._written

    def write(
        self,
        changes: CatalogChanges,
        merged: MergeResult,
        unused: Mapping[int, list[Path]],
        compactions: Sequence[Compaction],
    ) -> None:
        """Writes a commit to the file, and copies the file if more than tables changed."""
        self._database.commit(changes)
        self._written = changes.commit
        if changes.objects or not all(isinstance(each, Table) for each in changes.relations.values()):
            self._database.back_up()

    def last_definition(self) -> int:
        """Returns the time of the last commit that changed more than rows (see `CatalogStore`)."""
        return self._database.last_definition()

    def copy_to(self, path: Path) -> None:
        """Copies the file."""
        self._database.copy_to(path)

    def close(self) -> None:
        """Closes the file after its last transaction, copies it, and removes the temporary files."""
        super().close()
        self._database.back_up()
        self._database.close()
