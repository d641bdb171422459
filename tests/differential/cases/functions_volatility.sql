-- Functions that are declared STABLE or IMMUTABLE read, and do nothing else.
-- setup
CREATE TABLE fv_t (x integer);
INSERT INTO fv_t VALUES (1);
CREATE FUNCTION fv_insert() RETURNS integer LANGUAGE plpgsql STABLE AS 'BEGIN INSERT INTO fv_t VALUES (2); RETURN 1; END';
CREATE FUNCTION fv_skipped(p boolean) RETURNS integer LANGUAGE plpgsql STABLE AS 'BEGIN IF p THEN DELETE FROM fv_t; END IF; RETURN (SELECT count(*) FROM fv_t); END';
CREATE FUNCTION fv_with() RETURNS integer LANGUAGE plpgsql STABLE AS 'DECLARE r integer; BEGIN WITH a AS (INSERT INTO fv_t VALUES (2) RETURNING x) SELECT x INTO r FROM a; RETURN r; END';
CREATE FUNCTION fv_with_update() RETURNS integer LANGUAGE plpgsql STABLE AS 'BEGIN WITH a AS (SELECT 1 AS y) UPDATE fv_t SET x = y FROM a; RETURN 1; END';
CREATE FUNCTION fv_execute(p text) RETURNS integer LANGUAGE plpgsql IMMUTABLE AS 'BEGIN EXECUTE p; RETURN 1; END';
CREATE FUNCTION fv_lock() RETURNS integer LANGUAGE plpgsql STABLE AS 'BEGIN PERFORM x FROM fv_t FOR UPDATE; RETURN 1; END';
CREATE FUNCTION fv_sql() RETURNS integer LANGUAGE sql STABLE AS 'WITH a AS (INSERT INTO fv_t VALUES (2) RETURNING x) SELECT x FROM a';
CREATE FUNCTION fv_sql_update() RETURNS integer LANGUAGE sql STABLE AS 'UPDATE fv_t SET x = 5 RETURNING x';
CREATE FUNCTION fv_writes() RETURNS integer LANGUAGE plpgsql AS 'BEGIN INSERT INTO fv_t VALUES (7); RETURN 1; END';
CREATE FUNCTION fv_calls() RETURNS integer LANGUAGE plpgsql STABLE AS 'BEGIN RETURN fv_writes(); END';
CREATE PROCEDURE fv_procedure() LANGUAGE plpgsql AS 'BEGIN INSERT INTO fv_t VALUES (8); END';
-- cases
-- error 0A000
SELECT fv_insert();
SELECT fv_skipped(false);
-- error 0A000
SELECT fv_skipped(true);
-- error 0A000
SELECT fv_with();
-- error 0A000
SELECT fv_with_update();
-- error 0A000
SELECT fv_execute('TRUNCATE fv_t');
-- error 0A000
SELECT fv_execute('CREATE TABLE fv_new (a integer)');
-- error 0A000
SELECT fv_execute('SET my.own = 1');
-- error 0A000
SELECT fv_execute('CALL fv_procedure()');
-- error 0A000
SELECT fv_lock();
-- error 0A000
SELECT fv_sql();
-- error 0A000
SELECT fv_sql_update();
SELECT fv_execute('SELECT x FROM fv_t');
SELECT fv_calls();
ALTER FUNCTION fv_insert() VOLATILE;
SELECT fv_insert();
SELECT x FROM fv_t ORDER BY x;
