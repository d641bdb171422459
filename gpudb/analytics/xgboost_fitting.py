"""Boosted trees by XGBoost: on a GPU that has room, where the library was built for it, else on the CPU."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpudb.analytics.devices import find_shortage, load_cupy
from gpudb.analytics.encoding import Matrix
from gpudb.analytics.libraries import load_library
from gpudb.analytics.samples import Fitted, Sample, Target, check_classes, make_fit_refusal, rename_parameters

_MATRIX_COPIES = 3
"""Bytes of GPU memory by those of the features: they, their quantiles, and what sorts them."""
_ROW_BYTES = 64
"""Bytes of GPU memory for a row's gradients, places in trees and scores."""


def fit_xgboost(sample: Sample) -> Fitted:
    """Fits boosted trees."""
    xgboost = load_library("xgboost")
    options, rounds, stopping = _read_options(sample)
    device, notice = _choose_device(xgboost, sample)
    kinds = ["c" if place in sample.texts else "q" for place in range(sample.matrix.shape[1])]
    try:
        data = _make_data(xgboost, (sample.matrix, sample.target), kinds, device, options)
        checked = []
        if sample.validation is not None:
            checked = [_make_data(xgboost, sample.validation, kinds, device, options, data)]
        booster = xgboost.train(
            {"device": device, **options}, data, rounds, evals=[(each, "validation") for each in checked],
            early_stopping_rounds=stopping, verbose_eval=False,
        )  # fmt: skip
        figures: dict[str, object] = {"device": device} if device != "cpu" else {}
        if stopping:
            booster = booster[: booster.best_iteration + 1]
            figures["trees"] = booster.num_boosted_rounds()
        # The library scores its own rows fastest: it has them as quantiles, which keep them on their side of a test
        scores = tuple(np.asarray(booster.predict(each)) for each in (data, *checked))
    except (xgboost.core.XGBoostError, ValueError) as error:
        raise make_fit_refusal(error) from None
    content = bytes(booster.save_raw("ubj"))
    return Fitted("xgboost", content, f"xgboost {xgboost.__version__}", (), figures, scores, notice)


def _read_options(sample: Sample) -> tuple[dict[str, Any], int, int | None]:
    """Returns the library's parameters, the number of trees, and after how many without gain it stops."""
    options = rename_parameters("xgboost", sample)
    rounds, stopping = options.pop("num_boost_round", 100), options.pop("early_stopping", None)
    objective = str(options.pop("objective", ""))
    if sample.task == "classification":
        check_classes(objective, sample, "binary")
        if objective in {"", "classification"}:
            objective = "binary:logistic" if sample.classes == 2 else "multi:softprob"
        if objective.startswith("multi"):
            objective = "multi:softprob"  # the same trees as softmax, whose scores are classes
            options["num_class"] = sample.classes
    elif objective in {"", "regression"}:
        objective = "reg:squarederror"
    return {"objective": objective, **options}, rounds, stopping


def _choose_device(xgboost: Any, sample: Sample) -> tuple[str, str]:
    """Returns where to fit, and a notice if that is not the GPU which is there."""
    if load_cupy() is None or not xgboost.build_info().get("USE_CUDA"):
        return "cpu", ""
    rows, width = sample.matrix.shape
    held = 0 if sample.validation is None else len(sample.validation[0])
    shortage = find_shortage((rows + held) * (_MATRIX_COPIES * 4 * width + _ROW_BYTES))
    return ("cuda", "") if shortage is None else ("cpu", f"the model is trained on the CPU: {shortage}")


def _make_data(
    xgboost: Any, rows: tuple[Matrix, Target], kinds: list[str], device: str, options: dict[str, Any], known: Any = None
) -> Any:
    """Returns rows as the library takes them, on the GPU as quantiles; those of `known` are the same."""
    matrix, label = rows
    facts: dict[str, Any] = {"feature_types": kinds, "enable_categorical": True}
    if device == "cpu":
        return xgboost.DMatrix(matrix, label=label, **facts)
    cupy = load_cupy()
    assert cupy is not None
    if not np.isfinite(matrix).all() and np.isinf(matrix).any():
        raise ValueError("Input data contains `inf` or a value too large")
    if "max_bin" in options:
        facts["max_bin"] = options["max_bin"]
    return xgboost.QuantileDMatrix(cupy.asarray(matrix), label=cupy.asarray(label), ref=known, **facts)
