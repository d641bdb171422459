"""Verifies the checksums of Parquet pages, and the footer's hash, when a process reads a file for the first time.

Neither DuckDB nor libcudf verifies them, and a flipped bit in a page is a wrong value without an error. Pages without a
checksum, as other programs may write them, are not verified. Files are immutable, so once per process is enough.
"""

from __future__ import annotations

import mmap
import zlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from gpudb.errors import GpudbError
from gpudb.lru import LruCache
from gpudb.processes.limits import count_processors
from gpudb.storage.iceberg.content_names import verify_data_file
from gpudb.storage.object_stores.table_files import forget_local, make_local

if TYPE_CHECKING:
    import pyarrow.parquet as pq

_verified_files: LruCache[str, bool] = LruCache(1 << 16)
_verified_chunks: LruCache[tuple[str, str, int], bool] = LruCache(1 << 18)
"""Column chunks of files that are not verified whole: path, column and number of the row group."""
_THREADS = min(count_processors(), 16)
_SERIAL_BYTES = 8 << 20
"""Size up to which a thread verifies chunks alone."""


def mark_verified(path: Path) -> None:
    """Marks a file that this process has written."""
    _verified_files.put(str(path), True)


def forget_verified() -> None:
    """Forgets which files are verified: files may change while no store has them open."""
    _verified_files.clear()
    _verified_chunks.clear()
    forget_local()


def verify_files(paths: Iterable[str]) -> None:
    """Verifies all pages of the files that this process has not verified yet.

    Files of tables in an object storage are fetched first. Raises XX001 with the file's name for a page that differs
    from its checksum, and for a file that is missing or cannot be read.
    """
    unknown = [path for path in paths if path not in _verified_files]
    make_local(unknown)
    for path in unknown:
        if path not in _verified_files:
            verify_pages(path)
            _verified_files.put(path, True)


def verify_columns(path: str, columns: Collection[str], first: int, last: int) -> None:
    """Verifies the pages of a file's columns that hold its rows from `first` to before `last`, like `verify_files`.

    `columns` are top-level names in the file's schema.
    """
    if path not in _verified_files:
        make_local([path])
        verify_pages(path, columns, first, last)


def verify_pages(path: str, columns: Collection[str] | None = None, first: int = 0, last: int | None = None) -> None:
    """Verifies the pages of a file, or of some columns and rows, that are not verified yet; see `verify_files`."""
    import pyarrow.parquet as pq

    try:
        with Path(path).open("rb") as file, pq.ParquetFile(file) as parquet:
            verify_data_file(Path(path), parquet.metadata)
            chunks = [
                chunk
                for chunk in _iter_chunks(parquet.metadata, columns, first, last)
                if (path, chunk.column, chunk.group) not in _verified_chunks
            ]
            if not chunks:
                return
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data, memoryview(data) as view:
                _verify_chunks(view, chunks)
    except FileNotFoundError as error:
        raise GpudbError(f'data file "{path}" does not exist', condition="data_corrupted") from error
    except (OSError, pa.ArrowException, ValueError, IndexError) as error:
        reason = str(error).partition("\n")[0]
        raise GpudbError(f'data file "{path}" is damaged: {reason}', condition="data_corrupted") from error
    if columns is not None:
        for chunk in chunks:
            _verified_chunks.put((path, chunk.column, chunk.group), True)


class _Chunk(NamedTuple):
    """A column chunk: the bytes of a file from `start` to before `end`."""

    column: str
    group: int
    start: int
    end: int


def _iter_chunks(
    metadata: pq.FileMetaData, columns: Collection[str] | None, first: int, last: int | None
) -> Iterator[_Chunk]:
    row = 0
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        begin, row = row, row + group.num_rows
        if row <= first or (last is not None and begin >= last):
            continue
        for place in range(group.num_columns):
            chunk = group.column(place)
            name = chunk.path_in_schema
            if columns is None or name.partition(".")[0] in columns:
                start = chunk.data_page_offset
                if chunk.has_dictionary_page:
                    start = min(start, chunk.dictionary_page_offset)
                yield _Chunk(name, number, start, start + chunk.total_compressed_size)


def _verify_chunks(data: memoryview, chunks: Sequence[_Chunk]) -> None:
    if sum(chunk.end - chunk.start for chunk in chunks) <= _SERIAL_BYTES:
        for chunk in chunks:
            _verify_chunk(data, chunk)
        return
    with ThreadPoolExecutor(_THREADS, "gpudb-verify") as pool:
        for _ in pool.map(lambda chunk: _verify_chunk(data, chunk), chunks):
            pass


def _verify_chunk(data: memoryview, chunk: _Chunk) -> None:
    position = chunk.start
    while position < chunk.end:
        page, size, crc = _read_header(data, position)
        following = page + size
        if size < 0 or following > chunk.end:
            raise ValueError(f'the page at byte {position} of column "{chunk.column}" exceeds its column chunk')
        if crc is not None:
            with data[page:following] as content:
                if zlib.crc32(content) != crc & 0xFFFFFFFF:
                    raise ValueError(f'the checksum of the page at byte {position} of column "{chunk.column}" is wrong')
        position = following


# ---- Thrift's compact protocol, as much of it as a PageHeader needs

_PAGE_SIZE_FIELD, _CRC_FIELD = 3, 4
_TRUE, _FALSE, _BYTE, _I64, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = 1, 2, 3, 6, 7, 8, 9, 10, 11, 12


def _read_header(data: memoryview, position: int) -> tuple[int, int, int | None]:
    """Reads a PageHeader: returns the position after it, the page's compressed size in bytes, and its checksum."""
    size, crc = -1, None
    field = 0
    while header := data[position]:
        position += 1
        kind = header & 15
        if header >> 4:
            field += header >> 4
        else:
            field, position = _read_integer(data, position)
        if field in (_PAGE_SIZE_FIELD, _CRC_FIELD):
            value, position = _read_integer(data, position)
            if field == _CRC_FIELD:
                crc = value
            else:
                size = value
        else:
            position = _skip(data, position, kind)
    return position + 1, size, crc


def _read_varint(data: memoryview, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[position]
        position += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, position
        shift += 7


def _read_integer(data: memoryview, position: int) -> tuple[int, int]:
    value, position = _read_varint(data, position)
    return (value >> 1) ^ -(value & 1), position


def _skip(data: memoryview, position: int, kind: int) -> int:
    """Returns the position after a value."""
    if kind in (_TRUE, _FALSE):
        return position
    if kind == _BYTE:
        return position + 1
    if kind <= _I64:
        return _read_varint(data, position)[1]
    if kind == _DOUBLE:
        return position + 8
    if kind == _BINARY:
        length, position = _read_varint(data, position)
        return position + length
    if kind in (_LIST, _SET):
        header = data[position]
        position += 1
        count = header >> 4
        if count == 15:
            count, position = _read_varint(data, position)
        for _ in range(count):
            position = _skip(data, position, max(header & 15, _BYTE if header & 15 in (_TRUE, _FALSE) else 0))
        return position
    if kind == _MAP:
        count, position = _read_varint(data, position)
        if count:
            kinds = data[position]
            position += 1
            for _ in range(count):
                position = _skip(data, _skip(data, position, kinds >> 4), kinds & 15)
        return position
    if kind == _STRUCT:
        while header := data[position]:
            position += 1
            if not header >> 4:
                position = _read_varint(data, position)[1]
            position = _skip(data, position, header & 15)
        return position + 1
    raise ValueError(f"a page header holds a value of kind {kind}")
