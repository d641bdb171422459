"""The catalog's file: Iceberg's table pointers and gpudb's own rows in one SQLite file, changed atomically."""

from __future__ import annotations

import contextlib
import logging
import sqlite3
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

from gpudb.catalog.model import FIRST_DATABASE
from gpudb.errors import GpudbError
from gpudb.storage.catalog.changes import CatalogChanges, Catalogs, Pointer, assemble, list_missing, make_first
from gpudb.storage.catalog.database_tables import CATALOG_TABLES, DEFINED
from gpudb.storage.catalog.records import encode
from gpudb.storage.catalog.upgrade import upgrade
from gpudb.storage.private_files import create_file

FORMAT = 2
BACKUP = "catalog-backup.db"
"""Name of the copy of the file in its folder, from which objects other than tables are rebuilt if the file is lost."""
BUSY_SECONDS = 10.0
_LOG = logging.getLogger(__name__)


def make_damage(path: Path, error: Exception) -> GpudbError:
    """Returns the XX001 of a catalog's file that cannot be read."""
    command = f"gpudb repair --data-dir {path.parent}"
    hint = f'Run "{command}", which rebuilds the catalog from its backup and the tables\' own metadata.'
    reason = str(error) if isinstance(error, sqlite3.Error | OSError | GpudbError) else repr(error)
    return GpudbError(f'the catalog "{path}" is damaged: {reason}', condition="data_corrupted", hint=hint)


class CatalogDatabase:
    """The open SQLite file. The caller ensures that one thread at a time writes."""

    def __init__(self, path: Path, *, create: bool = True, read_only: bool = False) -> None:
        """Opens or creates the file; raises XX001 if it is no database, 0A000 if a later gpudb wrote it.

        With `create` false a file without a catalog raises XX001 too. With `read_only` a file of an earlier format is
        not upgraded, but read from an upgraded copy in memory.
        """
        self._path = path
        try:
            create_file(path)  # SQLite gives its mode to the files beside it
            self._connection = sqlite3.connect(
                path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
            )
            self._connection.execute("PRAGMA journal_mode=WAL")
            self._connection.execute("PRAGMA synchronous=FULL")
            if create:
                self._connection.executescript(CATALOG_TABLES)
            state = dict(self._connection.execute("SELECT key, value FROM gpudb_state"))
            format = int(state.get("format", FORMAT))
            if state:
                self.last_commit()
        except (sqlite3.DatabaseError, OSError, ValueError, TypeError) as error:
            raise make_damage(path, error) from error
        if format > FORMAT:
            self._connection.close()
            message = f'the catalog "{path}" has format {format}, this gpudb reads format {FORMAT}'
            raise GpudbError(message, condition="feature_not_supported")
        if not state:
            self._create()
            return
        if create and not read_only:
            # An earlier gpudb did not write it
            row = (DEFINED, str(time.time_ns() // 1000))
            self._connection.execute("INSERT OR IGNORE INTO gpudb_state VALUES (?, ?)", row)
        if format < FORMAT:
            if read_only:
                self._move_to_memory()
            try:
                upgrade(self._connection)
            except (sqlite3.Error, ValueError) as error:
                raise make_damage(path, error) from error
            self._add_predefined_objects()
        elif create and not read_only:
            self._add_predefined_objects()

    def _move_to_memory(self) -> None:
        copy = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        self._connection.backup(copy)
        self._connection.close()
        self._connection = copy

    def _create(self) -> None:
        self._connection.execute("INSERT OR REPLACE INTO gpudb_state VALUES ('format', ?)", (str(FORMAT),))
        self.commit(make_first())

    def _add_predefined_objects(self) -> None:
        """Adds the roles and databases that the file lacks: an earlier gpudb wrote it."""
        write = list_missing(self.read()[0][FIRST_DATABASE], self.last_commit())
        if write is not None:
            self.commit(write)

    def read(self) -> tuple[Catalogs, Mapping[int, Pointer]]:
        """Reads the catalogs without their tables' files, and the pointer of each table by OID; XX001 for damage."""
        execute = self._connection.execute
        try:
            found = [text for (text,) in execute("PRAGMA quick_check").fetchall()]
            if found != ["ok"]:
                raise sqlite3.DatabaseError("; ".join(found))
            return assemble(
                dict(execute("SELECT key, value FROM gpudb_state")),
                execute("SELECT database, kind, name, definition FROM gpudb_objects"),
                execute("SELECT database, definition FROM gpudb_relations ORDER BY oid"),
                execute("SELECT catalog_name, table_namespace, table_name, metadata_location FROM iceberg_tables"),
            )
        except (sqlite3.DatabaseError, GpudbError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise make_damage(self._path, error) from error

    def last_commit(self) -> int:
        """Returns the number of the last commit."""
        row = self._connection.execute("SELECT value FROM gpudb_state WHERE key = 'commit'").fetchone()
        return int(row[0])

    def last_definition(self) -> int:
        """Returns the time of the last commit that changed more than rows, in microseconds since 1970 UTC."""
        row = self._connection.execute("SELECT value FROM gpudb_state WHERE key = ?", (DEFINED,)).fetchone()
        return int(row[0])

    def commit(self, write: CatalogChanges) -> None:
        """Writes all changes atomically and durably; raises 40001 if a pointer differs from its old value."""
        connection = self._connection
        try:
            connection.execute("BEGIN IMMEDIATE")
            try:
                self._write_rows(connection, write)
                self._write_pointers(connection, write.pointers)
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
        except sqlite3.Error as error:
            with contextlib.suppress(sqlite3.Error):
                if self.last_commit() == write.commit:
                    return  # the commit succeeded
            condition = "disk_full" if "full" in str(error) else "io_error"
            raise GpudbError(f"could not write the catalog: {error}", condition=condition) from error

    def _write_rows(self, connection: sqlite3.Connection, write: CatalogChanges) -> None:
        state = [("version", write.version), ("next_oid", write.next_oid), ("commit", write.commit)]
        if write.defined is not None:
            state.append((DEFINED, write.defined))
        for key, value in state:
            connection.execute("INSERT OR REPLACE INTO gpudb_state VALUES (?, ?)", (key, str(value)))
        gone = [place for place, relation in write.relations.items() if relation is None]
        connection.executemany("DELETE FROM gpudb_relations WHERE database = ? AND oid = ?", gone)
        made = [(*place, encode(each)) for place, each in write.relations.items() if each is not None]
        connection.executemany("INSERT OR REPLACE INTO gpudb_relations VALUES (?, ?, ?)", made)
        for (database, kind, name), held in write.objects.items():
            if held is None:
                place = (database, kind, name)
                connection.execute("DELETE FROM gpudb_objects WHERE database = ? AND kind = ? AND name = ?", place)
            else:
                row = (database, kind, name, encode(held))
                connection.execute("INSERT OR REPLACE INTO gpudb_objects VALUES (?, ?, ?, ?)", row)
            if kind == "schemas":
                connection.execute(
                    "DELETE FROM iceberg_namespace_properties WHERE catalog_name = ? AND namespace = ?",
                    (database, name),
                )
                if held is not None:
                    properties = (database, name, "exists", "true")
                    connection.execute("INSERT INTO iceberg_namespace_properties VALUES (?, ?, ?, ?)", properties)

    def _write_pointers(
        self, connection: sqlite3.Connection, pointers: Iterable[tuple[Pointer | None, Pointer | None]]
    ) -> None:
        pairs = list(pointers)
        previous = {id(new): old.location for old, new in pairs if old is not None and new is not None}
        # All old rows are deleted first, since two tables of one transaction may swap their names.
        for old, _ in pairs:
            if old is None:
                continue
            gone = connection.execute(
                "DELETE FROM iceberg_tables WHERE catalog_name = ? AND table_namespace = ? AND table_name = ?"
                " AND metadata_location = ?",
                (old.database, old.schema, old.name, old.location),
            )
            if gone.rowcount != 1:
                message = f'table "{old.name}" was changed by another program'
                raise GpudbError(message, condition="serialization_failure")
        for _, new in pairs:
            if new is not None:
                connection.execute(
                    "INSERT INTO iceberg_tables VALUES (?, ?, ?, ?, ?, 'TABLE')",
                    (new.database, new.schema, new.name, new.location, previous.get(id(new))),
                )

    def copy_to(self, path: Path) -> None:
        """Copies the last commit's state to another file, replacing it; the caller syncs it."""
        path.unlink(missing_ok=True)
        path.touch(mode=0o600)
        with contextlib.closing(sqlite3.connect(path)) as copy:
            copy.execute("PRAGMA synchronous=OFF")
            self._connection.backup(copy)

    def back_up(self) -> None:
        """Copies the file to BACKUP. A failure is logged: the copy is only read if the file is lost."""
        target = self._path.with_name(BACKUP)
        partial = target.with_suffix(".part")
        try:
            self.copy_to(partial)
            partial.replace(target)
        except (OSError, sqlite3.Error) as error:
            _LOG.warning('could not copy the catalog to "%s": %s', target, error)

    def close(self) -> None:
        """Closes the file."""
        self._connection.close()
