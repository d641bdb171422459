"""The mean of the target in place of a category, without leaks: scikit-learn's TargetEncoder."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gpudb.api.relation import Relation
from gpudb.errors import SqlError
from gpudb.ml.flow import Flow, Step
from gpudb.ml.hashing import hash_column, to_bucket
from gpudb.ml.learned import Learned
from gpudb.ml.literals import format_float, refer
from gpudb.ml.supervised import Categories, Moments, Numbers, Supervised, learn_categories
from gpudb.ml.transformer import Chosen
from gpudb.types import SqlType

_FOLD = "gpudb fold"


class TargetEncoder(Supervised):
    """The mean of the target over a category's rows, shrunk towards the mean of all, as scikit-learn's.

    `fit_transform` gives each row of the training data a value that is learned from the rows of the other `cv` folds,
    so that no row sees its own target; `transform` uses all. The fold of a row is the hash of its `key`, a column of
    unique values (of a frame the row's number if none is named), and of `seed`: it is the same everywhere. `smooth` is
    auto (empirical Bayes) or the weight of the mean of all, in rows.

    See `Supervised` for the target. A category that fit has not seen has the mean of all. Results are double precision:
    NaN where there is nothing to learn from, as for the rows of a fold that holds all rows.
    """

    def __init__(
        self,
        columns: Chosen = None,
        *,
        target: str | None = None,
        key: str | None = None,
        cv: int = 5,
        smooth: str | float = "auto",
        seed: int = 0,
    ) -> None:
        super().__init__(columns, target=target)
        if cv < 2:
            raise SqlError.of("invalid_parameter_value", "cv must be at least 2")
        if isinstance(smooth, str) and smooth != "auto":
            raise SqlError.of("invalid_parameter_value", "smooth must be auto or a number")
        self.key, self.cv, self.smooth, self.seed = key, cv, smooth, seed

    def fold(self, types: Mapping[str, SqlType], key: str | None = None) -> str:
        """Returns the number of a row's fold, from 0 on, as an expression over the input; 0 for a key of NULL."""
        name = self.key or key
        if name is None:
            hint = "Name a column of unique values by key."
            raise SqlError.of("invalid_parameter_value", "TargetEncoder needs the key of a relation's rows", hint=hint)
        if name not in types:
            raise SqlError.of("undefined_column", f'column "{name}" does not exist')
        return f"coalesce({to_bucket(hash_column(name, types[name], self.seed), self.cv)}, 0)"

    def _learn(self, relation: Relation, types: Mapping[str, SqlType]) -> None:
        for name in self.columns_:
            found = learn_categories(relation, name, self.y_)
            encodings, mean, _ = self._encode(found.moments, np.ones(1, np.bool_))
            self.learned_[name] = found.keep({"encoding": encodings})
            self.state_[name] = [mean, _get_null(found, encodings, mean)]

    def fit_transform_flow(self, flow: Flow, target: str | None, key: str | None) -> Flow:
        """See `Transformer`: each row's value is learned without its fold."""
        self.fit_flow(flow, target, key)
        # The fold is a column, since the hash is a long expression that is read many times.
        folding = flow.start_step()
        folding.added[_FOLD] = self.fold(flow.types, key)
        flow = flow.append(folding)
        relation = flow.read([*self.columns_, self.target_, _FOLD])
        step = flow.start_step()
        step.replaced[_FOLD] = {}
        fold = refer(_FOLD)
        for name in self.columns_:
            found = learn_categories(relation, name, self.y_, fold, self.cv)
            others = [np.arange(self.cv) != number for number in range(self.cv)]
            encoded = [self._encode(found.moments, keep) for keep in others]
            known = pc.is_valid(found.keys)
            tables = []
            for number, (encodings, _, n) in enumerate(encoded):
                chosen = pc.and_(known, pa.array(n > 0))
                columns = {"key": found.keys.filter(chosen), "encoding": pa.array(encodings).filter(chosen)}
                numbers = pa.array(np.full(len(columns["key"]), number, np.int32))
                tables.append(pa.table({"fold": numbers, **columns}))
            names = ("fold", "key", "encoding")
            learned = Learned(2, names, ("integer", found.type, "double precision"), pa.concat_tables(tables))
            missing = {"encoding": _choose(fold, [mean for _, mean, _ in encoded])}
            value = step.lookup.find(learned, [fold, refer(name)], missing)["encoding"]
            nulls = _choose(fold, [_get_null(found, encodings, mean) for encodings, mean, _ in encoded])
            step.replaced[name] = {name: f"CASE WHEN {refer(name)} IS NULL THEN {nulls} ELSE {value} END"}
        return flow.append(step)

    def _encode(self, moments: Moments, keep: np.ndarray) -> tuple[Numbers, float, Numbers]:
        """Returns the encoding of each category, the mean of all and the categories' rows, over some of the folds."""
        own = moments.combine(np.broadcast_to(keep, moments.n.shape))
        whole = own.combine(np.ones(len(own.n), np.bool_))
        if not whole.n:
            return np.full(len(own.n), math.nan), math.nan, own.n
        mean, variance = float(whole.mean), float(whole.variance)
        if not isinstance(self.smooth, str):
            with np.errstate(invalid="ignore"):  # no rows and no weight
                encodings = (own.n * own.mean + self.smooth * mean) / (own.n + self.smooth)
        elif variance == 0:
            encodings = np.full(len(own.n), mean)
        else:
            weight = variance * own.n
            weight = np.divide(weight, weight + own.variance, out=np.zeros_like(weight), where=own.n > 0)
            encodings = weight * own.mean + (1 - weight) * mean
        return np.where(own.n > 0, encodings, mean), mean, own.n

    def _build(self, step: Step) -> None:
        for name in self.columns_:
            mean, null = self.state_[name]
            found = step.lookup.find(self.learned_[name], [refer(name)], {"encoding": format_float(mean)})["encoding"]
            step.replaced[name] = {name: f"CASE WHEN {refer(name)} IS NULL THEN {format_float(null)} ELSE {found} END"}


def _get_null(found: Categories, encodings: Numbers, mean: float) -> float:
    """Returns the encoding of NULL: the mean of all if it is no category."""
    at = found.find_null()
    return mean if at is None else float(encodings[at])


def _choose(fold: str, values: Sequence[float]) -> str:
    """Returns the value of each fold as an expression."""
    branches = " ".join(f"WHEN {number} THEN {format_float(value)}" for number, value in enumerate(values))
    return f"CASE {fold} {branches} END"
