-- GROUP BY, HAVING, DISTINCT and aggregates: empty input, NULL groups, expressions, filters, result types.
-- setup
CREATE TABLE gr_s (k text, n integer, b bigint, q numeric(10,2), f double precision, r real, s smallint, d date, ok boolean);
CREATE TABLE gr_none (k text, n integer, b bigint, q numeric(10,2), f double precision);
INSERT INTO gr_s VALUES
  ('a', 1, 9223372036854775807, 1.25, 0.5, 0.25, 1, '2024-02-29', true),
  ('a', 2, 9223372036854775807, 2.50, 'NaN', 1.5, 2, '2023-02-28', false),
  ('b', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
  (NULL, 4, 5, 0.01, 'Infinity', 2.5, 3, '2024-12-31', true),
  (NULL, -4, -5, -0.01, '-Infinity', -2.5, -3, '1999-12-31', NULL),
  ('c', 2147483647, 1, 99999999.99, 1e300, 1e30, 32767, '2024-02-29', true),
  ('c', 2147483647, 2, 99999999.99, -1e300, 1e30, 32767, '0001-01-01', true);
-- cases
SELECT count(*), count(n), count(DISTINCT k), sum(n), avg(n), min(n), max(n) FROM gr_s;
SELECT count(*), count(n), sum(n), avg(n), min(n), max(n), min(k), sum(q), avg(q), sum(f), avg(f) FROM gr_none;
SELECT k, count(*) FROM gr_none GROUP BY k;
SELECT k, count(*), count(n), sum(n) FROM gr_s GROUP BY k;
SELECT k, sum(b), avg(b) FROM gr_s GROUP BY k;
SELECT sum(s), sum(n), sum(b), sum(q), sum(r), sum(f) FROM gr_s WHERE k = 'a';
SELECT avg(s), avg(n), avg(b), avg(q), avg(r) FROM gr_s WHERE k = 'a';
SELECT k, avg(q), sum(q), min(q), max(q) FROM gr_s GROUP BY k;
SELECT sum(f), max(f), min(f) FROM gr_s WHERE k = 'a';
SELECT sum(f) FROM gr_s WHERE k IS NULL;
SELECT max(f), min(f) FROM gr_s;
SELECT min(d), max(d), count(DISTINCT d) FROM gr_s;
SELECT bool_and(ok), bool_or(ok), every(ok) FROM gr_s;
SELECT k, bool_and(ok), bool_or(ok) FROM gr_s GROUP BY k;
SELECT n % 2 AS parity, count(*) FROM gr_s GROUP BY n % 2;
SELECT extract(year FROM d) AS y, count(*) FROM gr_s GROUP BY y;
SELECT upper(k) || '!', sum(n) FROM gr_s GROUP BY upper(k);
SELECT k, n FROM gr_s GROUP BY 1, 2;
SELECT CASE WHEN n > 0 THEN 'pos' WHEN n <= 0 THEN 'neg' END AS sign, count(*) FROM gr_s GROUP BY sign;
SELECT k FROM gr_s GROUP BY k HAVING count(*) > 1;
SELECT count(*) FROM gr_s HAVING count(*) > 100;
SELECT 1 FROM gr_none HAVING true;
SELECT sum(n) FILTER (WHERE ok), count(*) FILTER (WHERE k IS NULL) FROM gr_s;
SELECT count(DISTINCT (k, ok)) FROM gr_s;
SELECT sum(DISTINCT s), avg(DISTINCT s) FROM gr_s;
SELECT DISTINCT k FROM gr_s;
SELECT DISTINCT k IS NULL, ok FROM gr_s;
SELECT count(*) FROM (SELECT DISTINCT f FROM gr_s) x;
-- ordered
SELECT DISTINCT ON (k) k, n FROM gr_s ORDER BY k, n DESC NULLS LAST;
-- ordered
SELECT k, sum(n) AS total FROM gr_s GROUP BY k ORDER BY total DESC NULLS LAST, k;
-- ordered
SELECT k FROM gr_s GROUP BY k ORDER BY max(q) DESC NULLS FIRST, k;
SELECT string_agg(k, ',' ORDER BY k, n) FROM gr_s;
SELECT string_agg(k, ',' ORDER BY k DESC) FILTER (WHERE n > 0), array_agg(n ORDER BY n NULLS FIRST) FROM gr_s;
SELECT array_agg(n) FROM gr_none;
SELECT stddev(s), variance(s), stddev_pop(s), var_pop(s) FROM gr_s WHERE k = 'a';
SELECT stddev_samp(n), var_samp(n) FROM gr_s WHERE n = 1;
SELECT stddev_pop(r), var_samp(r) FROM gr_s WHERE k = 'a';
SELECT corr(n, s), covar_pop(n, s), regr_slope(n, s) FROM gr_s WHERE k = 'a';
SELECT bit_and(s), bit_or(s) FROM gr_s WHERE k = 'a';
SELECT count(*) * 2 + max(n) FROM gr_s WHERE k = 'a';
SELECT sum(n + 1) / count(*) FROM gr_s WHERE k = 'a';
SELECT max(n) - min(n) AS spread, k FROM gr_s GROUP BY k HAVING max(n) - min(n) > 0;
SELECT sum(1), sum(1.0), sum(NULL::integer), avg(1.10) FROM gr_s;
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY s), percentile_disc(0.5) WITHIN GROUP (ORDER BY s) FROM gr_s;
SELECT mode() WITHIN GROUP (ORDER BY d) FROM gr_s;
SELECT k, ok, count(*) FROM gr_s GROUP BY ROLLUP (k, ok);
SELECT k, ok, count(*), grouping(k, ok) FROM gr_s WHERE k IS NOT NULL AND ok IS NOT NULL GROUP BY CUBE (k, ok);
SELECT k, ok, sum(n) FROM gr_s GROUP BY GROUPING SETS ((k), (ok), ());
SELECT r.k FROM gr_s r GROUP BY r.k, r.n HAVING r.n IS NULL;
SELECT max(k), min(k) FROM gr_s;
SELECT count(ok), count(ok OR NULL), count(NULL) FROM gr_s;
-- error 42803
SELECT k, n FROM gr_s GROUP BY k;
-- error 42803
SELECT k FROM gr_s WHERE count(*) > 1;
-- error 42803
SELECT sum(count(*)) FROM gr_s;
-- error 42803
SELECT n FROM gr_s HAVING count(*) > 0;
-- error 42803
SELECT k, count(*) FROM gr_s;
-- error 42P10
SELECT k FROM gr_s GROUP BY 2;
-- error 22003
SELECT sum(b)::bigint FROM gr_s;
-- error 42883
SELECT sum(k) FROM gr_s;
-- error 42883
SELECT avg(ok) FROM gr_s;
-- error 42803
SELECT count(*) FROM gr_s GROUP BY count(*);
-- error 42803
SELECT k || count(*), sum(n) FROM gr_s GROUP BY 1;
-- error 42P20
SELECT row_number() OVER (), k FROM gr_s GROUP BY 1, 2;
-- error 42804
SELECT k FROM gr_s GROUP BY k HAVING count(*);
SELECT (SELECT max(b.n) FROM gr_s b WHERE b.n <= a.n) AS m, count(*) FROM gr_s a GROUP BY m;
SELECT (SELECT max(b.n) FROM gr_s b WHERE b.n <= a.n), count(*) FROM gr_s a GROUP BY 1;
-- error 42803
SELECT (SELECT max(a.n) FROM gr_s b LIMIT 1) AS m FROM gr_s a GROUP BY 1;
-- error 42P10
SELECT DISTINCT k FROM gr_s ORDER BY n;
SELECT g % 3 FROM generate_series(1, 30) AS s(g) GROUP BY 1 HAVING width_bucket(max(g), 0, 41, 4) > 1 AND round(avg(g) * 1.5, 2) > 20;
SELECT g % 3, max(g) FROM generate_series(1, 30) AS s(g) GROUP BY 1 HAVING make_date(2020, 1, max(g)::integer) + interval '1 day' > '2020-01-30' AND date_bin('1 day', min(timestamp '2020-01-01 10:00'), '2019-01-01') > '2019-05-01';
SELECT g % 2, array_agg(g / 2.0 ORDER BY g) FROM generate_series(1, 4) AS s(g) GROUP BY 1 HAVING array_agg(g / 2.0) @> ARRAY[1.0] AND string_agg(g::text, ',' ORDER BY g) > '1';
SELECT percentile_cont(ARRAY[0, 0.5, 1]) WITHIN GROUP (ORDER BY 1.0 / nullif(x, 0)) FILTER (WHERE 6 / x > 1), percentile_disc(0.5) WITHIN GROUP (ORDER BY 6 / x) FILTER (WHERE x > 0) FROM generate_series(1, 9) AS x;
-- error 22003
SELECT regr_slope(a, b) FROM (VALUES (1::float8, 1e308::float8), (2, 1.5)) AS t(a, b);
-- error 22003
SELECT regr_sxy(a, b) FROM (VALUES (-2.5::float8, 1e308::float8), ('-Infinity', 1.5), (1.1, -0.0)) AS t(a, b);
-- error 22003
SELECT regr_avgx(a, b) FROM (VALUES (1::float8, 1e308::float8), (2, 1.5e308)) AS t(a, b);
SELECT corr(a, b), regr_r2(a, b), regr_avgy(a, b), covar_pop(a, b) FROM (VALUES (1::float8, 'Infinity'::float8), (2, 1.5), (NULL, 1e308)) AS t(a, b);
-- error 42804
SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY 'x');
-- error 42804
SELECT mode() WITHIN GROUP (ORDER BY 'x');
SELECT rank('x') WITHIN GROUP (ORDER BY 'y'), percentile_disc(0.5) WITHIN GROUP (ORDER BY 'x'::text);
SELECT a, c, rank(a, c) WITHIN GROUP (ORDER BY b, a), dense_rank(a + 1) WITHIN GROUP (ORDER BY b), percent_rank(c) WITHIN GROUP (ORDER BY b DESC), cume_dist(a) WITHIN GROUP (ORDER BY b) FILTER (WHERE b > 1) FROM (VALUES (1, 1, 2), (1, 4, 2), (1, 5, 1), (3, 1, 1), (3, 2, 3)) AS v(a, b, c) GROUP BY CUBE (a, c) ORDER BY a, c;
SELECT a, rank(a) WITHIN GROUP (ORDER BY b NULLS FIRST) AS r FROM (VALUES (1, 1), (1, 4), (1, 5), (3, 1), (3, 2)) AS v(a, b) GROUP BY ROLLUP (a) HAVING rank(a) WITHIN GROUP (ORDER BY b) >= 1 ORDER BY rank(a) WITHIN GROUP (ORDER BY b), r, a;
-- error 42803
SELECT rank(b) WITHIN GROUP (ORDER BY b) FROM (VALUES (1, 1), (1, 4)) AS v(a, b) GROUP BY a;
-- error 42803
SELECT percentile_cont(b) WITHIN GROUP (ORDER BY b) FROM (VALUES (1, 0.5::float8), (1, 0.2)) AS v(a, b) GROUP BY a;
SELECT g AS one, g AS two, count(*), grouping(g) FROM generate_series(1, 3) AS g GROUP BY one, ROLLUP (two) ORDER BY two NULLS FIRST, one;
SELECT a, a AS b, sum(c) FROM (VALUES (1, 2), (1, 3), (2, 5)) AS v(a, c) GROUP BY CUBE (1, 2) HAVING a IS NOT NULL ORDER BY 1, 2;
SELECT g, g FROM generate_series(1, 3) AS g GROUP BY g, ROLLUP (g);
-- positions within parentheses are positions, and what a set has in parentheses is the same as elsewhere
SELECT a, b, sum(c) FROM (VALUES (1, 2, 3), (1, 3, 4), (2, 5, 6)) AS v(a, b, c) GROUP BY GROUPING SETS ((1), (2), (1, 2), ());
SELECT a, b, sum(c) FROM (VALUES (1, 2, 3), (1, 3, 4), (2, 5, 6)) AS v(a, b, c) GROUP BY GROUPING SETS ((a, b), (1));
SELECT a, b, sum(c) FROM (VALUES (1, 2, 3), (1, 3, 4), (2, 5, 6)) AS v(a, b, c) GROUP BY ROLLUP ((1, 2));
SELECT b, a FROM (VALUES (1, 2, 3), (1, 3, 4), (2, 5, 6)) AS v(a, b, c) GROUP BY (1, 2);
-- a subquery that is grouped by is found where it is written again, by what it says
SELECT (SELECT count(*) FROM gr_s AS i WHERE i.k = o.k) AS c, count(*) FROM gr_s AS o GROUP BY (SELECT count(*) FROM gr_s AS i WHERE i.k = o.k);
SELECT 1::bigint + (SELECT max(i.n) FROM gr_s AS i WHERE i.k = o.k), sum(o.n) FROM gr_s AS o GROUP BY (SELECT max(i.n) FROM gr_s AS i WHERE i.k = o.k) HAVING (SELECT max(i.n) FROM gr_s AS i WHERE i.k = o.k) > 1 ORDER BY (SELECT max(i.n) FROM gr_s AS i WHERE i.k = o.k);
SELECT CASE WHEN k IN (SELECT k FROM gr_s WHERE ok) THEN 'some' ELSE 'none' END, count(*) FROM gr_s GROUP BY CASE WHEN k IN (SELECT k FROM gr_s WHERE ok) THEN 'some' ELSE 'none' END;
SELECT EXISTS (SELECT 1 FROM gr_s AS i JOIN gr_s AS j ON i.k = j.k WHERE j.n < o.n), count(*) FROM gr_s AS o GROUP BY ROLLUP (EXISTS (SELECT 1 FROM gr_s AS i JOIN gr_s AS j ON i.k = j.k WHERE j.n < o.n));
SELECT (WITH w AS (SELECT n FROM gr_s) SELECT count(*) FROM w WHERE n < o.n), count(*), sum((SELECT count(*) FROM gr_none)) FROM gr_s AS o GROUP BY (WITH w AS (SELECT n FROM gr_s) SELECT count(*) FROM w WHERE n < o.n);
-- error 42803
SELECT EXISTS (SELECT 1 FROM gr_s AS i JOIN gr_s AS j ON i.k = j.k WHERE i.n < o.n), count(*) FROM gr_s AS o GROUP BY EXISTS (SELECT 1 FROM gr_s AS i JOIN gr_s AS j ON i.k = j.k WHERE j.n < o.n);
-- error 42803
SELECT (SELECT count(*) FROM gr_none AS i WHERE i.k = o.k) FROM gr_s AS o GROUP BY (SELECT count(*) FROM gr_s AS i WHERE i.k = o.k);
-- a group none of whose rows FILTER leaves, ordered by several keys
SELECT k, string_agg(d::text, ',' ORDER BY d, n) FILTER (WHERE ok), stddev(f) FILTER (WHERE n = 1), var_pop(r) FILTER (WHERE ok) FROM gr_s GROUP BY k;
SELECT string_agg(k, ',' ORDER BY n DESC, d) FILTER (WHERE n > 2147483647) FROM gr_s;
-- one row of nothing, with nothing beside it
SELECT string_agg(k, ',') FROM gr_none;
SELECT string_agg(k, ',') FROM gr_s WHERE k IS NULL;
SELECT string_agg(k, ',' ORDER BY n) FROM gr_s WHERE k = 'none';
SELECT string_agg(DISTINCT k, ',' ORDER BY k) FROM gr_s WHERE n > 2147483647;
SELECT array_agg(n ORDER BY n) FROM gr_none;
SELECT stddev(f) FROM gr_s WHERE k = 'none';
SELECT count(DISTINCT f) FROM gr_none;
SELECT sum(DISTINCT n) FROM gr_s WHERE n IS NULL;
SELECT max(k) FROM gr_none;
SELECT bool_or(n > 1) FROM gr_none;
SELECT mode() WITHIN GROUP (ORDER BY k) FROM gr_none;
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY f) FROM gr_s WHERE k = 'none';
SELECT corr(f, n) FROM gr_none;
-- distinct values in an order of the caller's, of rows that FILTER leaves, and of none
SELECT json_agg(DISTINCT n ORDER BY n DESC), jsonb_agg(DISTINCT k ORDER BY k NULLS FIRST), json_agg(DISTINCT s ORDER BY s DESC NULLS LAST) FROM gr_s;
SELECT array_agg(DISTINCT x ORDER BY x DESC), array_agg(DISTINCT x ORDER BY x NULLS FIRST) FROM (VALUES (1.0), (1.00), (2.5), (NULL)) AS v(x);
SELECT array_agg(DISTINCT x ORDER BY x DESC), jsonb_agg(DISTINCT x ORDER BY x) FROM (VALUES (interval '1 mon'), ('30 days'), ('-2 days'), (NULL)) AS v(x);
SELECT array_agg(DISTINCT x ORDER BY x DESC), count(DISTINCT x ORDER BY x DESC), range_agg(DISTINCT x ORDER BY x DESC) FROM (VALUES (numrange(1, 2)), (numrange(1.0, 2)), (numrange(5, 6))) AS v(x);
SELECT string_agg(DISTINCT x, '\x00' ORDER BY x DESC) FROM (VALUES ('\x01'::bytea), ('\x02'), ('\x01'), (NULL)) AS v(x);
SELECT json_object_agg(DISTINCT s, n ORDER BY n DESC NULLS LAST, s) FROM gr_s WHERE s IS NOT NULL;
SELECT array_agg(DISTINCT 6 / s ORDER BY 6 / s DESC) FILTER (WHERE s > 0), string_agg(DISTINCT k || n, ',' ORDER BY k || n DESC) FILTER (WHERE ok), sum(DISTINCT n + 1::bigint ORDER BY n + 1::bigint) FILTER (WHERE ok) FROM gr_s;
SELECT string_agg(k, ',' ORDER BY 1 / (n - 4), k) FILTER (WHERE n <> 4) FROM gr_s;
SELECT array_agg(DISTINCT q::numeric), array_agg(DISTINCT n * interval '1 day'), array_agg(DISTINCT to_jsonb(n)), jsonb_agg(DISTINCT n), array_agg(DISTINCT n) FROM gr_s WHERE n > 5 AND n < 5;
-- a condition that no row decides, before one that rows do
SELECT count(*), coalesce(NOT (0 > 1), CASE WHEN n <> 0 THEN false END) FROM gr_s GROUP BY 2;
SELECT CASE WHEN 1 > 2 THEN n WHEN NOT (1 > 2) THEN 7 ELSE CASE WHEN n > 1 THEN 8 ELSE 9 END END, count(*) FROM gr_s GROUP BY 1;
SELECT k, n FROM gr_s WHERE NOT (1 > 2) AND coalesce(NULL::boolean IS NULL, n > 1) UNION SELECT k, CASE WHEN NULL::boolean THEN n ELSE 3 END FROM gr_s;
SELECT CASE WHEN 1 > 2 THEN 1 / 0 WHEN 2 > 1 THEN 1.5 ELSE CASE WHEN n > 1 THEN 8 ELSE 9 END END, array_agg(k ORDER BY k, coalesce(1, n)) FROM gr_s GROUP BY 1;
CREATE TABLE said_twice (g text, s text, v int, n numeric, iv interval);
INSERT INTO said_twice VALUES ('a', 'x', 1, 1.5, '1 day'), ('a', 'y', NULL, 2.25, '2 days'), ('b', NULL, 3, NULL, NULL), (NULL, 'z', 4, 0, '1 mon');
SELECT v NOT IN (SELECT 1) AND v NOT IN (SELECT 1), count(*) FROM said_twice GROUP BY v NOT IN (SELECT 1) AND v NOT IN (SELECT 1);
SELECT (v IN (SELECT 1)) OR (v IN (SELECT 1)) AS p, s || g AS q, sum((SELECT n)) FROM said_twice GROUP BY ROLLUP (1, 2);
SELECT g FROM said_twice GROUP BY g HAVING percentile_disc(0.5) WITHIN GROUP (ORDER BY n / 3) > 0;
SELECT g FROM said_twice GROUP BY g HAVING percentile_disc(ARRAY[0.5]) WITHIN GROUP (ORDER BY numrange(n, n + 1)) IS NOT NULL AND percentile_cont(0.3) WITHIN GROUP (ORDER BY iv) IS NOT NULL;
DROP TABLE said_twice;
