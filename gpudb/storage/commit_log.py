"""The log of small commits: a file to which each is written with one sync, before it is folded into Iceberg's metadata.

A record has the number of its commit, and for each table the Parquet files that it adds, whole. The file is filled with
zeros ahead, so that a sync has no length to write, and is written from its beginning again once all its commits are
folded. What an earlier round left has smaller numbers, and ends the reading.

A record: magic, length and CRC-32 of the rest, length of the JSON head, the head, and the contents of the files.
"""

from __future__ import annotations

import json
import os
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gpudb.storage.private_files import FILE_MODE

NAME = "commits.log"
_MAGIC = b"gpudbLog"
_FRAME = struct.Struct("<8sII")
_HEAD = struct.Struct("<I")
_AHEAD = 1 << 20
"""Bytes of zeros that the file is filled with."""


@dataclass(frozen=True, slots=True)
class LoggedFile:
    """A data file that a commit adds to a table: its path below the folder of tables, and its bytes."""

    path: str
    bucket: int | None
    content: bytes


@dataclass(frozen=True, slots=True)
class LoggedTable:
    """The files that a commit adds to a table, and the number of the table's snapshot that it makes."""

    oid: int
    snapshot: int
    files: tuple[LoggedFile, ...]


@dataclass(frozen=True, slots=True)
class LoggedCommit:
    """A commit of rows alone: its number, its time in microseconds since 1970 UTC, and its database."""

    number: int
    moment: int
    database: str
    tables: tuple[LoggedTable, ...]


class CommitLog:
    """The open file. The caller ensures that one thread at a time uses it."""

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        """Opens the file, or creates it unless it is to be read only."""
        flags = os.O_RDONLY if read_only else os.O_RDWR | os.O_CREAT
        self._descriptor = os.open(path, flags | os.O_CLOEXEC, FILE_MODE)
        self._end = 0
        if not read_only and os.fstat(self._descriptor).st_size < _AHEAD:
            size = os.fstat(self._descriptor).st_size
            os.pwrite(self._descriptor, b"\0" * (_AHEAD - size), size)
            os.fsync(self._descriptor)

    @property
    def size(self) -> int:
        """The bytes of the records that are not folded."""
        return self._end

    def read(self, after: int) -> list[LoggedCommit]:
        """Returns the commits with numbers above `after`, oldest first, to the first that was not written whole."""
        found = []
        for commit in self._iter_records():
            if commit.number > after:
                found.append(commit)
                after = commit.number
            elif found:
                break
        return found

    def _iter_records(self) -> Iterator[LoggedCommit]:
        at = 0
        while True:
            frame = os.pread(self._descriptor, _FRAME.size, at)
            if len(frame) < _FRAME.size:
                return
            magic, length, checksum = _FRAME.unpack(frame)
            payload = os.pread(self._descriptor, length, at + _FRAME.size) if magic == _MAGIC else b""
            if magic != _MAGIC or len(payload) < length or zlib.crc32(payload) != checksum:
                return
            yield _decode(payload)
            at += _FRAME.size + length

    def append(self, commit: LoggedCommit) -> None:
        """Writes a commit and syncs it. After an OSError it is not there."""
        payload = _encode(commit)
        record = _FRAME.pack(_MAGIC, len(payload), zlib.crc32(payload)) + payload
        try:
            self._write(record)
            os.fdatasync(self._descriptor)
        except OSError:
            os.pwrite(self._descriptor, b"\0" * _FRAME.size, self._end)
            os.fsync(self._descriptor)
            raise
        self._end += len(record)

    def _write(self, record: bytes) -> None:
        # What follows a record is not one of a round before
        view, at = memoryview(record + b"\0" * _FRAME.size), self._end
        while len(view):
            written = os.pwrite(self._descriptor, view, at)
            view, at = view[written:], at + written

    def clear(self) -> None:
        """Begins anew: all commits are folded."""
        self._end = 0

    def close(self) -> None:
        """Closes the file."""
        os.close(self._descriptor)


def _encode(commit: LoggedCommit) -> bytes:
    tables = [
        {
            "oid": table.oid,
            "snapshot": table.snapshot,
            "files": [{"path": file.path, "bucket": file.bucket, "size": len(file.content)} for file in table.files],
        }
        for table in commit.tables
    ]
    head = {"number": commit.number, "moment": commit.moment, "database": commit.database, "tables": tables}
    text = json.dumps(head).encode()
    contents = [file.content for table in commit.tables for file in table.files]
    return b"".join([_HEAD.pack(len(text)), text, *contents])


def _decode(payload: bytes) -> LoggedCommit:
    (length,) = _HEAD.unpack_from(payload)
    at = _HEAD.size + length
    head = json.loads(payload[_HEAD.size : at])
    tables = []
    for table in head["tables"]:
        files: list[LoggedFile] = []
        for file in table["files"]:
            files.append(LoggedFile(file["path"], file["bucket"], payload[at : at + file["size"]]))
            at += file["size"]
        tables.append(LoggedTable(table["oid"], table["snapshot"], tuple(files)))
    return LoggedCommit(head["number"], head["moment"], head["database"], tuple(tables))
