-- Functions in pg_temp belong to the session, and are called by that name alone.
CREATE FUNCTION pg_temp.tr_own(integer) RETURNS integer LANGUAGE sql AS 'SELECT $1 + 1';
SELECT pg_temp.tr_own(1), pg_temp.tr_own(n) FROM generate_series(1, 2) n;
-- error 42883
SELECT tr_own(1);
SET search_path = pg_temp, public;
-- error 42883
SELECT tr_own(1);
RESET search_path;
CREATE OR REPLACE FUNCTION pg_temp.tr_own(integer) RETURNS integer LANGUAGE sql AS 'SELECT $1 + 10';
SELECT pg_temp.tr_own(1);
-- They neither hide a permanent function nor are hidden by it.
CREATE FUNCTION tr_own(integer) RETURNS integer LANGUAGE sql AS 'SELECT $1 + 100';
SELECT tr_own(1), pg_temp.tr_own(1), public.tr_own(1);
SELECT proname, pronamespace = pg_my_temp_schema() AS temporary, pg_function_is_visible(oid)
FROM pg_proc WHERE proname = 'tr_own' ORDER BY 2;
ALTER FUNCTION pg_temp.tr_own(integer) RENAME TO tr_named;
SELECT pg_temp.tr_named(1);
-- error 42883
SELECT pg_temp.tr_own(1);
-- error 0A000
ALTER FUNCTION tr_own(integer) SET SCHEMA pg_temp;
-- error 42883
DROP FUNCTION tr_named(integer);
DROP FUNCTION pg_temp.tr_named(integer);
DROP FUNCTION IF EXISTS pg_temp.tr_named(integer);
-- error 42883
SELECT pg_temp.tr_named(1);
-- An insert whose violation comes back as a value, as object mappers write it.
CREATE TABLE tr_people (id integer PRIMARY KEY, name text);
CREATE OR REPLACE FUNCTION pg_temp.tr_add(OUT response tr_people, OUT caught text) RETURNS record AS $$ BEGIN
    INSERT INTO tr_people VALUES (1, 'Ann') RETURNING * INTO response; EXCEPTION WHEN unique_violation THEN
    GET STACKED DIAGNOSTICS caught = PG_EXCEPTION_DETAIL; END $$ LANGUAGE plpgsql;
SELECT (tr_add.response).id, (tr_add.response).name, tr_add.caught FROM pg_temp.tr_add();
SELECT (tr_add.response).id, (tr_add.response).name, tr_add.caught FROM pg_temp.tr_add();
DROP FUNCTION IF EXISTS pg_temp.tr_add();
-- Procedures, sets, aggregates and triggers of temporary tables.
CREATE PROCEDURE pg_temp.tr_put(integer) LANGUAGE sql AS 'INSERT INTO tr_people VALUES ($1, ''put'')';
CALL pg_temp.tr_put(2);
CREATE FUNCTION pg_temp.tr_all() RETURNS SETOF integer LANGUAGE sql AS 'SELECT id FROM tr_people ORDER BY id';
SELECT * FROM pg_temp.tr_all();
SELECT pg_temp.tr_all();
CREATE FUNCTION pg_temp.tr_plus(integer, integer) RETURNS integer LANGUAGE sql IMMUTABLE AS 'SELECT $1 + 2 * $2';
CREATE AGGREGATE pg_temp.tr_sum(integer) (SFUNC = pg_temp.tr_plus, STYPE = integer, INITCOND = '0');
SELECT pg_temp.tr_sum(id) FROM tr_people;
CREATE TEMP TABLE tr_seen (id integer, noted text);
CREATE FUNCTION pg_temp.tr_note() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.noted = ''yes''; RETURN NEW; END';
CREATE TRIGGER tr_noting BEFORE INSERT ON tr_seen FOR EACH ROW EXECUTE FUNCTION pg_temp.tr_note();
INSERT INTO tr_seen VALUES (1);
SELECT * FROM tr_seen;
-- What outlives the session cannot call them.
-- refused 0A000: the view would be dropped with the session
CREATE VIEW tr_view AS SELECT pg_temp.tr_plus(1, 2);
-- refused 0A000: the default would be dropped with the session
CREATE TABLE tr_defaults (id integer DEFAULT pg_temp.tr_plus(1, 2));
-- refused 0A000: the constraint would be dropped with the session
CREATE TABLE tr_checks (id integer CHECK (pg_temp.tr_plus(id, 2) > 0));
-- refused 0A000: the column would be dropped with the session
CREATE TABLE tr_generated (id integer, more integer GENERATED ALWAYS AS (pg_temp.tr_plus(id, 2)) STORED);
-- refused 0A000: the default would be dropped with the session
ALTER TABLE tr_people ALTER COLUMN id SET DEFAULT pg_temp.tr_plus(1, 2);
-- refused 0A000: the domain would be dropped with the session
CREATE DOMAIN tr_domain AS integer CHECK (pg_temp.tr_plus(VALUE, 2) > 0);
-- refused 0A000: the trigger would be dropped with the session
CREATE TRIGGER tr_noting BEFORE INSERT ON tr_people FOR EACH ROW EXECUTE FUNCTION pg_temp.tr_note();
-- refused 0A000: the aggregate would be dropped with the session
CREATE AGGREGATE tr_total(integer) (SFUNC = pg_temp.tr_plus, STYPE = integer, INITCOND = '0');
-- A prepared statement calls the one that there is.
PREPARE tr_call AS SELECT pg_temp.tr_plus($1, 1);
EXECUTE tr_call(1);
-- DISCARD drops them all.
DISCARD TEMP;
-- error 42883
SELECT pg_temp.tr_plus(1, 2);
SELECT count(*) FROM pg_proc WHERE pronamespace = pg_my_temp_schema();
CREATE FUNCTION pg_temp.tr_own(integer) RETURNS integer LANGUAGE sql AS 'SELECT $1 + 5';
SELECT pg_temp.tr_own(1);
