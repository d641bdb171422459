"""Host functions: values of every type to the host and back, in slices, and when the host is called."""

from __future__ import annotations

import pyarrow as pa
import pytest

from gpudb.engine.gpu.lower.expressions import host_fallback
from gpudb.engine.gpu.lower.expressions.arrow import to_arrow, to_physical_columns
from gpudb.engine.gpu.planning.request_planner import Planner
from gpudb.plan.errors import NotSupportedOnWorkers
from tests.support.gpu import local_stages
from tests.support.lab import Lab

_TYPES = (
    ("int4[]", "ARRAY[1, NULL, 3]"),
    ("text[][]", "ARRAY[['a', NULL], ['{', 'ß']]"),
    ("numeric[]", "ARRAY[1.50, 2]"),
    ("interval[]", "ARRAY['1 mon -2 days 00:00:01.5'::interval, NULL]"),
    ("interval", "'-1 mon 40 days 00:00:00.000001'"),
    ("numeric", "1.500"),
    ("numrange", "'[1.50,2)'"),
    ("int8range", "'empty'"),
    ("nummultirange", "'{[1.50,2),[3,)}'"),
    ("tstzrange", "'[2024-01-01 00:00+02,)'"),
    ("timetz", "'12:00+05:30'"),
    ("money", "'-$1,234.50'"),
    ("inet", "'10.0.0.1/8'"),
    ("cidr", "'2001:db8::/32'"),
    ("macaddr8", "'08:00:2b:01:02:03:04:05'"),
    ("bit(3)", "'101'"),
    ("varbit", "'10110'"),
    ("bytea", "'\\x00ff'"),
    ("uuid", "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'"),
    ("jsonb", '\'{"b": [1, 2.50], "a": null}\''),
    ("mood", "'sad'"),
    ("pair", "ROW(1, 'x y', '{happy}')"),
    ("pair[]", "ARRAY[ROW(1, NULL, NULL)::pair, NULL]"),
)


@pytest.fixture(scope="module")
def lab() -> Lab:
    made = Lab()
    made.run("CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy')")
    made.run("CREATE TYPE pair AS (n int, label text, moods mood[])")
    columns = ", ".join(f"v{number} {kind}" for number, (kind, _) in enumerate(_TYPES))
    made.run(f"CREATE TABLE every (id int, {columns})")
    values = ", ".join(text for _, text in _TYPES)
    nothing = ", ".join("NULL" for _ in _TYPES)
    made.run(f"INSERT INTO every VALUES (1, {values}), (2, {nothing}), (3, {values}), (4, {nothing})")
    made.run("CREATE TABLE few AS SELECT i AS id, i % 5 AS k, 'n' || i AS label FROM generate_series(1, 40) i")
    return made


def _same(lab: Lab, sql: str, workers: int = 3) -> list[tuple[str | None, ...]]:
    request = lab.request(sql)
    kinds = [each.type for each in request.query.columns]  # type: ignore[union-attr]
    wanted = local_stages.as_text(lab.database.cpu.run(request), kinds)
    given = local_stages.rows(request, workers, lab.database.cpu)
    assert sorted(map(repr, given)) == sorted(map(repr, wanted))
    return given


@pytest.mark.parametrize("number", range(len(_TYPES)), ids=[kind for kind, _ in _TYPES])
def test_values_of_every_type_come_group_join_sort_and_leave(lab: Lab, number: int) -> None:
    name = f"v{number}"
    # Of four rows, the first of five workers has none.
    _same(lab, f"SELECT id, {name}, {name} IS NULL, {name}::text FROM every", 5)
    _same(lab, f"SELECT {name}, count(*), min(id) FROM every GROUP BY {name}")
    _same(lab, f"SELECT CASE WHEN id = 1 THEN {name} END, coalesce({name}, {name}) FROM every")
    assert [row[0] for row in _same(lab, f"SELECT id FROM every ORDER BY {name} DESC NULLS LAST, id DESC")] == [
        *("3", "1", "4", "2")
    ]


_SETS = (
    # For each array type its items, beside a longer and a shorter set, in order, and by groups.
    "SELECT id, unnest(v0), unnest(v2), unnest(v3 || '1 day'::interval), generate_series(1, id) FROM every",
    "SELECT id, u, o FROM every, unnest(v1) WITH ORDINALITY AS x(u, o)",
    "SELECT id, u.n, u.label, u.moods FROM every, unnest(v22) AS u",
    "SELECT id, unnest(v3), unnest(v8) FROM every WHERE id < 2",
    "SELECT t, count(*) FROM few, regexp_split_to_table(label, '') AS t GROUP BY t",
    "SELECT id, m FROM few, regexp_matches(label, '(n)([1-3])', 'g') AS m WHERE m[2] <> '2'",
    "SELECT id, s, d FROM every, generate_subscripts(v0, 1) AS s, generate_series(v2[1], 3, 0.5) AS d",
    "SELECT id, key, value FROM every, jsonb_each(v19) WHERE id = 3",
    "SELECT id, r.a, r.b FROM every, jsonb_to_record(v19) AS r(a text, b numeric[])",
    "SELECT id, e FROM every CROSS JOIN LATERAL jsonb_array_elements_text(v19 -> 'b') WITH ORDINALITY AS x(e, n)",
    "SELECT f.id, u FROM few f LEFT JOIN LATERAL unnest(string_to_array(f.label, '1')) u ON u <> '' WHERE f.k = 1",
    # The set whose column WHERE reads is padded with NULLs first.
    "SELECT f.id, x.u FROM few f LEFT JOIN (every e CROSS JOIN unnest(e.v0) u) x ON x.id = f.id WHERE x.id IS NULL",
)


@pytest.mark.parametrize("sql", _SETS)
def test_sets(lab: Lab, sql: str) -> None:
    """Set-returning functions over tables, in the select list and in FROM."""
    for workers in (1, 2, 4):
        assert _same(lab, sql, workers)


def test_a_set_is_made_of_the_rows_that_conditions_leave(lab: Lab) -> None:
    sql = "SELECT f.id, n FROM few f CROSS JOIN LATERAL generate_series(1, 10 / f.k) n WHERE f.k > 3 AND f.id < 9"
    assert sorted(local_stages.rows(lab.request(sql), 2, lab.database.cpu)) == [("4", "1"), ("4", "2")]


def test_columns_of_intervals_inside_others_keep_their_parts(lab: Lab) -> None:
    kind = lab.request("SELECT v3 FROM every").query.columns[0].type  # type: ignore[union-attr]
    spans = [pa.MonthDayNano((1, -2, 1_500_000)), None]
    array = pa.array([spans, None, [], spans[:1]], pa.list_(pa.month_day_nano_interval()))
    frame = to_physical_columns(array, kind, pa.array([b"1", None, b"0", b"1"]))
    frame = frame.rename({suffix: f"c0{suffix}" for suffix in frame.columns})
    assert to_arrow(frame, "c0", kind) == array
    assert to_arrow(frame.slice(1, 3), "c0", kind) == array[1:]


def test_a_frame_goes_in_slices(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_fallback, "SLICE_ROWS", 7)
    _same(lab, "SELECT id, to_char(id, '0999'), ARRAY[id, k], overlay(label PLACING '-' FROM 1 FOR 1) FROM few")
    _same(lab, "SELECT id, v0, v0[1], v3 FROM every", 1)


def test_what_no_row_gets_to_does_not_fail(lab: Lab) -> None:
    _same(lab, "SELECT id, CASE WHEN k > 0 THEN to_char(10 / k, '99') ELSE 'none' END FROM few")
    # The embedded engine may fail in these where PostgreSQL does not.
    for sql, wanted in (
        ("SELECT id FROM few WHERE k > 0 AND to_char(10 / k, '99') = ' 10' AND id < 9", [("1",), ("6",)]),
        ("SELECT count(*) FROM few WHERE (k > 0 AND to_char(10 / k, '99') = ' 10') IS FALSE", [("32",)]),
        ("SELECT count(*) FROM few WHERE (k = 0 OR to_char(10 / k, '99') = ' 10') IS TRUE", [("16",)]),
    ):
        assert sorted(local_stages.rows(lab.request(sql), 2, lab.database.cpu)) == wanted
    sql = "SELECT k, max(to_char(10 / k, '99')) FILTER (WHERE k > 0) FROM few GROUP BY k ORDER BY k"
    rows = local_stages.rows(lab.request(sql), 2, lab.database.cpu)
    assert rows == [("0", None), ("1", " 10"), ("2", "  5"), ("3", "  3"), ("4", "  2")]
    request = lab.request("SELECT to_char(10 / k, '99') FROM few")
    with pytest.raises(Exception, match="division by zero") as raised:
        local_stages.rows(request, 2, lab.database.cpu)
    assert raised.value.sqlstate == "22012"  # type: ignore[attr-defined]


_AGGREGATES = (
    "array_agg(label ORDER BY id DESC), count(*), sum(id)",
    "json_object_agg(label, id), jsonb_agg(k), min(label)",
    "percentile_cont(0.5) WITHIN GROUP (ORDER BY id), mode() WITHIN GROUP (ORDER BY k)",
    "string_agg(DISTINCT k::text, label), regr_count(id, k), stddev(id), var_pop(id::numeric)",
    "sum(id * interval '1 hour'), avg(id * interval '1 hour'), sum(id::money)",
    "array_agg(id) FILTER (WHERE k > 2), bit_and(id), bool_or(k > 3)",
)


@pytest.mark.parametrize("calls", _AGGREGATES)
@pytest.mark.parametrize("group", ["", " GROUP BY k % 2", " GROUP BY ARRAY[k % 2], k % 3 = 0"])
def test_aggregates_of_whole_groups_run_on_the_host(lab: Lab, calls: str, group: str) -> None:
    for source in ("few", "(SELECT * FROM few WHERE id < 0) AS f"):
        _same(lab, f"SELECT {calls} FROM {source}{group}")
        _same(lab, f"SELECT {calls} FROM {source}{group}", 1)


def test_jsonb_sorts_by_its_own_order(lab: Lab) -> None:
    lab.run("CREATE TABLE js AS SELECT v::jsonb AS j FROM (VALUES ('10'), ('9'), ('[]'), ('{}'), ('null')) AS t(v)")
    request = lab.request("SELECT j FROM js ORDER BY j DESC")
    given = [row[0] for row in local_stages.rows(request, 1, lab.database.cpu)]
    assert given == ["{}", "10", "9", "null", "[]"]


@pytest.mark.parametrize("sql", ["SELECT random() FROM few", "SELECT count(*) FROM (SELECT random(), id FROM few) q"])
def test_each_row_of_random_is_refused_by_name(lab: Lab, sql: str) -> None:
    with pytest.raises(NotSupportedOnWorkers, match="random"):
        Planner(lab.database.cpu).plan(lab.request(sql))


def test_the_planner_tells_what_goes_to_the_host(lab: Lab) -> None:
    planner = Planner(lab.database.cpu)
    request = lab.request("SELECT to_char(id, '0999'), upper(label) FROM few")
    planner.plan(request)
    (told,) = [names for names in planner.host_functions(request).values() if names]
    assert told == ("function to_char(integer, text)",)
