"""A table's Iceberg metadata: a new version is staged as files and takes effect when the catalog's database names it.

The metadata has one snapshot per table, so that the cost of a commit does not grow with their number; `garbage` keeps
what open transactions still read. The table's state stays in memory between commits (`TableState`).
"""

from __future__ import annotations

import io
import time
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pyiceberg.io import InputFile, InputStream, OutputFile, OutputStream
from pyiceberg.manifest import (
    DataFile as IcebergFile,
)
from pyiceberg.manifest import (
    DataFileContent,
    FileFormat,
    ManifestEntry,
    ManifestEntryStatus,
    ManifestFile,
    read_manifest_list,
    write_manifest,
    write_manifest_list,
)
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.serializers import FromByteStream
from pyiceberg.table.metadata import TableMetadataV2
from pyiceberg.table.snapshots import Operation, Snapshot, Summary
from pyiceberg.table.sorting import UNSORTED_SORT_ORDER

from gpudb.catalog.distribution import NULLS
from gpudb.catalog.model import Column, DataFile, Table
from gpudb.errors import GpudbError
from gpudb.storage.iceberg.file_writer import disk_errors, sync
from gpudb.storage.iceberg.schema import iceberg_schema, partition_record, partition_spec, type_properties
from gpudb.storage.iceberg.statistics import IcebergStatistics, from_iceberg, to_iceberg
from gpudb.storage.private_files import create_file, make_directory

MANIFESTS = 8
"""Maximum manifests of a snapshot; more are merged into one."""


@dataclass(frozen=True, slots=True)
class _Addition:
    """Snapshot and sequence number at which a live file was added; Iceberg repeats them in every later manifest."""

    snapshot_id: int
    sequence: int


@dataclass(frozen=True, slots=True)
class _Manifest:
    file: ManifestFile
    paths: frozenset[str]


@dataclass(frozen=True, slots=True)
class TableState:
    """The committed metadata of one table. `files` are its metadata files that must be kept."""

    metadata: TableMetadataV2
    location: Path
    manifests: tuple[_Manifest, ...]
    added: Mapping[str, _Addition]
    files: frozenset[Path]


def stage(state: TableState | None, folder: Path, table: Table, properties: Mapping[str, str]) -> TableState:
    """Writes and syncs the metadata files of a table's next version.

    `folder` is the table's own; `state` is None for a new table; `properties` are added to Iceberg's. Nothing takes
    effect yet: the caller makes `TableState.location` the table's current one, or removes the new ones among
    `TableState.files`.
    """
    directory = folder / "metadata"
    make_directory(directory)
    written: list[Path] = []
    try:
        with disk_errors():
            new = _stage(state, directory, folder, table, written, properties)
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
    more_properties: Mapping[str, str],
) -> TableState:
    old = state.metadata if state is not None else None
    number = 0 if state is None else int(state.location.name.partition("-")[0]) + 1
    version = f"{number:05d}-{uuid.uuid4()}"
    schema = iceberg_schema(table, 0)
    if old is not None:
        current = old.schema()
        changed = current.fields != schema.fields or current.identifier_field_ids != schema.identifier_field_ids
        schema = iceberg_schema(table, old.current_schema_id + 1) if changed else current
    specs = (
        [UNPARTITIONED_PARTITION_SPEC] if old is None else sorted(old.partition_specs, key=lambda each: each.spec_id)
    )
    spec = partition_spec(table, specs)
    specs += [spec] if spec not in specs else []
    sequence = 0 if old is None else old.last_sequence_number
    paths = {file.path for file in table.files}
    live = state.added if state is not None else {}
    manifests = state.manifests if state is not None else ()
    added = dict(live)
    snapshot = old.current_snapshot() if old is not None else None
    if snapshot is not None or table.files:
        snapshot_id = _snapshot_id(snapshot)
        if paths != live.keys() or (table.files and not manifests):
            sequence += 1
            writer = _ManifestWriter(directory, version, schema, snapshot_id, sequence, table, written, spec)
            manifests, added = writer.next_manifests(manifests, live)
            list_path = directory / f"snap-{snapshot_id}-{version}.avro"
            written.append(list_path)
            _write_list(list_path, snapshot_id, snapshot, sequence, manifests)
            operation = Operation.APPEND if live.keys() <= paths else Operation.OVERWRITE
            summary = {"total-data-files": str(len(paths)), "total-records": str(table.rows)}
            snapshot = Snapshot.model_validate(
                {
                    "snapshot-id": snapshot_id,
                    "manifest-list": _uri(list_path),
                    "sequence-number": sequence,
                    "summary": Summary(operation, **summary),
                    "schema-id": schema.schema_id,
                }
            )
    properties = {
        "owner": table.owner,
        "gpudb.oid": str(table.oid),
        **type_properties(table.columns),
        **more_properties,
    }
    metadata = TableMetadataV2.model_validate(
        {
            "location": _uri(folder),
            "table-uuid": uuid.uuid4() if old is None else old.table_uuid,
            "last-updated-ms": int(time.time() * 1000),
            "last-column-id": table.last_field_id,
            "schemas": [schema],
            "current-schema-id": schema.schema_id,
            "partition-specs": specs,
            "default-spec-id": spec.spec_id,
            "last-partition-id": 998 + len(specs),
            "properties": properties,
            "current-snapshot-id": None if snapshot is None else snapshot.snapshot_id,
            "snapshots": [] if snapshot is None else [snapshot],
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
    kept = {location, *(_path(manifest.file.manifest_path) for manifest in manifests)}
    if snapshot is not None:
        kept.add(_path(snapshot.manifest_list))
    return TableState(metadata, location, manifests, added, frozenset(kept))


def _snapshot_id(previous: Snapshot | None) -> int:
    while True:
        candidate = uuid.uuid4().int >> 65
        if candidate and (previous is None or candidate != previous.snapshot_id):
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
        self, manifests: Sequence[_Manifest], live: Mapping[str, _Addition]
    ) -> tuple[tuple[_Manifest, ...], dict[str, _Addition]]:
        """Returns manifests that hold exactly the table's files, and where each of those was added."""
        new = [path for path in self._files if path not in live]
        added = {path: live.get(path) or _Addition(self._snapshot_id, self._sequence) for path in self._files}
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

    def _spec_id(self, path: str) -> int:
        return 0 if self._files[path].bucket is None else self._partition_spec.spec_id

    def _write(self, spec: PartitionSpec, new: list[str], moved: list[str], live: Mapping[str, _Addition]) -> _Manifest:
        path = self._directory / f"{self._version}-m{spec.spec_id}.avro"
        self._written.append(path)
        output = _DiskFile(path)
        with write_manifest(
            2,
            spec,
            self._schema,
            output,
            self._snapshot_id,
            "deflate",
        ) as writer:
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
        return _Manifest(manifest, frozenset([*new, *moved]))

    def _entry(self, status: ManifestEntryStatus, path: str, snapshot_id: int, sequence: int | None) -> ManifestEntry:
        file = self._files[path]
        statistics = to_iceberg(file, self._columns)
        data_file = IcebergFile.from_args(
            content=DataFileContent.DATA,
            file_path=_uri(Path(path)),
            file_format=FileFormat.PARQUET,
            partition=partition_record(file),
            record_count=file.rows,
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
    path: Path, snapshot_id: int, parent: Snapshot | None, sequence: int, manifests: Iterable[_Manifest]
) -> None:
    with write_manifest_list(
        2,
        _DiskFile(path),
        snapshot_id,
        None if parent is None else parent.snapshot_id,
        sequence,
        "deflate",
    ) as writer:
        writer.add_manifests([manifest.file for manifest in manifests])


def load(folder: Path, name: str, columns: Sequence[Column]) -> tuple[TableState, tuple[DataFile, ...]]:
    """Reads the metadata file `name` of a table's folder, and the files of its snapshot.

    A data directory may have been moved: paths under the table's old location are resolved under `folder`. Raises XX001
    for metadata that is missing or cannot be read.
    """
    location = folder / "metadata" / name
    try:
        metadata = FromByteStream.table_metadata(io.BytesIO(location.read_bytes()))
        if not isinstance(metadata, TableMetadataV2):
            raise ValueError(f"Iceberg format {metadata.format_version}")
        return _load(folder, location, metadata, columns)
    except GpudbError:
        raise
    except Exception as error:
        message = f'could not read table metadata "{location}": {error}'
        raise GpudbError(message, condition="data_corrupted") from error


def _load(
    folder: Path, location: Path, metadata: TableMetadataV2, columns: Sequence[Column]
) -> tuple[TableState, tuple[DataFile, ...]]:
    old = metadata.location

    def relocate(uri: str) -> Path:
        return folder / uri[len(old) + 1 :] if uri.startswith(old + "/") else _path(uri)

    parted = {spec.spec_id for spec in metadata.partition_specs if spec.fields}
    manifests: list[_Manifest] = []
    files: list[DataFile] = []
    added: dict[str, _Addition] = {}
    kept = {location}
    snapshot = metadata.current_snapshot()
    if snapshot is not None:
        kept.add(relocate(snapshot.manifest_list))
        for manifest in read_manifest_list(_DiskInput(relocate(snapshot.manifest_list))):
            path = relocate(manifest.manifest_path)
            kept.add(path)
            reader: Any = _RelocatedIO(path)
            entries = manifest.fetch_manifest_entry(reader, discard_deleted=True)
            for entry in entries:
                file = _data_file(relocate(entry.data_file.file_path), entry.data_file, columns)
                if manifest.partition_spec_id in parted:
                    value = entry.data_file.partition[0]
                    file = replace(file, bucket=NULLS if value is None else value)
                files.append(file)
                added[file.path] = _Addition(entry.snapshot_id or 0, entry.sequence_number or 0)
            inside = frozenset(str(relocate(entry.data_file.file_path)) for entry in entries)
            manifests.append(_Manifest(manifest, inside))
    moved = old != _uri(folder)
    state = TableState(metadata, location, () if moved else tuple(manifests), added, frozenset(kept))
    return state, tuple(files)


def _data_file(path: Path, file: IcebergFile, columns: Sequence[Column]) -> DataFile:
    statistics = IcebergStatistics(
        file.value_counts or {},
        file.null_value_counts or {},
        file.nan_value_counts or {},
        file.lower_bounds or {},
        file.upper_bounds or {},
    )
    return from_iceberg(str(path), file.record_count, file.file_size_in_bytes, statistics, columns)


def _uri(path: Path) -> str:
    return f"file://{path}"


def _path(uri: str) -> Path:
    return Path(uri.removeprefix("file://"))


class _DiskFile(OutputFile):
    """Output file of pyiceberg that is synced when closed."""

    def __init__(self, path: Path) -> None:
        super().__init__(_uri(path))
        self._disk_path = path

    def __len__(self) -> int:
        return self._disk_path.stat().st_size

    def exists(self) -> bool:
        return self._disk_path.exists()

    def to_input_file(self) -> InputFile:
        return _DiskInput(self._disk_path)

    def create(self, overwrite: bool = False) -> OutputStream:
        return _SyncedStream(self._disk_path)


class _SyncedStream(io.BytesIO):
    def __init__(self, path: Path) -> None:
        super().__init__()
        self._disk_path = path

    def close(self) -> None:
        if not self.closed:
            create_file(self._disk_path)
            self._disk_path.write_bytes(self.getvalue())
            sync(self._disk_path)
        super().close()


class _DiskInput(InputFile):
    def __init__(self, path: Path) -> None:
        super().__init__(_uri(path))
        self._disk_path = path

    def __len__(self) -> int:
        return self._disk_path.stat().st_size

    def exists(self) -> bool:
        return self._disk_path.exists()

    def open(self, seekable: bool = True) -> InputStream:
        return self._disk_path.open("rb")


class _RelocatedIO:
    """File access for reading a manifest at its current location, whatever its entry says."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def new_input(self, location: str) -> InputFile:
        return _DiskInput(self._path)
