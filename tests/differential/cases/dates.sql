-- date, time and timestamp: leap days, limits, arithmetic, parts, truncation, text forms, infinities.
-- setup
CREATE TABLE da_t (id integer, d date, ts timestamp, t time);
INSERT INTO da_t VALUES
  (1, '2024-02-29', '2024-02-29 23:59:59.999999', '23:59:59.999999'), (2, '1900-02-28', '1900-02-28 00:00:00', '00:00:00'),
  (3, '2000-02-29', '2000-02-29 12:00:00.5', '12:00:00.5'), (4, '1970-01-01', '1970-01-01 00:00:00.000001', '04:05:06'),
  (5, '0001-01-01', '0001-01-01 00:00:00', '24:00:00'), (6, '9999-12-31', '9999-12-31 23:59:59', NULL),
  (7, 'infinity', 'infinity', '01:00'), (8, '-infinity', '-infinity', '02:00'), (9, NULL, NULL, NULL), (10, '1969-12-31', '1969-12-31 23:59:58.25', '13:30:15.25');
-- cases
SELECT id, d, ts, t FROM da_t;
SELECT id, d + 1, d - 1, d + 365, d - date '2024-01-01' FROM da_t WHERE id NOT IN (7, 8);
SELECT id, d + interval '1 month', d - interval '1 year', d + interval '1 day 12 hours' FROM da_t WHERE id IN (1, 2, 3, 4);
SELECT date '2024-01-31' + interval '1 month', date '2023-01-31' + interval '1 month', date '2024-02-29' + interval '1 year', date '2024-03-31' - interval '1 month', date '2024-02-29' + interval '4 years';
SELECT id, ts + interval '1 second', ts - interval '0.000001 second', ts + interval '1 mon -1 day' FROM da_t WHERE id <> 6;
SELECT id, ts - timestamp '2000-01-01 00:00:00' FROM da_t WHERE id IN (1, 2, 3, 4, 5, 6, 10);
SELECT timestamp '2024-03-01' - timestamp '2024-02-28 12:00', date '2024-03-01' - date '2024-02-28', timestamp '2024-01-01' - date '2023-01-01';
SELECT id, extract(year FROM d), extract(month FROM d), extract(day FROM d), extract(dow FROM d), extract(doy FROM d) FROM da_t WHERE id NOT IN (7, 8);
SELECT id, extract(quarter FROM d), extract(week FROM d), extract(isoyear FROM d), extract(isodow FROM d), extract(century FROM d), extract(decade FROM d), extract(millennium FROM d) FROM da_t WHERE id NOT IN (7, 8);
SELECT id, extract(hour FROM ts), extract(minute FROM ts), extract(second FROM ts), extract(milliseconds FROM ts), extract(microseconds FROM ts) FROM da_t WHERE id NOT IN (7, 8);
SELECT id, extract(epoch FROM ts), extract(epoch FROM d), extract(julian FROM d) FROM da_t WHERE id NOT IN (7, 8);
SELECT extract(epoch FROM timestamp 'infinity'), extract(year FROM date '-infinity'), extract(hour FROM timestamp 'infinity');
SELECT date_part('year', ts), date_part('second', ts), date_part('epoch', t) FROM da_t WHERE id IN (1, 3, 10);
SELECT extract(hour FROM t), extract(second FROM t), extract(epoch FROM t) FROM da_t;
SELECT id, date_trunc('month', ts), date_trunc('year', ts), date_trunc('hour', ts), date_trunc('second', ts) FROM da_t;
SELECT date_trunc('week', timestamp '2024-03-03 10:00'), date_trunc('quarter', timestamp '2024-02-29'), date_trunc('decade', timestamp '2024-02-29'), date_trunc('century', timestamp '2024-02-29'), date_trunc('day', date '2024-02-29');
SELECT id, to_char(ts, 'YYYY-MM-DD HH24:MI:SS.US'), to_char(ts, 'Day, DD Mon YYYY'), to_char(ts, 'HH12:MI AM'), to_char(d, 'DDD IW Q') FROM da_t WHERE id IN (1, 2, 3, 4, 10);
SELECT to_date('29/02/2024', 'DD/MM/YYYY'), to_timestamp('2024-02-29 13:14:15', 'YYYY-MM-DD HH24:MI:SS'), to_date('2024060', 'YYYYDDD');
SELECT make_date(2024, 2, 29), make_time(8, 15, 23.5), make_timestamp(2013, 7, 15, 8, 15, 23.5);
SELECT make_interval(years => 1, days => 10);
SELECT age(timestamp '2024-02-29', timestamp '2023-01-31'), age(date '2024-03-01', date '2024-02-29'), age(timestamp '2001-04-10', timestamp '1957-06-13');
SELECT date '2024-02-29' = timestamp '2024-02-29 00:00', date '2024-02-29' < timestamp '2024-02-29 00:00:01', d > '2000-01-01', ts BETWEEN '1960-01-01' AND '2000-12-31' FROM da_t WHERE id < 5;
-- ordered
SELECT id FROM da_t ORDER BY d, id;
-- ordered
SELECT id FROM da_t ORDER BY t DESC NULLS LAST, id;
SELECT min(d), max(d), min(ts), max(ts), min(t), max(t) FROM da_t;
SELECT id, t + interval '1 hour', t - interval '30 minutes', t - time '01:00' FROM da_t WHERE id IN (1, 2, 3, 4, 10);
SELECT d + t FROM da_t WHERE id IN (1, 3, 4);
SELECT time '23:59' + interval '2 minutes', time '00:01' - interval '2 minutes', time '10:00' < time '9:00', time '12:00' - time '13:30';
SELECT '2024-02-29'::date + time '10:00', date '2024-02-29' + 0, date 'epoch', timestamp 'epoch', date '2024-1-5', 'January 8, 1999'::date, '1/8/1999'::date, '1999.008'::date, 'J2451187'::date;
SELECT '0044-03-15 BC'::date, timestamp '0044-03-15 10:00 BC', date '0001-01-01' - 1, extract(year FROM date '0044-03-15 BC');
SELECT ARRAY[d, d + 1], row(d, 'x'), ARRAY[d, NULL]::text, row(d)::text, ARRAY[row(d, 1)] FROM (VALUES (date '0044-03-15 BC'), ('2024-02-29'), ('infinity'), (NULL)) AS v(d);
SELECT isfinite(d), isfinite(ts), d = 'infinity' FROM da_t;
SELECT date 'infinity' + 1, timestamp 'infinity' + interval '1 day', date 'infinity' > date '9999-12-31', timestamp '-infinity' < timestamp '0001-01-01';
SELECT d, count(*) FROM da_t GROUP BY d;
SELECT extract(year FROM ts) AS y, count(*), max(d) FROM da_t WHERE isfinite(ts) GROUP BY y;
SELECT generate_series(date '2024-02-27', date '2024-03-02', interval '1 day');
SELECT count(*) FROM generate_series(timestamp '2024-01-01', timestamp '2024-12-31', interval '1 month');
SELECT ts::date, ts::time, d::timestamp, ts::text, d::text, t::text FROM da_t WHERE id IN (1, 4, 10);
SELECT (timestamp '2024-01-01', timestamp '2024-02-01') OVERLAPS (timestamp '2024-01-15', interval '1 month');
SELECT timestamp '2024-02-29 24:00:00', timestamp '2024-02-29 23:59:59.9999995', time '23:59:59.9999995', '12:34 am'::time;
SELECT date_bin('15 minutes', timestamp '2020-02-11 15:44:17', timestamp '2001-01-01'), extract(dow FROM date '2024-03-03'), extract(isodow FROM date '2024-03-03'), extract(week FROM date '2021-01-03');
SELECT now() = current_timestamp, current_date = now()::date, localtimestamp = now()::timestamp, now() - now();
-- error 22008
SELECT date '2023-02-29';
-- error 22008
SELECT timestamp '2024-02-30 00:00';
-- error 22007
SELECT date 'not a date';
-- error 22008
SELECT date '5874897-12-31' + 1;
-- error 22008
SELECT timestamp '294276-12-31 23:59:59' + interval '1 day';
-- error 22008
SELECT make_date(2023, 2, 29);
-- error 22023
SELECT extract('nothing' FROM date '2024-01-01');
-- error 0A000
SELECT extract(hour FROM date '2024-01-01');
-- error 22023
SELECT date_trunc('nothing', timestamp '2024-01-01');
-- error 42883
SELECT date '2024-01-01' + date '2024-01-01';
-- error 42883
SELECT date '2024-01-01' * 2;
-- error 22008
SELECT date '2024-01-01' + 2147483647;
-- error 22008
SELECT date 'infinity' - date '2024-01-01';
-- error 22008
SELECT time '25:00';
-- error 42883
SELECT 5 - date '2024-01-01';
-- error 22007
SELECT 'infinity UTC'::timestamptz;
-- error 22007
SELECT '-infinity 10:00'::timestamp;
-- error 22007
SELECT 'epoch +01'::timestamptz;
SELECT 'infinity,'::timestamp, '{infinity'::timestamp, 'infinity mon'::date;
-- error 22007
SELECT E'2024-02-29 \b2:34'::timestamp;
SELECT ts::date, count(*) FROM da_t GROUP BY 1;
SELECT id, ts::date FROM da_t WHERE id > 6;
-- error 22008
SELECT d - date '2000-01-01' FROM da_t WHERE id > 6;
-- error 22008
SELECT date '2000-01-01' - d FROM da_t WHERE id = 8;
-- error 22008
SELECT ts - timestamp '2000-01-01' FROM da_t WHERE id = 7;
-- error 22008
SELECT timestamp '2000-01-01' - ts FROM da_t WHERE id > 6;
SELECT id, max(d) - min(d), max(ts) - min(ts) FROM da_t WHERE id NOT IN (7, 8) GROUP BY id;
-- a constant that is the end of the day
SELECT id, time '23:59:59.999999'::time(0), t < time '23:59:59.9'::time(0) FROM da_t;
