-- interval: input in every style, output, fields, arithmetic, justification, comparison, formatting.
-- setup
CREATE TABLE tiv (id integer, f interval);
INSERT INTO tiv VALUES (1, '1 minute'), (2, '5 hour'), (3, '10 day'), (4, '34 year'), (5, '3 months'), (6, '-14 seconds'), (7, '1 day 2 hours 3 minutes 4 seconds'), (8, '6 years'), (9, '5 months 12 hours'), (10, NULL), (11, '1.5 months'), (12, '-1 days +02:03');
-- cases
SELECT id, f FROM tiv;
SELECT f FROM tiv WHERE f <> interval '10 days';
SELECT f FROM tiv WHERE f <= interval '5 hours';
SELECT f FROM tiv WHERE f = interval '34 years' OR f > interval '3 month';
SELECT interval '01:00', interval '+02:00', interval '-08:00', interval '-1 +02:03', interval '-1 days +02:03', interval '1.5 weeks', interval '1.5 months', interval '10 years -11 month -12 days +13:14';
SELECT interval '1 year 2 months 3 days 4 hours 5 minutes 6.789 seconds', interval '2 weeks', interval '1 century 2 decades', interval '1 millennium', interval '3 ms 4 us', interval '@ 1 minute ago', interval '1 day ago';
SELECT interval 'P1Y2M3DT4H5M6S', interval 'P2W', interval 'PT1.5S', interval 'P0001-02-03T04:05:06', interval 'P-1Y-2M', interval 'PT-10H';
SELECT interval '1-2', interval '1-2 3', interval '1-2 3 4:05:06', interval '-1-2', interval '4:05', interval '1 4:05:06.7', interval '100';
SELECT interval '1' year, interval '2' month, interval '3' day, interval '4' hour, interval '5' minute, interval '6' second, interval '1-2' year to month, interval '3 4' day to hour, interval '3 4:05:06' day to second, interval '5:06.7' minute to second;
SELECT interval '1 2:03:04' day to minute, interval '123 11' day to hour, interval '1.234567' second(2), interval(3) '1.23456 seconds', interval '5 12:30:59.999' hour to minute;
SELECT interval '0', interval '0 days', interval '-0:00:01', interval '999 hours', interval '1 month -1 day', interval '-1 month +1 day -01:00';
SELECT f + interval '1 day', f - interval '1 hour', -f, f * 2, f * 1.5, f / 2, 3 * f FROM tiv WHERE id IN (1, 3, 5, 7, 9);
SELECT interval '1 month' * 1.7, interval '1 day' / 3, interval '1 year' * 0.1, interval '10 days 12 hours' / 1.5, interval '1 second' * 1e-6, interval '3 months' / 7;
SELECT extract(year FROM f), extract(month FROM f), extract(day FROM f), extract(hour FROM f), extract(minute FROM f), extract(second FROM f), extract(epoch FROM f) FROM tiv;
SELECT extract(millennium FROM f), extract(century FROM f), extract(decade FROM f), extract(quarter FROM f), extract(milliseconds FROM f), extract(microseconds FROM f), date_part('epoch', f) FROM tiv WHERE id < 9;
SELECT date_trunc('month', interval '1 year 2 months 3 days'), date_trunc('hour', interval '3 days 10:59:59'), date_trunc('decade', interval '25 years'), date_trunc('second', interval '1.999 seconds');
SELECT justify_days(interval '35 days'), justify_hours(interval '27 hours'), justify_interval(interval '1 mon -1 hour'), justify_days(interval '-35 days'), justify_interval(interval '6 months 36 days 5 hours 4 minutes 3 seconds');
SELECT interval '1 month' = interval '30 days', interval '1 day' = interval '24 hours', interval '1 year' > interval '365 days', interval '1 month' < interval '31 days', interval '-1 second' < interval '0';
SELECT make_interval(1, 2, 3, 4, 5, 6, 7.5), make_interval(), make_interval(2);
SELECT make_interval(years := 2), make_interval(weeks => 1, secs => 0.5);
SELECT to_char(interval '15h 2m 12s', 'HH24:MI:SS'), to_char(interval '3 days 04:05:06', 'DD HH24 MI SS MS'), to_char(interval '1 year 2 months', 'YYYY MM');
SELECT f::text, f::time, interval '25 hours'::time, time '10:30'::interval, '1 day'::text::interval FROM tiv WHERE id IN (1, 2, 7);
SELECT sum(f), avg(f), min(f), max(f), count(f) FROM tiv;
SELECT sum(f) OVER (ORDER BY id), lag(f) OVER (ORDER BY id) FROM tiv WHERE id < 6;
-- ordered
SELECT f FROM tiv ORDER BY f DESC NULLS LAST, id;
SELECT DISTINCT x FROM (VALUES (interval '1 day'), ('24 hours'), ('1 day')) v(x) WHERE x < '2 days';
SELECT f, count(*) FROM (VALUES (interval '1 month'), ('1 month'), ('2 months')) v(f) GROUP BY f;
SELECT date '2020-01-31' + interval '1 month', timestamp '2020-03-30 12:00' - interval '1 month 1 day', timestamp '2020-01-01' + interval '1.5 days', date '2020-01-01' - interval '1 second';
SELECT timestamp '2020-05-05 10:00' - timestamp '2020-03-03 12:00', age(timestamp '2020-05-05 10:00', timestamp '2020-03-03 12:00'), timestamp '2020-01-01' - timestamp '2021-01-01';
SELECT generate_series(timestamp '2020-01-01', '2020-01-03', interval '1 day 06:00');
SELECT interval '1 day' IN ('24 hours', '2 days'), interval '5 hours' BETWEEN '1 hour' AND '1 day', greatest(interval '1 month', '40 days'), least(interval '1 month', '29 days');
SELECT pg_typeof(interval '1 day' * 2), pg_typeof(interval '1 day' + time '10:00'), pg_typeof(extract(epoch FROM interval '1 day')), pg_typeof(interval '1 day' / 2);
SELECT interval '1 day' + time '10:00', time '10:00' - interval '1 day 2 hours', date '2020-01-01' + interval '10:00';
SELECT abs(extract(epoch FROM interval '-1 hour')), -interval '1 mon -2 days', isfinite(interval '1 day');
SELECT interval '1 year 1 month' year, interval '1 day 10 hours' day;
-- error 22007
SELECT 'garbage'::interval;
-- error 22007
SELECT interval '1 fortnight';
-- error 22007
SELECT interval '1 day 1 day';
-- error 22008
SELECT interval '178956971 years';
-- error 42883
SELECT interval '1 day' * interval '1 day';
-- error 22012
SELECT interval '1 day' / 0;
-- error 42883
SELECT interval '1 day' + 1;
-- error 42883
SELECT interval '1 day' > 5;
-- error 42601
SELECT extract(nothing FROM interval '1 day');
-- error 22023
SELECT date_trunc('nothing', interval '1 day');
-- error 22008
SELECT interval '2147483647 days' + interval '1 day';
-- error 22007
SELECT interval '';
-- error 22007
SELECT interval '1:2:3:4';
