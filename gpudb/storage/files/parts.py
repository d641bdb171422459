"""Files as a table whose data files are parts that workers read: row groups of Parquet, record batches, text."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from hashlib import blake2b
from pathlib import Path
from typing import TypeVar
from zlib import crc32

import pyarrow as pa

from gpudb.catalog.file_tables import FileColumn, FileFormat, FilePart, FileStamp, FileTable
from gpudb.catalog.tables import Column, Table
from gpudb.lru import LruCache
from gpudb.storage.files.arrow_batches import read_arrow_batches
from gpudb.storage.files.arrow_types import find_obstacle
from gpudb.storage.files.discovery import read_folders
from gpudb.storage.files.parquet_groups import read_parquet_groups
from gpudb.storage.files.part_statistics import FileParts, PartStatistics
from gpudb.storage.files.text_blocks import find_text_blocks, has_plain_header
from gpudb.storage.files.text_reader import find_text_obstacle
from gpudb.types import DATE, INT8, SqlType
from gpudb.values.calendar import days_from_date

OBSTACLE = "obstacle="
"""Prefix of the option of a column that only the embedded engine reads; the rest says why."""

_Value = TypeVar("_Value")
_Reader = Callable[[FileStamp, FileTable], FileParts]
_known: LruCache[tuple[FileStamp, FileFormat, tuple[tuple[str, object], ...]], FileParts] = LruCache(1024)
_MAX_KEPT_PARTS = 100_000
_tables: LruCache[tuple[object, ...], Table] = LruCache(64, weigh=lambda table: len(table.files), limit=_MAX_KEPT_PARTS)


def open_part_table(files: FileTable) -> Table | None:
    """Returns files as a table of parts, with all columns of the files, hidden ones last.

    None for a format that only the embedded engine reads; 58P01, 42501, XX001; 55000 for a file that changed since the
    statement was bound. A column has the option OBSTACLE if only the embedded engine reads it. Tables are cached by the
    paths, sizes and times of change of their files: the same files give the same object.
    """
    reader = _READERS.get(files.format)
    if reader is None or _has_text_obstacle(files):
        return None
    key = files.files, files.format, files.columns, files.hidden, tuple(sorted(files.options.items())), files.by_name
    known = _tables.get(key)
    if known is None:
        known = _make_table(files, reader)
        _tables.put(key, known)
    return known


def _make_table(files: FileTable, reader: _Reader) -> Table:
    every = (*files.columns, *files.hidden)
    found = [_read_parts(stamp, files, reader) for stamp in files.files]
    columns = tuple(_make_column(number, column, files.format, found) for number, column in enumerate(every, 1))
    parts = [
        part for stamp, read in zip(files.files, found, strict=True) for part in _list_parts(stamp, files, every, read)
    ]
    where = _common_place(files.files)
    return Table(
        _make_oid(files, where), "", Path(where).name, columns, owner="", files=tuple(parts), kind="f",
        format=files.format, last_field_id=len(columns),
    )  # fmt: skip


def get_obstacle(column: Column) -> str:
    """Returns why only the embedded engine reads a column of files; '' if workers do."""
    return next((each.removeprefix(OBSTACLE) for each in column.options if each.startswith(OBSTACLE)), "")


def _read_parts(stamp: FileStamp, files: FileTable, reader: _Reader) -> FileParts:
    key = stamp, files.format, tuple(sorted(files.options.items()))
    known = _known.get(key)
    if known is None:
        known = reader(stamp, files)
        _known.put(key, known)
    return known


def _read_text(stamp: FileStamp, files: FileTable) -> FileParts:
    """Returns the blocks of csv or JSON lines; all of its columns are texts."""
    header = files.format == "csv" and bool(files.options["header"])
    blocks = find_text_blocks(stamp, str(files.options.get("quote", "")), header=header)
    schema = pa.schema([(column.name, pa.string()) for column in files.columns if column.origin == "file"])
    parts = [PartStatistics(block.rows, block.size, offset=block.offset) for block in blocks]
    plain = not header or has_plain_header(stamp, blocks[0].offset if blocks else stamp.size)
    return FileParts(schema, parts, "" if plain else "a header whose line ends in another way")


def _has_text_obstacle(files: FileTable) -> bool:
    """Whether text is compressed, or its columns or escapes are such that only the embedded engine reads it."""
    options = files.options
    escaped = options.get("escape") != options.get("quote")
    return files.format in TEXTS and ("compression" in options or escaped or files.by_name)


TEXTS = ("csv", "json")
"""Formats of text."""
_READERS: dict[FileFormat, _Reader] = {
    "parquet": lambda stamp, _: read_parquet_groups(stamp),
    "arrow": lambda stamp, _: read_arrow_batches(stamp),
    "csv": _read_text,
    "json": _read_text,
}


def _make_column(number: int, column: FileColumn, format: FileFormat, found: Sequence[FileParts]) -> Column:
    obstacle = ""
    if column.origin == "file" and format in TEXTS:
        obstacle = next((each.obstacle for each in found if each.obstacle), "")
        obstacle = obstacle or find_text_obstacle(format, column.type)
    elif column.origin == "file":
        for each in found:
            index = each.schema.get_field_index(column.name)
            if index >= 0:
                arrow = each.schema.field(index).type
                obstacle = obstacle or each.obstacle or find_obstacle(arrow, column.held, column.type)
                if format == "arrow" and pa.types.is_dictionary(arrow):
                    obstacle = obstacle or f"a column of {arrow}"
            elif each.schema.names.count(column.name) > 1:
                obstacle = f"several columns {column.name} in a file"
    return Column(column.name, column.type, field_id=number, options=(OBSTACLE + obstacle,) if obstacle else ())


def _list_parts(stamp: FileStamp, files: FileTable, columns: Sequence[FileColumn], found: FileParts) -> list[FilePart]:
    names = {
        number: column.name
        for number, column in enumerate(columns, 1)
        if column.origin == "file" and found.schema.get_field_index(column.name) >= 0
    }
    values: dict[int, str | None] = {}
    bounds: dict[int, object] = {}
    folders: Mapping[str, str | None] = {}
    for number, column in enumerate(columns, 1):
        if column.origin == "file":
            continue
        folders = folders or read_folders(stamp.path)
        values[number] = stamp.path if column.origin == "path" else folders[column.name]
        bounds[number] = _to_bound(values[number], column.type)
    known = {number: value for number, value in bounds.items() if value is not None}
    first = crc32(os.fsencode(stamp.path)) & 0xFFFF
    missing = [n for n, column in enumerate(columns, 1) if n not in names and n not in values]
    own = tuple(column.name for column in files.columns if column.origin == "file")
    parts = []
    for place, part in enumerate(found.parts):
        empty = [*missing, *(number for number, value in values.items() if value is None)]
        nulls = _by_field(names, part.nulls) | dict.fromkeys(known, 0) | dict.fromkeys(empty, part.rows)
        parts.append(
            FilePart(
                f"{stamp.path}\0{stamp.size}.{stamp.changed}.{place}",
                part.rows,
                part.bytes,
                _by_field(names, part.minimums) | known,
                _by_field(names, part.maximums) | known,
                nulls,
                stamp=stamp,
                format=files.format,
                parts=(place,),
                groups=len(found.parts),
                place=first + place,
                names=names,
                values=values,
                blocks=((part.offset, part.bytes, part.rows),) if files.format in TEXTS else (),
                options=files.options,
                columns=own,
            )
        )
    return parts


def _by_field(names: Mapping[int, str], values: Mapping[str, _Value]) -> dict[int, _Value]:
    return {number: values[name] for number, name in names.items() if name in values}


def _to_bound(value: str | None, type: SqlType) -> object:
    if value is None:
        return None
    if type == INT8:
        return int(value)
    return days_from_date(date.fromisoformat(value)) if type == DATE else value


def _common_place(stamps: Sequence[FileStamp]) -> str:
    return stamps[0].path if len(stamps) == 1 else os.path.commonpath([stamp.path for stamp in stamps])


def _make_oid(files: FileTable, where: str) -> int:
    """Returns a number for the columns of files at a place: workers keep them under it. No table has it as its OID."""
    columns = [(column.name, str(column.type), column.held, column.origin) for column in files.columns + files.hidden]
    text = repr((where, files.format, columns, sorted(files.options.items()), files.by_name))
    return -1 - (1 << 62) - int.from_bytes(blake2b(text.encode(), digest_size=7).digest(), "big")
