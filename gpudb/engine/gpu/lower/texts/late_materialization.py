"""Late materialization of strings: row positions replace them until the strings of few rows are gathered."""

from __future__ import annotations

import polars as pl

from gpudb.engine.gpu.backend.base import Backend
from gpudb.engine.gpu.lower.expressions.lowered_frame import Frame
from gpudb.plan.tree.stage_nodes import Defer, Fetch

_POSITION = "i"


def add_positions(frame: Frame) -> Frame:
    """Adds the row positions to all rows of a scan."""
    return Frame(frame.lazy.with_row_index(_POSITION), frame.bounds)


def defer_strings(frame: Frame, node: Defer) -> Frame:
    """Replaces the strings of numbered rows by their positions."""
    first, *others = (f"c{place}" for place in node.strings)
    stand_ins = [pl.lit(None, pl.Boolean).alias(name) for name in others]
    result = frame.lazy.with_columns(pl.col(_POSITION).cast(pl.Int64).alias(first), *stand_ins).drop(_POSITION)
    return Frame(result, tuple(None if n in node.strings else each for n, each in enumerate(frame.bounds)))


def gather_strings(frame: Frame, node: Fetch, scanned: pl.LazyFrame, frames: Backend) -> Frame:
    """Gathers strings from all `scanned` rows; NULL if a join filled the position with NULL."""
    computed = frames.compute(frame.lazy)
    places = frames.compute_on_host(computed.lazy.select(f"c{node.at}"), "late strings")[f"c{node.at}"]
    strings = [pl.col(f"c{index}").gather(places).alias(f"c{place}") for place, index in node.columns]
    return Frame(computed.add_columns(frames.compute(scanned.select(strings))).lazy, frame.bounds)
