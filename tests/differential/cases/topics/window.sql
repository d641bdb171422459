-- Window functions: ranks, offsets, aggregates, every frame, exclusion, named windows and what they pass on.
-- setup
CREATE TABLE tw (dep text, no integer, sal integer, since date, ok boolean);
INSERT INTO tw VALUES ('develop', 10, 5200, '2007-08-01', true), ('sales', 1, 5000, '2006-10-01', false), ('personnel', 5, 3500, '2007-12-10', true), ('sales', 4, 4800, '2007-08-08', NULL), ('personnel', 2, 3900, '2006-12-23', false), ('develop', 7, 4200, '2008-01-01', true), ('develop', 9, 4500, '2008-01-01', true), ('sales', 3, 4800, '2007-08-01', true), ('develop', 8, 6000, '2006-10-01', false), ('develop', 11, 5200, '2007-08-15', NULL);
CREATE TABLE tw_v (id integer, f real, d double precision, n numeric(6,2), ts timestamp, tz timestamptz, t time, iv interval);
INSERT INTO tw_v VALUES (1, 1, 1, 1.5, '2000-10-19 10:23:54', '2000-10-19 10:23:54+01', '11:00', '1 year'), (2, 2, 2, 2.25, '2001-10-19 10:23:54', '2001-10-19 10:23:54+01', '12:00', '2 years'), (3, 3.5, 3.5, 2.5, '2001-10-19 10:23:54', '2001-10-19 10:23:54+01', '13:00', '3 years'), (4, 4, 4, 9, '2002-10-19 10:23:54', '2002-10-19 10:23:54+01', '14:00', '4 years'), (5, NULL, NULL, NULL, NULL, NULL, NULL, NULL), (6, 'NaN', 'Infinity', 10, 'infinity', '2010-01-01', '23:59:59', '10 years');
-- cases
SELECT dep, no, sal, sum(sal) OVER (PARTITION BY dep) FROM tw;
SELECT dep, no, rank() OVER (PARTITION BY dep ORDER BY sal) FROM tw;
SELECT dep, sum(sal), row_number() OVER (ORDER BY dep), sum(sum(sal)) OVER (ORDER BY dep DESC) FROM tw GROUP BY dep;
SELECT dep, sal, sum(sal) OVER w FROM tw WINDOW w AS (PARTITION BY dep);
SELECT dep, sal, rank() OVER w FROM tw WINDOW w AS (PARTITION BY dep ORDER BY sal);
SELECT count(*) OVER () FROM tw WHERE sal < 4000;
SELECT count(*) OVER w FROM tw WHERE sal < 4000 WINDOW w AS ();
SELECT no FROM tw WHERE false WINDOW w AS (PARTITION BY dep);
SELECT no, sum(sal) OVER (PARTITION BY dep ORDER BY no) FROM tw;
SELECT no, row_number() OVER (ORDER BY no) FROM tw;
SELECT no, dense_rank() OVER (ORDER BY sal), rank() OVER (ORDER BY sal), percent_rank() OVER (ORDER BY sal), cume_dist() OVER (ORDER BY sal) FROM tw;
SELECT no, ntile(3) OVER (ORDER BY no), ntile(NULL) OVER (ORDER BY no) FROM tw;
SELECT no, lag(sal) OVER (PARTITION BY dep ORDER BY no), lag(sal, no % 3) OVER (PARTITION BY dep ORDER BY no), lag(sal, 2, 0) OVER (ORDER BY no) FROM tw;
SELECT no, lead(sal) OVER (PARTITION BY dep ORDER BY no), lead(sal * 2, 1, -1) OVER (ORDER BY no), lead(dep, -1) OVER (ORDER BY no) FROM tw;
SELECT no, first_value(no) OVER (PARTITION BY dep ORDER BY no), last_value(no) OVER (PARTITION BY dep ORDER BY no), last_value(no) OVER (PARTITION BY dep) FROM tw WHERE dep <> 'develop';
SELECT no, nth_value(sal, 2) OVER (PARTITION BY dep ORDER BY no), nth_value(dep, no) OVER (ORDER BY no) FROM tw;
SELECT no, first_value(sal) OVER (ORDER BY no ROWS BETWEEN 1 FOLLOWING AND 2 FOLLOWING) FROM tw;
SELECT no, sum(sal) OVER (ORDER BY no ROWS BETWEEN 2 PRECEDING AND CURRENT ROW), sum(sal) OVER (ORDER BY no ROWS 1 PRECEDING) FROM tw;
SELECT no, sum(no) OVER (ORDER BY no ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING), sum(no) OVER (ORDER BY no ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) FROM tw;
SELECT no, sum(no) OVER (ORDER BY no ROWS BETWEEN 2 PRECEDING AND 1 PRECEDING), sum(no) OVER (ORDER BY no ROWS BETWEEN 1 FOLLOWING AND 3 FOLLOWING) FROM tw;
SELECT no, sum(no) OVER (ORDER BY no ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING EXCLUDE CURRENT ROW) FROM tw;
SELECT no, sal, count(*) OVER (ORDER BY sal, no ROWS BETWEEN 3 PRECEDING AND 3 FOLLOWING EXCLUDE GROUP) FROM tw;
SELECT no, sal, sum(sal) OVER (ORDER BY sal, no RANGE UNBOUNDED PRECEDING EXCLUDE TIES) FROM tw;
SELECT sal, array_agg(sal) OVER (ORDER BY sal GROUPS BETWEEN 1 PRECEDING AND 1 FOLLOWING EXCLUDE TIES) FROM tw;
SELECT sal, count(*) OVER (ORDER BY sal RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW EXCLUDE NO OTHERS) FROM tw;
SELECT no, sal, sum(sal) OVER (ORDER BY sal RANGE BETWEEN 300 PRECEDING AND 100 FOLLOWING) FROM tw;
SELECT no, sal, sum(sal) OVER (ORDER BY sal DESC RANGE BETWEEN 300 PRECEDING AND 100 FOLLOWING) FROM tw;
SELECT no, since, sum(sal) OVER (ORDER BY since RANGE BETWEEN '1 year'::interval PRECEDING AND '1 year'::interval FOLLOWING) FROM tw;
SELECT no, since, count(*) OVER (ORDER BY since DESC RANGE BETWEEN '3 months' PRECEDING AND '0 days' FOLLOWING) FROM tw;
SELECT no, since, sum(sal) OVER (ORDER BY since RANGE BETWEEN '1 year' PRECEDING AND '1 month' FOLLOWING EXCLUDE CURRENT ROW) FROM tw;
SELECT no, since, sum(sal) OVER (PARTITION BY dep ORDER BY since RANGE BETWEEN CURRENT ROW AND '1 year' FOLLOWING EXCLUDE TIES) FROM tw;
SELECT id, f, count(*) OVER (ORDER BY f RANGE BETWEEN 1 PRECEDING AND 1 FOLLOWING) FROM tw_v;
SELECT id, d, count(*) OVER (ORDER BY d RANGE BETWEEN 1.5 PRECEDING AND 0.5 FOLLOWING) FROM tw_v;
SELECT id, n, count(*) OVER (ORDER BY n RANGE BETWEEN 1 PRECEDING AND 0.25 FOLLOWING), sum(n) OVER (ORDER BY n DESC NULLS LAST RANGE BETWEEN 1 PRECEDING AND 1 FOLLOWING) FROM tw_v;
SELECT id, ts, count(*) OVER (ORDER BY ts RANGE BETWEEN '1 year' PRECEDING AND '1 day' FOLLOWING) FROM tw_v WHERE id < 6;
SELECT id, tz, array_agg(id) OVER (ORDER BY tz, id ROWS 2 PRECEDING), count(*) OVER (ORDER BY tz RANGE BETWEEN '1 year 1 day' PRECEDING AND CURRENT ROW) FROM tw_v;
SELECT id, t, count(*) OVER (ORDER BY t RANGE BETWEEN '1 hour' PRECEDING AND '1 hour' FOLLOWING) FROM tw_v;
SELECT id, iv, count(*) OVER (ORDER BY iv RANGE BETWEEN '1 year' PRECEDING AND '1 year' FOLLOWING) FROM tw_v;
SELECT sal, sum(sal) OVER (ORDER BY sal GROUPS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW), sum(sal) OVER (ORDER BY sal GROUPS BETWEEN 1 PRECEDING AND 2 FOLLOWING) FROM tw;
SELECT sal, count(*) OVER (ORDER BY sal GROUPS BETWEEN 1 FOLLOWING AND 2 FOLLOWING), count(*) OVER (ORDER BY sal GROUPS BETWEEN 2 PRECEDING AND 1 PRECEDING) FROM tw;
SELECT sal, count(*) OVER (ORDER BY sal GROUPS 0 PRECEDING), first_value(sal) OVER (ORDER BY sal GROUPS BETWEEN 1 PRECEDING AND CURRENT ROW EXCLUDE GROUP) FROM tw;
SELECT dep, no, sum(sal) OVER (w ORDER BY no), rank() OVER (w ORDER BY sal DESC, no) FROM tw WINDOW w AS (PARTITION BY dep);
SELECT no, sum(sal) OVER (w RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW), count(*) OVER w2 FROM tw WINDOW w AS (ORDER BY no), w2 AS (w ROWS 1 PRECEDING);
SELECT sum(sal) OVER w1, avg(sal) OVER w2 FROM tw WINDOW w1 AS (PARTITION BY dep ORDER BY no), w2 AS (ORDER BY no ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING);
SELECT no, sum(sal) FILTER (WHERE ok) OVER (ORDER BY no), count(*) FILTER (WHERE sal > 4500) OVER (PARTITION BY dep) FROM tw;
SELECT no, avg(sal) OVER (ORDER BY no ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING), max(sal) OVER (ORDER BY no ROWS 3 PRECEDING), min(since) OVER (PARTITION BY dep ORDER BY no) FROM tw;
SELECT no, string_agg(dep, ',') OVER (ORDER BY no), array_agg(no) OVER (ORDER BY no ROWS 1 PRECEDING), bool_and(ok) OVER (ORDER BY no) FROM tw;
SELECT no, stddev(sal) OVER (ORDER BY no), var_pop(sal) OVER (ORDER BY no ROWS 2 PRECEDING) FROM tw;
SELECT sum(count(*)) OVER (), dep FROM tw GROUP BY dep;
SELECT dep, avg(sal), rank() OVER (ORDER BY avg(sal) DESC) FROM tw GROUP BY dep;
SELECT no, sal - lag(sal, 1, sal) OVER (ORDER BY no) AS diff, sal::numeric / sum(sal) OVER () FROM tw;
SELECT * FROM (SELECT no, row_number() OVER (PARTITION BY dep ORDER BY sal DESC, no) AS rn FROM tw) s WHERE rn = 1;
SELECT DISTINCT dep, count(*) OVER (PARTITION BY dep) FROM tw;
SELECT DISTINCT ON (dep) dep, no, max(no) OVER (PARTITION BY dep) FROM tw ORDER BY dep, no;
-- ordered
SELECT no FROM tw ORDER BY rank() OVER (ORDER BY sal DESC), no LIMIT 4;
-- ordered
SELECT no, rank() OVER (ORDER BY sal) AS r FROM tw ORDER BY r DESC, no;
SELECT no, CASE WHEN row_number() OVER (ORDER BY no) % 2 = 0 THEN 'even' ELSE 'odd' END, (SELECT count(*) FROM tw s WHERE s.sal < tw.sal) + rank() OVER (ORDER BY no) FROM tw;
SELECT (SELECT sum(x) OVER (ORDER BY x ROWS 1 PRECEDING) FROM (VALUES (tw.no), (tw.sal)) v(x) ORDER BY 1 DESC LIMIT 1) FROM tw;
SELECT no, sum(no) OVER (ORDER BY no ROWS BETWEEN (SELECT 1) PRECEDING AND 1 + 1 FOLLOWING) FROM tw;
SELECT no, count(*) OVER (PARTITION BY ok), count(ok) OVER (PARTITION BY sal > 4500, ok IS NULL) FROM tw;
SELECT no, row_number() OVER (), count(*) OVER (ORDER BY 1) FROM tw WHERE dep = 'sales';
SELECT sum(no) OVER (ORDER BY dep RANGE UNBOUNDED PRECEDING) FROM tw;
SELECT max(sal) OVER (PARTITION BY dep ORDER BY since, no DESC) - min(sal) OVER (PARTITION BY dep) FROM tw;
SELECT g, sum(g) OVER (ORDER BY g) FROM generate_series(1, 5) g;
SELECT sum(1.5) OVER (ORDER BY no ROWS 1 PRECEDING), avg(no::numeric) OVER (ORDER BY no) FROM tw WHERE no < 6;
SELECT rank() OVER (ORDER BY length('abc')) FROM tw WHERE no = 1;
-- error 42809
SELECT rank() FROM tw;
-- error 42P20
SELECT no FROM tw WHERE row_number() OVER (ORDER BY no) < 3;
-- error 42P20
SELECT no FROM tw GROUP BY rank() OVER (ORDER BY no);
-- error 42803
SELECT sum(rank() OVER (ORDER BY no)) FROM tw;
-- error 42P20
SELECT rank() OVER (ORDER BY rank() OVER (ORDER BY no)) FROM tw;
-- error 42P20
SELECT no FROM tw HAVING rank() OVER (ORDER BY no) > 1;
-- error 0A000
SELECT count(DISTINCT dep) OVER () FROM tw;
-- error 42704
SELECT rank() OVER w FROM tw;
-- error 42P20
SELECT rank() OVER (w PARTITION BY no) FROM tw WINDOW w AS (ORDER BY dep);
-- error 42P20
SELECT rank() OVER (w ORDER BY no) FROM tw WINDOW w AS (ORDER BY dep);
-- error 42P20
SELECT rank() OVER (w) FROM tw WINDOW w AS (ORDER BY no ROWS 1 PRECEDING);
-- error 42P20
SELECT 1 FROM tw WINDOW w AS (ORDER BY no), w AS (ORDER BY dep);
-- error 0A000
SELECT sum(sal) OVER (ORDER BY since RANGE BETWEEN 5 PRECEDING AND 1 FOLLOWING) FROM tw;
-- error 42P20
SELECT sum(sal) OVER (ORDER BY sal, no RANGE BETWEEN 5 PRECEDING AND 1 FOLLOWING) FROM tw;
-- error 0A000
SELECT sum(sal) OVER (ORDER BY dep RANGE BETWEEN 'a' PRECEDING AND 'b' FOLLOWING) FROM tw;
-- error 22013
SELECT sum(sal) OVER (ORDER BY no ROWS BETWEEN -1 PRECEDING AND 1 FOLLOWING) FROM tw;
-- error 42P20
SELECT sum(sal) OVER (ORDER BY no ROWS BETWEEN UNBOUNDED FOLLOWING AND 1 FOLLOWING) FROM tw;
-- error 42P10
SELECT sum(sal) OVER (ORDER BY no ROWS BETWEEN no PRECEDING AND 1 FOLLOWING) FROM tw;
-- error 42P20
SELECT sum(sal) OVER (GROUPS BETWEEN 1 PRECEDING AND 1 FOLLOWING) FROM tw;
-- error 22014
SELECT ntile(0) OVER (ORDER BY no) FROM tw;
-- error 22016
SELECT nth_value(sal, 0) OVER (ORDER BY no) FROM tw;
-- error 42809
SELECT length(dep) OVER (ORDER BY no) FROM tw;
SELECT x, last_value(x) OVER (ORDER BY x RANGE BETWEEN CURRENT ROW AND 4 FOLLOWING) FROM generate_series(2147483644, 2147483646) x;
SELECT x, last_value(x) OVER (ORDER BY x DESC RANGE BETWEEN CURRENT ROW AND 5 FOLLOWING) FROM generate_series(-9223372036854775806, -9223372036854775804) x;
SELECT x, sum(x) OVER (ORDER BY x::smallint RANGE BETWEEN 1 PRECEDING AND 70000 FOLLOWING) FROM generate_series(1, 4) x;
SELECT sal, sum(10 / (sal - 5000)) FILTER (WHERE sal <> 5000) OVER (ORDER BY sal RANGE BETWEEN 100 PRECEDING AND 100 FOLLOWING) FROM tw;
-- error 22013
SELECT max(since) OVER (ORDER BY sal RANGE BETWEEN -1 PRECEDING AND 2 FOLLOWING) FROM tw;
-- error 22013
SELECT max(since) OVER (ORDER BY sal RANGE BETWEEN 1 PRECEDING AND -2 FOLLOWING) FROM tw;
