"""A worker's dictionaries of text columns that its frames read as codes, on the host."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import polars as pl

from gpudb.catalog.tables import Column, Table
from gpudb.engine.gpu.backend.dictionary import Dictionary
from gpudb.engine.gpu.cache.column_cache import ColumnCache
from gpudb.engine.gpu.cache.dictionaries import Dictionaries, GrowingDictionary
from gpudb.engine.gpu.lower.expressions.text_codes import MAX_TEXTS

SAMPLE_ROWS, MOSTLY = 1 << 16, 0.5
"""Rows of a sample, and the share of distinct texts in it above which a large column is not coded."""


class TextCodes:
    """The growing dictionaries of a cache's columns; columns of codes end their keys with their dictionary."""

    def __init__(self, columns: ColumnCache[Any, pl.DataFrame]) -> None:
        self._columns = columns
        self._dictionaries = Dictionaries()
        self._distinct: set[tuple[int, int]] = set()
        self._lock = threading.Lock()

    def dictionary(self, table: Table, column: Column) -> GrowingDictionary | None:
        """Returns the dictionary of a column; None for one of mostly distinct texts."""
        if (table.oid, column.field_id) in self._distinct:
            return None
        with self._lock:
            made, before = self._dictionaries.current(table, column)
        if before is not None:
            self._columns.discard_where(lambda key: key[-1] is before)
        return made

    def is_worth(self, table: Table, column: Column, texts: pl.Series) -> bool:
        """Whether a column is worth coding; decided once, by the first texts that are read of a large column."""
        sample = texts.head(SAMPLE_ROWS)
        if table.rows > MAX_TEXTS and sample.n_unique() > MOSTLY * len(sample):
            self._distinct.add((table.oid, column.field_id))
            return False
        return True

    def encode(self, growing: GrowingDictionary, texts: pl.Series) -> pl.Series:
        """Returns texts as int32 codes of a dictionary, NULL for NULL."""
        known = texts.drop_nulls().rechunk()
        codes = growing.find(known)
        missing = np.flatnonzero(codes < 0)
        if len(missing):
            new = known[missing]
            with self._lock:
                growing.encode(new.unique(maintain_order=True))
            codes[missing] = growing.find(new)
        if len(known) == len(texts):
            return pl.Series("", codes, pl.Int32)
        valid = texts.is_not_null()
        every = np.zeros(len(texts), np.int32)
        every[valid.to_numpy()] = codes
        return pl.Series("", every).set(~valid, None)

    def values(self, growing: GrowingDictionary) -> Dictionary:
        """Returns the texts of all codes so far."""
        with self._lock:
            return growing.dictionary
