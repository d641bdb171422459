-- CREATE, ALTER and DROP of schemas, tables and views, and what is refused.
-- cases
CREATE SCHEMA dd_one;
CREATE SCHEMA IF NOT EXISTS dd_one;
-- error 42P06
CREATE SCHEMA dd_one;
CREATE TABLE dd_one.t (a integer, "B c" text, c numeric(12,3), d char(4), e timestamptz);
-- error 42P07
CREATE TABLE dd_one.t (x integer);
CREATE TABLE IF NOT EXISTS dd_one.t (x integer);
-- error 3F000
CREATE TABLE dd_nowhere.t (a integer);
-- error 42701
CREATE TABLE dd_dup (a integer, a text);
-- error 42704
CREATE TABLE dd_bad (a nosuchtype);
-- error 42601
CREATE TABLE dd_bad (a integer,);
INSERT INTO dd_one.t VALUES (1, 'x', 1.2345, 'ab', '2024-02-29 12:00:00+02');
SELECT * FROM dd_one.t;
SELECT "B c", t.a, dd_one.t.c FROM dd_one.t;
-- error 42703
SELECT "A" FROM dd_one.t;
SELECT A, T.a FROM dd_one.T;
ALTER TABLE dd_one.t ADD COLUMN f integer;
ALTER TABLE dd_one.t ADD COLUMN g text DEFAULT 'dflt';
ALTER TABLE dd_one.t ADD COLUMN IF NOT EXISTS g text;
INSERT INTO dd_one.t (a) VALUES (2);
SELECT * FROM dd_one.t;
-- error 42701
ALTER TABLE dd_one.t ADD COLUMN a integer;
ALTER TABLE dd_one.t RENAME COLUMN f TO ff;
ALTER TABLE dd_one.t DROP COLUMN c;
ALTER TABLE dd_one.t DROP COLUMN IF EXISTS nope;
-- error 42703
ALTER TABLE dd_one.t DROP COLUMN nope;
-- error 42703
ALTER TABLE dd_one.t RENAME COLUMN nope TO x;
SELECT * FROM dd_one.t;
ALTER TABLE dd_one.t ALTER COLUMN ff SET DEFAULT 7;
INSERT INTO dd_one.t (a) VALUES (3);
ALTER TABLE dd_one.t ALTER COLUMN ff DROP DEFAULT;
INSERT INTO dd_one.t (a) VALUES (4);
SELECT a, ff FROM dd_one.t;
-- error 23502
ALTER TABLE dd_one.t ALTER COLUMN ff SET NOT NULL;
ALTER TABLE dd_one.t ALTER COLUMN a SET NOT NULL;
-- error 23502
INSERT INTO dd_one.t (a) VALUES (NULL);
ALTER TABLE dd_one.t ALTER COLUMN a DROP NOT NULL;
INSERT INTO dd_one.t (a) VALUES (NULL);
ALTER TABLE dd_one.t ALTER COLUMN a TYPE bigint;
SELECT a FROM dd_one.t;
ALTER TABLE dd_one.t RENAME TO u;
-- error 42P01
SELECT * FROM dd_one.t;
SELECT count(*) FROM dd_one.u;
-- error 42P01
ALTER TABLE dd_one.t ADD COLUMN z integer;
ALTER TABLE IF EXISTS dd_one.t ADD COLUMN z integer;
CREATE TABLE dd_plain (id integer PRIMARY KEY, v text);
ALTER TABLE dd_plain SET SCHEMA dd_one;
SELECT * FROM dd_one.dd_plain;
INSERT INTO dd_one.dd_plain VALUES (1, 'a');
-- error 23502
INSERT INTO dd_one.dd_plain VALUES (NULL, 'b');
CREATE VIEW dd_v AS SELECT id, v || '?' AS asked FROM dd_one.dd_plain;
SELECT * FROM dd_v;
CREATE VIEW dd_v2 (x, y) AS SELECT * FROM dd_v;
SELECT y FROM dd_v2;
-- error 42P07
CREATE VIEW dd_v AS SELECT 1;
CREATE OR REPLACE VIEW dd_v AS SELECT id, v || '!' AS asked FROM dd_one.dd_plain;
SELECT asked FROM dd_v;
-- error 42P16
CREATE OR REPLACE VIEW dd_v AS SELECT id FROM dd_one.dd_plain;
-- error 2BP01
DROP VIEW dd_v;
-- error 2BP01
DROP TABLE dd_one.dd_plain;
-- error 42809
DROP TABLE dd_v;
-- error 42809
DROP VIEW dd_one.dd_plain;
DROP VIEW dd_v2;
ALTER VIEW dd_v RENAME TO dd_w;
SELECT * FROM dd_w;
DROP VIEW dd_w;
DROP VIEW IF EXISTS dd_w;
-- error 42P01
DROP VIEW dd_w;
-- error 2BP01
DROP SCHEMA dd_one;
DROP TABLE dd_one.dd_plain, dd_one.u;
DROP SCHEMA dd_one;
-- error 3F000
DROP SCHEMA dd_one;
DROP SCHEMA IF EXISTS dd_one;
DROP TABLE IF EXISTS dd_missing;
-- error 42P01
DROP TABLE dd_missing;
CREATE SCHEMA dd_two;
CREATE TABLE dd_two.t (a integer);
CREATE VIEW dd_two.v AS SELECT a FROM dd_two.t;
DROP TABLE dd_two.t CASCADE;
-- error 42P01
SELECT * FROM dd_two.v;
DROP SCHEMA dd_two CASCADE;
CREATE TEMP TABLE dd_tmp (a integer);
INSERT INTO dd_tmp VALUES (1);
SELECT a FROM dd_tmp;
DROP TABLE dd_tmp;
CREATE TABLE dd_like_src (a integer NOT NULL, b text DEFAULT 'x');
CREATE TABLE dd_like (LIKE dd_like_src INCLUDING ALL);
INSERT INTO dd_like (a) VALUES (1);
SELECT a, b FROM dd_like;
CREATE TABLE dd_zero ();
SELECT * FROM dd_zero;
COMMENT ON TABLE dd_like IS 'a note';
-- ALTER TABLE takes its actions in an order of its own
CREATE UNLOGGED TABLE dd_order (a integer, b text, c integer);
INSERT INTO dd_order VALUES (1, '5', 9), (2, '6', 8);
ALTER TABLE dd_order ADD COLUMN c bigint DEFAULT 4, DROP COLUMN c, ALTER COLUMN b TYPE integer USING b::integer + 1;
ALTER TABLE dd_order ALTER COLUMN d SET NOT NULL, ADD COLUMN d integer DEFAULT 0, ADD CHECK (d >= 0), ADD UNIQUE (a, d);
SELECT * FROM dd_order;
-- error 42703
ALTER TABLE dd_order ADD COLUMN e integer, DROP COLUMN e;
-- error 23502
ALTER TABLE dd_order ADD COLUMN e integer NOT NULL;
ALTER TABLE dd_order SET LOGGED;
COMMENT ON CONSTRAINT dd_order_d_check ON dd_order IS 'not below';
SELECT obj_description(oid, 'pg_constraint') FROM pg_constraint WHERE conname = 'dd_order_d_check';
ALTER TABLE dd_order ADD CONSTRAINT dd_order_key PRIMARY KEY (a);
COMMENT ON CONSTRAINT dd_order_key ON dd_order IS 'one of each';
SELECT obj_description(oid, 'pg_constraint') FROM pg_constraint WHERE conname = 'dd_order_key';
ALTER TABLE dd_order RENAME CONSTRAINT dd_order_key TO dd_order_a;
SELECT obj_description(oid, 'pg_constraint') FROM pg_constraint WHERE conname = 'dd_order_a';
ALTER TABLE dd_order DROP CONSTRAINT dd_order_a, ADD PRIMARY KEY (a);
SELECT obj_description(oid, 'pg_constraint') FROM pg_constraint WHERE conname = 'dd_order_pkey';
-- a relation's name may begin with that of the database
SELECT (current_database() || '.public.dd_order')::regclass, to_regclass(quote_ident(current_database()) || '."public".dd_order');
-- error 0A000
SELECT 'elsewhere.public.dd_order'::regclass;
-- names of objects in arrays
SELECT '{int,int8,pg_catalog.text}'::regtype[], 23 = ANY ('{int,int2}'::regtype[]), NULL::text::regtype[];
SELECT array_agg(atttypid::regtype ORDER BY attnum)::regtype[]::text[] FROM pg_attribute WHERE attrelid = 'dd_order'::regclass AND attnum > 0 AND NOT attisdropped;
SELECT (ARRAY[attrelid, attrelid]::regclass[])::text[], ARRAY[]::oid[]::regclass[]::text[] FROM pg_attribute WHERE attrelid = 'dd_order'::regclass AND attname = 'a';
CREATE INDEX dd_order_i ON dd_order (b);
COMMENT ON INDEX dd_order_i IS 'declared';
SELECT obj_description('dd_order_i'::regclass, 'pg_class');
-- error 42704
COMMENT ON CONSTRAINT nope ON dd_order IS 'x';
-- error 42P01
COMMENT ON INDEX dd_nope IS 'x';
-- error 42P01
COMMENT ON CONSTRAINT nope ON dd_nowhere IS 'x';
TRUNCATE ONLY dd_order CONTINUE IDENTITY RESTRICT;
TRUNCATE dd_order, dd_order;
DROP TABLE dd_order, dd_like;
CREATE TABLE dd_a (x integer);
CREATE VIEW dd_av AS SELECT x FROM dd_a;
-- error 2BP01
DROP TABLE dd_a, dd_like_src;
SELECT count(*) FROM dd_like_src;
DROP VIEW dd_av, dd_av;
-- views follow what they read
CREATE SCHEMA dd_vs;
CREATE TABLE dd_base (a integer, b text, c integer);
INSERT INTO dd_base VALUES (1, 'x', 10), (2, 'y', 20);
CREATE VIEW dd_v1 AS SELECT b, dd_base.c + a AS n FROM dd_base WHERE a > 0;
CREATE VIEW dd_v2 AS SELECT x.b, v.n FROM dd_base AS x JOIN dd_v1 AS v USING (b);
CREATE VIEW dd_v3 AS SELECT * FROM dd_base;
ALTER TABLE dd_base RENAME COLUMN b TO bb;
SELECT * FROM dd_v1;
SELECT * FROM dd_v2;
SELECT * FROM dd_v3;
ALTER TABLE dd_base RENAME TO dd_ground;
SELECT * FROM dd_v1;
SELECT * FROM dd_v2;
ALTER TABLE dd_ground RENAME COLUMN a TO aa;
ALTER TABLE dd_ground RENAME COLUMN bb TO b;
SELECT * FROM dd_v2;
ALTER VIEW dd_v1 RENAME COLUMN n TO total;
SELECT * FROM dd_v2;
ALTER VIEW dd_v1 RENAME TO dd_first;
SELECT * FROM dd_v2;
ALTER TABLE dd_ground SET SCHEMA dd_vs;
SELECT * FROM dd_v2;
ALTER SCHEMA dd_vs RENAME TO dd_ws;
SELECT * FROM dd_v3;
INSERT INTO dd_ws.dd_ground VALUES (3, 'z', 30);
SELECT * FROM dd_first;
-- error 2BP01
DROP TABLE dd_ws.dd_ground;
-- error 42703
SELECT bb FROM dd_v3;
DROP SCHEMA dd_ws CASCADE;
-- error 42P01
SELECT * FROM dd_v2;
-- error 0A000
ALTER TABLE nowhere ADD CONSTRAINT c CHECK (a > 0) DEFERRABLE;
-- error 0A000
ALTER TABLE nowhere ADD CONSTRAINT c UNIQUE (a) NOT VALID;
-- error 0A000
ALTER TABLE nowhere ADD CONSTRAINT c PRIMARY KEY (a) NO INHERIT;
-- error 0A000
CREATE AGGREGATE ag (OUT int) (sfunc = int4pl, stype = int);
