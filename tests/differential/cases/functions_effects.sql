-- Functions in SQL that change data, return void or are of several statements: their effects, in order.
-- cases
CREATE TABLE fe (id serial PRIMARY KEY, v integer, w text);
CREATE FUNCTION fe_void(n integer) RETURNS void LANGUAGE sql AS 'INSERT INTO fe (v) VALUES (n)';
SELECT fe_void(5);
SELECT fe_void(6) IS NULL;
SELECT * FROM fe ORDER BY id;
SELECT * FROM fe_void(7);
SELECT id, v FROM fe ORDER BY id;
CREATE FUNCTION fe_ret(n integer) RETURNS integer LANGUAGE sql AS 'INSERT INTO fe (v) VALUES (n) RETURNING id';
SELECT fe_ret(8);
SELECT fe_ret(9) + 100 AS more;
SELECT * FROM fe_ret(10);
CREATE FUNCTION fe_many(n integer) RETURNS bigint LANGUAGE sql AS $$ UPDATE fe SET v = v + n; DELETE FROM fe WHERE v > 20; SELECT count(*) FROM fe; $$;
SELECT fe_many(8);
SELECT id, v FROM fe ORDER BY id;
CREATE FUNCTION fe_del(lim integer) RETURNS SETOF fe LANGUAGE sql AS 'DELETE FROM fe WHERE v < lim RETURNING *';
SELECT id, v FROM fe_del(15) ORDER BY id;
SELECT id, v FROM fe ORDER BY id;
CREATE FUNCTION fe_two() RETURNS integer LANGUAGE sql AS 'SELECT 1; SELECT 2';
SELECT fe_two(), fe_two() + 1;
CREATE FUNCTION fe_empty() RETURNS void LANGUAGE sql AS '';
SELECT fe_empty();
CREATE FUNCTION fe_vsel() RETURNS void LANGUAGE sql AS 'SELECT 1, 2';
SELECT fe_vsel();
-- error 42P13
CREATE FUNCTION fe_bad() RETURNS integer LANGUAGE sql AS 'INSERT INTO fe (v) VALUES (1)';
-- error 42P13
CREATE FUNCTION fe_bad() RETURNS integer LANGUAGE sql AS '';
-- error 42P13
CREATE FUNCTION fe_bad() RETURNS integer LANGUAGE sql AS 'SELECT 1; INSERT INTO fe (v) VALUES (1)';
-- error 42703
CREATE FUNCTION fe_bad() RETURNS integer LANGUAGE sql AS 'SELECT nosuch; SELECT 1';
CREATE FUNCTION fe_upd(n integer) RETURNS TABLE (a integer, b integer) LANGUAGE sql AS 'UPDATE fe SET v = n WHERE id < 100 RETURNING id, v';
INSERT INTO fe (v) VALUES (1), (2);
SELECT count(*), min(b) FROM fe_upd(33);
SELECT fe_ret(n) FROM generate_series(100, 102) AS g(n);
SELECT v FROM fe WHERE v >= 100 ORDER BY v;
SELECT fe_void(n) FROM generate_series(200, 201) AS g(n);
SELECT v FROM fe WHERE v >= 200 ORDER BY v;
CREATE FUNCTION fe_atomic(a integer, b integer) RETURNS integer LANGUAGE sql BEGIN ATOMIC INSERT INTO fe (v) VALUES (a); INSERT INTO fe (v) VALUES (b); SELECT a + b; END;
SELECT fe_atomic(300, 301);
SELECT v FROM fe WHERE v >= 300 ORDER BY v;
SELECT fe_void(400), fe_void(401);
SELECT v FROM fe WHERE v >= 400 ORDER BY v;
BEGIN;
SELECT fe_void(500);
SELECT count(*) FROM fe WHERE v = 500;
ROLLBACK;
SELECT count(*) FROM fe WHERE v = 500;
CREATE FUNCTION fe_err() RETURNS integer LANGUAGE sql AS $$ INSERT INTO fe (v) VALUES (600); SELECT 1/0 $$;
-- error 22012
SELECT fe_err();
SELECT count(*) FROM fe WHERE v = 600;
CREATE FUNCTION fe_outs(n integer, OUT a integer, OUT b text) LANGUAGE sql AS $$ INSERT INTO fe (v, w) VALUES (n, 'o') RETURNING v, w $$;
SELECT * FROM fe_outs(700);
SELECT fe_outs(701);
CREATE FUNCTION fe_strict(n integer) RETURNS integer LANGUAGE sql STRICT AS 'INSERT INTO fe (v) VALUES (n) RETURNING v';
SELECT fe_strict(NULL);
SELECT count(*) FROM fe WHERE v IS NULL;
CREATE FUNCTION fe_ddl() RETURNS void LANGUAGE sql AS 'CREATE TABLE fe_made (a int)';
SELECT fe_ddl();
SELECT * FROM fe_made;
SELECT pg_get_function_result('fe_void'::regproc), prorettype::regtype FROM pg_proc WHERE proname = 'fe_void';
PREPARE fep(int) AS SELECT fe_ret($1) > 0;
EXECUTE fep(800);
SELECT v FROM fe WHERE v = 800;
INSERT INTO fe (v) SELECT fe_ret(900) * 0 + 901;
SELECT v FROM fe WHERE v >= 900 ORDER BY v;
-- refused 0A000: values are drawn for whole rows
SELECT CASE WHEN false THEN fe_ret(1000) ELSE 1 END;
SELECT count(*) FROM fe WHERE v = 1000;
CREATE FUNCTION fe_nested(n integer) RETURNS integer LANGUAGE sql AS 'SELECT fe_ret(n) * 0 + 1';
SELECT fe_nested(1100);
SELECT count(*) FROM fe WHERE v = 1100;
CREATE TEMP TABLE fet AS SELECT fe_ret(1200) > 0 AS x;
SELECT * FROM fet;
CREATE FUNCTION fe_stable() RETURNS integer LANGUAGE sql STABLE AS 'INSERT INTO fe (v) VALUES (1) RETURNING v';
-- error 0A000
SELECT fe_stable();
SELECT count(*) > 0 FROM fe, fe_ret(1400) AS r WHERE fe.v = 1400;
SELECT fe_ret(fe_ret(1500)) > 0;
SELECT count(*) FROM fe WHERE v >= 1500;
SELECT a.x > 0 AS x, b.y FROM fe_ret(1600) AS a(x), fe_two() AS b(y);
SELECT id > 0 AS p, fe_two() FROM fe WHERE v = 1600;
SELECT v, fe_ret(1700 + v) > 0 FROM (VALUES (1), (2)) AS s(v) ORDER BY v;
SELECT v FROM fe WHERE v > 1700 ORDER BY v;
CREATE PROCEDURE fe_proc(n integer) LANGUAGE sql AS 'SELECT fe_void(n); INSERT INTO fe (v) SELECT fe_two() + n';
CALL fe_proc(1800);
SELECT v FROM fe WHERE v >= 1800 ORDER BY v;
DROP FUNCTION fe_void(integer);
CREATE FUNCTION fe_poly(anyelement) RETURNS anyelement LANGUAGE sql AS 'SELECT 1; SELECT $1';
SELECT fe_poly(5), fe_poly('x'::text), fe_poly(1.50);
CREATE FUNCTION fe_variadic(VARIADIC integer[]) RETURNS bigint LANGUAGE sql AS 'INSERT INTO fe (v) SELECT unnest($1); SELECT count(*) FROM fe WHERE v = ANY ($1)';
SELECT fe_variadic(2001, 2002, 2003);
UPDATE fe SET v = fe_two() WHERE v > 2000;
SELECT count(*) FROM fe WHERE v = 2;
