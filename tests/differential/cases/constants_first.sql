-- Expressions over constants, which PostgreSQL computes when it plans, be there rows to compute them for or not; and
-- what it leaves out: branches that constants rule out, columns of subqueries that nothing reads.
-- setup
CREATE TABLE cf_t (x integer);
CREATE FUNCTION cf_inverse(integer) RETURNS integer LANGUAGE sql AS 'SELECT CASE WHEN $1 = 0 THEN NULL ELSE 1 / $1 END';
CREATE VIEW cf_v AS SELECT 1 / 0 AS z, x FROM cf_t;
CREATE TABLE cf_rows AS SELECT 1 AS x, 'abc' AS s, NULL::text AS n;
-- cases
-- error 22012
SELECT CASE WHEN x > 0 THEN 1 / 0 ELSE 1 END FROM cf_t;
-- error 22012
SELECT 1 / 0 FROM cf_t;
-- error 22012
SELECT x FROM cf_t WHERE x > 0 AND 1 / 0 = 1;
-- error 22012
SELECT x FROM cf_t WHERE 1 / 0 = 1 AND false;
SELECT x FROM cf_t WHERE false AND 1 / 0 = 1;
SELECT x FROM cf_t WHERE true OR 1 / 0 = 1;
SELECT CASE WHEN 1 > 2 THEN 1 / 0 ELSE 1 END, CASE WHEN true THEN 1 ELSE 1 / 0 END, CASE 1 WHEN 0 THEN 1 / 0 WHEN 1 THEN 3 ELSE 2 / 0 END FROM cf_t;
SELECT CASE WHEN x = 1 THEN 2 WHEN true THEN 3 ELSE 1 / 0 END FROM cf_t;
SELECT coalesce(NULL, 1, 1 / 0), coalesce(x, 1, 1 / 0) FROM cf_t;
-- error 22012
SELECT coalesce(x, 1 / 0) FROM cf_t;
-- error 22012
SELECT count(*) FILTER (WHERE 1 / 0 = 1) FROM cf_t;
-- error 22012
SELECT x FROM cf_t GROUP BY x HAVING 1 / 0 = 1;
-- error 22012
SELECT a.x FROM cf_t a LEFT JOIN cf_t b ON a.x = b.x AND 1 / 0 > 1;
-- error 22012
SELECT x FROM cf_t WHERE x IN (1 / 0, 2);
-- error 22012
SELECT ARRAY[x, 1 / 0] FROM cf_t;
-- error 22012
SELECT (1 / 0) IS NULL FROM cf_t;
-- error 22003
SELECT x, 2147483647 + 1 FROM cf_t;
-- error 22P02
SELECT CASE WHEN x > 0 THEN 'a'::text::integer END FROM cf_t;
-- error 22012
UPDATE cf_t SET x = 1 / 0 WHERE x > 5;
PREPARE cf_p AS SELECT x FROM cf_t WHERE x = 1 / 0;
-- error 22012
EXECUTE cf_p;
SELECT CASE WHEN x > 0 THEN 1 / 0 ELSE 1 END FROM (VALUES (0)) AS v(x);
-- error 22012
SELECT CASE WHEN x > 0 THEN 1 / 0 ELSE 1 END FROM (VALUES (0), (0)) AS v(x);
SELECT CASE WHEN s.x > 0 THEN 1 / 0 ELSE 1 END FROM (SELECT 0 AS x, cf_t.x AS y FROM cf_t) AS s;
-- error 22012
SELECT CASE WHEN s.x > 0 THEN 1 / 0 ELSE 1 END FROM cf_t LEFT JOIN (SELECT 0 AS x FROM cf_t) AS s ON true;
SELECT cf_inverse(0), cf_inverse(x) FROM cf_t;
SELECT x FROM cf_v;
-- error 22012
SELECT z FROM cf_v;
WITH c AS (SELECT 1 / 0 FROM cf_t) SELECT 1;
SELECT x FROM cf_t WHERE EXISTS (SELECT 1 / 0 FROM cf_t);
SELECT x FROM (SELECT 1 AS x, (SELECT y FROM (VALUES (1), (2)) AS v(y)) AS z) AS s;
SELECT x FROM (SELECT w.x, w.z FROM (SELECT 1 AS x, (SELECT y FROM (VALUES (1), (2)) AS v(y)) AS z OFFSET 0) AS w OFFSET 0) AS s;
WITH c AS (SELECT 1 AS x, (SELECT y FROM (VALUES (1), (2)) AS v(y)) AS z) SELECT x FROM c;
-- error 21000
SELECT x FROM (SELECT DISTINCT 1 AS x, (SELECT y FROM (VALUES (1), (2)) AS v(y)) AS z) AS s;
-- error 21000
SELECT x FROM (SELECT 1 AS x, (SELECT y FROM (VALUES (1), (2)) AS v(y)) AS z ORDER BY 2) AS s;
PREPARE cf_q (integer) AS SELECT CASE WHEN x < -100 THEN 1 / $1 ELSE 0 END FROM cf_t;
-- error 22012
-- differs: a plan is made once for all its parameters, which are no constants
EXECUTE cf_q (0);
-- A strict function of NULL is NULL, and what stands beside it is not computed.
SELECT x / 0 + NULL, NULL = x / 0, (x / 0)::text || NULL, substr(s, x / 0, NULL), power(x / 0, NULL), -(x % 0 + NULL::int) FROM cf_rows;
SELECT count(*) FROM cf_rows WHERE x / 0 > NULL OR x = 1;
SELECT sum(x % 0 * NULL) FROM cf_rows GROUP BY x % 0 - NULL;
SELECT replace(s, 'a', NULL), replace(NULL, 'a', s), replace(s, 'b', s), replace('abc', 'b', s), replace('abc', 'b', n), replace(s, '', n), replace(s, '', s) FROM cf_rows;
SELECT coalesce(replace(n, 'a', n), s), CASE WHEN x > 1 THEN replace(s, 'a', s) ELSE s END FROM cf_rows;
-- A side whose join finds no pair is not computed.
SELECT a.x FROM cf_rows a JOIN cf_rows b ON false WHERE a.x / 0 = 1;
SELECT a.x, b.z FROM cf_rows a LEFT JOIN (SELECT max(x / 0) AS z FROM cf_rows) b ON b.z = a.x AND 1 = 2;
SELECT a.x FROM cf_rows a JOIN (SELECT max(x % 0) AS z FROM cf_rows) b ON a.x = b.z WHERE NULL;
