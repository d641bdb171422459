"""Powers, quantiles, products, evidence and vectorizers equal those of other libraries, on every engine."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import category_encoders
import numpy as np
import pandas as pd
import pytest
import scipy.stats
from sklearn import preprocessing
from sklearn.model_selection import TimeSeriesSplit

import gpudb
from gpudb import ml
from gpudb.api import Connection, Relation
from gpudb.errors import GpudbError
from gpudb.ml.normal import render_quantile

NUMBERS = ["x", "z"]


@pytest.fixture
def frame() -> pd.DataFrame:
    """Rows of two numbers, one of them positive, two categories and a target of 0 and 1."""
    random = np.random.default_rng(3)
    rows = 240
    x = np.exp(random.normal(0, 1, rows)).round(3)
    x[:40] = 0.5  # one value has several quantiles
    return pd.DataFrame(
        {
            "id": range(rows),
            "x": x,
            "z": random.normal(-2, 5, rows).round(3),
            "c": random.choice(list("abcd"), rows),
            "h": random.choice([f"it's {number}" for number in range(100)], rows),
            "y": random.integers(0, 2, rows),
        }
    )


@pytest.fixture
def relation(db: Connection, frame: pd.DataFrame) -> Relation:
    """The same rows in a database."""
    return db.register("shaped", frame)


def read(relation: Relation, names: list[str]) -> np.ndarray:
    table = relation.order("id").select(*(f'"{name}"' for name in names)).arrow()
    return np.column_stack([column.to_numpy() for column in table.columns])


def test_powers_as_scikit_learn(relation: Relation, frame: pd.DataFrame) -> None:
    for mine, model, names in (
        (ml.PowerTransformer(NUMBERS), preprocessing.PowerTransformer(), NUMBERS),
        (ml.PowerTransformer("x", method="box-cox"), preprocessing.PowerTransformer(method="box-cox"), ["x"]),
        (ml.PowerTransformer("z", standardize=False), preprocessing.PowerTransformer(standardize=False), ["z"]),
    ):
        wanted = model.fit_transform(frame[names])
        found = mine.fit_transform(relation)
        np.testing.assert_allclose(list(mine.lambdas_.values()), model.lambdas_, atol=1e-4)
        np.testing.assert_allclose(read(found, names), wanted, atol=2e-3)
        np.testing.assert_allclose(read(mine.inverse_transform(found), names), frame[names], rtol=1e-6)
    with pytest.raises(GpudbError, match="positive"):
        ml.PowerTransformer("z", method="box-cox").fit(relation)


@pytest.mark.parametrize("distribution", ["uniform", "normal"])
@pytest.mark.parametrize("quantiles", [12, 100])
def test_quantiles_as_scikit_learn(
    db: Connection, relation: Relation, frame: pd.DataFrame, distribution: str, quantiles: int
) -> None:
    model = preprocessing.QuantileTransformer(
        n_quantiles=quantiles, output_distribution=distribution, subsample=None
    ).fit(frame[NUMBERS])
    mine = ml.QuantileTransformer(NUMBERS, n_quantiles=quantiles, output_distribution=distribution).fit(relation)
    np.testing.assert_allclose(read(mine.transform(relation), NUMBERS), model.transform(frame[NUMBERS]), atol=1e-8)
    others = pd.DataFrame({"id": range(4), "x": [-1.0, 0.5, 0.51, 1e9], "z": [-1e9, -2.0, 0.0, 1e9]})
    found = read(mine.transform(db.register("others", others)), NUMBERS)
    np.testing.assert_allclose(found, model.transform(others[NUMBERS]), atol=1e-8)


def test_the_normal_quantile(db: Connection) -> None:
    p = np.concatenate([[1e-300, 1e-12, 0.07, 0.0749999, 0.075, 0.5, 0.925, 1 - 1e-12], np.linspace(0.001, 0.999, 40)])
    found = db.register("shares", pd.DataFrame({"p": p})).select("p", f"{render_quantile('p')} AS q").order("p")
    np.testing.assert_allclose(read_column(found, 1), scipy.stats.norm.ppf(np.sort(p)), rtol=1e-13, atol=1e-15)


def read_column(relation: Relation, at: int) -> np.ndarray:
    return relation.arrow().column(at).to_numpy()


@pytest.mark.parametrize("parameters", [{}, {"degree": 3}, {"interaction_only": True, "include_bias": False}], ids=str)
def test_products_as_scikit_learn(relation: Relation, frame: pd.DataFrame, parameters: dict[str, Any]) -> None:
    model = preprocessing.PolynomialFeatures(**parameters).fit(frame[NUMBERS])
    names = model.get_feature_names_out().tolist()
    found = ml.PolynomialFeatures(NUMBERS, **parameters).fit_transform(relation)
    np.testing.assert_allclose(read(found, names), model.transform(frame[NUMBERS]))


@pytest.mark.filterwarnings("ignore:'future.no_silent_downcasting'")  # category_encoders sets it
def test_evidence_as_category_encoders(db: Connection, relation: Relation, frame: pd.DataFrame) -> None:
    texts = ["c", "h"]
    unseen = pd.DataFrame({"id": range(2), "c": ["a", "new"], "h": ["it's 1", "new"]})
    for mine, model in (
        (ml.LeaveOneOutEncoder(texts, target="y"), category_encoders.LeaveOneOutEncoder(cols=texts)),
        (ml.WOEEncoder(texts, target="y"), category_encoders.WOEEncoder(cols=texts)),
    ):
        found = read(mine.fit_transform(relation), texts)
        np.testing.assert_allclose(found, model.fit_transform(frame[texts], frame.y))
        found = read(mine.transform(db.register("unseen", unseen)), texts)
        np.testing.assert_allclose(found, model.transform(unseen[texts]))
    with pytest.raises(GpudbError, match="0 or 1"):
        ml.WOEEncoder("c", target="id").fit(relation)


def test_nulls_are_a_category_of_evidence(db: Connection) -> None:
    rows = pd.DataFrame({"id": range(6), "c": ["a", "a", "a", None, None, "b"], "y": [1, 0, 1, 1, 1, 0]})
    relation = db.register("few", rows)
    encoder = ml.LeaveOneOutEncoder("c", target="y")
    found = read(encoder.fit_transform(relation), ["c"]).ravel()
    np.testing.assert_allclose(found, [1 / 2, 1, 1 / 2, 1, 1, 4 / 6])
    np.testing.assert_allclose(read(encoder.transform(relation), ["c"]).ravel(), [2 / 3, 2 / 3, 2 / 3, 1, 1, 4 / 6])
    evidence = read(ml.WOEEncoder("c", target="y").fit_transform(relation), ["c"]).ravel()
    np.testing.assert_allclose(evidence[3], np.log((3 / 6) / (1 / 4)))


def test_numbers_in_ascending_order(relation: Relation, frame: pd.DataFrame) -> None:
    wanted = preprocessing.OrdinalEncoder().fit_transform(frame[["c", "h"]])
    np.testing.assert_allclose(read(ml.OrdinalEncoder(["c", "h"]).fit_transform(relation), ["c", "h"]), wanted)


def test_expressions_of_sql(db: Connection, relation: Relation, frame: pd.DataFrame) -> None:
    step = ml.SQLTransformer({"ratio": "x / z", "c": "CASE c WHEN 'a' THEN 1.0::float8 ELSE 0 END"})
    found = read(step.fit_transform(relation), ["ratio", "c"])
    np.testing.assert_allclose(found[:, 0], frame.x / frame.z)
    assert found[:, 1].tolist() == (frame.c == "a").astype(float).tolist()
    ml.Pipeline([step]).fit(relation).save(db, "ratios")
    assert db.sql("SELECT ratio FROM ratios(x => 1.0, z => 4.0, c => 'a')").fetchall() == [(0.25,)]
    with pytest.raises(GpudbError) as error:
        ml.SQLTransformer({"ratio": "x / nothing"}).fit_transform(relation).fetchall()
    assert error.value.sqlstate == "42703"


@pytest.mark.parametrize("text", ["to_jsonb(i)::text", '(U&"\\0061" + 1)::text', "(i).a::text", 'concat("A", a)'])
def test_expressions_read_what_came_before(db: Connection, text: str) -> None:
    rows = db.sql('SELECT 1.0::float8 AS a, 5 AS "A"')
    steps = [ml.Log("a"), ml.SQLTransformer({"n": text})]
    (whole,) = ml.Pipeline(steps).fit_transform(rows).select("n").fetchall()
    (alone,) = ml.Pipeline([*steps, ml.SelectCols("n")]).fit_transform(rows).fetchall()
    assert alone == whole
    assert "0.69314" in str(whole[0]) or "1.69314" in str(whole[0])


def test_bins_that_were_saved_without_their_limits(relation: Relation) -> None:
    """As an earlier version saved them."""
    bins = ml.KBinsDiscretizer("z", n_bins=4).fit(relation)
    expected = read(bins.transform(relation), ["z"]).tolist()
    old = ml.KBinsDiscretizer("z", n_bins=4)
    old.restore({"z": bins.state_["z"][1:-1]}, {}, None, None)
    assert read(old.transform(relation), ["z"]).tolist() == expected
    with pytest.raises(GpudbError, match="limits"):
        old.inverse_transform(relation)
    with pytest.raises(GpudbError) as unknown:
        old.get_feature_names_out()
    assert unknown.value.sqlstate == "55000"


def test_one_quantile(db: Connection) -> None:
    rows = pd.DataFrame({"id": range(3), "x": [1.0, 2.0, 3.0]})
    found = ml.QuantileTransformer("x", n_quantiles=1).fit_transform(db.register("three", rows))
    model = preprocessing.QuantileTransformer(n_quantiles=1)
    np.testing.assert_allclose(read(found, ["x"]), model.fit_transform(rows[["x"]]))


def test_connections_are_let_go_of() -> None:
    known = _fit_once()
    gc.collect()
    assert known() is None


def _fit_once() -> weakref.ref[Connection]:
    with gpudb.connect() as connection:
        connection.register("t", pd.DataFrame({"s": [f"v{number}" for number in range(30)]}))
        ml.CountEncoder("s").fit_transform(connection.table("t")).fetchall()
        return weakref.ref(connection)


def test_a_vectorizer_chooses_by_types_and_values(db: Connection) -> None:
    db.execute(
        """CREATE TABLE mixed AS SELECT i AS id, i * 1.5 AS n, i % 2 = 0 AS b, chr(65 + i % 3) AS few,
        'v' || i AS many, DATE '2024-01-31' + i AS d, NULL::text AS nothing, ARRAY[i] AS a
        FROM generate_series(1, 50) i"""
    )
    vectorizer = ml.TableVectorizer().fit(db.table("mixed"))
    names = vectorizer.get_feature_names_out().tolist()
    dates = ["d_year", "d_month", "d_day", "d_total_seconds"]
    assert names == ["id", "n", "b", "few_A", "few_B", "few_C", "many", *dates]
    row = vectorizer.transform(db.table("mixed")).filter("id = 2").fetchall()
    assert row == [(2.0, 3.0, 1.0, 0, 0, 1, 1, 2024, 2, 2, 1706832000.0)]
    vectorizer.save(db, "vectors", over="mixed")
    assert db.sql("SELECT * FROM vectors WHERE id = 2").fetchall() == row
    assert ml.Pipeline.load(db, "vectors").get_feature_names_out().tolist() == names


def test_a_column_that_only_training_has(db: Connection) -> None:
    db.execute(
        "CREATE TABLE training AS SELECT i AS id, i % 3 AS g, i * 2.0::float8 AS y FROM generate_series(1, 30) i"
    )
    db.execute("CREATE TABLE asked AS SELECT i AS id, i % 3 AS g FROM generate_series(1, 3) i")
    steps = [ml.TargetEncoder("g", target="y", key="id"), ml.DropCols("y")]
    pipeline = ml.Pipeline(steps).fit(db.table("training"))
    assert pipeline.get_feature_names_out().tolist() == ["id", "g"]
    expected = pipeline.transform(db.table("asked")).order("id").fetchall()
    assert len(expected) == 3
    pipeline.save(db, "asked_features", over="asked")
    assert db.sql("SELECT * FROM asked_features ORDER BY id").fetchall() == expected
    pipeline.save(db, "prepare_one")
    assert db.sql("SELECT g FROM prepare_one(g => 1)").fetchall() == [(expected[0][1],)]


@pytest.mark.parametrize("parameters", [{}, {"n_splits": 3, "gap": 2, "test_size": 4, "max_train_size": 7}], ids=str)
def test_splits_by_time_as_scikit_learn(relation: Relation, frame: pd.DataFrame, parameters: dict[str, Any]) -> None:
    found = ml.time_series_split(relation, on="z", key="id", **parameters)
    ids = frame.sort_values(["z", "id"]).id.to_numpy()
    wanted = list(TimeSeriesSplit(**parameters).split(ids))
    assert len(found) == len(wanted)
    for sides, positions in zip(found, wanted, strict=True):
        for side, at in zip(sides, positions, strict=True):
            assert side.columns == relation.columns
            assert sorted(row[0] for row in side.select("id").fetchall()) == sorted(ids[at].tolist())
    with pytest.raises(GpudbError, match="too few"):
        ml.time_series_split(relation.limit(3), on="z")


def test_learned_tables_of_no_fit_are_dropped(db: Connection, relation: Relation) -> None:
    for _ in range(3):
        ml.CountEncoder("h").fit_transform(relation).fetchall()
    count = "SELECT count(*) FROM pg_class WHERE relname LIKE 'learned_%' AND relpersistence = 't'"
    assert db.execute(count).fetchall() == [(1,)]
