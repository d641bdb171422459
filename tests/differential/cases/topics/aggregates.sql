-- Aggregates: of every family, over nothing, DISTINCT, ORDER BY, FILTER, WITHIN GROUP, of outer queries, nested wrongly.
-- setup
CREATE TABLE ta (k text, i2 smallint, i4 integer, i8 bigint, f4 real, f8 double precision, n numeric(10,3), b boolean, d date, ts timestamp, iv interval, t text);
INSERT INTO ta VALUES ('a', 1, 10, 100, 1.5, 2.5, 1.250, true, '2020-01-01', '2020-01-01 10:00', '1 day', 'pear'), ('a', 2, 20, 200, 2.5, -3.5, 2.125, false, '2020-02-01', '2020-02-01 11:30', '2 hours', 'apple'), ('a', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL), ('b', 3, 30, -300, 0, 0, -7.000, true, '2019-12-31', '1999-12-31 23:59:59.5', '-1 mon', 'fig'), ('b', 3, 31, 9000000000, 10, 1e10, 99.999, true, '2024-02-29', '2030-06-15', '1 year 2 mons 3 days', 'fig'), ('c', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL), (NULL, 7, 70, 700, 7.25, 7, 0.001, false, '2021-05-05', '2021-05-05', '0', '');
CREATE TABLE ta_none (x integer, y text);
CREATE TABLE ta_pair (x double precision, y double precision);
INSERT INTO ta_pair VALUES (1, 2), (2, 4.5), (3, 5.5), (4, 8.25), (5, NULL), (NULL, 1);
-- cases
SELECT count(*), count(k), count(i4), count(DISTINCT k), count(DISTINCT i2) FROM ta;
SELECT sum(i2), sum(i4), sum(i8), sum(f4), sum(f8), sum(n), sum(iv) FROM ta;
SELECT avg(i2), avg(i4), avg(i8), avg(n), avg(f8), avg(iv) FROM ta WHERE k = 'a';
SELECT min(i2), max(i2), min(i8), max(i8), min(f4), max(f8), min(n), max(n) FROM ta;
SELECT min(d), max(d), min(ts), max(ts), min(iv), max(iv), min(t), max(t) FROM ta;
SELECT sum(x), avg(x), min(x), max(x), count(x), count(*), string_agg(y, ','), array_agg(x), bool_and(x > 0), every(x > 1) FROM ta_none;
SELECT stddev_pop(i4), stddev_samp(i4), var_pop(i4), var_samp(i4), stddev(f8), variance(f8) FROM ta;
SELECT var_pop(1.0::float8), var_samp(2.0::float8), stddev_pop(3), stddev_samp(4.0);
SELECT corr(y, x), covar_pop(y, x), covar_samp(y, x), regr_count(y, x) FROM ta_pair;
SELECT regr_avgx(y, x), regr_avgy(y, x), regr_sxx(y, x), regr_syy(y, x), regr_sxy(y, x), regr_slope(y, x), regr_intercept(y, x), regr_r2(y, x) FROM ta_pair;
SELECT bool_and(b), bool_or(b), every(b), bool_and(NULL) FROM ta;
SELECT bit_and(i2), bit_or(i4), bit_xor(i8) FROM ta;
SELECT string_agg(t, ',' ORDER BY t), string_agg(t, '' ORDER BY t DESC), string_agg(DISTINCT t, '|' ORDER BY t) FROM ta;
SELECT string_agg(t, k ORDER BY i4) FROM ta;
SELECT array_agg(i4 ORDER BY i4), array_agg(i4 ORDER BY i4 DESC NULLS LAST), array_agg(DISTINCT i2 ORDER BY i2 DESC) FROM ta;
SELECT array_agg(k ORDER BY i8 NULLS FIRST, k), array_agg(n ORDER BY n) FROM ta;
SELECT array_agg(DISTINCT i2) FROM ta;
SELECT k, count(*) FILTER (WHERE i4 > 10), sum(i4) FILTER (WHERE b), avg(n) FILTER (WHERE NOT b) FROM ta GROUP BY k;
SELECT count(*) FILTER (WHERE b IS NULL), max(t) FILTER (WHERE false), count(DISTINCT t) FILTER (WHERE t <> '') FROM ta;
SELECT k, max(i4) FROM ta GROUP BY k HAVING max(i4) > 15;
SELECT k FROM ta GROUP BY k HAVING count(*) FILTER (WHERE i4 IS NULL) > 0;
SELECT sum(i4) FROM ta HAVING count(*) > 100;
SELECT 1 FROM ta HAVING true;
SELECT k, i2 % 2 AS odd, count(*) FROM ta GROUP BY k, i2 % 2;
SELECT k, i2 % 2 AS odd, count(*) FROM ta GROUP BY k, odd;
SELECT upper(k) AS k, count(*) FROM ta GROUP BY upper(k);
SELECT upper(k), count(*) FROM ta GROUP BY 1;
SELECT count(*) + 1 AS c, k || '!' FROM ta GROUP BY k || '!';
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY f8), percentile_disc(0.5) WITHIN GROUP (ORDER BY i4), mode() WITHIN GROUP (ORDER BY t) FROM ta;
SELECT percentile_cont(0.25) WITHIN GROUP (ORDER BY x), percentile_cont(0.75) WITHIN GROUP (ORDER BY x DESC) FROM ta_pair;
SELECT percentile_disc(ARRAY[0, 0.25, 0.5, 1]) WITHIN GROUP (ORDER BY i4) FROM ta;
SELECT percentile_cont(ARRAY[0.1, 0.9]) WITHIN GROUP (ORDER BY x) FROM ta_pair;
SELECT k, percentile_disc(0.5) WITHIN GROUP (ORDER BY t) FROM ta GROUP BY k;
SELECT rank(20) WITHIN GROUP (ORDER BY i4), dense_rank(25) WITHIN GROUP (ORDER BY i4) FROM ta;
SELECT percent_rank(20) WITHIN GROUP (ORDER BY i4), cume_dist(20) WITHIN GROUP (ORDER BY i4) FROM ta;
SELECT any_value(k) IS NOT NULL, any_value(NULL::integer) FROM ta;
SELECT json_agg(i4 ORDER BY i4), jsonb_agg(t ORDER BY t DESC NULLS LAST) FROM ta WHERE k = 'a';
SELECT json_object_agg(t, i4 ORDER BY i4), jsonb_object_agg(t, n) FROM ta WHERE i4 < 35;
SELECT k, (SELECT count(*) FROM ta s WHERE s.k = o.k) FROM ta o GROUP BY k;
SELECT k, (SELECT max(o.i4)) FROM ta o GROUP BY k;
SELECT (SELECT sum(o.i4 + s.x) FROM ta_pair s WHERE x IS NOT NULL LIMIT 1) FROM ta o WHERE i4 = 10;
SELECT k, sum(i4) AS s, (SELECT count(*) FROM ta_pair WHERE x < sum(o.i2)) FROM ta o GROUP BY k;
SELECT k FROM ta o GROUP BY k HAVING EXISTS (SELECT 1 FROM ta_pair WHERE x = max(o.i2));
SELECT k, count(*) FROM ta GROUP BY k ORDER BY (SELECT count(*) FROM ta s WHERE s.i4 < sum(ta.i4)) DESC, k;
-- ordered
SELECT k, sum(n) FROM ta GROUP BY k ORDER BY sum(n) DESC NULLS LAST, k;
-- ordered
SELECT k FROM ta GROUP BY k ORDER BY count(*) DESC, max(t), k;
SELECT sum(DISTINCT i2), avg(DISTINCT i2), count(DISTINCT b), max(DISTINCT i4) FROM ta;
SELECT count(DISTINCT (k, b)), count(DISTINCT ROW(i2)) FROM ta;
SELECT sum(i4) / count(i4), sum(i4)::numeric / count(i4), round(avg(n), 2) FROM ta;
SELECT sum(CASE WHEN b THEN i4 ELSE -i4 END), count(CASE WHEN b THEN 1 END) FROM ta;
SELECT max(length(t)), min(t || k), sum(i4 * n) FROM ta;
SELECT sum(i8) FROM (VALUES (9223372036854775807), (9223372036854775807)) v(i8);
SELECT sum(i8::numeric), avg(i8 / 1000) FROM (VALUES (9223372036854775807), (9223372036854775807)) v(i8);
SELECT sum(v), avg(v) FROM (VALUES ('Infinity'::float8), (1)) t(v);
SELECT sum(v), avg(v), max(v), min(v) FROM (VALUES ('NaN'::float8), (1), ('-Infinity')) t(v);
SELECT max(v), min(v) FROM (VALUES (ARRAY[1, 2]), (ARRAY[1, 3]), (ARRAY[1])) t(v);
SELECT pg_typeof(sum(i2)), pg_typeof(sum(i4)), pg_typeof(sum(i8)), pg_typeof(avg(i4)), pg_typeof(sum(f4)), pg_typeof(avg(f4)) FROM ta;
SELECT array_agg(ARRAY[i2, i4] ORDER BY i4) FROM ta WHERE i4 IS NOT NULL AND k = 'a';
SELECT string_agg(v, decode('ff', 'hex') ORDER BY v) FROM (VALUES ('\x01'::bytea), ('\x02')) t(v);
SELECT count(*) FROM ta GROUP BY ();
SELECT max(min) FROM (SELECT k, min(i4) FROM ta GROUP BY k) s;
SELECT DISTINCT count(*) FROM ta GROUP BY k;
SELECT count(*) FROM ta, ta_pair WHERE ta.i2 = ta_pair.x;
SELECT k, array_agg(t) FILTER (WHERE t > 'b') FROM ta GROUP BY k;
-- error 42883
SELECT min(b) FROM ta;
-- error 42883
SELECT sum(t) FROM ta;
-- error 42803
SELECT max(sum(i4)) FROM ta;
-- error 42803
SELECT k, i4 FROM ta GROUP BY k;
-- error 42803
SELECT k FROM ta WHERE sum(i4) > 1 GROUP BY k;
-- error 42803
SELECT count(*) FROM ta GROUP BY count(*);
-- error 42803
SELECT i4 FROM ta HAVING i4 > 1;
-- error 42809
SELECT count() FROM ta;
-- error 42601
SELECT count(DISTINCT *) FROM ta;
-- error 42P10
SELECT string_agg(DISTINCT t, ',' ORDER BY k) FROM ta;
-- error 42883
SELECT sum(i4 ORDER BY i4 USING ~~) FROM ta;
-- error 22003
SELECT percentile_cont(1.5) WITHIN GROUP (ORDER BY x) FROM ta_pair;
-- error 42883
SELECT percentile_cont(0.5) FROM ta;
-- error 42883
SELECT sum(i4) WITHIN GROUP (ORDER BY i4) FROM ta;
-- error 42809
SELECT length(t) FILTER (WHERE true) FROM ta;
-- error 0A000
SELECT sum(generate_series(1, 3));
SELECT sum(100 / (i4 - 10)) FILTER (WHERE i4 > 10), array_agg(1 / (i2 - 1) ORDER BY i2) FILTER (WHERE i2 <> 1), count(DISTINCT 1 / (i2 - 1)) FILTER (WHERE i2 > 1) FROM ta;
SELECT string_agg(DISTINCT v, ',' ORDER BY v) FROM (SELECT k::varchar(5) AS v FROM ta) s;
CREATE AGGREGATE ta_largest(integer) (SFUNC = int4larger, STYPE = int4, SORTOP = >, SSPACE = 16, FINALFUNC_MODIFY = READ_ONLY);
SELECT k, ta_largest(i4) FROM ta GROUP BY k;
-- error 42883
CREATE AGGREGATE ta_wrong(integer) (SFUNC = int4larger, STYPE = int4, SORTOP = ===);
-- error 42P13
CREATE AGGREGATE ta_wrong(*) (SFUNC = int4abs, STYPE = int4, SORTOP = >);
-- error 42601
CREATE AGGREGATE ta_wrong(integer) (SFUNC = int4larger, STYPE = int4, FINALFUNC_MODIFY = nothing);
-- error 42P10
SELECT string_agg(DISTINCT v::text, ',' ORDER BY v) FROM (SELECT k::varchar(5) AS v FROM ta) s;
-- error 42809
SELECT sum() WITHIN GROUP (ORDER BY i8) FROM ta;
-- error 42883
SELECT rank(3) WITHIN GROUP (ORDER BY i4, i8) FROM ta;
-- error 42803
SELECT 1 FROM ta a, LATERAL (SELECT max(a.i4) FROM ta b) s;
