"""The base of transformers: what is learned by queries, and the expressions of each output."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from gpudb.api.relation import Relation
from gpudb.errors import FeatureNotSupported, SqlError, UndefinedColumn
from gpudb.ml.estimator import Estimator
from gpudb.ml.flow import Flow, Step, Types
from gpudb.ml.learned import Learned
from gpudb.ml.selectors import Selector, all_columns
from gpudb.types import SqlType

Columns = str | Sequence[str]
Chosen = Columns | Selector | None
"""Columns by name, by a selector, or (None) all of the kind that a transformer is for."""

TRANSFORMERS: dict[str, type[Transformer]] = {}
"""The transformers by name."""


class Transformer(Estimator):
    """A step of a pipeline: fitted on a relation by queries, compiled to SQL expressions over its columns.

    The parameters of its constructor are attributes of the same names, as in scikit-learn; `columns_` are the names of
    the columns that `columns` chose when it was fitted, `state_` holds the learned values. Columns that it does not
    choose pass through.
    """

    is_row_wise: ClassVar[bool] = True
    """Whether the outputs of a row need no other row."""
    suitable: ClassVar[Selector] = all_columns()
    """The columns that it chooses if none are named."""

    def __init_subclass__(cls) -> None:
        """Enters the class among those that a saved pipeline names."""
        TRANSFORMERS[cls.__name__] = cls

    def __init__(self, columns: Chosen = None) -> None:
        self.columns = columns if columns is None or isinstance(columns, Selector) else list_columns(columns)
        self.columns_: list[str] = []
        self.state_: dict[str, Any] = {}
        self.learned_: dict[str, Learned] = {}
        self.output_names_: list[str] | None = None

    # ---- for pipelines

    def list_inputs(self) -> Iterable[str]:
        """Returns the columns of the input that it reads when it transforms."""
        return self.columns_

    def list_outputs(self) -> list[str]:
        """Returns the names of the columns of transformed rows."""
        if self.output_names_ is None:
            message = "this pipeline was saved without the names of its features"
            raise SqlError.of("object_not_in_prerequisite_state", message, hint="Save it again.")
        return self.output_names_

    def fit_flow(self, flow: Flow, target: str | None, key: str | None) -> None:
        """Learns from rows; `target` and `key` are those of `frames.Rows`."""
        self.state_, self.learned_ = {}, {}
        chosen = self.suitable if self.columns is None else self.columns
        if isinstance(chosen, Selector):
            self.columns_ = chosen.choose({name: type_ for name, type_ in flow.shown.items() if name != target})
        else:
            self.columns_ = list(chosen)
        self._check(flow.types)
        self._learn(flow.read(self._list_learned()), flow.types)
        self.feature_names_in_ = np.asarray(list(flow.shown), dtype=object)
        self.is_fitted_ = True
        named = replace(flow, tables=_NamesAlone())
        self.output_names_ = [name for name, _ in self._make_step(named).list_outputs()]

    def transform_flow(self, flow: Flow) -> Flow:
        """Returns transformed rows. 55000 before `fit`."""
        self._require_fit()
        return flow.append(self._make_step(flow))

    def fit_transform_flow(self, flow: Flow, target: str | None, key: str | None) -> Flow:
        """Learns from rows, and returns them transformed."""
        self.fit_flow(flow, target, key)
        return self.transform_flow(flow)

    def inverse_transform_flow(self, flow: Flow) -> Flow:
        """Returns rows that it transformed as they were."""
        self._require_fit()
        step = flow.start_step()
        self._invert(step)
        return flow.append(step)

    def get_fitted_params(self) -> dict[str, Any]:
        """Returns the parameters of the constructor, with the columns that were chosen by fit."""
        return {name: self.columns_ if name == "columns" else value for name, value in self.get_params().items()}

    def restore(
        self,
        state: Mapping[str, Any],
        learned: Mapping[str, Learned],
        inputs: Sequence[str] | None,
        outputs: Sequence[str] | None,
    ) -> None:
        """Takes what was learned by an earlier fit; `inputs` and `outputs` are its columns, if they are known."""
        self.columns_ = self.columns if isinstance(self.columns, list) else []
        self.state_, self.learned_ = dict(state), dict(learned)
        self.feature_names_in_ = np.asarray(self.columns_ if inputs is None else inputs, dtype=object)
        self.output_names_ = None if outputs is None else list(outputs)
        self.is_fitted_ = True

    # ---- what each does

    def _make_step(self, flow: Flow) -> Step:
        step = flow.start_step()
        self._check(flow.types)
        self._build(step)
        return step

    def _check(self, types: Types) -> None:
        for name in self.list_inputs():
            if name not in types:
                raise UndefinedColumn(f'column "{name}" does not exist')

    def _list_learned(self) -> Iterable[str]:
        """The columns of the input that `_learn` reads."""
        return self.columns_

    def _learn(self, relation: Relation, types: Mapping[str, SqlType]) -> None:
        """Fills `state_` (values of JSON) and `learned_`."""

    @abstractmethod
    def _build(self, step: Step) -> None:
        """Enters the outputs into a step."""

    def _invert(self, step: Step) -> None:
        """Enters what its outputs were into a step over them."""
        raise FeatureNotSupported(f"{type(self).__name__} has no inverse")


class _NamesAlone:
    """See `learned.LearnedTables`: for a step that does not run."""

    def locate(self, learned: Learned) -> str:
        return "learned"


def list_columns(columns: Columns) -> list[str]:
    """Returns the names of columns, of which one may be a text."""
    return [columns] if isinstance(columns, str) else list(columns)
