"""Lazy frames computed by cudf-polars and by Polars on copies of the same frames, with their rows compared."""

from __future__ import annotations

import math
from typing import Any

import polars as pl

from gpudb.engine.gpu.backend.host import collect


def compare(frames: Any, differing: dict[str, str]) -> None:
    """Compares every lazy frame that `frames` computes; adds differing plans and the difference to `differing`."""
    plain = frames.compute

    def compute(lazy: pl.LazyFrame) -> Any:
        made = plain(lazy)
        try:
            wanted = _rows(collect(lazy))
            given = _rows(made.to_polars())
        except Exception as error:
            differing[lazy.explain()] = f"not compared: {type(error).__name__}: {error}"
            return made
        if len(wanted) != len(given):
            differing[lazy.explain()] = f"{len(given)} rows where {len(wanted)}: {given[:2]} where {wanted[:2]}"
        else:
            for one, other in zip(given, wanted):
                if not all(map(_same, one, other)):
                    differing[lazy.explain()] = f"{one} where {other}"
                    break
        return made

    frames.compute = compute


def _rows(frame: pl.DataFrame) -> list[tuple[Any, ...]]:
    # Physical values, because Python's dates end with the year 9999.
    return sorted(frame.select(pl.all().to_physical()).rows(), key=lambda row: [_key(value) for value in row])


def _key(value: Any) -> tuple[int, str]:
    return (0, "") if value is None else (1, f"{value:.6g}" if isinstance(value, float) else str(value))


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-12) or (math.isnan(one) and math.isnan(other))
    return bool(one == other)
