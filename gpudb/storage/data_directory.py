"""A data directory that is open: its folders, the lock on it, and where the files of its tables lie.

DIR/lock                        held while the directory is open
DIR/catalog.db                  SQLite: Iceberg's pointers, gpudb's definitions, states of sequences
DIR/commits.log                 small commits that Iceberg's metadata does not have yet
DIR/tables/OID/data/*.parquet   rows; immutable
DIR/tables/OID/metadata/        Iceberg's metadata files
DIR/spill/                      temporary files of operations that exceed memory, unless they have a directory of
                                their own; emptied at opening
DIR/vector_indexes/             indexes of vectors in data files, built again if they are lost
DIR/lost+found/                 files that belong to no table, found at an opening (see `lost_and_found`)
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path

from gpudb.catalog.tables import Table
from gpudb.config.storage import StorageSettings
from gpudb.errors import FeatureNotSupported, GpudbError
from gpudb.storage.iceberg.file_writer import sync
from gpudb.storage.iceberg.locations import place_at
from gpudb.storage.lockfile import LockFile
from gpudb.storage.object_stores.table_files import LocalTableFiles, TableFiles, open_table_files
from gpudb.storage.private_files import make_data_directory, make_directory

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")


class DataDirectory:
    """The folders of a data directory from its opening to `close`; a temporary one is not `durable`."""

    def __init__(self, data_dir: Path | None, settings: StorageSettings) -> None:
        """Creates what is missing, and locks it; None makes a temporary directory. Raises as `store.Store` does.

        Those that have their catalog in PostgreSQL, the coordinators, open a directory together.
        """
        together = settings.catalog is not None
        if data_dir is not None and _ADDRESS.match(str(data_dir)):
            hint = "A local data directory has the catalog; its tables may lie at an address (--tables-url)."
            raise FeatureNotSupported(f'data directories at addresses are not supported: "{data_dir}"', hint=hint)
        if settings.tables_url is not None and (together or data_dir is None):
            what = "without a data directory" if data_dir is None else "of several coordinators"
            raise FeatureNotSupported(f"tables {what} cannot lie in an object storage")
        self.durable = data_dir is not None
        self.path = Path(tempfile.mkdtemp(prefix="gpudb-")) if data_dir is None else data_dir.absolute()
        self.tables = self.path / "tables"
        """The folder that has a folder for each table, by OID."""
        self.spill = (self.path if settings.spill_dir is None else settings.spill_dir.absolute()) / "spill"
        """The folder of temporary files."""
        try:
            make_data_directory(self.path)
            make_directory(self.tables)
        except OSError as error:
            condition = "insufficient_privilege" if isinstance(error, PermissionError) else "io_error"
            message = f'could not create data directory "{self.path}": {error.strerror}'
            raise GpudbError(message, condition=condition) from error
        self._lock = LockFile(self.path / "lock", together=together)
        self.table_files: TableFiles = LocalTableFiles()
        try:
            self.table_files = open_table_files(self.path, settings.tables_url)
            if together and self.table_files.url is not None:
                raise FeatureNotSupported("tables of several coordinators cannot lie in an object storage")
            place_at(self.tables, self.table_files.url)
        except BaseException:
            self.release()
            raise

    def is_durable(self, table: Table) -> bool:
        """Returns whether a table outlives the store."""
        return self.durable and not table.temporary

    def folder(self, oid: int) -> Path:
        """Returns the folder of a table."""
        return self.tables / str(oid)

    def data_folder(self, table: Table) -> Path:
        """Returns the folder of a table's data files; creates and syncs it if needed."""
        path = self.folder(table.oid) / "data"
        if not path.is_dir():
            make_directory(path)
            if self.is_durable(table):
                sync(path.parent)
                sync(self.tables)
        return path

    def list_below_tables(self, paths: Iterable[Path]) -> list[str]:
        """Returns paths below `tables`, relative to it, without those that lie elsewhere."""
        return [str(path.relative_to(self.tables)) for path in paths if path.is_relative_to(self.tables)]

    def release(self) -> None:
        """Lets others open the directory; idempotent."""
        self.table_files.close()
        place_at(self.tables, None)
        self._lock.close()

    def close(self) -> None:
        """Lets others open the directory, and removes a temporary one."""
        self.release()
        if not self.durable:
            shutil.rmtree(self.path, ignore_errors=True)
