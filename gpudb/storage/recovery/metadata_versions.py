"""The versions of a table's metadata that a data directory still holds, and that can be read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpudb.catalog.tables import DataFile, Table
from gpudb.errors import GpudbError
from gpudb.storage.catalog.records import decode
from gpudb.storage.iceberg.history import DEFINITION_PROPERTY
from gpudb.storage.iceberg.metadata_reader import load
from gpudb.storage.iceberg.table_state import TableState
from gpudb.storage.recovery.opening import COMMIT_PROPERTY, COMMIT_TABLES_PROPERTY, DATABASE_PROPERTY


@dataclass(frozen=True, slots=True)
class MetadataVersion:
    """A readable metadata file and its content. Its commit, of that number, wrote those of `commit_tables` tables.

    `database` is the OID of the table's database, 0 in the metadata of an earlier gpudb.
    """

    path: Path
    database: int
    commit: int
    commit_tables: int
    table: Table
    state: TableState
    files: tuple[DataFile, ...]


def iter_versions(folder: Path) -> Iterator[MetadataVersion]:
    """Yields the readable versions in a table's folder; whether their data files are there is not verified."""
    for path in (folder / "metadata").glob("*.metadata.json"):
        try:
            properties = json.loads(path.read_bytes())["properties"]
            table: Any = decode(properties[DEFINITION_PROPERTY])
            commit, tables = int(properties[COMMIT_PROPERTY]), int(properties[COMMIT_TABLES_PROPERTY])
            database = int(properties.get(DATABASE_PROPERTY, 0))
            state, files = load(folder, path.name, table, decode)
        except (GpudbError, OSError, ValueError, KeyError, TypeError):
            continue
        yield MetadataVersion(path, database, commit, tables, table, state, files)


def exists_whole(file: DataFile) -> bool:
    """Returns whether a data file is there with its length."""
    path = Path(file.path)
    return path.is_file() and path.stat().st_size == file.bytes
