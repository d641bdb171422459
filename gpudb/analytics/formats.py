"""Formats of models' bytes: each is opened as a scorer of matrices. None is a pickle."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from gpudb.analytics.dense_model import open_dense
from gpudb.analytics.encoding import Matrix
from gpudb.analytics.libraries import load_library
from gpudb.analytics.onnx_model import OnnxModel
from gpudb.analytics.torchscript_model import TorchScriptModel
from gpudb.errors import SqlError

Scores = npt.NDArray[np.floating[Any]]


class Scorer(Protocol):
    """A model that is loaded."""

    def score(self, matrix: Matrix) -> Scores:
        """Returns the scores of a matrix of rows by features.

        A regression has one for each row; a classifier of two classes the probability of the second one; any other
        classifier, and clusters, one for each class, by rows.
        """


class _Booster:
    """Boosted trees of XGBoost."""

    def __init__(self, content: bytes) -> None:
        self._model = load_library("xgboost").Booster()
        self._model.load_model(bytearray(content))
        self.width = int(self._model.num_features())

    def score(self, matrix: Matrix) -> Scores:
        """Scores by all trees."""
        with np.errstate(over="ignore"):
            rows = matrix.astype(np.float32, copy=False)
        scores: Scores = self._model.inplace_predict(rows, validate_features=False)
        return scores


class _LightBooster:
    """Boosted trees of LightGBM."""

    def __init__(self, content: bytes) -> None:
        self._model = load_library("lightgbm").Booster(model_str=content.decode())
        self.width = int(self._model.num_feature())

    def score(self, matrix: Matrix) -> Scores:
        """Scores by all trees."""
        return np.asarray(self._model.predict(matrix.astype(np.float64, copy=False)))


class _Forest:
    """A forest of scikit-learn's trees: its scores are the means of theirs."""

    def __init__(self, content: bytes) -> None:
        tree = load_library("sklearn.tree._tree").Tree
        arrays = np.load(io.BytesIO(content), allow_pickle=False)
        self._classes, width = int(arrays["classes"]), int(arrays["features"])
        counts = np.array([max(self._classes, 1)], dtype=np.intp)
        self._trees = []
        for number in range(sum(name.startswith("nodes") for name in arrays.files)):
            nodes, values = arrays[f"nodes{number}"], arrays[f"values{number}"]
            each = tree(width, counts, 1)
            state = {"max_depth": int(arrays[f"depth{number}"]), "node_count": len(nodes)}
            each.__setstate__({**state, "nodes": nodes, "values": values})
            self._trees.append(each)

    def score(self, matrix: Matrix) -> Scores:
        """Means over the trees, added one after the other as scikit-learn does."""
        with np.errstate(over="ignore"):
            rows = np.ascontiguousarray(matrix, dtype=np.float32)
        total: Scores = np.zeros((len(rows), max(self._classes, 1)))
        for each in self._trees:
            total += each.predict(rows).reshape(total.shape)
        total /= len(self._trees)
        return total if self._classes > 2 else total[:, -1]


class _Linear:
    """Linear scores: those of regressions, of logistic regressions, and of clusters."""

    def __init__(self, content: bytes) -> None:
        arrays = np.load(io.BytesIO(content), allow_pickle=False)
        self._coefficients, self._intercepts = arrays["coefficients"], arrays["intercepts"]

    def score(self, matrix: Matrix) -> Scores:
        """Sums of products; one column is returned flat."""
        scores: Scores = matrix @ self._coefficients.T + self._intercepts
        return scores[:, 0] if scores.shape[1] == 1 else scores


OPENERS: Mapping[str, Callable[[bytes], Scorer | OnnxModel]] = {
    "xgboost": _Booster,
    "lightgbm": _LightBooster,
    "forest": _Forest,
    "linear": _Linear,
    "safetensors": open_dense,
    "onnx": OnnxModel,
    "torchscript": TorchScriptModel,
}


def open_content(format: str, content: bytes) -> Scorer | OnnxModel:
    """Loads a model; XX001 for bytes that are no model of that format."""
    try:
        return OPENERS[format](content)
    except SqlError:
        raise
    except Exception as error:
        message = f"the bytes are no model that {format} can read"
        raise SqlError.of("data_corrupted", message, detail=str(error).partition("Stack trace")[0].strip()) from None


def as_probabilities(format: str, scores: Scores) -> Scores:
    """Returns a classifier's scores as probabilities: linear ones by the logistic function or softmax."""
    if format != "linear":
        return scores
    if scores.ndim == 1:
        return 1 / (1 + np.exp(-np.clip(scores, -700, 700)))
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    likely: Scores = powers / powers.sum(axis=1, keepdims=True)
    return likely
