"""Window frames on workers, of every kind, compared with the embedded engine."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gpudb.engine.gpu.lower.windows import window_aggregates
from gpudb.plan.physical.exchange_planning import Costs
from tests.support.gpu import local_stages
from tests.support.gpu.comparison import embedded, outcome
from tests.support.lab import Lab


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    made = Lab()
    made.run("CREATE TABLE w (id int, g int, n int, f float8, d date, m numeric(8, 3), s text)")
    made.run(
        "INSERT INTO w SELECT i, i % 3, CASE WHEN i % 7 > 0 THEN i % 11 END, CASE WHEN i % 5 > 0 THEN i / 3.0 END,"
        " CASE WHEN i % 8 > 0 THEN date '2024-01-30' + i % 13 END, (i % 9) / 4.0, 's' || i % 4"
        " FROM generate_series(1, 60) i"
    )
    yield made
    made.close()


FRAMES = (
    "ORDER BY n, id ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING",
    "ORDER BY n, id ROWS BETWEEN 1 FOLLOWING AND 3 FOLLOWING",
    "ORDER BY n, id ROWS BETWEEN 4 PRECEDING AND 2 FOLLOWING EXCLUDE CURRENT ROW",
    "ORDER BY n, id ROWS BETWEEN UNBOUNDED PRECEDING AND (SELECT 2) FOLLOWING",
    "ORDER BY n RANGE BETWEEN 2 PRECEDING AND 1 FOLLOWING",
    "ORDER BY n DESC RANGE BETWEEN 2 PRECEDING AND 1 FOLLOWING EXCLUDE GROUP",
    "ORDER BY n NULLS FIRST RANGE BETWEEN UNBOUNDED PRECEDING AND 3 FOLLOWING EXCLUDE TIES",
    "ORDER BY f RANGE BETWEEN 1.5 PRECEDING AND 0.5 FOLLOWING",
    "ORDER BY m DESC NULLS LAST RANGE BETWEEN 0.25 PRECEDING AND 1 FOLLOWING",
    "ORDER BY d RANGE BETWEEN '1 month' PRECEDING AND '2 days' FOLLOWING",
    "ORDER BY n GROUPS BETWEEN 1 PRECEDING AND 2 FOLLOWING",
    "ORDER BY n DESC GROUPS BETWEEN 2 FOLLOWING AND 3 FOLLOWING",
    "ORDER BY n GROUPS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING EXCLUDE TIES",
)
CALLS = "count(*) OVER x, count(n) FILTER (WHERE id % 2 = 0) OVER x, sum(n) OVER x, avg(m) OVER x, min(s) OVER x"


@pytest.mark.parametrize("frame", FRAMES)
def test_frames_are_the_embedded_engines(lab: Lab, frame: str) -> None:
    sql = f"SELECT id, {CALLS}, max(n) OVER x FROM w WINDOW x AS (PARTITION BY g {frame})"
    request = lab.request(sql)
    wanted = outcome(lambda: embedded(lab, request))
    assert isinstance(wanted, list)
    for workers in (1, 3):
        assert outcome(lambda w=workers: local_stages.rows(request, w, lab.database.cpu)) == wanted


def test_the_first_row_that_says_how_many_tiles_there_are_is_in_the_first(lab: Lab) -> None:
    request = lab.request("SELECT id, ntile(CASE WHEN id > 2 THEN id - 1 END) OVER (ORDER BY id) FROM w WHERE id < 8")
    tiles = [None, None, 1, 1, 1, 1, 2]
    wanted = sorted((str(number), "NULL" if tile is None else str(tile)) for number, tile in enumerate(tiles, 1))
    for workers in (1, 3):
        assert outcome(lambda w=workers: local_stages.rows(request, w, lab.database.cpu)) == wanted


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT id, sum(10 / (n - 5)) FILTER (WHERE n <> 5) OVER (ORDER BY id ROWS 2 PRECEDING) FROM w",
        "SELECT id, first_value(s) OVER x, last_value(n) OVER x, nth_value(f, 2) OVER x FROM w WINDOW x AS"
        " (PARTITION BY g ORDER BY id ROWS BETWEEN 2 PRECEDING AND 2 FOLLOWING EXCLUDE GROUP)",
        "SELECT id, lag(s, n) OVER x, lead(m, 2, -1) OVER x, lag(f, NULL) OVER x FROM w WINDOW x AS (ORDER BY id)",
        "SELECT id, ntile(4) OVER x, ntile(g + 1) OVER (PARTITION BY g ORDER BY id), ntile(NULL) OVER x FROM w"
        " WINDOW x AS (ORDER BY id)",
        "SELECT id, nth_value(s, g + 1) OVER (PARTITION BY g ORDER BY id) FROM w",
        "SELECT g, rank() OVER (ORDER BY avg(m) DESC), sum(avg(n)) OVER (ORDER BY g) FROM w GROUP BY g",
        "SELECT id, stddev(f) OVER (PARTITION BY g ORDER BY id), bool_and(n > 2) OVER (ORDER BY id ROWS 3 PRECEDING) FROM w",
        "SELECT g, sum(n) OVER (PARTITION BY '{7}'::int[] || g) FROM w",
    ],
)
def test_calls_are_the_embedded_engines(lab: Lab, sql: str) -> None:
    request = lab.request(sql)
    wanted = outcome(lambda: embedded(lab, request))
    assert isinstance(wanted, list)
    for workers in (1, 3):
        assert outcome(lambda w=workers: local_stages.rows(request, w, lab.database.cpu)) == wanted


@pytest.mark.parametrize(
    ("call", "sqlstate"),
    [
        ("ntile(0) OVER (ORDER BY id)", "22014"),
        ("nth_value(n, g) OVER (ORDER BY id)", "22016"),
        ("sum(n) OVER (ORDER BY id ROWS (SELECT -1) PRECEDING)", "22013"),
        ("sum(n) OVER (ORDER BY n RANGE -1 PRECEDING)", "22013"),
    ],
)
def test_wrong_arguments_are_errors(lab: Lab, call: str, sqlstate: str) -> None:
    request = lab.request(f"SELECT {call} FROM w")
    assert outcome(lambda: local_stages.rows(request, 2, lab.database.cpu)) == sqlstate


def test_frames_of_too_many_rows_are_the_hosts(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """Aggregates that read every frame's rows."""
    monkeypatch.setattr(window_aggregates, "MAX_FRAME_ROWS", 100)
    request = lab.request("SELECT id, bool_or(n > 3) OVER (ORDER BY id) FROM w")
    assert outcome(lambda: local_stages.rows(request, 1, lab.database.cpu)) == outcome(lambda: embedded(lab, request))


RANGED = (
    "row_number() OVER x, lag(n) OVER x, lead(s, 3) OVER x, lag(id, 2, -id) OVER x, lead(m, 0) OVER x",
    "rank() OVER y, dense_rank() OVER y, row_number() OVER y - row_number() OVER y",
    "count(*) OVER y, sum(n) OVER y, min(s) OVER y, max(d) OVER y, sum(id::bigint) OVER y, sum(m) OVER y",
    "count(n) FILTER (WHERE id % 3 = 0) OVER z, sum(n) OVER z, min(m) OVER z, lag(m, 7, 0.5) OVER z, max(f) OVER z",
    "lag(id, 100) OVER x, lead(id, 59, 7) OVER x",
)
"""Calls over one partition, each merged from its ranges."""
ORDERS = {
    "x": "ORDER BY f DESC NULLS LAST, id",
    "y": "ORDER BY n",
    "z": "ORDER BY s DESC, id ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW",
}


@pytest.mark.parametrize("calls", RANGED)
def test_a_window_over_one_partition_goes_in_ranges(lab: Lab, calls: str) -> None:
    """A window whose rows exceed a worker's memory: no stage gets all of them, and peers stay together."""
    named = ", ".join(f"{name} AS ({order})" for name, order in ORDERS.items() if f"OVER {name}" in calls)
    for where in ("", " WHERE id % 20 = 3", " WHERE id < 0"):
        request = lab.request(f"SELECT id, {calls} FROM w{where} WINDOW {named}")
        wanted = sorted(embedded(lab, request))
        for workers, chunks in ((1, 4), (2, 8)):
            given = local_stages.rows(request, workers, lab.database.cpu, Costs(broadcast=0), chunks=chunks)
            assert sorted(given) == wanted


def test_rows_that_an_order_does_not_tell_apart_are_numbered_once(lab: Lab) -> None:
    """Calls with several ranges, whose order is undefined."""
    calls = "row_number() OVER x, lag(g) OVER x, lead(g, 2, -1) OVER x"
    request = lab.request(f"SELECT g, {calls} FROM w WINDOW x AS (ORDER BY g DESC)")
    given = local_stages.rows(request, 2, lab.database.cpu, Costs(broadcast=0), chunks=6)
    assert sorted(given) == sorted(embedded(lab, request))
