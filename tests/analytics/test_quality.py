"""The figures of models are scikit-learn's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics

from gpudb.analytics.quality import measure


@settings(max_examples=25, deadline=None)
@given(st.integers(2, 60), st.integers(0, 2**31))
def test_regressions(rows: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    scores, target = random.normal(size=rows), random.normal(size=rows)
    found = measure("regression", scores, target, linear=False, rows=rows)
    assert found["rows"] == rows
    assert found["rmse"] == pytest.approx(metrics.root_mean_squared_error(target, scores))
    assert found["mae"] == pytest.approx(metrics.mean_absolute_error(target, scores))
    assert found["r2"] == pytest.approx(metrics.r2_score(target, scores))


@settings(max_examples=25, deadline=None)
@given(st.integers(2, 60), st.integers(0, 2**31), st.booleans())
def test_two_classes(rows: int, seed: int, linear: bool) -> None:
    random = np.random.default_rng(seed)
    target = np.append([0, 1], random.integers(0, 2, rows))
    # few different scores, so that some are equal
    scores = random.integers(-3, 4, rows + 2) if linear else random.integers(1, 10, rows + 2) / 11
    likely = 1 / (1 + np.exp(-scores)) if linear else scores
    found = measure("classification", scores.astype(float), target, linear=linear, rows=rows + 2)
    assert found["accuracy"] == pytest.approx(metrics.accuracy_score(target, likely > 0.5))
    assert found["log_loss"] == pytest.approx(metrics.log_loss(target, likely, labels=[0, 1]))
    assert found["auc"] == pytest.approx(metrics.roc_auc_score(target, scores))


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 40), st.integers(0, 2**31))
def test_three_classes(rows: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    target, scores = random.integers(0, 3, rows), random.normal(size=(rows, 3))
    powers = np.exp(scores)
    likely = powers / powers.sum(axis=1, keepdims=True)
    for matrix, linear in ((scores, True), (likely, False)):
        found = measure("classification", matrix, target, linear=linear, rows=len(target))
        assert found["accuracy"] == pytest.approx(metrics.accuracy_score(target, likely.argmax(axis=1)))
        assert found["log_loss"] == pytest.approx(metrics.log_loss(target, likely, labels=[0, 1, 2]))
        assert "auc" not in found


def test_one_class_has_no_area() -> None:
    found = measure("classification", np.array([0.2, 0.7]), np.array([1, 1]), linear=False, rows=2)
    assert "auc" not in found
    assert found["accuracy"] == 0.5


def test_a_constant_target_has_no_r2() -> None:
    found = measure("regression", np.array([1.0, 3.0]), np.array([2.0, 2.0]), linear=False, rows=2)
    assert found == {"rows": 2, "rmse": 1.0, "mae": 1.0}
