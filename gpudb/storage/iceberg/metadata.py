"""Writes a table's Iceberg metadata: a new version takes effect when the catalog's database names it.

Beside the current snapshot the metadata has those before it for as long as `history.Retention` says; the store's
garbage collection keeps what open transactions still read.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from pyiceberg.manifest import DataFile as IcebergFile
from pyiceberg.manifest import DataFileContent, FileFormat, ManifestEntry, ManifestEntryStatus
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table.metadata import TableMetadataV2
from pyiceberg.table.snapshots import Operation, Snapshot, Summary
from pyiceberg.table.sorting import UNSORTED_SORT_ORDER

from gpudb.catalog.deleted_rows import DeletedRows
from gpudb.catalog.tables import DataFile, Table, TableSnapshot
from gpudb.storage.iceberg.disk_files import DiskFile
from gpudb.storage.iceberg.file_writer import disk_errors, sync
from gpudb.storage.iceberg.history import (
    COMMITTED_SUMMARY,
    DEFINITION_PROPERTY,
    LOCATIONS_PROPERTY,
    PAST_DEFINITION_PROPERTY,
    Retention,
    select_kept,
)
from gpudb.storage.iceberg.locations import to_path, to_uri
from gpudb.storage.iceberg.manifest_writers import ManifestListWriter, ManifestWriter
from gpudb.storage.iceberg.position_deletes import DeleteWriter
from gpudb.storage.iceberg.schema import iceberg_schema, partition_record, partition_spec, type_properties
from gpudb.storage.iceberg.statistics import to_iceberg
from gpudb.storage.iceberg.table_state import Addition, Deletion, Manifest, TableState
from gpudb.storage.private_files import create_file, make_directory

MANIFESTS = 8
"""Maximum manifests of a snapshot; more are merged into one."""


@dataclass(frozen=True, slots=True)
class Commit:
    """What the metadata of all tables of one commit share.

    `moment` is its time in microseconds since 1970 UTC. A commit that is `compacting` leaves the rows of its tables as
    they are, so that its snapshots replace those before them. `properties` are added to Iceberg's.
    """

    moment: int
    retention: Retention = field(default_factory=Retention)
    compacting: bool = False
    properties: Mapping[str, str] = field(default_factory=dict)


def stage(state: TableState | None, folder: Path, table: Table, definition: str, commit: Commit) -> TableState:
    """Writes and syncs the metadata files of a table's next version.

    `folder` is the table's own; `state` is None for a new table; `definition` is the table's, encoded. Nothing takes
    effect yet: the caller makes `TableState.location` the table's current one, or removes the new ones among
    `TableState.files`.
    """
    directory = folder / "metadata"
    make_directory(directory)
    written: list[Path] = []
    try:
        with disk_errors():
            new = _stage(state, directory, folder, table, written, definition, commit)
    except BaseException:
        for path in written:
            path.unlink(missing_ok=True)
        raise
    sync(directory)
    return new


def _stage(
    state: TableState | None,
    directory: Path,
    folder: Path,
    table: Table,
    written: list[Path],
    definition: str,
    commit: Commit,
) -> TableState:
    old = state.metadata if state is not None else None
    number = 0 if state is None else int(state.location.name.partition("-")[0]) + 1
    version = f"{number:05d}-{uuid.uuid4()}"
    schema, changed = iceberg_schema(table, 0), old is None
    specs = (
        [UNPARTITIONED_PARTITION_SPEC] if old is None else sorted(old.partition_specs, key=lambda each: each.spec_id)
    )
    spec = partition_spec(table, specs)
    specs += [spec] if spec not in specs else []
    if old is not None:
        current = old.schema()
        changed = current.fields != schema.fields or current.identifier_field_ids != schema.identifier_field_ids
        # A snapshot's definition is found by its schema, and says how the rows of its files are distributed.
        changed = changed or spec.spec_id != old.default_spec_id
        schema = iceberg_schema(table, _new_schema_id(old)) if changed else current
    sequence = 0 if old is None else old.last_sequence_number
    paths = {file.path for file in table.files}
    live = state.added if state is not None else {}
    manifests = state.manifests if state is not None else ()
    deletions = state.deletions if state is not None else {}
    delete_manifests = state.delete_manifests if state is not None else ()
    # Not those of `deletions`, which are unknown after a move of the directory.
    deleted_before = _list_deleted(state.snapshots[-1].table.files) if state is not None and state.snapshots else {}
    same_rows = paths == live.keys() and _list_deleted(table.files) == deleted_before
    added = dict(live)
    snapshots = [] if state is None else list(state.snapshots)
    listed = {} if old is None else {each.snapshot_id: each for each in old.snapshots}
    snapshot_files = {} if state is None else dict(state.snapshot_files)
    snapshot = old.current_snapshot() if old is not None else None
    rewritten = bool(table.files) and not manifests
    if not same_rows or rewritten or (changed and commit.retention.keeps_past):
        snapshot_id = _snapshot_id(listed)
        sequence += 1
        writer = _ManifestWriter(directory, version, schema, snapshot_id, sequence, table, written, spec)
        manifests, added = writer.next_manifests(manifests, live)
        operation = _choose_operation(live.keys(), deleted_before, table, compacting=commit.compacting)
        if not same_rows or rewritten:
            deletions, delete_manifests = writer.next_deletions(deletions, live)
        list_path = directory / f"snap-{snapshot_id}-{version}.avro"
        written.append(list_path)
        _write_list(list_path, snapshot_id, snapshot, sequence, (*manifests, *delete_manifests))
        moment = commit.moment
        if snapshots and (commit.compacting or (same_rows and not changed)):
            moment = snapshots.pop().committed
        snapshot = Snapshot.model_validate(
            {
                "snapshot-id": snapshot_id,
                "manifest-list": to_uri(list_path),
                "sequence-number": sequence,
                "timestamp-ms": moment // 1000,
                "summary": Summary(
                    operation,
                    **{
                        "total-data-files": str(len(paths)),
                        "total-records": str(sum(file.stored_rows for file in table.files)),
                        "total-delete-files": str(len(deletions)),
                        "total-position-deletes": str(sum(len(each.deleted) for each in deletions.values())),
                        COMMITTED_SUMMARY: str(moment),
                    },
                ),
                "schema-id": schema.schema_id,
            }
        )
        listed[snapshot_id] = snapshot
        snapshots.append(TableSnapshot(snapshot_id, moment, operation.value, table))
        snapshot_files[snapshot_id] = frozenset(
            {
                list_path,
                *(to_path(manifest.file.manifest_path) for manifest in (*manifests, *delete_manifests)),
                *(each.path for each in deletions.values()),
            }
        )
    elif snapshots:
        snapshots[-1] = replace(snapshots[-1], table=table)
    kept = select_kept(snapshots, commit.moment, commit.retention)
    kept_ids = [each.id for each in kept]
    past = _PastMetadata.of(old, {listed[each].schema_id for each in kept_ids} - {schema.schema_id})
    previous = [state.location] if state is not None and commit.retention.keeps_past else []
    properties = {
        "owner": table.owner,
        "gpudb.oid": str(table.oid),
        **type_properties(table.columns),
        **past.definitions,
        DEFINITION_PROPERTY: definition,
        **commit.properties,
    }
    if len(kept) > 1 and (locations := _list_locations(old, to_uri(folder))):
        properties[LOCATIONS_PROPERTY] = " ".join(locations)
    now = int(time.time() * 1000)
    metadata = TableMetadataV2.model_validate(
        {
            "location": to_uri(folder),
            "table-uuid": uuid.uuid4() if old is None else old.table_uuid,
            "last-updated-ms": now,
            "last-column-id": table.last_field_id,
            "schemas": [*past.schemas, schema],
            "current-schema-id": schema.schema_id,
            "partition-specs": specs,
            "default-spec-id": spec.spec_id,
            "last-partition-id": 998 + len(specs),
            "properties": properties,
            "current-snapshot-id": None if snapshot is None else snapshot.snapshot_id,
            "snapshots": [listed[each] for each in kept_ids],
            "metadata-log": [{"metadata-file": to_uri(path), "timestamp-ms": now} for path in previous],
            "sort-orders": [UNSORTED_SORT_ORDER],
            "default-sort-order-id": 0,
            "last-sequence-number": sequence,
            "refs": {} if snapshot is None else {"main": {"snapshot-id": snapshot.snapshot_id, "type": "branch"}},
        }
    )
    location = directory / f"{version}.metadata.json"
    written.append(location)
    create_file(location)
    location.write_text(metadata.model_dump_json(), encoding="utf-8")
    sync(location)
    snapshot_files = {each: snapshot_files[each] for each in kept_ids}
    files = frozenset({location, *previous}.union(*snapshot_files.values()))
    return TableState(metadata, location, manifests, added, files, kept, snapshot_files, deletions, delete_manifests)


@dataclass(frozen=True, slots=True)
class _PastMetadata:
    """What the metadata keeps for snapshots of older schemas: those schemas, and gpudb's definitions as properties."""

    schemas: list[Schema]
    definitions: dict[str, str]

    @classmethod
    def of(cls, old: TableMetadataV2 | None, schema_ids: set[int | None]) -> _PastMetadata:
        """Collects them from the metadata of the version before."""
        definitions: dict[str, str] = {}
        if old is None:
            return cls([], definitions)
        for number in schema_ids:
            name = f"{PAST_DEFINITION_PROPERTY}{number}"
            found = old.properties.get(DEFINITION_PROPERTY if number == old.current_schema_id else name)
            if found is not None:
                definitions[name] = found
        return cls([each for each in old.schemas if each.schema_id in schema_ids], definitions)


def _new_schema_id(old: TableMetadataV2) -> int:
    return max(each.schema_id for each in old.schemas) + 1


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


def _list_locations(old: TableMetadataV2 | None, current: str) -> list[str]:
    """Returns the URIs of the folders where a table lay before."""
    if old is None:
        return []
    found = old.properties.get(LOCATIONS_PROPERTY, "").split()
    return [each for each in dict.fromkeys([*found, old.location]) if each != current]


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
        whole = len(manifests) + bool(new) > MANIFESTS
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
        path = self._directory / f"{self._version}-m{spec.spec_id}.avro"
        self._written.append(path)
        output = DiskFile(path)
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
    path: Path, snapshot_id: int, parent: Snapshot | None, sequence: int, manifests: Iterable[Manifest]
) -> None:
    before = None if parent is None else parent.snapshot_id
    with ManifestListWriter(DiskFile(path), snapshot_id, before, sequence, "deflate") as writer:
        writer.add_manifests([manifest.file for manifest in manifests])
