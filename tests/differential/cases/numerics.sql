-- numeric: scales of results, exactness, rounding half away from zero, quotients, NaN and infinities, overflow.
-- setup
CREATE TABLE nu_t (id integer, a numeric(12,2), b numeric(10,4), c numeric);
INSERT INTO nu_t VALUES (1, 10.25, 3.0000, 1.1), (2, -0.01, 0.0003, 1e15), (3, 9999999999.99, 999999.9999, 0), (4, NULL, 1, NULL), (5, 0.00, -2.5000, 0.000);
-- cases
SELECT 1.1 + 2.22, 1.10 - 1.1, 1.10 * 2.200, 0.1 + 0.2 = 0.3, 1.0 * 1;
SELECT 1.0 / 3, 2 / 3.0, 10.0 / 4, 1 / 3.00000, 100.00 / 3.0, 1e10 / 3, 1 / 1e10;
SELECT 1.0 / 7.0, 22.0 / 7, 1.5 / 0.25, 0.0 / 5, -1.0 / 3, 1000000.0 / 3, 123456789.123 / 0.001;
SELECT id, a + b, a - b, a * b FROM nu_t;
SELECT id, a / b FROM nu_t;
SELECT id, a % 3, b % 1, mod(a, 7) FROM nu_t;
SELECT id, c + 1, c * 2, -c, c = c FROM nu_t;
SELECT sum(a), avg(a), min(a), max(a), sum(b), avg(b), sum(a * b) FROM nu_t;
-- differs: 0 and 0.000 are one value: which of them min shows is open
SELECT sum(c), avg(c), max(c), min(c) FROM nu_t;
SELECT sum(a) / count(*), sum(a * (1 - b)), avg(a * 1.5) FROM nu_t WHERE id < 3;
SELECT round(2.5), round(-2.5), round(3.5), round(2.345, 2), round(1234.5, -2), round(0.5), round(1.005, 2);
SELECT trunc(2.9), trunc(-2.9), trunc(1.999, 2), trunc(1234.5, -2), ceil(1.1), ceil(-1.9), floor(-1.1), ceiling(2.0), floor(2);
SELECT abs(-1.50), sign(-0.5), scale(1.500), min_scale(1.500), trim_scale(1.500), -(-1.10);
SELECT sqrt(2.0), sqrt(4::numeric), exp(1.0), ln(10.0), log(100.0), log(2.0, 64.0), power(2.0, 10), power(2.0, 0.5);
SELECT 12345678901234567890.123456789 * 1, 99999999999999999999999999999999999999 + 0, 0.00000000000000000001;
SELECT 'NaN'::numeric = 'NaN'::numeric, 'NaN'::numeric > 1e30, 'Infinity'::numeric > 'NaN'::numeric, 'NaN'::numeric + 1;
SELECT 'Infinity'::numeric + 1, 'Infinity'::numeric - 'Infinity'::numeric, -'Infinity'::numeric, 1 / 'Infinity'::numeric, 'Infinity'::numeric * 0;
SELECT 1.50 = 1.5, 1.50::text, 1.5 < 1.50, 0.0 = -0.0, -0.0, 1.10 IN (1.1, 2);
SELECT DISTINCT x FROM (VALUES (1.10), (1.1), (2.0)) v(x) WHERE x > 1.5;
SELECT a::integer, a::float8, b::text, a::numeric(20,6) FROM nu_t WHERE id IN (1, 2, 4);
SELECT id FROM nu_t WHERE a = 10.25 OR b > 999999 OR c = 0;
CREATE TABLE nu_nan (n numeric, i numeric);
INSERT INTO nu_nan VALUES ('NaN', 'Infinity'), (1, '-Infinity'), (NULL, 0);
SELECT a * 1.0::float8, a + 1::real FROM nu_t WHERE id = 1;
SELECT 1.5 + 1, 1.5 + 1::bigint, 1.5 * 2::smallint, 3 - 0.5;
SELECT a > b, a <> b, a IS NULL FROM nu_t;
SELECT width_bucket(a, 0, 100, 4) FROM nu_t WHERE a < 1000;
SELECT to_char(1234.5, 'FM9,999.00'), to_char(-0.5, '0.99'), to_char(42, '0000'), to_char(1234567.891, '9G999G999D99');
SELECT 5.0 % 3, -5.5 % 2, 5.5 % -2, 0.3 % 0.1, 1e20 % 7;
SELECT avg(x), sum(x), count(x) FROM (VALUES (1), (2), (2)) v(x);
SELECT avg(x), stddev(x), variance(x) FROM (VALUES (1.5), (2.25), (NULL), (10)) v(x);
SELECT sum(x) FROM (VALUES (9999999999999999999999999999999999.99), (0.01)) v(x);
SELECT (1.0 / 3) * 3, (2.0 / 3)::numeric(10,2), round(2.0 / 3, 4), 1 - 0.9 - 0.1;
SELECT 0.06 - 0.01, 0.06 + 0.01, 0.05 = 0.06 - 0.01;
SELECT 1e-10 * 1e-10, 1.0e5, 1E+2, 12.e0, .5 + .25;
-- error 22012
SELECT 1.0 / 0;
-- error 22012
SELECT 1.5 % 0;
-- error 22012
SELECT a / (b - b) FROM nu_t;
-- error 22003
INSERT INTO nu_t VALUES (9, 10000000000.00, 1, 1);
-- error 22003
SELECT 123.456::numeric(4,2);
-- error 2201E
SELECT ln(0.0);
-- error 2201E
SELECT ln(-1.0);
-- error 2201F
SELECT sqrt(-1.0);
-- error 2201F
SELECT power(0.0, -1);
-- error 2201F
SELECT power(-2.0, 0.5);
-- error 22003
SELECT a::smallint FROM nu_t;
-- error 22P02
SELECT a + 'x' FROM nu_t;

-- decimals that are all fraction, as text
SELECT 0.00::text, 0.25::varchar, (-0.5)::numeric(2,2)::text, '0.001'::numeric::char(4), 'x' || 0.5;
SELECT div(9223372036854775807, 2.5::float8::numeric), mod(9223372036854775807, 2.5::float8::numeric), mod(-2.5::float8::numeric, 9223372036854775807), div(2.5::float8::numeric, 9223372036854775807);
-- error 22012
SELECT mod(2.5::float8::numeric, x) FROM (VALUES (0::bigint::numeric), (9223372036854775807)) AS v(x);
-- templates of numbers: quotes, groups behind the point, points that floats have no digits for
SELECT to_char(100::numeric, 'f\"oo999'), to_char(100, 'f"ool\"999'), to_char(100, 'f\\"oo999'), to_char(100, '999"');
SELECT to_char(1e20::float8, '999999999999999999999D9'), to_char(0, '9G999G999D999G999G999'), to_char(0, '9G9D'), to_char(5::float8, '9.'), to_char(1e25::float8, '999D9');
SELECT to_number('12345678901234567890123456789', '99999999999999999999999999999');
-- what a NULL is computed from shows in no sum
CREATE TABLE nu_null (k int, y boolean, n numeric(9,2), m numeric(9,4), u numeric);
INSERT INTO nu_null VALUES (1, true, NULL, NULL, 1.5), (1, false, 1.5, NULL, NULL), (2, true, NULL, 0.5, NULL), (2, false, NULL, NULL, 2);
SELECT k, sum(CASE WHEN y THEN n ELSE 0 END), sum(greatest(n, m)), sum(u * 2), avg(u * 2), sum(u + 1), sum(u + m) FROM nu_null GROUP BY k ORDER BY k;
SELECT sum(u * 2), avg(u * 2), sum(DISTINCT u * 2), sum(u * 2) FILTER (WHERE y) FROM nu_null;
-- whole numbers that a plain numeric is too small for, beside one
-- setup
CREATE TABLE nu_whole (id integer, n numeric, b bigint, d numeric(38,0));
INSERT INTO nu_whole VALUES (1, 1.5, 9223372036854775807, 99999999999999999999), (2, -922337203685477580.5, -9223372036854775808, 1), (3, 999999999999999999.5, 1000000000000000000, -1e37), (4, 0.125, NULL, 3), (5, 5, 5, 5), (6, NULL, 1000000000000000001, NULL);
-- cases
SELECT id, n < b, n <= b, n > b, n >= b, n = b, n <> b, b < n, b >= n, n IS DISTINCT FROM b, b IS NOT DISTINCT FROM n FROM nu_whole;
SELECT id, n < d, n <= d, n > d, n >= d, n = d, n <> d, n IN (b, d, 5), n NOT IN (b, 7), n BETWEEN b AND d, nullif(n, b), (n, id) < (b, id) FROM nu_whole;
SELECT x.id, y.id FROM nu_whole x JOIN nu_whole y ON x.n = y.b;
SELECT x.id, y.id FROM nu_whole x FULL JOIN nu_whole y ON x.n = y.b AND x.id = y.id;
SELECT x.id, y.id FROM nu_whole x JOIN nu_whole y ON x.n < y.b;
SELECT id FROM nu_whole WHERE b > (SELECT avg(id) FROM nu_whole);
SELECT n = b, n <> b, n IS NOT DISTINCT FROM b, n < b, n <= b, n > b, n >= b FROM (VALUES (999999999999999999.99999999999999999999::numeric / 1, 1000000000000000000::bigint), (-999999999999999999.99999999999999999999 / 1, -1000000000000000000), (999999999999999999.99999999999999999999 / 1, NULL), (NULL, NULL), (NULL, 1000000000000000000)) AS v(n, b);
SELECT x = y, y = x, x <> y, y IS DISTINCT FROM x, x < y, x <= y, x > y, x >= y FROM (VALUES (99.99::numeric(4,2), 100::numeric(38,0)), (99.99, 99999999999999999999999999999999999999), (-99.99, -99999999999999999999999999999999999999), (5, 5), (NULL, 5), (5, NULL)) AS v(x, y);
SELECT x, y, x / 4.0 < y, x / 4.0 <= y, x / 4.0 > y, x / 4.0 >= y, y < x / 4.0, y <= x / 4.0, y > x / 4.0, y >= x / 4.0, x / 4.0 = y FROM generate_series(-5, 5) AS x, (VALUES (-1::bigint), (0), (1)) AS v(y);
SELECT id, (n, id) IN (SELECT y.b, y.id FROM nu_whole y WHERE y.id <= nu_whole.id), (d, n) NOT IN (SELECT y.n, y.b FROM nu_whole y WHERE y.id <> nu_whole.id) FROM nu_whole;
