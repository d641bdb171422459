"""A pipeline: transformers in order, fitted, transformed and saved as one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from gpudb.api.connection import Connection
from gpudb.errors import SqlError
from gpudb.ml import stored
from gpudb.ml.estimator import Estimator
from gpudb.ml.flow import Flow
from gpudb.ml.supervised import Supervised
from gpudb.ml.transformer import Transformer

Steps = Sequence[Transformer | tuple[str, Transformer]]


class Pipeline(Estimator):
    """Transformers that are applied in order; each is a transformer, or a pair of a name and a transformer.

    A transformer is fitted on what those before it make of the rows. Columns that none chooses pass through. Parameters
    of a transformer are those of the pipeline under `NAME__PARAMETER`.
    """

    def __init__(self, steps: Steps) -> None:
        self.steps: list[tuple[str, Transformer]] = []
        for number, step in enumerate(steps, 1):
            named = step if isinstance(step, tuple) else (f"{type(step).__name__.lower()}-{number}", step)
            if not isinstance(named[1], Transformer):
                raise SqlError.of("invalid_parameter_value", f"{named[1]!r} is no transformer")
            self.steps.append(named)
        self.input_types_: dict[str, str] = {}

    @property
    def named_steps(self) -> dict[str, Transformer]:
        """The transformers by name."""
        return dict(self.steps)

    def __getitem__(self, name: str | int) -> Transformer:
        """Returns a transformer by name or position."""
        return self.steps[name][1] if isinstance(name, int) else self.named_steps[name]

    @property
    def needs_target(self) -> bool:  # type: ignore[override]
        """Whether one of the transformers learns from a target."""
        return any(step.needs_target for _, step in self.steps)

    # ---- parameters

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Returns the steps; with `deep` each by its name too, and their parameters as `NAME__PARAMETER`."""
        params: dict[str, Any] = {"steps": self.steps}
        if deep:
            params |= self.named_steps
            for name, step in self.steps:
                params |= {f"{name}__{key}": value for key, value in step.get_params().items()}
        return params

    def set_params(self, **params: Any) -> Self:
        """Sets the steps, a step by its name, or its parameters by `NAME__PARAMETER`. 22023 for an unknown one."""
        steps = dict(Pipeline(params.pop("steps")).steps if "steps" in params else self.steps)
        nested: dict[str, dict[str, Any]] = {}
        for key, value in params.items():
            name, _, parameter = key.partition("__")
            if name not in steps:
                message = f'"{key}" is no parameter of this Pipeline'
                raise SqlError.of("invalid_parameter_value", message, hint=f"Its steps are {', '.join(steps)}.")
            if parameter:
                nested.setdefault(name, {})[parameter] = value
            else:
                steps[name] = value
        for name, values in nested.items():
            steps[name].set_params(**values)
        self._reset({"steps": list(steps.items())})
        return self

    def _copy_params(self) -> dict[str, Any]:
        return {"steps": [(name, step.__sklearn_clone__()) for name, step in self.steps]}

    # ---- rows

    def fit_flow(self, flow: Flow, target: str | None, key: str | None) -> None:
        """Learns from rows; each transformer from what those before it make of them."""
        target = self._start(flow, target)
        for _, step in self.steps[:-1]:
            flow = step.fit_transform_flow(flow, target, key)
        for _, step in self.steps[-1:]:
            step.fit_flow(flow, target, key)
        self.is_fitted_ = True

    def fit_transform_flow(self, flow: Flow, target: str | None, key: str | None) -> Flow:
        """Learns from rows, and returns them transformed.

        A `TargetEncoder` gives these rows values that are learned without them, so this is not their `transform`.
        """
        target = self._start(flow, target)
        for _, step in self.steps:
            flow = step.fit_transform_flow(flow, target, key)
        self.is_fitted_ = True
        return flow

    def _start(self, flow: Flow, target: str | None) -> str | None:
        """Begins a fit. Returns the target: the one that is given, or that of the first transformer that names one."""
        self.input_types_ = {name: str(type_) for name, type_ in flow.shown.items()}
        self.feature_names_in_ = np.asarray(list(flow.shown), dtype=object)
        named = (step.target for _, step in self.steps if isinstance(step, Supervised) and step.target is not None)
        return next(named, None) if target is None else target

    def transform_flow(self, flow: Flow) -> Flow:
        """Returns transformed rows. 55000 before `fit`."""
        self._require_fit()
        for _, step in self.steps:
            flow = step.transform_flow(flow)
        return flow

    def inverse_transform_flow(self, flow: Flow) -> Flow:
        """Returns rows that it transformed as they were."""
        self._require_fit()
        for _, step in reversed(self.steps):
            flow = step.inverse_transform_flow(flow)
        return flow

    def list_outputs(self) -> list[str]:
        """Returns the names of the columns of transformed rows."""
        return self.steps[-1][1].list_outputs() if self.steps else list(self.feature_names_in_)

    # ---- in the database

    def save(
        self,
        db: Connection,
        name: str,
        *,
        over: str | None = None,
        inputs: Sequence[str] | None = None,
        replace: bool = False,
    ) -> None:
        """Keeps the pipeline in the database, where every client can ask it.

        With `over`, the name of a table or view, `name` becomes a view of its rows, transformed. Without it `name`
        becomes a function: its arguments are the columns that the pipeline reads, or `inputs`, under their names; its
        result is one row of features (`SELECT f.* FROM t, name(t.a, t.b) f`). Tables NAME_learned_1 … hold the learned
        values that are too many for a statement. `replace` first drops what `save` made under the name.

        All or nothing. Errors: 55000 before `fit`; 42P07, 42723 if the name is taken; 0A000 for a function whose
        transformers look at other rows.
        """
        stored.save(db, name, [*self.steps], self.input_types_, over=over, inputs=inputs, replace=replace)

    @staticmethod
    def load(db: Connection, name: str) -> Pipeline:
        """Returns a fitted pipeline that `save` kept. 42704 if there is none of that name."""
        steps, input_types = stored.load(db, name)
        pipeline = Pipeline(steps)
        pipeline.restore(input_types)
        return pipeline

    def restore(self, input_types: Mapping[str, str]) -> None:
        """Takes its transformers as fitted on columns of these types."""
        self.input_types_ = dict(input_types)
        self.feature_names_in_ = np.asarray(list(input_types), dtype=object)
        self.is_fitted_ = True

    @staticmethod
    def drop(db: Connection, name: str) -> None:
        """Drops a saved pipeline: its view or function, and its learned tables."""
        with db.transaction():
            stored.drop(db, name)
