"""Recovery of the commits in the log that were not folded when the store ended: their files, and their rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from gpudb.catalog.tables import DataFile, Table
from gpudb.errors import GpudbError
from gpudb.storage.commit_log import NAME, CommitLog, LoggedCommit, LoggedFile
from gpudb.storage.data_directory import DataDirectory
from gpudb.storage.iceberg.file_writer import disk_condition, sync
from gpudb.storage.iceberg.statistics import file_statistics
from gpudb.storage.private_files import create_file, make_directory
from gpudb.types.facts import FLOATS


def open_log(directory: DataDirectory, *, read_only: bool) -> CommitLog | None:
    """Opens the log of a data directory; None if its commits need none, since its tables lie in an object storage.

    What is to be read only creates none.
    """
    path = directory.path / NAME
    if directory.table_files.url is not None or (read_only and not path.exists()):
        return None
    try:
        return CommitLog(path, read_only=read_only)
    except OSError as error:
        raise GpudbError(f"could not open the log of commits: {error}", condition=disk_condition(error)) from error


def restore_files(tables: Path, commits: Sequence[LoggedCommit]) -> Mapping[int, frozenset[Path]]:
    """Writes and syncs the files of commits in the log that are not there as they were; returns all by table."""
    found: dict[int, frozenset[Path]] = {}
    for commit in commits:
        for table in commit.tables:
            paths = frozenset(_restore(tables, file) for file in table.files)
            found[table.oid] = found.get(table.oid, frozenset()) | paths
    return found


def _restore(tables: Path, file: LoggedFile) -> Path:
    path = tables / file.path
    if path.exists() and path.read_bytes() == file.content:
        return path
    make_directory(path.parent)
    partial = path.with_suffix(".part")
    partial.unlink(missing_ok=True)
    create_file(partial)
    partial.write_bytes(file.content)
    sync(partial)
    partial.replace(path)
    sync(path.parent)
    return path


def read_files(tables: Path, table: Table, files: Sequence[LoggedFile]) -> tuple[DataFile, ...]:
    """Returns the files that a commit in the log adds to a table, with the statistics of their footers."""
    import pyarrow.parquet as pq

    # That no value is a NaN is not in the footer
    floats = frozenset(column.field_id for column in table.columns if column.type.name in FLOATS)
    found = []
    for file in files:
        path = tables / file.path
        footer = pq.read_metadata(path)
        made = file_statistics(str(path), len(file.content), footer, table.columns, floats)
        found.append(replace(made, bucket=file.bucket))
    return tuple(found)
