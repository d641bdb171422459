-- numeric: literals, rounding, division, remainders, powers and roots, conversions, display scales, limits.
-- setup
CREATE TABLE tn (id integer, v numeric(14,6));
INSERT INTO tn VALUES (0, 0), (1, 0), (2, -34338492.215397), (3, 4.31), (4, 7799461.4119), (5, 16397.038491), (6, 93901.57763), (7, -83028485), (8, 74881), (9, -24926804.04504);
CREATE TABLE tn_p (a numeric, b numeric(5,2), c numeric(10));
INSERT INTO tn_p VALUES (1, 1.005, 2.5), (1.0, 2.345, 3.5), (1.10, -2.345, -2.5), (1000000, 999.99, 1e9), (0.00001, 0, 0), (NULL, NULL, NULL);
-- cases
SELECT a.id, b.id, a.v + b.v, a.v - b.v, a.v * b.v FROM tn a, tn b WHERE a.id < 6 AND b.id IN (3, 5);
SELECT a.id, round(a.v / b.v, 10) FROM tn a, tn b WHERE b.id IN (3, 8) AND b.v <> 0;
SELECT id, abs(v), sign(v), -v, +v FROM tn;
SELECT id, round(v), round(v, 2), round(v, -3), trunc(v), trunc(v, 3), trunc(v, -2) FROM tn;
SELECT id, ceil(v), floor(v), ceiling(v) FROM tn;
SELECT sqrt(abs(v)), v ^ 2 FROM tn WHERE id IN (3, 8);
SELECT a, b, c FROM tn_p;
SELECT a + b, a * c, b - c, a * a FROM tn_p;
SELECT sum(a), sum(b), sum(c), avg(b), max(b), min(c), count(a) FROM tn_p;
SELECT stddev(v), variance(v) FROM tn WHERE id < 5 AND id > 2;
SELECT 0.1 + 0.2 = 0.3, 1.10 = 1.1, 1.5 > 1.49, -0.0 = 0, 10.0 <> 10;
SELECT 4.5::numeric(2), 5.5::numeric(2), -4.5::numeric(2), 0.005::numeric(3,2), 999.994::numeric(5,2);
SELECT round(2.5), round(3.5), round(-2.5), round(0.5), round(-0.5), round(1.45, 1), round(1.55, 1);
SELECT 10 % 3.0, -10.5 % 3, 10.5 % -3, mod(7.25, 2), 5.5 % 1;
SELECT div(7.5, 2), div(-7.5, 2), div(1e10, 3), 7.0 / 2, 1 / 4.0;
SELECT 1.0 / 8, 22.0 / 7, 100.0 / 3.0, 2.00 / 3, 1e5 / 7;
SELECT gcd(12.5, 5), lcm(4, 6.0), gcd(0, 7), gcd(-12, 18);
SELECT power(2.0, 10), power(2.0, -2), power(1.5, 2), 2.0 ^ 0.5, 0.0 ^ 0, 9.0 ^ 1.5;
SELECT exp(0.0), exp(1.0), ln(1.0), ln(10.0), log(100.0), log(2.0, 64.0), log(10, 0.001);
SELECT sqrt(2.0), sqrt(0.0), sqrt(1e10), sqrt(0.25);
SELECT factorial(5), factorial(0), factorial(20);
SELECT width_bucket(5.0, 0, 10, 5), width_bucket(-1.0, 0, 10, 5), width_bucket(11.0, 0, 10, 5), width_bucket(5, 10.0, 0, 4);
SELECT scale(1.20), scale(5), min_scale(1.2000), trim_scale(1.2000), trim_scale(100), scale(0.001);
SELECT 1.50::integer, 2.5::integer, -2.5::integer, 1.4999::bigint, 3.7::smallint, 1e3::integer;
SELECT 1.1::float8, 1e20::float8, 0.1::real, 3.14159::real::numeric, 2.5::float8::numeric, 1e-7::float8::numeric;
SELECT 12::numeric, 5::bigint::numeric, '  42  '::numeric, '-.5'::numeric, '1e5'::numeric, '1.5E-3'::numeric, '+7'::numeric;
SELECT 1.50::text, 1e3::text, 100.00::varchar, '0010.50'::numeric::text, (-0.5)::text;
SELECT 123456789012345678901234567890::numeric, 0.00000000000000000001, 99999999999999999999999999999999999999;
SELECT 12345678901234567890 * 10, 0.1 * 0.1, 1.23 * 4.567, 99.99 * 99.99;
SELECT 1.5 + 1, 1.5 * 2::bigint, 2::smallint - 0.5, 1.5 + 1.5::float8, pg_typeof(1.5 + 1.5::float8), pg_typeof(1 + 1.5);
SELECT numeric '1.0' = 1, numeric '1.10' < 1.2, 3 BETWEEN 2.9 AND 3.1, 5 IN (4.0, 5.0), greatest(1.5, 2, 1.75), least(0.1, -0.1);
SELECT to_char(1234.5, '9,999.99'), to_char(-0.5, '0.00'), to_char(1234567.891, 'FM9,999,999.0'), to_char(12, '000'), to_char(0.1, '9.99'), to_char(485, 'RN');
SELECT to_char(-12.3, '99.9MI'), to_char(12.3, 'S99.9'), to_char(148.5, '999.9PR'), to_char(1e6, '9.99EEEE'), to_char(3, '9th');
SELECT to_number('1,234.56', '9,999.99'), to_number('-12', 'S99');
SELECT v::integer FROM tn WHERE id IN (3, 8);
SELECT generate_series(0.0, 2.0, 0.5), generate_series(1.1, 3.2);
SELECT sum(v) OVER (ORDER BY id), avg(v) OVER (ORDER BY id ROWS 1 PRECEDING) FROM tn WHERE id BETWEEN 3 AND 6;
SELECT b, count(*) FROM (VALUES (1.0), (1.0), (2.5)) t(b) GROUP BY b HAVING b = 1;
SELECT DISTINCT x FROM (VALUES (3.5), (2.5), (2.50), (3.50)) t(x) WHERE x < 3;
-- ordered
SELECT v FROM tn ORDER BY v DESC, id;
-- ordered
SELECT a FROM tn_p ORDER BY a NULLS FIRST;
SELECT count(*) FROM tn WHERE v = 0.000000 OR v = 4.310;
SELECT round(v * 100) / 100 = round(v, 2) FROM tn;
SELECT 1 / 3.0 * 3 = 1, 1 / 3.0 * 3;
SELECT int8(5.5), float4(1.25);
SELECT 1e-3, 1.0e2, 0e5, 1_000.5, 1.5e0;
-- error 22003
SELECT 1000::numeric(3,0);
-- error 22003
SELECT 99.995::numeric(4,2);
-- error 22003
SELECT 1.5::numeric(2,3);
-- error 22012
SELECT 1 / 0.0;
-- error 22012
SELECT 5.5 % 0;
-- error 22012
SELECT mod(1.0, 0);
-- error 22012
SELECT div(1.0, 0);
-- error 2201F
SELECT sqrt(-1.0);
-- error 2201E
SELECT ln(0.0);
-- error 2201E
SELECT ln(-1.0);
-- error 2201F
SELECT power(0.0, -1);
-- error 2201F
SELECT power(-8.0, 0.5);
-- error 22P02
SELECT 'abc'::numeric;
-- error 22P02
SELECT '1.2.3'::numeric;
-- error 22P02
SELECT ''::numeric;
-- error 22003
SELECT 3000000000.0::integer;
-- error 22003
SELECT 32768.0::smallint;
-- error 22003
SELECT factorial(-1);
-- error 42601
SELECT numeric(0, 1);
SELECT width_bucket(x, 0, 10, 5) FROM (VALUES (-1.5::numeric), (0), (3.3), (9.99), (10), (12)) v(x);
SELECT width_bucket(5.35::numeric, 0.024, 10.06, 5), width_bucket(5.35::numeric, 10.06, 0.024, 5);
-- error 2201G
SELECT width_bucket(5.0::numeric, 3.0, 3.0, 5);
-- error 2201G
SELECT width_bucket(5.0::numeric, 3.0, 4.0, 0);
SELECT ceil(-0.1), ceiling(0.1), floor(-0.1), floor(7.9), round(2.5), round(-2.5), round(3.456, 2), round(1234.5, -2), trunc(-3.99), trunc(3.456, 2), trunc(1234.5, -2);
SELECT div(12.5, 3.2), div(-12.5, 3.2), mod(12.5, 3.2), mod(-12.5, 3.2), 12.5 % -3.2;
SELECT gcd(330.3, 462.0), gcd(-330::numeric, 462), gcd(0::numeric, 46375), lcm(330.3, 462.0), lcm(13272.0, 0);
SELECT factorial(4), factorial(15), factorial(0);
SELECT scale(12.3400), min_scale(12.3400), trim_scale(12.3400), scale(0.00), min_scale(0.00), trim_scale(1200), scale(NULL::numeric);
SELECT sqrt(2::numeric), sqrt(1.000000000000003::numeric), sqrt(144.00), sqrt(0);
SELECT exp(0.0), exp(1.0), exp(-2.5), exp(12.0);
SELECT ln(1.0), ln(2.5), ln(0.001), log(100.0), log(0.001), log(2.0, 64.0), log(3.0, 81.0);
SELECT power(2.0, 10.0), power(2.0, -3.0), power(-2.0, 3.0), power(0.0, 0.0), 2.5 ^ 2.0, power(9.0, 0.5);
-- error 2201F
SELECT power(-2.0, 0.5);
-- error 2201F
SELECT power(0.0, -1.0);
-- error 2201E
SELECT ln(0.0);
-- error 2201E
SELECT ln(-1.0);
-- error 2201F
SELECT sqrt(-1.0);
SELECT abs(-12.50), sign(-12.5), sign(0.0), -(-3.20), +4.50;
SELECT i::numeric(6,2) AS n, (i::numeric(6,2))::text FROM (VALUES (1.005), (-1.005), (999.995), (0.1)) v(i);
-- error 22003
SELECT 99999.999::numeric(6,2);
SELECT 12.345::numeric(3,0), 0.05::numeric(1,1), 123::numeric(5);
SELECT 1_000_000, 0x1F, 0o17, 0b101, 1_000.000_1, 1e3, 1.5E-3, .5;
SELECT generate_series(0.0::numeric, 4.0, 1.3);
SELECT generate_series(4.0::numeric, 0.0, -1.3);
-- error 22023
SELECT generate_series(1::numeric, 2, 0);
SELECT to_char(1234.567, '9,999.99'), to_char(-1234.567, '9,999.99S'), to_char(0.5, '0.000'), to_char(-0.5, 'FM990.00'), to_char(12, 'RN'), to_char(1234567.891, 'FM9G999G999D99');
SELECT to_char(1234.5, 'L9999.9'), to_char(-12.3, '99.9PR'), to_char(12.3, '99.9MI'), to_char(42, '0999'), to_char(1e10, '9.99EEEE');
SELECT to_number('1,234.56', '9,999.99'), to_number('-12.3', 'S99.9'), to_number('<42>', '99PR'), to_number('0.5', '0.9');
SELECT avg(x), sum(x), variance(x), stddev_pop(x), var_samp(x) FROM (VALUES (1.5::numeric), (2.25), (-3.125), (NULL)) v(x);
SELECT (1.00 = 1.0)::text, 1.0 < 1.01, 1.10 IN (1.1, 2), least(1.50, 1.5, 2), greatest(0.1, 0.10), coalesce(NULL, 1.20);
SELECT '  12.50 '::numeric, '-.5'::numeric, '1e-3'::numeric, '+7'::numeric, '1_000'::numeric, '0x1F'::numeric;
-- error 22P02
SELECT 'x1'::numeric;
-- error 22P02
SELECT ''::numeric;
-- error 22P02
SELECT '1 2'::numeric;
SELECT 1.0 / 3, 2 / 3.0, 10.00 / 4, 7.0 / 7, -5.5 / 2.2;
-- error 22012
SELECT 1 / 0.0;
-- error 22012
SELECT 5.5 % 0;
SELECT 12.7::integer, -12.5::integer, 13.5::integer, 32767.4::smallint, 9.5::bigint, 0.1::float8, 1.5::real, 1e3::numeric::text;
-- error 22003
SELECT 32768.5::smallint;
-- error 22003
SELECT 9223372036854775808::bigint;
SELECT 4.2 + 1, 4.2 - 0.20, 1.20 * 2.5;
