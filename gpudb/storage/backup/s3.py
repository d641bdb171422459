"""A prefix of an S3 bucket as a destination of backups, by pyarrow's file system."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from pyarrow.fs import FileSelector, FileSystem

from gpudb.errors import GpudbError
from gpudb.storage.backup.stored_file import StoredFile
from gpudb.storage.object_stores.connect import connect
from gpudb.storage.object_stores.options import StoreOptions, read_environment

_PIECE_BYTES = 8 << 20
_locks: set[str] = set()
_guard = threading.Lock()


class S3Prefix:
    """The objects of a bucket below a prefix. An object exists once it is written whole.

    Credentials, region and endpoint are those of the environment: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY,
    AWS_SESSION_TOKEN, AWS_PROFILE, AWS_REGION, AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL.
    """

    folder: Path | None = None
    writers = 8

    def __init__(self, bucket: str, prefix: str) -> None:
        self._root = f"{bucket}/{prefix}" if prefix else bucket
        self.name = f"s3://{self._root}"
        self._bucket = bucket
        self._opened: FileSystem | None = None

    @property
    def _files(self) -> FileSystem:
        if self._opened is None:
            self._opened = connect("s3", self._bucket, _make_options())
        return self._opened

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Keeps other backups of this process from being written here; 55006 if one is."""
        with _guard:
            if self.name in _locks:
                raise GpudbError(f'a backup is being written to "{self.name}"', condition="object_in_use")
            _locks.add(self.name)
        try:
            yield
        finally:
            with _guard:
                _locks.discard(self.name)

    def list_sizes(self, prefix: str) -> Mapping[str, int]:
        """Returns the objects below a prefix: their bytes by name."""
        selector = FileSelector(f"{self._root}/{prefix}", recursive=True, allow_not_found=True)
        found = (info for info in self._files.get_file_info(selector) if info.is_file)
        return {info.path.removeprefix(f"{self._root}/"): info.size for info in found}

    def read(self, name: str) -> bytes:
        """Returns the content of an object."""
        with self._files.open_input_stream(f"{self._root}/{name}") as stream:
            content: bytes = stream.read()
        return content

    def write(self, name: str, content: bytes) -> None:
        """Writes an object."""
        with self._files.open_output_stream(f"{self._root}/{name}") as stream:
            stream.write(content)

    def send(self, source: Path, name: str) -> StoredFile:
        """Copies a local file here. An object that fails halfway may be left, shorter than the file."""
        with source.open("rb") as file, self._files.open_output_stream(f"{self._root}/{name}") as stream:
            return _copy(file.read, stream.write)

    def sync(self, names: Iterable[str]) -> None:
        """Does nothing: what was sent is durable."""

    def fetch(self, name: str, target: Path) -> StoredFile:
        """Copies an object into an existing local file."""
        with self._files.open_input_stream(f"{self._root}/{name}") as stream, target.open("wb") as file:
            stored = _copy(stream.read, file.write)
            file.flush()
            os.fsync(file.fileno())
        return stored

    def hash(self, name: str) -> StoredFile:
        """Reads an object and returns its checksum."""
        with self._files.open_input_stream(f"{self._root}/{name}") as stream:
            return _copy(stream.read, lambda _: None)

    def remove(self, names: Iterable[str]) -> None:
        """Removes objects."""
        for name in names:
            try:
                self._files.delete_file(f"{self._root}/{name}")
            except FileNotFoundError:
                continue


def _make_options() -> StoreOptions:
    """Returns the environment's options, with the patience of work that nobody waits for."""
    return replace(read_environment("s3"), request_seconds=60.0, attempts=5)


def _copy(read: Callable[[int], bytes], write: Callable[[bytes], object]) -> StoredFile:
    digest, size = hashlib.sha256(), 0
    while piece := read(_PIECE_BYTES):
        digest.update(piece)
        write(piece)
        size += len(piece)
    return StoredFile(size, digest.hexdigest())
