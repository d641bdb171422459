"""Frames in the calling code's variables are tables: where they are found, and where they are not."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from types import ModuleType

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import gpudb
from gpudb.api import Connection, Relation
from gpudb.errors import GpudbError, UndefinedTable

# The frames below are read by their names in SQL alone.
# ruff: noqa: B007, F841

module_frame = pl.DataFrame({"n": [10, 20]})


def test_every_kind_of_frame(any_db: Connection) -> None:
    of_arrow = pa.table({"n": [1]})
    of_batch = pa.record_batch({"n": [2]})
    of_polars = pl.DataFrame({"n": [3]})
    lazy = pl.LazyFrame({"n": [4, 5]}).filter(pl.col("n") == 4)
    of_pandas = pd.DataFrame({"n": [5]})
    of_dict = {"n": np.array([6])}
    of_sql = any_db.sql("SELECT 7 AS n")
    names = ("of_arrow", "of_batch", "of_polars", "lazy", "of_pandas", "of_dict", "of_sql", "module_frame")
    rows = any_db.sql(" UNION ALL ".join(f"SELECT n FROM {name}" for name in names) + " ORDER BY n").fetchall()
    assert rows == [(1,), (2,), (3,), (4,), (5,), (6,), (7,), (10,), (20,)]


@pytest.mark.gpu
def test_a_frame_of_cudf(db: Connection) -> None:
    cudf = pytest.importorskip("cudf")
    of_cudf = cudf.DataFrame({"n": [1, None], "t": ["a", "b"]})
    assert db.sql("SELECT n, t FROM of_cudf ORDER BY t").fetchall() == [(1, "a"), (None, "b")]


def test_in_subqueries_expressions_and_common_table_expressions(any_db: Connection) -> None:
    frame = {"n": [1, 2, 3], "k": ["a", "b", "a"]}
    other = {"n": [2, 3]}
    query = """
        WITH kept AS (SELECT * FROM frame WHERE n IN (SELECT n FROM other)), other AS (SELECT 9 AS n)
        SELECT k, kept.n, (SELECT max(f.n) FROM frame AS f), o.n FROM kept, other AS o ORDER BY 2"""
    assert any_db.sql(query).fetchall() == [("b", 2, 3, 9), ("a", 3, 3, 9)]
    assert any_db.sql(
        "SELECT count(*) FROM frame JOIN LATERAL (SELECT frame.n FROM other) AS x ON true"
    ).fetchone() == (6,)


def test_the_values_of_a_pivot_come_from_a_frame(db: Connection) -> None:
    frame = {"n": [1, 2, 3], "k": ["a", "b", "a"]}
    assert db.sql("PIVOT frame ON k USING sum(n)").fetchall() == [(4, 2)]
    assert len(frame) == 2  # read by its name alone, above


def test_a_relation_keeps_the_frames_of_the_code_that_made_it(any_db: Connection) -> None:
    def make() -> Relation:
        inner = pl.DataFrame({"n": [1, 2, 3]})
        return any_db.sql("SELECT n FROM inner_frame", frames={"inner_frame": inner}).filter("n > 1")

    def make_from_scope() -> Relation:
        inner = pl.DataFrame({"n": [1, 2, 3]})
        return any_db.sql('SELECT n FROM "inner"').filter("n > 1")

    for relation in (make(), make_from_scope()):
        assert relation.columns == ("n",)
        assert [str(kind) for kind in relation.types] == ["bigint"]
        assert sorted(relation) == [(2,), (3,)]
        assert len(relation) == 2
        assert relation.fetchone() is not None
        assert "2" in relation._repr_html_()
        assert relation.describe().fetchall()[0][:3] == ("n", "bigint", 2)
        assert relation.explain()


def test_a_frame_is_read_whenever_the_relation_runs(db: Connection) -> None:
    frame = pd.DataFrame({"n": [1]})
    relation = db.sql("SELECT sum(n) FROM frame")
    assert relation.fetchone() == (1,)
    frame.loc[0, "n"] = 5
    assert relation.fetchone() == (5,)


def test_columns_of_a_lazy_frame_do_not_compute_it(db: Connection) -> None:
    def fail(rows: pl.DataFrame) -> pl.DataFrame:
        assert not len(rows), "computed"
        return rows

    lazy = pl.LazyFrame({"n": [1]}).map_batches(fail, schema={"n": pl.Int64})
    assert db.sql("SELECT n FROM lazy").columns == ("n",)


def test_locals_come_before_globals_and_names_are_as_written_or_in_lower_case(any_db: Connection) -> None:
    assert any_db.sql("SELECT sum(n) FROM module_frame").fetchone() == (30,)
    module_frame = {"n": [1]}
    MixedCase = {"n": [2]}
    assert any_db.sql("SELECT sum(n) FROM MODULE_FRAME").fetchone() == (1,)
    assert any_db.sql("SELECT sum(n) FROM MixedCase").fetchone() == (2,)
    assert any_db.sql('SELECT sum(n) FROM "MixedCase"').fetchone() == (2,)
    with pytest.raises(UndefinedTable):
        any_db.sql("SELECT sum(n) FROM mixedcase").fetchone()


def test_a_table_comes_before_a_frame(any_db: Connection) -> None:
    any_db.execute("DROP TABLE IF EXISTS both_here")
    any_db.execute("CREATE TABLE both_here (n int)")
    both_here = {"n": [1, 2]}
    pg_class = {"n": [1]}
    assert any_db.sql("SELECT count(*) FROM both_here").fetchone() == (0,)
    with any_db.transaction():
        any_db.execute("DROP TABLE both_here")
        assert any_db.sql("SELECT count(*) FROM both_here").fetchone() == (2,)
    assert any_db.sql("SELECT relname FROM pg_class LIMIT 1").fetchone() is not None
    with pytest.raises(UndefinedTable):
        any_db.sql("SELECT * FROM public.both_here").fetchall()


def test_nothing_is_left_behind(any_db: Connection) -> None:
    frame = {"n": [1]}
    assert any_db.sql("SELECT n FROM frame").fetchall() == [(1,)]
    with pytest.raises(GpudbError):
        any_db.sql("SELECT n / 0 FROM frame").fetchall()
    with pytest.raises(GpudbError), any_db.transaction():
        any_db.sql("SELECT n / 0 FROM frame").fetchall()
    del frame
    with pytest.raises(UndefinedTable):
        any_db.sql("SELECT n FROM frame").fetchall()


def test_statements_that_change_something_read_frames_too(any_db: Connection) -> None:
    any_db.execute("DROP TABLE IF EXISTS of_frames")
    frame = {"n": [1, 2, 3]}
    assert any_db.execute("CREATE TABLE of_frames AS SELECT n FROM frame").rowcount == 3
    assert any_db.execute("INSERT INTO of_frames SELECT n + $1::int8 FROM frame", [10]).rowcount == 3
    assert any_db.execute("DELETE FROM of_frames WHERE n IN (SELECT n FROM frame)").rowcount == 3
    any_db.execute("UPDATE of_frames AS o SET n = 0 FROM frame AS f WHERE o.n = f.n + 10; SELECT 1")
    assert any_db.sql("SELECT sum(n) FROM of_frames").fetchone() == (0,)
    any_db.execute("DROP TABLE of_frames")
    for text in ("CREATE VIEW of_frames AS SELECT n FROM frame", "DROP TABLE frame", "INSERT INTO frame VALUES (1)"):
        with pytest.raises(UndefinedTable):
            any_db.execute(text)


def test_a_switch_turns_it_off(any_db: Connection) -> None:
    frame = {"n": [1]}
    any_db.local_frames = False
    with pytest.raises(UndefinedTable):
        any_db.sql("SELECT n FROM frame").fetchall()
    assert any_db.sql("SELECT n FROM frame", frames={"frame": frame}).fetchall() == [(1,)]
    with gpudb.connect(local_frames=False) as db, pytest.raises(UndefinedTable):
        db.execute("SELECT n FROM frame")


def test_another_variable_of_the_name_is_named_by_the_hint(any_db: Connection) -> None:
    numbers = [1, 2]
    with pytest.raises(UndefinedTable) as caught:
        any_db.sql("SELECT * FROM numbers").fetchall()
    assert caught.value.hint == 'The Python variable "numbers" is of type list, which is no frame.'


def test_a_frame_that_cannot_be_read_is_an_error_of_its_column(any_db: Connection) -> None:
    for frame, column in (
        ({"good": [1, 2], "bad": [1, "x"]}, "bad"),
        ({"good": [1, 2], "bad": [1]}, "bad"),
        ({"good": [1, 2], "bad": [{"a": 1}, None]}, "bad"),
        (pd.DataFrame({"good": [1, 2], "bad": [1, "x"]}), "bad"),
        (pl.DataFrame({"good": [1], "bad": pl.Series([object()], dtype=pl.Object)}), "bad"),
        (pl.DataFrame({"good": [1], "bad": [{"a": 1}]}), "bad"),
    ):
        with pytest.raises(GpudbError) as caught:
            any_db.sql("SELECT good FROM frame").fetchall()
        assert f'column "{column}"' in caught.value.message
        assert caught.value.sqlstate in {"42804", "0A000"}
        assert caught.value.__cause__ is None
    assert any_db.sql("SELECT 1").fetchall() == [(1,)]


@pytest.fixture
def library() -> Iterator[ModuleType]:
    """A module whose function asks for a table that only its caller has."""
    module = ModuleType("some_library")
    exec("def run(db): return db.sql('SELECT * FROM callers_frame').fetchall()", module.__dict__)
    return module


def test_only_the_code_that_calls_is_looked_at(db: Connection, library: ModuleType) -> None:
    callers_frame = {"n": [1]}
    with pytest.raises(UndefinedTable):
        library.run(db)
    library.callers_frame = callers_frame  # type: ignore[attr-defined]
    assert library.run(db) == [(1,)]


def test_a_script_reads_its_variables(db: Connection) -> None:
    code = (
        "import gpudb; frame = {'n': [1, 2]}; db = gpudb.connect(); "
        "print(db.table('frame').fetchall(), [row for row in db.sql('SELECT n FROM frame WHERE n = 2')])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert out.stdout.strip() == "[(1,), (2,)] [(2,)]"
