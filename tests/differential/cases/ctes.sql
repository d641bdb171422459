-- WITH: plain, nested, shadowing, several references, recursive, and data-modifying statements with a CTE.
-- setup
CREATE TABLE ct_tree (id integer, parent integer, label text);
INSERT INTO ct_tree VALUES (1, NULL, 'root'), (2, 1, 'left'), (3, 1, 'right'), (4, 2, 'leaf'), (5, NULL, 'lonely');
CREATE TABLE ct_sink (id integer, label text);
-- cases
WITH t AS (SELECT 1 AS x) SELECT x + 1 FROM t;
WITH t(a, b) AS (VALUES (1, 'x'), (2, NULL)) SELECT b, a FROM t;
WITH a AS (SELECT id FROM ct_tree), b AS (SELECT id * 2 AS d FROM a) SELECT count(*), sum(d) FROM b;
WITH a AS (SELECT id, parent FROM ct_tree) SELECT x.id, y.id FROM a x JOIN a y ON x.id = y.parent;
WITH ct_tree AS (SELECT 42 AS id) SELECT id FROM ct_tree;
WITH a AS (WITH b AS (SELECT 1 AS one) SELECT one + 1 AS two FROM b) SELECT two FROM a;
WITH a AS MATERIALIZED (SELECT max(id) AS m FROM ct_tree), b AS NOT MATERIALIZED (SELECT 2 AS n) SELECT m, n FROM a, b;
SELECT (WITH q AS (SELECT count(*) AS n FROM ct_tree) SELECT n FROM q);
WITH a AS (SELECT * FROM ct_tree WHERE false) SELECT count(*), max(label) FROM a;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5) SELECT i FROM n;
WITH RECURSIVE down AS (
  SELECT id, label, 0 AS depth FROM ct_tree WHERE parent IS NULL
  UNION ALL
  SELECT t.id, t.label, d.depth + 1 FROM ct_tree t JOIN down d ON t.parent = d.id
) SELECT id, label, depth FROM down;
WITH RECURSIVE n(i) AS (SELECT 0 UNION SELECT (i + 1) % 3 FROM n) SELECT i FROM n;
WITH RECURSIVE n(i) AS (SELECT id FROM ct_tree WHERE id = 1 UNION ALL SELECT i + 1 FROM n WHERE i < 70) SELECT i FROM n;
WITH RECURSIVE path(id, p) AS (
  SELECT id, label FROM ct_tree WHERE id = 1 UNION ALL SELECT t.id, p || '/' || t.label FROM ct_tree t, path WHERE t.parent = path.id
) SELECT * FROM path;
WITH s AS (SELECT id, label FROM ct_tree WHERE id < 3) INSERT INTO ct_sink SELECT * FROM s;
SELECT * FROM ct_sink;
WITH s AS (SELECT 1 AS id) UPDATE ct_sink SET label = 'changed' FROM s WHERE ct_sink.id = s.id;
SELECT * FROM ct_sink;
WITH s AS (SELECT 2 AS id) DELETE FROM ct_sink USING s WHERE ct_sink.id = s.id;
SELECT * FROM ct_sink;
-- error 42P01
WITH a AS (SELECT * FROM later), later AS (SELECT 1) SELECT * FROM a;
-- error 42712
WITH a AS (SELECT 1), a AS (SELECT 2) SELECT * FROM a;
-- error 42P10
WITH a(x, y) AS (SELECT 1) SELECT * FROM a;
-- error 42601
WITH a AS SELECT 1 SELECT * FROM a;
-- equal rows of a recursion may show different digits: the first is kept
WITH RECURSIVE s(n, v) AS (SELECT id, 1.50 FROM ct_tree WHERE id < 3 UNION SELECT n % 25 + 1, v FROM s) SELECT * FROM s;
WITH RECURSIVE s(n, v) AS (SELECT id, 1.5 FROM ct_tree WHERE id < 2 UNION SELECT n % 5 + 1, v * 1.0 FROM s) SELECT * FROM s;
WITH RECURSIVE s(v) AS (VALUES (1.0), (NULL), (NULL) UNION SELECT (v + 1.00) % 4 FROM s) SELECT v FROM s;
WITH RECURSIVE s(v, j) AS (SELECT 2.50, '{"a": 1.0}'::jsonb UNION SELECT v + 0.5, '{"a": 1.00}' FROM s WHERE v < 4) SELECT v, j FROM s;
WITH RECURSIVE s(a) AS (SELECT ARRAY[1.0, 2] UNION SELECT ARRAY[1.000, 2.0] FROM s) SELECT a FROM s;
WITH RECURSIVE s(v) AS (SELECT 1.0 UNION (WITH x AS (SELECT v FROM s) SELECT v + 1.00 FROM x WHERE v < 3 UNION SELECT 1.000)) SELECT v FROM s;
SELECT id, (WITH RECURSIVE s(v) AS (SELECT id * 1.5 UNION SELECT s.v % id + 1.00 FROM s) SELECT count(*) FROM s) FROM ct_tree;
SELECT id, x.v FROM ct_tree, LATERAL (WITH RECURSIVE s(v) AS (SELECT id * 1.5 UNION SELECT s.v % id + 1.00 FROM s) SELECT v FROM s) AS x;
WITH RECURSIVE s(v) AS (SELECT 1.0 UNION SELECT (v + 1.00) % 4 FROM s) CYCLE v SET c USING p SELECT * FROM s;
WITH RECURSIVE s(v) AS (SELECT 1.0 UNION SELECT v + 1.00 FROM s) SELECT v FROM s LIMIT 4;
-- a recursion without end: LIMIT stops it, but not within another
WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT n FROM t LIMIT 5;
WITH RECURSIVE q(n) AS (VALUES (1) UNION ALL (WITH RECURSIVE x(m) AS (SELECT n FROM q UNION ALL SELECT m + 1 FROM x WHERE m < 3) SELECT m + 1 FROM x)) SELECT n FROM q LIMIT 20;
-- refused 0A000: the inner one never ends, and what it gives is not read step by step
WITH RECURSIVE q(n) AS (VALUES (1) UNION ALL (WITH RECURSIVE x(m) AS (VALUES (1) UNION ALL (SELECT n FROM q UNION ALL SELECT m FROM x)) SELECT m FROM x)) SELECT n FROM q LIMIT 12;
-- messages
-- error 42601
WITH RECURSIVE s(f, t) AS (SELECT 1, 2 UNION ALL SELECT f, 3 FROM s WHERE f > 9) SEARCH DEPTH FIRST BY f SET t SELECT * FROM s;
-- error 42601
WITH RECURSIVE s(f, t) AS (SELECT 1, 2 UNION ALL SELECT f, t FROM s WHERE f > 9) CYCLE f SET c USING c SELECT * FROM s;
-- error 42601
WITH RECURSIVE s(f, t) AS (SELECT 1, 2 UNION ALL SELECT f, t FROM s WHERE f > 9) SEARCH BREADTH FIRST BY f SET foo CYCLE f SET foo USING p SELECT * FROM s;
-- cases
-- error 0A000
WITH RECURSIVE t(x) AS (SELECT 0 UNION ALL SELECT x + 1 FROM (SELECT * FROM t) AS s) CYCLE x SET c USING p SELECT * FROM t;
-- error 42601
WITH RECURSIVE t(x) AS (VALUES (1) UNION ALL (SELECT x + 1 FROM t WHERE x < 3 UNION ALL SELECT 5)) SEARCH DEPTH FIRST BY x SET o SELECT * FROM t;
-- error 0A000
WITH RECURSIVE t(x) AS ((SELECT 1 UNION ALL SELECT 2) UNION ALL SELECT x + 1 FROM t WHERE x < 3) SEARCH DEPTH FIRST BY x SET o SELECT * FROM t;
-- cases
WITH RECURSIVE t(x) AS (SELECT 0 UNION ALL SELECT (x + 1) % 10 FROM t WHERE NOT is_cycle AND array_length(path, 1) < 4) CYCLE x SET is_cycle USING path SELECT * FROM t;
WITH RECURSIVE t(x) AS (SELECT 0 UNION ALL SELECT t.* FROM t WHERE NOT is_cycle) CYCLE x SET is_cycle USING path SELECT * FROM t;
WITH RECURSIVE t(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM t WHERE x < 3 AND o IS NOT NULL) SEARCH BREADTH FIRST BY x SET o SELECT * FROM t ORDER BY o;
-- error 22012
-- differs: a column that nothing reads is not computed, in a relation that is kept as it stands neither
WITH t AS MATERIALIZED (SELECT id, 1 / (id - id) AS x FROM ct_tree) SELECT count(id) FROM t;
WITH RECURSIVE t AS (SELECT array[1.0] AS p, 1 AS n UNION ALL SELECT p || 2.25, n + 1 FROM t WHERE n < 3) SELECT * FROM t;
WITH RECURSIVE t AS (SELECT row(1.0) AS p, 1 AS n UNION ALL SELECT row(n + 1.25), n + 1 FROM t WHERE n < 3) SELECT * FROM t;
WITH RECURSIVE t AS (SELECT 1::numeric(5,1) AS p, 1 AS n UNION ALL SELECT coalesce(p, p), n + 1 FROM t WHERE n < 3) SELECT * FROM t;
-- error 42804
WITH RECURSIVE t AS (SELECT 1::numeric(5,1) AS p, 1 AS n UNION ALL SELECT p + 2.25, n + 1 FROM t WHERE n < 3) SELECT * FROM t;
-- error 42804
WITH RECURSIVE t AS (SELECT 'a'::varchar(2) AS p, 1 AS n UNION ALL SELECT p || 'xx', n + 1 FROM t WHERE n < 3) SELECT * FROM t;
CREATE TABLE cte_w (w numeric(10,2), v numeric(30,4));
INSERT INTO cte_w VALUES (1.5, 1.5), (2.25, 2.25);
WITH RECURSIVE r(n) AS (SELECT w::numeric FROM cte_w UNION ALL SELECT n + 1 FROM r WHERE n < 4) SELECT n FROM r ORDER BY 1;
WITH RECURSIVE r(n) AS (SELECT v::numeric FROM cte_w UNION ALL SELECT v::numeric + n FROM r, cte_w WHERE n < 4) SELECT n FROM r ORDER BY 1;
WITH RECURSIVE r(n) AS (SELECT v::numeric FROM cte_w UNION ALL SELECT v FROM r, cte_w WHERE n = 2) SELECT n FROM r ORDER BY 1;
-- error 42804
WITH RECURSIVE r(n) AS (SELECT v FROM cte_w UNION ALL SELECT v::numeric FROM r, cte_w WHERE n = 2) SELECT n FROM r ORDER BY 1;
SELECT w::numeric, v::numeric, sum(w::numeric) OVER (), round(v::numeric, 1), (w::numeric)::text FROM cte_w ORDER BY 1;

-- arguments of equal names in a query that is used twice
WITH w AS NOT MATERIALIZED (SELECT DISTINCT a.x AS c FROM (VALUES (1), (3)) a(x), (VALUES (1), (2)) b(x)
    WHERE greatest(a.x, b.x, a.x) > 0 AND least(a.x, b.x, b.x, a.x) < 9)
SELECT u.c, l.* FROM w u CROSS JOIN LATERAL (SELECT max(1), count(*) FROM w) l JOIN w v ON true ORDER BY 1;
