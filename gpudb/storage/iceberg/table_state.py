"""The committed Iceberg metadata of a table, as it stays in memory between commits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pyiceberg.manifest import ManifestFile
from pyiceberg.table.metadata import TableMetadataV2

from gpudb.catalog.deleted_rows import DeletedRows
from gpudb.catalog.tables import TableSnapshot


@dataclass(frozen=True, slots=True)
class Addition:
    """Snapshot and sequence number at which a live file was added; Iceberg repeats them in every later manifest."""

    snapshot_id: int
    sequence: int


@dataclass(frozen=True, slots=True)
class Manifest:
    """A manifest, and the paths of the data files that it lists."""

    file: ManifestFile
    paths: frozenset[str]


@dataclass(frozen=True, slots=True)
class Deletion:
    """The deleted rows of a live data file, and the delete file of so many `bytes` that lists them."""

    deleted: DeletedRows
    path: Path
    bytes: int
    addition: Addition


@dataclass(frozen=True, slots=True)
class TableState:
    """The committed metadata of one table. `files` are its metadata files that must be kept.

    `snapshots` are the kept ones, oldest first; the last is the committed state, once the table has one.
    `snapshot_files` are their manifest lists, manifests and delete files by their ids. `deletions` are by the paths of
    data files, and listed by `delete_manifests`.
    """

    metadata: TableMetadataV2
    location: Path
    manifests: tuple[Manifest, ...]
    added: Mapping[str, Addition]
    files: frozenset[Path]
    snapshots: tuple[TableSnapshot, ...] = ()
    snapshot_files: Mapping[int, frozenset[Path]] = field(default_factory=dict)
    deletions: Mapping[str, Deletion] = field(default_factory=dict)
    delete_manifests: tuple[Manifest, ...] = ()

    @property
    def is_readable(self) -> bool:
        """Whether the files of all kept snapshots are known."""
        return all(each.table.is_readable for each in self.snapshots)
