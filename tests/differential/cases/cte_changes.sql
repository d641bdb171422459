-- INSERT, UPDATE and DELETE in WITH: one snapshot for all, rows by RETURNING alone, and what is refused.
-- setup
CREATE TABLE cc_t (a integer PRIMARY KEY, b integer);
CREATE TABLE cc_log (what text, a integer, b integer);
INSERT INTO cc_t SELECT g, g * 10 FROM generate_series(1, 9) AS g;
-- cases
WITH gone AS (DELETE FROM cc_t WHERE a < 3 RETURNING *) INSERT INTO cc_log SELECT 'gone', a, b FROM gone;
SELECT * FROM cc_log;
WITH gone AS (DELETE FROM cc_t WHERE a = 3 RETURNING a) SELECT (SELECT count(*) FROM cc_t) AS before, a FROM gone;
SELECT count(*) FROM cc_t;
WITH changed AS (UPDATE cc_t SET b = b + 1 WHERE a < 6 RETURNING a, b) SELECT cc_t.a, cc_t.b AS old, changed.b AS new FROM changed JOIN cc_t USING (a);
WITH new AS (INSERT INTO cc_t VALUES (20, 1), (21, 2) RETURNING a) SELECT * FROM new UNION ALL SELECT count(*) FROM cc_t;
WITH one AS (INSERT INTO cc_t VALUES (30, 1) RETURNING a, b), two AS (INSERT INTO cc_t SELECT a + 1, b FROM one RETURNING *) SELECT * FROM one UNION ALL SELECT * FROM two;
WITH x AS (DELETE FROM cc_t WHERE a = 30) SELECT 1 AS one;
SELECT a FROM cc_t;
WITH x AS (DELETE FROM cc_t WHERE a = 31 RETURNING a) INSERT INTO cc_t SELECT a, 99 FROM x RETURNING *;
WITH x (k) AS (UPDATE cc_t SET b = 0 WHERE a = 31 RETURNING a), y AS (SELECT k * 2 AS m FROM x) SELECT k, m FROM x, y;
WITH x AS (INSERT INTO cc_t VALUES (40, 4) RETURNING a) UPDATE cc_t SET b = -1 WHERE a IN (SELECT a FROM x) RETURNING *;
WITH x AS (INSERT INTO cc_t VALUES (41, 4) RETURNING a) DELETE FROM cc_t WHERE a IN (40, 41) RETURNING *;
WITH x AS (DELETE FROM cc_t WHERE a > 20 RETURNING *), n AS (SELECT count(*) AS n FROM x) INSERT INTO cc_log SELECT 'rest', n, NULL FROM n RETURNING *;
WITH s AS (SELECT a FROM cc_t WHERE a > 6), x AS (UPDATE cc_t SET b = s.a FROM s WHERE cc_t.a = s.a RETURNING cc_t.a) SELECT count(*), sum(x.a) FROM x;
WITH x AS (UPDATE cc_t SET b = 1 WHERE a = 4 RETURNING b), y AS (UPDATE cc_t SET b = 2 WHERE a = 5 RETURNING b), z AS (DELETE FROM cc_t WHERE a = 6 RETURNING b) SELECT 'x', b FROM x UNION ALL SELECT 'y', b FROM y UNION ALL SELECT 'z', b FROM z;
SELECT * FROM cc_t;
WITH x AS (INSERT INTO cc_t VALUES (4, 0), (50, 50) ON CONFLICT (a) DO UPDATE SET b = 400 RETURNING *) SELECT * FROM x;
WITH x AS (INSERT INTO cc_t VALUES (4, 0), (51, 51) ON CONFLICT DO NOTHING RETURNING *) INSERT INTO cc_log SELECT 'new', a, b FROM x;
WITH src AS (SELECT 4 AS a UNION ALL SELECT 60), x AS (DELETE FROM cc_log RETURNING a) MERGE INTO cc_t USING src ON cc_t.a = src.a WHEN MATCHED THEN UPDATE SET b = (SELECT count(*) FROM x) WHEN NOT MATCHED THEN INSERT VALUES (src.a, 6);
SELECT * FROM cc_t;
SELECT count(*) FROM cc_log;
WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 3), x AS (INSERT INTO cc_log SELECT 'n', i FROM n RETURNING a) SELECT sum(a) FROM x;
WITH x AS (SELECT a FROM cc_t WHERE a < 5) UPDATE cc_t SET b = 5 FROM x WHERE x.a = cc_t.a;
WITH x AS (SELECT a FROM cc_t WHERE a < 5) DELETE FROM cc_t USING x WHERE x.a = cc_t.a RETURNING cc_t.a;
WITH x AS (SELECT 70 AS a, 7 AS b) INSERT INTO cc_t SELECT * FROM x RETURNING (SELECT b FROM x), a;
-- error 23505
WITH x AS (INSERT INTO cc_t VALUES (70, 1)) SELECT 1;
-- error 23505
WITH x AS (INSERT INTO cc_t VALUES (80, 1)) INSERT INTO cc_t VALUES (80, 2);
SELECT count(*) FROM cc_t WHERE a = 80;
-- error 0A000
WITH x AS (DELETE FROM cc_t) SELECT * FROM x;
-- error 0A000
SELECT * FROM (WITH x AS (DELETE FROM cc_t RETURNING *) SELECT * FROM x) AS q;
-- error 0A000
INSERT INTO cc_log WITH x AS (DELETE FROM cc_t RETURNING *) SELECT 'a', a, b FROM x;
-- error 42P19
WITH RECURSIVE x AS (DELETE FROM x RETURNING *) SELECT * FROM x;
-- error 42712
WITH x AS (SELECT 1), x AS (DELETE FROM cc_t) SELECT 1;
-- error 42P01
WITH x AS (DELETE FROM cc_nowhere) SELECT 1;
-- error 0A000
CREATE VIEW cc_view AS WITH x AS (DELETE FROM cc_t RETURNING *) SELECT * FROM x;
-- error 34000
CLOSE cc_cursor;
-- error 21000
WITH x AS (DELETE FROM cc_t RETURNING a) SELECT (SELECT a FROM x);
SELECT count(*) > 0 FROM cc_t;
BEGIN;
WITH x AS (DELETE FROM cc_t RETURNING a) SELECT count(*) > 0 FROM x;
SELECT count(*) FROM cc_t;
ROLLBACK;
SELECT count(*) > 0 FROM cc_t;
PREPARE cc_p (integer) AS WITH x AS (INSERT INTO cc_t VALUES ($1, $1 + 1) RETURNING *) SELECT b FROM x;
EXECUTE cc_p (90);
EXECUTE cc_p (91);
SELECT * FROM cc_t WHERE a >= 90;
-- UPDATE of several columns at once
UPDATE cc_t SET (a, b) = (SELECT 900, cc_t.b * 2) WHERE a = 90 RETURNING *;
UPDATE cc_t SET (b, a) = ROW (a + 1, 901) WHERE a = 91 RETURNING *;
UPDATE cc_t SET (b) = ROW (NULL) WHERE a = 901 RETURNING *;
UPDATE cc_t SET b = 1, (a) = (SELECT max(a) + 1 FROM cc_t) WHERE a = 901 RETURNING *;
UPDATE cc_t AS x SET (b) = (SELECT a FROM cc_t AS y WHERE y.a < x.a ORDER BY a DESC LIMIT 1) WHERE a > 800;
SELECT * FROM cc_t WHERE a > 800;
-- error 23502
UPDATE cc_t SET (a, b) = (SELECT 1, 2 WHERE false) WHERE a = 900;
-- error 21000
UPDATE cc_t SET (a, b) = (SELECT a, b FROM cc_t) WHERE a = 900;
-- error 42601
UPDATE cc_t SET (a, b) = (SELECT 1);
-- error 42601
UPDATE cc_t SET (a, b) = (1, 2, 3);
-- error 0A000
UPDATE cc_t SET (a, b) = (1);
-- error 42804
UPDATE cc_t SET (a, b) = (SELECT 1, true);
-- setup
CREATE TABLE cc_once (k integer PRIMARY KEY, v text);
INSERT INTO cc_once VALUES (1, 'one'), (2, 'two'), (3, 'three'), (4, 'four');
-- cases
WITH a AS (INSERT INTO cc_once VALUES (2, 'a') ON CONFLICT (k) DO UPDATE SET (k, v) = (SELECT 2, 'green') RETURNING k, v) INSERT INTO cc_once VALUES (2, 'b') ON CONFLICT (k) DO UPDATE SET (k, v) = (SELECT k, v FROM a WHERE a.k = cc_once.k) RETURNING k, v;
-- error 21000
WITH a AS (INSERT INTO cc_once VALUES (2, 'a') ON CONFLICT (k) DO UPDATE SET v = 'a' RETURNING k, v) INSERT INTO cc_once VALUES (2, 'b') ON CONFLICT (k) DO UPDATE SET v = 'b';
-- error 21000
WITH a AS (INSERT INTO cc_once VALUES (22, 'a') RETURNING k, v) INSERT INTO cc_once SELECT k, v FROM a ON CONFLICT (k) DO UPDATE SET v = excluded.v;
WITH a AS (INSERT INTO cc_once VALUES (21, 'a') RETURNING k, v) INSERT INTO cc_once SELECT k, v FROM a ON CONFLICT (k) DO NOTHING RETURNING k, v;
-- error 23505
WITH a AS (INSERT INTO cc_once VALUES (20, 'a')) INSERT INTO cc_once VALUES (20, 'b') ON CONFLICT (k) DO NOTHING;
WITH a AS (UPDATE cc_once SET v = 'u' WHERE k = 1 RETURNING k) INSERT INTO cc_once VALUES (1, 'x') ON CONFLICT (k) DO UPDATE SET v = 'first' RETURNING k, v;
WITH a AS (DELETE FROM cc_once WHERE k = 3 RETURNING k) INSERT INTO cc_once SELECT k, 'again' FROM a ON CONFLICT (k) DO NOTHING RETURNING k, v;
WITH a AS (DELETE FROM cc_once WHERE k = 4 RETURNING k) INSERT INTO cc_once SELECT k, 'again' FROM a ON CONFLICT (k) DO UPDATE SET v = 'no' RETURNING k, v;
WITH a AS (UPDATE cc_once SET v = 'in WITH' WHERE k = 1) UPDATE cc_once SET v = 'in the statement' WHERE k = 1;
WITH a AS (UPDATE cc_once SET v = 'first' WHERE k = 2), b AS (UPDATE cc_once SET v = 'last' WHERE k = 2) SELECT 1;
SELECT * FROM cc_once ORDER BY k;
