"""Objects as a file system of fsspec, which DuckDB reads."""

from __future__ import annotations

import io
import re
from datetime import UTC, datetime
from typing import Any, ClassVar

import duckdb
from fsspec import AbstractFileSystem

from gpudb.errors import GpudbError
from gpudb.storage.object_stores.addresses import Address
from gpudb.storage.object_stores.duckdb_files import PROTOCOL, get_object, open_object, record_failure
from gpudb.storage.object_stores.errors import convert_store_errors
from gpudb.storage.object_stores.store import StoredObject

_PATH = re.compile(r"(?:gpudb:)?/*(\d+)/([a-z0-9]+)/(.*)", re.DOTALL)
_ESCAPED = re.compile(r"\[([*?\[])\]")


def register(connection: duckdb.DuckDBPyConnection) -> None:
    """Lets a DuckDB open objects."""
    connection.register_filesystem(ObjectFiles())


class ObjectFiles(AbstractFileSystem):  # type: ignore[misc]
    """What DuckDB asks for of fsspec's interface; it asks for ranges of bytes."""

    protocol: ClassVar[str] = PROTOCOL
    cachable: ClassVar[bool] = False

    def glob(self, path: str, **_: Any) -> list[str]:
        """Returns the one path that is meant: patterns are matched before."""
        return [_ESCAPED.sub(r"\1", path.removeprefix(f"{PROTOCOL}://"))]

    def info(self, path: str, **_: Any) -> dict[str, Any]:
        """Returns name, type and bytes of an object."""
        return {"name": path, "type": "file", "size": _find(path)[1].size}

    def modified(self, path: str) -> datetime:
        """Returns the time of an object's last change."""
        return datetime.fromtimestamp(_find(path)[1].changed / 1e9, UTC)

    def open(self, path: str, mode: str = "rb", **_: Any) -> _Reader:
        """Opens an object for reading."""
        if mode != "rb":
            raise OSError("objects are read alone")
        return _Reader(*_find(path))


def _find(path: str) -> tuple[int, StoredObject]:
    found = _PATH.fullmatch(path)
    if found is None:
        raise FileNotFoundError(path)
    number = int(found[1])
    try:
        return number, get_object(number, Address(found[2], found[3]))
    except GpudbError as error:
        raise OSError(record_failure(error)) from None


class _Reader(io.RawIOBase):
    """A position in an object."""

    def __init__(self, number: int, held: StoredObject) -> None:
        self._number, self._held, self._at = number, held, 0

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._held.size}[whence]
        self._at = base + offset
        return self._at

    def read(self, size: int = -1) -> bytes:
        rest = max(self._held.size - self._at, 0)
        wanted = rest if size is None or size < 0 else min(size, rest)
        if not wanted:
            return b""
        try:
            with convert_store_errors(str(self._held.address)):
                data: bytes = open_object(self._number, self._held).read_at(wanted, self._at)
        except GpudbError as error:
            raise OSError(record_failure(error)) from None
        self._at += len(data)
        return data
