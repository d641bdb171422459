"""Relation.asof_join, embedded, on a server and on a real PostgreSQL."""

from __future__ import annotations

import datetime as dt

import pytest

import gpudb
from gpudb.api import Connection
from gpudb.errors import GpudbError

NOON = dt.datetime(2024, 5, 1, 12)
LABELS = """
SELECT * FROM (VALUES (1, 'a', timestamp '2024-05-01 12:00'), (2, 'a', '2024-05-01 13:00'), (3, 'b', '2024-05-01 12:00'),
    (4, NULL, '2024-05-01 12:00'), (5, 'a', NULL)) AS labels(id, k, t)
"""
FEATURES = """
SELECT * FROM (VALUES ('a', timestamp '2024-05-01 10:00', timestamp '2024-05-01 10:05', 1.5),
    ('a', '2024-05-01 11:00', '2024-05-01 12:30', 2.5), ('a', '2024-05-01 12:00', '2024-05-01 12:00', 3.5),
    ('b', '2024-05-01 12:30', '2024-05-01 12:30', 4.5), (NULL, '2024-05-01 11:00', '2024-05-01 11:00', 5.5)
    ) AS features(k, t, known, value)
"""


@pytest.fixture
def sides(any_db: Connection) -> tuple[gpudb.Relation, gpudb.Relation]:
    """The labels and the features."""
    return any_db.sql(LABELS), any_db.sql(FEATURES)


def _values(relation: gpudb.Relation) -> list[float | None]:
    """Returns the value beside each label."""
    rows = relation.select("id", "value::float8").order("id").fetchall()
    assert [row[0] for row in rows] == [1, 2, 3, 4, 5]
    return [row[1] for row in rows]


def test_the_last_row_that_is_not_later(sides: tuple[gpudb.Relation, gpudb.Relation]) -> None:
    labels, features = sides
    joined = labels.asof_join(features, "t", "k")
    assert joined.columns == ("id", "k", "t", "t_right", "known", "value")
    assert _values(joined) == [3.5, 3.5, None, None, None]
    assert _values(labels.asof_join(features, "t", "k", strict=True)) == [2.5, 3.5, None, None, None]
    assert _values(labels.asof_join(features, ("t", "t"), [("k", "k")], forward=True)) == [3.5, None, 4.5, None, None]
    assert labels.asof_join(features, "t", ["k"], inner=True).select("id").order("id").fetchall() == [(1,), (2,)]


def test_rows_that_were_not_known_yet_are_not_seen(sides: tuple[gpudb.Relation, gpudb.Relation]) -> None:
    labels, features = sides
    early = labels.filter("t < '2024-05-01 13:00'")
    known = early.asof_join(features.filter("value <> 3.5"), "t", "k", available_at="known")
    assert known.select("id", "value::float8", "t_right").order("id").fetchall() == [
        (1, 1.5, NOON - dt.timedelta(hours=2)),
        (3, None, None),
        (4, None, None),
    ]
    late = labels.filter("id = 2").asof_join(features.filter("value <> 3.5"), "t", "k", available_at="known")
    assert late.select("value::float8").fetchall() == [(2.5,)]


@pytest.mark.parametrize("tolerance", [dt.timedelta(minutes=30), "30 minutes"])
def test_a_row_may_be_too_far(sides: tuple[gpudb.Relation, gpudb.Relation], tolerance: str | dt.timedelta) -> None:
    labels, features = sides
    assert _values(labels.asof_join(features, "t", "k", tolerance=tolerance)) == [3.5, None, None, None, None]
    forward = labels.asof_join(features, "t", "k", tolerance=tolerance, forward=True)
    assert _values(forward) == [3.5, None, 4.5, None, None]


def test_numbers_as_times_without_keys(any_db: Connection) -> None:
    left = any_db.sql("SELECT x FROM (VALUES (1), (7), (20)) AS v(x) WHERE x > $1", [1])
    right = any_db.sql("SELECT y, '$1' AS z FROM (VALUES (1), (5), (6)) AS w(y) WHERE y < $1", [6])
    joined = left.asof_join(right, ("x", "y"), tolerance=3)
    assert joined.order("x").fetchall() == [(7, 5, "$1"), (20, None, None)]


def test_the_join_is_computed_as_one(db: Connection) -> None:
    db.execute("CREATE TABLE n AS SELECT generate_series(1, 999) AS x")
    plan = db.sql("SELECT * FROM n").asof_join(db.sql("SELECT * FROM n"), "x").explain()
    assert "AsofJoin" in plan


def test_wrong_arguments(db: Connection) -> None:
    left = db.sql("SELECT 1 AS x")
    with gpudb.connect() as another, pytest.raises(ValueError, match="different connections"):
        left.asof_join(another.sql("SELECT 1 AS x"), "x")
    with pytest.raises(ValueError, match="available_at"):
        left.asof_join(left, "x", available_at="x", forward=True)
    with pytest.raises(GpudbError) as raised:
        left.asof_join(left, "y").fetchall()
    assert raised.value.sqlstate == "42703"
