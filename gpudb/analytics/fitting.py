"""Fitting of each kind of model by its library, to what `formats` can read: never a pickle."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from gpudb.analytics.libraries import load_library
from gpudb.analytics.samples import Fitted, Sample, check_classes, make_fit_refusal, rename_parameters
from gpudb.analytics.xgboost_fitting import fit_xgboost
from gpudb.errors import SqlError


def fit_lightgbm(sample: Sample) -> Fitted:
    """Boosted trees by LightGBM."""
    lightgbm = load_library("lightgbm")
    options = rename_parameters("lightgbm", sample)
    rounds, stopping = options.pop("num_boost_round", 100), options.pop("early_stopping", None)
    objective = str(options.pop("objective", ""))
    if sample.task == "classification":
        check_classes(objective, sample, "binary")
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
        raise make_fit_refusal(error) from None
    figures: dict[str, object] = {"trees": booster.best_iteration} if stopping else {}
    text = booster.model_to_string(num_iteration=booster.best_iteration if stopping else None)
    return Fitted("lightgbm", text.encode(), f"lightgbm {lightgbm.__version__}", figures=figures)


def fit_random_forest(sample: Sample) -> Fitted:
    """A random forest by scikit-learn."""
    ensemble = load_library("sklearn.ensemble")
    options = rename_parameters("random_forest", sample)
    options.pop("objective", None)
    classifies = sample.task == "classification"
    made = ensemble.RandomForestClassifier if classifies else ensemble.RandomForestRegressor
    options["random_state"] = options.pop("seed", 0)
    try:
        forest = made(n_jobs=-1, **options).fit(sample.matrix, sample.target)
    except ValueError as error:
        raise make_fit_refusal(error) from None
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
    options = rename_parameters("ridge", sample)
    options.pop("seed", None)
    model = load_library("sklearn.linear_model").Ridge(**options).fit(sample.matrix, sample.target)
    return _make_linear(model.coef_[None, :], np.array([model.intercept_]))


def fit_logistic(sample: Sample) -> Fitted:
    """Logistic regression by scikit-learn; of more than two classes by one vector of scores each."""
    options = rename_parameters("logistic", sample)
    options["random_state"] = options.pop("seed", 0)
    options.setdefault("max_iter", 1000)
    model = load_library("sklearn.linear_model").LogisticRegression(**options).fit(sample.matrix, sample.target)
    figures = {"iterations": int(np.max(model.n_iter_)), "converged": bool(np.max(model.n_iter_) < options["max_iter"])}
    return _make_linear(model.coef_, model.intercept_, figures)


def fit_kmeans(sample: Sample) -> Fitted:
    """Clusters by scikit-learn's k-means. Nearest is the center c with the greatest 2 c x - c c."""
    options = rename_parameters("kmeans", sample)
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


def _sklearn_version() -> str:
    return f"scikit-learn {load_library('sklearn').__version__}"


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
