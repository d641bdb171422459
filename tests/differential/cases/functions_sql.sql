-- Functions in SQL: their definitions, calls, overloads, defaults and names of arguments; functions in FROM.
-- cases
CREATE FUNCTION fs_add(a integer, b integer DEFAULT 10) RETURNS integer LANGUAGE sql IMMUTABLE AS 'SELECT a + b';
SELECT fs_add(1, 2), fs_add(5), fs_add(a => 1, b => 2), fs_add(b => 3, a => 4), fs_add(7, b => 1);
SELECT fs_add(NULL, 1), fs_add(NULL);
-- error 42883
SELECT fs_add('x'::text, 1);
-- error 42883
SELECT fs_add();
-- error 42883
SELECT fs_add(c => 1);
-- error 42601
SELECT fs_add(a => 1, 2);
-- error 42601
SELECT fs_add(a => 1, a => 2);
CREATE FUNCTION fs_add(a text, b text) RETURNS text LANGUAGE sql AS $$ SELECT $1 || '+' || $2 $$;
SELECT fs_add('x'::text, 'y'), fs_add(1, 2), fs_add('3', 4);
CREATE FUNCTION fs_square(double precision) RETURNS double precision LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE RETURN $1 * $1;
SELECT fs_square(3), fs_square(NULL), fs_square(2.5);
CREATE FUNCTION fs_label(n integer) RETURNS text LANGUAGE sql AS $$
    SELECT CASE WHEN n < 0 THEN 'negative' WHEN n = 0 THEN 'zero' ELSE repeat('*', n) END
$$;
SELECT n, fs_label(n) FROM generate_series(-1, 3) AS g(n) ORDER BY n;
CREATE TABLE fs_items (id integer PRIMARY KEY, kind text, price numeric(8,2));
INSERT INTO fs_items SELECT n, 'k' || n % 3, n * 1.25 FROM generate_series(1, 12) AS g(n);
CREATE FUNCTION fs_total(wanted text) RETURNS numeric LANGUAGE sql STABLE AS 'SELECT sum(price) FROM fs_items WHERE kind = wanted';
SELECT fs_total('k1'), fs_total('none');
SELECT kind, count(*), fs_total(kind) FROM fs_items GROUP BY kind ORDER BY kind;
SELECT k, fs_total(k) FROM (VALUES ('k0'), ('k2'), (NULL)) AS v(k) ORDER BY k;
SELECT id FROM fs_items WHERE price > fs_total('k1') / 4 ORDER BY id;
CREATE FUNCTION fs_first(wanted text) RETURNS integer LANGUAGE sql AS 'SELECT id FROM fs_items WHERE kind = wanted ORDER BY id DESC';
SELECT fs_first('k1'), fs_first('nothing');
-- A parameter and a column of one name: the column is meant.
CREATE FUNCTION fs_shadow(id integer) RETURNS bigint LANGUAGE sql AS 'SELECT count(*) FROM fs_items WHERE id = id';
SELECT fs_shadow(3);
CREATE FUNCTION fs_named(id integer) RETURNS bigint LANGUAGE sql AS 'SELECT count(*) FROM fs_items WHERE fs_items.id <= fs_named.id';
SELECT fs_named(3);
-- Sets.
CREATE FUNCTION fs_of(wanted text) RETURNS TABLE (item integer, cost numeric) LANGUAGE sql AS 'SELECT id, price FROM fs_items WHERE kind = wanted';
SELECT * FROM fs_of('k1') ORDER BY item;
SELECT f.item, f.cost * 2 AS twice FROM fs_of('k2') AS f WHERE f.item > 3 ORDER BY 1;
SELECT v.k, f.item FROM (VALUES ('k0'), ('k1')) AS v(k), fs_of(v.k) AS f WHERE f.item < 5 ORDER BY 1, 2;
SELECT v.k, f.item FROM (VALUES ('k0'), ('zz')) AS v(k) LEFT JOIN LATERAL fs_of(v.k) AS f(item, c) ON f.item < 5 ORDER BY 1, 2;
SELECT count(*), sum(cost) FROM fs_of('k0');
CREATE FUNCTION fs_upto(n integer) RETURNS SETOF integer LANGUAGE sql AS 'SELECT * FROM generate_series(1, n)';
SELECT * FROM fs_upto(3);
SELECT * FROM fs_upto(3) AS t;
SELECT t.x + 1 AS next FROM fs_upto(3) AS t(x);
SELECT fs_upto(3);
SELECT n, fs_upto(n) FROM generate_series(0, 3) AS g(n) ORDER BY 1, 2;
CREATE FUNCTION fs_strict_set(n integer) RETURNS SETOF integer LANGUAGE sql STRICT AS 'SELECT 1 UNION ALL SELECT 2';
SELECT count(*) FROM fs_strict_set(NULL);
SELECT count(*) FROM fs_strict_set(1);
CREATE FUNCTION fs_split(value integer, OUT tens integer, OUT ones integer) LANGUAGE sql IMMUTABLE AS 'SELECT value / 10, value % 10';
SELECT * FROM fs_split(47);
SELECT s.tens, s.ones FROM (VALUES (12), (99)) AS v(n), fs_split(v.n) AS s ORDER BY 1;
CREATE FUNCTION fs_rows() RETURNS SETOF fs_items LANGUAGE sql AS 'SELECT * FROM fs_items WHERE id < 3';
SELECT * FROM fs_rows() ORDER BY id;
SELECT kind FROM fs_rows() WHERE id = 2;
CREATE FUNCTION fs_out(INOUT a integer) LANGUAGE sql AS 'SELECT a * 3';
SELECT fs_out(4);
SELECT * FROM fs_out(5);
SELECT * FROM fs_add(1, 1) AS sum;
-- A volatile argument is computed once.
CREATE FUNCTION fs_same(x double precision) RETURNS boolean LANGUAGE sql AS 'SELECT x = x';
SELECT bool_and(fs_same(random())) FROM generate_series(1, 100);
CREATE FUNCTION fs_zero(x double precision) RETURNS double precision LANGUAGE sql AS 'SELECT x - x';
SELECT count(*) FROM generate_series(1, 50) WHERE fs_zero(random()) <> 0;
-- Functions in functions.
CREATE FUNCTION fs_twice(n integer) RETURNS integer LANGUAGE sql AS 'SELECT fs_add(n, n)';
SELECT fs_twice(fs_twice(3));
CREATE FUNCTION fs_recent(n integer) RETURNS SETOF text LANGUAGE sql AS 'SELECT kind FROM fs_rows() WHERE id <= fs_twice(n)';
SELECT * FROM fs_recent(1) ORDER BY 1;
-- In other statements.
CREATE VIEW fs_view AS SELECT id, fs_twice(id) AS twice FROM fs_items;
SELECT max(twice) FROM fs_view;
INSERT INTO fs_items VALUES (fs_add(50, 50), fs_label(2), fs_square(3)) RETURNING *;
UPDATE fs_items SET price = fs_add(id, 1) WHERE id = 100 RETURNING price;
DELETE FROM fs_items WHERE id = fs_add(99, 1);
CREATE TABLE fs_default (a integer DEFAULT fs_add(1, 1), b integer GENERATED ALWAYS AS (fs_add(2, 3)) STORED);
INSERT INTO fs_default DEFAULT VALUES RETURNING *;
-- Replacing.
CREATE OR REPLACE FUNCTION fs_twice(n integer) RETURNS integer LANGUAGE sql AS 'SELECT n * 2 + 1';
SELECT fs_twice(5), (SELECT max(twice) FROM fs_view);
-- error 42723
CREATE FUNCTION fs_twice(n integer) RETURNS integer LANGUAGE sql AS 'SELECT 1';
-- error 42P13
CREATE OR REPLACE FUNCTION fs_twice(n integer) RETURNS text LANGUAGE sql AS 'SELECT 1::text';
-- error 42P13
CREATE OR REPLACE FUNCTION fs_twice(m integer) RETURNS integer LANGUAGE sql AS 'SELECT 1';
-- error 42P13
CREATE FUNCTION fs_bad(a integer) RETURNS date LANGUAGE sql AS 'SELECT a';
-- error 42P13
CREATE FUNCTION fs_bad(a integer) RETURNS integer LANGUAGE sql AS 'SELECT a, a';
-- error 42P13
CREATE FUNCTION fs_bad() RETURNS TABLE (a integer, b text) LANGUAGE sql AS 'SELECT 1';
-- error 42P13
CREATE FUNCTION fs_bad() RETURNS TABLE (a integer, b date) LANGUAGE sql AS 'SELECT 1, 2';
-- error 42P01
CREATE FUNCTION fs_bad() RETURNS integer LANGUAGE sql AS 'SELECT a FROM fs_nowhere';
-- error 42703
CREATE FUNCTION fs_bad(a integer) RETURNS integer LANGUAGE sql AS 'SELECT b';
-- error 42P02
CREATE FUNCTION fs_bad(a integer) RETURNS integer LANGUAGE sql AS 'SELECT $2';
-- error 42601
CREATE FUNCTION fs_bad() RETURNS integer LANGUAGE sql AS 'SELECT FROM WHERE';
-- error 42P13
CREATE FUNCTION fs_bad() RETURNS integer LANGUAGE sql;
-- error 42P13
CREATE FUNCTION fs_bad(a integer DEFAULT 1, b integer) RETURNS integer LANGUAGE sql AS 'SELECT a';
-- error 42704
CREATE FUNCTION fs_bad() RETURNS integer LANGUAGE nosuch AS 'SELECT 1';
-- error 42704
CREATE FUNCTION fs_bad(a nosuch) RETURNS integer LANGUAGE sql AS 'SELECT 1';
-- The standard's bodies.
CREATE FUNCTION fs_std(a integer, b integer) RETURNS integer IMMUTABLE RETURN a * b;
SELECT fs_std(6, 7);
CREATE FUNCTION fs_atomic(a integer) RETURNS SETOF integer BEGIN ATOMIC SELECT id FROM fs_items WHERE id > a; END;
SELECT * FROM fs_atomic(10) ORDER BY 1;
-- Named arguments of PostgreSQL's own.
SELECT make_interval(days => 3, hours => 2), make_interval(1, secs => 1.5);
SELECT make_date(month => 2, day => 29, year => 2024);
-- error 42883
SELECT make_date(month => 2, dat => 29, year => 2024);
-- Catalog.
SELECT proname, prokind, provolatile, proisstrict, proretset, pronargs, pronargdefaults, prorettype::regtype
FROM pg_proc WHERE proname LIKE 'fs%' ORDER BY proname, pronargs, oid;
SELECT proname, pg_get_function_arguments(oid), pg_get_function_result(oid), pg_get_function_identity_arguments(oid)
FROM pg_proc WHERE proname IN ('fs_add', 'fs_of', 'fs_split', 'fs_upto', 'fs_out') ORDER BY 1, 2;
SELECT pg_get_functiondef('fs_label'::regproc);
SELECT pg_get_functiondef('fs_add(integer,integer)'::regprocedure);
SELECT routine_name, routine_type, data_type FROM information_schema.routines WHERE routine_name LIKE 'fs_a%' ORDER BY 1, 3;
COMMENT ON FUNCTION fs_label IS 'stars';
SELECT obj_description('fs_label'::regproc, 'pg_proc');
-- Dropping and renaming.
-- error 2BP01
DROP FUNCTION fs_twice;
ALTER FUNCTION fs_label(integer) RENAME TO fs_stars;
SELECT fs_stars(2);
-- error 42883
SELECT fs_label(2);
-- error 42725
DROP FUNCTION fs_add;
-- error 42883
DROP FUNCTION fs_add(date);
-- error 42883
DROP FUNCTION fs_none;
DROP FUNCTION IF EXISTS fs_none;
DROP FUNCTION fs_add(text, text), fs_stars;
-- error 42883
DROP PROCEDURE fs_upto;
-- error 42809
DROP PROCEDURE fs_upto(integer);
CREATE SCHEMA fs_there;
CREATE FUNCTION fs_there.only_one() RETURNS integer LANGUAGE sql AS 'SELECT 77';
SELECT fs_there.only_one();
-- error 42883
SELECT only_one();
SET search_path = fs_there, public;
SELECT only_one();
RESET search_path;
DROP SCHEMA fs_there CASCADE;
-- error 3F000
CREATE FUNCTION fs_nowhere.f() RETURNS integer LANGUAGE sql AS 'SELECT 1';
-- What a function returns or was parsed with stays as long as it does.
-- error 2BP01
DROP TABLE fs_items;
DROP FUNCTION fs_rows CASCADE;
-- error 2BP01
DROP TABLE fs_items;
DROP TABLE fs_items CASCADE;
-- error 42P01
SELECT fs_total('k1');
-- error 42883
SELECT * FROM fs_atomic(1);
