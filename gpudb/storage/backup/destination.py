"""Destinations of backups: folders, and prefixes of S3 buckets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol
from urllib.parse import SplitResult, unquote, urlsplit

from gpudb.errors import FeatureNotSupported, GpudbError
from gpudb.storage.backup.folder import Folder
from gpudb.storage.backup.stored_file import StoredFile


class Destination(Protocol):
    """Where backups are. Names are relative paths with slashes. Every method may raise OSError.

    `folder` is None for a destination that is no folder of this machine. `writers` is how many files are best sent at
    a time.
    """

    name: str
    folder: Path | None
    writers: int

    def lock(self) -> AbstractContextManager[None]:
        """Keeps other backups from being written here meanwhile; 55006 if one is."""

    def list_sizes(self, prefix: str) -> Mapping[str, int]:
        """Returns the files below a prefix, which may not exist: their bytes by name."""

    def read(self, name: str) -> bytes:
        """Returns the content of a file."""

    def write(self, name: str, content: bytes) -> None:
        """Writes a file, durably: it exists whole or not at all."""

    def send(self, source: Path, name: str) -> StoredFile:
        """Copies a local file here; it exists whole or not at all."""

    def sync(self, names: Iterable[str]) -> None:
        """Makes files that were sent durable."""

    def fetch(self, name: str, target: Path) -> StoredFile:
        """Copies a file into an existing local one, durably. Raises FileNotFoundError if there is none."""

    def hash(self, name: str) -> StoredFile:
        """Reads a file and returns its checksum. Raises FileNotFoundError if there is none."""

    def remove(self, names: Iterable[str]) -> None:
        """Removes files; those that do not exist are ignored."""


def open_destination(where: str | Path) -> Destination:
    """Returns the destination that a path, or a URL (`file:///folder`, `s3://bucket/prefix`), names.

    Nothing is created. Raises 0A000 for other kinds of URL, and 22023 for one that is malformed.
    """
    if isinstance(where, Path) or not is_url(where):
        return Folder(Path(where).absolute())
    parts = urlsplit(where)
    if parts.query or parts.fragment:
        raise _make_url_error(where, "it has a query or a fragment")
    match parts.scheme:
        case "file":
            if parts.netloc not in {"", "localhost"} or not parts.path:
                raise _make_url_error(where, "it must be file:///folder")
            return Folder(Path(unquote(parts.path)))
        case "s3":
            _check_bucket(where, parts)
            from gpudb.storage.backup.s3 import S3Prefix

            return S3Prefix(parts.netloc, unquote(parts.path).strip("/"))
    message = f'backups at URLs with the scheme "{parts.scheme}" are not supported'
    raise FeatureNotSupported(message, hint="Use a folder, file:///folder or s3://bucket/prefix.")


def is_url(where: str) -> bool:
    """Returns whether a destination is written as a URL."""
    return "://" in where


def _check_bucket(where: str, parts: SplitResult) -> None:
    if "@" in parts.netloc:
        hidden = where.replace(parts.netloc.rpartition("@")[0], "…")
        raise _make_url_error(hidden, "credentials come from the environment, such as AWS_ACCESS_KEY_ID")
    if not parts.netloc or ":" in parts.netloc:
        raise _make_url_error(where, "it must be s3://bucket/prefix")


def _make_url_error(where: str, reason: str) -> GpudbError:
    return GpudbError(f'"{where}" is not a URL of backups: {reason}', condition="invalid_parameter_value")
