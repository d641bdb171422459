-- SET TIME ZONE with offsets.
-- cases
SET TIME ZONE '+00';
SHOW timezone;
SELECT '2020-01-01 00:00:00+00'::timestamptz, '2020-01-01 00:00:00'::timestamptz;
SELECT timestamptz '2020-01-01 00:00:00+02' + interval '1 day', extract(hour from timestamptz '2020-01-01 00:00:00+02');
SET TIME ZONE -8;
SHOW timezone;
SELECT '2020-01-01 00:00:00+00'::timestamptz, '2020-07-01 00:00:00'::timestamptz::text;
SELECT g, g::date, date_trunc('day', g), to_char(g, 'HH24:MI OF') FROM generate_series('2020-03-01 22:00+00'::timestamptz, '2020-03-02 12:00+00', '5 hours') AS g;
SET TIME ZONE '-8';
SHOW timezone;
SET TIME ZONE 10.5;
SHOW timezone;
SELECT '2020-01-01 00:00:00+00'::timestamptz, date_part('timezone', '2020-01-01 00:00:00+00'::timestamptz);
SET TIME ZONE INTERVAL '-08:00' HOUR TO MINUTE;
SHOW timezone;
SELECT '2020-01-01 00:00:00+00'::timestamptz;
SET TIME ZONE INTERVAL '3 hours 30 minutes';
SHOW timezone;
SELECT '2020-01-01 00:00:00+00'::timestamptz, timestamp '2020-01-01 00:00' AT TIME ZONE 'UTC';
-- error 22023
SET TIME ZONE INTERVAL '1 month';
-- error 22023
SET TIME ZONE INTERVAL '1 day';
SET TIME ZONE '+05:30';
SHOW timezone;
SELECT '2020-01-01 00:00:00+00'::timestamptz, '2020-01-01 00:00:00+00'::timestamptz::date;
SET TIME ZONE 'UTC+3';
SELECT '2020-01-01 00:00:00+00'::timestamptz, date_trunc('day', '2020-01-01 00:00:00+00'::timestamptz);
SET timezone = '08';
SHOW timezone;
SELECT '2020-01-01 00:00:00+00'::timestamptz;
-- error 22023
SET TIME ZONE 'nowhere';
RESET timezone;
