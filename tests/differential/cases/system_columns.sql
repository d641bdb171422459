-- System columns: tableoid can be read, columns cannot have their names, and those of row versions are refused.
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
-- refused 0A000: a row has no position that stays the same from one statement to the next
SELECT ctid FROM sc_t;
-- refused 0A000: a row has no version that an optimistic lock could compare
SELECT a FROM sc_t WHERE xmin::text::int > 0;
-- refused 0A000: a row has no position
DELETE FROM sc_t WHERE ctid IN (SELECT min(ctid) FROM sc_t GROUP BY b);
-- refused 0A000: a row has no version
UPDATE sc_t SET b = 'n' WHERE a = 1 AND sc_t.xmin = '7'::xid;
