"""Transformers and splits on random tables, small and empty ones too, as other libraries and Python compute them.

The tables have NULL, NaN, empty texts and repeated keys. The rows that are transformed are others than those that were
fitted. Each test runs on the embedded engine and on workers, which refuse what they do not support.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import math
import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import category_encoders
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import skrub
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from sklearn import preprocessing
from sklearn.impute import SimpleImputer as SkImputer

from gpudb import ml
from gpudb.api import Connection, Relation
from gpudb.ml.hashing import RANGE, mix

EXAMPLES = settings(
    max_examples=int(os.environ.get("GPUDB_ML_EXAMPLES", "3")),
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=tuple(HealthCheck),
)
NEW_FRAME = "ignore:'future.no_silent_downcasting'"  # category_encoders sets it

TEXTS = ["", " ", "a", "b", "B", "it's", "été", 'q"', "a_b", *(f"t{number}" for number in range(12))]
TYPES = {
    "i": pa.int64(),
    "x": pa.float64(),
    "f": pa.float32(),
    "s": pa.string(),
    "t": pa.timestamp("us"),
    "d": pa.date32(),
    "b": pa.bool_(),
    "y": pa.float64(),
}


def _rare(values: st.SearchStrategy[Any], *others: Any) -> st.SearchStrategy[Any]:
    """Mostly a value, sometimes NULL or one of the others."""
    return st.one_of(values, values, values, st.sampled_from([None, *others]))


_FLOATS = st.one_of(
    st.floats(-1e6, 1e6).filter(lambda x: x == 0 or abs(x) > 1e-6), st.sampled_from([-1.0, -0.0, 0.0, 0.1, 0.3, 7.5])
)
_MOMENTS = st.datetimes(dt.datetime(1900, 1, 1), dt.datetime(2100, 1, 1))
_ROW = st.tuples(
    _rare(st.one_of(st.integers(-3, 3), st.integers(-(2**63), 2**63 - 1))),
    _rare(_FLOATS, math.nan),
    _rare(st.integers(-8000, 8000).map(lambda x: x / 8), math.nan),
    _rare(st.sampled_from(TEXTS)),
    _rare(_MOMENTS),
    _rare(st.dates(dt.date(1900, 1, 1), dt.date(2100, 1, 1))),
    _rare(st.booleans()),
    st.one_of(st.integers(-50, 50).map(float), st.floats(-1e3, 1e3)),
)
_SOME = st.one_of(st.lists(_ROW, max_size=3), st.lists(_ROW, min_size=4, max_size=40))


@dataclass(frozen=True, slots=True)
class Given:
    """A random table: columns of Python values, and the relation of the same rows with their numbers `id`."""

    columns: dict[str, list[Any]]
    relation: Relation

    def __len__(self) -> int:
        return len(self.columns["id"])

    def numbers(self, name: str) -> np.ndarray:
        """A column of numbers, with NaN for NULL, as a block of one column."""
        return np.array([math.nan if v is None else v for v in self.columns[name]], dtype=float).reshape(-1, 1)

    def objects(self, name: str) -> np.ndarray:
        """A column of Python objects as a block of one column."""
        block = np.empty((len(self), 1), dtype=object)
        block[:, 0] = self.columns[name]
        return block


def register(db: Connection, rows: Sequence[tuple[Any, ...]], name: str = "given") -> Given:
    """Registers rows; a column `COLUMN_2`, `COLUMN_3` … is a copy."""
    columns: dict[str, list[Any]] = {"id": list(range(len(rows)))}
    columns |= {name: [row[at] for row in rows] for at, name in enumerate(TYPES)}
    arrays = {name: pa.array(values, TYPES.get(name, pa.int64())) for name, values in columns.items()}
    return Given(columns, db.register(name, pa.table(arrays)))


def read(relation: Relation) -> dict[str, list[Any]]:
    """The columns of a relation in the order of the key."""
    return {name: values.to_pylist() for name, values in _to_items(relation.order("id").arrow())}


def _to_items(table: pa.Table) -> Iterator[tuple[str, Any]]:
    yield from zip(table.column_names, table.columns, strict=True)


def same(found: Sequence[Any], wanted: Any, **tolerance: float) -> None:
    """Compares numbers; NULL is NaN."""
    left = [math.nan if each is None else float(each) for each in found]
    right = [math.nan if each is None else float(each) for each in np.asarray(wanted).ravel()]
    np.testing.assert_allclose(left, right, **{"rtol": 1e-9, "atol": 1e-9, **tolerance})


@EXAMPLES
@given(train=_SOME, test=_SOME)
def test_scalers(db: Connection, train: list[Any], test: list[Any]) -> None:
    fitted, asked = register(db, train), register(db, test, "asked")
    names = ["x", "f", "i"]
    percent = (10.0, 80.0)
    for ours, theirs in (
        (ml.StandardScaler(names), preprocessing.StandardScaler()),
        (ml.MinMaxScaler(names), preprocessing.MinMaxScaler()),
        (ml.RobustScaler(names, quantile_range=percent), preprocessing.RobustScaler(quantile_range=percent)),
    ):
        found = read(ours.fit(fitted.relation).transform(asked.relation))
        for name in names:
            if not train:
                assert all(v is None or math.isnan(v) for v in found[name])
            elif test:
                same(found[name], theirs.fit(fitted.numbers(name)).transform(asked.numbers(name)), atol=1e-7)
            assert [v is None for v in found[name]] == [v is None for v in asked.columns[name]]


@EXAMPLES
@given(train=_SOME, test=_SOME)
def test_imputers(db: Connection, train: list[Any], test: list[Any]) -> None:
    fitted, asked = register(db, train), register(db, test, "asked")
    given_values: dict[str, Any] = {"x": 7.5, "s": "it's"}
    for strategy, name in (
        ("mean", "x"),
        ("median", "x"),
        ("most_frequent", "x"),
        ("constant", "x"),
        ("most_frequent", "s"),
        ("constant", "s"),
    ):
        value = given_values[name] if strategy == "constant" else None
        ours = ml.SimpleImputer(name, strategy=strategy, add_indicator=True, fill_value=value)
        found = read(ours.fit(fitted.relation).transform(asked.relation))
        if not train or not test:
            continue
        blocks = [table.numbers(name) if name == "x" else table.objects(name) for table in (fitted, asked)]
        theirs = SkImputer(
            strategy=strategy,
            fill_value=value,
            add_indicator=True,
            missing_values=math.nan if name == "x" else None,
            keep_empty_features=True,
        )
        wanted = theirs.fit(blocks[0]).transform(blocks[1])
        if strategy != "constant" and all(v is None or v != v for v in fitted.columns[name]):
            # Nothing to impute: the column stays, where scikit-learn drops it or makes it 0.
            assert list(map(str, found[name])) == list(map(str, asked.columns[name]))
        elif name == "x":
            same(found[name], wanted[:, 0])
        else:
            assert found[name] == wanted[:, 0].tolist()
        assert (f"missingindicator_{name}" in found) == (wanted.shape[1] > 1)
        if wanted.shape[1] > 1:
            assert found[f"missingindicator_{name}"] == wanted[:, 1].tolist()


@EXAMPLES
@given(train=_SOME, test=_SOME, bins=st.integers(2, 6))
def test_bins_logarithms_and_limits(db: Connection, train: list[Any], test: list[Any], bins: int) -> None:
    fitted, asked = register(db, train), register(db, test, "asked")
    names = ["uniform", "quantile", "log", "clip"]
    relations = [each.relation.select("id", *(f"x AS {name}" for name in names)) for each in (fitted, asked)]
    pipeline = ml.Pipeline(
        [
            ml.KBinsDiscretizer("uniform", n_bins=bins, strategy="uniform"),
            ml.KBinsDiscretizer("quantile", n_bins=bins),
            ml.Log("log"),
            ml.Clip("clip", min_value=-2.5, max_value=100),
        ]
    )
    found = read(pipeline.fit(relations[0]).transform(relations[1]))
    x, there = fitted.numbers("x"), asked.numbers("x")
    known, is_known = x[~np.isnan(x)].reshape(-1, 1), ~np.isnan(there).ravel()
    for strategy, more in (("uniform", {}), ("quantile", {"quantile_method": "linear"})):
        assert [v is None for v in found[strategy]] == (~is_known).tolist()
        if len(known) and is_known.any():
            bounds = preprocessing.KBinsDiscretizer(bins, encode="ordinal", strategy=strategy, **more)
            wanted = bounds.fit(known).transform(there[is_known])
            same([v for v in found[strategy] if v is not None], wanted)
    with np.errstate(all="ignore"):
        same(found["log"], np.log1p(there))
    same(found["clip"], pd.Series(there.ravel()).clip(-2.5, 100))
    assert [v is None for v in found["clip"]] == [v is None for v in asked.columns["x"]]


@pytest.mark.filterwarnings(NEW_FRAME)
@EXAMPLES
@given(train=_SOME, test=_SOME)
def test_indicators_and_counts(db: Connection, train: list[Any], test: list[Any]) -> None:
    fitted, asked = register(db, train), register(db, test, "asked")
    hot = read(ml.OneHotEncoder("s").fit(fitted.relation).transform(asked.relation))
    if train:
        theirs = preprocessing.OneHotEncoder(sparse_output=False, handle_unknown="ignore").fit(fitted.objects("s"))
        names = [f"s_{name.removeprefix('x0_')}" for name in theirs.get_feature_names_out()]
        assert [name for name in hot if name.startswith("s_")] == names
        if test:
            wanted = theirs.transform(asked.objects("s"))
            for at, name in enumerate(names):
                assert hot[name] == wanted[:, at].tolist()
    else:
        assert not any(name.startswith("s_") for name in hot)
    names = ["s", "i"]
    for normalize in (False, True):
        counted = read(ml.CountEncoder(names, normalize=normalize).fit(fitted.relation).transform(asked.relation))
        for name in names:
            if not train or not test:
                assert counted[name] == [0] * len(test)
                continue
            frames = [pd.DataFrame({name: pd.Series(t.columns[name], dtype=object)}) for t in (fitted, asked)]
            peer = category_encoders.CountEncoder(
                cols=[name], normalize=normalize, handle_unknown=0, handle_missing="value"
            )
            same(counted[name], peer.fit(frames[0]).transform(frames[1])[name].fillna(0))


@EXAMPLES
@given(train=_SOME, test=_SOME, threshold=st.integers(0, 3), size=st.sampled_from([0, 4, 20]))
def test_categories_by_frequency(db: Connection, train: list[Any], test: list[Any], threshold: int, size: int) -> None:
    """NVTabular is not installed here: pandas counts."""
    fitted, asked = register(db, train), register(db, test, "asked")
    names = ["s", "i", "x"]
    encoder = ml.Categorify(names, freq_threshold=threshold, max_size=size).fit(fitted.relation)
    found = read(encoder.transform(asked.relation))
    for name in names:
        counts = Counter(_as_key(v) for v in fitted.columns[name] if v is not None)
        ordered = sorted(counts, key=lambda v: (-counts[v], v == "NaN", v if v != "NaN" else 0))
        kept = [v for v in ordered if counts[v] >= threshold][: size - 3 if size else None]
        ids = {v: 3 + at for at, v in enumerate(kept)}
        assert found[name] == [1 if v is None else ids.get(_as_key(v), 2) for v in asked.columns[name]]
        assert encoder.cardinalities_[name] == 3 + len(kept)


def _as_key(value: Any) -> Any:
    return "NaN" if isinstance(value, float) and math.isnan(value) else value


@EXAMPLES
@given(train=_SOME, test=_SOME)
def test_statistics_of_groups(db: Connection, train: list[Any], test: list[Any]) -> None:
    fitted, asked = register(db, train), register(db, test, "asked")
    statistics = ["count", "sum", "mean", "std", "var", "min", "max"]
    for keys in (["s"], ["b", "s"]):
        group = "_".join(keys)
        encoder = ml.JoinGroupby(keys, cont_cols="f", stats=statistics).fit(fitted.relation)
        found = read(encoder.transform(asked.relation))
        frame = pd.DataFrame({key: pd.Series(fitted.columns[key], dtype=object) for key in keys})
        frame["f"] = fitted.numbers("f")
        groups = frame.groupby([frame[key] for key in keys])["f"]
        asked_keys = list(zip(*(asked.columns[key] for key in keys), strict=True))
        sizes = {_as_tuple(key): n for key, n in groups.size().items()}
        assert found[f"{group}_count"] == [sizes.get(key, 0) for key in asked_keys]
        for stat in statistics[1:]:
            # pandas' sum of nothing is 0, SQL's is NULL.
            by_key = groups.sum(min_count=1) if stat == "sum" else groups.agg(stat)
            values = {_as_tuple(key): v for key, v in by_key.items()}
            same(found[f"{group}_f_{stat}"], [values.get(key) for key in asked_keys], rtol=1e-7, atol=1e-6)


def _as_tuple(key: Any) -> tuple[Any, ...]:
    return key if isinstance(key, tuple) else (key,)


@EXAMPLES
@given(train=_SOME, test=_SOME, smooth=st.sampled_from(["auto", 0.0, 4.0]), name=st.sampled_from(["s", "i"]))
def test_target_encoding(db: Connection, train: list[Any], test: list[Any], smooth: str | float, name: str) -> None:
    fitted, asked = register(db, train), register(db, test, "asked")
    encoder = ml.TargetEncoder(name, target="y", key="id", cv=2, smooth=smooth)
    y = np.array(fitted.columns["y"], dtype=float)
    values = fitted.objects(name)

    def reference(rows: np.ndarray) -> Any:
        return preprocessing.TargetEncoder(target_type="continuous", smooth=smooth).fit(values[rows], y[rows])

    found = read(encoder.fit_transform(fitted.relation))[name]
    fold = np.array([mix(key) * 2 // RANGE for key in range(len(train))], dtype=int)
    for number in range(2):
        here = fold == number
        if here.all():
            assert all(math.isnan(found[at]) for at in np.flatnonzero(here))
        elif here.any():
            same(np.array(found)[here], reference(~here).transform(values[here]), rtol=1e-7)
    found = read(encoder.transform(asked.relation))[name]
    if train and test:
        same(found, reference(np.full(len(train), True)).transform(asked.objects(name)), rtol=1e-7)
    elif test:
        assert all(math.isnan(v) for v in found)


@EXAMPLES
@given(rows=_SOME)
def test_parts_of_moments(db: Connection, rows: list[Any]) -> None:
    table = register(db, rows)
    options: dict[str, Any] = {"resolution": "second", "add_weekday": True, "add_day_of_year": True}
    relation = table.relation.select("*", "t::timestamptz AS z")
    found = read(ml.DatetimeEncoder(["t", "d", "z"], **options).fit_transform(relation))
    for name, column in (("t", "t"), ("z", "t"), ("d", "d")):
        moments = pd.Series(pd.to_datetime(table.columns[column]), name=name, dtype="datetime64[us]")
        names = [each for each in found if each.startswith(f"{name}_")]
        if moments.notna().any():
            wanted = skrub.DatetimeEncoder(**options).fit_transform(moments)
            if name != "d":
                assert names == list(wanted.columns)
            for each in names:
                same(found[each], wanted[each].to_numpy(dtype=float), rtol=1e-6)
            same(found[f"{name}_total_seconds"], (moments - pd.Timestamp(1970, 1, 1)) / pd.Timedelta(seconds=1), rtol=0)
        assert all(v is None for each in names for v, m in zip(found[each], table.columns[column]) if m is None)


@EXAMPLES
@given(rows=_SOME, size=st.integers(1, 4), hours=st.integers(1, 500_000))
def test_windows(db: Connection, rows: list[Any], size: int, hours: int) -> None:
    """Moments are unique and not NULL, as pandas needs them."""
    rows = list({row[4]: row for row in rows if row[4] is not None}.values())
    table = register(db, rows)
    frame = pd.DataFrame({"id": table.columns["id"], "f": table.numbers("f").ravel()})
    frame["t"] = pd.Series(table.columns["t"], dtype="datetime64[us]")
    frame["b"] = [str(v) for v in table.columns["b"]]
    ordered = frame.sort_values("t").set_index("t")
    groups = ordered.groupby("b")["f"]

    def by_id(values: pd.Series) -> pd.Series:
        return ordered.assign(value=values).sort_values("id")["value"]

    found = read(
        ml.Pipeline(
            [ml.Lag("f", order="t", by="b", lags=[1, -size]), ml.Difference("f", order="t", by="b", lags=[size])]
        ).fit_transform(table.relation)
    )
    if rows:
        same(found["f_lag_1"], by_id(groups.shift(1)))
        same(found[f"f_lag_{-size}"], by_id(groups.shift(-size)))
        same(found[f"f_difference_{size}"], by_id(groups.diff(size)))
    statistics = ["sum", "mean", "std", "min", "max", "count"]
    closed = "left" if hours % 2 else "right"
    for window in (size, f"{hours} hours"):
        rolling = ml.Rolling("f", order="t", by="b", window=window, closed=closed, stats=statistics)
        found = read(rolling.fit_transform(table.relation))
        if not rows:
            continue
        label = str(window).replace(" ", "_")
        for stat in statistics:
            wanted = _roll(ordered, window if isinstance(window, int) else f"{hours}h", closed, stat)
            same(found[f"f_{stat}_{label}"], by_id(wanted), rtol=1e-5, atol=1e-2 if stat == "std" else 1e-6)


def _roll(ordered: pd.DataFrame, window: int | str, closed: str, stat: str) -> pd.Series:
    """The windows of each group, of pandas."""
    rolled = []
    for _, group in ordered.groupby("b"):
        windows = group["f"].rolling(window, min_periods=0 if stat == "count" else 1, closed=closed)
        values = getattr(windows, stat)()
        rolled.append(values.fillna(0) if stat == "count" else values)
    return pd.concat(rolled)


def _hash_text(text: str, seed: int = 0) -> int:
    return int(hashlib.md5(f"{seed}:{text}".encode()).hexdigest()[:8], 16) & RANGE - 1


def _number(value: Any) -> int:
    """The integer whose hash is a value's."""
    if isinstance(value, dt.datetime):
        return (value - dt.datetime(1970, 1, 1)) // dt.timedelta(microseconds=1)
    if isinstance(value, dt.date):
        return (value - dt.date(2000, 1, 1)).days
    return int(value)


def _hash(value: Any, seed: int = 0) -> int:
    return _hash_text(value, seed) if isinstance(value, str) else mix(_number(value), seed)


def _map(values: Sequence[Any], function: Callable[[Any], Any]) -> list[Any]:
    return [None if v is None else function(v) for v in values]


@EXAMPLES
@given(rows=_SOME, count=st.integers(1, 1000), seed=st.integers(0, 5))
def test_hashes_lengths_and_crosses(db: Connection, rows: list[Any], count: int, seed: int) -> None:
    table = register(db, rows)
    names = ["i", "s", "t", "d", "b"]
    found = read(ml.HashBucket(names, num_buckets=count, seed=seed).fit_transform(table.relation))
    for name in names:
        assert found[name] == _map(table.columns[name], lambda v: _hash(v, seed) * count // RANGE), name
    found = read(ml.Pipeline([ml.TextLength("s"), ml.Cross(["s", "i"])]).fit_transform(table.relation))
    assert found["s_length"] == _map(table.columns["s"], len)
    pairs = list(zip(table.columns["s"], table.columns["i"], strict=True))
    known = [None if None in pair else pair for pair in pairs]
    assert found["s_X_i"] == _map(known, lambda pair: f"{pair[0]}_X_{pair[1]}")
    found = read(ml.HashedCross(["s", "i"], num_buckets=count).fit_transform(table.relation))
    odd = 0x9E3779B1 >> 1
    crossed = _map(known, lambda pair: (_hash(pair[0]) * odd + _hash(pair[1], 1) & RANGE - 1) * count // RANGE)
    assert found["s_X_i"] == crossed


@EXAMPLES
@given(
    rows=_SOME,
    key=st.sampled_from(["s", "i"]),
    size=st.sampled_from([0.1, 0.25, 0.5]),
    seed=st.integers(0, 3),
    folds=st.integers(2, 7),
)
def test_splits(db: Connection, rows: list[Any], key: str, size: float, seed: int, folds: int) -> None:
    table = register(db, rows)
    ids = set(table.columns["id"])
    train, test = ml.train_test_split(table.relation, key=key, test_size=size, seed=seed)
    hashed = _map(table.columns[key], lambda v: _hash(v, seed))
    wanted = {at for at, h in enumerate(hashed) if h is not None and h < round(size * RANGE)}
    assert set(read(test)["id"]) == wanted
    assert set(read(train)["id"]) == ids - wanted
    found = read(ml.add_fold(table.relation, key=key, n_splits=folds, seed=seed))["fold"]
    assert found == [0 if h is None else h * folds // RANGE for h in hashed]
    ranks: dict[int, tuple[int, int]] = {}
    for stratum in set(table.columns["s"]):
        members = [at for at in ids if table.columns["s"][at] == stratum]
        for rank, at in enumerate(sorted(members, key=lambda at: (mix(at, seed), at)), 1):
            ranks[at] = rank, len(members)
    train, test = ml.train_test_split(table.relation, key="id", test_size=size, seed=seed, stratify="s")
    wanted = {at for at, (rank, members) in ranks.items() if rank <= round(members * size)}
    assert set(read(test)["id"]) == wanted
    assert set(read(train)["id"]) == ids - wanted
    found = read(ml.add_fold(table.relation, key="id", n_splits=folds, seed=seed, stratify="s"))["fold"]
    assert found == [(ranks[at][0] - 1) % folds for at in sorted(ids)]
    moments = dict(enumerate(table.columns["t"]))
    before, after = ml.time_split(table.relation, on="t", at="2000-01-01")
    border = dt.datetime(2000, 1, 1)
    assert set(read(before)["id"]) == {at for at, t in moments.items() if t is not None and t < border}
    assert set(read(after)["id"]) == {at for at, t in moments.items() if t is not None and t >= border}
