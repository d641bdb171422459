-- ALTER of a column's type, defaults that their columns do not hold, tables that cursors read.
-- setup
CREATE TABLE al_t (a integer CHECK (a < 5), b bytea, c text, d text[] GENERATED ALWAYS AS ('{a,"b c"}') STORED);
CREATE TABLE al_u (a integer, b text);
INSERT INTO al_u VALUES (1, '1'), (2, 'x');
-- messages
-- error 42804
ALTER TABLE al_t ALTER b TYPE int4range;
-- error 42804
ALTER TABLE al_t ALTER b TYPE date USING 1;
-- error 42611
ALTER TABLE al_t ALTER d TYPE text USING 'x';
-- cases
-- error 42883
ALTER TABLE al_t ALTER a TYPE bytea USING NULL::bytea;
-- error 22P02
ALTER TABLE al_u ALTER b TYPE integer USING b::integer;
ALTER TABLE al_t ALTER a SET DEFAULT 3;
-- error 42804
ALTER TABLE al_t ALTER a TYPE date USING NULL::date;
ALTER TABLE al_u ALTER a TYPE text;
SELECT * FROM al_u;
CREATE TABLE al_d (a integer, b smallint DEFAULT 40000, c varchar(3) GENERATED ALWAYS AS ('abcdef') STORED, d numeric(3,1) DEFAULT 12345.6);
-- error 22003
INSERT INTO al_d (a) VALUES (1);
-- error 22001
INSERT INTO al_d VALUES (1, 2, DEFAULT, 3);
-- error 22003
CREATE TABLE al_e (b smallint DEFAULT '40000');
-- error 22P02
CREATE TABLE al_e (b smallint DEFAULT 'x');
ALTER TABLE al_d ALTER a SET DEFAULT 9999999999;
BEGIN;
DECLARE al_c CURSOR FOR SELECT * FROM al_u WHERE a IN (SELECT c FROM al_t);
SAVEPOINT one;
-- error 55006
ALTER TABLE al_u ADD c integer;
ROLLBACK TO one;
-- error 55006
CREATE INDEX ON al_t (a);
ROLLBACK TO one;
-- error 55006
TRUNCATE al_u;
ROLLBACK TO one;
-- error 55006
DROP TABLE al_t;
ROLLBACK TO one;
CLOSE al_c;
ALTER TABLE al_u ADD c integer;
COMMIT;
CREATE TABLE al_c (a text DEFAULT '10', b text DEFAULT 'x');
-- error 42804
ALTER TABLE al_c ALTER a TYPE bytea USING a::bytea;
ALTER TABLE al_c ALTER b TYPE varchar(5);
CREATE MATERIALIZED VIEW al_m AS SELECT 1 AS a;
CREATE VIEW al_v AS SELECT 1 AS a;
CREATE SEQUENCE al_s;
-- error 42809
ALTER VIEW al_m RENAME TO al_n;
-- error 42809
ALTER MATERIALIZED VIEW al_v RENAME TO al_n;
-- error 42809
ALTER VIEW al_s SET SCHEMA pg_temp;
-- error 42809
ALTER SEQUENCE al_v RENAME TO al_n;
ALTER TABLE al_m RENAME TO al_n;
CREATE TABLE al_null (a time DEFAULT NULL, b varchar(5) DEFAULT NULL, c integer DEFAULT 5, d text DEFAULT 'x');
ALTER TABLE al_null ALTER c SET DEFAULT NULL, ALTER d DROP DEFAULT;
SELECT attname, atthasdef FROM pg_attribute WHERE attrelid = 'al_null'::regclass AND attnum > 0;
CREATE TABLE al_pass (a integer, b integer DEFAULT 1);
ALTER TABLE al_pass ALTER b DROP DEFAULT, DROP COLUMN b;
