"""Where keys are: digests of the keys of data files, kept in memory by file within a bound.

A file's digests are made once its look-ups by other means have cost about as much as making them would: at once for a
small file, and never for a large one that hardly anybody asks for.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from gpudb.catalog.tables import Column, DataFile
from gpudb.lru import LruCache
from gpudb.storage.constraints.key_digests import KeyDigests, Words, family, from_plain, make_digests
from gpudb.storage.iceberg.checksums import verify_files
from gpudb.storage.iceberg.column_layout import names_by_id, stored_type

LIMIT = 256 << 20
"""Bytes of all digests."""
ROWS_PER_LOOKUP = 50_000
"""Rows whose digests are made in the time of one look-up by a query."""
PLAIN_KEYS = 1 << 13
"""A file with at most so many keys has them one by one too, which few keys are compared with sooner."""
_FIELDS = tuple[tuple[int, str], ...]


@dataclass(frozen=True, slots=True)
class _FileKeys:
    """The keys of a file's stored rows, by digest: `rows` has the numbers of the rows."""

    first: Words
    second: Words | None
    rows: npt.NDArray[np.uint32]
    plain: set[object] = field(default_factory=set)
    """The digests as `KeyDigests.to_list` has them, once they were asked for one by one."""

    @classmethod
    def of(cls, digests: KeyDigests) -> _FileKeys:
        order = np.argsort(digests.first, kind="stable")
        second = None if digests.second is None else digests.second[order]
        return cls(digests.first[order], second, digests.rows[order].astype(np.uint32))

    @property
    def bytes(self) -> int:
        return self.first.nbytes + self.rows.nbytes + (0 if self.second is None else self.second.nbytes)

    def list_plain(self) -> set[object]:
        """Returns the digests one by one."""
        if not self.plain:
            self.plain.update(KeyDigests(self.first, self.second, self.rows).to_list())  # type: ignore[arg-type]
        return self.plain

    def find(self, wanted: KeyDigests, file: DataFile) -> npt.NDArray[np.bool_]:
        """Returns which of some keys a live row of the file has."""
        low, high = np.searchsorted(self.first, wanted.first), np.searchsorted(self.first, wanted.first, "right")
        found: npt.NDArray[np.bool_] = high > low
        if self.second is None and file.deleted is None:
            return found
        deleted = None if file.deleted is None else file.deleted.rows
        for place in np.flatnonzero(found).tolist():
            near = slice(low[place], high[place])
            same = np.ones(high[place] - low[place], np.bool_)
            if self.second is not None:
                assert wanted.second is not None
                same = self.second[near] == wanted.second[place]
            if deleted is not None:
                same &= ~np.isin(self.rows[near], deleted)
            found[place] = same.any()
        return found


class KeyIndex:
    """Digests by file and columns; thread-safe."""

    def __init__(self, limit: int = LIMIT) -> None:
        """`limit` is in bytes."""
        self._limit = limit
        self._files: LruCache[tuple[str, _FIELDS], _FileKeys] = LruCache(
            1 << 16, weigh=lambda keys: keys.bytes, limit=limit
        )
        self._asked: LruCache[tuple[str, _FIELDS], int] = LruCache(1 << 14)

    def find(self, file: DataFile, columns: Sequence[Column], wanted: KeyDigests) -> npt.NDArray[np.bool_] | None:
        """Returns which of some keys are those of live rows of a file; None if its digests are not made (yet)."""
        keys = self._get(file, columns)
        return None if keys is None else keys.find(wanted, file)

    def lacks(self, file: DataFile, columns: Sequence[Column], digests: Collection[object]) -> bool:
        """Returns whether no live row of a file has one of some keys; False if that cannot be told (yet)."""
        keys = self._get(file, columns)
        if keys is None:
            return False
        if len(keys.first) > PLAIN_KEYS:
            return not keys.find(from_plain(list(digests)), file).any()
        found = keys.list_plain()
        if file.deleted is None or found.isdisjoint(digests):
            return found.isdisjoint(digests)
        return not keys.find(from_plain(list(digests)), file).any()

    def find_plain(self, file: DataFile, columns: Sequence[Column], digests: Collection[object]) -> set[object] | None:
        """Returns those of some keys that live rows of a file have; None if that cannot be told (yet)."""
        keys = self._get(file, columns)
        if keys is None:
            return None
        if len(keys.first) <= PLAIN_KEYS and file.deleted is None:
            known = keys.list_plain()
            return known.intersection(digests)
        listed = list(digests)
        found = keys.find(from_plain(listed), file)
        return {each for each, here in zip(listed, found.tolist(), strict=True) if here}

    def put(self, file: DataFile, columns: Sequence[Column], digests: KeyDigests) -> None:
        """Notes the digests of a file's keys."""
        self._files.put((file.path, _name_columns(columns)), _FileKeys.of(digests))

    def _get(self, file: DataFile, columns: Sequence[Column]) -> _FileKeys | None:
        """Returns the keys of a file; None if its digests are not made (yet)."""
        name = file.path, _name_columns(columns)
        keys = self._files.get(name)
        if keys is None:
            asked = (self._asked.get(name) or 0) + 1
            if asked * ROWS_PER_LOOKUP < file.stored_rows or file.stored_rows * 20 > self._limit // 2:
                self._asked.put(name, asked)
                return None
            made = _read_keys(file, columns)
            if made is None:
                return None
            keys = _FileKeys.of(made)
            self._files.put(name, keys)
        return keys


def _name_columns(columns: Sequence[Column]) -> _FIELDS:
    return tuple([(column.field_id, column.type.name) for column in columns])


def _read_keys(file: DataFile, columns: Sequence[Column]) -> KeyDigests | None:
    """Reads the keys of a file; None if it lacks a column, or has another form of it."""
    import pyarrow.parquet as pq

    if any(family(column.type) is None for column in columns):
        return None
    verify_files([file.path])
    try:
        with pq.ParquetFile(file.path) as source:
            names = names_by_id(source.schema_arrow)
            wanted = [names.get(column.field_id) for column in columns]
            if None in wanted:
                return None
            found = source.read(columns=list(dict.fromkeys(wanted)))
            arrays = [_as_stored(found[name].combine_chunks(), column) for name, column in zip(wanted, columns)]
    except (OSError, pa.ArrowException):
        return None  # the query that is asked instead says what is wrong
    return make_digests([column.type for column in columns], arrays)


def _as_stored(values: pa.Array | pa.ChunkedArray, column: Column) -> pa.Array:
    stored = stored_type(column.type, column.field_id)
    array = pa.concat_arrays(values.chunks) if isinstance(values, pa.ChunkedArray) else values
    if array.type == stored:
        return array
    if isinstance(stored, pa.BaseExtensionType):
        return array if isinstance(array, pa.ExtensionArray) else pa.ExtensionArray.from_storage(stored, array)
    return array.cast(stored)
