"""What a kernel has left on a worker's host, as the worker sends it: columns as they are, and of texts those alone that
the columns have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from gpudb.engine.gpu.fused.results import Lane
from gpudb.engine.gpu.fused.values import Dictionary

Sent = list[tuple[str, pl.DataType, tuple[Any, ...], Any, list[str] | None]]
"""Of each column its name, kind, parts, which values are there, and its texts (see `Lane`)."""


def sent(lanes: Sequence[Lane]) -> Sent:
    """Columns on the host, to be pickled."""
    return [(each.name, each.kind, *_compact(each)) for each in lanes]


def _compact(lane: Lane) -> tuple[tuple[Any, ...], Any, list[str] | None]:
    if lane.dictionary is None:
        return lane.parts, lane.valid, None
    (codes,) = lane.parts
    if not len(lane.dictionary.values):
        return (np.zeros(len(codes), np.int64),), np.zeros(len(codes), bool), []
    used, places = np.unique(codes if lane.valid is None else np.where(lane.valid, codes, 0), return_inverse=True)
    return (places,), lane.valid, lane.dictionary.values[used].to_list()


def taken(data: Sent) -> list[Lane]:
    """The columns again."""
    return [
        Lane(name, kind, parts, valid, None if texts is None else Dictionary(pl.Series(texts, dtype=pl.String)))
        for name, kind, parts, valid, texts in data
    ]
