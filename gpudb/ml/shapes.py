"""Transforms of a number's distribution: scikit-learn's PowerTransformer and QuantileTransformer."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from gpudb.api.relation import Relation
from gpudb.errors import SqlError
from gpudb.ml.flow import Step
from gpudb.ml.learned import Learned
from gpudb.ml.literals import format_float
from gpudb.ml.normal import render_quantile
from gpudb.ml.scaling import as_known_number, as_number, compute
from gpudb.ml.selectors import numeric
from gpudb.ml.transformer import Chosen, Transformer
from gpudb.types import SqlType

_LARGEST = 300.0
"""Greatest exponent of e of a power: what is beyond is no sensible parameter, and would overflow."""
_AROUND = 4
"""Parameters that are tried on each side of the best."""
_FINEST = 1e-3
"""Distance of parameters at which the vertex of a parabola is the result."""
_MOST_ROUNDS = 40
_FARTHEST = 5.199337582605575
"""The normal quantile of 1 - 1e-7, within which scikit-learn keeps its results."""


class PowerTransformer(Transformer):
    """Makes numbers more like the normal distribution by a power, as scikit-learn's; double precision.

    `method` is yeo-johnson, or box-cox for positive numbers (22023 if one is not). The power is that of the greatest
    likelihood. With `standardize` the results have mean 0 and variance 1. NULL and NaN stay what they are; box-cox
    makes NaN of a number that is not positive.
    """

    suitable = numeric()

    def __init__(self, columns: Chosen = None, *, method: str = "yeo-johnson", standardize: bool = True) -> None:
        super().__init__(columns)
        if method not in {"yeo-johnson", "box-cox"}:
            raise SqlError.of("invalid_parameter_value", f'"{method}" is no method of PowerTransformer')
        self.method, self.standardize = method, standardize

    @property
    def lambdas_(self) -> dict[str, float]:
        """The power of each column."""
        return {name: self.state_[name][0] for name in self.columns_}

    def _learn(self, relation: Relation, types: Mapping[str, SqlType]) -> None:
        wanted = {}
        for name in self.columns_:
            x = as_known_number(name)
            logarithm = f"ln({x})" if self.method == "box-cox" else f"sign({x}) * ln(1 + abs({x}))"
            if self.method == "box-cox":
                wanted[f"least {name}"] = f"min({x})"
                logarithm = f"CASE WHEN {x} > 0 THEN {logarithm} END"
            wanted |= {f"n {name}": f"count({x})", f"s {name}": f"sum({logarithm})", f"v {name}": f"var_pop({x})"}
        found: dict[str, Any] = compute(relation, wanted)
        for name in self.columns_:
            if self.method == "box-cox" and found[f"n {name}"] and found[f"least {name}"] <= 0:
                raise SqlError.of(
                    "invalid_parameter_value", f'box-cox needs positive numbers, unlike those of "{name}"'
                )
        varied = [name for name in self.columns_ if found[f"v {name}"]]
        powers = dict.fromkeys(self.columns_, 1.0) | self._find_powers(relation, varied, found)
        results: dict[str, str] = {}
        for name, power in powers.items():
            y = self._render(as_known_number(name), power)
            results |= {f"m {name}": f"avg({y})", f"d {name}": f"stddev_pop({y})"}
        moments: dict[str, Any] = compute(relation, results) if self.standardize else {}
        for name, power in powers.items():
            self.state_[name] = [power, moments.get(f"m {name}") or 0.0, moments.get(f"d {name}") or 1.0]

    def _find_powers(self, relation: Relation, names: Sequence[str], sums: Mapping[str, Any]) -> dict[str, float]:
        """Returns the power of the greatest likelihood of each column: a few parameters a query, ever closer."""
        centres, step = dict.fromkeys(names, 0.0), dict.fromkeys(names, 1.0)
        for _ in range(_MOST_ROUNDS):
            open_ = [name for name in names if step[name] >= _FINEST]
            if not open_:
                break
            tried = {name: [centres[name] + step[name] * at for at in range(-_AROUND, _AROUND + 1)] for name in open_}
            found = compute(
                relation,
                {
                    f"{at} {name}": f"var_pop({self._render(as_known_number(name), power)})"
                    for name, powers in tried.items()
                    for at, power in enumerate(powers)
                },
            )
            for name, powers in tried.items():
                n, logarithms = sums[f"n {name}"], sums[f"s {name}"]
                likelihoods = [
                    -n / 2 * math.log(found[f"{at} {name}"] or math.inf) + (power - 1) * logarithms
                    for at, power in enumerate(powers)
                ]
                best = int(np.argmax(likelihoods))
                if 0 < best < 2 * _AROUND:
                    low, middle, high = likelihoods[best - 1 : best + 2]
                    bend = low - 2 * middle + high
                    centres[name] = powers[best] + (step[name] * (low - high) / (2 * bend) if bend else 0.0)
                    step[name] /= 2 * _AROUND
                else:
                    centres[name] = powers[best]
        return centres

    def _render(self, x: str, power: float) -> str:
        if self.method == "box-cox":
            return f"CASE WHEN {x} > 0 THEN {_render_power(x, power)} WHEN {x} <= 0 THEN 'NaN'::float8 END"
        above, below = _render_power(f"({x} + 1)", power), _render_power(f"(1 - {x})", 2 - power)
        return f"CASE WHEN {x} >= 0 THEN {above} WHEN {x} < 0 THEN -({below}) END"

    def _build(self, step: Step) -> None:
        for name in self.columns_:
            power, mean, deviation = self.state_[name]
            x = as_number(name)
            text = f"(({self._render(x, power)}) - {format_float(mean)}) / {format_float(deviation)}"
            step.replaced[name] = {name: f"CASE WHEN {x} = 'NaN'::float8 THEN {x} ELSE {text} END"}

    def _invert(self, step: Step) -> None:
        for name in self.columns_:
            power, mean, deviation = self.state_[name]
            y = f"({as_number(name)} * {format_float(deviation)} + {format_float(mean)})"
            if self.method == "box-cox":
                text = _render_root(y, power)
            else:
                above, below = _render_root(y, power), _render_root(f"(-{y})", 2 - power)
                text = f"CASE WHEN {y} >= 0 THEN {above} - 1 WHEN {y} < 0 THEN 1 - ({below}) END"
            step.replaced[name] = {name: f"CASE WHEN {y} = 'NaN'::float8 THEN {y} ELSE {text} END"}


def _render_power(x: str, power: float) -> str:
    """Returns (x ^ power - 1) / power, or its limit ln x, of a positive x."""
    if abs(power) < 1e-12:
        return f"ln({x})"
    return f"(exp(least({format_float(power)} * ln({x}), {_LARGEST})) - 1) / {format_float(power)}"


def _render_root(y: str, power: float) -> str:
    """Returns the inverse of `_render_power`; NaN of what it never returns."""
    if abs(power) < 1e-12:
        return f"exp(least({y}, {_LARGEST}))"
    inside = f"({format_float(power)} * {y} + 1)"
    root = f"exp(least(ln({inside}) / {format_float(power)}, {_LARGEST}))"
    return f"CASE WHEN {inside} > 0 THEN {root} ELSE 'NaN'::float8 END"


class QuantileTransformer(Transformer):
    """Makes numbers uniformly or normally distributed by their rank, as scikit-learn's; double precision.

    Quantiles are learned from all rows (scikit-learn's subsample None), at most `n_quantiles` and as many as rows, and
    interpolated. `output_distribution` is uniform, or normal, whose results are between -5.2 and 5.2. NULL and NaN stay
    what they are.
    """

    suitable = numeric()

    def __init__(
        self, columns: Chosen = None, *, n_quantiles: int = 1000, output_distribution: str = "uniform"
    ) -> None:
        super().__init__(columns)
        if n_quantiles < 1:
            raise SqlError.of("invalid_parameter_value", "n_quantiles must be at least 1")
        if output_distribution not in {"uniform", "normal"}:
            raise SqlError.of("invalid_parameter_value", f'"{output_distribution}" is no distribution')
        self.n_quantiles, self.output_distribution = n_quantiles, output_distribution

    def _learn(self, relation: Relation, types: Mapping[str, SqlType]) -> None:
        rows = compute(relation, {"rows": "count(*)"})["rows"] or 0
        references = np.linspace(0, 1, max(1, min(self.n_quantiles, int(rows))))
        listed = "ARRAY[" + ", ".join(map(format_float, references)) + "]"
        wanted = {
            name: f"percentile_cont({listed}) WITHIN GROUP (ORDER BY {as_known_number(name)})" for name in self.columns_
        }
        found: dict[str, Any] = compute(relation, wanted)
        for name in self.columns_:
            if found[name] is None or found[name][0] is None:
                self.state_[name] = []
                continue
            quantiles, first = np.unique(np.asarray(found[name], dtype=float), return_index=True)
            last = np.append(first[1:], len(references)) - 1
            low, high = references[first], references[last]
            slopes = np.append((low[1:] - high[:-1]) / np.diff(quantiles), 0.0)
            exact = (low + high) / 2
            exact[0], exact[-1] = (0.0, 1.0) if len(exact) > 1 else (0.0, 0.0)
            self.state_[name] = quantiles.tolist()
            columns = {
                "bucket": pa.array(np.arange(1, len(quantiles) + 1, dtype=np.int32)),
                "quantile": pa.array(quantiles),
                "exact": pa.array(exact),
                "high": pa.array(high),
                "slope": pa.array(slopes),
            }
            types_ = ("integer", *["double precision"] * 4)
            self.learned_[name] = Learned(1, tuple(columns), types_, pa.table(columns))

    def _build(self, step: Step) -> None:
        for name in self.columns_:
            x = as_number(name)
            if not self.state_[name]:
                step.replaced[name] = {name: x}
                continue
            edges = quote_array(self.state_[name])
            learned = self.learned_[name]
            missing = dict.fromkeys(learned.names[1:], "NULL::float8")
            found = step.lookup.find(learned, [f"width_bucket({x}, {edges})"], missing)
            least, greatest = format_float(self.state_[name][0]), format_float(self.state_[name][-1])
            inside = f"{found['high']} + {found['slope']} * ({x} - {found['quantile']})"
            branches = f"WHEN {x} = 'NaN'::float8 THEN {x} WHEN {x} < {least} THEN 0::float8"
            branches += (
                f" WHEN {x} > {greatest} THEN {found['high']} WHEN {x} = {found['quantile']} THEN {found['exact']}"
            )
            text = f"CASE {branches} ELSE {inside} END"
            if self.output_distribution == "normal":
                text = _render_normal(text)
            step.replaced[name] = {name: text}


def _render_normal(p: str) -> str:
    """Returns the normal quantile of a probability, within the limits of scikit-learn."""
    limit, nan = format_float(_FARTHEST), "'NaN'::float8"
    branches = f"WHEN n.p = {nan} THEN n.p WHEN n.p <= 1e-7 THEN -{limit} WHEN n.p >= 1 - 1e-7 THEN {limit}"
    return f"(SELECT CASE {branches} ELSE {render_quantile('n.p')} END FROM (SELECT {p} AS p) AS n)"


def quote_array(values: Sequence[float]) -> str:
    """Returns an array of double precision as a constant."""
    return "'{" + ",".join(map(repr, values)) + "}'::float8[]"
