-- date: input, output, infinities, arithmetic, fields, truncation, ranges of the calendar.
-- setup
CREATE TABLE tdt (id integer, f date);
INSERT INTO tdt VALUES (1, '1957-04-09'), (2, '1957-06-13'), (3, '1996-02-28'), (4, '1996-02-29'), (5, '1996-03-01'), (6, '1997-02-28'), (7, '2000-04-01'), (8, '2038-04-08'), (9, '2039-04-09'), (10, '2040-04-10 BC'), (11, NULL);
-- cases
SELECT id, f FROM tdt;
SELECT f FROM tdt WHERE f < '2000-01-01';
SELECT f FROM tdt WHERE f BETWEEN '2000-01-01' AND '2001-01-01';
SELECT date 'January 8, 1999', date '1999-01-08', date '1/8/1999', date '19990108', date 'J2451187', date '1999.008', date '08-Jan-1999', date 'Jan 8 1999';
-- error 22008
SELECT date '99-01-08', date '01 08 1999', date '1999 Jan 08', date '1999-Jan-08', date 'Jan-08-1999';
SELECT date '2020-02-29', date '0099-01-08', date '10000-01-01', date '4714-11-24 BC', date '5874897-12-31', date '0001-01-01 BC';
SELECT 'epoch'::date, 'infinity'::date, '-infinity'::date, 'infinity'::date > '5874897-12-31', isfinite('infinity'::date), isfinite(date '2000-01-01');
SELECT f - date '2000-01-01', date '2000-01-01' - f FROM tdt WHERE id < 8;
SELECT f + 1, f - 1, 7 + f, f + interval '1 month', f - interval '1 day 2 hours' FROM tdt WHERE id IN (3, 4, 8);
SELECT f + time '10:30', time '23:59' + f, f + interval '0' FROM tdt WHERE id = 5;
SELECT date '2020-01-31' + interval '1 month', date '2020-03-31' - interval '1 month', date '2019-02-28' + interval '1 year', date '2020-02-29' + interval '1 year';
SELECT extract(year FROM f), extract(month FROM f), extract(day FROM f), extract(dow FROM f), extract(isodow FROM f), extract(doy FROM f) FROM tdt;
SELECT extract(quarter FROM f), extract(week FROM f), extract(isoyear FROM f), extract(decade FROM f), extract(century FROM f), extract(millennium FROM f), extract(julian FROM f), extract(epoch FROM f) FROM tdt;
SELECT date_part('year', f), date_part('dow', f), date_part('epoch', date '1970-01-02') FROM tdt WHERE id < 5;
SELECT extract(century FROM date '0101-12-31 BC'), extract(century FROM date '0001-12-31 BC'), extract(century FROM date '1900-12-31'), extract(century FROM date '2001-01-01'), extract(decade FROM date '0011-01-01 BC');
SELECT date_trunc('month', f), date_trunc('year', f), date_trunc('week', f), date_trunc('quarter', f), date_trunc('decade', f), date_trunc('century', f), date_trunc('millennium', f) FROM tdt WHERE id < 9;
SELECT pg_typeof(date_trunc('day', date '2020-01-01')), pg_typeof(date '2020-01-01' + 1), pg_typeof(date '2020-01-01' - date '2019-01-01'), pg_typeof(date '2020-01-01' + interval '1 day'), pg_typeof(extract(year FROM date '2020-01-01')), pg_typeof(date_part('year', date '2020-01-01'));
SELECT make_date(2013, 7, 15), make_date(-44, 3, 15), make_date(1, 1, 1);
SELECT to_date('05 Dec 2000', 'DD Mon YYYY'), to_date('2000-366', 'YYYY-DDD'), to_date('20001205', 'YYYYMMDD'), to_date('1/2/03', 'MM/DD/YY');
SELECT to_char(f, 'YYYY-MM-DD'), to_char(f, 'FMDay, DDth FMMonth YYYY'), to_char(f, 'DY D ID IW IYYY Q J') FROM tdt WHERE id < 8;
SELECT f::text, f::timestamp, f::timestamptz, '2020-01-01 23:59:59'::timestamp::date, '2020-01-01 23:59:59+05'::timestamptz::date FROM tdt WHERE id = 7;
SELECT date '2020-01-01' = timestamp '2020-01-01', date '2020-01-01' < timestamptz '2020-01-01 00:00:01+00', date '2020-01-01' IN ('2020-01-01', '2021-01-01');
SELECT age(date '2001-04-10', date '1957-06-13'), age('2000-03-01'::date, '2000-02-28'), age(date '2020-01-31', date '2020-02-29');
SELECT (date '2001-02-16', date '2001-12-21') OVERLAPS (date '2001-10-30', date '2002-10-30'), (date '2001-02-16', interval '100 days') OVERLAPS (date '2001-10-30', date '2002-10-30'), (date '2000-01-01', date '2000-01-02') OVERLAPS (date '2000-01-02', date '2000-01-03');
SELECT min(f), max(f), count(f) FROM tdt;
-- ordered
SELECT f FROM tdt ORDER BY f DESC NULLS LAST;
SELECT extract(year FROM f) AS y, count(*) FROM tdt GROUP BY y HAVING count(*) > 1;
SELECT generate_series(date '2020-01-30', date '2020-02-02', interval '1 day');
SELECT g::date FROM generate_series(date '2020-01-31', date '2020-06-30', '1 month') g;
SELECT d, d - lag(d) OVER (ORDER BY d) FROM (VALUES (date '2020-01-01'), ('2020-01-05'), ('2020-03-01')) v(d);
SELECT greatest(date '2020-01-01', date '2021-01-01'), least(f, date '2000-01-01'), coalesce(f, 'epoch') FROM tdt WHERE id IN (8, 11);
SELECT f FROM tdt WHERE f = ANY (ARRAY['1996-02-29', '1997-02-28']::date[]) OR extract(month FROM f) = 6;
SELECT date 'today' = current_date, date 'tomorrow' - date 'yesterday', date 'now' = current_date;
SELECT '2020-W01-1' IS NOT NULL, date '2020-06-15' BETWEEN SYMMETRIC '2020-12-31' AND '2020-01-01';
SELECT 'infinity'::date + 5, '-infinity'::date = 'infinity'::date, 'infinity'::date::timestamp, date 'infinity' - 1;
SELECT date_bin('7 days', timestamp '2020-02-11', timestamp '2001-01-01'), width_bucket(date '2020-01-05' - date '2020-01-01', 0, 10, 5);
-- error 22008
SELECT date '2020-02-30';
-- error 22008
SELECT date '2021-02-29';
-- error 22008
SELECT date '2020-13-01';
-- error 22007
SELECT date 'garbage';
-- error 22007
SELECT date '';
-- error 22008
SELECT date '99999999-01-01';
-- error 22008
SELECT '1997-02-30'::date;
-- error 22008
SELECT make_date(2013, 2, 30);
-- error 22008
SELECT make_date(0, 7, 15);
-- error 42883
SELECT date '2020-01-01' + date '2020-01-02';
-- error 42883
SELECT date '2020-01-01' * 2;
-- error 22008
SELECT date '5874897-12-31' + 1;
-- error 0A000
SELECT extract(hour FROM date '2020-01-01');
-- error 42601
SELECT extract(nothing FROM date '2020-01-01');
-- error 42883
SELECT f + true FROM tdt;
-- error 22008
SELECT to_date('2020-13', 'YYYY-MM');
