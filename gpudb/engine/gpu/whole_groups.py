"""States of groups on the host, as finishing reads them: one worker's as they are, several workers' put together first.

By NumPy and a dictionary of the keys: frames would take longer, since all their threads are woken for a few rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import polars as pl
import pyarrow.compute as pc

FEW = 4096
"""So many rows of several workers at most; of more a frame's groups take less."""
Array = np.ndarray[Any, Any]
How = Literal["sum", "min", "max", "any"]
_BEYOND = 1 << 61


class Apart(Exception):
    """States that are put together by frames alone."""


class WholeGroups:
    """The states of groups, whose keys are the columns k0, k1, … of each frame, and no group twice in one of them.

    Raises Apart for what several frames have that only frames put together.
    """

    def __init__(self, frames: Sequence[pl.DataFrame], keys: int) -> None:
        first, *more = [each for each in frames if each.height] or frames[:1]
        for each in more:
            first = first.vstack(each)
        self._frame = first
        self._order: Array | None = None
        if not more:
            self.height: int = first.height
            return
        if first.height > FEW:
            raise Apart
        # Python has no moments before Christ, and no infinite ones.
        columns = [first[f"k{number}"].to_physical() for number in range(keys)]
        if any(each.dtype.is_float() for each in columns):
            raise Apart
        known: dict[tuple[Any, ...], int] = {}
        rows = zip(*(each.to_list() for each in columns), strict=True) if keys else [()] * first.height
        groups = np.array([known.setdefault(row, len(known)) for row in rows])
        self.height = len(known)
        self._order = np.argsort(groups, kind="stable")
        self._starts = np.searchsorted(groups[self._order], np.arange(self.height))

    def key(self, name: str) -> pl.Series:
        """A column that is the same in all states of a group."""
        series = self._frame[name]
        return series if self._order is None else series.gather(self._order[self._starts])

    @property
    def several(self) -> bool:
        """Whether states of a group are put together here."""
        return self._order is not None

    def values(self, name: str, how: How) -> tuple[Array, Array | None]:
        """A column of numbers or moments, and which are there (see `values_of`)."""
        series = self._frame[name]
        if self._order is None:
            return values_of(series)
        if how == "any" or (how != "sum" and series.dtype.is_float()):
            raise Apart
        values, valid = values_of(series)
        values = values[self._order]
        if how == "sum":
            beyond = _BEYOND // len(values)
            if values.dtype.kind == "i" and max(-int(values.min()), int(values.max())) > beyond:
                values = values.astype(object)
            return np.add.reduceat(values, self._starts), None
        if values.dtype == object:
            raise Apart
        if valid is None:
            return _PICKS[how].reduceat(values, self._starts), None
        valid = valid[self._order]
        made = _PICKS[how].reduceat(np.where(valid, values, _end(values.dtype, how)), self._starts)
        valid = np.logical_or.reduceat(valid, self._starts)
        return np.where(valid, made, np.zeros(1, made.dtype)), valid


_PICKS = {"min": np.minimum, "max": np.maximum}


def _end(kind: Any, how: How) -> Any:
    """What is picked only where there is nothing else."""
    if kind.kind == "b":
        return how == "min"
    return np.iinfo(kind).max if how == "min" else np.iinfo(kind).min


def values_of(series: pl.Series) -> tuple[Array, Array | None]:
    """A lane of integers, floats, booleans or moments, and which are there (None: all); what is not there is 0.

    Integers are int64, or Python's where they are wider. Methods of Series that are expressions beneath take longer
    than all else here.
    """
    if series.dtype == pl.Int128:
        narrow = series.cast(pl.Int64, strict=False)
        if narrow.null_count() > series.null_count():
            # Arrow has no integers of 128 bits.
            known = series.is_not_null().to_numpy() if series.null_count() else None
            return np.array([value or 0 for value in series.to_list()], object), known
        series = narrow
    elif series.dtype.is_temporal():
        series = series.cast(pl.Int64)
    if not series.null_count():
        return series.to_numpy(), None
    held = series.to_arrow()
    return pc.fill_null(held, held.type.to_pandas_dtype()(0)).to_numpy(zero_copy_only=False), there(series)


def there(series: pl.Series) -> Array | None:
    """Which values are there; None for all."""
    return pc.is_valid(series.to_arrow()).to_numpy(zero_copy_only=False) if series.null_count() else None
