"""The pages of large objects: rows of one table, found by their numbers, read and replaced within a transaction."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from gpudb.catalog.deleted_rows import DeletedRows
from gpudb.catalog.large_objects import CONTENT_COLUMNS, PAGE_BYTES
from gpudb.catalog.tables import DataFile, Table
from gpudb.lru import LruCache
from gpudb.storage.iceberg.checksums import verify_files
from gpudb.storage.transaction import Transaction

_INDEX_BYTES, _GROUP_BYTES = 64 << 20, 96 << 20
_BATCH_PAGES = 1 << 14
Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class _Index:
    """Of each row of a file, in order, the object and the number of its page; the first row of each row group."""

    objects: Numbers
    pages: Numbers
    starts: Numbers

    @property
    def size(self) -> int:
        return int(self.objects.nbytes + self.pages.nbytes)


_indexes: LruCache[str, _Index] = LruCache(1 << 12, weigh=lambda index: index.size, limit=_INDEX_BYTES)
_groups: LruCache[tuple[str, int], pa.Array] = LruCache(
    1 << 10, weigh=lambda rows: int(rows.nbytes), limit=_GROUP_BYTES
)
"""The pages of row groups, by the path of their file and the group's number."""


def read_range(table: Table, oid: int, start: int, stop: int) -> bytes:
    """Returns the bytes of a large object from one position to before another; zeros where it has no page."""
    found = bytearray(stop - start)
    for number, page in iter_pages(table, oid, start // PAGE_BYTES, -(-stop // PAGE_BYTES)):
        at = number * PAGE_BYTES - start
        part = page[max(-at, 0) : stop - start - at]
        found[max(at, 0) : max(at, 0) + len(part)] = part
    return bytes(found)


def iter_pages(table: Table, oid: int, first: int, last: int) -> Iterator[tuple[int, bytes]]:
    """Yields the numbers and bytes of a large object's pages from `first` to before `last`, in any order."""
    for file, rows in _find_rows(table, oid, first, last):
        index = _read_index(file)
        groups = np.searchsorted(index.starts, rows, "right") - 1
        for group in np.unique(groups).tolist():
            taken = rows[groups == group]
            data = _read_group(file.path, group).take(pa.array(taken - index.starts[group]))
            yield from zip(index.pages[taken].tolist(), data.to_pylist(), strict=True)


def write_pages(transaction: Transaction, table: Table, oid: int, pages: Mapping[int, bytes], end: int) -> None:
    """Makes pages those of a large object, in place of those with the same numbers, all of which are before `end`."""
    numbers = sorted(pages)
    known = [number for number in numbers if number < end]
    gone = _list_deleted(table, oid, known[0], known[-1] + 1, np.array(known, np.int64)) if known else {}
    transaction.replace_pages(table.oid, _make_batches(oid, numbers, pages), gone)


def drop_pages(transaction: Transaction, table: Table, oid: int, first: int = 0) -> None:
    """Removes the pages of a large object from a number on."""
    gone = _list_deleted(table, oid, first, 2**31, None)
    if gone:
        transaction.replace_pages(table.oid, (), gone)


def _make_batches(oid: int, numbers: list[int], pages: Mapping[int, bytes]) -> Iterator[pa.RecordBatch]:
    for start in range(0, len(numbers), _BATCH_PAGES):
        part = numbers[start : start + _BATCH_PAGES]
        columns = ([oid] * len(part), part, [pages[number] for number in part])
        arrays = [pa.array(each, column.type.arrow) for each, column in zip(columns, CONTENT_COLUMNS, strict=True)]
        yield pa.RecordBatch.from_arrays(arrays, names=[column.name for column in CONTENT_COLUMNS])


def _list_deleted(table: Table, oid: int, first: int, last: int, numbers: Numbers | None) -> dict[str, DeletedRows]:
    """Returns all deleted rows of the files of which pages go, by path: those in a range, and among `numbers`."""
    gone = {}
    for file, rows in _find_rows(table, oid, first, last):
        if numbers is not None:
            rows = rows[np.isin(_read_index(file).pages[rows], numbers)]
        if len(rows):
            before = () if file.deleted is None else file.deleted.rows
            gone[file.path] = DeletedRows.of(np.concatenate([before, rows]))
    return gone


def _find_rows(table: Table, oid: int, first: int, last: int) -> Iterator[tuple[DataFile, Numbers]]:
    """Yields the files with pages of a large object from `first` to before `last`, and the rows that these are."""
    field = table.columns[0].field_id
    for file in table.files:
        least: Any = file.minimums.get(field)
        most: Any = file.maximums.get(field)
        if (least is not None and oid < least) or (most is not None and oid > most):
            continue
        index = _read_index(file)
        rows = np.flatnonzero((index.objects == oid) & (index.pages >= first) & (index.pages < last))
        if file.deleted is not None:
            rows = np.setdiff1d(rows, file.deleted.rows, assume_unique=True)
        if len(rows):
            yield file, rows


def _read_index(file: DataFile) -> _Index:
    known = _indexes.get(file.path)
    if known is None:
        import pyarrow.parquet as pq  # no first query needs it

        verify_files([file.path])
        with pq.ParquetFile(file.path) as source:
            rows = source.read(columns=[CONTENT_COLUMNS[0].name, CONTENT_COLUMNS[1].name])
            sizes = [source.metadata.row_group(number).num_rows for number in range(source.num_row_groups)]
        objects, pages = (column.to_numpy().astype(np.int64) for column in rows.columns)
        known = _Index(objects, pages, np.cumsum([0, *sizes[:-1]]).astype(np.int64))
        _indexes.put(file.path, known)
    return known


def _read_group(path: str, number: int) -> pa.Array:
    known = _groups.get((path, number))
    if known is None:
        import pyarrow.parquet as pq

        with pq.ParquetFile(path) as source:
            known = source.read_row_group(number, columns=[CONTENT_COLUMNS[2].name]).column(0).combine_chunks()
        if isinstance(known, pa.ChunkedArray):
            known = pa.concat_arrays(known.chunks) if known.num_chunks else pa.array([], known.type)
        _groups.put((path, number), known)
    return known
