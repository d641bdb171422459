-- real and double precision: NaN, infinities, zeros, overflow and underflow, functions and printing.
-- setup
CREATE TABLE fl_t (id integer, f double precision, r real);
INSERT INTO fl_t VALUES (1, 1.5, 1.5), (2, 'NaN', 'NaN'), (3, 'Infinity', 'Infinity'), (4, '-Infinity', '-Infinity'), (5, 0, 0), (6, '-0', '-0'), (7, NULL, NULL), (8, 1e308, 1e38), (9, 0.1, 0.1), (10, -123456.789, -123456.79);
CREATE TABLE fl_whole AS SELECT 1 AS i, -1::float8 AS f;
-- cases
SELECT id, f, r FROM fl_t;
SELECT id, f + 1, f - 1, f * 2, -f FROM fl_t WHERE id <> 8;
SELECT id, f / 2, r / 3, f * r FROM fl_t WHERE id <> 8;
SELECT id, f = f, f > 0, f = 'NaN', f > 'Infinity', f <> 0 FROM fl_t;
SELECT id FROM fl_t WHERE f = 'NaN'::float8;
SELECT id FROM fl_t WHERE f > 1e300;
SELECT id, abs(f), sign(f), f::text FROM fl_t;
SELECT id, round(f), trunc(f), ceil(f), floor(f) FROM fl_t;
SELECT f + 0 AS g, count(*) FROM fl_t GROUP BY f;
SELECT min(f), max(f), count(f) FROM fl_t;
SELECT min(f), max(f), min(r), max(r), max(-f) FROM fl_t WHERE id = 6;
SELECT id, min(f), max(r) FROM fl_t WHERE id IN (5, 6) GROUP BY id;
SELECT sum(f), avg(f) FROM fl_t WHERE id IN (1, 9, 10);
SELECT sum(f) FROM fl_t WHERE id IN (3, 4);
SELECT sum(r), avg(r), sum(r::float8) FROM fl_t WHERE id IN (1, 9);
SELECT round(0.5::float8), round(1.5::float8), round(2.5::float8), round(-0.5::float8), round(-2.5::float8);
SELECT 'Infinity'::float8 - 'Infinity'::float8, 'Infinity'::float8 * 0, 'NaN'::float8 + 1, 1 / 'Infinity'::float8, -1 / 'Infinity'::float8;
SELECT sqrt(2::float8), cbrt(27::float8), exp(1::float8), ln(2::float8), log(1000::float8), power(2::float8, 0.5);
SELECT sin(1), cos(1), tan(1), asin(0.5), acos(0.5), atan(1), atan2(1, -1), cot(1), sinh(1), tanh(0.5);
SELECT degrees(pi()), radians(180), pi(), sind(30), cosd(60);
SELECT id, degrees(f / 1e10), radians(f), atan(f), tanh(f) FROM fl_t;
SELECT id, exp(f), ln(abs(f)), sin(f), cos(f), tan(f), sinh(f), cosh(f), asinh(f) FROM fl_t WHERE id IN (1, 2, 7, 9);
SELECT id, exp(-abs(f)), sin(f), cos(f), power(f, 2), power(f, -1), power(f, 3), f ^ 0.5 FROM fl_t WHERE id IN (1, 2, 7, 9);
SELECT id, exp(f), power(f, 0), sqrt(abs(f)), acosh(1 + abs(f)), power(2, f) FROM fl_t WHERE id IN (2, 3, 5, 6, 9);
SELECT id, power(f, 2), power(f, 3), power(f, -1), power(f, 'Infinity'), power(1.5, f) FROM fl_t WHERE id IN (3, 4);
SELECT id, asin(f), acos(f), atanh(f), ln(f + 1) FROM fl_t WHERE id IN (2, 5, 6, 7, 9);
SELECT id, 2 * 6371 * asin(sqrt(power(sin(radians(r - f) / 2), 2) + cos(radians(f)) * cos(radians(r)) * power(sin(radians(f) / 2), 2))) FROM fl_t WHERE id IN (1, 5, 9);
SELECT id, CASE WHEN f > 0 THEN ln(f) END, coalesce(f, exp(1000 * id::float8)) FROM fl_t WHERE id < 7;
-- error 2201E
SELECT ln(f) FROM fl_t WHERE id = 5;
-- error 2201E
SELECT ln(f) FROM fl_t WHERE id = 4;
-- error 2201F
SELECT power(f, -2) FROM fl_t WHERE id = 6;
-- error 2201F
SELECT power(f, 0.5) FROM fl_t WHERE id = 10;
-- error 22003
SELECT exp(f) FROM fl_t WHERE id = 8;
-- error 22003
SELECT exp(f) FROM fl_t WHERE id = 10;
-- error 22003
SELECT power(f, 2) FROM fl_t WHERE id = 8;
-- error 22003
SELECT power(f, -2) FROM fl_t WHERE id = 8;
-- error 22003
SELECT degrees(f) FROM fl_t WHERE id = 8;
-- error 22003
SELECT radians(f / 1e16 / 1e307) FROM fl_t WHERE id = 1;
-- error 22003
SELECT sin(f) FROM fl_t WHERE id = 3;
-- error 22003
SELECT asin(f) FROM fl_t WHERE id = 4;
-- error 22003
SELECT acosh(f) FROM fl_t WHERE id = 9;
-- error 22003
SELECT atanh(f) FROM fl_t WHERE id = 1;
SELECT power('NaN'::float8, 0), power(1::float8, 'NaN'), power(0::float8, 0), exp('-Infinity'::float8), sqrt('Infinity'::float8);
SELECT 0.1::float8 + 0.2::float8, 0.1::real + 0.2::real, 1e16::float8 + 1, 1::float8 / 3, 1::real / 3;
SELECT 0.1::real = 0.1, 0.1::real = 0.1::float8, 0.5::real = 0.5, 1e0 = 1;
SELECT 5::float8, -0.0::float8, 1e100::float8, 1.0e-10::float8, 123456789012345678::float8, 0.3::real;
SELECT f::integer FROM fl_t WHERE id IN (1, 5, 6, 9, 10);
SELECT f::numeric, r::numeric FROM fl_t WHERE id IN (1, 5, 9, 10);
SELECT 3.4028235e38::real, 1.7976931348623157e308::float8, 2.2250738585072014e-308::float8;
SELECT x FROM (VALUES ('inf'::float8), ('-INFINITY'), ('nan'), (' 1.5 '), ('1e3'), ('.5')) v(x);
SELECT id, to_timestamp(f), to_timestamp(f * 1e4), to_timestamp(id), to_timestamp(id * 123456789.1234567 + f), to_timestamp(r) FROM fl_t WHERE id IN (1, 5, 6, 7, 9, 10);
SELECT id, to_timestamp(f) FROM fl_t WHERE id IN (3, 4);
-- error 22008
SELECT to_timestamp(f) FROM fl_t WHERE id = 8;
-- error 22008
SELECT to_timestamp(f) FROM fl_t WHERE id = 2;
SELECT width_bucket(f, 0, 10, 5) FROM fl_t WHERE id IN (1, 5, 9);
SELECT id, width_bucket(f, 0, 10, 5), width_bucket(f, 10, 0, 5), width_bucket(f, -1e6, 1.5, 3), width_bucket(r, 0.1, 1.5, 1000), width_bucket(f, 0.1, 0, 7) FROM fl_t WHERE id <> 2;
SELECT width_bucket(f / 7, 0, 0.3, 3), width_bucket(f, 0, 1e308, 2147483646), width_bucket(f, id, id + 1, id) FROM fl_t WHERE id IN (1, 9);
-- error 2201G
SELECT width_bucket(f, 0, 10, 5) FROM fl_t WHERE id = 2;
-- error 2201G
SELECT width_bucket(f, 1, 1, 5) FROM fl_t WHERE id = 1;
-- error 2201G
SELECT width_bucket(f, 0, 10, 0) FROM fl_t WHERE id = 1;
SELECT trunc(-1.7::float8), div(7.5, 2), 7.5::float8::bigint, mod(7.5, 2);
-- error 22012
SELECT 1::float8 / 0;
-- error 22012
SELECT f / 0 FROM fl_t WHERE id = 1;
-- error 22012
SELECT 'Infinity'::float8 / 0::float8;
-- error 22003
SELECT f * 10 FROM fl_t WHERE id = 8;
-- error 22003
SELECT r * 10::real FROM fl_t WHERE id = 8;
-- error 22003
SELECT exp(1000::float8);
-- error 22003
SELECT 1e-200::float8 * 1e-200::float8;
-- error 22003
SELECT sum(f) FROM (VALUES (1.7e308::float8), (1.7e308)) v(f);
-- error 2201F
SELECT sqrt(-1::float8);
-- error 2201E
SELECT ln(0::float8);
-- error 22003
SELECT asin(2);
-- error 22003
SELECT f::integer FROM fl_t WHERE id = 3;
-- error 2201F
SELECT power(-1::float8, 0.5);
-- error 42883
SELECT 5::float8 % 2;
SELECT x, - x > 'NaN', - x < 'NaN', - x = 'NaN', - x < -1.5, - x FROM (VALUES (1.5::float8), ('NaN'), (0), ('-0'), ('Infinity')) AS t(x);
SELECT - x > 'NaN', - x < 'NaN' FROM (VALUES (1.5::float4), ('NaN')) AS t(x);
-- statistics of values that are not finite, or too large for their squares
SELECT var_pop('inf'::float8), var_pop('nan'::float8), stddev_pop('-inf'::float8), var_samp('inf'::float8), var_pop('inf'::float4);
SELECT var_pop(x), var_samp(x), stddev(x) FROM (VALUES ('inf'::float8), (1), (2)) AS v(x);
SELECT covar_pop(x, x), corr(x, x), regr_slope(x, x), regr_intercept(x, x), regr_r2(x, x), regr_sxx(x, x), regr_syy(x, x), regr_sxy(x, x) FROM (VALUES ('nan'::float8)) AS v(x);
SELECT regr_sxx(1::float8, 'inf'), regr_syy(1::float8, 'inf'), regr_sxx('inf', 1::float8), corr(1::float8, 'nan'), regr_slope(1::float8, 'nan'), regr_r2(1::float8, 'inf');
SELECT o, var_pop(x) OVER (ORDER BY o ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM (VALUES (1, 'inf'::float8), (2, 1), (3, 2)) AS v(o, x);
SELECT g, var_pop(x), corr(x, y), regr_syy(y, x) FROM (VALUES (1, 'inf'::float8, 1::float8), (2, 1, 2), (2, 2, 'nan'), (3, null, 'inf'), (3, 4, 4)) AS v(g, x, y) GROUP BY g;
-- error 22003
SELECT var_pop(x) FROM (VALUES (1e308::float8), (-1e308)) AS v(x);
-- differs: both round what is left of large means, one by sums and the other by distances
SELECT var_pop(x) FROM (VALUES (100000003::float8), (100000004), (100000006), (100000007)) AS v(x);
-- NaN finds its partners, also where it stands alone or in order
SELECT a.id, b.id FROM (SELECT id, f FROM fl_t WHERE f > 1e308 ORDER BY f LIMIT 5) a JOIN (SELECT id, f FROM fl_t WHERE id < 4 ORDER BY f LIMIT 5) b ON a.f = b.f;
SELECT a.id, b.n FROM fl_t a LEFT JOIN (SELECT r, count(*) AS n FROM fl_t WHERE id = 2 GROUP BY r) b ON a.r = b.r WHERE a.id = 2;
SELECT f, json_agg(id) FROM fl_t WHERE id = 2 GROUP BY f;
SELECT sum(r), avg(r), sum(f), avg(f) FROM fl_t WHERE id IN (1, 2);
SELECT id % 3, sum(r), max(r) FROM fl_t WHERE id <> 8 GROUP BY 1;
-- What is only counted, or asked whether it is NULL, is computed though it never is.
-- error 2201F
SELECT count(sqrt(f)) FROM fl_whole;
-- error 2201F
SELECT i % 2, count(sqrt(f)) FROM fl_whole GROUP BY 1;
-- error 2201F
SELECT i FROM fl_whole WHERE sqrt(f) IS NOT NULL;
