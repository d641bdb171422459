"""Transformers equal scikit-learn's, skrub's and category_encoders' on random rows with NULLs, on every engine."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence
from typing import Any

import category_encoders
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import skrub
from sklearn import preprocessing
from sklearn.impute import SimpleImputer as SkImputer

from gpudb import ml
from gpudb.api import Connection, Relation

SEEDS = pytest.mark.parametrize("seed", range(3))


def make_rows(seed: int) -> list[tuple[Any, ...]]:
    """Random rows of a number, a category, both with NULLs, and a target."""
    random = np.random.default_rng(seed)
    categories = [None, "a", "b", "c", "it's"]
    return [
        (
            None if random.random() < 0.15 else round(random.normal(0, 50), 3),
            categories[random.integers(len(categories))],
            round(random.normal(), 2),
        )
        for _ in range(random.integers(20, 80))
    ]


def register(db: Connection, rows: Sequence[tuple[Any, ...]]) -> Relation:
    """Registers rows of a number, a category and a target, with their number as the key."""
    x, s, y = zip(*rows, strict=True)
    columns = {"id": range(len(rows)), "x": pa.array(x, pa.float64()), "s": pa.array(s, pa.string()), "y": list(y)}
    return db.register("given", pa.table(columns))


def column(transformer: ml.Transformer, relation: Relation, name: str = "x") -> list[Any]:
    """A column of the fitted and transformed relation, in the order of the key."""
    transformer.fit(relation)
    return read(transformer.transform(relation), name)


def read(relation: Relation, name: str) -> list[Any]:
    return [row[0] for row in relation.order("id").select(f'"{name}"').fetchall()]


def same(found: Sequence[Any], wanted: Any) -> None:
    """Compares numbers; NULL is NaN."""
    left = [math.nan if each is None else float(each) for each in found]
    np.testing.assert_allclose(left, np.asarray(wanted, dtype=float).ravel(), rtol=1e-9, atol=1e-9)


@SEEDS
def test_numbers_as_scikit_learn(db: Connection, seed: int) -> None:
    rows = make_rows(seed)
    relation = register(db, rows)
    x = np.array([[math.nan if row[0] is None else row[0]] for row in rows])
    same(column(ml.StandardScaler("x"), relation), preprocessing.StandardScaler().fit_transform(x))
    same(column(ml.MinMaxScaler("x"), relation), preprocessing.MinMaxScaler().fit_transform(x))
    robust = preprocessing.RobustScaler(quantile_range=(10, 80)).fit_transform(x)
    same(column(ml.RobustScaler("x", quantile_range=(10, 80)), relation), robust)
    for strategy in ("mean", "median", "most_frequent"):
        wanted = SkImputer(strategy=strategy, add_indicator=True).fit_transform(x)
        imputer = ml.SimpleImputer("x", strategy=strategy, add_indicator=True)
        same(column(imputer, relation), wanted[:, 0])
        if np.isnan(x).any():
            same(read(imputer.transform(relation), "missingindicator_x"), wanted[:, 1])
    known = x[~np.isnan(x)].reshape(-1, 1)
    for strategy, more in (("uniform", {}), ("quantile", {"quantile_method": "linear"})):
        bins = preprocessing.KBinsDiscretizer(4, encode="ordinal", strategy=strategy, **more).fit(known)
        found = column(ml.KBinsDiscretizer("x", n_bins=4, strategy=strategy), relation)
        same([each for each in found if each is not None], bins.transform(known))
        assert [each is None for each in found] == np.isnan(x).ravel().tolist()


@pytest.mark.filterwarnings("ignore:'future.no_silent_downcasting'")  # category_encoders sets it
@SEEDS
def test_categories_as_scikit_learn_and_category_encoders(db: Connection, seed: int) -> None:
    rows = make_rows(seed)
    relation = register(db, rows)
    frame = pd.DataFrame({"s": pd.Series([row[1] for row in rows], dtype=object)})
    hot = preprocessing.OneHotEncoder(sparse_output=False).fit(frame)
    encoder = ml.OneHotEncoder("s").fit(relation)
    wanted = hot.transform(frame)
    for at, name in enumerate(hot.get_feature_names_out()):
        same(read(encoder.transform(relation), name), wanted[:, at])
    counts = category_encoders.CountEncoder(cols=["s"]).fit_transform(frame)
    same(column(ml.CountEncoder("s"), relation, "s"), counts["s"])


@pytest.mark.parametrize("seed, smooth", [(0, "auto"), (1, 0.0), (2, 7.5)])
def test_target_encoding_as_scikit_learn(db: Connection, seed: int, smooth: str | float) -> None:
    rows = make_rows(seed)
    relation = register(db, rows)
    s = np.array([[row[1]] for row in rows], dtype=object)
    y = np.array([row[2] for row in rows])

    def reference(train: np.ndarray) -> Any:
        return preprocessing.TargetEncoder(target_type="continuous", smooth=smooth).fit(s[train], y[train])

    encoder = ml.TargetEncoder("s", target="y", key="id", cv=3, smooth=smooth)
    types = dict(zip(relation.columns, relation.types, strict=True))
    fold = np.array(
        [
            row[0]
            for row in relation.derive(
                lambda query, _: f"SELECT {encoder.fold(types)} FROM ({query}) AS i ORDER BY i.id"
            ).fetchall()
        ]
    )
    found = np.array(read(encoder.fit_transform(relation), "s"))
    for number in range(3):
        here = fold == number
        if here.any() and not here.all():
            same(found[here], reference(~here).transform(s[here]))
    same(read(encoder.transform(relation), "s"), reference(np.full(len(rows), True)).transform(s))


def test_no_row_sees_its_own_target(db: Connection) -> None:
    """Other targets in one fold leave the encodings of that fold as they are."""
    rows = [(1.0, "abc"[i % 3], float(i * i % 17)) for i in range(60)]
    encoder = ml.TargetEncoder("s", target="y", key="id", cv=4)
    relation = register(db, rows)
    before = read(encoder.fit_transform(relation), "s")
    types = dict(zip(relation.columns, relation.types, strict=True))
    query = f"SELECT {encoder.fold(types)} FROM ({relation.query}) AS i ORDER BY i.id"
    fold = [row[0] for row in db.sql(query).fetchall()]
    changed = [(x, s, y + 1000 if fold[i] == 2 else y) for i, (x, s, y) in enumerate(rows)]
    after = read(encoder.fit_transform(register(db, changed)), "s")
    assert [a for a, f in zip(after, fold, strict=True) if f == 2] == pytest.approx(
        [b for b, f in zip(before, fold, strict=True) if f == 2]
    )
    assert all(a != b for a, b, f in zip(after, before, fold, strict=True) if f != 2)


def test_categorify(db: Connection) -> None:
    values = ["b"] * 5 + ["a"] * 3 + ["c"] * 3 + ["d", None]
    relation = register(db, [(1.0, value, 0.0) for value in values])
    assert column(ml.Categorify("s"), relation, "s") == [3] * 5 + [4] * 3 + [5] * 3 + [6, 1]
    frequent = ml.Categorify("s", freq_threshold=2).fit(relation)
    assert read(frequent.transform(relation), "s") == [3] * 5 + [4] * 3 + [5] * 3 + [2, 1]
    assert frequent.cardinalities_ == {"s": 6}
    assert column(ml.Categorify("s", max_size=4), relation, "s") == [3] * 5 + [2] * 7 + [1]
    hashed = ml.Categorify("s", freq_threshold=5, num_buckets=10)
    found = column(hashed, relation, "s")
    assert found[:5] == [12] * 5
    assert all(2 <= each < 12 for each in found[5:-1])
    assert len(set(found[5:8])) == 1


def test_statistics_of_groups(db: Connection) -> None:
    rows = [(None if i % 5 == 0 else i * 1.5, ("a", "b", None)[i % 3], 0.0) for i in range(40)]
    relation = register(db, rows)
    statistics = ["count", "sum", "mean", "std", "var", "min", "max"]
    found = ml.JoinGroupby("s", cont_cols="x", stats=statistics).fit_transform(relation)
    groups = pd.DataFrame(rows, columns=["x", "s", "y"]).groupby("s")
    keys = [row[1] for row in rows]
    for stat in statistics[1:]:
        wanted = groups["x"].agg(stat)
        same(read(found, f"s_x_{stat}"), [math.nan if key is None else wanted[key] for key in keys])
    assert read(found, "s_count") == [0 if key is None else int(groups.size()[key]) for key in keys]


def test_logarithms_and_limits(db: Connection) -> None:
    values = [None, math.nan, -2.0, -1.0, 0.0, 1e9]
    relation = register(db, [(value, "a", 0.0) for value in values])
    with np.errstate(all="ignore"):
        same(column(ml.Log("x"), relation), np.log1p(np.array(values, dtype=float)))
    found = column(ml.Clip("x", min_value=-1.5, max_value=100), relation)
    assert found[0] is None
    assert math.isnan(found[1])
    assert found[2:] == [-1.5, -1.0, 0.0, 100.0]


def test_parts_of_timestamps_as_skrub(db: Connection) -> None:
    moments = [dt.datetime(1969, 12, 31, 23, 59, 59, 900000), dt.datetime(2024, 2, 29, 12, 30, 1), None]
    moments += [dt.datetime(2000, 1, 1) + dt.timedelta(hours=7001 * i) for i in range(20)]
    relation = db.register("moments", pa.table({"id": range(len(moments)), "t": pa.array(moments, pa.timestamp("us"))}))
    options: dict[str, Any] = {"resolution": "second", "add_weekday": True, "add_day_of_year": True}
    found = ml.DatetimeEncoder("t", **options).fit_transform(relation)
    wanted = skrub.DatetimeEncoder(**options).fit_transform(pd.Series(moments, name="t"))
    assert found.columns == ("id", *wanted.columns)
    for name in wanted.columns:
        left = [math.nan if each is None else float(each) for each in read(found, name)]
        np.testing.assert_allclose(left, wanted[name].to_numpy(dtype=float), rtol=1e-6)


def test_windows_as_pandas(db: Connection) -> None:
    start = dt.datetime(2024, 1, 1)
    frame = pd.DataFrame(
        {
            "id": range(60),
            "g": [i % 2 for i in range(60)],
            "t": [start + dt.timedelta(hours=i * i % 61) for i in range(60)],
            "x": [float(i * 7 % 13) for i in range(60)],
        }
    ).drop_duplicates(["g", "t"])
    relation = db.register("series", pa.Table.from_pandas(frame, preserve_index=False))
    ordered = frame.sort_values("t").set_index("t")
    groups = ordered.groupby("g")["x"]
    lagged = ml.Lag("x", order="t", by="g", lags=[1, 2]).fit_transform(relation)
    same(read(lagged, "x_lag_2"), ordered.assign(r=groups.shift(2)).sort_values("id")["r"])
    found = ml.Difference("x", order="t", by="g").fit_transform(relation)
    same(read(found, "x_difference_1"), ordered.assign(r=groups.diff()).sort_values("id")["r"])
    for window, closed in ((3, "right"), (3, "left"), ("9 hours", "right"), ("9 hours", "left")):
        rolling = ml.Rolling("x", order="t", by="g", window=window, closed=closed, stats=["mean", "max"])
        name = str(window).replace(" ", "_")
        span = window if isinstance(window, int) else "9h"
        for stat in ("mean", "max"):
            rolled = groups.rolling(span, min_periods=1, closed=closed).agg(stat)
            by_row = {(g, t): value for (g, t), value in rolled.items()}
            wanted = [by_row[row.g, row.t] for row in frame.sort_values("id").itertuples()]
            same(read(rolling.fit_transform(relation), f"x_{stat}_{name}"), wanted)


def test_texts_hashes_and_crosses(db: Connection) -> None:
    relation = register(db, [(1.0, ("été", "b", None)[i % 3], float(i)) for i in range(30)])
    assert column(ml.TextLength("s"), relation, "s_length")[:3] == [3, 1, None]
    buckets = column(ml.HashBucket(["id", "s"], num_buckets=5), relation, "id")
    assert set(buckets) == set(range(5))
    assert column(ml.Cross(["s", "id"]), relation, "s_X_id")[:3] == ["été_X_0", "b_X_1", None]
    crossed = column(ml.HashedCross(["s", "id"], num_buckets=7), relation, "s_X_id")
    assert {each for each in crossed if each is not None} <= set(range(7))
    assert len(set(crossed)) > 4
    assert ml.Pipeline([ml.SelectCols(["x", "id"])]).fit_transform(relation).columns == ("id", "x")
    assert ml.DropCols("y").fit_transform(relation).columns == ("id", "x", "s")
