"""Pipelines: fitted, transformed, saved as a view or function, asked by another client, loaded and dropped."""

from __future__ import annotations

import gc

import psycopg
import pytest

from gpudb.api import Connection, Relation
from gpudb.errors import GpudbError
from gpudb.ml import Categorify, Pipeline, StandardScaler, TargetEncoder

RIDES = """CREATE TABLE rides AS SELECT i AS id, CASE WHEN i % 11 <> 0 THEN i * 0.37 END::float8 AS miles,
    CASE WHEN i % 13 <> 0 THEN 'zone ''' || (i * i % {zones}) END AS zone, i % 4 AS cab FROM generate_series(1, 500) i"""


def _fit(db: Connection, zones: int) -> Pipeline:
    db.execute(RIDES.format(zones=zones))
    return Pipeline([StandardScaler("miles"), Categorify(["zone", "cab"], freq_threshold=3)]).fit(db.table("rides"))


@pytest.mark.parametrize("zones", [10, 97], ids=["values in the statement", "values in a table"])
def test_a_view_has_exactly_the_features_of_transform(
    served: Connection, client: psycopg.Connection, zones: int
) -> None:
    pipeline = _fit(served, zones)
    features = pipeline.transform(served.table("rides")).order("id")
    assert features.columns == ("id", "miles", "zone", "cab")
    expected = features.fetchall()
    assert len(expected) == 500
    pipeline.save(served, "prepared", over="rides")
    assert client.execute("SELECT * FROM prepared ORDER BY id").fetchall() == expected
    again = Pipeline.load(served, "prepared")
    assert again.transform(served.table("rides")).order("id").fetchall() == expected


@pytest.mark.parametrize("zones", [10, 97], ids=["values in the statement", "values in a table"])
def test_a_function_has_exactly_the_features_of_transform(
    served: Connection, client: psycopg.Connection, zones: int
) -> None:
    pipeline = _fit(served, zones)
    expected = pipeline.transform(served.table("rides")).select("miles", "zone", "cab").order("1", "2", "3").fetchall()
    pipeline.save(served, "prepare", inputs=["miles", "zone", "cab"])
    asked = "SELECT f.* FROM rides r, prepare(r.miles, r.zone, r.cab) f ORDER BY 1, 2, 3"
    client.execute("SET gpudb.fallback = on")
    assert client.execute(asked).fetchall() == expected
    assert client.execute("SELECT zone FROM prepare(NULL, 'never seen', 1)").fetchall() == [(2,)]
    again = Pipeline.load(served, "prepare").transform(served.table("rides")).select("miles", "zone", "cab")
    assert again.order("1", "2", "3").fetchall() == expected


def test_a_saved_pipeline_is_replaced_and_dropped_with_its_tables(db: Connection) -> None:
    pipeline = _fit(db, 97)
    pipeline.save(db, "prepared", over="rides")
    with pytest.raises(GpudbError) as taken:
        pipeline.save(db, "prepared", over="rides")
    assert taken.value.sqlstate == "42P07"
    pipeline.save(db, "prepared", over="rides", replace=True)
    count = "SELECT count(*) FROM pg_class WHERE relname LIKE 'prepared%'"
    assert db.execute(count).fetchall() == [(2,)]
    Pipeline.drop(db, "prepared")
    assert db.execute(count).fetchall() == [(0,)]
    with pytest.raises(GpudbError) as missing:
        Pipeline.load(db, "prepared")
    assert missing.value.sqlstate == "42704"


def test_statements_run_on_workers(db: Connection) -> None:
    """The connection refuses the embedded engine; EXPLAIN would name what runs on the host."""
    plan = _fit(db, 97).transform(db.table("rides")).explain()
    assert "On Host" not in plan


def test_errors(db: Connection) -> None:
    db.execute("CREATE TABLE t AS SELECT 1 AS a")
    for run, state in (
        (lambda: StandardScaler("b").fit(db.table("t")), "42703"),
        (lambda: StandardScaler("a").transform(db.table("t")), "55000"),
        (lambda: Pipeline([StandardScaler("a")]).save(db, "s", over="t"), "55000"),
        (lambda: Pipeline([StandardScaler("a")]).fit(db.table("t")).save(db, "a.b.c", over="t"), "42602"),
    ):
        with pytest.raises(GpudbError) as error:
            run()
        assert error.value.sqlstate == state


def test_parameters_of_a_relation_stay(db: Connection) -> None:
    db.execute("CREATE TABLE t AS SELECT i AS a FROM generate_series(1, 10) i")
    few = db.sql("SELECT * FROM t WHERE a <= $1", [3])
    assert StandardScaler("a").fit_transform(few).order("a").fetchall() == pytest.approx(
        [(-1.224744871391589,), (0.0,), (1.224744871391589,)]
    )


def test_frames_in_variables_are_fitted_and_transformed(db: Connection) -> None:
    """The frames belong to the relation: code that fits it need not have them."""

    def load() -> Relation:
        rides = {  # noqa: F841 - the statement reads it
            "miles": [1.0, 2.0, 3.0],
            "cab": ["a", "b", "b"],
            "late": [0, 1, 1],
            "id": [1, 2, 3],
        }
        return db.sql("SELECT * FROM rides")

    steps = [StandardScaler("miles"), TargetEncoder("cab", target="late", key="id", cv=2)]
    pipeline = Pipeline(steps)
    assert len(pipeline.fit_transform(load()).fetchall()) == 3
    assert pipeline.transform(load()).select("miles").fetchall()[1] == (0.0,)


def test_transformed_rows_outlive_what_transformed_them(db: Connection) -> None:
    """The learned tables that a relation joins live as long as it, and as the relations made of it."""
    db.execute(RIDES.format(zones=97))
    rides = db.table("rides")
    encoder = TargetEncoder("zone", target="miles", key="id")

    def compare() -> None:
        folds, whole = encoder.fit_transform(rides).order("id"), encoder.transform(rides).order("id")
        expected = folds.fetchall(), whole.fetchall()
        assert expected[0] != expected[1]
        encoder.fit(db.sql("SELECT * FROM rides WHERE id < 100"))
        gc.collect()
        encoder.transform(rides).fetchall()  # drops the tables that nobody needs any more
        assert (folds.fetchall(), whole.fetchall()) == expected

    compare()
    gc.collect()
    encoder.fit_transform(rides).fetchall()
    tables = "SELECT count(*) FROM pg_class WHERE relname LIKE 'learned%' AND relnamespace = pg_my_temp_schema()"
    assert db.execute(tables).fetchall() == [(1,)]
