-- GROUPING SETS, ROLLUP and CUBE: nested, several, empty, with GROUPING(), HAVING, ORDER BY and windows.
-- setup
CREATE TABLE tg (a integer, b integer, v integer);
INSERT INTO tg VALUES (1, 1, 10), (1, 1, 11), (1, 2, 12), (1, 2, 13), (1, 3, 14), (2, 3, 15), (3, 3, 16), (3, 4, 17), (4, 1, 18), (4, 1, 19), (NULL, 1, 20), (NULL, NULL, NULL);
CREATE TABLE tg_none (a integer, b integer, v integer);
CREATE TABLE tg_pk (id integer PRIMARY KEY, x text, n numeric(6,2));
INSERT INTO tg_pk VALUES (1, 'p', 1.50), (2, 'q', 2.50), (3, 'p', NULL);
-- cases
SELECT a, b, grouping(a, b), sum(v), count(*), max(v) FROM tg GROUP BY ROLLUP (a, b);
-- ordered
SELECT a, b, grouping(a, b), sum(v) FROM tg GROUP BY ROLLUP (a, b) ORDER BY a NULLS FIRST, b NULLS FIRST, 3;
-- ordered
SELECT a, b, grouping(a, b), sum(v) FROM tg GROUP BY ROLLUP (a, b) ORDER BY b DESC, a, grouping(a, b) DESC;
SELECT a, b, grouping(a, b), array_agg(v ORDER BY v), string_agg(v::text, ':' ORDER BY v DESC) FROM tg GROUP BY ROLLUP (a, b);
SELECT a, b, sum(v) FROM tg GROUP BY CUBE (a, b);
SELECT a, b, grouping(a), grouping(b), grouping(b, a), sum(v) FROM tg GROUP BY CUBE (a, b);
SELECT a, b, sum(v) FROM tg GROUP BY GROUPING SETS ((a, b), (a), ());
SELECT a, b, sum(v) FROM tg GROUP BY GROUPING SETS (a, b);
SELECT sum(v) FROM tg GROUP BY GROUPING SETS ((), (), ());
SELECT sum(v), count(*) FROM tg_none GROUP BY GROUPING SETS ((), ());
SELECT a, sum(v), count(*) FROM tg_none GROUP BY GROUPING SETS ((a), ());
SELECT a, sum(v), count(*) FROM tg_none GROUP BY a;
SELECT a, b, sum(v), count(*) FROM tg_none GROUP BY GROUPING SETS ((a, b), a);
SELECT a, b, sum(v) FROM tg GROUP BY GROUPING SETS (ROLLUP (a), CUBE (b));
SELECT a, b, sum(v) FROM tg GROUP BY GROUPING SETS (GROUPING SETS (a, (a, b)), GROUPING SETS ((), b));
SELECT a, b, sum(v) FROM tg GROUP BY a, ROLLUP (b);
SELECT a, b, sum(v) FROM tg GROUP BY ROLLUP (a), ROLLUP (b);
SELECT a, b, sum(v) FROM tg GROUP BY a, CUBE (a, b);
SELECT a, b, sum(v) FROM tg GROUP BY ROLLUP ((a, b));
SELECT a, b, v, count(*) FROM tg GROUP BY ROLLUP ((a, b), v);
SELECT a, b, sum(v) FROM tg GROUP BY DISTINCT ROLLUP (a, b), ROLLUP (a);
SELECT a, b, sum(v) FROM tg GROUP BY ALL ROLLUP (a, b), ROLLUP (a);
SELECT a, b, sum(v) FROM tg GROUP BY DISTINCT GROUPING SETS ((a), (a), (b));
SELECT a, b, sum(v) FROM tg GROUP BY GROUPING SETS ((a), (a), (b));
SELECT a + b AS ab, sum(v) FROM tg GROUP BY ROLLUP (a + b);
SELECT a % 2 AS odd, grouping(a % 2), count(*) FROM tg GROUP BY GROUPING SETS (a % 2, ());
SELECT a, count(*) FROM tg GROUP BY ROLLUP (1);
SELECT coalesce(a::text, CASE grouping(a) WHEN 1 THEN 'all' ELSE 'null' END), sum(v) FROM tg GROUP BY ROLLUP (a);
SELECT a, b, sum(v) FROM tg GROUP BY ROLLUP (a, b) HAVING grouping(a, b) = 0 OR sum(v) > 30;
SELECT a, b, count(*) FROM tg GROUP BY CUBE (a, b) HAVING count(*) FILTER (WHERE v > 14) > 1;
SELECT a, sum(v) FROM tg GROUP BY a HAVING grouping(a) = 0 AND sum(v) > 20;
SELECT grouping(a) FROM tg GROUP BY a;
SELECT a, b, sum(v), sum(sum(v)) OVER (ORDER BY a NULLS LAST, b NULLS LAST) FROM tg WHERE a < 3 GROUP BY CUBE (a, b) HAVING grouping(a, b) < 3;
SELECT a, grouping(a), rank() OVER (PARTITION BY grouping(a) ORDER BY sum(v) DESC) FROM tg GROUP BY ROLLUP (a);
SELECT a, b, avg(v), min(v), count(DISTINCT v) FROM tg GROUP BY GROUPING SETS ((a), (b));
SELECT a, b, (SELECT count(*) FROM tg i WHERE i.a = o.a) FROM tg o GROUP BY ROLLUP (a, b);
SELECT (SELECT grouping(o.a)) FROM tg o GROUP BY ROLLUP (a);
SELECT s.a, s.g FROM (SELECT a, grouping(a) AS g, sum(v) AS sv FROM tg GROUP BY ROLLUP (a)) s WHERE s.g = 1;
SELECT g.a, g.b, t.v FROM (SELECT a, b, count(*) FROM tg GROUP BY CUBE (a, b)) g JOIN tg t ON t.a = g.a AND t.b = g.b;
SELECT x, sum(n), grouping(x) FROM tg_pk GROUP BY ROLLUP (x);
SELECT n, avg(n), count(*) FROM tg_pk GROUP BY GROUPING SETS (n, ());
SELECT n / 3, count(*) FROM tg_pk GROUP BY ROLLUP (n / 3);
SELECT id, x, sum(n) FROM tg_pk GROUP BY id;
SELECT id, upper(x), n FROM tg_pk GROUP BY id HAVING n > 1;
SELECT 'k' AS k, a, count(*) FROM tg GROUP BY GROUPING SETS ((a), ());
SELECT 5 AS five, count(*) FROM tg GROUP BY GROUPING SETS (1, ());
SELECT a, b, count(*) FROM tg GROUP BY a, b, ();
SELECT a, b FROM tg GROUP BY CUBE (a, b) EXCEPT SELECT a, b FROM tg;
SELECT DISTINCT grouping(a, b) FROM tg GROUP BY CUBE (a, b);
-- ordered
SELECT a, b FROM tg GROUP BY ROLLUP (a, b) ORDER BY grouping(a) DESC, a, b NULLS FIRST LIMIT 5;
SELECT a AS x, sum(v) FROM tg GROUP BY GROUPING SETS (x, ());
SELECT count(*) FROM tg GROUP BY ROLLUP (a, b);
SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY v), a FROM tg GROUP BY ROLLUP (a);
-- error 42803
SELECT a, b, grouping(v) FROM tg GROUP BY ROLLUP (a, b);
-- error 42803
SELECT grouping(a) FROM tg;
-- error 42803
SELECT a, b, sum(v) FROM tg GROUP BY ROLLUP (a);
-- error 42803
SELECT id, x, sum(n) FROM tg_pk GROUP BY ROLLUP (id);
-- error 42803
SELECT a FROM tg WHERE grouping(a) = 1 GROUP BY ROLLUP (a);
-- error 42803
SELECT sum(grouping(a)) FROM tg GROUP BY a;
-- error 42601
SELECT grouping() FROM tg GROUP BY a;
