-- WITH: plain, several, nested, recursive, SEARCH and CYCLE, MATERIALIZED, in changes, with changes.
-- setup
CREATE TABLE tz_dep (id integer PRIMARY KEY, parent integer, name text);
INSERT INTO tz_dep VALUES (0, NULL, 'ROOT'), (1, 0, 'A'), (2, 1, 'B'), (3, 2, 'C'), (4, 2, 'D'), (5, 0, 'E'), (6, 4, 'F'), (7, 5, 'G');
CREATE TABLE tz_graph (f integer, t integer, label text);
INSERT INTO tz_graph VALUES (1, 2, 'arc 1 -> 2'), (1, 3, 'arc 1 -> 3'), (2, 3, 'arc 2 -> 3'), (1, 4, 'arc 1 -> 4'), (4, 5, 'arc 4 -> 5'), (5, 1, 'arc 5 -> 1');
CREATE TABLE tz_y (a integer);
INSERT INTO tz_y SELECT generate_series(1, 10);
-- cases
WITH q1 (x, y) AS (SELECT 1, 2) SELECT * FROM q1, q1 AS q2;
WITH a AS (SELECT 1 AS x), b AS (SELECT x + 1 AS x FROM a), c AS (SELECT a.x + b.x AS x FROM a, b) SELECT * FROM c;
WITH q AS (SELECT a FROM tz_y WHERE a > 7) SELECT * FROM q UNION ALL SELECT -a FROM q;
WITH q AS MATERIALIZED (SELECT a FROM tz_y) SELECT count(*) FROM q x, q y WHERE x.a = y.a;
WITH q AS NOT MATERIALIZED (SELECT a FROM tz_y) SELECT sum(a) FROM q WHERE a < 4;
WITH q (n) AS (VALUES (1), (2)) SELECT n FROM q ORDER BY n DESC;
WITH q AS (SELECT 1 AS a) SELECT (SELECT a FROM q) + (WITH q AS (SELECT 10 AS a) SELECT a FROM q);
WITH tz_y AS (SELECT 99 AS a) SELECT count(*) FROM tz_y;
WITH tz_y AS (SELECT a FROM tz_y WHERE a = 1) SELECT * FROM tz_y, public.tz_y o WHERE o.a < 3;
WITH q AS (WITH r AS (SELECT 5 AS v) SELECT v * 2 AS v FROM r) SELECT * FROM q;
SELECT * FROM (WITH q AS (SELECT 1 AS x) SELECT x FROM q) s;
SELECT a FROM tz_y WHERE a IN (WITH q AS (SELECT 2 AS x UNION SELECT tz_y.a) SELECT x FROM q WHERE x < 3);
WITH q AS (SELECT a, count(*) OVER () AS n FROM tz_y) SELECT a::numeric / n FROM q WHERE a < 4;
WITH q AS (SELECT FROM tz_y) SELECT count(*) FROM q;
WITH unused AS (SELECT 1/0), q AS (SELECT 1 AS x) SELECT * FROM q;
WITH RECURSIVE t(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM t WHERE n < 100) SELECT sum(n) FROM t;
WITH RECURSIVE t(n) AS (SELECT (VALUES (1)) UNION ALL SELECT n + 1 FROM t WHERE n < 5) SELECT * FROM t;
WITH RECURSIVE t(n) AS (SELECT 1 UNION SELECT 10 - n FROM t) SELECT * FROM t;
WITH RECURSIVE t(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM t) SELECT * FROM t LIMIT 10;
WITH RECURSIVE t(n) AS (SELECT 'foo' UNION ALL SELECT n || ' bar' FROM t WHERE length(n) < 20) SELECT n, pg_typeof(n) FROM t;
WITH RECURSIVE sub AS (SELECT * FROM tz_dep WHERE name = 'A' UNION ALL SELECT d.* FROM tz_dep d, sub s WHERE d.parent = s.id) SELECT * FROM sub;
WITH RECURSIVE sub(level, id, parent, name) AS (SELECT 1, * FROM tz_dep WHERE name = 'A' UNION ALL SELECT s.level + 1, d.* FROM tz_dep d, sub s WHERE d.parent = s.id) SELECT * FROM sub;
WITH RECURSIVE up AS (SELECT id, parent FROM tz_dep WHERE name = 'F' UNION ALL SELECT d.id, d.parent FROM tz_dep d JOIN up ON d.id = up.parent) SELECT count(*), min(id) FROM up;
WITH RECURSIVE p(id, path) AS (SELECT id, name FROM tz_dep WHERE parent IS NULL UNION ALL SELECT d.id, p.path || '/' || d.name FROM tz_dep d JOIN p ON d.parent = p.id) SELECT * FROM p;
WITH RECURSIVE p(id, path) AS (SELECT id, ARRAY[id] FROM tz_dep WHERE parent IS NULL UNION ALL SELECT d.id, p.path || d.id FROM tz_dep d JOIN p ON d.parent = p.id) SELECT * FROM p;
WITH RECURSIVE g(f, t, path, cyc) AS (SELECT f, t, ARRAY[f, t], false FROM tz_graph WHERE f = 1 UNION ALL SELECT g2.f, g2.t, path || g2.t, g2.t = ANY (path) FROM tz_graph g2, g WHERE g2.f = g.t AND NOT cyc) SELECT * FROM g;
WITH RECURSIVE fib(a, b) AS (SELECT 0::bigint, 1::bigint UNION ALL SELECT b, a + b FROM fib WHERE b < 1000) SELECT a FROM fib;
WITH RECURSIVE f(n, v) AS (SELECT 1, 1::numeric UNION ALL SELECT n + 1, v * (n + 1) FROM f WHERE n < 15) SELECT * FROM f;
WITH RECURSIVE t(i, j) AS (VALUES (1, 2) UNION ALL SELECT t2.i, t.j + 1 FROM (SELECT 2 AS i UNION ALL SELECT 3 AS i) AS t2 JOIN t ON t2.i = t.i + 1) SELECT * FROM t;
WITH RECURSIVE a(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM a WHERE n < 3), b(m) AS (SELECT n * 10 FROM a UNION ALL SELECT m + 1 FROM b WHERE m % 10 < 2) SELECT * FROM b;
WITH RECURSIVE b AS (SELECT * FROM a), a AS (SELECT 7 AS z) SELECT * FROM b;
WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t WHERE n < (SELECT max(a) FROM tz_y)) SELECT count(*) FROM t;
WITH RECURSIVE t(n) AS (SELECT a FROM tz_y WHERE a < 3 UNION ALL SELECT n * 2 FROM (SELECT n FROM t) s WHERE n < 9) SELECT n, count(*) FROM t GROUP BY n;
SELECT * FROM tz_y o WHERE a = (WITH RECURSIVE t(n) AS (SELECT o.a UNION ALL SELECT n - 3 FROM t WHERE n > 3) SELECT min(n) FROM t);
WITH RECURSIVE t(id, parent) AS (SELECT id, parent FROM tz_dep WHERE id = 0 UNION ALL SELECT d.id, d.parent FROM tz_dep d, t WHERE d.parent = t.id) SEARCH DEPTH FIRST BY id SET ord SELECT id, parent FROM t ORDER BY ord;
WITH RECURSIVE t(id, parent) AS (SELECT id, parent FROM tz_dep WHERE id = 0 UNION ALL SELECT d.id, d.parent FROM tz_dep d, t WHERE d.parent = t.id) SEARCH BREADTH FIRST BY id SET ord SELECT id, parent FROM t ORDER BY ord;
WITH RECURSIVE g(f, t) AS (SELECT f, t FROM tz_graph WHERE f = 1 UNION ALL SELECT x.f, x.t FROM tz_graph x, g WHERE x.f = g.t) CYCLE f, t SET is_cycle USING path SELECT f, t, is_cycle FROM g;
WITH RECURSIVE g(f, t) AS (SELECT f, t FROM tz_graph WHERE f = 1 UNION ALL SELECT x.f, x.t FROM tz_graph x, g WHERE x.f = g.t) CYCLE f SET cyc TO 'Y' DEFAULT 'N' USING path SELECT f, t, cyc FROM g;
WITH RECURSIVE t(id, parent) AS (SELECT id, parent FROM tz_dep WHERE id = 0 UNION ALL SELECT d.id, d.parent FROM tz_dep d, t WHERE d.parent = t.id) SEARCH DEPTH FIRST BY parent, id SET ord SELECT * FROM t;
WITH RECURSIVE t(id, parent) AS (SELECT id, parent FROM tz_dep WHERE id = 0 UNION ALL SELECT d.id, d.parent FROM tz_dep d, t WHERE d.parent = t.id) SEARCH BREADTH FIRST BY id SET ord SELECT * FROM t;
WITH RECURSIVE g(f, t) AS (SELECT f, t FROM tz_graph WHERE f = 1 UNION ALL SELECT x.f, x.t FROM tz_graph x, g WHERE x.f = g.t) SEARCH DEPTH FIRST BY f SET o CYCLE f, t SET c USING p SELECT * FROM g;
WITH q AS (SELECT 11 AS a) INSERT INTO tz_y SELECT a FROM q RETURNING a;
WITH q AS (SELECT max(a) AS m FROM tz_y) UPDATE tz_y SET a = a + 100 FROM q WHERE a = m RETURNING a;
WITH q AS (SELECT a FROM tz_y WHERE a > 100) DELETE FROM tz_y USING q WHERE tz_y.a = q.a RETURNING tz_y.*;
INSERT INTO tz_y WITH q AS (SELECT 12) SELECT * FROM q;
WITH ins AS (INSERT INTO tz_y VALUES (20), (21) RETURNING a) SELECT sum(a) FROM ins;
WITH del AS (DELETE FROM tz_y WHERE a >= 20 RETURNING *) SELECT * FROM del;
WITH upd AS (UPDATE tz_y SET a = a * 10 WHERE a = 12 RETURNING a) SELECT * FROM upd UNION ALL SELECT count(*)::integer FROM tz_y;
SELECT count(*) FROM tz_y;
CREATE VIEW tz_v AS WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t WHERE n < 4) SELECT n FROM t;
SELECT sum(n) FROM tz_v;
CREATE TABLE tz_made AS WITH q AS (SELECT a FROM tz_y WHERE a < 3) SELECT a, a * 2 AS b FROM q;
TABLE tz_made;
-- error 42P19
WITH RECURSIVE x(n) AS (SELECT 1 INTERSECT SELECT n + 1 FROM x) SELECT * FROM x;
-- error 42P19
WITH RECURSIVE x(n) AS (SELECT 1 EXCEPT ALL SELECT n + 1 FROM x) SELECT * FROM x;
-- error 42P19
WITH RECURSIVE x(n) AS (SELECT n FROM x) SELECT * FROM x;
-- error 42P19
WITH RECURSIVE x(n) AS (SELECT n FROM x UNION ALL SELECT 1) SELECT * FROM x;
-- error 42P19
WITH RECURSIVE x(n) AS (SELECT 1 UNION ALL SELECT count(*) FROM x) SELECT * FROM x;
-- error 0A000
WITH RECURSIVE x(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM x ORDER BY 1) SELECT * FROM x;
-- error 0A000
WITH RECURSIVE x(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM x LIMIT 10) SELECT * FROM x;
-- error 42P19
WITH RECURSIVE x(n) AS (SELECT 1 UNION ALL SELECT 2 FROM tz_y LEFT JOIN x ON x.n = tz_y.a) SELECT * FROM x;
-- error 42P19
WITH RECURSIVE x(n) AS (SELECT 1 UNION ALL SELECT a FROM tz_y WHERE a IN (SELECT n FROM x)) SELECT * FROM x;
-- error 42P19
WITH RECURSIVE x(n) AS (SELECT 1 UNION ALL SELECT x.n + y.n FROM x, x y) SELECT * FROM x;
WITH RECURSIVE x(n) AS (SELECT 1 UNION ALL (SELECT n + 1 FROM x UNION SELECT 1)) SELECT * FROM x LIMIT 3;
-- error 42804
WITH RECURSIVE x(n) AS (SELECT 1 UNION ALL SELECT n + 1.5 FROM x WHERE n < 3) SELECT * FROM x;
-- error 0A000
WITH RECURSIVE a AS (SELECT * FROM b), b AS (SELECT * FROM a) SELECT * FROM a;
-- error 42P10
WITH q (x, y) AS (SELECT 1) SELECT * FROM q;
-- error 42712
WITH q AS (SELECT 1), q AS (SELECT 2) SELECT * FROM q;
-- error 42P01
WITH q AS (SELECT * FROM later), later AS (SELECT 1) SELECT * FROM q;
-- error 42P01
SELECT * FROM q;
-- error 0A000
WITH ins AS (INSERT INTO tz_y VALUES (1)) SELECT * FROM ins;
-- error 0A000
SELECT (WITH ins AS (INSERT INTO tz_y VALUES (1) RETURNING a) SELECT a FROM ins);
WITH ordinality AS (SELECT 1 AS x) SELECT * FROM ordinality;
WITH RECURSIVE t(j) AS (WITH RECURSIVE s(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM s WHERE i < 4) SELECT i FROM s UNION ALL SELECT j + 1 FROM t WHERE j < 5) SELECT * FROM t;
WITH RECURSIVE f(i) AS (SELECT i::numeric(3,0) FROM (VALUES (1), (2)) v(i) UNION ALL SELECT (i + 1)::numeric(3,0) FROM f WHERE i < 5) SELECT * FROM f;
CREATE TABLE tz_kept (a integer);
WITH RECURSIVE t AS (INSERT INTO tz_kept SELECT a + 500 FROM t2 WHERE a > 108 RETURNING *), t2 AS (UPDATE tz_y SET a = a + 100 RETURNING *) SELECT * FROM t UNION ALL SELECT * FROM t2;
TABLE tz_kept;
WITH s AS (SELECT 15 AS a, 'merged' AS b) MERGE INTO tz_kept k USING (SELECT * FROM s) o ON k.a = o.a WHEN NOT MATCHED THEN INSERT VALUES (o.a + (SELECT length((s.*)::text) FROM s));
SELECT count(*), sum(a) FROM tz_kept;
-- error 42601
WITH RECURSIVE x AS (SELECT 1 AS a) MERGE INTO tz_kept USING (SELECT 3 AS k) o ON tz_kept.a = o.k WHEN MATCHED THEN DELETE;
-- error 42804
WITH RECURSIVE f(i) AS (SELECT i::numeric(3,0) FROM (VALUES (1), (2)) v(i) UNION ALL SELECT (i + 1)::numeric(10,0) FROM f WHERE i < 10) SELECT * FROM f;
