"""Fitting of each kind of model by its library, to what `formats` can read: never a pickle."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from gpudb.analytics.encoding import Matrix
from gpudb.analytics.libraries import load_library, make_refusal
from gpudb.analytics.parameters import PARAMETERS, Task, Value
from gpudb.errors import SqlError

Target = npt.NDArray[Any]
Linear = tuple[tuple[tuple[float, ...], float], ...]


@dataclass(frozen=True, slots=True)
class Sample:
    """The rows to fit: a matrix of rows by features, and a target, numbers or those of `classes` classes.

    `texts` are the places of the features that are numbers of categories; `validation` are other rows.
    """

    matrix: Matrix
    target: Target
    classes: int
    task: Task
    parameters: Mapping[str, Value]
    texts: tuple[int, ...]
    validation: tuple[Matrix, Target] | None = None


@dataclass(frozen=True, slots=True)
class Fitted:
    """A fitted model: its bytes in a format, its scores if they are linear, and further figures of its training."""

    format: str
    content: bytes
    library: str
    linear: Linear = ()
    figures: Mapping[str, object] = field(default_factory=dict)


def fit_xgboost(sample: Sample) -> Fitted:
    """Boosted trees by XGBoost."""
    xgboost = load_library("xgboost")
    options = _rename("xgboost", sample)
    rounds, stopping = options.pop("num_boost_round", 100), options.pop("early_stopping", None)
    objective = str(options.pop("objective", ""))
    if sample.task == "classification":
        _check_classes(objective, sample, "binary")
        if objective in {"", "classification"}:
            objective = "binary:logistic" if sample.classes == 2 else "multi:softprob"
        if objective.startswith("multi"):
            objective = "multi:softprob"  # the same trees as softmax, whose scores are classes
            options["num_class"] = sample.classes
    elif objective in {"", "regression"}:
        objective = "reg:squarederror"
    kinds = ["c" if place in sample.texts else "q" for place in range(sample.matrix.shape[1])]

    def as_data(rows: tuple[Matrix, Target]) -> Any:
        return xgboost.DMatrix(rows[0], label=rows[1], feature_types=kinds, enable_categorical=True)

    try:
        checked = [] if sample.validation is None else [(as_data(sample.validation), "validation")]
        booster = xgboost.train(
            {"objective": objective, **options}, as_data((sample.matrix, sample.target)), rounds, evals=checked,
            early_stopping_rounds=stopping, verbose_eval=False,
        )  # fmt: skip
    except (xgboost.core.XGBoostError, ValueError) as error:
        raise _refused(error) from None
    figures: dict[str, object] = {}
    if stopping:
        booster = booster[: booster.best_iteration + 1]
        figures["trees"] = booster.num_boosted_rounds()
    names = xgboost.__version__
    return Fitted("xgboost", bytes(booster.save_raw("ubj")), f"xgboost {names}", figures=figures)


def fit_lightgbm(sample: Sample) -> Fitted:
    """Boosted trees by LightGBM."""
    lightgbm = load_library("lightgbm")
    options = _rename("lightgbm", sample)
    rounds, stopping = options.pop("num_boost_round", 100), options.pop("early_stopping", None)
    objective = str(options.pop("objective", ""))
    if sample.task == "classification":
        _check_classes(objective, sample, "binary")
        if objective in {"", "classification"}:
            objective = "binary" if sample.classes == 2 else "multiclass"
        if objective.startswith("multi"):
            options["num_class"] = sample.classes
    options = {"objective": objective or "regression", "verbosity": -1, **options}
    categorical = list(sample.texts)
    data = lightgbm.Dataset(sample.matrix, sample.target, categorical_feature=categorical, params={"verbosity": -1})
    checked = []
    if sample.validation is not None:
        checked = [data.create_valid(sample.validation[0], sample.validation[1])]
    callbacks = [lightgbm.early_stopping(stopping, verbose=False)] if stopping else []
    try:
        booster = lightgbm.train(options, data, rounds, valid_sets=checked, callbacks=callbacks)
    except (lightgbm.basic.LightGBMError, ValueError) as error:
        raise _refused(error) from None
    figures: dict[str, object] = {"trees": booster.best_iteration} if stopping else {}
    text = booster.model_to_string(num_iteration=booster.best_iteration if stopping else None)
    return Fitted("lightgbm", text.encode(), f"lightgbm {lightgbm.__version__}", figures=figures)


def fit_random_forest(sample: Sample) -> Fitted:
    """A random forest by scikit-learn."""
    ensemble = load_library("sklearn.ensemble")
    options = _rename("random_forest", sample)
    options.pop("objective", None)
    classifies = sample.task == "classification"
    made = ensemble.RandomForestClassifier if classifies else ensemble.RandomForestRegressor
    options["random_state"] = options.pop("seed", 0)
    try:
        forest = made(n_jobs=-1, **options).fit(sample.matrix, sample.target)
    except ValueError as error:
        raise _refused(error) from None
    arrays: dict[str, Any] = {"classes": np.array(sample.classes), "features": np.array(sample.matrix.shape[1])}
    for number, estimator in enumerate(forest.estimators_):
        state = estimator.tree_.__getstate__()
        arrays[f"nodes{number}"], arrays[f"values{number}"] = state["nodes"], state["values"]
        arrays[f"depth{number}"] = np.array(state["max_depth"])
    return Fitted("forest", pack(arrays), _sklearn_version())


def fit_linear(sample: Sample) -> Fitted:
    """Ordinary least squares by scikit-learn."""
    model = load_library("sklearn.linear_model").LinearRegression().fit(sample.matrix, sample.target)
    return _make_linear(model.coef_[None, :], np.array([model.intercept_]))


def fit_ridge(sample: Sample) -> Fitted:
    """Least squares with a penalty on the squares of coefficients, by scikit-learn."""
    options = _rename("ridge", sample)
    options.pop("seed", None)
    model = load_library("sklearn.linear_model").Ridge(**options).fit(sample.matrix, sample.target)
    return _make_linear(model.coef_[None, :], np.array([model.intercept_]))


def fit_logistic(sample: Sample) -> Fitted:
    """Logistic regression by scikit-learn; of more than two classes by one vector of scores each."""
    options = _rename("logistic", sample)
    options["random_state"] = options.pop("seed", 0)
    options.setdefault("max_iter", 1000)
    model = load_library("sklearn.linear_model").LogisticRegression(**options).fit(sample.matrix, sample.target)
    figures = {"iterations": int(np.max(model.n_iter_)), "converged": bool(np.max(model.n_iter_) < options["max_iter"])}
    return _make_linear(model.coef_, model.intercept_, figures)


def fit_kmeans(sample: Sample) -> Fitted:
    """Clusters by scikit-learn's k-means. Nearest is the center c with the greatest 2 c x - c c."""
    options = _rename("kmeans", sample)
    options["random_state"] = options.pop("seed", 0)
    if int(options.get("n_clusters", 8)) > len(sample.matrix):
        raise SqlError.of("invalid_parameter_value", "there are fewer rows than clusters")
    model = load_library("sklearn.cluster").KMeans(**options).fit(sample.matrix)
    centers = model.cluster_centers_
    sizes = np.bincount(model.labels_, minlength=len(centers)).tolist()
    figures = {"inertia": float(model.inertia_), "iterations": int(model.n_iter_), "sizes": sizes}
    return _make_linear(2 * centers, -(centers**2).sum(axis=1), figures)


def _make_linear(
    coefficients: npt.NDArray[Any], intercepts: npt.NDArray[Any], figures: Mapping[str, object] | None = None
) -> Fitted:
    content = pack({"coefficients": coefficients, "intercepts": intercepts})
    linear = tuple((tuple(row), each) for row, each in zip(coefficients.tolist(), intercepts.tolist(), strict=True))
    return Fitted("linear", content, _sklearn_version(), linear, figures or {})


def pack(arrays: Mapping[str, Any]) -> bytes:
    """Returns arrays as the bytes of an npz file."""
    target = io.BytesIO()
    np.savez_compressed(target, allow_pickle=False, **arrays)
    return target.getvalue()


def _rename(kind: str, sample: Sample) -> dict[str, Any]:
    """Returns the parameters by the library's names, without the share of rows for validation."""
    known = PARAMETERS[kind]
    chosen = {name: value for name, value in sample.parameters.items() if name != "validation"}
    return {known[name].name if name in known else name: value for name, value in chosen.items()}


def _check_classes(objective: str, sample: Sample, binary: str) -> None:
    if objective.startswith(binary) and sample.classes != 2:
        message = f'objective "{objective}" needs a target of two classes, not {sample.classes}'
        raise SqlError.of("invalid_parameter_value", message)


def _sklearn_version() -> str:
    return f"scikit-learn {load_library('sklearn').__version__}"


def _refused(error: Exception) -> SqlError:
    return make_refusal("train this model", error)


FITTERS: Mapping[str, Callable[[Sample], Fitted]] = {
    "xgboost": fit_xgboost,
    "lightgbm": fit_lightgbm,
    "random_forest": fit_random_forest,
    "linear": fit_linear,
    "ridge": fit_ridge,
    "logistic": fit_logistic,
    "kmeans": fit_kmeans,
}
"""What fits each kind of model."""
