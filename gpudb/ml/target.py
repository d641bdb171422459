"""The mean of the target in place of a category, without leaks: scikit-learn's TargetEncoder."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gpudb.api.names import quote_identifier
from gpudb.api.relation import Relation
from gpudb.errors import SqlError
from gpudb.ml.hashing import hash_column, to_bucket
from gpudb.ml.learned import Learned, Lookup, learn
from gpudb.ml.literals import format_float, refer
from gpudb.ml.scaling import as_known_number, compute
from gpudb.ml.temporary import get_temporary_tables
from gpudb.ml.transformer import Columns, Step, Transformer, describe, get_connection
from gpudb.types import SqlType

_FOLD = "gpudb fold"


class TargetEncoder(Transformer):
    """The mean of the target over a category's rows, shrunk towards the mean of all, as scikit-learn's.

    `fit_transform` gives each row of the training data a value that is learned from the rows of the other `cv` folds,
    so that no row sees its own target; `transform` uses all. The fold of a row is the hash of its `key`, a column of
    unique values, and of `seed`: it is the same everywhere. `smooth` is auto (empirical Bayes) or the weight of the
    mean of all, in rows.

    The target is a number, a boolean cast to integer for instance; rows where it is NULL or NaN are left out. NULL is a
    category; one that fit has not seen has the mean of all. Results are double precision: NaN where there is nothing to
    learn from, as for the rows of a fold that holds all rows.
    """

    def __init__(
        self,
        columns: Columns,
        *,
        target: str,
        key: str,
        cv: int = 5,
        smooth: str | float = "auto",
        seed: int = 0,
    ) -> None:
        super().__init__(columns)
        if cv < 2:
            raise SqlError.of("invalid_parameter_value", "cv must be at least 2")
        if isinstance(smooth, str) and smooth != "auto":
            raise SqlError.of("invalid_parameter_value", "smooth must be auto or a number")
        self.target, self.key, self.cv, self.smooth, self.seed = target, key, cv, smooth, seed

    def fold(self, types: Mapping[str, SqlType]) -> str:
        """Returns the number of a row's fold, from 0 on, as an expression over the input; 0 for a key of NULL."""
        return f"coalesce({to_bucket(hash_column(self.key, types[self.key], self.seed), self.cv)}, 0)"

    def _learn(self, relation: Relation, types: Mapping[str, SqlType]) -> None:
        for name in (self.target, self.key):
            if name not in types:
                raise SqlError.of("undefined_column", f'column "{name}" does not exist')
        (summary,) = self._summarise(relation, ["true"])
        for name in self.columns:
            query = self._select(name, "true", summary, "")
            self.learned_[name] = learn(relation.derive(lambda rows, _, query=query: query(rows)), keys=1)  # type: ignore[misc]
            (null,) = self._encode_nulls(relation, name, ["true"], [summary])
            self.state_[name] = [summary[0], null]

    def fit_transform(self, relation: Relation) -> Relation:
        """Fits, and returns the relation with values that are learned without each row's own fold."""
        self.fit(relation)
        types = describe(relation)
        # The fold is a column, since the hash is a long expression that is read many times.
        folded = f"SELECT i.*, {self.fold(types)} AS {quote_identifier(_FOLD)}"
        relation = relation.derive(lambda query, _: f"{folded} FROM (\n{query}\n) AS i")
        tables = get_temporary_tables(get_connection(relation))
        step = Step(Lookup(tables), types)
        fold = refer(_FOLD)
        others = [f"{fold} <> {number}" for number in range(self.cv)]
        summaries = self._summarise(relation, others)
        for name in self.columns:
            encoded = self._encode_nulls(relation, name, others, summaries)
            parts = [
                self._select(name, other, summary, f"{number} AS fold, ")
                for number, (other, summary) in enumerate(zip(others, summaries, strict=True))
            ]
            learned = learn(relation.derive(lambda rows, _, parts=parts: _union(parts, rows)), keys=2)  # type: ignore[misc]
            missing = {"encoding": _choose(fold, [mean for mean, _ in summaries])}
            found = step.lookup.find(learned, [fold, refer(name)], missing)["encoding"]
            step.replaced[name] = {
                name: f"CASE WHEN {refer(name)} IS NULL THEN {_choose(fold, encoded)} ELSE {found} END"
            }
        return relation.derive(lambda query, _: step.as_query(query))

    def _summarise(self, relation: Relation, conditions: Sequence[str]) -> list[tuple[float, float]]:
        """Returns mean and variance of the target over the rows of each condition."""
        wanted: dict[str, str] = {}
        for at, where in enumerate(conditions):
            y = f"CASE WHEN {where} THEN {as_known_number(self.target)} END"
            wanted |= {f"m{at}": f"avg({y})", f"v{at}": f"var_pop({y})"}
        found: dict[str, Any] = compute(relation, wanted)
        return [
            (math.nan if (mean := found[f"m{at}"]) is None else float(mean), float(found[f"v{at}"] or 0.0))
            for at in range(len(conditions))
        ]

    def _encode_nulls(
        self, relation: Relation, name: str, conditions: Sequence[str], summaries: Sequence[tuple[float, float]]
    ) -> list[float]:
        """Returns the encoding of NULL that the rows of each condition give."""
        wanted: dict[str, str] = {}
        for at, where in enumerate(conditions):
            y = f"CASE WHEN {where} AND {refer(name)} IS NULL THEN {as_known_number(self.target)} END"
            wanted |= {f"n{at}": f"count({y})", f"m{at}": f"avg({y})", f"v{at}": f"var_pop({y})"}
        found: dict[str, Any] = compute(relation, wanted)
        return [
            self._smooth(found[f"n{at}"], found[f"m{at}"], found[f"v{at}"], *summary)
            for at, summary in enumerate(summaries)
        ]

    def _smooth(self, n: int, mean: float, variance: float, all_mean: float, all_variance: float) -> float:
        """Returns the encoding of a category of `n` rows."""
        if not n:
            return all_mean
        if not isinstance(self.smooth, str):
            return float((n * mean + self.smooth * all_mean) / (n + self.smooth))
        if all_variance == 0:
            return all_mean
        weight = all_variance * n / (all_variance * n + variance)
        return float(weight * mean + (1 - weight) * all_mean)

    def _select(self, name: str, where: str, summary: tuple[float, float], prefix: str) -> Callable[[str], str]:
        """Returns what makes the query of a column's encodings over the rows of a condition, from the rows' query."""
        y = as_known_number(self.target)
        mean, variance = summary
        m, v = format_float(mean), format_float(variance)
        if not isinstance(self.smooth, str):
            smooth = format_float(self.smooth)
            encoding = f"(n * mean + {smooth} * {m}) / (n + {smooth})"
        elif variance == 0:
            encoding = m
        else:
            weight = f"({v} * n / ({v} * n + variance))"
            encoding = f"{weight} * mean + (1 - {weight}) * {m}"
        value = refer(name)
        return lambda query: (
            f"SELECT {prefix}key, {encoding} AS encoding FROM (\n"
            f"SELECT {value} AS key, count({y})::float8 AS n, avg({y}) AS mean, var_pop({y}) AS variance\n"
            f"FROM (\n{query}\n) AS i WHERE {value} IS NOT NULL AND {where} AND {y} IS NOT NULL\n"
            f"GROUP BY {value}) AS category"
        )

    def _build(self, step: Step) -> None:
        for name in self.columns:
            mean, null = self.state_[name]
            learned: Learned = self.learned_[name]
            found = step.lookup.find(learned, [refer(name)], {"encoding": format_float(mean)})["encoding"]
            step.replaced[name] = {name: f"CASE WHEN {refer(name)} IS NULL THEN {format_float(null)} ELSE {found} END"}


def _choose(fold: str, values: Sequence[float]) -> str:
    """Returns the value of each fold as an expression."""
    branches = " ".join(f"WHEN {number} THEN {format_float(value)}" for number, value in enumerate(values))
    return f"CASE {fold} {branches} END"


def _union(parts: Sequence[Callable[[str], str]], rows: str) -> str:
    return "\nUNION ALL\n".join(part(rows) for part in parts)
