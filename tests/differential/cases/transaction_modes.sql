-- READ ONLY, isolation levels and DEFERRABLE: how long they last, and when they may change.
-- setup
CREATE TABLE tm_t (a integer);
INSERT INTO tm_t VALUES (1);
CREATE SEQUENCE tm_s;
CREATE FUNCTION tm_f() RETURNS integer LANGUAGE plpgsql AS $$ BEGIN INSERT INTO tm_t VALUES (9); RETURN 1; END $$;
CREATE PROCEDURE tm_chain(OUT first text, OUT second text, OUT third text) LANGUAGE plpgsql AS $$ BEGIN COMMIT; SET TRANSACTION READ ONLY; first := current_setting('transaction_read_only'); COMMIT AND CHAIN; second := current_setting('transaction_read_only'); COMMIT; third := current_setting('transaction_read_only'); END $$;
SET default_transaction_isolation = 'read committed';
-- messages
SHOW transaction_isolation;
SHOW transaction_read_only;
SHOW transaction_deferrable;
BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY, DEFERRABLE;
SHOW transaction_isolation;
SHOW transaction_read_only;
SHOW transaction_deferrable;
SELECT * FROM tm_t;
-- error 25006
INSERT INTO tm_t VALUES (2);
COMMIT AND CHAIN;
SHOW transaction_isolation;
SHOW transaction_read_only;
SHOW transaction_deferrable;
UPDATE tm_t SET a = 2;
ROLLBACK AND CHAIN;
SHOW transaction_read_only;
SHOW transaction_isolation;
SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY;
COMMIT AND CHAIN;
SHOW transaction_isolation;
-- error 25006
UPDATE tm_t SET a = 2;
ROLLBACK AND CHAIN;
SHOW transaction_read_only;
COMMIT;
SHOW transaction_read_only;
SHOW transaction_isolation;
SHOW transaction_deferrable;
-- READ WRITE before the first query alone
BEGIN READ ONLY;
SET TRANSACTION READ WRITE;
INSERT INTO tm_t VALUES (2);
SET TRANSACTION READ ONLY;
-- error 25001
SET TRANSACTION READ WRITE;
ROLLBACK;
BEGIN READ ONLY;
SHOW transaction_read_only;
SET LOCAL my.own = 'x';
SET TRANSACTION READ WRITE;
SHOW transaction_read_only;
ROLLBACK;
BEGIN READ ONLY;
SELECT 1;
-- error 25001
SET TRANSACTION READ WRITE;
ROLLBACK;
BEGIN READ ONLY;
SELECT 1;
-- error 25001
SET transaction_read_only = off;
ROLLBACK;
BEGIN READ ONLY;
-- error 25001
SELECT set_config('transaction_read_only', 'off', false);
ROLLBACK;
BEGIN READ ONLY;
SELECT 1;
SET TRANSACTION READ ONLY;
SET transaction_read_only = on;
COMMIT;
-- In a savepoint
BEGIN READ ONLY;
SAVEPOINT s;
-- error 25001
SET TRANSACTION READ WRITE;
ROLLBACK TO s;
SHOW transaction_read_only;
-- error 25001
SET LOCAL transaction_read_only TO off;
ROLLBACK TO s;
-- error 25006
DELETE FROM tm_t;
ROLLBACK;
BEGIN;
SAVEPOINT s;
SET TRANSACTION READ ONLY;
SHOW transaction_read_only;
-- error 25001
SET TRANSACTION READ WRITE;
ROLLBACK TO s;
SHOW transaction_read_only;
SET TRANSACTION READ ONLY;
SAVEPOINT inner_one;
RELEASE inner_one;
SHOW transaction_read_only;
RELEASE s;
SHOW transaction_read_only;
INSERT INTO tm_t VALUES (3);
SAVEPOINT s;
-- error 25001
SET TRANSACTION ISOLATION LEVEL REPEATABLE READ;
ROLLBACK;
BEGIN;
SAVEPOINT s;
-- error 25001
SET TRANSACTION ISOLATION LEVEL REPEATABLE READ;
ROLLBACK TO s;
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
-- error 25001
SET TRANSACTION DEFERRABLE;
ROLLBACK;
-- Isolation levels
BEGIN;
SET TRANSACTION ISOLATION LEVEL REPEATABLE READ;
SHOW transaction_isolation;
SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED;
SHOW transaction_isolation;
SELECT 1;
SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED;
-- error 25001
SET TRANSACTION ISOLATION LEVEL REPEATABLE READ;
ROLLBACK;
BEGIN;
SELECT 1;
-- error 25001
SET transaction_isolation = 'repeatable read';
ROLLBACK;
BEGIN;
LOCK TABLE tm_t IN ACCESS SHARE MODE;
SHOW timezone;
SET TRANSACTION ISOLATION LEVEL REPEATABLE READ;
SELECT 1;
-- error 25001
SET TRANSACTION NOT DEFERRABLE;
ROLLBACK;
BEGIN;
-- error 22023
SET transaction_isolation = 'nothing';
ROLLBACK;
-- error 0A000
RESET transaction_isolation;
-- error 0A000
SET transaction_read_only TO DEFAULT;
-- Defaults
SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY, DEFERRABLE;
SHOW default_transaction_isolation;
SHOW default_transaction_read_only;
SHOW default_transaction_deferrable;
SHOW transaction_isolation;
SHOW transaction_deferrable;
-- error 25006
INSERT INTO tm_t VALUES (4);
BEGIN READ WRITE;
SHOW transaction_isolation;
INSERT INTO tm_t VALUES (4);
COMMIT;
START TRANSACTION ISOLATION LEVEL READ COMMITTED;
SHOW transaction_isolation;
SHOW transaction_read_only;
SET default_transaction_read_only = off;
SHOW transaction_read_only;
COMMIT;
SHOW transaction_read_only;
SET default_transaction_isolation = 'read committed';
RESET default_transaction_deferrable;
RESET ALL;
SET default_transaction_isolation = 'read committed';
BEGIN READ ONLY;
RESET ALL;
SHOW transaction_read_only;
COMMIT;
SET default_transaction_isolation = 'read committed';
-- What a read-only transaction refuses
BEGIN READ ONLY;
SAVEPOINT s;
-- error 25006
CREATE TABLE tm_new (a integer);
ROLLBACK TO s;
-- error 25006
CREATE TEMP TABLE tm_new (a integer);
ROLLBACK TO s;
-- error 25006
TRUNCATE tm_t;
ROLLBACK TO s;
-- error 25006
DROP TABLE tm_t;
ROLLBACK TO s;
-- error 25006
ALTER TABLE tm_t ADD COLUMN b integer;
ROLLBACK TO s;
-- error 25006
MERGE INTO tm_t USING (VALUES (1)) v(x) ON a = x WHEN MATCHED THEN DELETE;
ROLLBACK TO s;
-- error 25006
WITH gone AS (DELETE FROM tm_t RETURNING a) SELECT * FROM gone;
ROLLBACK TO s;
-- error 25006
SELECT a INTO tm_new FROM tm_t;
ROLLBACK TO s;
-- error 25006
SELECT nextval('tm_s');
ROLLBACK TO s;
-- error 25006
SELECT setval('tm_s', 5);
ROLLBACK TO s;
-- error 25006
SELECT a FROM tm_t FOR UPDATE;
ROLLBACK TO s;
-- error 25006
SELECT a FROM tm_t FOR KEY SHARE;
ROLLBACK TO s;
-- error 25006
COMMENT ON TABLE tm_t IS 'x';
ROLLBACK TO s;
-- error 25006
GRANT SELECT ON tm_t TO PUBLIC;
ROLLBACK TO s;
-- error 25006
CREATE ROLE tm_r;
ROLLBACK TO s;
-- error 25006
SELECT tm_f();
ROLLBACK TO s;
-- error 25006
DO $$ BEGIN DELETE FROM tm_t; END $$;
ROLLBACK TO s;
-- error 25006
CREATE VIEW tm_v AS SELECT 1;
ROLLBACK TO s;
-- error 25006
CREATE FUNCTION tm_g() RETURNS integer LANGUAGE sql AS 'SELECT 1';
ROLLBACK TO s;
-- error 25006
CREATE SCHEMA tm_schema;
ROLLBACK TO s;
-- error 25006
CREATE INDEX ON tm_t (a);
ROLLBACK TO s;
-- error 25006
ALTER SEQUENCE tm_s RESTART;
ROLLBACK TO s;
-- error 25006
ALTER FUNCTION tm_f() STRICT;
ROLLBACK TO s;
-- error 25006
REASSIGN OWNED BY CURRENT_USER TO CURRENT_USER;
ROLLBACK TO s;
PREPARE tm_p AS INSERT INTO tm_t VALUES (1);
-- error 25006
EXECUTE tm_p;
ROLLBACK TO s;
LISTEN tm_channel;
NOTIFY tm_channel;
UNLISTEN tm_channel;
SET my.own = 'x';
LOCK TABLE tm_t IN ROW EXCLUSIVE MODE;
SELECT pg_advisory_xact_lock(39);
COMMIT;
CREATE TEMP TABLE tm_temp (a integer);
BEGIN READ ONLY;
INSERT INTO tm_temp VALUES (1), (2);
UPDATE tm_temp SET a = 3 WHERE a = 1;
DELETE FROM tm_temp WHERE a = 2;
SELECT a FROM tm_temp;
COMMIT;
SELECT a FROM tm_temp;
SELECT count(*) FROM tm_t;
CALL tm_chain(NULL, NULL, NULL);
