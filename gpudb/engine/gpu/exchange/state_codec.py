"""Encodes a kernel's result on a worker's host: integers as one matrix, and short dictionaries whole.

Workers with equal texts send equal bytes, so that the receiver has one dictionary and concatenates codes unchanged. Of
a long dictionary only the texts in use are sent.
"""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from gpudb.engine.gpu.backend.dictionary import Dictionary
from gpudb.engine.gpu.cache.strings import StringCache
from gpudb.engine.gpu.fused.translate.result_columns import ResultColumn

Array = np.ndarray[Any, Any]
_KINDS: tuple[pl.DataType, ...] = (
    pl.Int128(), pl.Int64(), pl.Int32(), pl.Int16(), pl.Int8(), pl.Float64(), pl.Boolean(), pl.String(), pl.Date(),
)  # fmt: skip
_NUMBERS = {kind: number for number, kind in enumerate(_KINDS)}
_Column = tuple[str, int | pl.DataType, tuple[Any, ...] | None, Any, bytes | None]
EncodedStates = tuple[Array, list[_Column]]
"""A matrix of the integer columns without NULLs, and for each column its name, kind (or its index in `_KINDS`), parts
(None: the next row of the matrix), validity, and its texts as a pickled list (see `ResultColumn`).
"""


class DecodedStates(NamedTuple):
    """Decoded columns, and which of them are rows of the `matrix`, whose values are 64 bits wide."""

    lanes: list[ResultColumn]
    matrix: Array
    places: dict[str, int]


def encode_states(lanes: Sequence[ResultColumn]) -> EncodedStates:
    """Encodes columns on the host for pickling."""
    rows: list[Array] = []
    columns: list[_Column] = []
    for each in lanes:
        parts, valid, texts = _compact_column(each)
        kind = _NUMBERS.get(each.kind, each.kind)
        if valid is None and len(parts) == 1 and parts[0].dtype.kind == "i" and each.kind != pl.Boolean:
            rows.append(parts[0])
            columns.append((each.name, kind, None, valid, texts))
        else:
            columns.append((each.name, kind, parts, valid, texts))
    return np.array(rows, np.int64) if rows else np.empty((0, 0), np.int64), columns


def _compact_column(lane: ResultColumn) -> tuple[tuple[Any, ...], Any, bytes | None]:
    if lane.dictionary is None:
        return lane.parts, lane.valid, None
    (codes,) = lane.parts
    if not len(lane.dictionary.values):
        return (np.zeros(len(codes), np.int64),), np.zeros(len(codes), bool), pickle.dumps([])
    if lane.valid is not None:
        codes = np.where(lane.valid, codes, 0)
    if lane.dictionary.pickled is not None:
        return (codes,), lane.valid, lane.dictionary.pickled
    used, places = np.unique(codes, return_inverse=True)
    return (places,), lane.valid, pickle.dumps(lane.dictionary.values[used].to_list())


def decode_states(data: EncodedStates) -> DecodedStates:
    """Decodes the columns."""
    matrix, columns = data
    lanes: list[ResultColumn] = []
    places: dict[str, int] = {}
    for name, kind, parts, valid, texts in columns:
        if parts is None:
            places[name] = len(places)
            parts = (matrix[places[name]],)
        held = _KINDS[kind] if isinstance(kind, int) else kind
        lanes.append(ResultColumn(name, held, parts, valid, None if texts is None else _cached_dictionary(texts)))
    return DecodedStates(lanes, matrix, places)


def _cached_dictionary(texts: bytes) -> Dictionary:
    """Returns the cached dictionary of texts, with its derived sort order and Arrow form."""
    return _DICTIONARIES.get(texts, len(texts)) or Dictionary(_unpickle_texts(texts))


def _unpickle_texts(texts: bytes) -> pl.Series:
    return pl.Series(pickle.loads(texts), dtype=pl.String)


_DICTIONARIES: StringCache[bytes, Dictionary] = StringCache(
    lambda texts: Dictionary(_unpickle_texts(texts), is_shared=True)
)
