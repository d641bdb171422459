"""Iceberg's position deletes: a Parquet file that names a data file and the rows of it that are deleted.

Each data file with deleted rows has one delete file, which a later deletion from the same file replaces. A delete file
is written with the metadata that names it, and is among `TableState.files`.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyiceberg.manifest import DataFile as IcebergFile
from pyiceberg.manifest import (
    DataFileContent,
    FileFormat,
    ManifestContent,
    ManifestEntry,
    ManifestEntryStatus,
    ManifestWriterV2,
)
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema

from gpudb.catalog.deleted_rows import DeletedRows
from gpudb.catalog.tables import DataFile
from gpudb.errors import GpudbError
from gpudb.storage.iceberg.content_names import read_file
from gpudb.storage.iceberg.disk_files import DiskFile
from gpudb.storage.iceberg.locations import to_uri
from gpudb.storage.iceberg.schema import partition_record
from gpudb.storage.iceberg.table_state import Addition, Deletion, Manifest

if TYPE_CHECKING:
    from collections.abc import Iterable

_PATH_ID, _ROW_ID = 2147483546, 2147483545
"""Field ids that Iceberg reserves for the columns of position deletes."""
_SCHEMA = pa.schema(
    [
        pa.field("file_path", pa.string(), nullable=False, metadata={"PARQUET:field_id": str(_PATH_ID)}),
        pa.field("pos", pa.int64(), nullable=False, metadata={"PARQUET:field_id": str(_ROW_ID)}),
    ]
)


def write_delete_file(file: DiskFile, data_file: Path, deleted: DeletedRows) -> None:
    """Writes and syncs the delete file of a data file."""
    import pyarrow.parquet as pq

    content = io.BytesIO()
    named = pa.array([to_uri(data_file)], pa.string())
    paths = pa.DictionaryArray.from_arrays(np.zeros(len(deleted), np.int32), named).dictionary_decode()
    pq.write_table(
        pa.table([paths, pa.array(deleted.rows)], schema=_SCHEMA),
        content,
        compression="zstd",
        write_page_checksum=True,
        store_schema=False,
    )
    file.write(content.getvalue())


def read_delete_file(path: Path, relocate: Callable[[str], Path]) -> dict[str, DeletedRows]:
    """Returns the deleted rows that a delete file lists, by their data files' paths; XX001 if it cannot be read.

    `relocate` returns the current path of a data file's URI.
    """
    import pyarrow.parquet as pq

    content = read_file(path, "delete file")
    try:
        with pq.ParquetFile(io.BytesIO(content), page_checksum_verification=True) as opened:
            table = opened.read(columns=["file_path", "pos"])
    except (OSError, pa.ArrowException) as error:
        reason = str(error).partition("\n")[0]
        raise GpudbError(f'delete file "{path}" is damaged: {reason}', condition="data_corrupted") from error
    named = table.column("file_path").combine_chunks().dictionary_encode()
    codes, rows = named.indices.to_numpy(), table.column("pos").to_numpy()
    return {
        str(relocate(uri)): DeletedRows.of(rows[codes == code]) for code, uri in enumerate(named.dictionary.to_pylist())
    }


class DeleteManifestWriter(ManifestWriterV2):
    """Writes a manifest of delete files, which pyiceberg reads and does not write."""

    def content(self) -> ManifestContent:
        """Returns what the manifest lists."""
        return ManifestContent.DELETES

    @property
    def _meta(self) -> dict[str, str]:
        return {**super()._meta, "content": "deletes"}


@dataclass(frozen=True, slots=True)
class DeleteWriter:
    """Writes the delete files and their manifests of one snapshot into `directory`; adds their paths to `written`.

    `version` begins the files' names.
    """

    directory: Path
    version: str
    schema: Schema
    snapshot_id: int
    sequence: int
    written: list[Path]

    def next_deletions(
        self, files: Iterable[DataFile], known: Mapping[str, Deletion], live: Mapping[str, Addition]
    ) -> dict[str, Deletion]:
        """Returns the deletions of files, by path: those `known`, or new ones where others rows are deleted.

        `live` are the data files of the snapshot before; a file that was not among them is younger than its deletion
        of old.
        """
        made: dict[str, Deletion] = {}
        for file in files:
            if file.deleted is None:
                continue
            old = known.get(file.path)
            if old is not None and old.deleted == file.deleted and file.path in live:
                made[file.path] = old
                continue
            output = DiskFile(self.directory, f"{self.version}-{{}}-d{len(made)}.parquet", self.written)
            write_delete_file(output, Path(file.path), file.deleted)
            addition = Addition(self.snapshot_id, self.sequence)
            made[file.path] = Deletion(file.deleted, output.path, len(output), addition)
        return made

    def write_manifest(
        self, spec: PartitionSpec, files: Iterable[DataFile], deletions: Mapping[str, Deletion]
    ) -> Manifest:
        """Writes the manifest of some files' deletions; the files are of partitions of `spec`."""
        output = DiskFile(self.directory, f"{self.version}-{{}}-d-m{spec.spec_id}.avro", self.written)
        sequences = []
        with DeleteManifestWriter(spec, self.schema, output, self.snapshot_id, "deflate") as writer:
            for file in files:
                deletion = deletions[file.path]
                sequences.append(deletion.addition.sequence)
                writer.add_entry(self._make_entry(spec, file, deletion))
        manifest = writer.to_manifest_file()
        manifest.sequence_number, manifest.min_sequence_number = self.sequence, min(sequences)
        return Manifest(manifest, frozenset(str(deletion.path) for deletion in deletions.values()))

    def _make_entry(self, spec: PartitionSpec, file: DataFile, deletion: Deletion) -> ManifestEntry:
        is_new = deletion.addition.snapshot_id == self.snapshot_id
        sequence = None if is_new else deletion.addition.sequence
        rows = deletion.deleted.rows
        uri = to_uri(Path(file.path)).encode()
        ends: list[dict[int, bytes]] = [
            {_PATH_ID: uri, _ROW_ID: int(row).to_bytes(8, "little")} for row in (rows[0], rows[-1])
        ]
        listed: Any = IcebergFile.from_args(
            content=DataFileContent.POSITION_DELETES,
            file_path=to_uri(deletion.path),
            file_format=FileFormat.PARQUET,
            partition=partition_record(file),
            record_count=len(rows),
            file_size_in_bytes=deletion.bytes,
            # Equal bounds of the path tell readers which data file it is about.
            lower_bounds=ends[0],
            upper_bounds=ends[1],
        )
        listed.spec_id = spec.spec_id
        return ManifestEntry.from_args(
            status=ManifestEntryStatus.ADDED if is_new else ManifestEntryStatus.EXISTING,
            snapshot_id=deletion.addition.snapshot_id,
            sequence_number=sequence,
            file_sequence_number=sequence,
            data_file=listed,
        )
