"""Transformers that learn from a target, and the moments of a target within categories."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from gpudb.api.relation import Relation
from gpudb.errors import SqlError
from gpudb.ml.flow import Flow
from gpudb.ml.learned import Learned
from gpudb.ml.literals import refer
from gpudb.ml.selectors import boolean, text
from gpudb.ml.transformer import Chosen, Transformer

Numbers = npt.NDArray[np.float64]


class Supervised(Transformer):
    """An encoder of categories by a target: the column `target`, or the `y` of `fit`.

    The target is a number or a boolean; rows where it is NULL or NaN are left out. NULL is a category. 22023 without a
    target.
    """

    needs_target = True
    suitable = text() | boolean()

    def __init__(self, columns: Chosen = None, *, target: str | None = None) -> None:
        super().__init__(columns)
        self.target = target
        self.target_ = self.y_ = ""

    def fit_flow(self, flow: Flow, target: str | None, key: str | None) -> None:
        """See `Transformer`. 22023 without a target."""
        chosen = self.target or target
        if chosen is None:
            hint = "Name its column by target, or give it to fit."
            raise SqlError.of("invalid_parameter_value", f"{type(self).__name__} needs a target", hint=hint)
        if chosen not in flow.types:
            raise SqlError.of("undefined_column", f'column "{chosen}" does not exist')
        self.target_ = chosen
        whole = f"{refer(chosen)}::integer" if flow.types[chosen].name == "bool" else refer(chosen)
        self.y_ = f"nullif({whole}::float8, 'NaN'::float8)"
        super().fit_flow(flow, chosen, key)

    def _list_learned(self) -> Iterable[str]:
        return [*self.columns_, self.target_]


@dataclass(frozen=True, slots=True)
class Moments:
    """Count, mean and sum of squared deviations of a target: arrays of one shape. A mean of no values is 0."""

    n: Numbers
    mean: Numbers
    squares: Numbers

    def combine(self, keep: npt.NDArray[np.bool_]) -> Moments:
        """Returns the moments of the union over the last axis of the parts that `keep` has."""
        n = np.where(keep, self.n, 0.0)
        total = n.sum(axis=-1)
        mean = (n * self.mean).sum(axis=-1) / np.maximum(total, 1)
        deviations = n * (self.mean - mean[..., None]) ** 2
        return Moments(total, mean, (np.where(keep, self.squares, 0.0) + deviations).sum(axis=-1))

    @property
    def total(self) -> Moments:
        """The moments of all parts."""
        flat = Moments(self.n.ravel(), self.mean.ravel(), self.squares.ravel())
        return flat.combine(np.ones(flat.n.shape, np.bool_))

    @property
    def variance(self) -> Numbers:
        """The variance of the population."""
        return self.squares / np.maximum(self.n, 1)


@dataclass(frozen=True, slots=True)
class Categories:
    """The categories of a column: their keys, of which one may be NULL, and `moments` of one row a key."""

    keys: pa.Array
    type: str
    moments: Moments

    def find_null(self) -> int | None:
        """Returns the row of NULL; None if it is no category."""
        at = pc.index(pc.is_null(self.keys), True).as_py()
        return None if at < 0 else int(at)

    def keep(self, values: Mapping[str, Numbers]) -> Learned:
        """Returns values of double precision, one a category, as learned rows of those categories that have targets."""
        chosen = pc.and_(pc.is_valid(self.keys), pa.array(self.moments.n.sum(axis=1) > 0))
        columns = {"key": self.keys, **{name: pa.array(value) for name, value in values.items()}}
        types = (self.type, *["double precision"] * len(values))
        return Learned(1, tuple(columns), types, pa.table(columns).filter(chosen))


def learn_categories(relation: Relation, name: str, y: str, fold: str = "0", folds: int = 1) -> Categories:
    """Returns the categories of a column, with the moments of the target in each fold: a column a fold.

    `y` is the target and `fold` the number of a row's fold, expressions over the relation's rows, `i`.
    """
    key = refer(name)
    table = relation.derive(
        lambda query, _: (
            f"SELECT key, fold, n, mean, n * variance AS squares, dense_rank() OVER (ORDER BY key) - 1 AS at FROM (\n"
            f"SELECT {key} AS key, {fold} AS fold,\n"
            f"count({y})::float8 AS n, avg({y}) AS mean, var_pop({y}) AS variance\n"
            f"FROM (\n{query}\n) AS i GROUP BY 1, 2) AS category"
        )
    )
    found = table.arrow().combine_chunks()
    at, numbers = found.column("at").to_numpy(), found.column("fold").to_numpy()
    count = int(at.max()) + 1 if len(at) else 0
    parts = []
    for part in ("n", "mean", "squares"):
        values = np.zeros((count, folds))
        values[at, numbers] = np.nan_to_num(found.column(part).to_numpy())
        parts.append(values)
    _, first = np.unique(at, return_index=True)
    keys: Any = found.column("key").take(pa.array(first)).combine_chunks()
    return Categories(keys, str(table.types[0]), Moments(*parts))
