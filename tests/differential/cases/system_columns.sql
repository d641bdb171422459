-- System columns: tableoid and ctid can be read, columns cannot have their names, and row versions are refused.
-- setup
CREATE SCHEMA sc_s;
CREATE TABLE sc_t (a integer PRIMARY KEY, b text);
CREATE TABLE sc_s.u (a integer, c text);
INSERT INTO sc_t VALUES (1, 'x'), (2, 'y'), (3, NULL);
INSERT INTO sc_s.u VALUES (1, 'one'), (4, 'four');
CREATE VIEW sc_v AS SELECT tableoid AS t, * FROM sc_t;
CREATE MATERIALIZED VIEW sc_m AS SELECT 1 AS a;
-- messages
SELECT tableoid::regclass, * FROM sc_t;
SELECT tableoid = 'sc_t'::regclass, tableoid::regclass::text || b AS s FROM sc_t WHERE tableoid = 'sc_t'::regclass;
SELECT count(*) FROM sc_t WHERE tableoid = 'sc_s.u'::regclass;
SELECT x.tableoid::regclass, y.tableoid::regclass FROM sc_t AS x JOIN sc_s.u AS y USING (a);
SELECT sc_t.a, sc_t.tableoid::regclass, y.tableoid::regclass FROM sc_t LEFT JOIN sc_s.u AS y USING (a);
SELECT a, x.tableoid::regclass, u.tableoid::regclass FROM sc_t AS x FULL JOIN sc_s.u USING (a);
SELECT tableoid::regclass, count(*) FROM sc_t GROUP BY tableoid;
SELECT DISTINCT sc_t.tableoid::regclass FROM sc_t;
SELECT max(tableoid)::regclass, count(tableoid) FROM sc_t;
SELECT a, (SELECT tableoid::regclass FROM sc_s.u WHERE u.a = sc_t.a) FROM sc_t;
-- ordered
SELECT a, tableoid::regclass FROM (SELECT a, tableoid FROM sc_t UNION ALL SELECT a, tableoid FROM sc_s.u) AS both_of
ORDER BY tableoid::regclass::text, a;
SELECT t::regclass, a FROM sc_v;
SELECT tableoid::regclass FROM sc_m;
SELECT pg_typeof(tableoid) FROM sc_m;
SELECT relname FROM pg_class WHERE oid IN (SELECT tableoid FROM sc_t);
SELECT ctid FROM (SELECT 1 AS ctid) AS s;
UPDATE sc_t SET b = tableoid::regclass::text WHERE sc_t.tableoid = 'sc_t'::regclass AND a = 3 RETURNING tableoid::regclass, *;
DELETE FROM sc_t WHERE a = 3 RETURNING sc_t.tableoid::regclass, a;
INSERT INTO sc_t VALUES (5, 'z') RETURNING tableoid::regclass;
-- error 42702
SELECT tableoid FROM sc_t, sc_s.u;
-- error 42703
SELECT tableoid FROM sc_v;
-- error 42703
SELECT s.tableoid FROM (SELECT a FROM sc_t) AS s;
-- error 0A000
UPDATE sc_t SET tableoid = 1;
-- error 42703
INSERT INTO sc_t (ctid) VALUES ('(0,1)');
-- error 42701
CREATE TABLE sc_no (ctid integer);
-- error 42701
CREATE TABLE sc_no AS SELECT 1 AS xmin;
-- error 42701
CREATE MATERIALIZED VIEW sc_no AS SELECT 1 AS cmax;
-- error 42701
ALTER TABLE sc_t ADD COLUMN tableoid integer;
-- error 42701
ALTER TABLE sc_t RENAME COLUMN b TO xmax;
CREATE VIEW sc_w AS SELECT 1 AS ctid;
SELECT ctid FROM sc_w;
-- cases
SELECT count(DISTINCT ctid), bool_and(ctid > '(0,0)'), pg_typeof(min(ctid)) FROM sc_t;
SELECT b FROM sc_t WHERE ctid = (SELECT max(ctid) FROM sc_t WHERE a = 2);
SELECT a FROM sc_t WHERE ctid = ANY (ARRAY(SELECT t.ctid FROM sc_t AS t WHERE t.a < 3)) ORDER BY a;
SELECT count(*) FROM sc_t WHERE ctid BETWEEN '(0,0)'::tid AND '(4294967295,0)'::tid;
SELECT t.a, y.ctid IS NULL FROM sc_t AS t LEFT JOIN sc_s.u AS y USING (a) ORDER BY t.a;
UPDATE sc_t AS t SET b = 'by place' FROM sc_t AS o WHERE o.a = 1 AND t.ctid = o.ctid RETURNING t.a, t.b;
SELECT '(1,2)'::tid, ' (-1,3)'::tid, '(4294967295,65535)'::tid > '(5,6)'::tid, '(7,1)'::tid < '(10,0)'::tid;
SELECT '(1,2)'::text::tid, ('(1,2)'::tid)::text || '', ARRAY['(1,2)', '(0,3)']::tid[], to_json('(3,4)'::tid);
SELECT min(t), max(t), count(DISTINCT t) FROM (VALUES ('(2,9)'::tid), ('(10,1)'), ('(2,9)'), (NULL)) AS v(t);
-- error 22P02
SELECT '(1,65536)'::tid;
-- error 22P02
SELECT '(4294967296,1)'::tid;
-- error 22P02
SELECT '1,1'::tid;
-- error 42703
SELECT ctid FROM sc_v;
-- error 42702
SELECT ctid FROM sc_t, sc_s.u;
-- refused 0A000: a row has no version that an optimistic lock could compare
SELECT a FROM sc_t WHERE xmin::text::int > 0;
DELETE FROM sc_t WHERE ctid IN (SELECT min(ctid) FROM sc_t GROUP BY b);
-- refused 0A000: a row has no version
UPDATE sc_t SET b = 'n' WHERE a = 1 AND sc_t.xmin = '7'::xid;
-- refused 0A000: rows have addresses once they are read from a table
INSERT INTO sc_t VALUES (9, 'r') RETURNING ctid;
-- A system column is read with the right to all columns
CREATE TABLE guarded (a int, b int);
INSERT INTO guarded VALUES (1, 2);
CREATE ROLE reads_a_column;
GRANT SELECT (a), DELETE ON guarded TO reads_a_column;
SET ROLE reads_a_column;
SELECT a FROM guarded;
-- error 42501
SELECT tableoid FROM guarded;
-- error 42501
SELECT a FROM guarded WHERE ctid = '(0,1)';
-- error 42501
DELETE FROM guarded WHERE tableoid = 0;
RESET ROLE;
GRANT SELECT ON guarded TO reads_a_column;
SET ROLE reads_a_column;
SELECT tableoid = 'guarded'::regclass FROM guarded;
DELETE FROM guarded WHERE tableoid = 0;
RESET ROLE;
DROP TABLE guarded;
DROP ROLE reads_a_column;
