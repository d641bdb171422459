"""Training of a model, which a child process serves: it asks for the rows batch by batch and fits a library's model."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from gpudb.analytics import formats
from gpudb.analytics.encoding import Categories, Matrix, find_categories, make_matrix, to_numbers
from gpudb.analytics.fitting import FITTERS
from gpudb.analytics.onnx_model import OnnxModel
from gpudb.analytics.parameters import Task, Value
from gpudb.analytics.quality import measure, score_all
from gpudb.analytics.received import read_rows
from gpudb.analytics.samples import Fitted, Sample
from gpudb.errors import SqlError

ONE_HOT = frozenset({"linear", "ridge", "logistic", "kmeans", "random_forest"})
"""Kinds of models to which a text is a column of zeros and ones for each category."""
_COMPLETE = frozenset({"linear", "ridge", "logistic", "kmeans"})
"""Kinds of models that are trained with rows without a NULL alone."""


@dataclass(frozen=True, slots=True)
class Training:
    """What is to be trained. `names` are the features; batches of rows have them in order, and the target last.

    A target is numbers for regression, else texts, integers or booleans.
    """

    kind: str
    task: Task
    names: tuple[str, ...]
    parameters: Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class Trained:
    """A trained model: its bytes in `format`, or `linear` scores, one row of coefficients and an intercept each.

    `labels` are the texts of the classes, in the order of their scores; `metrics` is JSON.
    """

    categories: tuple[tuple[str, ...] | None, ...]
    labels: tuple[str, ...]
    rows: int
    metrics: str
    library: str
    format: str
    content: bytes
    linear: tuple[tuple[tuple[float, ...], float], ...] = ()
    notice: str = ""


def train(training: Training) -> Trained:
    """Trains a model on the rows that the parent answers to "rows", until it answers None.

    22023 without rows, for a target that is not a class or number, and for parameters that the library refuses.
    """
    rows = read_rows()
    has_target = training.task != "clustering"
    rows = _drop_incomplete(training, rows, has_target)
    if not rows.num_rows:
        raise SqlError.of("invalid_parameter_value", "the training query has no rows that a model can be trained on")
    width = len(training.names)
    categories = find_categories(rows.columns[:width], training.names)
    one_hot = training.kind in ONE_HOT
    dtype = np.float32 if training.kind in {"xgboost", "random_forest"} else np.float64
    matrix = make_matrix(rows.columns[:width], categories, one_hot=one_hot, dtype=dtype)
    if training.kind in _COMPLETE and not np.isfinite(matrix).all():
        raise SqlError.of("invalid_parameter_value", f"a model of kind {training.kind} needs finite features")
    labels: tuple[str, ...] = ()
    target = np.empty(0)
    if training.task == "classification":
        target, labels = _encode_labels(rows.column(width))
    elif has_target:
        target = to_numbers(rows.column(width).combine_chunks())
        if not np.isfinite(target).all():
            raise SqlError.of("invalid_parameter_value", "the target of a regression must be finite")
    return _fit(training, matrix, target, labels, tuple(categories))


def _drop_incomplete(training: Training, rows: pa.Table, has_target: bool) -> pa.Table:
    """Returns the rows with a target, and for some kinds those without NULL alone."""
    columns = rows.columns if training.kind in _COMPLETE else rows.columns[-1:] if has_target else []
    kept: Any = None
    for column in columns:
        valid = pc.is_valid(column)
        kept = valid if kept is None else pc.and_(kept, valid)
    return rows if kept is None else rows.filter(kept)


def _encode_labels(column: pa.ChunkedArray) -> tuple[npt.NDArray[Any], tuple[str, ...]]:
    """Returns the number of each row's class, and the classes' texts in their order; 22023 for a single class."""
    known = pc.unique(column)
    known = known.take(pc.sort_indices(known.cast(pa.int8()) if pa.types.is_boolean(known.type) else known))
    if len(known) < 2:
        raise SqlError.of("invalid_parameter_value", "the target of a classification needs at least two classes")
    codes = pc.index_in(column, value_set=known).combine_chunks()
    return codes.to_numpy(zero_copy_only=False).astype(np.int64), tuple(known.cast(pa.string()).to_pylist())


def _fit(
    training: Training, matrix: Matrix, target: npt.NDArray[Any], labels: tuple[str, ...], categories: Categories
) -> Trained:
    share = float(training.parameters.get("validation", 0))
    count = len(matrix)
    held = np.zeros(count, bool)
    if share:
        order = np.random.default_rng(int(training.parameters.get("seed", 0))).permutation(count)
        held[order[: int(count * share)]] = True
    if held.all() or (share and not held.any()):
        raise SqlError.of("invalid_parameter_value", "there are too few rows for a share of them to be for validation")
    texts = () if training.kind in ONE_HOT else tuple(place for place, each in enumerate(categories) if each)
    fit: Callable[[Sample], Fitted] = FITTERS[training.kind]
    has_target = training.task != "clustering"

    def part(chosen: npt.NDArray[np.bool_]) -> tuple[Matrix, npt.NDArray[Any]]:
        everything = bool(chosen.all())
        rows = matrix if everything else matrix[chosen]
        return rows, (target if everything or not has_target else target[chosen])

    kept = part(~held)
    checked = part(held) if share else None
    fitted = fit(Sample(*kept, len(labels), training.task, training.parameters, texts, checked))
    scorer = formats.open_content(fitted.format, fitted.content)
    assert not isinstance(scorer, OnnxModel)
    linear = fitted.format == "linear"

    def measure_part(number: int, rows: tuple[Matrix, npt.NDArray[Any]]) -> dict[str, float | int]:
        scores = fitted.scores[number] if fitted.scores else score_all(training.task, scorer, rows[0])
        return measure(training.task, scores, rows[1], linear=linear, rows=len(rows[0]))

    metrics = {"training": measure_part(0, kept), **fitted.figures}
    if checked is not None:
        metrics["validation"] = measure_part(1, checked)
    shown = json.dumps(metrics)
    if training.task == "clustering":
        labels = tuple(map(str, range(len(fitted.linear))))
    return Trained(
        tuple(categories),
        labels,
        count,
        shown,
        fitted.library,
        fitted.format,
        fitted.content,
        fitted.linear,
        fitted.notice,
    )
