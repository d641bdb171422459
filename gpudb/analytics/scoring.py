"""Scoring of rows by models, which a child process serves: models are loaded once and kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from gpudb.analytics.encoding import make_matrix
from gpudb.analytics.formats import Scorer, as_probabilities, open_content
from gpudb.analytics.libraries import make_refusal
from gpudb.analytics.onnx_model import OnnxModel
from gpudb.errors import SqlError
from gpudb.lru import LruCache
from gpudb.processes.serving import ask

KEPT_BYTES = 1 << 30
"""The bytes of the models that a process keeps, at most; the last one is kept whatever its size."""


@dataclass(frozen=True, slots=True)
class Scoring:
    """How rows are scored. `key` names a version of a model of all databases; its bytes are asked for by it.

    `output` is value, label (the number of the class) or probability: of the second of two classes, or of each one;
    of models from files also vector (all values of a row) and text. `result` names an output of a model in ONNX.
    """

    key: str
    format: str
    output: str
    categories: tuple[tuple[str, ...] | None, ...]
    one_hot: bool
    complete: bool
    result: str = ""


_models: LruCache[str, tuple[Scorer | OnnxModel, int]] = LruCache(64, weigh=lambda held: held[1], limit=KEPT_BYTES)


def score(scoring: Scoring, columns: list[pa.Array]) -> pa.Array:
    """Returns a value for each row of columns of features: doubles, numbers of classes, or lists of doubles.

    A NULL feature is missing to trees; to models that need `complete` rows it makes the result NULL, NaN does not.
    """
    return compute(_load(scoring), scoring, columns)


def compute(model: Scorer | OnnxModel, scoring: Scoring, columns: list[pa.Array]) -> pa.Array:
    """Scores rows by a model that is loaded; 22023 for results that are not of the output's kind."""
    missing: Any = None
    if scoring.complete:
        missing = np.any(np.stack([each.is_null().to_numpy(zero_copy_only=False) for each in columns]), axis=0)
    if isinstance(model, OnnxModel):
        filled = [each.fill_null("" if pa.types.is_string(each.type) else 0) for each in columns]
        return _finish(model.compute(filled, scoring.result), scoring.output, missing)
    matrix = make_matrix(columns, scoring.categories, one_hot=scoring.one_hot)
    try:
        scores: npt.NDArray[Any] = model.score(matrix)
    except ValueError as error:
        raise make_refusal("score these rows", error) from None
    if scoring.output == "label":
        threshold = 0.0 if scoring.format == "linear" else 0.5
        # NaN is greater than all numbers, as it is to PostgreSQL
        scores = ~(scores <= threshold) if scores.ndim == 1 else scores.argmax(axis=1)
    elif scoring.output == "probability":
        scores = as_probabilities(scoring.format, scores)
        return _finish(scores, "value" if scores.ndim == 1 else "vector", missing)
    return _finish(scores, scoring.output, missing)


def _finish(scores: npt.NDArray[Any], output: str, missing: npt.NDArray[np.bool_] | None) -> pa.Array:
    """Returns an array of rows, or of rows by values, as a column; NULL where a feature is missing."""
    if scores.ndim == 2 and scores.shape[1] == 1 and output != "vector":
        scores = scores[:, 0]
    if scores.ndim != (2 if output == "vector" else 1):
        shape = f"{scores.shape[1]} values" if scores.ndim == 2 else "one value" if scores.ndim == 1 else "a tensor"
        message = f"the model gives {shape} for a row, which its function does not return"
        raise SqlError.of("invalid_parameter_value", message)
    if output == "vector":
        offsets = pa.array(np.arange(0, scores.size + 1, scores.shape[1], dtype=np.int32))
        values = pa.array(scores.astype(np.float64).ravel())
        return pa.ListArray.from_arrays(offsets, values, mask=None if missing is None else pa.array(missing))
    if scores.dtype.kind in "OUS":
        if output != "text":
            raise SqlError.of("invalid_parameter_value", "the model gives texts, which its function does not return")
        return pa.array(scores.astype(object), pa.string(), mask=missing)
    if output == "text":
        raise SqlError.of("invalid_parameter_value", "the model gives numbers, but its function returns text")
    if output == "label":
        if scores.dtype.kind not in "biu":
            message = "the model gives fractions, but its function returns classes"
            raise SqlError.of("invalid_parameter_value", message)
        whole = scores if scores.dtype == np.uint64 else scores.astype(np.int64)
        return pa.array(whole, mask=missing)
    return pa.array(scores.astype(np.float64), mask=missing)


def _load(scoring: Scoring) -> Scorer | OnnxModel:
    held = _models.get(scoring.key)
    if held is None:
        content = ask(scoring.key)
        held = open_content(scoring.format, content), len(content)
        _models.put(scoring.key, held)
    return held[0]
