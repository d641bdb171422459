"""How well a model fits rows: errors of regressions, accuracy and losses of classifications."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gpudb.analytics.encoding import Matrix
from gpudb.analytics.formats import Scorer, Scores

_CHUNK = 1 << 18
"""Rows that are scored at once."""


def score_all(task: str, scorer: Scorer, matrix: Matrix) -> Scores:
    """Returns the scores of rows; of clusters, whose scores have no figures, none."""
    if task == "clustering":
        return np.empty(0)
    return np.concatenate([scorer.score(matrix[place : place + _CHUNK]) for place in range(0, len(matrix), _CHUNK)])


def measure(task: str, scores: Scores, target: npt.NDArray[Any], *, linear: bool, rows: int) -> dict[str, float | int]:
    """Returns the figures of the scores of some rows; those of clusters are their number of rows alone.

    `linear` is whether a classifier's scores are those before the logistic function or softmax.
    """
    found: dict[str, float | int] = {"rows": rows}
    if task == "clustering":
        return found
    scores = scores.astype(np.float64)
    if task == "regression":
        return found | _measure_numbers(scores, target)
    return found | _measure_classes(scores, target, linear=linear)


def _measure_numbers(scores: Scores, target: npt.NDArray[Any]) -> dict[str, float | int]:
    errors = scores - target
    squares = float(np.mean(errors**2))
    spread = float(np.var(target))
    figures: dict[str, float | int] = {"rmse": squares**0.5, "mae": float(np.mean(np.abs(errors)))}
    if spread:
        figures["r2"] = 1 - squares / spread
    return figures


def _measure_classes(scores: Scores, target: npt.NDArray[Any], *, linear: bool) -> dict[str, float | int]:
    if scores.ndim == 1:
        likely = scores if not linear else 1 / (1 + np.exp(-np.clip(scores, -700, 700)))
        chosen = (likely > 0.5).astype(np.int64)
        own = np.where(target == 1, likely, 1 - likely)
    else:
        powers = np.exp(scores - scores.max(axis=1, keepdims=True)) if linear else scores
        chosen = powers.argmax(axis=1)
        own = (powers / powers.sum(axis=1, keepdims=True))[np.arange(len(target)), target]
    loss = float(-np.mean(np.log(np.clip(own, 1e-15, 1))))
    figures: dict[str, float | int] = {"accuracy": float(np.mean(chosen == target)), "log_loss": loss}
    if scores.ndim == 1 and 0 < (positive := int(target.sum())) < len(target):
        figures["auc"] = _measure_area(scores, target == 1, positive)
    return figures


def _measure_area(scores: Scores, is_positive: npt.NDArray[np.bool_], positive: int) -> float:
    """The area under the ROC curve, by the ranks of scores; equal ones share the mean of their ranks."""
    _, places, counts = np.unique(scores, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    ranks = (ends - (counts - 1) / 2)[places]
    others = len(scores) - positive
    return float((ranks[is_positive].sum() - positive * (positive + 1) / 2) / (positive * others))
