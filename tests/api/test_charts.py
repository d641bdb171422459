"""Charts of more rows than Altair draws: what the database computes for them, and what their titles say."""

from __future__ import annotations

from collections import Counter
from typing import Any

import altair as alt
import pytest

from gpudb.api.charts.drawing import MAX_ROWS
from gpudb.api.connection import Connection
from gpudb.errors import GpudbError, UndefinedColumn

TOTAL = 20_000
ROWS = f"""
SELECT n, CASE WHEN n % 1000 = 0 THEN NULL ELSE (n % 100)::float8 END AS v, chr(97 + n % 3) AS k, 'c' || n % 80 AS c,
timestamp '2024-01-01' + n * interval '1 minute' AS at, date '2024-01-01' + n % 10 AS day, n::numeric / 4 AS q,
-74 + (n % 200) / 1000.0 AS lon, 40.5 + (n / 200) / 1000.0 AS lat
FROM generate_series(1, {TOTAL}) AS g(n)"""


def draw(chart: Any) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Returns a chart's rows, and all of it."""
    drawn = chart.to_dict()
    (rows,) = drawn["datasets"].values()
    assert 0 < len(rows) <= MAX_ROWS
    return rows, drawn


def test_a_line_has_the_least_and_the_greatest_of_each_bin(any_db: Connection) -> None:
    rows, drawn = draw(any_db.sql(ROWS).plot.line(x="n", y="v"))
    assert drawn["mark"]["type"] == "line"
    assert len(rows) == 800
    assert [row["n"] for row in rows] == sorted(row["n"] for row in rows)
    assert [(row["n"], row["v"]) for row in rows[:4]] == [(1, 1), (1, 50), (51, 0), (51, 99)]
    assert (
        drawn["title"]["text"]
        == "19,980 rows (20 more without a value): the least and the greatest of each of 400 bins"
    )


def test_lines_of_groups_keep_their_groups(any_db: Connection) -> None:
    rows, drawn = draw(any_db.sql(ROWS).plot.line(x="at", y="q", color="k", tooltip=["k", "q"]))
    assert {row["k"] for row in rows} == {"a", "b", "c"}
    assert rows[0]["at"] == "2024-01-01T00:01:00"
    assert max(row["q"] for row in rows) == TOTAL / 4
    assert "the least and the greatest" in drawn["title"]["text"]
    many, _ = draw(any_db.sql(ROWS).plot.line(x="n", y="v", detail="c"))
    assert len({row["c"] for row in many}) == 80
    with pytest.raises(GpudbError) as caught:
        any_db.sql(ROWS).plot.line(x="n", y="v", detail="q")
    assert caught.value.sqlstate == "54000"


def test_an_area_has_means(any_db: Connection) -> None:
    rows, drawn = draw(any_db.sql(ROWS).plot.area(x="n", y="q"))
    assert len(rows) == 400
    assert rows[0] == {"n": 1, "q": pytest.approx(sum(range(1, 51)) / 50 / 4)}
    assert "the mean of each of 400 bins" in drawn["title"]["text"]


def test_aggregates_of_many_rows_are_those_of_vega_lite(any_db: Connection) -> None:
    chart = any_db.sql(ROWS).plot.line(x="day", y=alt.Y("mean(q)", title="quarter"), color="k")
    rows, drawn = draw(chart)
    assert len(rows) == 30
    assert "title" not in drawn
    assert drawn["encoding"]["y"] == {"field": "mean(q)", "title": "quarter", "type": "quantitative"}
    ones = [n / 4 for n in range(1, TOTAL + 1) if n % 10 == 1 and n % 3 == 0]
    (found,) = (row["mean(q)"] for row in rows if row["day"].startswith("2024-01-02") and row["k"] == "a")
    assert found == pytest.approx(sum(ones) / len(ones))
    with pytest.raises(GpudbError) as caught:
        any_db.sql(ROWS).plot.line(x=alt.X("at", timeUnit="month"), y="mean(q)")
    assert caught.value.sqlstate == "54000"
    assert "timeUnit" in caught.value.message


def test_bars_are_the_largest_categories_and_the_others(any_db: Connection) -> None:
    rows, drawn = draw(any_db.sql(ROWS).plot.bar(x="c", y="q"))
    assert len(rows) == 50
    assert drawn["title"]["text"] == "the 49 largest of 80 bars; the other 31 are one"
    sums: Counter[str] = Counter()
    for n in range(1, TOTAL + 1):
        sums[f"c{n % 80}"] += n
    assert {row["c"]: row["sum(q)"] for row in rows}["c0"] == sums["c0"] / 4
    assert sum(row["sum(q)"] for row in rows) == sum(sums.values()) / 4
    order = drawn["encoding"]["x"]["sort"]
    assert order[0] == "c0"
    assert order[-1] == "other"


def test_a_category_named_other_stays_itself(any_db: Connection) -> None:
    query = "SELECT CASE n % 80 WHEN 0 THEN 'other' WHEN 1 THEN NULL ELSE 'c' || n % 80 END AS c, n % 80 AS v FROM generate_series(1, 8000) AS g(n)"
    rows, drawn = draw(any_db.sql(f"SELECT c, 80 - v AS v FROM ({query}) AS t").plot.bar(x="c", y="v"))
    found = {row["c"]: row["sum(v)"] for row in rows}
    assert (found["other"], found["NULL"], found["other …"]) == (8000, 7900, 100 * sum(range(1, 32)))
    assert drawn["encoding"]["x"]["sort"][-1] == "other …"


def test_bars_of_means_leave_the_others_out(any_db: Connection) -> None:
    rows, drawn = draw(any_db.sql(ROWS).plot.bar(y="c", x="max(n)", color="k"))
    assert len({row["c"] for row in rows}) == 50
    assert drawn["title"]["text"].endswith("the other 30 are left out")
    rows, drawn = draw(any_db.sql(ROWS).plot.bar(x="k", y="count()"))
    assert sorted((row["k"], row["count()"]) for row in rows) == [("a", 6666), ("b", 6667), ("c", 6667)]
    assert "title" not in drawn


def test_bars_that_cannot_be_drawn_are_refused(any_db: Connection) -> None:
    for x, y in (("n", "q"), ("c", "k")):
        with pytest.raises(GpudbError) as caught:
            any_db.sql(ROWS).plot.bar(x=x, y=y)
        assert caught.value.sqlstate == "54000"


def test_points_of_many_rows_are_cells(any_db: Connection) -> None:
    rows, drawn = draw(any_db.sql(ROWS).plot.scatter(x="n", y="q"))
    assert drawn["mark"]["type"] == "rect"
    assert drawn["title"]["text"] == "20,000 rows in 60 × 40 bins"
    assert sum(row["value"] for row in rows) == TOTAL
    assert (rows[0]["x"], rows[0]["y"], rows[-1]["x2"], rows[-1]["y2"]) == (1, 0.25, TOTAL, pytest.approx(TOTAL / 4))


def test_points_with_further_columns_are_a_sample(any_db: Connection) -> None:
    rows, drawn = draw(any_db.sql(ROWS).plot.scatter(x="n", y="q", color="k"))
    assert drawn["mark"]["type"] == "point"
    assert len(rows) > MAX_ROWS * 0.85
    assert drawn["title"]["text"] == f"a sample of {len(rows):,} of 20,000 rows"
    assert all(row["q"] == pytest.approx(row["n"] / 4) for row in rows)
    few, _ = draw(any_db.sql(ROWS).plot.scatter(x="n", y="q", sample_rows=400))
    assert 250 < len(few) <= 400


def test_a_histogram_of_times_and_groups(any_db: Connection) -> None:
    rows, drawn = draw(any_db.sql(ROWS).plot.hist("at", bins=10))
    assert drawn["encoding"]["x"]["type"] == "temporal"
    assert [row["rows"] for row in rows] == [2000] * 10
    assert rows[0]["start"] == "2024-01-01T00:01:00"
    rows, drawn = draw(any_db.sql(ROWS).plot.hist("v", bins=4, color="k"))
    assert len(rows) == 12
    assert sum(row["rows"] for row in rows) == TOTAL - 20
    assert drawn["title"]["text"] == "19,980 rows (20 more without a value)"
    special = any_db.sql("SELECT v::float8 FROM (VALUES ('NaN'), ('Infinity'), ('1'), ('2'), (NULL)) AS t (v)")
    rows, _ = draw(special.plot.hist("v", bins=2))
    assert [(row["start"], row["end"], row["rows"]) for row in rows] == [(1, 1.5, 1), (1.5, 2, 1)]


def test_times_that_no_calendar_has(any_db: Connection) -> None:
    far = any_db.sql("SELECT timestamp '20000-01-01' AS at UNION ALL SELECT timestamp '2000-01-01'")
    with pytest.raises(GpudbError) as caught:
        far.plot.hist("at")
    assert caught.value.sqlstate == "22008"


def test_a_heat_map(any_db: Connection) -> None:
    rows, drawn = draw(any_db.sql(ROWS).plot.heatmap(x="k", y="day:O", color="mean(n)"))
    assert len(rows) == 30
    assert "x2" not in drawn["encoding"]
    assert drawn["encoding"]["y"] == {"field": "y", "title": "day", "type": "ordinal"}
    (found,) = (row["value"] for row in rows if row["x"] == "a" and row["y"].startswith("2024-01-01"))
    tens = [n for n in range(1, TOTAL + 1) if n % 30 == 0]
    assert found == pytest.approx(sum(tens) / len(tens))
    rows, _ = draw(any_db.sql(ROWS).plot.heatmap(x="n", y="k", bins=(10, 1)))
    assert [row["value"] for row in rows if row["y"] == "a"] == [666, 667, 667] * 3 + [666]
    with pytest.raises(GpudbError) as caught:
        any_db.sql(ROWS).plot.heatmap(x="n", y="v", color="q")
    assert caught.value.sqlstate == "22023"
    with pytest.raises(GpudbError) as caught:
        any_db.sql(ROWS).plot.heatmap(x="n:O", y="k")
    assert caught.value.sqlstate == "54000"


def test_a_map(any_db: Connection) -> None:
    rows, drawn = draw(any_db.sql(ROWS).plot.map("lon", "lat"))
    assert sum(row["value"] for row in rows) == TOTAL
    assert drawn["width"] == 500
    assert drawn["height"] == pytest.approx(500 * 0.1 / (0.199 * 0.7600), rel=0.02)
    rows, drawn = draw(any_db.sql(ROWS).limit(100).plot.map("lon", "lat", color="k"))
    assert len(rows) == 100
    assert drawn["mark"]["type"] == "circle"
    assert drawn["encoding"]["color"]["field"] == "k"


def test_boxes(any_db: Connection) -> None:
    query = "SELECT n AS v, n % 2 AS k FROM generate_series(1, 9) AS g(n) UNION ALL VALUES (100, 1), (NULL, 1)"
    chart = any_db.sql(query).plot.box("v", "k")
    drawn = chart.to_dict()
    (rows,) = drawn["datasets"].values()
    odd = next(row for row in rows if row["k"] == 1)
    assert (odd["q1"], odd["median"], odd["q3"]) == (3.5, 6, 8.5)
    assert (odd["low"], odd["high"], odd["least"], odd["greatest"]) == (1, 9, 1, 100)
    assert (odd["rows"], odd["outliers"]) == (6, 1)
    assert drawn["title"]["text"] == "10 rows; 1 beyond the whiskers"
    with pytest.raises(GpudbError) as caught:
        any_db.sql(ROWS).plot.box("k")
    assert caught.value.sqlstate == "42804"


def test_parameters_and_missing_columns(any_db: Connection) -> None:
    some = any_db.sql(f"SELECT * FROM ({ROWS}) AS t WHERE n > $1", [5000])
    assert sum(row["rows"] for row in draw(some.plot.hist("n"))[0]) == 15_000
    assert draw(some.plot.box("q", "k"))[0][0]["rows"] == 5000
    with pytest.raises(UndefinedColumn):
        some.plot.scatter(x="n", y="missing")
