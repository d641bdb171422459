"""Reads a table's Iceberg metadata: the state of its current snapshot, and the earlier snapshots that are kept."""

from __future__ import annotations

import io
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pyiceberg.manifest import DataFile as IcebergFile
from pyiceberg.manifest import DataFileContent, ManifestContent, ManifestEntry, ManifestFile, read_manifest_list
from pyiceberg.serializers import FromByteStream
from pyiceberg.table.metadata import TableMetadataV2
from pyiceberg.table.snapshots import Operation, Snapshot

from gpudb.catalog.deleted_rows import DeletedRows
from gpudb.catalog.distribution import NULLS
from gpudb.catalog.tables import Column, DataFile, Table, TableSnapshot, UnreadableFiles
from gpudb.errors import GpudbError
from gpudb.storage.iceberg.content_names import read_file
from gpudb.storage.iceberg.disk_files import DiskInput, RelocatedIO
from gpudb.storage.iceberg.history import COMMITTED_SUMMARY, LOCATIONS_PROPERTY, PAST_DEFINITION_PROPERTY
from gpudb.storage.iceberg.locations import to_path, to_uri
from gpudb.storage.iceberg.position_deletes import read_delete_file
from gpudb.storage.iceberg.statistics import IcebergStatistics, from_iceberg
from gpudb.storage.iceberg.table_state import Addition, Deletion, Manifest, TableState

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class EarlierState:
    """An earlier state of a table, and its current files then: what of them is still there is not read again."""

    state: TableState
    files: tuple[DataFile, ...]


def load(
    folder: Path, name: str, table: Table, decode: Callable[[str], Table], earlier: EarlierState | None = None
) -> tuple[TableState, tuple[DataFile, ...]]:
    """Reads the metadata file `name` of a table's folder, and the files of its snapshots.

    A data directory may have been moved: paths under the table's old location are resolved under `folder`. `decode`
    reads an encoded definition. Raises XX001 with the name of the file that is missing, cannot be read, or differs from
    the hash in its name. Of an earlier snapshot that cannot be read, the files raise it.
    """
    location = folder / "metadata" / name
    content = read_file(location, "table metadata")
    try:
        metadata = FromByteStream.table_metadata(io.BytesIO(content))
        if not isinstance(metadata, TableMetadataV2):
            raise ValueError(f"Iceberg format {metadata.format_version}")
        _check_current(metadata)
        return _SnapshotReader(folder, metadata, earlier).load(location, table, decode)
    except Exception as error:
        raise _to_corruption(error, location) from error


def _to_corruption(error: Exception, location: Path) -> GpudbError:
    """Returns the XX001 for whatever reading the metadata file at a location has raised."""
    if isinstance(error, GpudbError):
        return error
    return GpudbError(f'could not read table metadata "{location}": {error!r}', condition="data_corrupted")


def _check_current(metadata: TableMetadataV2) -> None:
    """Raises ValueError if the parts of the metadata that name the current snapshot differ."""
    current, main = metadata.current_snapshot_id, metadata.refs.get("main")
    known = {each.snapshot_id for each in metadata.snapshots}
    if current != (None if main is None else main.snapshot_id) or (current is None and known):
        raise ValueError(f"its current snapshot {current} is not that of its main branch")
    if current is not None and current not in known:
        raise ValueError(f"its current snapshot {current} does not exist")


@dataclass(frozen=True, slots=True)
class _Entry:
    """A data file or a delete file as a manifest lists it; `bucket` as in `DataFile`.

    `file` is None for a data file of an earlier state.
    """

    path: Path
    file: IcebergFile | None
    bucket: int | None
    addition: Addition


@dataclass(frozen=True, slots=True)
class _Manifests:
    """The manifests of a snapshot with their entries: of data files, and of delete files."""

    data: list[tuple[ManifestFile, list[_Entry]]]
    deletes: list[tuple[ManifestFile, list[_Entry]]]


@contextmanager
def _name_damage(what: str, path: Path) -> Iterator[None]:
    """Converts all that reading a file of a kind raises to XX001 with its name."""
    try:
        yield
    except GpudbError:
        raise
    except Exception as error:  # what a damaged Avro file raises is not listed anywhere
        raise GpudbError(f'{what} "{path}" is damaged: {error!r}', condition="data_corrupted") from error


class _SnapshotReader:
    """Reads the manifests of a table's snapshots, each once."""

    def __init__(self, folder: Path, metadata: TableMetadataV2, earlier: EarlierState | None) -> None:
        self._folder, self._metadata = folder, metadata
        self._locations = [metadata.location, *metadata.properties.get(LOCATIONS_PROPERTY, "").split()]
        self._parted = {spec.spec_id for spec in metadata.partition_specs if spec.fields}
        self._entries: dict[Path, list[_Entry]] = {}
        self._files: dict[tuple[str, int | None], DataFile] = {}
        self._deletions: dict[Path, dict[str, DeletedRows]] = {}
        self._snapshots: dict[int, tuple[TableSnapshot, frozenset[Path]]] = {}
        if earlier is not None and earlier.state.metadata.current_schema_id == metadata.current_schema_id:
            self._keep(earlier)

    def _keep(self, earlier: EarlierState) -> None:
        """Keeps what was read for an earlier state with the same columns."""
        state, schema = earlier.state, self._metadata.current_schema_id
        for each in state.snapshots:
            self._snapshots[each.id] = each, state.snapshot_files[each.id]
        files = {file.path: file for file in earlier.files if file.deleted is None}
        self._files.update({(path, schema): file for path, file in files.items()})
        for manifest in state.manifests:
            if manifest.paths <= files.keys():
                self._entries[self._relocate(manifest.file.manifest_path)] = [
                    _Entry(Path(path), None, file.bucket, state.added[path])
                    for path, file in files.items()
                    if path in manifest.paths
                ]

    def load(
        self, location: Path, table: Table, decode: Callable[[str], Table]
    ) -> tuple[TableState, tuple[DataFile, ...]]:
        """Returns the state, and the files of the current snapshot."""
        metadata = self._metadata
        kept = {location, *(self._relocate(each.metadata_file) for each in metadata.metadata_log)}
        snapshots: list[TableSnapshot] = []
        snapshot_files: dict[int, frozenset[Path]] = {}
        manifests: list[Manifest] = []
        delete_manifests: list[Manifest] = []
        deletions: dict[str, Deletion] = {}
        added: dict[str, Addition] = {}
        files: tuple[DataFile, ...] = ()
        for each in metadata.snapshots:
            is_current = each.snapshot_id == metadata.current_snapshot_id
            if each.snapshot_id in self._snapshots and not is_current:
                known, snapshot_files[each.snapshot_id] = self._snapshots[each.snapshot_id]
                snapshots.append(known)
                continue
            try:
                read = self._read_manifests(each)
                definition = table if each.schema_id in (None, metadata.current_schema_id) else None
                if definition is None:
                    definition = decode(metadata.properties[f"{PAST_DEFINITION_PROPERTY}{each.schema_id}"])
                deleted = self._read_deleted(read)
                found = tuple(
                    self._get_file(entry, each, definition).with_deleted(deleted.get(str(entry.path)))
                    for _, entries in read.data
                    for entry in entries
                )
            except Exception as error:
                if is_current:
                    raise
                _LOG.error('snapshot %d of table "%s" cannot be read: %s', each.snapshot_id, table.name, error)
                unreadable = UnreadableFiles(_to_corruption(error, location))
                snapshots.append(_describe(each, replace(table, files=unreadable)))
                snapshot_files[each.snapshot_id] = frozenset({self._relocate(each.manifest_list)})
                continue
            if is_current:
                files = found
                for manifest, entries in read.deletes:
                    delete_manifests.append(Manifest(manifest, frozenset(str(entry.path) for entry in entries)))
                    deletions.update(self._list_deletions(entries))
                for manifest, entries in read.data:
                    manifests.append(Manifest(manifest, frozenset(str(entry.path) for entry in entries)))
                    added.update((str(entry.path), entry.addition) for entry in entries)
            snapshots.append(_describe(each, replace(definition, files=found)))
            lists = {self._relocate(each.manifest_list)}
            lists |= {self._relocate(manifest.manifest_path) for manifest, _ in (*read.data, *read.deletes)}
            lists |= {entry.path for _, entries in read.deletes for entry in entries}
            snapshot_files[each.snapshot_id] = frozenset(lists)
        moved = metadata.location != to_uri(self._folder)
        all_files = frozenset(kept.union(*snapshot_files.values()))
        if moved:  # Manifests and delete files have the data files' paths of before.
            manifests, delete_manifests, deletions = [], [], {}
        state = TableState(
            metadata,
            location,
            tuple(manifests),
            added,
            all_files,
            tuple(snapshots),
            snapshot_files,
            deletions,
            tuple(delete_manifests),
        )
        return state, files

    def _relocate(self, uri: str) -> Path:
        for old in self._locations:
            if uri.startswith(old + "/"):
                return self._folder / uri[len(old) + 1 :]
        return to_path(uri)

    def _read_manifests(self, snapshot: Snapshot) -> _Manifests:
        found = _Manifests([], [])
        path = self._relocate(snapshot.manifest_list)
        with _name_damage("manifest list", path):
            manifests = list(read_manifest_list(DiskInput(path)))
        for manifest in manifests:
            part = found.data if manifest.content == ManifestContent.DATA else found.deletes
            part.append((manifest, self._read_entries(manifest)))
        return found

    def _read_deleted(self, read: _Manifests) -> dict[str, DeletedRows]:
        """Returns the deleted rows of a snapshot's data files by their paths."""
        found: dict[str, DeletedRows] = {}
        for entry in (entry for _, entries in read.deletes for entry in entries):
            for path, deleted in self._read_delete_file(entry).items():
                known = found.get(path)
                if known is not None:
                    deleted = DeletedRows.of([*known.rows, *deleted.rows])
                found[path] = deleted
        return found

    def _list_deletions(self, entries: list[_Entry]) -> dict[str, Deletion]:
        return {
            path: Deletion(deleted, entry.path, entry.file.file_size_in_bytes, entry.addition)
            for entry in entries
            if entry.file is not None
            for path, deleted in self._read_delete_file(entry).items()
        }

    def _read_delete_file(self, entry: _Entry) -> dict[str, DeletedRows]:
        if entry.path not in self._deletions:
            if entry.file is None or entry.file.content != DataFileContent.POSITION_DELETES:
                raise ValueError(f"delete file {entry.path} is not one of positions")
            self._deletions[entry.path] = read_delete_file(entry.path, self._relocate)
        return self._deletions[entry.path]

    def _read_entries(self, manifest: ManifestFile) -> list[_Entry]:
        path = self._relocate(manifest.manifest_path)
        if path not in self._entries:
            reader: Any = RelocatedIO(path)
            with _name_damage("manifest", path):
                self._entries[path] = [
                    self._make_entry(manifest, entry)
                    for entry in manifest.fetch_manifest_entry(reader, discard_deleted=True)
                ]
        return self._entries[path]

    def _make_entry(self, manifest: ManifestFile, entry: ManifestEntry) -> _Entry:
        bucket = None
        if manifest.partition_spec_id in self._parted:
            value = entry.data_file.partition[0]
            bucket = NULLS if value is None else value
        addition = Addition(entry.snapshot_id or 0, entry.sequence_number or 0)
        return _Entry(self._relocate(entry.data_file.file_path), entry.data_file, bucket, addition)

    def _get_file(self, entry: _Entry, snapshot: Snapshot, definition: Table) -> DataFile:
        key = str(entry.path), snapshot.schema_id
        if key not in self._files:
            if entry.file is None:
                raise ValueError(f"data file {entry.path} is not known")
            found = _data_file(entry.path, entry.file, definition.columns)
            self._files[key] = found if entry.bucket is None else replace(found, bucket=entry.bucket)
        return self._files[key]


def _describe(snapshot: Snapshot, table: Table) -> TableSnapshot:
    summary = snapshot.summary
    operation = Operation.APPEND if summary is None else summary.operation
    moment = None if summary is None else summary.additional_properties.get(COMMITTED_SUMMARY)
    committed = snapshot.timestamp_ms * 1000 if moment is None else int(moment)
    return TableSnapshot(snapshot.snapshot_id, committed, operation.value, table)


def _data_file(path: Path, file: IcebergFile, columns: Sequence[Column]) -> DataFile:
    statistics = IcebergStatistics(
        file.value_counts or {},
        file.null_value_counts or {},
        file.nan_value_counts or {},
        file.lower_bounds or {},
        file.upper_bounds or {},
    )
    return from_iceberg(str(path), file.record_count, file.file_size_in_bytes, statistics, columns)
