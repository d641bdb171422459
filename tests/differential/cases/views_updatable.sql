-- Views through which tables are changed: INSERT, UPDATE and DELETE, and why others are no targets.
-- cases
CREATE TABLE uv_t (id serial PRIMARY KEY, a integer DEFAULT 7, b text, c numeric(6,2) CHECK (c > 0), g integer GENERATED ALWAYS AS (a * 2) STORED);
INSERT INTO uv_t (a, b, c) VALUES (1,'x',1.5),(2,'y',2.5),(3,'z',3.5),(10,'w',4.5);
CREATE VIEW uv_all AS SELECT * FROM uv_t;
CREATE VIEW uv_some AS SELECT id AS key, b AS label, a + 1 AS next, a FROM uv_t AS t WHERE a < 5;
CREATE VIEW uv_nest (k, l) AS SELECT key, label FROM uv_some WHERE key > 1;
INSERT INTO uv_all (a, b, c) VALUES (20, 'ins', 1);
INSERT INTO uv_all VALUES (100, 21, 'ins2', 2);
INSERT INTO uv_some (label, a) VALUES ('via', 4) RETURNING *;
INSERT INTO uv_some (key, label) VALUES (200, 'seven') RETURNING key, label, next;
SELECT * FROM uv_some ORDER BY key;
SELECT * FROM uv_t ORDER BY id;
UPDATE uv_some SET label = label || '!' WHERE key <= 2;
SELECT * FROM uv_t ORDER BY id;
UPDATE uv_some SET a = a + 1, label = next::text WHERE next = 3 RETURNING key, label, next, a;
UPDATE uv_some SET label = 'all';
SELECT id, a, b FROM uv_t ORDER BY id;
-- error 0A000
UPDATE uv_some SET next = 5;
-- error 0A000
INSERT INTO uv_some (next) VALUES (5);
-- error 42703
UPDATE uv_some SET nosuch = 5;
-- error 42703
INSERT INTO uv_some (nosuch) VALUES (5);
-- error 0A000
INSERT INTO uv_some VALUES (300, 'x', 4, 4);
INSERT INTO uv_some VALUES (300, 'x');
UPDATE uv_nest SET l = 'nested' WHERE k < 4;
SELECT id, a, b FROM uv_t ORDER BY id;
INSERT INTO uv_nest VALUES (400, 'deep');
SELECT id, a, b FROM uv_t WHERE id = 400;
DELETE FROM uv_nest WHERE k = 3 RETURNING k, l;
DELETE FROM uv_some WHERE a = 1;
SELECT id, a, b FROM uv_t ORDER BY id;
DELETE FROM uv_all WHERE id = 400;
-- error 428C9
UPDATE uv_all SET g = 1;
-- error 23514
UPDATE uv_all SET c = -1;
INSERT INTO uv_all (c) VALUES (NULL), (5);
INSERT INTO uv_all DEFAULT VALUES RETURNING a, b, g;
UPDATE uv_some AS s SET label = o.b FROM uv_t AS o WHERE o.id = s.key RETURNING s.key, s.label, o.a;
DELETE FROM uv_some AS s USING uv_t AS o WHERE o.id = s.key AND o.id = 2 RETURNING s.label, o.id;
UPDATE uv_some SET (label, a) = ('pair', 2) WHERE key = 200;
SELECT key, label, a FROM uv_some ORDER BY 1;
WITH moved AS (DELETE FROM uv_some WHERE key = 200 RETURNING key, label) SELECT * FROM moved;
WITH src AS (SELECT 500 AS i, 'cte' AS t) INSERT INTO uv_some (key, label, a) SELECT i, t, 1 FROM src RETURNING *;
INSERT INTO uv_some (key, label, a) SELECT id + 1000, b, a FROM uv_t WHERE a < 3 RETURNING key;
CREATE VIEW uv_d AS SELECT DISTINCT a FROM uv_t;
CREATE VIEW uv_g AS SELECT a, count(*) FROM uv_t GROUP BY a;
CREATE VIEW uv_l AS SELECT * FROM uv_t LIMIT 5;
CREATE VIEW uv_j AS SELECT t.a, o.b FROM uv_t t, uv_t o;
CREATE VIEW uv_u AS SELECT a FROM uv_t UNION SELECT a FROM uv_t;
CREATE VIEW uv_e AS SELECT a + 1 AS x FROM uv_t;
CREATE VIEW uv_w AS SELECT a, row_number() OVER () FROM uv_t;
CREATE VIEW uv_ng AS SELECT a FROM uv_g;
CREATE VIEW uv_v AS VALUES (1);
CREATE VIEW uv_c AS SELECT 1 AS one;
CREATE VIEW uv_ord AS SELECT id, a FROM uv_t ORDER BY id;
-- error 55000
DELETE FROM uv_d;
-- error 55000
UPDATE uv_g SET a = 1;
-- error 55000
INSERT INTO uv_l VALUES (1);
-- error 55000
DELETE FROM uv_j;
-- error 55000
UPDATE uv_u SET a = 1;
-- error 55000
UPDATE uv_e SET x = 1;
-- error 55000
INSERT INTO uv_e VALUES (1);
DELETE FROM uv_e WHERE x = 22;
-- error 55000
DELETE FROM uv_w;
-- error 55000
DELETE FROM uv_ng;
-- error 55000
DELETE FROM uv_v;
-- error 55000
DELETE FROM uv_c;
UPDATE uv_ord SET a = 77 WHERE id = 500;
SELECT a FROM uv_t WHERE id = 500;
CREATE VIEW uv_co AS SELECT id, a FROM uv_t WHERE a < 5 WITH CHECK OPTION;
-- refused 0A000: views have no rules but their own
CREATE RULE uv_r AS ON INSERT TO uv_all DO INSTEAD NOTHING;
-- error 42809
TRUNCATE uv_all;
PREPARE uvp(int) AS UPDATE uv_some SET label = 'prep' WHERE key = $1;
EXECUTE uvp(1500);
SELECT b FROM uv_t WHERE id = 1500;
BEGIN READ ONLY;
-- error 25006
UPDATE uv_some SET label = 'x';
ROLLBACK;
INSERT INTO uv_some (key, a) VALUES (500, 1) ON CONFLICT DO NOTHING;
INSERT INTO uv_some (key, a) VALUES (500, 1) ON CONFLICT (key) DO UPDATE SET a = excluded.a + 1000;
SELECT a FROM uv_t WHERE id = 500;
-- error 0A000
MERGE INTO uv_all USING (VALUES (1)) v(i) ON uv_all.id = v.i WHEN MATCHED THEN DELETE;
CREATE VIEW uv_sub AS SELECT id, b FROM uv_t WHERE a = (SELECT max(a) FROM uv_t);
UPDATE uv_sub SET b = 'max';
SELECT a, b FROM uv_t WHERE b = 'max';
UPDATE uv_some SET label = uv_some.key::text WHERE uv_some.key = 1500 RETURNING uv_some.*;
UPDATE uv_some SET label = (SELECT count(*)::text FROM uv_some) WHERE key = 1500 RETURNING label;
SELECT uv_some FROM uv_some WHERE key = 1500;
UPDATE uv_some SET label = 'r' WHERE key = 1500 RETURNING uv_some;
-- setup
CREATE TABLE vu_base (a integer PRIMARY KEY, b text DEFAULT 'd', c integer);
INSERT INTO vu_base VALUES (1, 'x', 1), (2, 'y', 2);
CREATE VIEW vu_some AS SELECT a, b FROM vu_base WHERE a > 0;
CREATE VIEW vu_named AS SELECT a AS aa, upper(b) AS ub FROM vu_base;
CREATE VIEW vu_distinct AS SELECT DISTINCT a FROM vu_base;
CREATE VIEW vu_one AS SELECT 1 AS one FROM vu_base;
CREATE VIEW vu_joined AS SELECT vu_base.a, o.b FROM vu_base JOIN vu_base o USING (a);
CREATE VIEW vu_above AS SELECT * FROM vu_some;
CREATE VIEW vu_above_distinct AS SELECT * FROM vu_distinct;
-- cases
SELECT table_name, is_updatable, is_insertable_into FROM information_schema.views WHERE table_name LIKE 'vu\_%';
SELECT table_name, is_insertable_into FROM information_schema.tables WHERE table_name LIKE 'vu\_%';
SELECT table_name, column_name, is_updatable FROM information_schema.columns WHERE table_name LIKE 'vu\_%';
SELECT pg_relation_is_updatable('vu_one'::regclass, false), pg_relation_is_updatable('vu_named'::regclass, false), pg_column_is_updatable('vu_named'::regclass, 2::smallint, false);
INSERT INTO vu_some VALUES (1, 'z') ON CONFLICT DO NOTHING;
INSERT INTO vu_some VALUES (1, 'z') ON CONFLICT (a) DO UPDATE SET b = excluded.b || vu_some.b RETURNING *;
INSERT INTO vu_some AS w VALUES (1, 'q') ON CONFLICT (a) DO UPDATE SET b = excluded.b || w.b WHERE w.a = 1 RETURNING w.b;
INSERT INTO vu_named (aa) VALUES (2) ON CONFLICT (aa) DO UPDATE SET aa = excluded.aa + 100 WHERE excluded.ub IS NULL RETURNING aa, ub;
INSERT INTO vu_named (aa) VALUES (2) ON CONFLICT (aa) DO UPDATE SET aa = vu_named.aa + 1;
INSERT INTO vu_above VALUES (1, 't'), (7, 'n') ON CONFLICT (a) DO UPDATE SET b = excluded.b;
TABLE vu_base;
-- messages
-- error 0A000
INSERT INTO vu_named (aa) VALUES (1) ON CONFLICT (aa) DO UPDATE SET ub = 'x';
-- error 42P10
INSERT INTO vu_named (aa) VALUES (1) ON CONFLICT (ub) DO NOTHING;
-- error 42703
INSERT INTO vu_named (aa) VALUES (1) ON CONFLICT (nothing) DO NOTHING;
-- error 42704
INSERT INTO vu_named (aa) VALUES (1) ON CONFLICT ON CONSTRAINT vu_base_pkey DO NOTHING;
-- defaults of a view's own columns
-- cases
CREATE TABLE vu_plain (a integer, b text DEFAULT 'table', c serial);
CREATE VIEW vu_seen AS SELECT a AS x, b AS y, c FROM vu_plain;
ALTER VIEW vu_seen ALTER COLUMN y SET DEFAULT 'view';
INSERT INTO vu_seen (x) VALUES (1), (DEFAULT) RETURNING *;
INSERT INTO vu_seen SELECT 7 RETURNING *;
INSERT INTO vu_plain (a) VALUES (2) RETURNING *;
UPDATE vu_seen SET y = DEFAULT WHERE x = 2 RETURNING *;
CREATE VIEW vu_over AS SELECT * FROM vu_seen;
INSERT INTO vu_over (c) VALUES (100) RETURNING *;
ALTER VIEW vu_over ALTER y SET DEFAULT 'above';
INSERT INTO vu_over DEFAULT VALUES RETURNING *;
CREATE OR REPLACE VIEW vu_seen AS SELECT a AS x, b AS y, c, 1 AS one FROM vu_plain;
INSERT INTO vu_seen (c) VALUES (102) RETURNING *;
SELECT column_name, column_default FROM information_schema.columns WHERE table_name = 'vu_seen';
ALTER TABLE vu_seen ALTER COLUMN y DROP DEFAULT;
INSERT INTO vu_seen (x) VALUES (3) RETURNING x, y;
-- error 42703
ALTER VIEW vu_seen ALTER COLUMN z SET DEFAULT 1;
-- error 22P02
ALTER VIEW vu_seen ALTER COLUMN x SET DEFAULT 'abc';
