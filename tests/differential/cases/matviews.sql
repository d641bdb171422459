-- Materialized views: made, refreshed, read, and who depends on them.
-- cases
CREATE TABLE mv_base (id integer, kind text, amount numeric(10,2));
INSERT INTO mv_base SELECT n, 'k' || n % 3, n * 1.5 FROM generate_series(1, 12) AS g(n);
CREATE MATERIALIZED VIEW mv_sums AS SELECT kind, sum(amount) AS total, count(*) FROM mv_base GROUP BY kind;
SELECT * FROM mv_sums ORDER BY kind;
INSERT INTO mv_base VALUES (100, 'k9', 1);
SELECT * FROM mv_sums ORDER BY kind;
REFRESH MATERIALIZED VIEW mv_sums;
SELECT * FROM mv_sums ORDER BY kind;
-- error 42P07
CREATE MATERIALIZED VIEW mv_sums AS SELECT 1;
CREATE MATERIALIZED VIEW IF NOT EXISTS mv_sums AS SELECT 1;
CREATE MATERIALIZED VIEW mv_empty (a, b) AS SELECT id, kind FROM mv_base WITH NO DATA;
-- error 55000
SELECT * FROM mv_empty;
-- error 55000
SELECT count(*) FROM mv_base JOIN mv_empty ON a = id;
SELECT matviewname, ispopulated, hasindexes FROM pg_matviews WHERE matviewname LIKE 'mv%' ORDER BY 1;
REFRESH MATERIALIZED VIEW mv_empty;
SELECT count(*), min(a), max(b) FROM mv_empty;
REFRESH MATERIALIZED VIEW mv_empty WITH NO DATA;
-- error 55000
SELECT * FROM mv_empty;
-- error 0A000
REFRESH MATERIALIZED VIEW CONCURRENTLY mv_empty;
-- error 55000
REFRESH MATERIALIZED VIEW CONCURRENTLY mv_sums;
-- error 42601
REFRESH MATERIALIZED VIEW CONCURRENTLY mv_sums WITH NO DATA;
CREATE UNIQUE INDEX mv_sums_kind ON mv_sums (kind);
REFRESH MATERIALIZED VIEW CONCURRENTLY mv_sums;
SELECT * FROM mv_sums ORDER BY kind;
-- error 0A000
REFRESH MATERIALIZED VIEW mv_base;
-- error 42P01
REFRESH MATERIALIZED VIEW mv_none;
-- error 42809
INSERT INTO mv_sums VALUES ('x', 1, 1);
-- error 42809
UPDATE mv_sums SET total = 0;
-- error 42809
DELETE FROM mv_sums;
-- error 42809
TRUNCATE mv_sums;
-- error 42809
DROP VIEW mv_sums;
-- error 42809
DROP TABLE mv_sums;
-- error 42809
DROP MATERIALIZED VIEW mv_base;
-- error 42P01
DROP MATERIALIZED VIEW mv_none;
DROP MATERIALIZED VIEW IF EXISTS mv_none;
CREATE VIEW mv_over AS SELECT kind, total * 2 AS twice FROM mv_sums;
CREATE MATERIALIZED VIEW mv_second AS SELECT max(twice) AS most FROM mv_over;
SELECT * FROM mv_second;
-- error 2BP01
DROP MATERIALIZED VIEW mv_sums;
-- error 2BP01
DROP TABLE mv_base;
BEGIN;
REFRESH MATERIALIZED VIEW mv_empty;
SELECT count(*) FROM mv_empty;
ROLLBACK;
-- error 55000
SELECT count(*) FROM mv_empty;
ALTER MATERIALIZED VIEW mv_second RENAME TO mv_third;
SELECT * FROM mv_third;
ALTER MATERIALIZED VIEW mv_third RENAME COLUMN most TO largest;
SELECT largest FROM mv_third;
REFRESH MATERIALIZED VIEW mv_third;
CREATE SCHEMA mv_there;
ALTER MATERIALIZED VIEW mv_third SET SCHEMA mv_there;
SELECT * FROM mv_there.mv_third;
COMMENT ON MATERIALIZED VIEW mv_there.mv_third IS 'kept';
SELECT obj_description('mv_there.mv_third'::regclass, 'pg_class');
SELECT relkind, relispopulated FROM pg_class WHERE relname IN ('mv_third', 'mv_empty') ORDER BY relname;
SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 'mv_sums'::regclass AND attnum > 0;
CREATE TABLE mv_copy AS SELECT * FROM mv_sums;
-- error 42601
CREATE MATERIALIZED VIEW mv_bad (a, b, c, d) AS SELECT 1, 2;
-- error 42701
CREATE MATERIALIZED VIEW mv_bad AS SELECT 1 AS a, 2 AS a;
CREATE TEMPORARY TABLE mv_temp (a integer);
-- error 0A000
CREATE MATERIALIZED VIEW mv_bad AS SELECT * FROM mv_temp;
DROP TABLE mv_base CASCADE;
-- error 42P01
SELECT * FROM mv_sums;
DROP SCHEMA mv_there CASCADE;
