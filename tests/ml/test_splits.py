"""Splits: the same rows on every engine; shares, strata and groups."""

from __future__ import annotations

from collections import Counter

import pytest

from gpudb.api import Connection
from gpudb.errors import GpudbError
from gpudb.ml import add_fold, time_split, train_test_split
from gpudb.ml.hashing import RANGE, mix

ROWS = 2000


@pytest.fixture
def table(db: Connection) -> None:
    db.execute(f"""CREATE TABLE t AS SELECT i AS id, 'customer ' || i % 100 AS customer, i % 4 = 0 AS paid,
        timestamp '2024-01-01' + i * interval '1 hour' AS t FROM generate_series(1, {ROWS}) i""")


@pytest.mark.parametrize("seed", [0, 7])
def test_rows_are_the_same_everywhere(db: Connection, table: None, seed: int) -> None:
    """Both engines are compared with one hash that Python computes."""
    train, test = train_test_split(db.table("t"), key="id", test_size=0.25, seed=seed)
    wanted = {key for key in range(1, ROWS + 1) if mix(key, seed) < round(RANGE / 4)}
    assert {row[0] for row in test.select("id").fetchall()} == wanted
    assert {row[0] for row in train.select("id").fetchall()} == set(range(1, ROWS + 1)) - wanted
    assert abs(len(wanted) - ROWS / 4) < 3 * (ROWS * 0.25 * 0.75) ** 0.5
    assert "On Host" not in test.explain()


def test_keys_of_64_bits_and_below_zero(db: Connection) -> None:
    keys = [-1, 0, 2**63 - 1, -(2**63), 4294967295, -4294967296]
    db.execute("CREATE TABLE k (id bigint)")
    for key in keys:
        db.execute("INSERT INTO k VALUES ($1)", [key])
    found = dict(add_fold(db.table("k"), key="id", n_splits=1000).fetchall())
    assert found == {key: mix(key) * 1000 // RANGE for key in keys}


def test_groups_stay_together(db: Connection, table: None) -> None:
    train, test = train_test_split(db.table("t"), key="customer", test_size=0.3, seed=1)
    left, right = ({row[0] for row in each.select("customer").fetchall()} for each in (train, test))
    assert len(left) + len(right) == 100
    assert not left & right
    assert 10 < len(right) < 50


def test_strata_have_exact_shares(db: Connection, table: None) -> None:
    train, test = train_test_split(db.table("t"), key="id", test_size=0.2, stratify="paid")
    assert test.columns == train.columns == ("id", "customer", "paid", "t")
    assert Counter(row[0] for row in test.select("paid").fetchall()) == {True: 100, False: 300}
    assert len(train.fetchall()) == 1600
    folds = add_fold(db.table("t"), key="id", n_splits=4, stratify="paid")
    counts = Counter(folds.select("paid", "fold").fetchall())
    assert counts == {(paid, fold): 125 if paid else 375 for paid in (True, False) for fold in range(4)}


def test_time(db: Connection, table: None) -> None:
    before, after = time_split(db.table("t"), on="t", at="2024-02-01")
    assert before.select("max(t) < '2024-02-01'", "count(*)").fetchall() == [(True, 743)]
    assert after.select("min(t) >= '2024-02-01'", "count(*)").fetchall() == [(True, ROWS - 743)]


def test_errors(db: Connection, table: None) -> None:
    for run, state in (
        (lambda: train_test_split(db.table("t"), key="none"), "42703"),
        (lambda: train_test_split(db.table("t"), key="id", test_size=1), "22023"),
        (lambda: train_test_split(db.sql("SELECT 1.5::float8 AS x"), key="x"), "0A000"),
    ):
        with pytest.raises(GpudbError) as error:
            run()
        assert error.value.sqlstate == state
