"""Intervals, times, text output and keyed comparisons are lowered completely, with the embedded engine's results."""

from __future__ import annotations

import pytest

from gpudb.errors import GpudbError
from gpudb.plan.errors import NotSupportedOnWorkers
from tests.support.gpu import local_stages
from tests.support.gpu.comparison import embedded, sorted_rows
from tests.support.gpu.lowering import lowered
from tests.support.lab import Lab

SETUP = """
CREATE TYPE sp_mood AS ENUM ('sad', 'ok', 'Ünhappy');
CREATE TYPE sp_pair AS (x int, y text);
CREATE TABLE sp (id int, i interval, j interval, t time, z timetz, d date, ts timestamp, b bool, n numeric(12,4),
    v numeric, f float8, m sp_mood, w int8, s text, c char(6), js jsonb, a int[], p sp_pair, r int4range, net inet,
    cash money);
INSERT INTO sp VALUES
    (1, '1 year 14 months 40 days 25:01:02.345678', '3 days', '00:00', '00:00+00', '2000-01-01', '2000-01-01', true,
        0, 0, 0, 'sad', 0, 'xxaxx', 'ab', '1.0', '{}', (1, 'a'), '[1,5)', '10.0.0.1', '0'),
    (2, '-1 year -14 months -40 days -25:01:02.345678', '-1 month 2 days', '23:59:59.999999', '23:59:59.5-08',
        '1969-12-31', '1969-12-31 23:59:59.5', false, -0.0375, -1.50, -2.5, 'ok', -1, '  blank ', 'a', '{"k": [1, 2.50]}',
        '{1,2}', (1, 'b'), '(,3]', '10.0.0.0/8', '-12.34'),
    (3, '178000000 years', '00:00:00.000001', '24:00', '12:34:56.789+05:30', '0044-03-15 BC', '9999-12-31 23:59:59.25',
        NULL, 99999999.9999, 123456789012345.123, 'NaN', 'Ünhappy', 9223372036854775807, '', 'abcdef', 'null',
        '{2,NULL}', (NULL, 'a'), 'empty', '::1', '92233720368547758.07'),
    (4, '-1 day 26 hours', '-25 hours', '12:00:00.25', '24:00-00:30:15', '9999-12-31', '0001-01-01', true, 7,
        7.0, 3.25, 'sad', -9223372036854775808, 'xyx', '', '"text"', '{1,2}', (1, 'a'), '[1,5)', '10.0.0.1/8', '1.00'),
    (5, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
        NULL, NULL)
"""
LOWERED = (
    "extract(microseconds FROM i), extract(ms FROM i), extract(second FROM i), extract(minute FROM i), extract(h FROM i)",
    "extract(day FROM i), extract(month FROM i), extract(quarter FROM i), extract(year FROM i), extract(epoch FROM j)",
    "extract(decade FROM i), extract(century FROM i), extract(millennium FROM i), CASE WHEN id <> 3 THEN extract(epoch FROM i) END",
    "extract(hour FROM t), extract(minute FROM t), extract(second FROM t), extract(epoch FROM t), date_part('ms', t)",
    "extract(hour FROM z), extract(second FROM z), extract(epoch FROM z), extract(timezone FROM z)",
    "extract(timezone_hour FROM z), extract(timezone_minute FROM z), date_part('minute', z)",
    "extract(decade FROM d), extract(century FROM d), extract(millennium FROM d), extract(epoch FROM d)",
    "extract(julian FROM d), extract(century FROM ts), extract(millennium FROM ts), extract(decade FROM ts)",
    "extract(timezone FROM ts::timestamptz), date_part('timezone_minute', ts::timestamptz)",
    "CASE WHEN id <> 3 THEN i + j END, i - i, -j, justify_hours(i), justify_days(i), justify_hours(j - i)",
    "t - time '12:00', t + j, t - i, j + t, t::interval, i::time, ts::time, z::time, d + t, t + d, 3 + d",
    "date_bin('15 minutes', ts, '2001-01-01'), interval '1 day' + ts, isfinite(ts), isfinite(d), isfinite(i)",
    "b::text, n::text, w::text, m::text, t::text, ts::text, CASE WHEN id <> 3 THEN d::text END, 'n=' || n",
    "concat(b, n, '/', t, m), concat_ws('-', s, w, NULL, b), concat_ws(', ', NULL, s), concat_ws('', b)",
    "btrim(s, 'x '), ltrim(s, 'x'), rtrim(s, 'xy'), btrim(s, ''), length(c), char_length(c), bit_length(s)",
    "overlay(s placing 'ZZ' from 2), overlay(s placing s from 2 for 1), overlay(s placing '' from 1 for 9)",
    "w & 6, w | 5, w # 3, ~w, id & 1, ~id, id # 7, num_nulls(i, s, w), num_nonnulls(i, s, 1), sign(f), sign(-f)",
    "greatest(n, 1.5), least(n, id, -1.25), greatest(f, 1, id), least(f, -1), greatest(i, j), least(i, j, '1 month')",
    "greatest(v, 7), least(v, -1.5000), greatest(v, n, 7.00), cash::numeric, cash::numeric(30,1)",
    "js = '1', js <> '{\"k\": [1.0, 2.5]}', js < 'null', js IN ('1.00', '\"text\"', NULL), js IS DISTINCT FROM 'null'",
    "a = '{1,2}', a < '{2}', a >= '{2,NULL}', a IS DISTINCT FROM '{}', p = '(1,a)'::sp_pair, p < '(1,b)'::sp_pair, p IN ('(1,a)'::sp_pair, '(,a)'::sp_pair)",
    "r = '[1,4]', r > '[1,2)', r <> 'empty', net = '10.0.0.1', net IN ('::1', '10.0.0.0/8'), net < '10.0.0.1'",
    "cash > '1', cash IN ('$1.00', '0')",
)


@pytest.mark.parametrize("outputs", LOWERED, ids=range(len(LOWERED)))
def test_the_answer_is_the_embedded_engine_s(lab: Lab, outputs: str) -> None:
    lowered(lab, lab.request(f"SELECT id, {outputs} FROM sp"))


@pytest.mark.parametrize("output", ["i + i", "i - interval '-178000000 years'"])
def test_an_interval_out_of_range_is_an_error(lab: Lab, output: str) -> None:
    for run in (
        lambda request: local_stages.rows(request, 1, lab.database.cpu),
        lambda request: embedded(lab, request),
    ):
        with pytest.raises(GpudbError) as failed:
            run(lab.request(f"SELECT {output} FROM sp"))
        assert failed.value.sqlstate == "22008"


def test_dates_of_other_calendars_stay_with_the_embedded_engine(lab: Lab) -> None:
    with pytest.raises(NotSupportedOnWorkers):
        local_stages.rows(lab.request("SELECT d::text FROM sp"), 1, lab.database.cpu)


def test_keys_of_two_types_are_not_compared(lab: Lab) -> None:
    request = lab.request("SELECT id, p = ROW(1, 'a') FROM sp")
    assert sorted_rows(local_stages.rows(request, 1, lab.database.cpu)) == sorted_rows(embedded(lab, request))
