-- PREPARE and EXECUTE, SET and SHOW, BEGIN, COMMIT, ROLLBACK and savepoints, as one session sees them.
-- setup
CREATE TABLE se_t (id integer, v text);
INSERT INTO se_t VALUES (1, 'a'), (2, 'b'), (3, NULL);
-- cases
PREPARE se_one (integer) AS SELECT v FROM se_t WHERE id = $1;
EXECUTE se_one(2);
EXECUTE se_one(NULL);
EXECUTE se_one('3');
EXECUTE se_one(1 + 0);
PREPARE se_two AS SELECT $1::integer + $2::integer AS total, $1::text || 'x' AS t;
PREPARE se_three AS SELECT id FROM se_t WHERE v = $1 AND id < $2;
EXECUTE se_three('a', 5);
PREPARE se_ins (integer, text) AS INSERT INTO se_t VALUES ($1, $2);
EXECUTE se_ins(4, 'd');
EXECUTE se_ins(5, NULL);
-- ordered
SELECT * FROM se_t ORDER BY id;
-- error 42P05
PREPARE se_one AS SELECT 1;
-- error 42601
EXECUTE se_one;
-- error 42601
EXECUTE se_one(1, 2);
-- error 22P02
EXECUTE se_one('x');
-- error 26000
EXECUTE se_missing;
-- error 42P18
PREPARE se_unknown AS SELECT $1 IS NULL, $3::integer;
-- error 42883
PREPARE se_bad AS SELECT 1 + true;
DEALLOCATE se_one;
-- error 26000
EXECUTE se_one(1);
DEALLOCATE PREPARE se_three;
DEALLOCATE ALL;
-- error 26000
DEALLOCATE se_ins;
SHOW TimeZone;
SET TimeZone TO 'America/New_York';
SHOW timezone;
SELECT timestamptz '2024-07-04 12:00:00+00';
SET timezone = 'Asia/Kolkata';
SELECT timestamptz '2024-07-04 12:00:00+00', '2024-07-04 12:00:00'::timestamptz;
SET TIME ZONE 'UTC';
SHOW TIME ZONE;
-- error 22023
SET timezone = 'Mars/Olympus';
SET statement_timeout = 5000;
SHOW statement_timeout;
SET statement_timeout TO '2min';
SHOW statement_timeout;
RESET statement_timeout;
SHOW statement_timeout;
SET search_path TO public;
SHOW search_path;
SET application_name = 'differential';
SHOW application_name;
SELECT current_setting('application_name');
SELECT set_config('application_name', 'other', false);
SHOW client_encoding;
SHOW standard_conforming_strings;
SHOW transaction_isolation;
SHOW integer_datetimes;
SHOW server_encoding;
-- error 42704
SHOW no_such_parameter;
-- error 42704
SET no_such_parameter = 1;
-- error 22023
SET statement_timeout = 'soon';
SET my.own = 'setting';
SHOW my.own;
SET extra_float_digits = 1;
SET LOCAL application_name = 'outside a transaction';
SHOW application_name;
SELECT current_user, session_user, current_schema;
BEGIN;
INSERT INTO se_t VALUES (10, 'tx');
SELECT count(*) FROM se_t;
ROLLBACK;
SELECT count(*) FROM se_t;
START TRANSACTION;
DELETE FROM se_t WHERE id > 3;
UPDATE se_t SET v = 'z' WHERE id = 3;
-- ordered
SELECT * FROM se_t ORDER BY id;
COMMIT;
-- ordered
SELECT * FROM se_t ORDER BY id;
BEGIN;
-- error 42P01
SELECT * FROM se_missing;
-- error 25P02
SELECT 1;
COMMIT;
SELECT count(*) FROM se_t;
BEGIN;
INSERT INTO se_t VALUES (20, 'x');
SAVEPOINT s1;
INSERT INTO se_t VALUES (21, 'y');
ROLLBACK TO SAVEPOINT s1;
INSERT INTO se_t VALUES (22, 'z');
RELEASE SAVEPOINT s1;
COMMIT;
-- ordered
SELECT id FROM se_t ORDER BY id;
BEGIN;
SAVEPOINT a;
-- error 22012
SELECT 1 / 0;
ROLLBACK TO a;
SELECT 'alive' AS state;
-- error 3B001
ROLLBACK TO nowhere;
ROLLBACK;
RESET ROLE;
SET ROLE NONE;
SET SESSION AUTHORIZATION DEFAULT;
RESET SESSION AUTHORIZATION;
BEGIN READ ONLY;
SELECT count(*) FROM se_t;
-- error 25006
INSERT INTO se_t VALUES (30, 'no');
ROLLBACK;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SHOW transaction_isolation;
END;
COMMIT;
ROLLBACK;
-- error 25P01
SAVEPOINT outside;
BEGIN;
CREATE TABLE se_new (a integer);
INSERT INTO se_new VALUES (1);
SELECT * FROM se_new;
ROLLBACK;
-- error 42P01
SELECT * FROM se_new;
BEGIN;
DROP TABLE se_t;
-- error 42P01
SELECT * FROM se_t;
ROLLBACK;
SELECT count(*) FROM se_t;
BEGIN;
SET LOCAL TimeZone TO 'Europe/Berlin';
SHOW timezone;
COMMIT;
SHOW timezone;
BEGIN;
TRUNCATE se_t;
SELECT count(*) FROM se_t;
ABORT;
SELECT count(*) FROM se_t;
BEGIN;
BEGIN;
COMMIT AND CHAIN;
ROLLBACK;
DISCARD ALL;
SHOW application_name;
SELECT * FROM current_user AS u(who), current_date AS d WHERE u.who = current_user AND d = current_date;
-- error 42704
SELECT current_setting(current_user);
-- error 42P02
CREATE TABLE se_check (x integer CHECK (x > $1));
-- error 42P02
CREATE TABLE se_as AS SELECT $1;
-- error 42P02
CREATE TABLE se_default (x integer DEFAULT $1);
SET work_mem = '64MB';
SHOW work_mem;
SET work_mem = 100;
SHOW work_mem;
-- error 22023
SET work_mem = '1kB';
SET random_page_cost = 1.1;
SHOW random_page_cost;
SET enable_hashjoin TO off;
SHOW enable_hashjoin;
RESET enable_hashjoin;
-- error 22023
SET plan_cache_mode = nothing;
SELECT name, setting, unit FROM pg_settings WHERE name IN ('work_mem', 'random_page_cost', 'enable_hashjoin', 'effective_cache_size');
RESET ALL;
CREATE TABLE se_filled (a integer) WITH (fillfactor = 70, autovacuum_enabled = false);
ALTER TABLE se_filled SET (fillfactor = 80);
ALTER TABLE se_filled RESET (fillfactor);
ALTER TABLE se_filled ALTER COLUMN a SET STATISTICS 100;
-- error 22023
CREATE TABLE se_filled_otherwise (a integer) WITH (nothing = 1);
