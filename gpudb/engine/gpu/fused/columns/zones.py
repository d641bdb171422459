"""Zone maps of a packed column: the least and greatest value per zone of rows, by which scans skip rows.

Source of the idea: small materialized aggregates (Moerkotte, VLDB 1998).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

ZONE_ROWS = 1 << 20
"""Maximum rows of a zone."""
_MIN, _MAX = -(2**63), 2**63 - 1
EMPTY = _MAX, _MIN
"""The least and the greatest value of a zone without values."""
_Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True, eq=False)
class Zones:
    """Per zone: the row after its last, its least and its greatest value. A zone without values has low above high."""

    ends: _Array
    lows: _Array
    highs: _Array

    @property
    def bounds(self) -> tuple[int, int] | None:
        """The least and the greatest value of the column; None where no value is valid."""
        has_values = self.lows <= self.highs
        return (int(self.lows[has_values].min()), int(self.highs[has_values].max())) if has_values.any() else None


def compute_zones(values: Any, valid: Any, xp: Any) -> Zones:
    """Computes the zones of int64 values in NumPy or CuPy arrays; `valid` is their validity mask (None: all valid)."""
    least = values if valid is None else xp.where(valid, values, _MAX)
    most = values if valid is None else xp.where(valid, values, _MIN)
    return Zones(zone_ends(len(values)), _reduce_zones(least, "min"), _reduce_zones(most, "max"))


def zone_ends(rows: int) -> _Array:
    """Returns the row after the last of each zone, for a number of rows."""
    return np.append(np.arange(ZONE_ROWS, rows, ZONE_ROWS), rows)[: -(-rows // ZONE_ROWS)].astype(np.int64)


def _reduce_zones(values: Any, what: str) -> _Array:
    """Computes the minimum or maximum per zone; one pass over the full zones, so at most two transfers from a GPU."""
    full = len(values) // ZONE_ROWS
    parts = [values[: full * ZONE_ROWS].reshape(full, ZONE_ROWS)] if full else []
    parts += [values[full * ZONE_ROWS :].reshape(1, -1)] if len(values) % ZONE_ROWS else []
    found = [getattr(part, what)(axis=1) for part in parts]
    # CuPy arrays copy to the host with `get`.
    on_host = [each.get() if hasattr(each, "get") else each for each in found]
    return np.concatenate(on_host) if on_host else np.zeros(0, np.int64)


def concatenate_zones(parts: Sequence[tuple[int, Zones | None]]) -> Zones | None:
    """Concatenates the zones of parts, each with its number of rows; None where a part has none."""
    found = [zones for _, zones in parts if zones is not None]
    if len(found) < len(parts):
        return None
    starts = np.cumsum([0, *(rows for rows, _ in parts)])
    ends = np.concatenate([zones.ends + start for zones, start in zip(found, starts, strict=False)])
    return Zones(ends, np.concatenate([each.lows for each in found]), np.concatenate([each.highs for each in found]))
