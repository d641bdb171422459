"""Relation.dmatrix: the same model as XGBoost's own matrices give, in memory and from files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpudb.api import Connection
from gpudb.errors import GpudbError

xgboost = pytest.importorskip("xgboost")

MAKE = """
CREATE TABLE t AS SELECT i AS id, (i * 7919 % 1000)::int AS a, nullif(i * 104729 % 997, 5) / 10.0 AS b, i % 5 AS kind,
    (i * 7919 % 1000 > 500)::int + i % 5 AS y, 1 + i % 3 AS w FROM generate_series(1, 3000) AS i
"""


@pytest.fixture
def rows(db: Connection) -> Any:
    """Rows with numbers, decimals, NULLs, categories, a label and weights."""
    db.execute(MAKE)
    return db.table("t").order("id").select("a", "b", "kind", "y", "w")


def _train(matrix: Any) -> Any:
    return xgboost.train(
        {"tree_method": "hist", "max_depth": 3, "seed": 1, "nthread": 2, "max_bin": 64}, matrix, num_boost_round=5
    )


@pytest.mark.parametrize("external", [False, True])
def test_the_model_is_that_of_arrays(
    rows: Any, external: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gpudb.api.training.dmatrix._BATCH_ROWS", 700)
    matrix = rows.dmatrix(
        "y", weight="w", categories=["kind"], max_bin=64, external_memory=external, cache_dir=tmp_path
    )
    assert isinstance(matrix, xgboost.ExtMemQuantileDMatrix if external else xgboost.QuantileDMatrix)
    assert (matrix.num_row(), matrix.num_col()) == (3000, 3)
    assert matrix.feature_names == ["a", "b", "kind"]
    assert matrix.feature_types == ["q", "q", "c"]
    arrays = rows.numpy()
    np.testing.assert_array_equal(matrix.get_label(), arrays["y"])
    np.testing.assert_array_equal(matrix.get_weight(), arrays["w"])
    own = xgboost.QuantileDMatrix(
        rows.select("a", "b", "kind").block(),
        arrays["y"],
        weight=arrays["w"],
        feature_names=["a", "b", "kind"],
        feature_types=["q", "q", "c"],
        enable_categorical=True,
        max_bin=64,
    )
    mine, theirs = _train(matrix), _train(own)
    errors = [float(np.abs(model.predict(own) - arrays["y"]).mean()) for model in (mine, theirs)]
    assert errors[0] == pytest.approx(errors[1], rel=0.02)
    assert errors[1] < np.abs(arrays["y"].mean() - arrays["y"]).mean()
    assert matrix.num_nonmissing() == own.num_nonmissing() == 9000 - int(np.isnan(arrays["b"]).sum())
    if external:
        assert list(tmp_path.iterdir())
        del matrix, mine
        assert not list(tmp_path.iterdir())


def test_validation_takes_the_bins_of_training(rows: Any) -> None:
    training, validation = rows.limit(2000), rows.limit(1000, 2000)
    matrix = training.dmatrix("y")
    other = validation.dmatrix("y", reference=matrix)
    log: dict[str, Any] = {}
    xgboost.train(
        {"tree_method": "hist"}, matrix, 3, evals=[(other, "validation")], evals_result=log, verbose_eval=False
    )
    assert log["validation"]["rmse"][-1] < log["validation"]["rmse"][0]


def test_groups_of_a_ranking(db: Connection) -> None:
    ranked = db.sql("SELECT i / 10 AS q, i % 3 AS y, i % 7 AS a FROM generate_series(0, 99) AS i ORDER BY i")
    xgboost.train({"objective": "rank:ndcg"}, ranked.dmatrix("y", qid="q"), 2)


@pytest.mark.parametrize(
    ("query", "options", "sqlstate"),
    [
        ("SELECT 1 AS a, 2 AS y", {"label": "z"}, "42703"),
        ("SELECT 1 / (i - i) AS a FROM generate_series(1, 2) AS i", {"label": "z"}, "42703"),  # before it runs
        ("SELECT 1 AS a, 2 AS y", {"label": "y", "categories": ["b"]}, "42703"),
        ("SELECT 1 AS y", {"label": "y"}, "22023"),
        ("SELECT 1 AS a, nullif(1, 1)::float8 AS y", {"label": "y"}, "22004"),
        ("SELECT 'x' AS a, 1 AS y", {"label": "y"}, "0A000"),
        ("SELECT 1 AS a, nullif(1, 1) AS y", {"label": "y"}, "22004"),
    ],
)
@pytest.mark.parametrize("external", [False, True])
def test_errors(db: Connection, query: str, options: dict[str, Any], sqlstate: str, external: bool) -> None:
    with pytest.raises(GpudbError) as caught:
        db.sql(query).dmatrix(external_memory=external, **options)
    assert caught.value.sqlstate == sqlstate


@pytest.mark.parametrize("external", [False, True])
def test_null_is_missing_in_columns_of_any_type(db: Connection, external: bool) -> None:
    rows = db.sql(
        "SELECT nullif(i, 1) AS a, nullif(i, 2)::numeric AS b, i > 2 OR NULL AS c, i AS y FROM generate_series(1, 4) i"
    )
    matrix = rows.dmatrix("y", external_memory=external)
    assert (matrix.num_row(), matrix.num_nonmissing()) == (4, 3 + 3 + 2)
