-- time with time zone: forms read, order, arithmetic, zones, casts, fields, columns.
-- setup
SET TimeZone = 'America/New_York';
CREATE TABLE tz_t (id integer, t timetz, p timetz(2));
INSERT INTO tz_t VALUES
  (1, '10:00:00+02', '10:00:00.126+02'), (2, '08:00:00Z', '23:59:59.999-05:30'), (3, NULL, NULL),
  (4, '24:00:00-15:59', '00:00:00+15:59:59'), (5, '09:00:00+01', '24:00:00+00'), (6, '00:00:00.000001-12', '12:34:56.785+00');
-- cases
SELECT * FROM tz_t;
-- ordered
SELECT id, t FROM tz_t ORDER BY t, id;
-- ordered
SELECT id, p FROM tz_t ORDER BY p DESC NULLS LAST, id;
SELECT a.id, b.id, a.t = b.t, a.t <> b.t, a.t < b.t, a.t <= b.t, a.t > b.t, a.t >= b.t FROM tz_t a, tz_t b;
SELECT timetz '04:05:06+02', '04:05:06.789-08:00'::timetz, '040506+05:30'::timetz, '04:05 AM UTC'::timetz, '4:05 PM EST'::timetz, '04:05:06 PST'::timetz, 'allballs'::timetz, '04:05:06.1234567+00'::timetz;
SELECT '2003-07-04 04:05:06 America/New_York'::timetz, '2003-01-04 04:05:06 Europe/Berlin'::timetz, '2003-07-04 04:05:06'::timetz, '2003-01-04 04:05:06'::timetz, '04:05:06+02:30:17'::timetz, '24:00+03'::timetz;
SELECT 'now'::timetz IS NOT NULL, '04:05:06'::timetz = '04:05:06'::time::timetz;
-- error 22007
SELECT '04:05:06 America/New_York'::timetz;
-- error 22007
SELECT ''::timetz;
-- error 22007
SELECT 'noon'::timetz;
-- error 22008
SELECT '25:00:00+02'::timetz;
-- error 22009
SELECT '10:00:00+16'::timetz;
-- error 22007
SELECT 'ä'::timetz;
-- error 22007
SELECT 'infinity'::timetz;
SELECT '10:00:00.126+02'::timetz(2), '10:00:00.5+02'::timetz(0), '23:59:59.9999+02'::timetz(3), t::timetz(1), p::timetz(0), p::timetz FROM tz_t;
SELECT t + interval '1 hour', t - interval '11 hours', interval '1 day 30 minutes' + t, t + interval '49 hours', t - interval '1 month' FROM tz_t;
SELECT date '2020-07-04' + t, t + date '2020-01-04', timestamptz(date '2020-07-04', t) FROM tz_t;
SELECT date 'infinity' + timetz '10:00+02';
SELECT t AT TIME ZONE 'UTC', t AT TIME ZONE '+05:30', t AT TIME ZONE interval '-3 hours', t AT TIME ZONE 'Asia/Kolkata', timezone('PST', t) FROM tz_t;
-- error 22023
SELECT t AT TIME ZONE 'Nowhere' FROM tz_t;
-- error 22023
SELECT t AT TIME ZONE interval '1 day' FROM tz_t;
SELECT t::time, p::time(0), t::text, p::varchar, length(t::text) FROM tz_t;
SELECT timestamptz '2020-07-04 10:11:12.345+00'::timetz, timestamptz '2020-01-04 10:11:12+00'::timetz(0), timestamptz 'infinity'::timetz, timestamptz '1900-01-01 00:00+00'::timetz;
-- error 42846
SELECT timestamp '2020-01-01'::timetz;
-- error 42846
SELECT date '2020-01-01'::timetz;
-- error 42846
SELECT t::timestamptz FROM tz_t;
-- error 42846
SELECT t::interval FROM tz_t;
-- error 42883
SELECT t + 1 FROM tz_t;
-- error 42883
SELECT t - t FROM tz_t;
SELECT id, extract(hour FROM t), extract(minute FROM t), extract(second FROM t), extract(milliseconds FROM t), extract(microseconds FROM t), extract(epoch FROM t) FROM tz_t;
SELECT id, extract(timezone FROM t), extract(timezone_hour FROM t), extract(timezone_minute FROM t), extract(timezone FROM p), extract(timezone_hour FROM p), extract(timezone_minute FROM p) FROM tz_t;
SELECT id, date_part('hour', t), date_part('second', p), date_part('epoch', t), date_part('timezone', t) FROM tz_t;
-- error 0A000
SELECT extract(day FROM t) FROM tz_t;
-- error 22023
SELECT extract('nothing' FROM t) FROM tz_t;
SELECT min(t), max(t), min(p), count(DISTINCT t), count(p) FROM tz_t;
-- error 42883
SELECT avg(t) FROM tz_t;
SELECT t, count(*) FROM tz_t GROUP BY t;
SELECT DISTINCT extract(timezone FROM t) FROM tz_t;
SELECT t FROM tz_t UNION SELECT p FROM tz_t;
SELECT a.id, b.id FROM tz_t a JOIN tz_t b USING (t);
SELECT id FROM tz_t WHERE t < '10:00+00' OR p = '12:34:56.79+00';
SELECT id FROM tz_t WHERE t IN ('08:00:00+00', '10:00:00+02') OR t BETWEEN '09:00+01' AND '09:00+00';
SELECT greatest(timetz '10:00+02', '09:00+00'), least(timetz '10:00+02', '09:00+00'), coalesce(NULL, timetz '10:00+02'), nullif(timetz '10:00+02', '08:00+00'), CASE WHEN true THEN timetz '10:00+02' END;
SELECT (timetz '10:00+02', timetz '12:00+02') OVERLAPS (timetz '11:00+02', timetz '13:00+02'), (timetz '10:00+02', timetz '12:00+02') OVERLAPS (timetz '12:00+02', timetz '13:00+02');
SELECT ARRAY[t, NULL], '{10:00+02,"24:00:00+00",NULL}'::timetz[], (ARRAY[t, p])[2] FROM tz_t;
SELECT array_agg(t ORDER BY t), string_agg(t::text, '|' ORDER BY id) FROM tz_t;
SELECT to_json(t), to_jsonb(p), format('%s', t) FROM tz_t WHERE id = 1;
SELECT id, lag(t) OVER (ORDER BY t, id), rank() OVER (ORDER BY p) FROM tz_t;
SELECT pg_typeof(t), pg_typeof(current_time), pg_typeof(t + interval '1 hour'), pg_typeof(t::time) FROM tz_t WHERE id = 1;
SELECT current_time = now()::timetz, current_time(2) = now()::timetz(2), extract(timezone FROM current_time) = extract(timezone FROM now());
SELECT '10:00'::time AT TIME ZONE 'UTC' IS NOT NULL, time '10:00' = '10:00'::timetz::time;
INSERT INTO tz_t VALUES (7, '10:00:00'::time, '2020-07-01 10:00:00'::timestamptz) RETURNING id, t::time, p;
UPDATE tz_t SET t = t + interval '30 minutes' WHERE id < 3 RETURNING id, t;
CREATE TABLE tz_k (t timetz PRIMARY KEY, a timetz[] DEFAULT '{10:00+02}');
INSERT INTO tz_k VALUES ('10:00+02'), ('08:00+00');
-- error 23505
INSERT INTO tz_k VALUES ('10:00:00.0+02:00');
ALTER TABLE tz_k ADD COLUMN d timetz(3) DEFAULT '12:00:00.1234-05';
SELECT * FROM tz_k;
SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 'tz_t'::regclass AND attnum > 0;
SELECT column_name, data_type, datetime_precision FROM information_schema.columns WHERE table_name = 'tz_t' ORDER BY 1;
SELECT timetz '05:06:07+00' AT TIME ZONE z FROM (VALUES ('15:59'), ('-17'), (NULL)) AS v(z);
-- refused 0A000: such zones are nowhere, and values of the type have no room for them
SELECT timetz '05:06:07+00' AT TIME ZONE '23';
-- refused 0A000: such zones are nowhere, and values of the type have no room for them
SELECT timetz '05:06:07+00' AT TIME ZONE z FROM (VALUES (interval '-23 hours')) AS v(z);
-- refused 0A000: such zones are nowhere, and values of the type have no room for them
SELECT '12:00 XXX-20'::timetz;
