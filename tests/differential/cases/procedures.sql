-- Procedures in SQL: CALL, their arguments and what they change.
-- cases
CREATE TABLE pr_log (id serial, what text, amount numeric(10,2));
CREATE PROCEDURE pr_note(what text, amount numeric DEFAULT 1) LANGUAGE sql AS $$ INSERT INTO pr_log (what, amount) VALUES (what, amount); $$;
CALL pr_note('first', 2.5);
CALL pr_note('second');
CALL pr_note(amount => 7, what => 'third');
SELECT * FROM pr_log ORDER BY id;
-- error 0A000
CALL pr_note((SELECT upper(what) FROM pr_log WHERE id = 1), 1 + 1);
CALL pr_note(upper('fourth'), 1 + 1);
CALL pr_note('p' || 'q', round(12.345, 1));
SELECT * FROM pr_log ORDER BY id;
CREATE PROCEDURE pr_several(n integer) LANGUAGE sql AS $$ INSERT INTO pr_log (what, amount) SELECT 'g' || i, i FROM generate_series(1, n) AS g(i); UPDATE pr_log SET amount = amount * 2 WHERE what = 'g' || pr_several.n; DELETE FROM pr_log WHERE what = 'g1'; $$;
CALL pr_several(3);
SELECT what, amount FROM pr_log WHERE what LIKE 'g%' ORDER BY id;
CREATE PROCEDURE pr_double(INOUT value integer, IN times integer DEFAULT 1) LANGUAGE sql AS 'SELECT value * 2 * times';
CALL pr_double(21);
CALL pr_double(21, 2);
CREATE PROCEDURE pr_counts(OUT total bigint, OUT most numeric) LANGUAGE sql AS 'SELECT count(*), max(amount) FROM pr_log';
CALL pr_counts(NULL, NULL);
CREATE PROCEDURE pr_inserted(INOUT what text) LANGUAGE sql AS 'INSERT INTO pr_log (what) VALUES (what) RETURNING what || id';
CALL pr_inserted('made ');
CREATE PROCEDURE pr_atomic(a integer, b text) BEGIN ATOMIC INSERT INTO pr_log (what, amount) VALUES (b, a); INSERT INTO pr_log (what) VALUES (b || '!'); END;
CALL pr_atomic(5, 'atom');
SELECT what, amount FROM pr_log WHERE what LIKE 'atom%' ORDER BY id;
-- What fails undoes what was done before it.
CREATE PROCEDURE pr_fails() LANGUAGE sql AS $$ INSERT INTO pr_log (what) VALUES ('undone'); SELECT 1 / (SELECT count(*) FROM pr_log WHERE what = 'never'); $$;
-- error 22012
CALL pr_fails();
SELECT count(*) FROM pr_log WHERE what = 'undone';
BEGIN;
CALL pr_note('rolled back');
ROLLBACK;
SELECT count(*) FROM pr_log WHERE what = 'rolled back';
CREATE PROCEDURE pr_makes() LANGUAGE sql AS 'CREATE TABLE pr_made (a integer)';
CALL pr_makes();
SELECT count(*) FROM pr_made;
CREATE PROCEDURE pr_calls(n integer) LANGUAGE sql AS $$ CALL pr_note('called', n); CALL pr_note('again', n + 1); $$;
CALL pr_calls(3);
SELECT what, amount FROM pr_log WHERE what IN ('called', 'again') ORDER BY id;
CREATE PROCEDURE pr_commits() LANGUAGE sql AS 'COMMIT';
-- error 0A000
CALL pr_commits();
-- error 42883
CALL pr_note();
-- error 42883
CALL pr_none(1);
-- error 42883
CALL pr_note('x'::text, '2020-01-01'::date);
CREATE FUNCTION pr_function(a integer) RETURNS integer LANGUAGE sql AS 'SELECT a';
-- error 42809
CALL pr_function(1);
-- error 42809
SELECT pr_note('x');
-- error 42809
DROP FUNCTION pr_note(text, numeric);
-- error 42809
CREATE OR REPLACE FUNCTION pr_note(what text, amount numeric DEFAULT 1) RETURNS integer LANGUAGE sql AS 'SELECT 1';
CREATE OR REPLACE PROCEDURE pr_note(what text, amount numeric DEFAULT 1) LANGUAGE sql AS $$ INSERT INTO pr_log (what, amount) VALUES ('new ' || what, amount); $$;
CALL pr_note('text', 4);
SELECT what FROM pr_log ORDER BY id DESC LIMIT 1;
-- error 42P13
CREATE PROCEDURE pr_bad() LANGUAGE sql STRICT AS 'SELECT 1';
-- error 42P01
CREATE PROCEDURE pr_bad() LANGUAGE sql AS 'INSERT INTO pr_nowhere VALUES (1)';
SELECT proname, prokind, pg_get_function_arguments(oid), pg_get_function_result(oid), prorettype::regtype FROM pg_proc
WHERE proname LIKE 'pr\_%' ORDER BY 1;
SELECT pg_get_functiondef('pr_double'::regproc);
ALTER PROCEDURE pr_double RENAME TO pr_twice;
CALL pr_twice(2);
DROP PROCEDURE pr_twice(integer, integer);
DROP ROUTINE pr_function(integer), pr_counts;
-- error 42883
CALL pr_twice(2);
DROP PROCEDURE IF EXISTS pr_twice;
