"""Places of tables of others: folders, here or in an object storage."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from gpudb.catalog.file_tables import FileFormat, FileStamp
from gpudb.errors import FeatureNotSupported, SqlError
from gpudb.storage.files.discovery import FindStore
from gpudb.storage.load.files import convert_errors
from gpudb.storage.object_stores.addresses import Address, has_pattern, is_remote, read_address
from gpudb.storage.object_stores.duckdb_files import get_number, remember
from gpudb.storage.object_stores.store import ObjectStore, StoredObject


@dataclass(frozen=True, slots=True)
class Place:
    """A folder: a path of this machine, or an address with its storage. Its files are named relative to it."""

    root: str
    store: ObjectStore | None = None

    @property
    def address(self) -> Address:
        """The address of a remote place."""
        return read_address(self.root)

    def exists(self, name: str) -> bool:
        """Returns whether there is a folder of a name."""
        if self.store is None:
            with convert_errors(self.root):
                return (Path(self.root) / name).is_dir()
        return self.store.is_folder(Address(self.address.scheme, f"{self.address.path}/{name}"))

    def list(self, name: str) -> list[str]:
        """Returns the names of the files in a folder; none if there is no such folder."""
        if self.store is None:
            folder = Path(self.root) / name
            with convert_errors(self.root):
                return sorted(each.name for each in folder.iterdir() if each.is_file()) if folder.is_dir() else []
        prefix = f"{self.address.path}/{name}/"
        found = self.store.list_below(Address(self.address.scheme, prefix.rstrip("/")))
        names = [each.address.path.removeprefix(prefix) for each in found]
        return [each for each in names if "/" not in each]

    def stamp(self, path: str, size: int) -> FileStamp:
        """Returns a data file by its path or address; 42501 for one that is not where the table is.

        A table elsewhere does not decide which files of this machine are read.
        """
        remote = is_remote(path)
        if remote != (self.store is not None):
            message = f'table "{self.root}" names the file "{path}", which is elsewhere'
            raise SqlError.of("insufficient_privilege", message)
        if self.store is None:
            # Hadoop writes file:/folder, others file:///folder
            return FileStamp(re.sub("^file:/+", "/", path), size, 0)
        number, address = get_number(self.store), read_address(path)
        remember(number, StoredObject(address, size, 0))
        return FileStamp(str(address), size, 0, number)


def open_place(name: str, find_store: FindStore | None) -> Place:
    """Returns the place of a name; 0A000 for patterns, and for addresses without `find_store`."""
    if is_remote(name):
        if find_store is None:
            raise FeatureNotSupported(f"addresses of the kind {name.partition('://')[0]} are not supported here")
        address = read_address(name.rstrip("/"))
        if has_pattern(address.path):
            raise FeatureNotSupported("a table of Iceberg or Delta is one address, not a pattern")
        return Place(str(address), find_store(address))
    path = name.removeprefix("file://")
    return Place(str(Path(path).expanduser().absolute()))


def detect_format(place: Place) -> FileFormat | None:
    """Returns the format of a table by the folder that it has; None if the place is no table."""
    if place.exists("_delta_log"):
        return "delta"
    return "iceberg" if place.exists("metadata") else None
