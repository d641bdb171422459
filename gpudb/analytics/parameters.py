"""Kinds of models, and their parameters: the names that WITH has in SQL, the libraries' names, types and ranges."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from gpudb.errors import SqlError

Value = int | float | str
Task = Literal["regression", "classification", "clustering"]


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter: the library's name of it, its type, and the range of its values. `open` excludes the least one."""

    name: str
    type: type[int] | type[float]
    least: float = -math.inf
    most: float = math.inf
    open: bool = False


_COUNT = (int, 1, 1_000_000)
_FRACTION = (float, 0, 1, True)
_POSITIVE = (float, 0, math.inf, True)
_NOT_NEGATIVE = (float, 0)
_SEED = Parameter("seed", int, 0, 2**31 - 1)
_VALIDATION = Parameter("validation", float, 0, 0.95)

_BOOSTED = {
    "trees": Parameter("num_boost_round", *_COUNT),
    "depth": Parameter("max_depth", int, 0, 64),
    "learning_rate": Parameter("learning_rate", *_FRACTION),
    "subsample": Parameter("subsample", *_FRACTION),
    "column_sample": Parameter("colsample_bytree", *_FRACTION),
    "l1": Parameter("reg_alpha", *_NOT_NEGATIVE),
    "l2": Parameter("reg_lambda", *_NOT_NEGATIVE),
    "bins": Parameter("max_bin", int, 2, 65_535),
    "early_stopping": Parameter("early_stopping", *_COUNT),
    "seed": _SEED,
    "validation": _VALIDATION,
}
PARAMETERS: Mapping[str, Mapping[str, Parameter]] = {
    "xgboost": {
        **_BOOSTED,
        "min_split_loss": Parameter("gamma", *_NOT_NEGATIVE),
        "min_child_weight": Parameter("min_child_weight", *_NOT_NEGATIVE),
    },
    "lightgbm": {
        **_BOOSTED,
        "leaves": Parameter("num_leaves", int, 2, 131_072),
        "min_leaf": Parameter("min_data_in_leaf", *_COUNT),
    },
    "random_forest": {
        "trees": Parameter("n_estimators", *_COUNT),
        "depth": Parameter("max_depth", int, 1, 64),
        "min_leaf": Parameter("min_samples_leaf", *_COUNT),
        "column_sample": Parameter("max_features", *_FRACTION),
        "seed": _SEED,
        "validation": _VALIDATION,
    },
    "linear": {"validation": _VALIDATION, "seed": _SEED},
    "ridge": {"l2": Parameter("alpha", *_NOT_NEGATIVE), "validation": _VALIDATION, "seed": _SEED},
    "logistic": {
        "c": Parameter("C", *_POSITIVE),
        "iterations": Parameter("max_iter", *_COUNT),
        "tolerance": Parameter("tol", *_POSITIVE),
        "seed": _SEED,
        "validation": _VALIDATION,
    },
    "kmeans": {
        "clusters": Parameter("n_clusters", *_COUNT),
        "iterations": Parameter("max_iter", *_COUNT),
        "runs": Parameter("n_init", *_COUNT),
        "tolerance": Parameter("tol", *_NOT_NEGATIVE),
        "seed": _SEED,
    },
}
"""The parameters of each kind of model that can be trained, besides `objective`."""
OBJECTIVES: Mapping[str, Mapping[str, Task]] = {
    "xgboost": {
        "binary:logistic": "classification",
        "multi:softmax": "classification",
        "multi:softprob": "classification",
        **dict.fromkeys(
            ("reg:squarederror", "reg:squaredlogerror", "reg:absoluteerror", "reg:pseudohubererror", "reg:logistic",
             "reg:gamma", "reg:tweedie", "count:poisson"), "regression",
        ),
    },
    "lightgbm": {
        "binary": "classification",
        "multiclass": "classification",
        **dict.fromkeys(
            ("regression_l1", "regression_l2", "huber", "fair", "poisson", "quantile", "mape", "gamma", "tweedie"),
            "regression",
        ),
    },
    "random_forest": {},
}  # fmt: skip
"""The libraries' objectives beside regression and classification, and what a model learns by each."""


def check_kind(kind: str) -> None:
    """22023 for a kind of model that cannot be trained."""
    if kind not in PARAMETERS:
        hint = f"Models can be trained by {', '.join(PARAMETERS)}."
        raise SqlError.of("invalid_parameter_value", f'unrecognized kind of model "{kind}"', hint=hint)


def read_parameters(kind: str, options: tuple[tuple[str, str], ...]) -> dict[str, Value]:
    """Returns the values of a model's parameters by their names in SQL; 22023 for an unknown, bad or repeated one."""
    known = PARAMETERS[kind]
    found: dict[str, Value] = {}
    for name, text in options:
        if name in found:
            raise SqlError.of("invalid_parameter_value", f'parameter "{name}" is given more than once')
        if name == "objective" and kind in OBJECTIVES:
            found[name] = _read_objective(kind, text)
        elif name in known:
            found[name] = _read_value(name, known[name], text)
        else:
            names = sorted({*known, *(["objective"] if kind in OBJECTIVES else [])})
            hint = f"Parameters of {kind} are {', '.join(names)}."
            raise SqlError.of("invalid_parameter_value", f'unrecognized parameter "{name}" of {kind}', hint=hint)
    if "early_stopping" in found and not found.get("validation"):
        raise SqlError.of("invalid_parameter_value", 'parameter "early_stopping" needs a share of rows for validation')
    return found


def _list_objectives(kind: str) -> Mapping[str, Task]:
    return {"regression": "regression", "classification": "classification", **OBJECTIVES[kind]}


def _read_objective(kind: str, text: str) -> str:
    known = _list_objectives(kind)
    if text not in known:
        hint = f"Objectives of {kind} are {', '.join(known)}."
        raise SqlError.of("invalid_parameter_value", f'unrecognized objective "{text}" of {kind}', hint=hint)
    return text


def _read_value(name: str, parameter: Parameter, text: str) -> Value:
    try:
        value = parameter.type(text)
    except ValueError:
        what = "an integer" if parameter.type is int else "a number"
        raise SqlError.of("invalid_parameter_value", f'parameter "{name}" needs {what}, not "{text}"') from None
    below = value <= parameter.least if parameter.open else value < parameter.least
    if below or not value <= parameter.most or math.isinf(value):
        least = "more than" if parameter.open else "at least"
        limits = f"{least} {parameter.least:g}"
        limits += f" and at most {parameter.most:g}" if math.isfinite(parameter.most) else ""
        message = f'value {text} of parameter "{name}" is out of range'
        raise SqlError.of("invalid_parameter_value", message, detail=f"It must be {limits}.")
    return value


def find_task(kind: str, objective: str, *, has_numbers: bool) -> Task:
    """Returns what a model is to learn; `has_numbers` is whether its target is numeric."""
    if kind == "kmeans":
        return "clustering"
    if kind == "logistic":
        return "classification"
    if kind in {"linear", "ridge"}:
        return "regression"
    if objective:
        return _list_objectives(kind)[objective]
    return "regression" if has_numbers else "classification"
