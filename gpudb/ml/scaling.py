"""Scalers of numbers, with scikit-learn's names and values.

NULL and NaN are missing: they are left out when a scaler is fitted, and stay what they are when it transforms.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from gpudb.api.relation import Relation
from gpudb.ml.flow import Step
from gpudb.ml.literals import format_float, refer
from gpudb.ml.selectors import numeric
from gpudb.ml.transformer import Chosen, Transformer
from gpudb.types import SqlType


def as_number(name: str, alias: str = "i") -> str:
    """Returns a column as double precision."""
    return f"{refer(name, alias)}::float8"


def as_known_number(name: str, alias: str = "i") -> str:
    """Returns a column as double precision, with NULL for NaN."""
    return f"nullif({as_number(name, alias)}, 'NaN'::float8)"


def compute(relation: Relation, expressions: Mapping[str, str]) -> dict[str, float | int | None]:
    """Computes aggregates over a relation whose alias is `i`, in one query."""
    text = ", ".join(expressions.values())
    found = relation.derive(lambda query, _: f"SELECT {text} FROM (\n{query}\n) AS i")
    rows = found.fetchall()
    return dict(zip(expressions, cast("tuple[float | int | None, ...]", rows[0]), strict=True))


class Shift(Transformer):
    """A scaler that subtracts a learned centre and divides by a learned scale."""

    suitable = numeric()

    def _build(self, step: Step) -> None:
        for name in self.columns_:
            text = as_number(name)
            centre, scale = self.state_[name]
            if centre is not None:
                text = f"({text} - {format_float(centre)})"
            if scale is not None:
                text = f"({text} / {format_float(scale)})"
            step.replaced[name] = {name: text}

    def _invert(self, step: Step) -> None:
        for name in self.columns_:
            text = as_number(name)
            centre, scale = self.state_[name]
            if scale is not None:
                text = f"({text} * {format_float(scale)})"
            if centre is not None:
                text = f"({text} + {format_float(centre)})"
            step.replaced[name] = {name: text}


class StandardScaler(Shift):
    """Subtracts the mean and divides by the standard deviation of the population, as scikit-learn's.

    A deviation of 0 divides by 1. Results are double precision. All scalers make NaN of every number if fit saw none.
    """

    def __init__(self, columns: Chosen = None, *, with_mean: bool = True, with_std: bool = True) -> None:
        super().__init__(columns)
        self.with_mean, self.with_std = with_mean, with_std

    def _learn(self, relation: Relation, types: Mapping[str, SqlType]) -> None:
        wanted = {}
        for name in self.columns_:
            wanted[f"m{name}"] = f"avg({as_known_number(name)})"
            wanted[f"s{name}"] = f"stddev_pop({as_known_number(name)})"
        found = compute(relation, wanted)
        for name in self.columns_:
            mean, scale = found[f"m{name}"], found[f"s{name}"]
            self.state_[name] = [
                (float("nan") if mean is None else mean) if self.with_mean else None,
                (scale or 1.0) if self.with_std else None,
            ]


class MinMaxScaler(Shift):
    """Maps the least value to 0 and the greatest to 1, as scikit-learn's; values beyond them are not clipped.

    A column of one value becomes 0. Results are double precision.
    """

    def _learn(self, relation: Relation, types: Mapping[str, SqlType]) -> None:
        wanted = {}
        for name in self.columns_:
            wanted[f"l{name}"] = f"min({as_known_number(name)})"
            wanted[f"g{name}"] = f"max({as_known_number(name)})"
        found = compute(relation, wanted)
        for name in self.columns_:
            least, greatest = found[f"l{name}"], found[f"g{name}"]
            if least is None or greatest is None:
                self.state_[name] = [float("nan"), 1.0]
            else:
                self.state_[name] = [least, (greatest - least) or 1.0]


class MaxAbsScaler(Shift):
    """Divides by the greatest absolute value, as scikit-learn's; a column of zeros stays. Double precision."""

    def _learn(self, relation: Relation, types: Mapping[str, SqlType]) -> None:
        found = compute(relation, {name: f"max(abs({as_known_number(name)}))" for name in self.columns_})
        for name in self.columns_:
            greatest = found[name]
            self.state_[name] = [None, float("nan") if greatest is None else greatest or 1.0]


class RobustScaler(Shift):
    """Subtracts the median and divides by the distance of two quantiles, as scikit-learn's.

    `quantile_range` is in percent. Quantiles are interpolated (`percentile_cont`). A distance of 0 divides by 1.
    """

    def __init__(
        self,
        columns: Chosen = None,
        *,
        with_centering: bool = True,
        with_scaling: bool = True,
        quantile_range: tuple[float, float] = (25.0, 75.0),
    ) -> None:
        super().__init__(columns)
        self.with_centering, self.with_scaling = with_centering, with_scaling
        self.quantile_range = (float(quantile_range[0]), float(quantile_range[1]))

    def _learn(self, relation: Relation, types: Mapping[str, SqlType]) -> None:
        low, high = self.quantile_range
        wanted = {
            f"{percent} {name}": quantile(as_known_number(name), percent / 100)
            for name in self.columns_
            for percent in (low, 50.0, high)
        }
        found = compute(relation, wanted)
        for name in self.columns_:
            least, median, greatest = (found[f"{percent} {name}"] for percent in (low, 50.0, high))
            scale = 1.0 if least is None or greatest is None else (greatest - least) or 1.0
            self.state_[name] = [
                (float("nan") if median is None else median) if self.with_centering else None,
                scale if self.with_scaling else None,
            ]


def quantile(expression: str, fraction: float) -> str:
    """Returns the aggregate of an interpolated quantile."""
    return f"percentile_cont({format_float(fraction)}) WITHIN GROUP (ORDER BY {expression})"
