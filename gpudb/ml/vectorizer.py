"""A pipeline that chooses its transformers by the types and values of columns: skrub's TableVectorizer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpudb.errors import SqlError
from gpudb.ml.datetimes import DatetimeEncoder
from gpudb.ml.encoders import CountEncoder, OneHotEncoder
from gpudb.ml.expressions import SQLTransformer
from gpudb.ml.flow import Flow
from gpudb.ml.literals import refer
from gpudb.ml.pipeline import Pipeline
from gpudb.ml.scaling import compute
from gpudb.ml.selectors import boolean, numeric, temporal, text
from gpudb.ml.supervised import Supervised
from gpudb.ml.texts import DropCols
from gpudb.ml.transformer import Transformer
from gpudb.types import SqlType


class TableVectorizer(Pipeline):
    """Makes numbers of every column, as skrub's; `steps` are what it chose when it was fitted.

    | columns | become |
    |---|---|
    | numbers and booleans | double precision |
    | texts of at most `cardinality_threshold` values | what `low_cardinality` makes: a `OneHotEncoder` |
    | texts of more | what `high_cardinality` makes: a `CountEncoder` |
    | dates and timestamps | what `datetime` makes: a `DatetimeEncoder` |
    | NULL everywhere, and all other types | nothing |

    A transformer that is given is copied with the chosen columns; one that needs a target takes that of `fit`.
    """

    def __init__(
        self,
        *,
        cardinality_threshold: int = 40,
        low_cardinality: Transformer | None = None,
        high_cardinality: Transformer | None = None,
        datetime: Transformer | None = None,
    ) -> None:
        super().__init__([])
        if cardinality_threshold < 0:
            raise SqlError.of("invalid_parameter_value", "cardinality_threshold must not be negative")
        self.cardinality_threshold = cardinality_threshold
        self.low_cardinality, self.high_cardinality, self.datetime = low_cardinality, high_cardinality, datetime

    @property
    def needs_target(self) -> bool:  # type: ignore[override]
        """Whether one of the transformers that it may choose learns from a target."""
        given = (self.low_cardinality, self.high_cardinality, self.datetime)
        return any(each is not None and each.needs_target for each in given)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Returns the parameters of the constructor."""
        return {name: getattr(self, name) for name in self._list_params()}

    def set_params(self, **params: Any) -> TableVectorizer:
        """Sets parameters of the constructor. 22023 for an unknown one."""
        return super(Pipeline, self).set_params(**params)

    def _copy_params(self) -> dict[str, Any]:
        copied = self.get_params()
        for name, value in copied.items():
            if isinstance(value, Transformer):
                copied[name] = value.__sklearn_clone__()
        return copied

    def _start(self, flow: Flow, target: str | None) -> str | None:
        given = (self.low_cardinality, self.high_cardinality, self.datetime)
        named = (step.target for step in given if isinstance(step, Supervised) and step.target is not None)
        target = next(named, None) if target is None else target
        super()._start(flow, target)
        types = {name: type_ for name, type_ in flow.shown.items() if name != target}
        texts = text().choose(types)
        counts: dict[str, Any] = {}
        if types:
            wanted = {f"n {name}": f"count({refer(name)})" for name in types}
            wanted |= {f"d {name}": f"count(DISTINCT {refer(name)})" for name in texts}
            counts = compute(flow.read(types), wanted)
        filled = {name: type_ for name, type_ in types.items() if counts[f"n {name}"]}
        low = [name for name in texts if name in filled and counts[f"d {name}"] <= self.cardinality_threshold]
        high = [name for name in texts if name in filled and name not in low]
        chosen: list[tuple[str, Transformer, list[str]]] = [
            ("low_cardinality", self.low_cardinality or OneHotEncoder(), low),
            ("high_cardinality", self.high_cardinality or CountEncoder(), high),
            ("datetime", self.datetime or DatetimeEncoder(), temporal().choose(filled)),
        ]
        kept = {name for _, _, names in chosen for name in names}
        numbers = _as_numbers({name: type_ for name, type_ in filled.items() if name not in kept})
        others = [name for name in types if name not in kept and name not in numbers]
        self.steps = [("drop", DropCols(others))] if others else []
        self.steps += [("numbers", SQLTransformer(numbers))] if numbers else []
        for label, transformer, names in chosen:
            if names:
                copied = transformer.__sklearn_clone__()
                self.steps.append((label, copied.set_params(columns=names)))
        return target


def _as_numbers(types: Mapping[str, SqlType]) -> dict[str, str]:
    """Returns numbers and booleans as expressions of double precision."""
    found = dict.fromkeys(numeric().choose(types), "::float8") | dict.fromkeys(boolean().choose(types), "::int::float8")
    return {name: f"{refer(name)}{cast}" for name, cast in found.items()}
