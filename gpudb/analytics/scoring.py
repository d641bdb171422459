"""Scoring of rows by models, which a child process serves: models are loaded once and kept."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from gpudb.analytics.encoding import make_matrix
from gpudb.analytics.formats import Scorer, as_probabilities, open_content
from gpudb.lru import LruCache
from gpudb.processes.serving import ask

KEPT_BYTES = 1 << 30
"""The bytes of the models that a process keeps, at most; the last one is kept whatever its size."""


@dataclass(frozen=True, slots=True)
class Scoring:
    """How rows are scored. `key` names a version of a model of all databases; its bytes are asked for by it.

    `output` is value, label (the number of the class) or probability: of the second of two classes, or of each one.
    """

    key: str
    format: str
    task: str
    output: str
    categories: tuple[tuple[str, ...] | None, ...]
    one_hot: bool
    complete: bool


_models: LruCache[str, tuple[Scorer, int]] = LruCache(64, weigh=lambda held: held[1], limit=KEPT_BYTES)


def score(scoring: Scoring, columns: list[pa.Array]) -> pa.Array:
    """Returns a value for each row of columns of features: doubles, numbers of classes, or lists of doubles.

    A NULL feature is missing to trees; to models that need `complete` rows it makes the result NULL.
    """
    model = _load(scoring)
    matrix = make_matrix(columns, scoring.categories, one_hot=scoring.one_hot)
    scores = model.score(matrix)
    missing = np.isnan(matrix).any(axis=1) if scoring.complete else None
    if scoring.output == "label":
        threshold = 0.0 if scoring.format == "linear" else 0.5
        chosen = scores > threshold if scores.ndim == 1 else scores.argmax(axis=1)
        return pa.array(chosen.astype(np.int32), mask=missing)
    if scoring.output == "probability":
        scores = as_probabilities(scoring.format, scores)
    if scores.ndim == 1:
        return pa.array(scores.astype(np.float64), mask=missing)
    width = scores.shape[1]
    offsets = np.arange(0, scores.size + 1, width, dtype=np.int32)
    values = pa.array(scores.astype(np.float64).ravel())
    return pa.ListArray.from_arrays(pa.array(offsets), values, mask=None if missing is None else pa.array(missing))


def _load(scoring: Scoring) -> Scorer:
    held = _models.get(scoring.key)
    if held is None:
        content = ask(scoring.key)
        held = open_content(scoring.format, content), len(content)
        _models.put(scoring.key, held)
    return held[0]
