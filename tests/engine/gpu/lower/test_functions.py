"""Rounding, text and date functions are lowered completely, with the embedded engine's results and errors."""

from __future__ import annotations

import pytest

from gpudb.errors import GpudbError
from gpudb.plan.errors import NotSupportedOnWorkers
from tests.support.gpu import local_stages
from tests.support.gpu.comparison import embedded, sorted_rows
from tests.support.gpu.lowering import fetched, lowered
from tests.support.lab import Lab

SETUP = """
CREATE TABLE lf (id int, a numeric(10,2), b numeric(30,12), c numeric, i int, f float8, d date, ts timestamp,
    tz timestamptz, s text);
INSERT INTO lf VALUES
    (1, 0, 0, 0, 0, 0, '1970-01-01', '1970-01-01', '1970-01-01', ''),
    (2, 2.5, 2.5, 2.5, 7, 2.5, '2024-02-29', '2024-02-29 23:59:59.999999', '2024-12-31 12:30:15.25', 'user@mail.org'),
    (3, -2.5, -2.5, -2.5, -7, -2.5, '1969-12-31', '1969-12-31 23:59:58.5', '0001-01-01 00:00:00', 'a,b,,c'),
    (4, 99999999.99, 123456789012345678.999999999999, 12345.678901, 2147483647, 1e300, '9999-12-31',
        '9999-12-31 23:59:59', '1999-07-04 01:02:03', 'ÀÉÎ straße Kelvin'),
    (5, -99999999.99, -123456789012345678.999999999999, -0.004, -2147483648, -0.4, '2000-01-01',
        '2000-01-01 00:00:00.000001', '2000-01-01', '@'),
    (6, 0.005 * 3, 0.499999999999, 0.5, 1, 'NaN', '2023-06-15', '2023-06-15 06:07:08.9', '2023-06-15 06:07:08', 'ab@cd@ef'),
    (7, 1.25, -0.5, 1e17, 3, 'Infinity', '2023-01-02', '2023-01-02', '2023-01-02', '  spaced  '),
    (8, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)
"""
LOWERED = (
    "round(a), round(a, 1), round(a, 2), round(a, 5), round(a, -1), round(a, -7)",
    "round(b), round(b, 3), round(b, 12), round(b, -3), round(c, 2), round(c), round(i, 2), round(i, -2)",
    "trunc(a), trunc(a, 1), trunc(a, -2), trunc(b), trunc(b, 5), trunc(c, 2)",
    "ceil(a), floor(a), ceiling(a), ceil(b), floor(b), ceil(c), floor(c), ceil(-a), floor(-a)",
    "sign(a), sign(b), sign(c), sign(-a)",
    "a % 7, mod(a, 0.3), mod(a, -7), a % 2.5, mod(7, nullif(a, 0))",
    "ceil(f), floor(f), round(f), trunc(f), ceil(-f), floor(-f), sqrt(abs(f)), trunc(-f)",
    "s || i, i || s, concat(s, i, NULL, '-', s), concat(s), concat(i)",
    "split_part(s, '@', 1), split_part(s, '@', 2), split_part(s, ',', 3), split_part(s, ',', 4), split_part(s, ',', 9)",
    "lpad(s, 5), lpad(s, 5, '*'), rpad(s, 12, '.'), lpad(s, 0), rpad(s, -1), lpad(i::text, 6, '0')",
    "repeat(s, 3), repeat(s, 0), repeat(s, -1), translate(s, 'a@,', 'x-'), translate(s, '', 'x'), translate(s, 'aa', 'xy')",
    "replace('abcab', 'a', s), replace(s, 'a', s), replace(s, '', s), replace('abc', '', s), replace('abc', 'x', s)",
    "s ILIKE 'A%', s ILIKE '%KELVIN', s NOT ILIKE '_b%', s ILIKE '%é%'",
    "extract(second FROM ts), extract(milliseconds FROM ts), extract(microseconds FROM ts), extract(epoch FROM ts)",
    "date_part('second', ts), date_part('epoch', ts), extract(days FROM ts), date_part('years', ts)",
    "to_char(ts, 'YYYY-MM'), to_char(ts, 'YYYY-MM-DD HH24:MI:SS'), to_char(ts, 'DDD/yyyy'), to_char(ts, 'YYYYMMDD')",
    "date_trunc('month', d), date_trunc('week', tz), tz::date, d::timestamptz, tz::timestamp, ts::timestamptz",
    "extract(year FROM tz), extract(epoch FROM tz), date_part('hour', tz), to_char(tz, 'YYYY-MM'), to_char(d, 'MM.YYYY')",
    "f / 3, f / 49, f / 1000000, a::float8, a / 7::float8, 5::float8 / nullif(i, 0), cume_dist() OVER (ORDER BY id)",
    "tz + interval '1 month', tz - interval '2 days', tz > ts, tz < d",
)


@pytest.mark.parametrize("outputs", LOWERED, ids=range(len(LOWERED)))
def test_the_answer_is_the_embedded_engine_s(lab: Lab, outputs: str) -> None:
    lowered(lab, lab.request(f"SELECT id, {outputs} FROM lf"))


def test_one_row_of_null_replaces_nothing(lab: Lab) -> None:
    lowered(
        lab, lab.request("SELECT replace('abc', 'a', s), replace(s, 'a', s), replace(s, '', s) FROM lf WHERE id = 8")
    )


@pytest.mark.parametrize(
    ("output", "sqlstate"), [("a % (i - i)", "22012"), ("mod(7, a)", "22012"), ("sqrt(f)", "2201F")]
)
def test_errors_are_the_statement_s(lab: Lab, output: str, sqlstate: str) -> None:
    for run in (
        lambda request: local_stages.rows(request, 1, lab.database.cpu),
        lambda request: embedded(lab, request),
    ):
        with pytest.raises(GpudbError) as failed:
            run(lab.request(f"SELECT {output} FROM lf"))
        assert failed.value.sqlstate == sqlstate


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT id, generate_series(1, i % 5) FROM lf",
        "SELECT id, generate_series(i, i + 3, 2), generate_series(1, id) FROM lf WHERE abs(i::int8) < 10",
        "SELECT id, generate_series(3, id, -1) FROM lf",
        "SELECT id, g, n FROM lf, LATERAL generate_series(id, 5) WITH ORDINALITY AS s(g, n)",
        "SELECT g, count(id) FROM generate_series(0, 10, 3) AS g LEFT JOIN lf ON id > g GROUP BY g",
        "SELECT generate_series(1, i) FROM lf WHERE i IS NULL",
    ],
)
def test_series_are_made_where_rows_lie(lab: Lab, sql: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert fetched(lab, lab.request(sql), monkeypatch) == []


def test_a_series_without_end_is_not_made(lab: Lab) -> None:
    for sql in (
        "SELECT generate_series(1, 4000000000000000000) FROM lf",
        "SELECT generate_series(1, 60000000) FROM lf",
    ):
        with pytest.raises(NotSupportedOnWorkers):
            local_stages.rows(lab.request(sql), 1, lab.database.cpu)


def test_another_time_zone_goes_to_the_host(lab: Lab) -> None:
    lab.run("SET TimeZone = 'America/New_York'")
    try:
        request = lab.request(
            "SELECT id, date_trunc('month', d), tz::date, to_char(tz, 'YYYY-MM') FROM lf WHERE id > 1"
        )
        assert sorted_rows(local_stages.rows(request, 1, lab.database.cpu)) == sorted_rows(embedded(lab, request))
    finally:
        lab.run("RESET TimeZone")
