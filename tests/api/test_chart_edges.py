"""Charts of one value, of no rows, of the greatest numbers, of names that Vega-Lite misreads, and of too many groups."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import altair as alt
import pytest

from gpudb.api.charts.drawing import MAX_ROWS
from gpudb.api.connection import Connection
from gpudb.api.relation import Relation
from gpudb.api.rows import Rows
from gpudb.errors import GpudbError

MANY = "SELECT n, n % 7 AS v, 5 AS one FROM generate_series(1, 6000) AS g(n)"


def get_rows(chart: Any) -> list[dict[str, Any]]:
    (rows,) = chart.to_dict()["datasets"].values()
    assert isinstance(rows, list)
    return rows


def get_labels(chart: Any) -> list[str]:
    """Returns what Vega writes of each mark's values, for readers of screens."""
    drawn = pytest.importorskip("vl_convert").vegalite_to_svg(chart.to_json())
    return re.findall(r'aria-label="([^"]*)" role="graphics-symbol"', drawn)


def test_lines_and_areas_of_one_x(any_db: Connection) -> None:
    some = any_db.sql(MANY)
    line = some.plot.line(x="one", y="v")
    assert get_rows(line) == [{"one": 5, "v": 0}, {"one": 5, "v": 6}]
    assert line.to_dict()["title"]["text"] == "6,000 rows: the least and the greatest of one bin"
    (mean,) = get_rows(some.plot.area(x="one", y="v"))
    assert mean == {"one": 5, "v": pytest.approx(sum(n % 7 for n in range(1, 6001)) / 6000)}
    lines = get_rows(some.plot.line(x="one", y="n", color="v:N"))
    assert sorted((row["v"], row["n"]) for row in lines) == sorted(
        (v, end) for v in range(7) for end in (v or 7, max(n for n in range(5990, 6001) if n % 7 == v))
    )
    assert [row["rows"] for row in get_rows(some.plot.hist("one"))] == [6000]


@pytest.mark.parametrize("condition", ["n < 0", "n IS NULL"])
def test_charts_of_no_rows(any_db: Connection, condition: str) -> None:
    none = any_db.sql(
        "SELECT n, n * 0.5 AS q, 'k' || n AS k, timestamptz '2024-01-01' AS at, date '2024-01-01' AS day"
        f" FROM generate_series(1, 10) AS g(n) WHERE {condition}"
    )
    for chart, kind in (
        (none.plot.hist("n"), "quantitative"),
        (none.plot.hist("at", color="k"), "temporal"),
        (none.plot.hist("day"), "temporal"),
        (none.plot.heatmap(x="n", y="q"), "quantitative"),
        (none.plot.heatmap(x="at", y="k"), "temporal"),
        (none.plot.line(x="n", y="q", color="k"), "quantitative"),
    ):
        assert get_rows(chart) == []
        assert chart.to_dict()["encoding"]["x"]["type"] == kind


def test_numbers_as_great_as_doubles_are(any_db: Connection) -> None:
    great = any_db.sql("SELECT v::float8 FROM (VALUES ('-1.5e308'), ('1.5e308'), ('0'), ('1e308')) AS t (v)")
    rows = get_rows(great.plot.hist("v", bins=4))
    assert [row["rows"] for row in rows] == [1, 1, 2]
    assert [row["start"] for row in rows] == pytest.approx([-1.5e308, 0, 0.75e308])
    assert [row["end"] for row in rows] == pytest.approx([-0.75e308, 0.75e308, 1.5e308])
    cells = get_rows(great.plot.heatmap(x="v", y="v", bins=(2, 2)))
    assert [(row["x"], row["y"], row["value"]) for row in cells] == [(-1.5e308, -1.5e308, 1), (0, 0, 3)]


def test_numerics_beyond_doubles_have_no_bin(any_db: Connection) -> None:
    texts = ["1e400", "-1e400", "NaN", "1e-400", "2", "4.5", "-3.5"]
    values = ", ".join(f"('{text}'::numeric)" for text in texts)
    some = any_db.sql(f"SELECT v, 'k' AS k FROM (VALUES {values}) AS t (v)")
    chart = some.plot.hist("v", bins=2)
    assert [(row["start"], row["end"], row["rows"]) for row in get_rows(chart)] == [(-3.5, 0.5, 2), (0.5, 4.5, 2)]
    assert chart.to_dict()["title"]["text"] == "4 rows (3 more without a value)"
    (box,) = get_rows(some.plot.box("v"))
    assert (box["least"], box["median"], box["greatest"], box["rows"]) == (-3.5, 1, 4.5, 4)
    (cell,) = get_rows(some.plot.heatmap(x="v", y="k", bins=(1, 1)))
    assert (cell["x"], cell["x2"], cell["value"]) == (-3.5, 4.5, 4)


@pytest.mark.parametrize("name", ["q1", "median", "high", "rows", "outliers"])
def test_boxes_by_a_column_of_a_name_of_theirs_are_refused(any_db: Connection, name: str) -> None:
    some = any_db.sql(f"SELECT n AS v, n % 2 AS {name} FROM generate_series(1, 9) AS g(n)")
    with pytest.raises(GpudbError, match=f'column "{name}" of its own') as caught:
        some.plot.box("v", name)
    assert caught.value.sqlstate == "42702"
    boxes = get_rows(some.select("v", f"{name} AS k").plot.box("v", "k"))
    assert {row["k"]: row["median"] for row in boxes} == {0: 5, 1: 5}


DRAWN: Mapping[str, Callable[[Relation, str], Any]] = {
    "points": lambda some, name: some.limit(3).plot.scatter(x=name, y="v"),
    "objects": lambda some, name: some.limit(3).plot.scatter(x=alt.X(name), y=alt.Y(field="v", type="quantitative")),
    "lines": lambda some, name: some.plot.line(x=name, y="v"),
    "means": lambda some, name: some.plot.line(x="v", y=f"mean({name})"),
    "bars": lambda some, name: some.plot.bar(x=f"{name}:N", y="count()"),
    "bins": lambda some, name: some.plot.hist(name),
    "cells": lambda some, name: some.plot.heatmap(x=name, y="v", color=f"max({name})"),
    "boxes": lambda some, name: some.plot.box("v", x="k.x[0]:N") if name == "n.x[0]" else some.plot.box(name),
    "maps": lambda some, name: some.limit(3).plot.map(name, "v", tooltip=[name]),
}


@pytest.mark.parametrize("drawn", DRAWN)
@pytest.mark.parametrize("name", ["n.x[0]", r"n\.x\[0\]"])
def test_names_with_dots_and_brackets_are_columns(db: Connection, drawn: str, name: str) -> None:
    some = db.sql(f'SELECT n AS "n.x[0]", v, v % 2 AS "k.x[0]" FROM ({MANY}) AS t')
    labels = get_labels(DRAWN[drawn](some, name))
    assert labels
    assert not [label for label in labels if re.search(r"undefined|null|NaN", label)]
    if drawn == "points":
        assert labels == ["n.x[0]: 1; v: 1", "n.x[0]: 2; v: 2", "n.x[0]: 3; v: 3"]


def test_a_chart_holds_the_columns_that_it_draws(db: Connection) -> None:
    some = db.sql("SELECT n, n * 2 AS v, n % 3 AS k, 'long' AS rest, n AS w FROM generate_series(1, 9) AS g(n)")
    for chart, kept in (
        (some.plot.scatter("n", "v"), "n v"),
        (some.plot.line("n", "mean(v)", color="k:N"), "n v k"),
        (some.plot.scatter("n", "v", tooltip=["rest", alt.Tooltip("k:N")]), "n v k rest"),
        (some.plot.bar(alt.X("k:N", sort=alt.EncodingSortField("w")), "v"), "v k w"),
        (some.plot.scatter("n", "v", size=alt.value(9)), "n v"),
        (some.plot.scatter("n", "v", color=alt.when("datum.w > 1").then(alt.value("red"))), "n v k rest w"),
        (some.plot.chart().mark_point(), "n v k rest w"),
    ):
        assert list(get_rows(chart)[0]) == kept.split()


def test_no_more_groups_are_fetched_than_are_drawn(any_db: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    fetched: list[int] = []
    fetch = Connection.fetch

    def note(self: Connection, *args: Any, **named: Any) -> Rows:
        found = fetch(self, *args, **named)
        fetched.append(len(found))
        return found

    monkeypatch.setattr(Connection, "fetch", note)
    some = any_db.sql(
        "SELECT n AS u, n % 2 AS x, n % 5 AS v, 'c' || n % 60 AS c FROM generate_series(1, 20000) AS g(n)"
    )
    for draw in (
        lambda: some.plot.line("x", "v", color="u:N"),
        lambda: some.plot.area("x", "v", color="u:N"),
        lambda: some.plot.hist("v", color="u:N"),
        lambda: some.plot.heatmap("u:N", "v"),
        lambda: some.plot.box("v", "u:N"),
        lambda: some.plot.bar("c", "sum(v)", color="u:N"),
    ):
        with pytest.raises(GpudbError) as caught:
            draw()
        assert caught.value.sqlstate == "54000"
        assert max(fetched, default=0) <= MAX_ROWS + 1
    few = any_db.sql("SELECT n AS x, n % 300 AS u, n % 5 AS v FROM generate_series(1, 20000) AS g(n)")
    rows = get_rows(few.plot.line("x", "v", color="u:N"))
    assert {row["u"] for row in rows} == set(range(300))
    assert MAX_ROWS / 3 < len(rows) <= MAX_ROWS
    assert max(fetched) <= MAX_ROWS + 1
