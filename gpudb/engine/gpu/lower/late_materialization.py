"""Strings fetched late: the places of rows in their stead, and the strings of the rows at some places."""

from __future__ import annotations

import polars as pl

from gpudb.engine.gpu.backend.base import Frames
from gpudb.engine.gpu.lower.lowered_frame import Frame
from gpudb.plan.tree.stage_nodes import Defer, Fetch

_PLACE = "i"


def numbered(frame: Frame) -> Frame:
    """A scan's rows, all of them, with their places."""
    return Frame(frame.lazy.with_row_index(_PLACE), frame.bounds)


def deferred(frame: Frame, node: Defer) -> Frame:
    """Rows that have been numbered, without their strings."""
    first, *others = (f"c{place}" for place in node.strings)
    stand_ins = [pl.lit(None, pl.Boolean).alias(name) for name in others]
    made = frame.lazy.with_columns(pl.col(_PLACE).cast(pl.Int64).alias(first), *stand_ins).drop(_PLACE)
    return Frame(made, tuple(None if n in node.strings else each for n, each in enumerate(frame.bounds)))


def fetched(frame: Frame, node: Fetch, scanned: pl.LazyFrame, frames: Frames) -> Frame:
    """Rows with the strings of all that were `scanned`; NULL where a join has filled up the place with NULL."""
    held = frames.held(frame.lazy)
    places = frames.fetched(held.lazy.select(f"c{node.at}"), "late strings")[f"c{node.at}"]
    strings = [pl.col(f"c{index}").gather(places).alias(f"c{place}") for place, index in node.columns]
    return Frame(held.beside(frames.held(scanned.select(strings))).lazy, frame.bounds)
