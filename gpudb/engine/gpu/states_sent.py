"""What a kernel has left on a worker's host, as the worker sends it: columns as they are, and of texts those alone that
the columns have."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from gpudb.engine.gpu.fused.results import Lane
from gpudb.engine.gpu.fused.values import Dictionary
from gpudb.engine.gpu.texts_kept import TextsKept

Sent = list[tuple[str, pl.DataType, tuple[Any, ...], Any, bytes | None]]
"""Of each column its name, kind, parts, which values are there, and its texts, a pickled list (see `Lane`)."""


def sent(lanes: Sequence[Lane]) -> Sent:
    """Columns on the host, to be pickled."""
    return [(each.name, each.kind, *_compact(each)) for each in lanes]


def _compact(lane: Lane) -> tuple[tuple[Any, ...], Any, bytes | None]:
    if lane.dictionary is None:
        return lane.parts, lane.valid, None
    (codes,) = lane.parts
    if not len(lane.dictionary.values):
        return (np.zeros(len(codes), np.int64),), np.zeros(len(codes), bool), pickle.dumps([])
    used, places = np.unique(codes if lane.valid is None else np.where(lane.valid, codes, 0), return_inverse=True)
    return (places,), lane.valid, pickle.dumps(lane.dictionary.values[used].to_list())


def taken(data: Sent) -> list[Lane]:
    """The columns again."""
    return [
        Lane(name, kind, parts, valid, None if texts is None else _dictionary(texts))
        for name, kind, parts, valid, texts in data
    ]


def _dictionary(texts: bytes) -> Dictionary:
    """The same one for the same texts that come again, with what it knows of their order and for Arrow."""
    return _KEPT.of(texts, len(texts)) or Dictionary(_listed(texts))


def _listed(texts: bytes) -> pl.Series:
    return pl.Series(pickle.loads(texts), dtype=pl.String)


_KEPT: TextsKept[bytes, Dictionary] = TextsKept(lambda texts: Dictionary(_listed(texts), kept=True))
