-- interval: three fields that stay apart, comparison, arithmetic, justification, text forms.
-- setup
CREATE TABLE iv_t (id integer, i interval);
INSERT INTO iv_t VALUES (1, '1 day'), (2, '24 hours'), (3, '1 mon'), (4, '30 days'), (5, '-1 year -2 mons +3 days'), (6, '00:00:00'), (7, NULL), (8, '1.5 months'), (9, '100 years'), (10, '-00:00:00.000001');
-- cases
SELECT id, i, i::text FROM iv_t;
SELECT a.id, b.id FROM iv_t a JOIN iv_t b ON a.i = b.i WHERE a.id < b.id;
SELECT id, i > interval '1 day', i < interval '1 month', i IS NULL FROM iv_t;
SELECT id, i + interval '1 hour', i - interval '1 day', -i, i * 2, i / 2 FROM iv_t;
SELECT id, i * 1.5, i / 3 FROM iv_t WHERE id IN (1, 3, 5);
SELECT id, extract(year FROM i), extract(month FROM i), extract(day FROM i), extract(hour FROM i), extract(epoch FROM i) FROM iv_t;
SELECT extract(epoch FROM i), extract(second FROM i), extract(year FROM i) FROM (VALUES (interval '178000000 years'), ('-178000000 years'), ('178956970 years 7 mons 2147483647 days 5000 hours 0.000001 sec'), (NULL)) AS x(i);
SELECT count(DISTINCT i), min(i), max(i), sum(i), avg(i) FROM iv_t WHERE id IN (1, 3, 5, 6);
SELECT justify_days(interval '35 days'), justify_hours(interval '27 hours'), justify_interval(interval '1 mon -1 hour');
SELECT interval '1 year 2 mons', interval '1' year, interval '1 week', interval '3 days ago', interval '1 12:59:10', interval '@ 1 minute', interval '2 decades', interval '1 millisecond';
SELECT interval '1:02', interval '1:02:03', interval '-1:02:03.5', interval '1-2', interval '1 day 25 hours', interval '90 minutes', interval '0.1 days', interval '1.75 weeks';
SELECT interval '1 month' * 12 = interval '1 year', interval '1 day' * 0.5, 3 * interval '20 minutes', interval '1 day' - interval '1 hour';
SELECT date '2024-01-31' + 2 * interval '1 month', timestamp '2024-01-01' + interval '1 month 1 day', date '2024-01-01' - interval '1 second';
SELECT date_trunc('day', interval '3 days 04:05:06'), date_part('minute', interval '04:05:06'), to_char(interval '15h 2m 12s', 'HH24:MI:SS');
SELECT make_interval(hours => -3);
SELECT make_interval(1, 2, 3, 4, 5, 6, 7.5), interval '1 day' = interval '24 hours';
SELECT interval '3 days 4 hours' hour, interval '1.999 seconds'::interval(2), interval '10' second, interval '5 10' day to hour;
SELECT sum(x), avg(x) FROM (VALUES (interval '1 day'), (interval '3 hours'), (NULL)) v(x);
-- ordered
SELECT id FROM iv_t ORDER BY i DESC NULLS LAST, id;
-- error 22007
SELECT interval 'one day';
-- error 22012
SELECT interval '1 day' / 0;
-- error 42883
SELECT interval '1 day' + 1;
-- error 22008
SELECT interval '200000000 years';
-- error 42883
SELECT interval '1 day' * interval '1 day';
-- What does not fit, and rounding, whose halves go away from the year 2000.
SELECT timestamp(0) '1999-12-31 23:59:59.5', timestamp(0) '1999-12-31 23:59:58.5', '1969-01-01 00:00:00.5'::timestamp(0), '1969-01-01 00:00:01.5'::timestamp(0), '1999-01-01 00:00:00.125'::timestamp(2), timestamptz(1) '1985-06-01 00:00:00.25+02';
SELECT '1999-12-31 23:59:59.5'::timestamp::timestamp(0), '1969-01-01 00:00:00.5+00'::timestamptz::timestamptz(0), '00:00:00.5'::time(0), '00:00:01.5'::time::time(0);
SELECT t::timestamp(0), t::timestamp(2), t::text::timestamp(1) FROM (VALUES (timestamp '1999-12-31 23:59:59.5'), ('1969-12-31 23:59:58.505'), ('2024-02-29 11:59:59.995')) AS v(t);
SELECT interval(0) '0.5 seconds', interval(0) '-0.5 seconds', '1.5 sec'::interval::interval(0), '-1.5 sec'::interval::interval(0), '-2.125 sec'::interval(2), interval '1.5' second(0);
-- error 22008
SELECT interval '2147483647 months' + interval '1 month';
-- error 22008
SELECT interval '2147483647 days' + interval '1 day';
-- error 22008
SELECT interval '-2147483648 days' - interval '1 day';
-- error 22008
SELECT interval '9223372036854775807 microseconds' + interval '1 microsecond';
-- error 22008
SELECT interval '2147483647 months' * 2;
-- error 22008
SELECT -interval '-2147483648 months';
SELECT interval '-2147483648 months', interval '-2147483648 days', -interval '1 month 2 days -03:00', interval '1 day' - interval '1 month 25:00', NULL::interval + interval '1 day', interval '2147483646 days' + interval '1 day -1 month';
-- error 22008
SELECT i + j FROM (VALUES (interval '2147483647 months', interval '1 month')) AS v(i, j);
-- error 22008
SELECT sum(i) FROM (VALUES (interval '2147483647 days'), (interval '1 day')) v(i);
-- error 22008
SELECT sum(i) FROM (VALUES (interval '2147483647 months'), (interval '1 month')) v(i);
-- error 22008
SELECT avg(i) FROM (VALUES (interval '2147483647 months'), (interval '1 month')) v(i);
SELECT sum(i), avg(i), max(i), min(i) FROM (VALUES (interval '1 day'), ('1 month -2 days'), (NULL), ('03:04:05.6')) v(i);
-- error 22008
SELECT justify_days(interval '2147483647 months 30 days');
-- error 22008
SELECT justify_interval(interval '2147483647 months 30 days');
-- error 22008
SELECT justify_hours(interval '2147483647 days 24 hours');
SELECT sum(i) OVER (ORDER BY i), i + i, i - i FROM (VALUES (interval '1 day'), ('1 month -2 days'), (NULL), ('03:04:05.6')) v(i);
-- error 22015
SELECT interval '99999999999 days';
-- error 22008
SELECT interval '200000000 years';
-- error 22012
SELECT interval '1 day' / 0;
-- ISO 8601's alternative forms, words by their first letters, fractions that take what is below them
SELECT interval 'P00021015T103020', interval 'P0002-10-15T10:30:20', interval 'P0002', interval 'P0002-10', interval 'P0002T1S', interval 'P10.5e4Y', interval 'PT10:30';
SELECT interval '4 millenniums 5 centuries 1 year', interval '1 2:03' minute to second, interval '1 -2:03' minute to second;
-- error 22007
SELECT '5.5 seconds 3 milliseconds'::interval;
-- error 22007
SELECT '1:20:05 5 microseconds'::interval;
-- error 22007
SELECT interval 'P1Y2-03';
-- refused 22008: Arrow's intervals count nanoseconds
SELECT interval '1 second' * 1e10;
SELECT to_char(i * interval '1 month', 'rm'), to_char(i * interval '1 month', 'FMRM') FROM generate_series(-13, 13) AS i;
CREATE TABLE in_long (id integer, i interval);
INSERT INTO in_long VALUES (1, '2562047:47:16.854775'), (2, '-2562047:47:16.854775'), (3, '0.0001 s'), (4, '2562047:47:16'), (5, '0.854775 s');
SELECT id, i, -i, i + interval '1 day' FROM in_long;
SELECT sum(i) FROM in_long WHERE id > 3;
SELECT a.i + b.i, a.i - -b.i FROM in_long a, in_long b WHERE a.id = 4 AND b.id = 5;
-- refused 22008: Arrow's intervals count nanoseconds
SELECT i + interval '0.0001 s' FROM in_long WHERE id = 1;
-- refused 22008: Arrow's intervals count nanoseconds
SELECT a.i - b.i FROM in_long a, in_long b WHERE a.id = 2 AND b.id = 3;
-- refused 22008: Arrow's intervals count nanoseconds
SELECT sum(i) FROM in_long WHERE id IN (1, 3);
-- intervals beside those of a subquery, by their length
-- setup
CREATE TABLE in_all (id integer, v interval, w interval);
INSERT INTO in_all VALUES (1, '1 mon', '30 days'), (2, '30 days', '1 mon'), (3, '720 hours', '1 day'), (4, NULL, '2 days'), (5, '1 day', '24:00');
-- cases
SELECT id, v = ALL (SELECT w FROM in_all), v <> ANY (SELECT w FROM in_all), v = ALL (SELECT w FROM in_all WHERE id < 3), v <> ANY (SELECT w FROM in_all WHERE id < 3), v = ALL (SELECT w FROM in_all WHERE id > 5), v <> ANY (SELECT w FROM in_all WHERE id > 5) FROM in_all;
SELECT id, v = ALL (SELECT v FROM in_all WHERE id < 5), v <> ANY (SELECT v FROM in_all WHERE id < 5), v = ALL (SELECT NULL::interval), v <> ANY (SELECT o.w FROM in_all o WHERE o.id <= in_all.id) FROM in_all;
SELECT id FROM in_all WHERE v = ALL (SELECT w FROM in_all WHERE id < 3);
SELECT id FROM in_all WHERE NOT v = ALL (SELECT w FROM in_all WHERE id < 3);
-- error 22008
SELECT make_interval(secs => 'NaN');
-- error 22008
SELECT make_interval(secs => '-Infinity');
