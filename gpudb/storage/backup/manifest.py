"""The manifest of a backup: its files with their lengths and checksums."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from gpudb.errors import GpudbError, SqlError
from gpudb.storage.private_files import create_file

BACKUPS = "backups"
FILES = "files"
FORMAT = 1


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file of a backup: its length in bytes and the SHA-256 of its content."""

    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """A backup. `time` is in UTC; `files` are by path below tables/; `external` are files of tables outside of it."""

    id: str
    time: str
    commit: int
    catalog: StoredFile
    files: Mapping[str, StoredFile]
    external: tuple[str, ...] = ()
    format: int = field(default=FORMAT)

    @property
    def bytes(self) -> int:
        """The bytes of all its files."""
        return sum(file.bytes for file in self.files.values())


def new_id() -> str:
    """Returns the ID of a backup that begins now: its time in UTC, to the microsecond."""
    return datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%fZ")


def write_manifest(destination: Path, manifest: Manifest) -> None:
    """Writes a manifest atomically and durably, which completes the backup."""
    path = destination / BACKUPS / f"{manifest.id}.json"
    partial = path.with_suffix(".part")
    create_file(partial)
    with partial.open("w", encoding="utf-8") as file:
        json.dump(asdict(manifest), file)
        file.flush()
        os.fsync(file.fileno())
    partial.rename(path)


def list_manifests(destination: Path) -> list[Manifest]:
    """Returns the backups in a folder, oldest first. Raises 58P01 if it has none, XX001 for one that is unreadable."""
    paths = sorted((destination / BACKUPS).glob("*.json")) if (destination / BACKUPS).is_dir() else []
    if not paths:
        raise GpudbError(f'"{destination}" holds no backup', condition="undefined_file")
    return [_read(path) for path in paths]


def find_manifest(destination: Path, *, id: str | None = None, at: datetime | None = None) -> Manifest:
    """Returns the backup with an ID, or the last one up to a moment, or the last one; 42704 if there is none."""
    manifests = list_manifests(destination)
    if id is not None:
        found = [each for each in manifests if each.id == id]
    elif at is not None:
        found = [each for each in manifests if datetime.fromisoformat(each.time) <= at]
    else:
        found = manifests
    if not found:
        wanted = f'with ID "{id}"' if id is not None else f"from before {at}"
        raise SqlError.of("undefined_object", f'"{destination}" holds no backup {wanted}')
    return found[-1]


def hash_file(path: Path) -> StoredFile:
    """Returns the length and checksum of a file."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256")
        return StoredFile(file.tell(), digest.hexdigest())


def _read(path: Path) -> Manifest:
    try:
        data = json.loads(path.read_bytes())
        if data["format"] != FORMAT:
            message = f'the backup "{path}" has format {data["format"]}, this gpudb reads format {FORMAT}'
            raise GpudbError(message, condition="feature_not_supported")
        files = {name: StoredFile(**file) for name, file in data["files"].items()}
        catalog = StoredFile(**data["catalog"])
        return Manifest(data["id"], data["time"], data["commit"], catalog, files, tuple(data["external"]))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise GpudbError(f'could not read backup "{path}": {error}', condition="data_corrupted") from error
