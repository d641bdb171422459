"""Calls of scores by ensembles of trees over the columns of a frame, and their computation with NumPy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from gpudb.analytics.trees.ensemble import TreeEnsemble
from gpudb.analytics.trees.evaluation import score_rows


@dataclass(frozen=True, slots=True)
class TreeCall:
    """The score of the float64 `columns` by an ensemble, or with `label` the number of a class; NULL is missing."""

    name: str
    ensemble: TreeEnsemble
    columns: tuple[str, ...]
    label: bool


def compute_scores(frame: pl.DataFrame, call: TreeCall) -> list[pl.Series]:
    """Computes a call over a frame's rows; returns the result's column."""
    matrix = np.stack([frame[each].fill_null(float("nan")).to_numpy() for each in call.columns], axis=1)
    shape, tables = call.ensemble.shape, call.ensemble.tables
    made = score_rows(shape, tables, matrix, "label" if call.label else "value")
    return [pl.Series(call.name, made.astype(np.int32) if call.label else made)]
