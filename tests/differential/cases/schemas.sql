-- Schemas with their elements, other names for schemas and relations that views name, search paths, temporary tables.
-- cases
CREATE SCHEMA sc_one
    CREATE VIEW v AS SELECT a * 2 AS twice FROM t
    CREATE TABLE t (a integer, b text)
    CREATE SEQUENCE s START 7;
INSERT INTO sc_one.t VALUES (1, 'x'), (2, 'y');
SELECT * FROM sc_one.v ORDER BY 1;
SELECT nextval('sc_one.s');
-- error 42P15
CREATE SCHEMA sc_bad CREATE TABLE sc_one.t2 (a integer);
-- error 42704
CREATE SCHEMA sc_bad AUTHORIZATION nobody_there;
CREATE SCHEMA sc_owned AUTHORIZATION gpudb;
SELECT nspname, nspowner::regrole FROM pg_namespace WHERE nspname LIKE 'sc%' ORDER BY 1;
CREATE FUNCTION sc_one.f(n integer) RETURNS integer LANGUAGE sql AS 'SELECT n + 1';
CREATE FUNCTION sc_one.g() RETURNS bigint BEGIN ATOMIC SELECT count(*) FROM sc_one.t; END;
CREATE TYPE sc_one.colour AS ENUM ('red', 'green');
CREATE VIEW sc_over AS SELECT t.a, sc_one.f(t.a) AS next, sc_one.t.b FROM sc_one.t WHERE t.a > 0;
CREATE MATERIALIZED VIEW sc_kept AS SELECT max(next) AS most FROM sc_over;
SELECT * FROM sc_over ORDER BY a;
ALTER SCHEMA sc_one RENAME TO sc_two;
SELECT * FROM sc_over ORDER BY a;
SELECT * FROM sc_two.v ORDER BY 1;
SELECT sc_two.f(4), sc_two.g(), 'red'::sc_two.colour, nextval('sc_two.s');
REFRESH MATERIALIZED VIEW sc_kept;
SELECT * FROM sc_kept;
-- error 42P01
SELECT * FROM sc_one.t;
-- error 42883
SELECT sc_two.f('x'::text);
-- error 42P06
ALTER SCHEMA sc_two RENAME TO public;
-- error 42939
ALTER SCHEMA sc_two RENAME TO pg_two;
-- error 3F000
ALTER SCHEMA sc_none RENAME TO sc_three;
ALTER SCHEMA sc_two OWNER TO gpudb;
-- error 42704
ALTER SCHEMA sc_two OWNER TO nobody_there;
ALTER TABLE sc_two.t RENAME TO renamed;
SELECT * FROM sc_over ORDER BY a;
SELECT * FROM sc_two.v ORDER BY 1;
SELECT sc_two.g();
ALTER TABLE sc_two.renamed SET SCHEMA public;
SELECT * FROM sc_over ORDER BY a;
SELECT sc_two.g();
ALTER VIEW sc_over RENAME TO sc_above;
REFRESH MATERIALIZED VIEW sc_kept;
SELECT * FROM sc_above ORDER BY a;
-- error 2BP01
DROP TABLE renamed;
-- Search paths.
SET search_path = sc_two, sc_missing, public;
SELECT current_schema(), current_schemas(false);
CREATE TABLE here (a integer);
SELECT 'here'::regclass, to_regclass('sc_two.here');
SELECT twice FROM v ORDER BY 1;
SET search_path = sc_missing;
-- error 3F000
CREATE TABLE nowhere (a integer);
SELECT current_schema();
-- error 42P01
SELECT * FROM here;
SELECT set_config('search_path', 'public, sc_two', false), current_setting('search_path');
SELECT count(*) FROM here;
SET search_path = "$user", public;
SHOW search_path;
RESET search_path;
-- Temporary tables hide others, and go with what they are made for.
CREATE TABLE sc_both (a integer);
INSERT INTO sc_both VALUES (1);
CREATE TEMPORARY TABLE sc_both (a integer);
SELECT count(*) FROM sc_both;
INSERT INTO pg_temp.sc_both VALUES (5), (6);
SELECT count(*) FROM sc_both;
SELECT count(*) FROM pg_temp.sc_both;
SELECT count(*) FROM public.sc_both;
SET search_path = public, pg_temp;
SELECT count(*) FROM sc_both;
RESET search_path;
DROP TABLE pg_temp.sc_both;
SELECT count(*) FROM sc_both;
BEGIN;
CREATE TEMPORARY TABLE sc_drop (a integer) ON COMMIT DROP;
CREATE TEMPORARY TABLE sc_rows (a serial, b text) ON COMMIT DELETE ROWS;
CREATE TEMPORARY TABLE sc_keep ON COMMIT PRESERVE ROWS AS SELECT 1 AS a;
INSERT INTO sc_drop VALUES (1);
INSERT INTO sc_rows (b) VALUES ('x');
SELECT (SELECT count(*) FROM sc_drop), (SELECT count(*) FROM sc_rows), (SELECT count(*) FROM sc_keep);
COMMIT;
-- error 42P01
SELECT * FROM sc_drop;
SELECT (SELECT count(*) FROM sc_rows), (SELECT count(*) FROM sc_keep);
INSERT INTO sc_rows (b) VALUES ('y');
SELECT count(*) FROM sc_rows;
CREATE TEMPORARY TABLE sc_gone (a integer) ON COMMIT DROP;
-- error 42P01
SELECT * FROM sc_gone;
CREATE TEMPORARY TABLE sc_as ON COMMIT DELETE ROWS AS SELECT 1 AS a;
SELECT count(*) FROM sc_as;
-- error 42P16
CREATE TABLE sc_not_temporary (a integer) ON COMMIT DROP;
CREATE TABLE IF NOT EXISTS sc_both (a integer);
DROP SCHEMA sc_two CASCADE;
CREATE TEMP VIEW sc_passing AS SELECT 1 AS one;
SELECT relkind, relpersistence FROM pg_class WHERE relname = 'sc_passing';
