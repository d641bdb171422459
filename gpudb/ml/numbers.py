"""Functions of single numbers: logarithm, limits, imputed values, bins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from gpudb.api.relation import Relation
from gpudb.errors import FeatureNotSupported, SqlError
from gpudb.ml.flow import Step
from gpudb.ml.learned import Learned, learn
from gpudb.ml.literals import format_float, format_value, refer
from gpudb.ml.scaling import as_known_number, as_number, compute, quantile
from gpudb.ml.selectors import numeric
from gpudb.ml.transformer import Chosen, Transformer
from gpudb.types import SqlType

_FLOATS = frozenset({"float4", "float8"})


class Log(Transformer):
    """The natural logarithm of 1 + x, as NVTabular's LogOp and NumPy's log1p; double precision.

    NULL and NaN stay what they are. -1 becomes -Infinity, lesser values NaN.
    """

    suitable = numeric()

    def _build(self, step: Step) -> None:
        for name in self.columns_:
            x = as_number(name)
            text = f"CASE WHEN {x} > -1 THEN ln({x} + 1) WHEN {x} = -1 THEN '-Infinity'::float8"
            step.replaced[name] = {name: f"{text} WHEN {x} IS NOT NULL THEN 'NaN'::float8 END"}

    def _invert(self, step: Step) -> None:
        for name in self.columns_:
            step.replaced[name] = {name: f"exp({as_number(name)}) - 1"}


class Clip(Transformer):
    """Limits numbers to a least and a greatest value, as NVTabular's; double precision. NULL and NaN stay."""

    suitable = numeric()

    def __init__(
        self, columns: Chosen = None, *, min_value: float | None = None, max_value: float | None = None
    ) -> None:
        super().__init__(columns)
        self.min_value, self.max_value = min_value, max_value

    def _build(self, step: Step) -> None:
        for name in self.columns_:
            x = as_number(name)
            branches = f"WHEN {x} = 'NaN'::float8 THEN {x}"
            if self.min_value is not None:
                branches += f" WHEN {x} < {format_float(self.min_value)} THEN {format_float(self.min_value)}"
            if self.max_value is not None:
                branches += f" WHEN {x} > {format_float(self.max_value)} THEN {format_float(self.max_value)}"
            step.replaced[name] = {name: f"CASE {branches} ELSE {x} END"}


class SimpleImputer(Transformer):
    """Replaces NULL, and NaN of floats, by a learned or given value, as scikit-learn's.

    `strategy` is mean or median (double precision), most_frequent (the least of them) or constant (`fill_value`), which
    keep the column's type. With `add_indicator`, `missingindicator_COLUMN` (0 or 1, smallint) follows for each column
    that missed a value when it was fitted. A column without values stays as it is.
    """

    suitable = numeric()

    def __init__(
        self,
        columns: Chosen = None,
        *,
        strategy: str = "mean",
        fill_value: float | int | str | bool | None = None,
        add_indicator: bool = False,
    ) -> None:
        super().__init__(columns)
        if strategy not in {"mean", "median", "most_frequent", "constant"}:
            raise SqlError.of("invalid_parameter_value", f'"{strategy}" is no strategy of SimpleImputer')
        if strategy == "constant" and fill_value is None:
            raise SqlError.of("invalid_parameter_value", "the strategy constant needs fill_value")
        self.strategy, self.fill_value, self.add_indicator = strategy, fill_value, add_indicator

    @staticmethod
    def _known(name: str, type_: SqlType) -> str:
        return f"nullif({refer(name)}, 'NaN'::{type_})" if type_.name in _FLOATS else refer(name)

    def _learn(self, relation: Relation, types: Mapping[str, SqlType]) -> None:
        wanted = {}
        for name in self.columns_:
            wanted[f"m{name}"] = f"count(*) - count({self._known(name, types[name])})"
            if self.strategy == "mean":
                wanted[f"v{name}"] = f"avg({as_known_number(name)})"
            elif self.strategy == "median":
                wanted[f"v{name}"] = quantile(as_known_number(name), 0.5)
        found = compute(relation, wanted)
        for name in self.columns_:
            value: object = found.get(f"v{name}", self.fill_value)
            if self.strategy == "most_frequent":
                value = self._find_most_frequent(relation, name, types[name])
            self.state_[name] = [value, bool(found[f"m{name}"])]

    def _find_most_frequent(self, relation: Relation, name: str, type_: SqlType) -> object:
        value = self._known(name, type_)
        found = relation.derive(
            lambda query, _: (
                f"SELECT {value} AS value FROM (\n{query}\n) AS i WHERE {value} IS NOT NULL\n"
                f"GROUP BY {value} ORDER BY count(*) DESC, {value} LIMIT 1"
            )
        )
        rows = learn(found, keys=0).list_rows()
        return rows[0][0] if rows else None

    def _build(self, step: Step) -> None:
        for name in self.columns_:
            value, missed = self.state_[name]
            type_ = step.types[name]
            known = self._known(name, type_)
            if value is not None:
                if self.strategy in {"mean", "median"}:
                    text = f"coalesce({known}::float8, {format_float(value)})"
                else:
                    text = f"coalesce({known}, {format_value(value, str(type_))})"
                step.replaced[name] = {name: text}
            if self.add_indicator and missed:
                step.added[f"missingindicator_{name}"] = f"CASE WHEN {known} IS NULL THEN 1 ELSE 0 END::smallint"


class KBinsDiscretizer(Transformer):
    """The number of the bin in which a number is, from 0 on, as scikit-learn's; integer, NULL for NULL and NaN.

    `strategy` is quantile (interpolated, as scikit-learn's quantile_method linear) or uniform. Bins are closed on the
    left; values beyond the learned edges are in the outermost bins. `encode` is ordinal, or onehot for columns
    `COLUMN_0.0` … of 0 and 1 (smallint). Bins narrower than 1e-8 are joined. The
    inverse is the middle of the bin.
    """

    suitable = numeric()

    def __init__(
        self, columns: Chosen = None, *, n_bins: int = 5, encode: str = "ordinal", strategy: str = "quantile"
    ) -> None:
        super().__init__(columns)
        if n_bins < 2:
            raise SqlError.of("invalid_parameter_value", "n_bins must be at least 2")
        if encode not in {"ordinal", "onehot"}:
            raise SqlError.of("invalid_parameter_value", f'"{encode}" is no encoding of KBinsDiscretizer')
        if strategy not in {"quantile", "uniform"}:
            raise SqlError.of("invalid_parameter_value", f'"{strategy}" is no strategy of KBinsDiscretizer')
        self.n_bins, self.encode, self.strategy = n_bins, encode, strategy

    def _learn(self, relation: Relation, types: Mapping[str, SqlType]) -> None:
        wanted: dict[str, str] = {}
        for name in self.columns_:
            x = as_known_number(name)
            wanted |= {f"l{name}": f"min({x})", f"g{name}": f"max({x})"}
            if self.strategy == "quantile":
                wanted |= {f"{at} {name}": quantile(x, at / self.n_bins) for at in range(1, self.n_bins)}
        found = compute(relation, wanted)
        for name in self.columns_:
            least, greatest = found[f"l{name}"], found[f"g{name}"]
            if least is None or greatest is None:
                self.state_[name] = [None, None]
                continue
            if self.strategy == "quantile":
                inner = [found[f"{at} {name}"] or 0.0 for at in range(1, self.n_bins)]
            else:
                inner = [least + (greatest - least) * at / self.n_bins for at in range(1, self.n_bins)]
            edges = [least]
            for edge in [*inner, greatest]:
                if edge - edges[-1] > 1e-8:
                    edges.append(edge)
            self.state_[name] = [*edges, least] if len(edges) == 1 else edges

    def _build(self, step: Step) -> None:
        for name in self.columns_:
            x = as_known_number(name)
            edges = self.state_[name][1:-1]
            branches = "".join(f" WHEN {x} < {format_float(edge)} THEN {at}" for at, edge in enumerate(edges))
            number = f"CASE WHEN {x} IS NULL THEN NULL{branches} ELSE {len(edges)} END"
            if self.encode == "ordinal":
                step.replaced[name] = {name: number}
                continue
            step.replaced[name] = {
                f"{name}_{at}.0": f"CASE WHEN ({number}) = {at} THEN 1 ELSE 0 END::smallint"
                for at in range(len(edges) + 1)
            }

    def restore(
        self,
        state: Mapping[str, Any],
        learned: Mapping[str, Learned],
        inputs: Sequence[str] | None,
        outputs: Sequence[str] | None,
    ) -> None:
        """See `Transformer`: of bins that were saved without their limits, before they had an inverse, too."""
        if inputs is None:
            state = {name: [None, *edges, None] for name, edges in state.items()}
        super().restore(state, learned, inputs, outputs)

    def _invert(self, step: Step) -> None:
        for name in self.columns_:
            edges = self.state_[name]
            if None in edges:
                raise FeatureNotSupported(f'the bins of "{name}" have no limits that are known')
            middles = [(low + high) / 2 for low, high in pairwise(edges)]
            if self.encode == "ordinal":
                tests = [(f"{refer(name)} = {at}", middle) for at, middle in enumerate(middles)]
                whole = name
            else:
                tests = [(f"{refer(f'{name}_{at}.0')} = 1", middle) for at, middle in enumerate(middles)]
                whole = f"{name}_0.0"
                step.replaced |= {f"{name}_{at}.0": {} for at in range(len(middles))}
            branches = "".join(f" WHEN {test} THEN {format_float(middle)}" for test, middle in tests)
            step.replaced[whole] = {name: f"CASE{branches} END"}
