"""Relations as a notebook and a data scientist use them: shown, measured, sliced, described, written and drawn."""

from __future__ import annotations

import sys
from decimal import Decimal
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gpudb.api import Connection
from gpudb.errors import FeatureNotSupported, GpudbError, UndefinedColumn

NUMBERS = "SELECT n, n * 1.5 AS half, 'k' || n % 3 AS k FROM generate_series(1, 100) AS g(n) ORDER BY n"


def test_a_notebook_shows_the_first_rows_their_types_and_the_count(any_db: Connection) -> None:
    html = any_db.sql(NUMBERS)._repr_html_()
    assert html.count("<tr>") == 2 + 10
    assert '<th style="text-align: right">n</th>' in html
    assert "<em>integer</em>" in html
    assert "<em>numeric" in html
    assert ">10</td>" in html
    assert ">11</td>" not in html
    assert "100 rows, 3 columns; the first 10 rows are shown" in html


def test_what_a_notebook_shows_is_escaped(any_db: Connection) -> None:
    html = any_db.sql("""SELECT '<script>&' AS "<b>", NULL AS e, 'a\nb' AS l, repeat('x', 300) AS w""")._repr_html_()
    assert "<script>" not in html
    assert "<b>" not in html
    assert "&lt;script&gt;&amp;" in html
    assert "&lt;b&gt;" in html
    assert "<em>NULL</em>" in html
    assert "a<br>b" in html
    assert "x" * 199 + "…" in html
    assert "1 row, 4 columns" in html


def test_rows_in_memory_show_themselves_too(any_db: Connection) -> None:
    rows = any_db.execute(NUMBERS)
    assert "100 rows, 3 columns; the first 10 rows are shown" in (rows._repr_html_() or "")
    assert rows.head(3).fetchall() == rows.fetchall()[:3]
    assert len(rows.head(1000)) == 100
    assert any_db.execute("SET TimeZone TO 'UTC'")._repr_html_() is None


def test_the_text_of_a_relation_is_its_query_or_its_first_rows(any_db: Connection) -> None:
    relation = any_db.sql(NUMBERS)
    assert repr(relation).startswith("<gpudb.Relation: SELECT n, n * 1.5")
    assert str(relation).endswith("(10 rows; there are more)")
    assert str(any_db.sql("SELECT 1 AS one")) == " one \n-----\n   1\n(1 row)"


def test_length_and_truth(any_db: Connection) -> None:
    relation = any_db.sql(NUMBERS)
    assert len(relation) == 100
    assert relation
    assert not relation.filter("n > 100")
    assert len(any_db.sql("SHOW TimeZone")) == 1
    assert len(any_db.sql("SELECT 1 AS a, 2 AS a")) == 1
    it = iter(relation)
    assert next(it)[0] == 1
    assert len(relation) == 100
    assert len(list(it)) == 99


def test_a_list_of_a_relation_runs_it_once(any_db: Connection) -> None:
    any_db.execute("DROP SEQUENCE IF EXISTS listed")
    any_db.execute("CREATE SEQUENCE listed")
    relation = any_db.sql("SELECT nextval('listed') AS n")
    assert list(relation) == [(1,)]
    assert list(relation) == [(2,)]
    assert [n for (n,) in relation] == [3]
    any_db.execute("DROP SEQUENCE listed")


def test_columns_and_slices(any_db: Connection) -> None:
    relation = any_db.sql(NUMBERS)
    assert relation["k"].columns == ("k",)
    assert relation[["k", "n"]].limit(1).fetchall() == [("k1", 1)]
    assert relation["n"][10:12].fetchall() == [(11,), (12,)]
    assert relation["n"][98:].fetchall() == [(99,), (100,)]
    assert relation["n"][:1].fetchall() == [(1,)]
    assert relation["n"][5:5].fetchall() == []
    assert any_db.sql('SELECT 1 AS "a ""b"')['a "b'].fetchall() == [(1,)]
    with pytest.raises(UndefinedColumn):
        relation["nothing"].fetchall()
    for bounds in (slice(-1, None), slice(0, -1), slice(0, 10, 2)):
        with pytest.raises(GpudbError) as caught:
            relation[bounds]
        assert caught.value.sqlstate == "22023"
    with pytest.raises(TypeError):
        relation[0]  # type: ignore[index]


def test_frames_by_the_names_of_their_libraries(any_db: Connection) -> None:
    relation = any_db.sql("SELECT 1 AS a, 'x' AS b")
    assert relation.pl().equals(relation.polars())
    assert relation.df().equals(relation.pandas())
    assert relation.arrow().to_pylist() == [{"a": 1, "b": "x"}]
    assert any_db.execute("SELECT 1 AS a").df()["a"].tolist() == any_db.execute("SELECT 1 AS a").pl()["a"].to_list()


def test_statistics_of_columns(any_db: Connection) -> None:
    query = """
        SELECT n, n::float8 / 4 AS f, CASE WHEN n > 2 THEN 'x' || n END AS "a b", n > 1 AS yes,
            date '2024-01-01' + n AS d, NULL::int AS nothing
        FROM generate_series(1, 4) AS g(n) WHERE n < $1"""
    described = any_db.sql(query, [100]).describe()
    assert described.columns == ("column", "type", "count", "nulls", "mean", "std", "min", "25%", "50%", "75%", "max")
    rows = {row[0]: row[1:] for row in described.fetchall()}
    assert list(rows) == ["n", "f", "a b", "yes", "d", "nothing"]
    assert rows["n"] == ("integer", 4, 0, 2.5, pytest.approx(1.2909944487), "1", 1.75, 2.5, 3.25, "4")
    assert rows["f"][3] == 0.625
    assert rows["a b"] == ("text", 2, 2, None, None, "x3", None, None, None, "x4")
    assert rows["yes"][:4] == ("boolean", 4, 0, 0.75)
    assert (rows["d"][5], rows["d"][9]) == ("2024-01-02", "2024-01-05")
    assert rows["nothing"] == ("integer", 0, 4, None, None, None, None, None, None, None)


def test_a_parquet_file_of_a_relation(any_db: Connection, tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    relation = any_db.sql(NUMBERS)
    assert relation.to_parquet(path) == 100
    assert relation.to_parquet(path, compression="none") == 100
    assert pl.read_parquet(path).equals(relation.polars())
    assert pq.read_schema(path).field("n").type == pa.int32()
    with pytest.raises(FeatureNotSupported):
        any_db.sql("SELECT interval '1 day' AS i").to_parquet(path)
    with pytest.raises(GpudbError) as caught:
        relation.to_parquet(path, compression="nothing")
    assert caught.value.sqlstate == "22023"
    assert len(pl.read_parquet(path)) == 100
    assert [file.name for file in tmp_path.iterdir()] == ["rows.parquet"]


def test_charts(any_db: Connection) -> None:
    relation = any_db.sql(NUMBERS)
    for chart, mark in (
        (relation.plot.line(x="n", y="half", color="k"), "line"),
        (relation.plot.bar(x="k", y="sum(half)"), "bar"),
        (relation.plot.area(x="n", y="half"), "area"),
        (relation.plot.scatter(x="n", y="half"), "point"),
    ):
        drawn = chart.to_dict()
        assert drawn["mark"]["type"] == mark
        (rows,) = drawn["datasets"].values()
        assert len(rows) == 100
        assert rows[0]["half"] == 1.5


def test_a_histogram_is_counted_by_the_database(any_db: Connection) -> None:
    many = any_db.sql("SELECT n FROM generate_series(1, 20000) AS g(n) UNION ALL SELECT NULL")
    (bins,) = many.plot.hist("n", bins=4).to_dict()["datasets"].values()
    assert [(row["start"], row["rows"]) for row in bins] == [
        (pytest.approx(1 + 19999 / 4 * number), 5000) for number in range(4)
    ]
    (same,) = any_db.sql("SELECT 7 AS x").plot.hist("x").to_dict()["datasets"].values()
    assert same == [{"start": 7, "end": 7, "rows": 1}]
    with pytest.raises(GpudbError) as caught:
        many.plot.chart()
    assert caught.value.sqlstate == "54000"
    assert "vegafusion" in (caught.value.hint or "")


def test_without_altair_it_says_what_to_install(db: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "altair", None)
    with pytest.raises(ImportError, match=r"gpudb-sql\[plot\]"):
        db.sql("SELECT 1 AS x").plot.bar(x="x", y="x")


def test_the_first_rows_of_a_failing_query_show_where_it_fails(any_db: Connection) -> None:
    with pytest.raises(UndefinedColumn) as caught:
        any_db.sql("SELECT nothing").show()
    assert caught.value.position == 8


def test_parameters_of_rows_in_bulk(any_db: Connection) -> None:
    """A server sends them as a COPY, whose statement has the values in the parameters' places."""
    query = "SELECT $1 + 1 AS a, $2 AS b, '$1' AS c, $3::numeric AS d, $4 AS e -- $1\n"
    relation = any_db.sql(query, [-3, "it's $1", Decimal("1.50"), True])
    assert relation.arrow().to_pylist() == [{"a": -2, "b": "it's $1", "c": "$1", "d": Decimal("1.50"), "e": True}]
    assert relation.fetchall() == any_db.execute(query, [-3, "it's $1", Decimal("1.50"), True]).fetchall()


def test_an_error_in_bulk_names_its_place(any_db: Connection) -> None:
    with pytest.raises(GpudbError) as caught:
        any_db.sql("SELECT 1,\n  missing").arrow()
    assert caught.value.sqlstate == "42703"
    assert "LINE 2:   missing\n          ^" in str(caught.value)
    with pytest.raises(GpudbError) as caught:
        any_db.sql("SELECT 1 / (i - 70000) FROM generate_series(1, 100000) AS i").arrow()
    assert caught.value.sqlstate == "22012"
    assert any_db.sql("SELECT 1 AS a").arrow().to_pylist() == [{"a": 1}]


def test_rows_in_bulk_of_a_transaction(any_db: Connection) -> None:
    any_db.execute("CREATE TEMPORARY TABLE bulk (a int)")
    with any_db.transaction():
        any_db.execute("INSERT INTO bulk VALUES (1)")
        assert any_db.table("bulk").arrow().to_pylist() == [{"a": 1}]
    assert any_db.sql("VALUES (1), (2)").fetchall() == [(1,), (2,)]
    assert any_db.sql("SELECT 1 UNION ALL SELECT 2").fetchall() == [(1,), (2,)]
    any_db.execute("DROP TABLE bulk")
