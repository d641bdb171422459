"""What transformers and pipelines have in common: scikit-learn's methods, over relations and over frames."""

from __future__ import annotations

import inspect
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self, cast

import numpy as np
import numpy.typing as npt

from gpudb.api.connection import Connection
from gpudb.errors import SqlError
from gpudb.ml.flow import Flow, open_flow
from gpudb.ml.frames import OUTPUTS, Rows, open_rows
from gpudb.ml.temporary import get_temporary_tables


class Estimator(ABC):
    """Fitted on rows by queries; transforms rows by one statement.

    Rows are a `Relation`, whose result is a relation that has not run; or a frame of pandas, Polars, Arrow or NumPy,
    whose result is a frame of the same kind (see `set_output`), computed by a database in this process. `y` is the
    target of those that learn from one: a column's name for a relation, values for a frame.
    """

    needs_target: ClassVar[bool] = False
    """Whether it learns from a target."""
    is_fitted_: bool = False
    feature_names_in_: npt.NDArray[Any]
    """The names of the columns that it was fitted on."""
    _output = "default"
    _has_names = True

    # ---- the user's methods

    def fit(self, X: object, y: object = None) -> Self:
        """Learns from rows; runs queries. 42703 for a column that they lack."""
        with open_rows(X, y if self.needs_target else None) as rows:
            self.fit_flow(_open(rows), rows.target, rows.key)
            self._has_names = rows.has_names
        return self

    def transform(self, X: Any) -> Any:
        """Returns the rows with the columns that it makes. 55000 before `fit`."""
        with open_rows(X) as rows:
            return rows.finish(self.transform_flow(_open(rows)).read(), self._output)

    def fit_transform(self, X: Any, y: object = None) -> Any:
        """Fits, and returns the transformed rows."""
        with open_rows(X, y if self.needs_target else None) as rows:
            flow = self.fit_transform_flow(_open(rows), rows.target, rows.key)
            self._has_names = rows.has_names
            return rows.finish(flow.read(), self._output)

    def inverse_transform(self, X: Any) -> Any:
        """Returns transformed rows as they were, as far as the outputs tell. 0A000 where they do not."""
        with open_rows(X) as rows:
            return rows.finish(self.inverse_transform_flow(_open(rows)).read(), self._output)

    def get_feature_names_out(self, input_features: Sequence[str] | None = None) -> npt.NDArray[Any]:
        """Returns the names of the columns of the transformed rows.

        `input_features` are the names of the columns of an array that it was fitted on; of other rows they are known.
        22023 for other columns than those of `fit`.
        """
        self._require_fit()
        names = self.list_outputs()
        known = list(self.feature_names_in_)
        if input_features is not None and list(input_features) != known:
            if self._has_names or len(input_features) != len(known):
                raise SqlError.of("invalid_parameter_value", "input_features is not equal to feature_names_in_")
            new = dict(zip(known, input_features, strict=True))
            names = [re.sub(r"x[0-9]+", lambda match: str(new.get(match[0], match[0])), name) for name in names]
        return np.asarray(names, dtype=object)

    def set_output(self, *, transform: str | None = None) -> Self:
        """Chooses the frames that frames become: default (of the same kind), pandas, polars or arrow."""
        if transform is not None:
            if transform not in OUTPUTS:
                raise SqlError.of("invalid_parameter_value", f'"{transform}" is no output: {", ".join(OUTPUTS)}')
            self._output = transform
        return self

    @property
    def n_features_in_(self) -> int:
        """The number of columns that it was fitted on."""
        return len(self.feature_names_in_)

    # ---- parameters

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Returns the parameters of the constructor."""
        return {name: getattr(self, name) for name in self._list_params()}

    def set_params(self, **params: Any) -> Self:
        """Sets parameters, as the constructor would; what was learned is forgotten. 22023 for an unknown one."""
        known = self.get_params(deep=False)
        for name in params:
            if name not in known:
                message = f'"{name}" is no parameter of {type(self).__name__}'
                raise SqlError.of("invalid_parameter_value", message, hint=f"It has {', '.join(known)}.")
        if params:
            self._reset({**known, **params})
        return self

    def _reset(self, params: Mapping[str, Any]) -> None:
        output = self._output
        self.__dict__.clear()
        self.__init__(**params)  # type: ignore[misc]
        self._output = output

    @classmethod
    def _list_params(cls) -> list[str]:
        return [name for name in inspect.signature(cls.__init__).parameters if name != "self"]

    def __repr__(self) -> str:
        """The constructor's call."""
        params = self.get_params(deep=False)
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in params.items())})"

    # ---- for scikit-learn

    def __sklearn_clone__(self) -> Self:
        """Returns an estimator of the same parameters that is not fitted."""
        made = type(self)(**self._copy_params())
        made._output = self._output
        return made

    def _copy_params(self) -> dict[str, Any]:
        return self.get_params(deep=False)

    def __sklearn_is_fitted__(self) -> bool:
        """Whether it is fitted."""
        return self.is_fitted_

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn asks of an estimator: texts and missing values are welcome."""
        from sklearn.utils import InputTags, Tags, TargetTags, TransformerTags

        return Tags(
            estimator_type=None,
            target_tags=TargetTags(required=self.needs_target),
            transformer_tags=TransformerTags(),
            input_tags=InputTags(string=True, categorical=True, allow_nan=True),
        )

    def _require_fit(self) -> None:
        if not self.is_fitted_:
            message = f"this {type(self).__name__} is not fitted yet"
            raise SqlError.of("object_not_in_prerequisite_state", message, hint="Call fit first.")

    # ---- what each does

    @abstractmethod
    def fit_flow(self, flow: Flow, target: str | None, key: str | None) -> None:
        """Learns from rows; `target` and `key` are those of `frames.Rows`."""

    @abstractmethod
    def transform_flow(self, flow: Flow) -> Flow:
        """Returns transformed rows. 55000 before `fit`."""

    @abstractmethod
    def fit_transform_flow(self, flow: Flow, target: str | None, key: str | None) -> Flow:
        """Learns from rows, and returns them transformed."""

    @abstractmethod
    def inverse_transform_flow(self, flow: Flow) -> Flow:
        """Returns rows that it transformed as they were."""

    @abstractmethod
    def list_outputs(self) -> list[str]:
        """Returns the names of the columns of transformed rows."""


def _open(rows: Rows) -> Flow:
    connection = cast("Connection", rows.relation.connection)
    return open_flow(rows.relation, get_temporary_tables(connection))
