-- Integer arithmetic: truncating division, signs of the remainder, limits of each width, shifts and bits.
-- setup
CREATE TABLE in_t (s smallint, i integer, b bigint);
INSERT INTO in_t VALUES (32767, 2147483647, 9223372036854775807), (-32768, -2147483648, -9223372036854775808), (0, 0, 0), (NULL, NULL, NULL), (7, -7, 7);
-- cases
SELECT 7 / 2, -7 / 2, 7 / -2, -7 / -2, 0 / 5, 1 / 2;
SELECT 7 % 2, -7 % 2, 7 % -2, -7 % -2, mod(-7, 3), mod(7, -3);
SELECT 7 / 2.0, 7.0 / 2, 7::float8 / 2, 7 / 2::real, 5::bigint / 2::smallint;
SELECT s / 7, i / 7, b / 7, s % 10, i % 10, b % 10 FROM in_t;
SELECT s + 0, i + 0::bigint, s * 1::smallint, -s::integer, abs(i::bigint) FROM in_t;
SELECT i / 2 * 2 = i, i % 2 = 0 FROM in_t;
SELECT s, i, b FROM in_t WHERE i / 2 < 0;
SELECT 5 & 3, 5 | 3, 5 # 3, ~5, 1 << 4, -16 >> 2, 1 << 31, 1::bigint << 40;
SELECT 2 ^ 10, 2 ^ -1, 2::numeric ^ 3, (-8) ^ 3, power(2, 0.5);
SELECT abs(-5), sign(-3), sign(0), sign(2.5), gcd(12, 18), lcm(4, 6), div(7, 2), div(-7, 2);
SELECT greatest(1, 2, NULL), least(3, NULL, 2), greatest(NULL, NULL), greatest(1, 2.5), least(1::smallint, 2::bigint);
SELECT -2147483648, -9223372036854775808, - 5, +5, - -5, 2147483647 + 1::bigint;
SELECT 10 / 3 * 3, 10 * 3 / 3, 2 + 3 * 4 - 5, (2 + 3) * 4, -2 ^ 2, 10 - 2 - 3, 100 / 10 / 2;
SELECT i::text, b::numeric * 2, s::float8 FROM in_t;
SELECT to_hex(255), to_hex(-1), factorial(20), 7 BETWEEN 1 AND 7, 7 NOT BETWEEN 8 AND 9, 5 BETWEEN SYMMETRIC 9 AND 1;
SELECT sum(i), avg(i), sum(s), max(b) - min(i) FROM in_t WHERE s IN (7, 0);
SELECT count(*) FROM in_t WHERE s = i OR b > 1.5 OR i = 7.0;
SELECT @ -5, |/ 16.0, ||/ 27.0, 17 % 5 * 2, 1 = 1.0, 2::smallint = 2::bigint;
SELECT 9223372036854775807::numeric + 1, 9223372036854775807 + 1.0, 9223372036854775807 * 1.0;
SELECT n / d FROM (VALUES (6, 3), (7, NULL), (NULL, 0)) v(n, d);
SELECT CASE WHEN d <> 0 THEN n / d END FROM (VALUES (6, 3), (7, 0)) v(n, d);
SELECT n / d FROM (VALUES (6, 3), (7, 0)) v(n, d) WHERE d <> 0;
SELECT coalesce(NULL, 1, 1 / 0);
SELECT 0x10 + 0b11 + 0o7, 1_000_000;
SELECT width_bucket(5.35, 0.024, 10.06, 5), trunc(-7 / 2.0), round(7 / 2.0);
-- error 22012
SELECT 1 / 0;
-- error 22012
SELECT 1 % 0;
-- error 22012
SELECT mod(1::bigint, 0);
-- error 22012
SELECT i / s FROM in_t;
-- error 22003
SELECT i + 1 FROM in_t;
-- error 22003
SELECT i * 2 FROM in_t;
-- error 22003
SELECT s + 1::smallint FROM in_t;
-- error 22003
SELECT b - 1 FROM in_t;
-- error 22003
SELECT b * -1 FROM in_t;
-- error 22003
SELECT -i FROM in_t;
-- error 22003
SELECT abs(s) FROM in_t;
-- error 22003
SELECT i / -1 FROM in_t;
-- error 22003
SELECT 2147483647 + 1;
-- error 22003
SELECT 9223372036854775807 + 1;
-- error 22003
SELECT 32767::smallint * 2::smallint;
-- error 22003
SELECT factorial(100000);
-- error 42883
SELECT 1 + 'a'::text;
-- error 42883
SELECT 5 & 1.5;
-- error 22P02
SELECT 1 + 'a';
-- error 42883
SELECT true + 1;
-- constants of a chain are not joined where that overflows
SELECT sum(a * 1000000 * 1000000), max(1000000 * (1000000 * a)) FROM (VALUES (NULL::integer), (0)) AS v(a);
SELECT a + 2147483647 + 2147483647, sum(a + 2147483647 + 2147483647) OVER () FROM (VALUES (-2147483648)) AS v(a);
SELECT a FROM (VALUES (-2147483648)) AS v(a) WHERE a + 2147483647 + 2147483647 > 5;
SELECT sum(i), sum(i + 1), sum(i - 3), avg(2 + i) FROM (VALUES (1), (2), (NULL)) AS v(i);
