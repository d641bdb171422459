"""The objects below one address: listed, opened, written and removed."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from gpudb.errors import SqlError
from gpudb.storage.object_stores.addresses import Address, compile_pattern, find_base, has_pattern
from gpudb.storage.object_stores.connect import connect
from gpudb.storage.object_stores.errors import convert_store_errors
from gpudb.storage.object_stores.options import StoreOptions

if TYPE_CHECKING:
    from pyarrow import fs

_PIECE_BYTES = 8 << 20


@dataclass(frozen=True, slots=True)
class StoredObject:
    """An object: its bytes, and the time of its last change in nanoseconds since 1970."""

    address: Address
    size: int
    changed: int


@dataclass(frozen=True, slots=True)
class ObjectStore:
    """A storage with the options by which it is reached. Methods raise what `convert_store_errors` says."""

    scheme: str
    options: StoreOptions

    def open_filesystem(self, bucket: str) -> fs.FileSystem:
        """Returns pyarrow's file system of a bucket."""
        return connect(self.scheme, bucket, self.options)

    def find(self, pattern: Address) -> list[StoredObject]:
        """Returns the objects that an address or a pattern names, sorted; 58P01 if there are none, 42809 for a prefix.

        A pattern is listed once below its folders without special characters.
        """
        from pyarrow import fs

        if not has_pattern(pattern.path):
            info = self._describe(pattern)
            if info.type == fs.FileType.Directory:
                raise SqlError.of("wrong_object_type", f'"{pattern}" is a directory')
            if info.type != fs.FileType.File:
                self._check_bucket(pattern)
                with convert_store_errors(str(pattern)):
                    raise FileNotFoundError
            return [self._make_object(info)]
        matching = compile_pattern(pattern.path)
        found = self.list_below(Address(self.scheme, find_base(pattern.path)))
        objects = [each for each in found if matching.fullmatch(each.address.path)]
        if not objects:
            self._check_bucket(pattern)
            raise SqlError.of("undefined_file", f'no file matches "{pattern}"')
        return objects

    def stat(self, address: Address) -> StoredObject:
        """Returns an object as it is now; 58P01."""
        from pyarrow import fs

        info = self._describe(address)
        if info.type != fs.FileType.File:
            with convert_store_errors(str(address)):
                raise FileNotFoundError
        return self._make_object(info)

    def is_folder(self, address: Address) -> bool:
        """Returns whether there are objects below an address."""
        from pyarrow import fs

        return bool(self._describe(address).type == fs.FileType.Directory)

    def list_below(self, prefix: Address) -> list[StoredObject]:
        """Returns the objects below a prefix, sorted; none if there is no such prefix, 58P01 without its bucket."""
        from pyarrow import fs

        with convert_store_errors(str(prefix)):
            selector = fs.FileSelector(prefix.path, recursive=True, allow_not_found=prefix.path != prefix.bucket)
            infos = self.open_filesystem(prefix.bucket).get_file_info(selector)
        found = [self._make_object(info) for info in infos if info.type == fs.FileType.File]
        return sorted(found, key=lambda each: each.address.path)

    def open_file(self, address: Address) -> pa.NativeFile:
        """Opens an object for reads at any position: each is a request for its bytes alone."""
        with convert_store_errors(str(address)):
            return self.open_filesystem(address.bucket).open_input_file(address.path)

    def upload(self, source: Path, address: Address) -> None:
        """Writes an object from a file: it replaces another when all bytes are there, or leaves it unchanged."""
        files = self.open_filesystem(address.bucket)
        with (
            convert_store_errors(str(address)),
            source.open("rb") as file,
            files.open_output_stream(address.path) as stream,
        ):
            shutil.copyfileobj(file, stream, _PIECE_BYTES)

    def remove(self, addresses: Iterable[Address]) -> None:
        """Removes objects; those that do not exist are ignored."""
        for each in addresses:
            try:
                with convert_store_errors(str(each)):
                    self.open_filesystem(each.bucket).delete_file(each.path)
            except SqlError as error:
                if error.sqlstate != "58P01":
                    raise

    def _check_bucket(self, address: Address) -> None:
        """58P01 if an address has a bucket that does not exist."""
        from pyarrow import fs

        if self._describe(Address(self.scheme, address.bucket)).type == fs.FileType.NotFound:
            message = f'could not open file "{address}": there is no bucket "{address.bucket}"'
            raise SqlError.of("undefined_file", message)

    def _describe(self, address: Address) -> fs.FileInfo:
        from pyarrow import fs

        path = address.path.rstrip("/")
        files = self.open_filesystem(address.bucket)
        try:
            with convert_store_errors(str(address)):
                return files.get_file_info(path)
        except SqlError as error:
            if error.sqlstate == "42501":
                # The answer about one object has no text that tells why
                with convert_store_errors(str(address)):
                    files.get_file_info(fs.FileSelector(path, allow_not_found=True))
            raise

    def _make_object(self, info: fs.FileInfo) -> StoredObject:
        return StoredObject(Address(self.scheme, info.path), info.size, info.mtime_ns or 0)
