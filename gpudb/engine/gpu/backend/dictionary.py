"""Dictionaries: the distinct texts that integer codes stand for, and what is computed once for each of them."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from gpudb.lru import IdentityKey, LruCache

_CACHED_TEXTS, _CACHED_BYTES = 1 << 16, 1 << 24
"""Dictionaries of at most this many texts and bytes cache the ranks of all texts, and their Arrow array."""
_SENT_SIZE = 1 << 14
"""Dictionaries of at most this many texts, and bytes, are sent whole to another process."""
_COMPUTATIONS = 16
"""Maximum computations over all texts whose results a dictionary keeps."""


@dataclass(frozen=True, eq=False)
class Dictionary:
    """The distinct texts of codes from 0 on. `is_shared` says that the same texts yield the same object again."""

    values: pl.Series
    is_shared: bool = False

    def decode(self, codes: np.ndarray[Any, Any], valid: np.ndarray[Any, Any] | None = None) -> pl.Series:
        """Decodes codes; NULL where they are not `valid`."""
        if valid is not None and not valid.any():
            return pl.Series([None] * len(codes), dtype=pl.String)
        # Series methods: dispatching an expression takes longer than all of them.
        found = self.values[codes if valid is None else np.where(valid, codes, 0)]
        return found if valid is None else found.zip_with(pl.Series(valid), pl.Series([None], dtype=pl.String))

    def rank(self, codes: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Returns integers that sort as the codes' texts do; an empty dictionary returns the codes."""
        if not len(self.values):
            return codes
        if self._is_small:
            return self._ranks.take(codes)
        used, positions = np.unique(codes, return_inverse=True)
        return _rank_texts(self.values[used]).take(positions)

    def decode_to_arrow(self, codes: np.ndarray[Any, Any], valid: np.ndarray[Any, Any] | None = None) -> pa.StringArray:
        """Decodes codes to an Arrow array; NULL where they are not `valid`."""
        positions = pa.array(codes, mask=None if valid is None else ~valid)
        if self._is_small:
            return self._arrow.take(positions)
        return self.decode(codes, valid).to_arrow().cast(pa.string())

    @cached_property
    def pickled(self) -> bytes | None:
        """All texts as a pickled list; None where they are too many bytes."""
        small = len(self.values) <= _SENT_SIZE and self.values.estimated_size() <= _SENT_SIZE
        return pickle.dumps(self.values.to_list()) if small else None

    @cached_property
    def padded(self) -> pl.Series:
        """All texts and a NULL after them, for `take`."""
        return self.values.extend_constant(None, 1)

    @cached_property
    def padded_ranks(self) -> pl.Series:
        """Integers that sort as all texts do and a NULL after them, for `take`."""
        return pl.Series(_rank_texts(self.values), dtype=pl.Int32).extend_constant(None, 1)

    def translate(self, other: Dictionary) -> pl.Series:
        """Returns the other dictionary's codes of all texts and a NULL after them; -1 for texts that it lacks."""
        key = IdentityKey(other)
        found = self.memo.get(key)
        if found is None:
            codes = pl.DataFrame({"v": other.values, "p": np.arange(len(other.values), dtype=np.int32)})
            texts = self.values.alias("v").to_frame()
            places = texts.join(codes, on="v", how="left", maintain_order="left")["p"]
            found = places.fill_null(-1).extend_constant(None, 1)
            self.memo.put(key, found)
        return found

    @cached_property
    def memo(self) -> LruCache[Any, Any]:
        """What has been computed of all texts, by a key of the computation."""
        return LruCache(_COMPUTATIONS)

    @cached_property
    def _is_small(self) -> bool:
        return len(self.values) <= _CACHED_TEXTS and self.values.estimated_size() <= _CACHED_BYTES

    @cached_property
    def _ranks(self) -> np.ndarray[Any, Any]:
        return _rank_texts(self.values)

    @cached_property
    def _arrow(self) -> pa.StringArray:
        return self.values.to_arrow().cast(pa.string())


def _rank_texts(texts: pl.Series) -> np.ndarray[Any, Any]:
    """Returns the rank of each of distinct texts."""
    ranks = np.empty(len(texts), np.int64)
    ranks[texts.arg_sort().to_numpy()] = np.arange(len(texts))
    return ranks


def take(values: pl.Series, code: pl.Expr) -> pl.Expr:
    """Returns the values at int32 codes; the last of `values` is that of a NULL code."""
    return pl.lit(values).gather(code.fill_null(pl.lit(len(values) - 1, pl.Int32)))
