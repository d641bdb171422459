"""Deletes that writers of Iceberg and Delta tables make, but pyiceberg and delta-rs do not: rows marked in files."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.manifest import (
    DataFile,
    DataFileContent,
    FileFormat,
    ManifestContent,
    ManifestEntry,
    ManifestEntryStatus,
    ManifestWriterV2,
    write_manifest_list,
)
from pyiceberg.table import StaticTable
from pyiceberg.typedef import Record
from pyroaring import BitMap

_ALPHABET = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
_MAGIC = 1681511377
_SNAPSHOT = 4242


class _DeleteManifest(ManifestWriterV2):
    def content(self) -> ManifestContent:
        return ManifestContent.DELETES

    @property
    def _meta(self) -> dict[str, str]:
        return {**super()._meta, "content": "deletes"}


def add_position_deletes(table: StaticTable, path: str, rows: list[int], *, equality: bool = False) -> None:
    """Adds a snapshot to a local table of format 2 with deletes of rows of one data file, and makes it the newest."""
    folder = Path(table.location().removeprefix("file://"))
    files = PyArrowFileIO()
    held = pa.schema(
        [
            pa.field("file_path", pa.string(), metadata={"PARQUET:field_id": "2147483546"}),
            pa.field("pos", pa.int64(), metadata={"PARQUET:field_id": "2147483545"}),
        ]
    )
    deletes = folder / "data" / "deletes.parquet"
    pq.write_table(pa.table([[path] * len(rows), rows], schema=held), deletes)
    entry = ManifestEntry.from_args(
        status=ManifestEntryStatus.ADDED,
        snapshot_id=_SNAPSHOT,
        data_file=DataFile.from_args(
            content=DataFileContent.EQUALITY_DELETES if equality else DataFileContent.POSITION_DELETES,
            file_path=str(deletes),
            file_format=FileFormat.PARQUET,
            partition=Record(),
            record_count=len(rows),
            file_size_in_bytes=deletes.stat().st_size,
            equality_ids=[1] if equality else None,
        ),
    )
    manifest = folder / "metadata" / "deletes.avro"
    with _DeleteManifest(table.spec(), table.schema(), files.new_output(str(manifest)), _SNAPSHOT, "null") as writer:
        writer.add_entry(entry)
    snapshot = table.current_snapshot()
    assert snapshot is not None
    sequence = table.metadata.last_sequence_number + 1
    listed = folder / "metadata" / "deletes-list.avro"
    with write_manifest_list(
        2, files.new_output(str(listed)), _SNAPSHOT, snapshot.snapshot_id, sequence, "null"
    ) as writer_of_list:
        writer_of_list.add_manifests([*snapshot.manifests(files), writer.to_manifest_file()])
    metadata = json.loads(table.metadata.model_dump_json())
    metadata["snapshots"].append(
        {
            "snapshot-id": _SNAPSHOT,
            "parent-snapshot-id": snapshot.snapshot_id,
            "sequence-number": sequence,
            "timestamp-ms": metadata["last-updated-ms"] + 1,
            "manifest-list": str(listed),
            "summary": {"operation": "delete"},
            "schema-id": metadata["current-schema-id"],
        }
    )
    metadata |= {"current-snapshot-id": _SNAPSHOT, "last-sequence-number": sequence}
    metadata["last-updated-ms"] += 1
    metadata["refs"] = {"main": {"snapshot-id": _SNAPSHOT, "type": "branch"}}
    (folder / "metadata" / "99999-deletes.metadata.json").write_text(json.dumps(metadata))


def add_deletion_vector(folder: Path, version: int, add: dict[str, object], rows: list[int]) -> None:
    """Adds a version to a Delta table in which one file, by its entry of the log, has a deletion vector."""
    bitmap = BitMap(rows).serialize()
    data = struct.pack("<IQI", _MAGIC, 1, 0) + bitmap
    data += b"\0" * (-len(data) % 4)
    vector = {
        "storageType": "i",
        "pathOrInlineDv": _encode(data),
        "sizeInBytes": len(data),
        "cardinality": len(rows),
    }
    removed = {"path": add["path"], "deletionTimestamp": 1, "dataChange": True}
    features = {"readerFeatures": ["deletionVectors"], "writerFeatures": ["deletionVectors"]}
    entries = [
        {"protocol": {"minReaderVersion": 3, "minWriterVersion": 7, **features}},
        {"remove": removed},
        {"add": {**add, "deletionVector": vector}},
    ]
    log = folder / "_delta_log" / f"{version:020d}.json"
    log.write_text("\n".join(map(json.dumps, entries)))


def read_add(folder: Path, version: int) -> dict[str, object]:
    """Returns the first file that a version added."""
    log = folder / "_delta_log" / f"{version:020d}.json"
    entries = [json.loads(line) for line in log.read_text().splitlines()]
    add: dict[str, object] = next(each["add"] for each in entries if "add" in each)
    return add


def _encode(data: bytes) -> str:
    """Z85, as ZeroMQ's RFC 32 has it."""
    text = []
    for (number,) in struct.iter_unpack(">I", data):
        digits = []
        for _ in range(5):
            number, digit = divmod(number, 85)
            digits.append(_ALPHABET[digit])
        text += digits[::-1]
    return "".join(text)
