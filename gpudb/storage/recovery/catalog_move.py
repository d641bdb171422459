"""Moves the catalog of a data directory to PostgreSQL, for several coordinators, and back to a file of its own.

Rows of tables stay where they are. The copy is read back and compared before it becomes the directory's catalog. A move
that is interrupted has left the directory with the catalog that it had, or is finished by the same command.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg

from gpudb.catalog.relations import Sequence
from gpudb.errors import FeatureNotSupported, GpudbError
from gpudb.storage.catalog.changes import (
    Catalogs,
    Pointer,
    get_home,
    is_temporary_object,
    is_temporary_schema,
    iter_objects,
)
from gpudb.storage.catalog.copying import write_catalog
from gpudb.storage.catalog.database import BACKUP, CatalogDatabase
from gpudb.storage.catalog.postgres import PostgresCatalog
from gpudb.storage.catalog.postgres_connection import SCHEMA, connect, describe
from gpudb.storage.catalog.records import encode
from gpudb.storage.catalog.sequences import Sequences, SequenceState
from gpudb.storage.commit_log import NAME as LOG
from gpudb.storage.commit_log import CommitLog
from gpudb.storage.iceberg.file_writer import sync
from gpudb.storage.lockfile import LockFile
from gpudb.storage.private_files import SHARED_CATALOG_FILE, TABLES_URL_FILE
from gpudb.storage.recovery.opening import claim_directory, read_current_catalogs

CATALOG = "catalog.db"
KEPT = "catalog-before-postgresql.db"
"""Name of the SQLite file of before a move to PostgreSQL, which nothing reads any more."""


@dataclass(frozen=True, slots=True)
class MovedCatalog:
    """What a move has copied: the numbers of databases, tables and sequences."""

    databases: int
    tables: int
    sequences: int


@dataclass(frozen=True, slots=True)
class _Content:
    """Everything that a catalog holds."""

    catalogs: Catalogs
    pointers: Mapping[int, Pointer]
    commit: int
    states: Mapping[Sequence, SequenceState]

    def describe(self) -> set[tuple[object, ...]]:
        """Returns all rows, to compare two catalogs."""
        rows: set[tuple[object, ...]] = set()
        for database, catalog in self.catalogs.items():
            for kind, name, value in iter_objects(catalog):
                if not is_temporary_object(kind, name):
                    rows.add((get_home(database, kind), kind, name, encode(value)))
            for relation in catalog.relations.values():
                if not is_temporary_schema(relation.schema):
                    rows.add((database, relation.oid, encode(relation)))
            for sequence in catalog.sequences():
                if not sequence.temporary:
                    state = self.states.get(sequence) or SequenceState(sequence.first, sequence.called)
                    rows.add(("sequence", sequence.file, state.value, state.called))
        rows |= {
            (oid, pointer.database, pointer.schema, pointer.name, pointer.location)
            for oid, pointer in self.pointers.items()
        }
        return rows

    def count(self) -> MovedCatalog:
        tables = sum(1 for catalog in self.catalogs.values() for _ in catalog.tables())
        return MovedCatalog(len(self.catalogs), tables, len(self.states))


def move_to_postgres(directory: Path, url: str) -> MovedCatalog:
    """Moves the catalog of a data directory to the PostgreSQL database of `url`, which has none yet.

    The SQLite file is kept as KEPT. Raises 58P01 without a data directory, 55006 while a server has it open, 55000 if
    its catalog is in another PostgreSQL, that of `url` is in use, or a crash has left commits in its log alone, XX001
    if the copy differs from the original, and 0A000 if its tables lie in an object storage, which several coordinators
    cannot have.
    """
    if (directory / TABLES_URL_FILE).exists():
        raise FeatureNotSupported("tables of several coordinators cannot lie in an object storage")
    with _lock(directory), closing(PostgresCatalog(url)) as shared, _postgres_errors():
        path = directory / CATALOG
        if not path.exists():
            _check_claim(directory, shared)
            return _read_shared(shared).count()  # a move that had been finished but for its last message
        content = _read_file(directory)
        if _read_shared(shared).describe() != content.describe():
            shared.adopt(content.catalogs, content.pointers, content.commit, content.states)
            _compare(content, _read_shared(shared))
        claim_directory(directory, shared.identifier, is_new=False, moves=True)
        path.replace(directory / KEPT)
        (directory / BACKUP).unlink(missing_ok=True)
        sync(directory)
        return content.count()


def move_to_file(directory: Path, url: str) -> MovedCatalog:
    """Moves the catalog of a data directory from PostgreSQL to a file in the directory, and drops it there.

    Raises 58P01 without a data directory, 55006 while a server has it open, 55000 if its catalog is not that of `url`,
    and XX001 if the copy differs from the original.
    """
    with _lock(directory), closing(PostgresCatalog(url)) as shared, _postgres_errors():
        _check_claim(directory, shared)
        with shared.exclusive():
            if not shared.coordinators.is_alone():
                message = "servers use the catalog in PostgreSQL"
                hint = "Stop them first; one that was killed counts as running for half a minute."
                raise GpudbError(message, condition="object_in_use", hint=hint)
            content = _read_shared(shared)
            partial = directory / f"{CATALOG}.moving"
            _remove_file(partial)
            write_catalog(partial, content.catalogs, content.pointers, content.commit, content.states)
            with closing(CatalogDatabase(partial, create=False)) as database:
                _compare(content, _read_database(database, partial))
            _remove_file(directory / CATALOG)
            partial.replace(directory / CATALOG)
            sync(directory)
            (directory / SHARED_CATALOG_FILE).unlink()
            sync(directory)
        shutil.rmtree(directory / "coordinators", ignore_errors=True)
        with connect(url) as connection:
            connection.execute(f"DROP SCHEMA {SCHEMA} CASCADE")
        return content.count()


@contextmanager
def _lock(directory: Path) -> Iterator[None]:
    """Keeps servers from opening a data directory, whichever catalog it has."""
    if not (directory / "tables").is_dir():
        raise GpudbError(f'"{directory}" is not a data directory of gpudb', condition="undefined_file")
    lock = LockFile(directory / "lock")
    try:
        yield
    finally:
        lock.close()


@contextmanager
def _postgres_errors() -> Iterator[None]:
    try:
        yield
    except psycopg.Error as error:
        message = f"could not move the catalog: {describe(error)}"
        raise GpudbError(message, condition="connection_failure") from error


def _check_claim(directory: Path, shared: PostgresCatalog) -> None:
    claim = directory / SHARED_CATALOG_FILE
    if not claim.exists() or claim.read_text().strip() != shared.identifier:
        message = f'the catalog of the data directory "{directory}" is not the one in this PostgreSQL'
        raise GpudbError(message, condition="object_not_in_prerequisite_state")


def _read_file(directory: Path) -> _Content:
    path = directory / CATALOG
    with closing(CatalogDatabase(path, create=False)) as database:
        read_current_catalogs(directory, database)  # raises for one that is older than its tables
        content = _read_database(database, path)
    if (directory / LOG).exists():
        with closing(CommitLog(directory / LOG, read_only=True)) as log:
            if log.read(content.commit):
                message = f'the data directory "{directory}" has commits in its log that are not folded'
                hint = "Start a server over the directory and stop it, which folds them."
                raise GpudbError(message, condition="object_not_in_prerequisite_state", hint=hint)
    return content


def _read_database(database: CatalogDatabase, path: Path) -> _Content:
    catalogs, pointers = database.read()
    sequences = Sequences(path)
    try:
        found = [each for catalog in catalogs.values() for each in catalog.sequences()]
        return _Content(catalogs, pointers, database.last_commit(), {each: sequences.get(each) for each in found})
    finally:
        sequences.close()


def _read_shared(shared: PostgresCatalog) -> _Content:
    catalogs, pointers = shared.read()
    return _Content(catalogs, pointers, shared.last_commit(), shared.read_sequences(catalogs))


def _compare(content: _Content, copy: _Content) -> None:
    different = content.describe() ^ copy.describe()
    if different:
        message = f"the copy of the catalog differs from it in {len(different)} rows"
        detail = "The data directory has the catalog that it had."
        raise GpudbError(message, condition="data_corrupted", detail=detail)


def _remove_file(path: Path) -> None:
    for each in (path, Path(f"{path}-wal"), Path(f"{path}-shm")):
        each.unlink(missing_ok=True)
