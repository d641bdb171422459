"""A table's Iceberg snapshots from one version of its metadata to the next: manifests are kept, merged and written."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pyiceberg.manifest import DataFile as IcebergFile
from pyiceberg.manifest import DataFileContent, FileFormat, ManifestEntry, ManifestEntryStatus
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table.snapshots import Operation, Snapshot, Summary

from gpudb.catalog.deleted_rows import DeletedRows
from gpudb.catalog.tables import DataFile, Table, TableSnapshot
from gpudb.storage.iceberg.content_names import find_hash
from gpudb.storage.iceberg.disk_files import DiskFile
from gpudb.storage.iceberg.history import COMMITTED_SUMMARY
from gpudb.storage.iceberg.locations import to_path, to_uri
from gpudb.storage.iceberg.manifest_writers import ManifestListWriter, ManifestWriter
from gpudb.storage.iceberg.position_deletes import DeleteWriter
from gpudb.storage.iceberg.schema import Layout, partition_record
from gpudb.storage.iceberg.statistics import to_iceberg
from gpudb.storage.iceberg.table_state import Addition, Deletion, Manifest, TableState

MANIFESTS = 8
"""Maximum manifests of a snapshot; more are merged into one."""


@dataclass(slots=True)
class Snapshots:
    """A table's snapshots, `known` ones and as Iceberg has them `listed`, and what the current one consists of."""

    current: Snapshot | None = None
    sequence: int = 0
    known: list[TableSnapshot] = field(default_factory=list)
    listed: dict[int, Snapshot] = field(default_factory=dict)
    files: dict[int, frozenset[Path]] = field(default_factory=dict)
    added: Mapping[str, Addition] = field(default_factory=dict)
    manifests: tuple[Manifest, ...] = ()
    deletions: Mapping[str, Deletion] = field(default_factory=dict)
    delete_manifests: tuple[Manifest, ...] = ()

    @classmethod
    def of(cls, state: TableState | None) -> Snapshots:
        """Begins with those of the version before."""
        if state is None:
            return cls()
        old = state.metadata
        return cls(
            old.current_snapshot(),
            old.last_sequence_number,
            list(state.snapshots),
            {each.snapshot_id: each for each in old.snapshots},
            dict(state.snapshot_files),
            state.added,
            state.manifests,
            state.deletions,
            state.delete_manifests,
        )

    def list_deleted(self) -> dict[str, DeletedRows]:
        """Returns the deleted rows of the current snapshot."""
        # Not those of `deletions`, which are unknown after a move of the directory.
        return _list_deleted(self.known[-1].table.files) if self.known else {}

    def has_rows_of(self, table: Table) -> bool:
        """Returns whether the current snapshot has the rows of a table."""
        paths = {file.path for file in table.files}
        return paths == self.added.keys() and _list_deleted(table.files) == self.list_deleted()

    def differ_in_rows(self, table: Table) -> bool:
        """Returns whether a table's rows need a new snapshot: they changed, or its manifests have to.

        Those of another place have other paths, and those of an earlier gpudb prove nothing by their names.
        """
        return not self.has_rows_of(table) or (bool(table.files) and not self._are_manifests_hashed())

    def _are_manifests_hashed(self) -> bool:
        return bool(self.manifests) and all(map(_is_hashed, (*self.manifests, *self.delete_manifests)))

    def add(
        self,
        directory: Path,
        version: str,
        layout: Layout,
        table: Table,
        moment: int,
        written: list[Path],
        *,
        compacting: bool,
        number: int = 0,
    ) -> None:
        """Writes the manifests of a new snapshot, committed at a moment, and makes it the current one.

        `number` is the one that it has already, if any.

        One that is `compacting` replaces the one before. The paths of the new files are added to `written`.
        """
        deleted_before, live, same_rows = self.list_deleted(), self.added, self.has_rows_of(table)
        changed_rows = self.differ_in_rows(table)
        snapshot_id = number or _snapshot_id(self.listed)
        self.sequence += 1
        writer = _ManifestWriter(
            directory, version, layout.schema, snapshot_id, self.sequence, table, written, layout.spec
        )
        self.manifests, self.added = writer.next_manifests(self.manifests, live)
        operation = _choose_operation(live.keys(), deleted_before, table, compacting=compacting)
        if changed_rows:
            self.deletions, self.delete_manifests = writer.next_deletions(self.deletions, live)
        manifests = (*self.manifests, *self.delete_manifests)
        list_file = DiskFile(directory, f"snap-{snapshot_id}-{version}-{{}}.avro", written)
        _write_list(list_file, snapshot_id, self.current, self.sequence, manifests)
        list_path = list_file.path
        if self.known and (compacting or (same_rows and not layout.changed)):
            moment = self.known.pop().committed
        totals = {
            "total-data-files": str(len(table.files)),
            "total-records": str(sum(file.stored_rows for file in table.files)),
            "total-delete-files": str(len(self.deletions)),
            "total-position-deletes": str(sum(len(each.deleted) for each in self.deletions.values())),
            COMMITTED_SUMMARY: str(moment),
        }
        self.current = self.listed[snapshot_id] = Snapshot.model_validate(
            {
                "snapshot-id": snapshot_id,
                "manifest-list": to_uri(list_path),
                "sequence-number": self.sequence,
                "timestamp-ms": moment // 1000,
                "summary": Summary(operation, **totals),
                "schema-id": layout.schema.schema_id,
            }
        )
        self.known.append(TableSnapshot(snapshot_id, moment, operation.value, table))
        self.files[snapshot_id] = frozenset(
            {
                list_path,
                *(to_path(manifest.file.manifest_path) for manifest in manifests),
                *(each.path for each in self.deletions.values()),
            }
        )


def _list_deleted(files: Iterable[DataFile]) -> dict[str, DeletedRows]:
    """Returns the deleted rows of files by their paths."""
    return {file.path: file.deleted for file in files if file.deleted is not None}


def _choose_operation(
    before: Iterable[str], deleted_before: Mapping[str, DeletedRows], table: Table, *, compacting: bool
) -> Operation:
    was, paths = set(before), {file.path for file in table.files}
    deleted = _list_deleted(table.files)
    if compacting or (was == paths and was and deleted == deleted_before):
        return Operation.REPLACE
    staying = was & paths
    kept = all(each.is_within(deleted_before.get(path)) for path, each in deleted.items() if path in staying)
    if was <= paths and kept:
        return Operation.APPEND
    gone = all(each.is_within(deleted.get(path)) for path, each in deleted_before.items() if path in staying)
    return Operation.DELETE if paths <= was and gone else Operation.OVERWRITE


def _is_hashed(manifest: Manifest) -> bool:
    return find_hash(manifest.file.manifest_path) is not None


def _snapshot_id(taken: Mapping[int, Snapshot]) -> int:
    while True:
        candidate = uuid.uuid4().int >> 65
        if candidate and candidate not in taken:
            return candidate


class _ManifestWriter:
    """Updates a snapshot's manifests to the table's files: keeps the valid ones and rewrites the others."""

    def __init__(
        self,
        directory: Path,
        version: str,
        schema: Schema,
        snapshot_id: int,
        sequence: int,
        table: Table,
        written: list[Path],
        spec: PartitionSpec,
    ) -> None:
        self._partition_spec = spec
        self._directory = directory
        self._version = version
        self._schema = schema
        self._snapshot_id = snapshot_id
        self._sequence = sequence
        self._files = {file.path: file for file in table.files}
        self._columns = table.columns
        self._written = written

    def next_manifests(
        self, manifests: Sequence[Manifest], live: Mapping[str, Addition]
    ) -> tuple[tuple[Manifest, ...], dict[str, Addition]]:
        """Returns manifests that hold exactly the table's files, and where each of those was added."""
        new = [path for path in self._files if path not in live]
        added = {path: live.get(path) or Addition(self._snapshot_id, self._sequence) for path in self._files}
        listed = {path for manifest in manifests for path in manifest.paths}
        whole = len(manifests) + bool(new) > MANIFESTS or not all(map(_is_hashed, manifests))
        kept = [m for m in manifests if not whole and m.paths <= self._files.keys()]
        holding = {path for manifest in kept for path in manifest.paths}
        moved = [path for path in self._files if path in live and path not in holding]
        assert whole or not manifests or listed >= set(moved)
        for spec in {0: UNPARTITIONED_PARTITION_SPEC, self._partition_spec.spec_id: self._partition_spec}.values():
            # All files of a manifest have one spec.
            fresh, again = ([path for path in paths if self._spec_id(path) == spec.spec_id] for paths in (new, moved))
            if fresh or again:
                kept.append(self._write(spec, fresh, again, live))
        return tuple(kept), added

    def next_deletions(
        self, known: Mapping[str, Deletion], live: Mapping[str, Addition]
    ) -> tuple[dict[str, Deletion], tuple[Manifest, ...]]:
        """Returns the deletions of the table's files, and the manifests that list their delete files."""
        writer = DeleteWriter(
            self._directory, self._version, self._schema, self._snapshot_id, self._sequence, self._written
        )
        made = writer.next_deletions(self._files.values(), known, live)
        manifests = []
        for spec in {0: UNPARTITIONED_PARTITION_SPEC, self._partition_spec.spec_id: self._partition_spec}.values():
            files = [
                file for file in self._files.values() if file.path in made and self._spec_id(file.path) == spec.spec_id
            ]
            if files:
                manifests.append(writer.write_manifest(spec, files, made))
        return made, tuple(manifests)

    def _spec_id(self, path: str) -> int:
        return 0 if self._files[path].bucket is None else self._partition_spec.spec_id

    def _write(self, spec: PartitionSpec, new: list[str], moved: list[str], live: Mapping[str, Addition]) -> Manifest:
        output = DiskFile(self._directory, f"{self._version}-{{}}-m{spec.spec_id}.avro", self._written)
        with ManifestWriter(spec, self._schema, output, self._snapshot_id, "deflate") as writer:
            for name in new:
                writer.add_entry(self._entry(ManifestEntryStatus.ADDED, name, self._snapshot_id, None))
            for name in moved:
                since = live[name]
                writer.add_entry(self._entry(ManifestEntryStatus.EXISTING, name, since.snapshot_id, since.sequence))
        manifest = writer.to_manifest_file()
        # The list's writer sets it only in a copy.
        manifest.sequence_number = self._sequence
        if new:
            manifest.min_sequence_number = min([self._sequence, *(live[name].sequence for name in moved)])
        return Manifest(manifest, frozenset([*new, *moved]))

    def _entry(self, status: ManifestEntryStatus, path: str, snapshot_id: int, sequence: int | None) -> ManifestEntry:
        file = self._files[path]
        statistics = to_iceberg(file, self._columns)
        data_file = IcebergFile.from_args(
            content=DataFileContent.DATA,
            file_path=to_uri(Path(path)),
            file_format=FileFormat.PARQUET,
            partition=partition_record(file),
            record_count=file.stored_rows,
            file_size_in_bytes=file.bytes,
            value_counts=dict(statistics.value_counts),
            null_value_counts=dict(statistics.null_value_counts),
            nan_value_counts=dict(statistics.nan_value_counts),
            lower_bounds=dict(statistics.lower_bounds),
            upper_bounds=dict(statistics.upper_bounds),
        )
        data_file.spec_id = self._spec_id(path)
        return ManifestEntry.from_args(
            status=status,
            snapshot_id=snapshot_id,
            sequence_number=sequence,
            file_sequence_number=sequence,
            data_file=data_file,
        )


def _write_list(
    file: DiskFile, snapshot_id: int, parent: Snapshot | None, sequence: int, manifests: Iterable[Manifest]
) -> None:
    before = None if parent is None else parent.snapshot_id
    with ManifestListWriter(file, snapshot_id, before, sequence, "deflate") as writer:
        writer.add_manifests([manifest.file for manifest in manifests])
