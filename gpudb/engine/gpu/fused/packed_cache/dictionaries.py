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
from gpudb.engine.gpu.fused.translate.typed_values import Dictionary

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
        self._codes = pl.DataFrame(schema={"h": pl.UInt64, "p": pl.Int64})
        self._collides = False

    def encode(self, keys: pl.Series) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Returns the codes of distinct texts."""
        keys = keys.alias("").rechunk()
        found = self._find(keys)
        new = found.is_null()
        count = len(self.dictionary.values)
        added = int(new.sum())
        if not added:
            return found.to_numpy()
        texts, numbers = keys.filter(new), np.arange(count, count + added)
        self.dictionary = Dictionary(pl.concat([self.dictionary.values, texts]).rechunk())
        self._codes = pl.concat([self._codes, pl.DataFrame({"h": texts.hash(), "p": numbers})])
        codes: np.ndarray[Any, np.dtype[np.int64]] = found.fill_null(0).to_numpy().copy()
        codes[new.to_numpy()] = numbers
        return codes

    def _find(self, keys: pl.Series) -> pl.Series:
        """Returns the codes of texts; NULL for those that the dictionary lacks."""
        values = self.dictionary.values
        if not len(values):
            return pl.Series([None] * len(keys), dtype=pl.Int64)
        if not self._collides:
            wanted = pl.DataFrame({"h": keys.hash()})
            found = wanted.join(self._codes, on="h", how="left", maintain_order="left")["p"]
            known = found.is_not_null()
            if len(found) == len(keys) and (values[found.filter(known)] == keys.filter(known)).all():
                return found
            self._collides = True
        codes = pl.DataFrame({"v": values, "p": np.arange(len(values))})
        return keys.alias("v").to_frame().join(codes, on="v", how="left", maintain_order="left")["p"]


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
