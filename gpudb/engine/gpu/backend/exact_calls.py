"""Calls of functions over a frame's columns, exact ones (`gpudb.exact`), distances and scores among them, on the host.

Operands and results are physical columns: unscaled values of 128 bits, and display scales. A result of numerics is the
column `name`, and its display scale `name` + "s".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from gpudb.engine.gpu.backend.distance_calls import DistanceCall, compute_distances
from gpudb.engine.gpu.backend.function_calls import FinishCall, FunctionCall, compute_calls, compute_results
from gpudb.engine.gpu.backend.tree_calls import TreeCall, compute_scores
from gpudb.exact.arrow import to_decimals, to_words
from gpudb.exact.deviations import co_moments, deviations
from gpudb.exact.limbs import Array
from gpudb.exact.numerics import Numerics
from gpudb.exact.quotients import divide
from gpudb.types import MAX_DIGITS


@dataclass(frozen=True, slots=True)
class QuotientCall:
    """Columns `dividend` / `divisor`, NULL if one is NULL or the divisor 0.

    `shown` names the column of the operands' greater display scales.
    """

    name: str
    dividend: str
    dividend_scale: int
    divisor: str
    divisor_scale: int
    shown: str
    carried: int
    """The number of decimals of the quotients."""


@dataclass(frozen=True, slots=True)
class DeviationCall:
    """The variance, or the standard deviation where `root`, of `count` values of `scale` decimals.

    `total` and `squares` are their sum and the sum of their squares, to which `high` × 2⁶⁴ adds where it is there. NULL
    for too few values: none, or one of a sample.
    """

    name: str
    count: str
    total: str
    squares: str
    high: str | None
    scale: int
    sample: bool
    root: bool
    carried: int
    """The number of decimals of the results."""


@dataclass(frozen=True, slots=True)
class CoMomentCall:
    """The float `count` × sum of products - product of sums, NULL for no values; of unscaled values."""

    name: str
    count: str
    x: str
    y: str
    products: str


ExactCall = QuotientCall | DeviationCall | CoMomentCall | DistanceCall | FunctionCall | FinishCall | TreeCall


def compute_exact(frame: pl.DataFrame, call: ExactCall) -> list[pl.Series]:
    """Computes a call over a frame's rows; returns the result's columns. Raises 22003 beyond 38 digits."""
    return _COMPUTE[type(call)](frame, call)


def exact_columns(call: ExactCall) -> tuple[tuple[str, pl.DataType], ...]:
    """Returns the names and types of the columns that `compute_exact` returns for a call."""
    if isinstance(call, FunctionCall | FinishCall):
        return ((call.name, call.dtype),)
    if isinstance(call, CoMomentCall | DistanceCall):
        return ((call.name, pl.Float64()),)
    if isinstance(call, TreeCall):
        return ((call.name, pl.Int32() if call.label else pl.Float64()),)
    return ((call.name, pl.Int128()), (call.name + "s", pl.Int8()))


def _divide(frame: pl.DataFrame, call: QuotientCall) -> list[pl.Series]:
    dividend, divisor = frame[call.dividend], frame[call.divisor]
    valid = (dividend.is_not_null() & divisor.is_not_null() & (divisor != 0).fill_null(False)).to_numpy()
    divisors = np.where(valid[:, None], from_series(divisor), 0)
    shown = frame[call.shown].fill_null(0).to_numpy()
    dividends = from_series(dividend)
    made = divide(dividends, call.dividend_scale, divisors, call.divisor_scale, shown, carried=call.carried)
    return _numerics(call.name, made, valid)


def _deviate(frame: pl.DataFrame, call: DeviationCall) -> list[pl.Series]:
    counts = frame[call.count].to_numpy()
    total, squares = from_series(frame[call.total]), from_series(frame[call.squares])
    high = None if call.high is None else from_series(frame[call.high])
    made = deviations(
        counts, total, squares, high, call.scale, sample=call.sample, root=call.root, carried=call.carried
    )
    return _numerics(call.name, made, counts > int(call.sample))


def _co_moment(frame: pl.DataFrame, call: CoMomentCall) -> list[pl.Series]:
    counts = frame[call.count].to_numpy()
    made = co_moments(counts, from_series(frame[call.x]), from_series(frame[call.y]), from_series(frame[call.products]))
    return [pl.Series(call.name, pa.array(made, mask=counts == 0))]


_COMPUTE: dict[type, Callable[[pl.DataFrame, Any], list[pl.Series]]] = {
    QuotientCall: _divide,
    DeviationCall: _deviate,
    CoMomentCall: _co_moment,
    DistanceCall: compute_distances,
    FunctionCall: compute_calls,
    TreeCall: compute_scores,
    FinishCall: compute_results,
}


def _numerics(name: str, made: Numerics, valid: Array) -> list[pl.Series]:
    made.check(valid)
    known = None if valid.all() else valid
    values = to_series(made.values, known)
    shown = pl.Series(pl.from_arrow(pa.array(made.shown, mask=None if known is None else ~known)))
    return [values.rename(name), shown.rename(name + "s")]


def to_series(words: Array, valid: Array | None = None) -> pl.Series:
    """Returns (low, high) words of each row as integers of 128 bits; NULL where not `valid` (None: all are)."""
    return pl.Series(pl.from_arrow(to_decimals(words, valid, 0))).to_physical()


def from_series(series: pl.Series) -> Array:
    """Returns integers as (low, high) words of each row; those of NULL are any."""
    held = (series.cast(pl.Decimal(MAX_DIGITS, 0)) if series.dtype == pl.Int128 else series).to_arrow()
    return to_words(held.combine_chunks() if isinstance(held, pa.ChunkedArray) else held)
