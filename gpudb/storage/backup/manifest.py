"""The manifest of a backup: its files with their lengths and checksums."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath

from gpudb.errors import GpudbError, SqlError
from gpudb.storage.backup.destination import Destination, open_destination
from gpudb.storage.backup.stored_file import StoredFile

BACKUPS = "backups"
FILES = "files"
FORMAT = 1


@dataclass(frozen=True, slots=True)
class Manifest:
    """A backup. `time` is in UTC; `files` are by path below tables/; `external` are files of tables outside of it.

    From `reaches` on, a time in UTC, the state of each moment up to `time` can be restored; None for its own alone.
    `configuration` has the text of the configuration files in the data directory, by name.
    """

    id: str
    time: str
    commit: int
    catalog: StoredFile
    files: Mapping[str, StoredFile]
    external: tuple[str, ...] = ()
    configuration: Mapping[str, str] = field(default_factory=dict)
    reaches: str | None = None
    format: int = field(default=FORMAT)

    @property
    def bytes(self) -> int:
        """The bytes of all its files."""
        return sum(file.bytes for file in self.files.values())

    @property
    def catalog_name(self) -> str:
        """The name of its catalog's file in the destination."""
        return f"{BACKUPS}/{self.id}.db"


def new_id() -> str:
    """Returns the ID of a backup that begins now: its time in UTC, to the microsecond."""
    return datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%fZ")


def write_manifest(destination: Destination, manifest: Manifest) -> None:
    """Writes a manifest atomically and durably, which completes the backup."""
    destination.write(f"{BACKUPS}/{manifest.id}.json", json.dumps(asdict(manifest)).encode())


def list_manifests(where: str | Path | Destination) -> list[Manifest]:
    """Returns the backups of a folder or URL, oldest first.

    Raises 58P01 if it has none, XX001 for one that is unreadable, and 58030 if it cannot be reached.
    """
    destination = open_destination(where) if isinstance(where, str | Path) else where
    try:
        names = sorted(name for name in destination.list_sizes(BACKUPS) if name.endswith(".json"))
    except OSError as error:
        raise GpudbError(f'could not read "{destination.name}": {error}', condition="io_error") from error
    if not names:
        raise GpudbError(f'"{destination.name}" holds no backup', condition="undefined_file")
    return [_read(destination, name) for name in names]


def find_manifest(where: str | Path, *, id: str | None = None) -> Manifest:
    """Returns the backup with an ID, or the last one; 42704 if there is none."""
    found = [each for each in list_manifests(where) if id in (None, each.id)]
    if not found:
        raise SqlError.of("undefined_object", f'"{where}" holds no backup with ID "{id}"')
    return found[-1]


def _read(destination: Destination, name: str) -> Manifest:
    path = f"{destination.name}/{name}"
    try:
        data = json.loads(destination.read(name))
        if data["format"] != FORMAT:
            message = f'the backup "{path}" has format {data["format"]}, this gpudb reads format {FORMAT}'
            raise GpudbError(message, condition="feature_not_supported")
        files = {name: StoredFile(**file) for name, file in data["files"].items()}
        catalog = StoredFile(**data["catalog"])
        configuration = {str(key): str(text) for key, text in data.get("configuration", {}).items()}
        if not all(map(_stays_below, files)) or any("/" in each or each in {".", ".."} for each in configuration):
            raise ValueError("a file's name leads out of the data directory")
        external = tuple(data["external"])
        reaches = data.get("reaches")
        if reaches is not None:
            datetime.fromisoformat(reaches)
        return Manifest(data["id"], data["time"], data["commit"], catalog, files, external, configuration, reaches)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise GpudbError(f'could not read backup "{path}": {error}', condition="data_corrupted") from error


def _stays_below(name: str) -> bool:
    path = PurePosixPath(name)
    return not path.is_absolute() and ".." not in path.parts
