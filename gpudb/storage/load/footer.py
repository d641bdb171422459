"""Copies Parquet files under a footer with Iceberg's field ids; pages are copied and never decoded.

A footer is a struct of Thrift's compact protocol. Its schema elements are rewritten, all else is copied.
Sources: parquet-format's parquet.thrift, Thrift's THRIFT-compact-protocol.md.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import IO

from gpudb.errors import SqlError
from gpudb.storage.private_files import open_private

_MAGIC = b"PAR1"
_SCHEMA = 2
"""Field number of the schema in a footer, and those of the name, child count and field id in its elements."""
_NAME, _CHILDREN, _FIELD_ID = 4, 5, 9
_TRUE, _FALSE, _BYTE, _I32, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = 1, 2, 3, 5, 7, 8, 9, 10, 11, 12
_NUMBERS = {4, _I32, 6}
_Field = tuple[int, int, bytes]
"""A field's number and type, and the bytes of its value."""


def copy_with_field_ids(source: Path, target: Path, ids: Mapping[str, int]) -> None:
    """Copies a file and adds field ids to its columns, which are flat, by name; raises XX001 for a damaged file.

    Where the file system supports it, both files share the pages' blocks.
    """
    with source.open("rb") as old, open(target, "xb", opener=open_private) as new:
        size = os.fstat(old.fileno()).st_size
        old.seek(max(size - 8, 0))
        length, magic = struct.unpack("<I4s", old.read(8)) if size > 12 else (0, b"")
        if magic != _MAGIC or length + 12 > size:
            raise _damaged_error(source)
        old.seek(size - 8 - length)
        try:
            footer = add_field_ids(old.read(length), ids)
        except (IndexError, UnicodeDecodeError) as error:
            raise _damaged_error(source) from error
        _copy(old, new, size - 8 - length)
        new.seek(0, os.SEEK_END)
        new.write(footer + struct.pack("<I4s", len(footer), _MAGIC))


def _damaged_error(path: Path) -> SqlError:
    return SqlError.of("data_corrupted", f'file "{path}" is damaged, or no Parquet file')


def _copy(old: IO[bytes], new: IO[bytes], size: int) -> None:
    done = 0
    while done < size:
        try:
            step = os.copy_file_range(old.fileno(), new.fileno(), size - done, done, done)
        except OSError:
            old.seek(done)
            data = old.read(min(size - done, 1 << 24))
            step = os.pwrite(new.fileno(), data, done)
        if not step:
            raise OSError("the file has become shorter")
        done += step


def add_field_ids(footer: bytes, ids: Mapping[str, int]) -> bytes:
    """Returns a footer whose leaves have the field ids of their names."""
    reader = _CompactReader(footer)
    fields = [
        (number, kind, _rewrite_schema(value, ids) if number == _SCHEMA else value)
        for number, kind, value in reader.fields()
    ]
    return _encode_fields(fields) + footer[reader.at :]


def _rewrite_schema(value: bytes, ids: Mapping[str, int]) -> bytes:
    reader = _CompactReader(value)
    reader.count()
    made = value[: reader.at]
    while reader.at < len(value):
        fields = reader.fields()
        found = {number: held for number, _, held in fields}
        name = _CompactReader(found[_NAME]).text() if _CHILDREN not in found else None
        if name is not None and name in ids:
            fields = [field for field in fields if field[0] != _FIELD_ID]
            fields.append((_FIELD_ID, _I32, _encode_varint(ids[name] << 1)))
        made += _encode_fields(sorted(fields))
    return made


def _encode_fields(fields: list[_Field]) -> bytes:
    made, last = b"", 0
    for number, kind, value in fields:
        step = number - last
        made += bytes([step << 4 | kind]) if 0 < step < 16 else bytes([kind]) + _encode_varint(number << 1)
        made += value
        last = number
    return made + b"\0"


def _encode_varint(number: int) -> bytes:
    made = b""
    while number > 127:
        made += bytes([number & 127 | 128])
        number >>= 7
    return made + bytes([number])


class _CompactReader:
    """Parser of the compact protocol; raises IndexError where the data end too soon."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.at = 0

    def fields(self) -> list[_Field]:
        """Parses a struct's fields."""
        found: list[_Field] = []
        number = 0
        while header := self._byte():
            kind = header & 15
            number = number + (header >> 4) if header >> 4 else self._zigzag()
            start = self.at
            if kind not in {_TRUE, _FALSE}:
                self._skip(kind)
            found.append((number, kind, self._data[start : self.at]))
        return found

    def text(self) -> str:
        """Parses a string."""
        size = self._number()
        return self._data[self.at : self.at + size].decode()

    def count(self) -> tuple[int, int]:
        """Parses a list's header: number and type of its values."""
        header = self._byte()
        return (self._number() if header >> 4 == 15 else header >> 4), header & 15

    def _skip(self, kind: int) -> None:
        if kind in _NUMBERS:
            self._number()
        elif kind in {_TRUE, _FALSE, _BYTE}:
            self._byte()
        elif kind == _DOUBLE:
            self._jump(8)
        elif kind == _BINARY:
            self._jump(self._number())
        elif kind in {_LIST, _SET}:
            count, each = self.count()
            for _ in range(count):
                self._skip(each)
        elif kind == _MAP:
            count = self._number()
            kinds = self._byte() if count else 0
            for _ in range(count):
                self._skip(kinds >> 4)
                self._skip(kinds & 15)
        elif kind == _STRUCT:
            self.fields()
        else:
            raise IndexError(kind)

    def _jump(self, size: int) -> None:
        self.at += size
        if self.at > len(self._data):
            raise IndexError(size)

    def _byte(self) -> int:
        self.at += 1
        return self._data[self.at - 1]

    def _number(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def _zigzag(self) -> int:
        value = self._number()
        return value >> 1 ^ -(value & 1)
