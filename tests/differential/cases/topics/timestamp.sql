-- timestamp with and without time zone: input, output, zones, arithmetic, fields, truncation, bins, formatting.
-- setup
CREATE TABLE tts (id integer, ts timestamp, tz timestamptz, p timestamp(2));
INSERT INTO tts VALUES (1, '1997-02-10 17:32:01', '1997-02-10 17:32:01-08', '1997-02-10 17:32:01.456'), (2, '1996-02-29 00:00:00', '1996-02-29 12:00:00 America/New_York', '1996-02-29 00:00:00.006'), (3, '2000-12-31 23:59:59.999999', '2000-12-31 23:59:59.999999 UTC', '2000-12-31 23:59:59.999'), (4, '0097-02-16 17:32:01 BC', '0097-02-16 17:32:01+00 BC', NULL), (5, 'infinity', '-infinity', 'infinity'), (6, NULL, NULL, NULL), (7, '2001-09-22 18:19:20', '2001-09-22 18:19:20 PST', '2001-09-22 18:19:20.1');
-- cases
SELECT * FROM tts;
SELECT timestamp '1997-02-10T17:32:01', timestamp '19970210 173201', timestamp 'Mon Feb 10 17:32:01 1997', timestamp 'Feb 10 17:32:01.6 1997', timestamp '1997-02-10 5:32 PM', timestamp '1997.041 17:32:01';
SELECT timestamptz '1997-02-10 17:32:01+03', timestamptz '1997-02-10 17:32:01 EST', timestamptz '1997-02-10T17:32:01Z', timestamptz '1997-07-10 17:32:01 America/New_York', timestamptz '1997-02-10 17:32:01+05:30', timestamptz 'Feb 10 17:32:01 1997 PST';
SELECT timestamp '2000-01-01 24:00:00', timestamp '2000-01-01 23:59:60', timestamp '1999-12-31 23:59:59.9999999', timestamp(0) '2000-01-01 00:00:00.5', timestamp(3) '2000-01-01 00:00:00.12345';
SELECT 'epoch'::timestamp, 'epoch'::timestamptz, 'infinity'::timestamp > now(), 'now'::timestamptz = now(), 'today'::timestamp = current_date, 'tomorrow'::timestamp - 'yesterday'::timestamp;
SELECT ts - timestamp '1997-01-02' FROM tts WHERE id IN (1, 2, 3, 7);
SELECT age(timestamp '2001-04-10 12:00', timestamp '1957-06-13 13:30'), age(timestamptz '2020-03-01', timestamptz '2020-02-01'), justify_interval(timestamp '2020-03-01' - timestamp '2019-12-25 10:00');
SELECT ts + interval '1 month 2 days 03:04:05', ts - interval '1 year', interval '1 day' + ts, tz + interval '1 day' FROM tts WHERE id IN (1, 2, 3);
SELECT extract(year FROM ts), extract(month FROM ts), extract(day FROM ts), extract(hour FROM ts), extract(minute FROM ts), extract(second FROM ts), extract(milliseconds FROM ts), extract(microseconds FROM ts) FROM tts WHERE id <> 5;
SELECT extract(dow FROM ts), extract(isodow FROM ts), extract(doy FROM ts), extract(week FROM ts), extract(isoyear FROM ts), extract(quarter FROM ts), extract(decade FROM ts), extract(century FROM ts), extract(millennium FROM ts), extract(julian FROM ts), extract(epoch FROM ts) FROM tts WHERE id <> 5;
SELECT date_part('second', ts), date_part('epoch', tz), date_part('hour', tz), date_part('timezone', tz), extract(timezone_hour FROM tz) FROM tts WHERE id < 4;
SELECT date_trunc('second', ts), date_trunc('hour', ts), date_trunc('day', ts), date_trunc('week', ts), date_trunc('quarter', ts), date_trunc('decade', ts), date_trunc('milliseconds', ts) FROM tts WHERE id IN (1, 3, 7);
SELECT date_trunc('day', timestamptz '2001-02-16 20:38:40+00', 'Australia/Sydney'), date_trunc('hour', tz), date_trunc('month', tz, 'America/New_York') FROM tts WHERE id < 4;
SELECT date_bin('15 minutes', ts, '2001-01-01'), date_bin('2 hours', ts, timestamp '2001-01-01 00:05') FROM tts WHERE id IN (1, 3, 7);
SELECT ts AT TIME ZONE 'America/New_York', tz AT TIME ZONE 'Asia/Tokyo', ts AT TIME ZONE '+03', tz AT TIME ZONE interval '-05:00', timezone('UTC', ts) FROM tts WHERE id < 4;
SELECT timestamp '2021-03-14 02:30' AT TIME ZONE 'America/New_York', timestamp '2021-11-07 01:30' AT TIME ZONE 'America/New_York', timestamptz '2021-03-14 07:00+00' AT TIME ZONE 'America/New_York';
SET TimeZone TO 'America/New_York';
SELECT tz, ts::timestamptz, tz::timestamp, tz::date, tz::time FROM tts WHERE id < 4;
SELECT timestamptz '2021-03-13 12:00' + interval '1 day', timestamptz '2021-03-13 12:00' + interval '24 hours', timestamptz '2021-03-14 12:00' - timestamptz '2021-03-13 12:00';
SELECT generate_series(timestamptz '2021-03-13', timestamptz '2021-03-15', '12 hours');
SELECT extract(timezone FROM timestamptz '2021-07-01'), extract(timezone_minute FROM timestamptz '2021-01-01'), to_char(timestamptz '2021-07-01 10:00', 'HH24:MI TZ OF');
SET TimeZone TO 'Asia/Kolkata';
SELECT timestamptz '2021-03-13 12:00', timestamp '2021-03-13 12:00'::timestamptz::text, to_timestamp(0), date_trunc('day', timestamptz '2021-03-13 22:00+00');
RESET TimeZone;
SELECT to_char(ts, 'YYYY-MM-DD HH24:MI:SS.MS'), to_char(ts, 'Day Month DDth HH12:MI am'), to_char(ts, 'FMMM/FMDD/YY Q WW IW DDD SSSS'), to_char(ts, 'HH:MI:SS.US P.M. CC BC') FROM tts WHERE id IN (1, 2, 3, 4);
SELECT to_timestamp('2000-01-02 03:04:05', 'YYYY-MM-DD HH24:MI:SS'), to_timestamp('05 Dec 2000', 'DD Mon YYYY'), to_timestamp(1284352323.5), to_timestamp('97/2/16 8:14:30', 'FMYY/FMMM/FMDD FMHH:FMMI:FMSS');
SELECT make_timestamp(2014, 12, 28, 6, 30, 45.887), make_timestamptz(2014, 12, 10, 10, 10, 10, 'UTC'), make_timestamptz(2013, 7, 15, 8, 15, 23.5);
SELECT ts = timestamp '1997-02-10 17:32:01', ts > date '2000-01-01', tz < ts::timestamptz, ts IS DISTINCT FROM NULL, ts BETWEEN '1997-01-01' AND '2002-01-01' FROM tts;
SELECT (timestamp '2000-11-27', timestamp '2000-11-28') OVERLAPS (timestamp '2000-11-27 12:00', timestamp '2000-11-30'), (timestamp '2000-11-27', interval '12 hours') OVERLAPS (timestamp '2000-11-27 12:00', interval '12 hours');
SELECT min(ts), max(ts), min(tz), max(p), count(DISTINCT ts) FROM tts;
-- ordered
SELECT ts FROM tts ORDER BY ts DESC NULLS FIRST;
SELECT id, lag(ts) OVER (ORDER BY ts), ts - lag(ts) OVER (ORDER BY ts) FROM tts WHERE id IN (1, 2, 3, 7);
SELECT date_trunc('year', ts) AS y, count(*) FROM tts GROUP BY y;
SELECT generate_series(timestamp '2020-01-31', timestamp '2020-05-31', interval '1 month'), 1;
SELECT generate_series(timestamp '2020-01-02', timestamp '2020-01-01', interval '-6 hours');
SELECT ts::text, tz::text, ts::date, ts::time, ts::timestamp(0), p FROM tts WHERE id IN (1, 3, 4, 5);
SELECT 'infinity'::timestamp = 'infinity'::timestamp, isfinite(ts), ts + interval '1 day' FROM tts WHERE id IN (1, 5);
SELECT time '10:20:30.5', time '23:59:60', time '5:30 PM', time(0) '10:00:00.6', time '04:05' + interval '3 hours', time '01:00' - time '02:30', time '00:10' - interval '20 minutes';
SELECT extract(hour FROM time '13:30:25.575'), extract(epoch FROM time '13:30:25.5'), date_part('second', time '13:30:25.575'), '13:30'::time < '14:00', make_time(8, 15, 23.5);
SELECT pg_typeof(now()), pg_typeof(localtimestamp), pg_typeof(current_time(0)) IS NOT NULL, pg_typeof(ts - ts), pg_typeof(ts + interval '1 day') FROM tts LIMIT 1;
SELECT now() = transaction_timestamp(), clock_timestamp() >= now(), statement_timestamp() >= now(), localtimestamp::date = current_date;
-- error 22008
SELECT timestamp '1997-02-30 10:00';
-- error 22008
SELECT timestamp '1997-02-10 25:00';
-- error 22008
SELECT timestamp '1997-02-10 10:61:00';
-- error 22007
SELECT timestamp 'garbage';
-- error 22023
SELECT timestamptz '2000-01-01 10:00 Nowhere/City';
-- error 22008
SELECT timestamp '294277-01-01';
-- error 22023
SELECT timestamp '2000-01-01' AT TIME ZONE 'nowhere';
-- error 22023
SELECT date_trunc('fortnight', timestamp '2000-01-01');
-- error 22023
SELECT extract(fortnight FROM timestamp '2000-01-01');
-- error 0A000
SELECT date_bin('1 month', timestamp '2000-01-01', timestamp '1999-01-01');
-- error 42883
SELECT timestamp '2000-01-01' + timestamp '2000-01-01';
-- error 42883
SELECT timestamp '2000-01-01' * 2;
-- error 22008
SELECT make_timestamp(2014, 13, 28, 6, 30, 45.8);
-- error 22008
SELECT timestamp '294276-12-31 23:59:59' + interval '1 day';
-- error 22023
SET TimeZone TO 'Nowhere/City';
-- error 22008
SELECT time '24:00:01';
SELECT date_trunc('century', timestamp '0055-08-10 BC'), date_trunc('decade', timestamp '0002-12-31 BC'), date_trunc('millennium', timestamp '0055-08-10 BC'), date_trunc('decade', timestamp '2004-12-31');
SELECT date_trunc('century', timestamptz '0055-08-10 BC'), date_trunc('decade', timestamptz '0002-12-31 BC'), date_trunc('century', timestamptz '1900-06-01');
