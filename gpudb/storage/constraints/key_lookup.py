"""Checks of few rows' keys by look-ups, without a query: in the rows that a transaction has in memory, and in files.

Files whose minima and maxima exclude a key are not looked at. What a look-up cannot decide is left to the queries of
`keys.KeyChecker` and `references.check_references`, which also say what is wrong.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gpudb.catalog.tables import Column, DataFile, ForeignKey, Key, Table
from gpudb.storage.constraints.key_digests import (
    KeyDigests,
    digest_plain,
    family,
    has_plain_digest,
    make_digests,
)
from gpudb.storage.constraints.key_index import KeyIndex
from gpudb.storage.iceberg.column_layout import stored_schema
from gpudb.storage.pending_rows import Columns, PendingFiles, Rows
from gpudb.storage.plain_rows import PlainRows, to_batches

_NUMBERS = frozenset({"int2", "int4", "int8", "date", "timestamp", "timestamptz"})
_RANGED = _NUMBERS | {"text", "varchar", "bpchar", "numeric"}
_Range = tuple[object, object] | None


def digest_new_keys(
    index: KeyIndex,
    table: Table,
    batches: Sequence[pa.RecordBatch],
    existing: Sequence[DataFile],
    joined: Sequence[DataFile] = (),
) -> Mapping[Columns, list[object]] | None:
    """Returns the digests of rows' keys, by the keys' columns, if none of the keys is twice among them, `existing` and
    `joined` files.

    `batches` are in stored form. None if that may be otherwise.
    """
    found: dict[Columns, list[object]] = {}
    if table.exclusions:
        return None
    for key in table.keys:
        columns = _list_columns(table, key.columns)
        if not key.nulls_distinct or any(family(column.type) is None for column in columns):
            return None
        arrays = _pick_columns(table, columns, batches)
        digests = make_digests([column.type for column in columns], arrays)
        listed = digests.to_list()
        if len(set(listed)) < len(listed):
            return None
        files: Iterable[DataFile] = existing
        if isinstance(existing, PendingFiles) and not existing.is_made:
            if not existing.get_keys(key.columns, _digest_with(table, columns)).isdisjoint(listed):
                return None
            files = existing.stored
        ranges = [_find_range(column, array) for column, array in zip(columns, arrays, strict=True)]
        for file in chain(files, joined) if listed else ():
            if _overlaps(file, columns, ranges):
                here = index.find(file, columns, digests)
                if here is None or here.any():
                    return None
        found[key.columns] = listed
    return found


def digest_plain_keys(
    index: KeyIndex, table: Table, rows: PlainRows, existing: PendingFiles, joined: Sequence[DataFile]
) -> Mapping[Columns, list[object]] | None:
    """Does what `digest_new_keys` does for plain rows; None also for keys of other types."""
    found: dict[Columns, list[object]] = {}
    for key in table.keys:
        columns = _list_columns(table, key.columns)
        if not key.nulls_distinct or not all(has_plain_digest(column.type) for column in columns):
            return None
        values = [rows.columns[table.columns.index(column)] for column in columns]
        digests = digest_plain([column.type for column in columns], values)
        if len(digests) > 1 and len(set(digests)) < len(digests):
            return None
        if not digests:
            found[key.columns] = digests
            continue
        files: Iterable[DataFile] = existing
        if not existing.is_made:
            if not existing.get_keys(key.columns, _digest_with(table, columns)).isdisjoint(digests):
                return None
            files = existing.stored
        if files or joined:
            for file in _list_near(chain(files, joined), columns, values):
                if not index.lacks(file, columns, digests):
                    return None
        found[key.columns] = digests
    return found


def list_key_digests(table: Table, key: Key, files: PendingFiles) -> set[object] | None:
    """Returns the digests of a key of rows in memory; None for a key without, or whose NULLs are equal."""
    columns = _list_columns(table, key.columns)
    if not key.nulls_distinct or any(family(column.type) is None for column in columns):
        return None
    return files.get_keys(key.columns, _digest_with(table, columns))


def are_keys_new(
    index: KeyIndex, table: Table, key: Key, digests: Collection[object], files: Iterable[DataFile]
) -> bool:
    """Returns whether none of some digests of a key is that of a row of files; False if that cannot be told."""
    columns = _list_columns(table, key.columns)
    return not digests or all(index.lacks(file, columns, digests) for file in files)


def remember_keys(index: KeyIndex, table: Table, file: DataFile, batches: Sequence[pa.RecordBatch]) -> None:
    """Notes the keys of a file that was made of batches in stored form, of which others will ask soon."""
    for key in table.keys:
        columns = _list_columns(table, key.columns)
        if all(family(column.type) is not None for column in columns):
            arrays = _pick_columns(table, columns, batches)
            index.put(file, columns, make_digests([column.type for column in columns], arrays))


def _find_plain_range(values: Sequence[object]) -> _Range:
    known: list[Any] = [each for each in values if each is not None]
    return (min(known), max(known)) if known else None


def are_references_known(
    index: KeyIndex, table: Table, batches: Sequence[Rows], foreign: ForeignKey, referenced: Table
) -> bool:
    """Returns whether all rows are known to reference a row of `referenced`; batches are in stored form."""
    own, theirs = _list_columns(table, foreign.columns), _list_columns(referenced, foreign.referenced)
    families = [family(column.type) for column in own]
    if None in families or families != [family(column.type) for column in theirs]:
        return False
    if foreign.match_full and len(own) > 1:
        return False
    if len(batches) == 1 and isinstance(batches[0], PlainRows) and all(has_plain_digest(each.type) for each in own):
        return _are_plain_references_known(index, table, batches[0], own, referenced, foreign.referenced, theirs)
    arrays = _pick_columns(table, own, list(to_batches(batches, stored_schema(table.columns))))
    wanted = make_digests([column.type for column in own], arrays)
    ranges = [_find_range(column, array) for column, array in zip(own, arrays, strict=True)]
    missing = np.ones(len(wanted), np.bool_)
    files: Iterable[DataFile] = referenced.files
    if isinstance(referenced.files, PendingFiles) and not referenced.files.is_made:
        known = referenced.files.get_keys(foreign.referenced, _digest_with(referenced, theirs))
        missing = np.array([each not in known for each in wanted.to_list()], np.bool_)
        files = referenced.files.stored
    for file in files:
        if not missing.any():
            return True
        if _overlaps(file, theirs, ranges):
            here = index.find(file, theirs, wanted)
            if here is None:
                return False
            missing &= ~here
    return not missing.any()


def _are_plain_references_known(
    index: KeyIndex,
    table: Table,
    rows: PlainRows,
    own: Sequence[Column],
    referenced: Table,
    names: Columns,
    theirs: Sequence[Column],
) -> bool:
    values = [rows.columns[table.columns.index(column)] for column in own]
    missing = set(digest_plain([column.type for column in own], values))
    files: Iterable[DataFile] = referenced.files
    if isinstance(referenced.files, PendingFiles) and not referenced.files.is_made:
        missing -= referenced.files.get_keys(names, _digest_with(referenced, theirs))
        files = referenced.files.stored
    for file in _list_near(files, theirs, values) if missing else ():
        here = index.find_plain(file, theirs, missing)
        if here is None:
            return False
        missing -= here
        if not missing:
            break
    return not missing


def _list_near(
    files: Iterable[DataFile], columns: Sequence[Column], values: Sequence[Sequence[object]]
) -> Iterator[DataFile]:
    """Yields the files whose minima and maxima leave room for keys of plain values."""
    ranges = [_find_plain_range(each) for each in values]
    if len(columns) > 1 or ranges[0] is None:
        yield from (file for file in files if _overlaps(file, columns, ranges))
        return
    number, (first, last) = columns[0].field_id, ranges[0]
    for file in files:
        low, high = file.minimums.get(number), file.maximums.get(number)
        if (low is None or low <= last) and (high is None or first <= high):  # type: ignore[operator]
            yield file


def _list_columns(table: Table, names: Sequence[str]) -> list[Column]:
    known = {column.name: column for column in table.columns}
    return [known[name] for name in names]


def _pick_columns(table: Table, columns: Sequence[Column], batches: Sequence[pa.RecordBatch]) -> list[pa.Array]:
    places = [table.columns.index(column) for column in columns]
    return [_join([batch.column(place) for batch in batches]) for place in places]


def _join(arrays: Sequence[pa.Array]) -> pa.Array:
    return arrays[0] if len(arrays) == 1 else pa.concat_arrays(arrays)


class _digest_with:
    """Returns the digests of the keys of a batch of a table's rows."""

    def __init__(self, table: Table, columns: Sequence[Column]) -> None:
        self._table, self._columns = table, columns

    def __call__(self, batch: pa.RecordBatch) -> list[object]:
        digests: KeyDigests = make_digests(
            [column.type for column in self._columns], _pick_columns(self._table, self._columns, [batch])
        )
        return digests.to_list()


def _find_range(column: Column, array: pa.Array) -> _Range:
    """Returns the least and the greatest value as `DataFile` has them; None for types without, and without values."""
    if column.type.name not in _RANGED:
        return None
    if column.type.name in _NUMBERS and not pa.types.is_integer(array.type):
        array = array.view(pa.int32() if pa.types.is_date32(array.type) else pa.int64())
    ends = pc.min_max(array)
    low = ends["min"].as_py()
    return None if low is None else (low, ends["max"].as_py())


def _overlaps(file: DataFile, columns: Sequence[Column], ranges: Sequence[_Range]) -> bool:
    """Returns whether a file's minima and maxima leave room for keys within some ranges."""
    for column, span in zip(columns, ranges, strict=True):
        if span is None:
            continue
        low, high = file.minimums.get(column.field_id), file.maximums.get(column.field_id)
        if (low is not None and span[1] < low) or (high is not None and high < span[0]):  # type: ignore[operator]
            return False
    return True
