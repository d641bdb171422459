"""Encodings of categories by the target without folds: category_encoders' LeaveOneOutEncoder and WOEEncoder."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from gpudb.api.relation import Relation
from gpudb.errors import SqlError
from gpudb.ml.flow import Flow, Step
from gpudb.ml.literals import format_float, refer
from gpudb.ml.scaling import compute
from gpudb.ml.supervised import Supervised, learn_categories
from gpudb.ml.transformer import Chosen
from gpudb.types import SqlType


class LeaveOneOutEncoder(Supervised):
    """The mean of the target over a category's other rows, as category_encoders'.

    `fit_transform` leaves each row's own target out; `transform` has the mean of the category. A category that fit has
    not seen, or in one row alone, has the mean of all. See `Supervised` for the target. Double precision.
    """

    def _learn(self, relation: Relation, types: Mapping[str, SqlType]) -> None:
        for name in self.columns_:
            found = learn_categories(relation, name, self.y_)
            n, mean = found.moments.n[:, 0], found.moments.mean[:, 0]
            self.learned_[name] = found.keep({"total": n * mean, "n": n})
            whole = found.moments.total
            null = found.find_null()
            totals = [0.0, 0.0] if null is None else [float(n[null] * mean[null]), float(n[null])]
            self.state_[name] = [whole.mean.item() if whole.n else math.nan, *totals]

    def fit_transform_flow(self, flow: Flow, target: str | None, key: str | None) -> Flow:
        """See `Transformer`: each row's value is learned without its own target."""
        self.fit_flow(flow, target, key)
        step = flow.start_step()
        y = self.y_
        self._encode(step, f"coalesce({y}, 0)", f"CASE WHEN {y} IS NULL THEN 0 ELSE 1 END")
        return flow.append(step)

    def _build(self, step: Step) -> None:
        self._encode(step, "0", "0")

    def _encode(self, step: Step, own: str, count: str) -> None:
        """Enters the mean of the category without `own`, the sum of `count` targets."""
        for name in self.columns_:
            mean, total, n = self.state_[name]
            missing = {"total": "0::float8", "n": "0::float8"}
            found = step.lookup.find(self.learned_[name], [refer(name)], missing)
            is_null = f"CASE WHEN {refer(name)} IS NULL THEN"
            rest = f"({is_null} {format_float(total)} ELSE {found['total']} END - {own})"
            n_of = f"({is_null} {format_float(n)} ELSE {found['n']} END)"
            text = f"CASE WHEN {n_of} > 1 THEN {rest} / ({n_of} - {count}) ELSE {format_float(mean)} END"
            step.replaced[name] = {name: text}


class WOEEncoder(Supervised):
    """The weight of evidence of a category for a target of 0 and 1, as category_encoders': double precision.

    It is the logarithm of the category's share of the ones by its share of the zeros, each with `regularization` added
    to the count (twice to that of all). A category of one row, or one that fit has not seen, has 0. See `Supervised`
    for the target; 22023 if it has other values.
    """

    def __init__(self, columns: Chosen = None, *, target: str | None = None, regularization: float = 1.0) -> None:
        super().__init__(columns, target=target)
        self.regularization = regularization

    def _learn(self, relation: Relation, types: Mapping[str, SqlType]) -> None:
        y = self.y_
        others = compute(relation, {"others": f"count(*) FILTER (WHERE {y} NOT IN (0, 1))"})["others"]
        if others:
            raise SqlError.of("invalid_parameter_value", f"the target of WOEEncoder is 0 or 1, and {others} are not")
        for name in self.columns_:
            found = learn_categories(relation, name, self.y_)
            n, ones = found.moments.n[:, 0], np.rint(found.moments.n[:, 0] * found.moments.mean[:, 0])
            more = self.regularization
            with np.errstate(divide="ignore", invalid="ignore"):  # no regularization
                share = (ones + more) / (ones.sum() + 2 * more)
                evidence = np.log(share / ((n - ones + more) / ((n - ones).sum() + 2 * more)))
            evidence[n == 1] = 0.0
            self.learned_[name] = found.keep({"encoding": evidence})
            null = found.find_null()
            self.state_[name] = 0.0 if null is None else float(evidence[null])

    def _build(self, step: Step) -> None:
        for name in self.columns_:
            found = step.lookup.find(self.learned_[name], [refer(name)], {"encoding": "0::float8"})["encoding"]
            null = format_float(self.state_[name])
            step.replaced[name] = {name: f"CASE WHEN {refer(name)} IS NULL THEN {null} ELSE {found} END"}
