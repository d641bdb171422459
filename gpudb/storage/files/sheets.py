"""Sheets of Excel workbooks as tables; one that was read stays in memory until others need the room."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from gpudb.catalog.file_tables import FileStamp
from gpudb.lru import LruCache
from gpudb.storage.files.changes import check_unchanged
from gpudb.storage.load.files import convert_errors
from gpudb.storage.load.workbooks import Sheet, parse_sheet
from gpudb.storage.object_stores.addresses import read_address
from gpudb.storage.object_stores.duckdb_files import get_store

_KEPT_BYTES = 256 << 20
_kept: LruCache[tuple[FileStamp, tuple[tuple[str, object], ...]], Sheet] = LruCache(
    64, weigh=lambda sheet: int(sheet.rows.nbytes), limit=_KEPT_BYTES
)


def open_sheet(stamp: FileStamp, options: Mapping[str, object]) -> Sheet:
    """Returns a sheet of a workbook (see `parse_sheet`); 55000 for a file that is not as it was at binding."""
    key = stamp, tuple(sorted(options.items()))
    known = _kept.get(key)
    if known is None:
        with convert_errors(stamp.path):
            data = Path(stamp.path).read_bytes() if stamp.store is None else _read_object(stamp, stamp.store)
        check_unchanged(stamp)
        known = parse_sheet(data, stamp.path, options)
        _kept.put(key, known)
    return known


def _read_object(stamp: FileStamp, store: int) -> bytes:
    with get_store(store).open_file(read_address(stamp.path)) as file:
        data: bytes = file.read()
        return data


def describe_sheet(sheet: Sheet) -> str:
    """Returns what was found of a workbook, in words."""
    others = f", one of {len(sheet.others) + 1}" if sheet.others else ""
    return f'sheet "{sheet.name}"{others}, with {"a header" if sheet.has_header else "no header"}'
