-- timestamptz: zones, summer time's gaps and overlaps, offsets, AT TIME ZONE, parts in the session's zone.
-- setup
CREATE TABLE zo_t (id integer, z timestamptz);
INSERT INTO zo_t VALUES
  (1, '2024-03-10 06:59:59+00'), (2, '2024-03-10 07:00:00+00'), (3, '2024-11-03 05:30:00+00'), (4, '2024-11-03 06:30:00+00'),
  (5, '2024-02-29 23:30:00-05'), (6, '1900-01-01 00:00:00+00'), (7, 'infinity'), (8, '-infinity'), (9, NULL), (10, '2024-06-15 12:00:00.123456 Asia/Kathmandu');
-- cases
SELECT id, z FROM zo_t;
SET TimeZone TO 'America/New_York';
SELECT id, z FROM zo_t;
SELECT id, extract(hour FROM z), extract(day FROM z), extract(timezone FROM z), extract(timezone_hour FROM z) FROM zo_t WHERE id NOT IN (7, 8);
SELECT id, extract(epoch FROM z) FROM zo_t WHERE id NOT IN (7, 8);
SELECT id, date_trunc('day', z), date_trunc('month', z), date_trunc('hour', z) FROM zo_t;
SELECT id, date_trunc('day', z, 'Asia/Tokyo') FROM zo_t WHERE id < 6;
SELECT id, z::date, z::timestamp, z::time FROM zo_t WHERE id NOT IN (7, 8);
SELECT id, z AT TIME ZONE 'UTC', z AT TIME ZONE 'Europe/Berlin', z AT TIME ZONE '+05:30' FROM zo_t;
SELECT timestamp '2024-03-10 02:30:00' AT TIME ZONE 'America/New_York', timestamp '2024-11-03 01:30:00' AT TIME ZONE 'America/New_York';
SELECT '2024-03-10 02:30:00'::timestamptz, '2024-11-03 01:30:00'::timestamptz, '2024-11-03 01:30:00 EST'::timestamptz;
SELECT timestamptz '2024-03-09 12:00' + interval '1 day', timestamptz '2024-03-09 12:00' + interval '24 hours';
SELECT timestamptz '2024-11-02 12:00' + interval '1 day', timestamptz '2024-11-02 12:00' + interval '24 hours';
SELECT timestamptz '2024-03-11 00:00' - timestamptz '2024-03-10 00:00', timestamptz '2024-01-31 00:00' + interval '1 month';
SELECT id, z > '2024-03-10 02:00:00', z = '2024-03-10 03:00:00' FROM zo_t WHERE id < 5;
SELECT z::date AS day, count(*) FROM zo_t GROUP BY 1;
SELECT date '2024-03-10'::timestamptz, timestamp '2024-07-01 00:00'::timestamptz, date '2024-03-10' = timestamptz '2024-03-10 00:00-05';
SELECT to_char(z, 'YYYY-MM-DD HH24:MI TZ OF'), z::text FROM zo_t WHERE id < 4;
SELECT to_timestamp(0), to_timestamp(1709251200.5), to_timestamp(-1);
SELECT age(timestamptz '2024-03-11', timestamptz '2024-03-10'), timestamptz '2024-01-01 00:00' < timestamp '2024-01-01 00:00:01';
SET TimeZone TO 'Asia/Kolkata';
SELECT id, z, extract(timezone_minute FROM z) FROM zo_t WHERE id < 5;
SELECT '2024-02-29 10:00'::timestamptz, '2024-02-29 10:00+00'::timestamptz, '2024-02-29 10:00Z'::timestamptz, '2024-02-29T10:00:00.5-08:00'::timestamptz;
SET TimeZone TO 'Europe/London';
SELECT timestamptz '2024-03-31 00:30+00', timestamptz '2024-03-31 01:30+00', timestamptz '1970-06-01 00:00+00';
SELECT min(z), max(z), count(DISTINCT z) FROM zo_t;
-- ordered
SELECT id FROM zo_t ORDER BY z DESC NULLS LAST;
SET TimeZone TO 'Australia/Lord_Howe';
SELECT timestamptz '2024-01-01 00:00+00', timestamptz '2024-07-01 00:00+00';
SET TimeZone TO '-03:30';
SELECT timestamptz '2024-01-01 00:00+00';
SET TimeZone TO DEFAULT;
SELECT '2024-02-29 10:00:00+05:45'::timestamptz, '2024-02-29 10:00:00 America/Sao_Paulo'::timestamptz, '2024-02-29 10:00 PST'::timestamptz;
SELECT make_timestamptz(2024, 2, 29, 10, 0, 0, 'Asia/Tokyo'), timezone('Asia/Tokyo', timestamptz '2024-02-29 00:00+00');
SELECT timetz '10:00:00+02', '10:00'::time AT TIME ZONE 'UTC' IS NOT NULL;
SELECT z + interval '1 month' - z FROM zo_t WHERE id < 3;
SELECT generate_series(timestamptz '2024-03-09 00:00+00', timestamptz '2024-03-11 00:00+00', interval '1 day');
-- error 22023
SELECT now() AT TIME ZONE 'Nowhere/Land';
-- error 22023
SELECT '2024-02-29 10:00 Nowhere/Land'::timestamptz;
-- error 22009
SELECT '2024-02-29 10:00+99'::timestamptz;
-- error 22008
SELECT '2024-02-30 10:00+00'::timestamptz;
SELECT x, date_trunc('decade', x), date_trunc('century', x), date_trunc('millennium', x) FROM (VALUES (timestamptz '2040-04-10 BC'), ('2041-04-10 BC'), ('0001-04-10 BC'), ('0010-01-01 BC'), ('0011-01-01 BC'), ('0009-01-01'), ('2001-01-01'), ('1001-01-01 BC'), ('infinity')) AS t(x);
SELECT x, date_trunc('decade', x), date_trunc('century', x), date_trunc('millennium', x) FROM (VALUES (timestamp '2040-04-10 BC'), ('2041-04-10 BC'), ('0001-04-10 BC'), ('0010-01-01 BC'), ('0009-01-01'), ('1001-01-01 BC')) AS t(x);
-- a bare offset of make_timestamptz counts eastward
SELECT make_timestamptz(1973, 7, 15, 8, 15, 55.33, z) FROM (VALUES ('+2'), ('-3:30'), ('UTC'), ('Europe/Prague'), ('EST'), (NULL)) AS v(z);
SELECT make_timestamptz(1973, 7, 15, 8, 15, 55.33, '+2') = '1973-07-15 08:15:55.33+02'::timestamptz;
-- error 22023
SELECT make_timestamptz(1973, 7, 15, 8, 15, 55.33, '2');
-- error 22023
SELECT make_timestamptz(1973, 7, 15, 8, 15, 55.33, '+16');
-- error 22023
SELECT make_timestamptz(1973, 7, 15, 8, 15, 55.33, 'nowhere');
-- abbreviations that mean what a place's clocks showed at the time
SELECT x::timestamptz FROM (VALUES ('2010-07-01 00:00 MSK'), ('2011-03-27 01:30 MSK'), ('2011-03-27 02:30 MSK'), ('2012-01-01 12:00 MSK'), ('2014-10-26 00:30 MSK'), ('2014-10-26 01:30 MSK'), ('2015-01-01 MSK'), ('1975-01-01 SGT'), ('2001-01-01 SGT'), ('2000-06-01 CLT'), ('2010-01-01 VET'), ('2020-01-01 VET'), ('2003-07-01 YEKT'), ('2020-02-01 AMST')) AS v(x);
SELECT timestamptz '2012-01-01 12:00 MSK', timestamptz '1981-12-31 16:30+00' AT TIME ZONE 'SGT', timestamp '2013-06-01 00:00' AT TIME ZONE 'msk', timestamptz '2013-06-01 00:00+00' AT TIME ZONE 'MSK';
SELECT x AT TIME ZONE 'MSK', x AT TIME ZONE 'CLT', x::timestamp AT TIME ZONE 'MSK', x::timestamp AT TIME ZONE 'VET' FROM (VALUES (timestamptz '2011-03-26 22:59:59+00'), ('2011-03-26 23:00+00'), ('2011-07-01 00:00+00'), ('2014-10-25 21:59:59+00'), ('2014-10-25 22:00+00'), ('2014-10-25 23:00+00'), ('2020-01-01 00:00+00'), ('infinity'), (NULL)) AS v(x);
SELECT timezone(z, timestamptz '2012-01-01 00:00+00') FROM (VALUES ('MSK'), ('MSD'), ('IRKT'), ('EAST'), ('PST')) AS v(z);
-- hours are elapsed time, also where a clock's hour comes twice, or is skipped
RESET TimeZone;
SELECT id, date_add(z, '90 minutes', 'America/New_York'), date_subtract(z, '-90 minutes', 'America/New_York'), date_subtract(z, '1 day -90 minutes', 'America/New_York') FROM zo_t WHERE id NOT IN (7, 8);
SELECT date_add(timestamptz '2024-10-27 00:30+00', interval '10 minutes', zone), date_add(timestamptz '2024-10-27 01:30+00', interval '10 minutes', zone) FROM (VALUES ('Europe/Warsaw'), ('UTC'), (NULL)) AS v(zone);
SELECT id, date_add(z, '1 hour', NULL), date_subtract(z, NULL, 'UTC') FROM zo_t WHERE id < 3;
-- error 22023
SELECT date_add(z, '1 hour', 'Nowhere/At_all') FROM zo_t WHERE id < 3;
-- seconds are rounded as those since 2000
SELECT to_timestamp(x), to_timestamp(-x) FROM (VALUES (0.03489949670250097::float8), (1700000000.123456), (0), (946684800.5)) AS v(x);
-- cut within an hour that comes twice by the named zone's clock
SELECT id, date_trunc('hour', z, 'America/New_York'), date_trunc('second', z, 'America/New_York'), date_trunc('day', z, 'America/New_York') FROM zo_t;
SELECT id, date_trunc('minute', z, CASE WHEN id % 2 = 0 THEN 'America/New_York' ELSE 'Australia/Lord_Howe' END) FROM zo_t;
SELECT date_trunc('hour', z, 'Australia/Lord_Howe') FROM (VALUES (timestamptz '2024-04-06 14:45+00'), ('2024-04-06 15:15+00'), ('2024-04-06 15:45+00')) AS v(z);
