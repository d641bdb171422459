"""Transformers within scikit-learn: frames in and out, clones, pipelines, cross-validation, searches, outputs, names."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn import preprocessing
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils.validation import check_is_fitted

from gpudb import ml
from gpudb.api import Connection
from gpudb.errors import GpudbError
from gpudb.ml import selectors


@pytest.fixture(scope="module")
def flights() -> pd.DataFrame:
    """Rows of numbers, few and many texts and moments, under an index that is not their number."""
    random = np.random.default_rng(0)
    rows = 300
    return pd.DataFrame(
        {
            "distance": np.exp(random.normal(6, 1, rows)),
            "delay": random.normal(5, 30, rows).round(1),
            "carrier": random.choice(list("ABC"), rows),
            "tail": random.choice([f"N{number}" for number in range(90)], rows),
            "left": pd.date_range("2013-01-01", periods=rows, freq="h"),
        },
        index=range(1000, 1000 + rows),
    )


@pytest.fixture(scope="module")
def late(flights: pd.DataFrame) -> np.ndarray:
    """A target of 0 and 1 that the columns tell something of."""
    return (flights.delay + 20 * (flights.carrier == "A") > 10).to_numpy().astype(int)


def test_a_frame_gives_a_frame_of_its_kind_in_its_order(flights: pd.DataFrame) -> None:
    wanted = preprocessing.StandardScaler().fit_transform(flights[["distance", "delay"]])
    scaler = ml.StandardScaler(["distance", "delay"])
    found = scaler.fit_transform(flights)
    assert found.index.equals(flights.index)
    assert found[["carrier", "tail"]].equals(flights[["carrier", "tail"]])
    np.testing.assert_allclose(found[["distance", "delay"]], wanted)
    polars = scaler.transform(pl.from_pandas(flights))
    assert isinstance(polars, pl.DataFrame)
    np.testing.assert_allclose(polars["delay"], wanted[:, 1])
    arrow = scaler.transform(pa.Table.from_pandas(flights, preserve_index=False))
    assert isinstance(arrow, pa.Table)
    assert arrow.column_names == list(flights.columns)
    array = ml.StandardScaler().fit_transform(flights[["distance", "delay"]].to_numpy())
    np.testing.assert_allclose(array, wanted)


def test_values_that_are_looked_up_keep_the_order(flights: pd.DataFrame) -> None:
    """More values than a statement holds: it joins them."""
    counts = flights["tail"].map(flights["tail"].value_counts())
    assert ml.CountEncoder("tail").fit_transform(flights)["tail"].tolist() == counts.tolist()


def test_set_output(flights: pd.DataFrame) -> None:
    encoder = ml.OneHotEncoder("carrier").set_output(transform="polars")
    assert isinstance(encoder.fit_transform(flights), pl.DataFrame)
    assert isinstance(clone(encoder).fit_transform(flights), pl.DataFrame)
    assert isinstance(encoder.set_output(transform="arrow").transform(flights), pa.Table)
    assert isinstance(encoder.set_output(transform="default").transform(flights), pd.DataFrame)
    with pytest.raises(GpudbError, match="no output"):
        encoder.set_output(transform="xml")


def test_names_of_features(flights: pd.DataFrame) -> None:
    encoder = ml.OneHotEncoder("carrier").fit(flights[["delay", "carrier"]])
    assert encoder.get_feature_names_out().tolist() == ["delay", "carrier_A", "carrier_B", "carrier_C"]
    assert encoder.n_features_in_ == 2
    assert encoder.feature_names_in_.tolist() == ["delay", "carrier"]
    with pytest.raises(GpudbError, match="feature_names_in_"):
        encoder.get_feature_names_out(["carrier"])
    with pytest.raises(GpudbError, match="not fitted"):
        ml.OneHotEncoder("carrier").get_feature_names_out()


def test_names_of_an_arrays_features(flights: pd.DataFrame) -> None:
    model = make_pipeline(SimpleImputer(), ml.StandardScaler(), ml.PolynomialFeatures(include_bias=False))
    model.fit(flights[["distance", "delay"]])
    names = ["distance", "delay", "distance^2", "distance delay", "delay^2"]
    assert model.get_feature_names_out().tolist() == names
    assert ml.SelectCols(selectors.text()).fit_transform(np.zeros((3, 2))).shape == (3, 0)


def test_parameters(flights: pd.DataFrame) -> None:
    scaler = ml.StandardScaler("delay", with_mean=False).fit(flights)
    copied = clone(scaler)
    assert copied.get_params() == scaler.get_params() == {"columns": ["delay"], "with_mean": False, "with_std": True}
    check_is_fitted(scaler)
    with pytest.raises(NotFittedError):
        check_is_fitted(copied)
    assert scaler.set_params(with_std=False).get_params()["with_std"] is False
    assert not scaler.is_fitted_
    with pytest.raises(GpudbError, match="no parameter"):
        scaler.set_params(speed=1)
    with pytest.raises(GpudbError, match="no strategy"):
        ml.KBinsDiscretizer("delay").set_params(strategy="best")
    pipeline = ml.Pipeline([("scale", scaler), ("bins", ml.KBinsDiscretizer("delay"))])
    assert pipeline.get_params()["bins__n_bins"] == 5
    again = clone(pipeline).set_params(bins__n_bins=3, scale=ml.MinMaxScaler("delay"))
    assert repr(again.named_steps["scale"]) == "MinMaxScaler(columns=['delay'])"
    assert again.fit_transform(flights)["delay"].max() == 2
    assert pipeline.named_steps["bins"].get_params()["n_bins"] == 5


@pytest.mark.parametrize("columns", [["delay"], None, selectors.numeric() - selectors.named("distance")])
def test_columns_by_selectors(flights: pd.DataFrame, columns: Any) -> None:
    scaler = pickle.loads(pickle.dumps(ml.StandardScaler(columns).fit(flights)))
    assert scaler.columns_ == (["distance", "delay"] if columns is None else ["delay"])
    assert repr(scaler) == f"StandardScaler(columns={columns!r}, with_mean=True, with_std=True)"
    types = {"a": "text", "b": "boolean", "c": "date", "d": "numeric"}
    texts = ", ".join(f"NULL::{type_} AS {name}" for name, type_ in types.items())
    assert ml.SelectCols(selectors.matching("[abc]") & ~selectors.boolean()).fit(
        _query(f"SELECT {texts}")
    ).columns_ == [
        "a",
        "c",
    ]
    assert ml.DropCols(selectors.text() | selectors.temporal()).fit(_query(f"SELECT {texts}")).columns_ == ["a", "c"]


def _query(text: str) -> Any:
    import gpudb

    return gpudb.connect().sql(text)


def test_within_a_pipeline_of_scikit_learn(flights: pd.DataFrame, late: np.ndarray) -> None:
    model = make_pipeline(
        ml.TableVectorizer(cardinality_threshold=10, high_cardinality=ml.TargetEncoder()),
        preprocessing.StandardScaler(),
        LogisticRegression(),
    )
    scores = cross_val_score(model, flights, late, cv=3)
    assert scores.min() > 0.9
    assert model.fit(flights, late).predict(flights.head(3)).shape == (3,)
    scores = []
    for bins in (
        ml.KBinsDiscretizer(encode="onehot"),
        preprocessing.KBinsDiscretizer(encode="onehot-dense", quantile_method="linear"),
    ):
        steps = [("bins", bins), ("model", LogisticRegression())]
        search = GridSearchCV(Pipeline(steps), {"bins__n_bins": [2, 6]}, cv=2).fit(flights[["delay"]], late)
        scores.append(search.cv_results_["mean_test_score"])
    np.testing.assert_allclose(*scores)


def test_the_target_is_no_feature(db: Connection, flights: pd.DataFrame, late: np.ndarray) -> None:
    """Columns that nobody names are chosen without it."""
    frame = flights[["delay", "carrier"]].assign(late=late.astype(bool), id=[f"k{n}" for n in range(len(flights))])
    given = db.register("with_target", frame)
    without = db.sql("SELECT delay, carrier, id FROM with_target")
    for model in (
        ml.Pipeline([ml.StandardScaler(), ml.TargetEncoder("carrier", key="id")]),
        ml.TableVectorizer(low_cardinality=ml.TargetEncoder(key="id")),
    ):
        model.fit(given, "late")
        expected = model.transform(given).order("id").select("delay", "carrier").fetchall()
        assert model.transform(without).order("id").select("delay", "carrier").fetchall() == expected
    pipeline = ml.Pipeline([ml.StandardScaler(), ml.WOEEncoder("carrier", target="late")]).fit(given)
    assert pipeline[0].columns_ == ["delay"]
    nullable = pd.array(late.astype(bool), dtype="boolean")
    one, other = (ml.WOEEncoder("carrier").fit_transform(flights, y)["carrier"] for y in (late, nullable))
    assert one.tolist() == other.tolist()


def test_the_target_of_a_relation_is_a_column(db: Connection, flights: pd.DataFrame, late: np.ndarray) -> None:
    frame = flights.assign(late=late, id=range(len(flights)))
    encoder = ml.LeaveOneOutEncoder("carrier")
    wanted = encoder.fit_transform(flights, late)["carrier"]
    found = encoder.fit_transform(db.register("flights_given", frame), "late").order("id")
    np.testing.assert_allclose(found.select("carrier").arrow().column(0).to_numpy(), wanted)
    with pytest.raises(GpudbError, match="one of its columns"):
        encoder.fit(db.table("flights_given"), late)
    for fit, state in (
        (lambda: encoder.fit(flights), "22023"),
        (lambda: encoder.fit(flights, late[1:]), "22023"),
        (lambda: encoder.fit(db.table("flights_given"), "nothing"), "42703"),
        (lambda: ml.TargetEncoder("carrier").fit_transform(db.table("flights_given"), "late"), "22023"),
        (lambda: ml.StandardScaler().fit([1, 2]), "0A000"),
        (lambda: ml.StandardScaler().fit(np.zeros(3)), "22023"),
    ):
        with pytest.raises(GpudbError) as error:
            fit()
        assert error.value.sqlstate == state


@pytest.mark.parametrize(
    "transformer",
    [
        ml.StandardScaler("delay"),
        ml.MinMaxScaler("delay"),
        ml.RobustScaler("delay"),
        ml.MaxAbsScaler("delay"),
        ml.PowerTransformer("delay"),
        ml.PowerTransformer("distance", method="box-cox", standardize=False),
        ml.Log("distance"),
        ml.OneHotEncoder("carrier"),
        ml.OrdinalEncoder("tail"),
        ml.Categorify(["carrier", "tail"]),
        ml.Pipeline([ml.MinMaxScaler("delay"), ml.StandardScaler("delay"), ml.OneHotEncoder("carrier")]),
    ],
    ids=repr,
)
def test_the_inverse_of_a_transform(flights: pd.DataFrame, transformer: Any) -> None:
    again = transformer.inverse_transform(transformer.fit_transform(flights))
    pd.testing.assert_frame_equal(again, flights, check_exact=False, rtol=1e-9, check_dtype=False)


@pytest.mark.parametrize("encode", ["ordinal", "onehot"])
def test_the_inverse_of_bins_is_their_middle(flights: pd.DataFrame, encode: str) -> None:
    frame = flights[["delay"]]
    bins = ml.KBinsDiscretizer("delay", n_bins=4, strategy="uniform", encode=encode)
    model = preprocessing.KBinsDiscretizer(4, strategy="uniform", encode="ordinal")
    wanted = model.inverse_transform(model.fit_transform(frame))
    np.testing.assert_allclose(bins.inverse_transform(bins.fit_transform(frame)), wanted)


def test_what_has_no_inverse_says_so(flights: pd.DataFrame) -> None:
    with pytest.raises(GpudbError, match="has no inverse") as error:
        ml.CountEncoder("carrier").fit(flights).inverse_transform(flights)
    assert error.value.sqlstate == "0A000"
