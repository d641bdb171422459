-- What DROP and ALTER … DROP COLUMN say of everything that depends on an object; parameters and enum labels too new.
-- messages
CREATE TABLE dd_t (id integer PRIMARY KEY, a integer, b text);
CREATE VIEW dd_v AS SELECT id, a FROM dd_t;
CREATE VIEW dd_w AS SELECT a FROM dd_v;
CREATE VIEW dd_x AS SELECT b FROM dd_t;
-- error 2BP01
DROP TABLE dd_t;
-- error 2BP01
DROP VIEW dd_v;
-- error 2BP01
ALTER TABLE dd_t DROP COLUMN a;
-- error 2BP01
ALTER TABLE dd_t DROP COLUMN b;
ALTER TABLE dd_t DROP COLUMN a CASCADE;
-- error 42P01
SELECT * FROM dd_v;
SELECT * FROM dd_x;
CREATE VIEW dd_v AS SELECT id FROM dd_t;
-- error 0A000
ALTER TABLE dd_t ALTER COLUMN id TYPE bigint;
-- error 2BP01
ALTER TABLE dd_t DROP COLUMN id;
DROP TABLE dd_t CASCADE;
CREATE TABLE dd_p (id integer PRIMARY KEY);
CREATE TABLE dd_c (p integer REFERENCES dd_p);
CREATE TABLE dd_c2 (p integer REFERENCES dd_p);
-- error 2BP01
DROP TABLE dd_p;
CREATE VIEW dd_pv AS SELECT * FROM dd_p;
-- error 2BP01
DROP TABLE dd_p;
-- error 2BP01
ALTER TABLE dd_p DROP COLUMN id;
-- error 2BP01
ALTER TABLE dd_p DROP CONSTRAINT dd_p_pkey;
CREATE SEQUENCE dd_s;
CREATE TABLE dd_d (a integer DEFAULT nextval('dd_s'), b integer DEFAULT nextval('dd_s'));
-- error 2BP01
DROP SEQUENCE dd_s;
CREATE TYPE dd_e AS ENUM ('x', 'y');
CREATE TABLE dd_te (a dd_e, b dd_e[]);
CREATE FUNCTION dd_f(dd_e) RETURNS integer LANGUAGE sql AS 'SELECT 1';
CREATE DOMAIN dd_dom AS integer;
CREATE TABLE dd_td (a dd_dom, b dd_dom);
CREATE SCHEMA dd_sch;
CREATE TABLE dd_sch.t1 (a integer);
CREATE VIEW dd_sch.v1 AS SELECT * FROM dd_sch.t1;
CREATE FUNCTION dd_sch.f1() RETURNS integer LANGUAGE sql AS 'SELECT 1';
CREATE TYPE dd_sch.e1 AS ENUM ('q');
CREATE SEQUENCE dd_sch.s1;
-- error 2BP01
DROP SCHEMA dd_sch;
CREATE FUNCTION dd_fn(integer) RETURNS integer LANGUAGE sql AS 'SELECT $1 + 1';
CREATE VIEW dd_fv AS SELECT dd_fn(1) AS x;
CREATE VIEW dd_fv2 AS SELECT dd_fn(2) AS x;
-- error 2BP01
DROP FUNCTION dd_fn(integer);
CREATE TABLE dd_gen (a integer, g integer GENERATED ALWAYS AS (a + 1) STORED);
-- error 2BP01
ALTER TABLE dd_gen DROP COLUMN a;
-- error 42703
ALTER TABLE dd_gen DROP COLUMN nosuch;
-- error 42P02
SELECT $1 IS NULL;
-- error 42P18
PREPARE dd_1 AS SELECT $1 IS NULL;
-- error 42P18
PREPARE dd_2 AS SELECT $2;
PREPARE dd_3 AS SELECT $1;
-- error 42P18
PREPARE dd_4 AS SELECT $1 IS NOT NULL OR true;
-- error 42P18
PREPARE dd_7 AS SELECT count($1);
PREPARE dd_8 AS SELECT $1 = $2;
PREPARE dd_9 AS SELECT coalesce($1, $2);
-- error 42P18
PREPARE dd_10 AS SELECT CASE WHEN $1 IS NULL THEN 1 END;
-- error 42P18
PREPARE dd_11 AS SELECT pg_typeof($1);
-- error 42P18
PREPARE dd_12 AS SELECT num_nulls($1);
BEGIN;
ALTER TYPE dd_e ADD VALUE 'z';
-- error 55P04
SELECT 'z'::dd_e;
ROLLBACK;
BEGIN;
ALTER TYPE dd_e ADD VALUE 'z';
-- error 55P04
INSERT INTO dd_te VALUES ('z');
ROLLBACK;
BEGIN;
CREATE TYPE dd_new AS ENUM ('a');
ALTER TYPE dd_new ADD VALUE 'b';
ROLLBACK;
BEGIN;
ALTER TYPE dd_e ADD VALUE 'zz';
COMMIT;
SELECT 'zz'::dd_e;
-- error 0A000
DO LANGUAGE sql 'SELECT 1';
-- error 42704
CREATE FUNCTION dd_pl() RETURNS integer LANGUAGE nosuch AS 'x';

-- Names outside of the search path are told with their schema.
CREATE SCHEMA dp_far;
CREATE TABLE dp_far.a (id integer PRIMARY KEY, m integer);
CREATE VIEW dp_far.v AS SELECT id FROM dp_far.a;
CREATE TABLE dp_far."B b" (id integer REFERENCES dp_far.a (id));
CREATE SEQUENCE dp_far.s;
CREATE TABLE dp_far.drawn (n integer DEFAULT nextval('dp_far.s'));
-- error 42P01
DROP VIEW dp_far.v, dp_far.nope;
-- error 42P01
DROP TABLE dp_far.nope;
-- error 42P01
DROP VIEW dp_far.nope;
-- error 42704
DROP INDEX dp_far.nope;
-- error 2BP01
DROP SEQUENCE dp_far.s;
DROP TABLE dp_far."B b";
-- error 2BP01
DROP TABLE dp_far.a;
-- error 2BP01
ALTER TABLE dp_far.a DROP COLUMN id;
SET search_path = dp_far;
-- error 2BP01
DROP TABLE a;
RESET search_path;
DROP SCHEMA dp_far CASCADE;
