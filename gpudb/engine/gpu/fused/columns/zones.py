"""Zones of a packed column: the least and greatest value of so many rows, by which a statement's rows are skipped.

Source of the idea: small materialized aggregates (Moerkotte, VLDB 1998).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

ROWS = 1 << 20
"""Rows of a zone at most."""
_MIN, _MAX = -(2**63), 2**63 - 1
EMPTY = _MAX, _MIN
"""The least and the greatest value of a zone that has none."""
_Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True, eq=False)
class Zones:
    """The row after the last of each zone, and its values' bounds: where it has no value, the least is above all."""

    ends: _Array
    lows: _Array
    highs: _Array

    @property
    def bounds(self) -> tuple[int, int] | None:
        """The least and the greatest of all values; None where there is none."""
        there = self.lows <= self.highs
        return (int(self.lows[there].min()), int(self.highs[there].max())) if there.any() else None


def zones_of(values: Any, valid: Any, xp: Any) -> Zones:
    """The zones of int64 values in NumPy's or CuPy's arrays; `valid` says which of them are there (None: all)."""
    least = values if valid is None else xp.where(valid, values, _MAX)
    most = values if valid is None else xp.where(valid, values, _MIN)
    return Zones(ends_of(len(values)), _of_each(least, "min"), _of_each(most, "max"))


def ends_of(rows: int) -> _Array:
    """The row after the last of each zone of so many rows."""
    return np.append(np.arange(ROWS, rows, ROWS), rows)[: -(-rows // ROWS)].astype(np.int64)


def _of_each(values: Any, what: str) -> _Array:
    """The least or the greatest value of each zone, by one pass over the full ones: a GPU is asked twice at most."""
    full = len(values) // ROWS
    parts = [values[: full * ROWS].reshape(full, ROWS)] if full else []
    parts += [values[full * ROWS :].reshape(1, -1)] if len(values) % ROWS else []
    found = [getattr(part, what)(axis=1) for part in parts]
    # CuPy's arrays come to the host by `get`.
    there = [each.get() if hasattr(each, "get") else each for each in found]
    return np.concatenate(there) if there else np.zeros(0, np.int64)


def together(parts: Sequence[tuple[int, Zones | None]]) -> Zones | None:
    """The zones of parts of so many rows each, one after the other; None where a part has none."""
    found = [zones for _, zones in parts if zones is not None]
    if len(found) < len(parts):
        return None
    starts = np.cumsum([0, *(rows for rows, _ in parts)])
    ends = np.concatenate([zones.ends + start for zones, start in zip(found, starts, strict=False)])
    return Zones(ends, np.concatenate([each.lows for each in found]), np.concatenate([each.highs for each in found]))
