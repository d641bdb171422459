"""Result columns of kernels: numbers on the host or a GPU, and texts as dictionary codes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from gpudb.engine.gpu.backend.dictionary import Dictionary
from gpudb.engine.gpu.backend.exact_calls import to_series
from gpudb.exact.words import from_integers, from_parts


@dataclass(frozen=True, slots=True)
class ResultColumn:
    """A result column. `parts` is one array of integers or floats, or the limbs of wide integers.

    Limbs have 32 bits each, the lowest first; the last has all remaining bits. Rows that are not `valid` are NULL
    (None: all valid). With a `dictionary` the integers are its codes.
    """

    name: str
    kind: pl.DataType
    parts: tuple[Any, ...]
    valid: Any | None = None
    dictionary: Dictionary | None = None

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.parts[0])


def array_module(array: Any) -> Any:
    """Returns NumPy, or CuPy for an array on a GPU."""
    if isinstance(array, np.ndarray):
        return np
    import cupy

    return cupy


def are_on_host(columns: Sequence[ResultColumn]) -> bool:
    """Whether all columns are on the host."""
    return all(isinstance(part, np.ndarray) for column in columns for part in column.parts)


def to_frame(columns: Sequence[ResultColumn]) -> pl.DataFrame:
    """Builds a frame from columns that are on the host."""
    return pl.DataFrame([_to_series(column) for column in columns])


def keeps_codes(columns: Sequence[ResultColumn]) -> bool:
    """Whether columns are rows, not states of groups, and some are texts, which may stay codes."""
    return any(each.dictionary is not None for each in columns) and all(each.name.startswith("c") for each in columns)


def dictionaries_of(columns: Sequence[ResultColumn]) -> dict[str, Dictionary]:
    """Returns the dictionaries of columns by name."""
    return {each.name: each.dictionary for each in columns if each.dictionary is not None}


def to_coded_frame(columns: Sequence[ResultColumn]) -> pl.DataFrame:
    """Builds a frame from columns that are on the host, with int32 codes in place of texts."""
    return pl.DataFrame(
        [_to_series(replace(each, dictionary=None, kind=pl.Int32()) if each.dictionary else each) for each in columns]
    )


def _to_series(column: ResultColumn) -> pl.Series:
    if column.dictionary is not None:
        return column.dictionary.decode(column.parts[0], column.valid).alias(column.name)
    if len(column.parts) > 1:
        made = to_series(from_parts(column.parts))
    elif column.parts[0].dtype == object:
        made = to_series(from_integers(column.parts[0].tolist()))
    else:
        made = pl.Series(column.parts[0])
    # The value at a NULL may be out of range for the column's type.
    return _cast_series(made if column.valid is None else made.set(pl.Series(~column.valid), None), column.kind).alias(
        column.name
    )


def _cast_series(series: pl.Series, held: pl.DataType) -> pl.Series:
    """Casts integers or floats to the column's type."""
    if held == pl.Date:
        return series.cast(pl.Int32).cast(held)
    return series.cast(held)
