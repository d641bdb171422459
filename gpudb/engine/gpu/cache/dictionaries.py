"""Dictionaries of table columns, which grow as columns are packed: codes are stable, new texts get new ones.

A dictionary lives as long as columns that it encodes, and prepared parts that are bound to it. When most of its texts
are no longer in the table, it is replaced, and the table's columns are packed by another.
"""

from __future__ import annotations

from typing import Any
from weakref import WeakValueDictionary

import numpy as np
import polars as pl

from gpudb.catalog.tables import Column, Table
from gpudb.engine.gpu.backend.dictionary import Dictionary
from gpudb.engine.gpu.cache.hash_index import HashIndex

SPARE_TEXTS = 1 << 16
"""A dictionary may have this many texts more than twice the table's rows."""


class GrowingDictionary:
    """The growing dictionary of a column, over all files that were packed by it.

    Texts are found by their hashes, which takes a fraction of a join by texts, and are compared with what was found.
    """

    def __init__(self) -> None:
        self.dictionary = Dictionary(pl.Series([], dtype=pl.String))
        self.is_replaced = False
        """Whether another dictionary has replaced it."""
        self._index = HashIndex()
        self._collides = False

    def find(self, keys: pl.Series) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Returns the codes of texts, -1 for those that the dictionary lacks; any thread may call it at any time."""
        # The index is read first: it never has a text that the dictionary read later lacks.
        index, values = self._index, self.dictionary.values
        if not self._collides:
            found = index.find(keys.hash().to_numpy())
            known = found >= 0
            if (values[found[known]] == keys.filter(pl.Series(known))).all():
                return found
            self._collides = True
        codes = pl.DataFrame({"v": values, "p": np.arange(len(values))})
        joined = keys.alias("v").to_frame().join(codes, on="v", how="left", maintain_order="left")["p"]
        places: np.ndarray[Any, np.dtype[np.int64]] = joined.fill_null(-1).to_numpy()
        return places

    def encode(
        self, keys: pl.Series, found: np.ndarray[Any, np.dtype[np.int64]] | None = None
    ) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Returns the codes of distinct texts; the caller serializes calls.

        `found` is what `find` has returned for them before.
        """
        keys = keys.alias("").rechunk()
        codes = np.array(self.find(keys) if found is None else found)
        missing = np.flatnonzero(codes < 0)
        if found is not None and len(missing):
            codes[missing] = self.find(keys[missing])
            missing = missing[codes[missing] < 0]
        if not len(missing):
            return codes
        count = len(self.dictionary.values)
        texts = keys[missing]
        codes[missing] = np.arange(count, count + len(missing))
        self.dictionary = Dictionary(pl.concat([self.dictionary.values, texts]).rechunk())
        self._index = self._index.extend(texts.hash().to_numpy())
        return codes


class Dictionaries:
    """The current dictionary of each text column; the caller serializes access."""

    def __init__(self) -> None:
        self._known: WeakValueDictionary[tuple[int, int], GrowingDictionary] = WeakValueDictionary()

    def drop_table(self, table: int) -> None:
        """Drops the dictionaries of a table."""
        for key, found in list(self._known.items()):
            if key[0] == table:
                found.is_replaced = True
                del self._known[key]

    def current(self, table: Table, column: Column) -> tuple[GrowingDictionary, GrowingDictionary | None]:
        """Returns a column's dictionary, and the one that it replaces where that has become too large."""
        key = table.oid, column.field_id
        found = self._known.get(key)
        if found is not None and len(found.dictionary.values) <= 2 * table.rows + SPARE_TEXTS:
            return found, None
        if found is not None:
            found.is_replaced = True
        made = self._known[key] = GrowingDictionary()
        return made, found
