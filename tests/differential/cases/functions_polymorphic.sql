-- Functions in SQL with polymorphic and VARIADIC parameters, and those that return rows as values.
-- cases
CREATE FUNCTION fp_same(anyelement) RETURNS anyelement LANGUAGE sql AS 'SELECT $1';
SELECT fp_same(1), fp_same('a'::text), fp_same(1.5), fp_same(array[1,2]), fp_same(NULL::date);
-- error 42804
SELECT fp_same('abc');
SELECT pg_typeof(fp_same(1::smallint));
CREATE FUNCTION fp_arr(anyelement, anyelement) RETURNS anyarray LANGUAGE sql AS 'SELECT ARRAY[$1, $2]';
SELECT fp_arr(1,2), fp_arr('a'::text,'b');
-- error 42883
SELECT fp_arr(1,2.5);
-- error 42804
SELECT fp_arr('a','b');
CREATE FUNCTION fp_first(a anyarray) RETURNS anyelement LANGUAGE sql IMMUTABLE AS 'SELECT a[1]';
SELECT fp_first(ARRAY[3,4]), fp_first(ARRAY['x','y']), fp_first('{1,2}'::bigint[]);
-- error 42883
SELECT fp_first(3);
CREATE FUNCTION fp_cmp(anycompatible, anycompatible) RETURNS anycompatiblearray LANGUAGE sql AS 'SELECT ARRAY[$1,$2]';
SELECT fp_cmp(1, 2.5), fp_cmp(1::smallint, 2::bigint), fp_cmp('a','b');
SELECT pg_typeof(fp_cmp('a','b'));
-- error 42P13
CREATE FUNCTION fp_bad() RETURNS anyelement LANGUAGE sql AS 'SELECT 1';
-- error 42P13
CREATE FUNCTION fp_bad(int) RETURNS anyarray LANGUAGE sql AS 'SELECT array[$1]';
-- error 42P13
CREATE FUNCTION fp_bad(int) RETURNS anycompatible LANGUAGE sql AS 'SELECT array[$1]';
CREATE FUNCTION fp_or(a anyelement, b anyelement DEFAULT NULL) RETURNS anyelement LANGUAGE sql AS 'SELECT COALESCE(a, b)';
SELECT fp_or(1), fp_or(NULL, 2), fp_or(NULL::text, b => 'x');
CREATE FUNCTION fp_dup(IN f1 anyelement, OUT f2 anyelement, OUT f3 anyarray) AS 'SELECT $1, ARRAY[$1,$1]' LANGUAGE sql;
SELECT * FROM fp_dup(22);
SELECT * FROM fp_dup('xyz'::text);
-- error 42804
SELECT * FROM fp_dup('xyz');
SELECT fp_dup(22);
SELECT (fp_dup(22)).f2;
CREATE FUNCTION fp_set(anyarray) RETURNS SETOF anyelement LANGUAGE sql AS 'SELECT unnest($1)';
SELECT * FROM fp_set(ARRAY[1,2,3]);
SELECT fp_set(ARRAY['a','b']);
CREATE FUNCTION fp_mix(a anynonarray, b anyarray) RETURNS anyarray LANGUAGE sql AS 'SELECT a || b';
SELECT fp_mix(1, ARRAY[2,3]);
-- error 42883
SELECT fp_mix(ARRAY[1], ARRAY[2,3]);
CREATE FUNCTION fp_max(VARIADIC anyarray) RETURNS anyelement LANGUAGE sql AS 'SELECT max(x) FROM unnest($1) AS u(x)';
-- error 42883
SELECT fp_max(1,5,3), fp_max('a'::text,'c','b'), fp_max(VARIADIC ARRAY[9,8]), fp_max(2.5, 1);
-- error 42883
SELECT fp_max();
-- error 42804
SELECT fp_max('x','y');
CREATE FUNCTION fv_sum(VARIADIC nums numeric[]) RETURNS numeric LANGUAGE sql AS 'SELECT sum(n) FROM unnest(nums) AS u(n)';
SELECT fv_sum(1,2,3.5), fv_sum(4), fv_sum(VARIADIC ARRAY[1,2]), fv_sum(VARIADIC '{}'), fv_sum(VARIADIC nums => ARRAY[1,2]);
-- error 42883
SELECT fv_sum(nums => ARRAY[1,2]);
-- error 42883
SELECT fv_sum();
CREATE FUNCTION fv_join(sep text, VARIADIC words text[]) RETURNS text LANGUAGE sql AS 'SELECT array_to_string(words, sep)';
SELECT fv_join('-', 'a', 'b', 'c'), fv_join('-', 'x'), fv_join('+', VARIADIC ARRAY['p','q']);
-- error 42883
SELECT fv_join('-');
SELECT fv_join(sep => '-', VARIADIC words => ARRAY['a','b']);
-- error 42P13
CREATE FUNCTION fv_bad(VARIADIC int) RETURNS int LANGUAGE sql AS 'SELECT 1';
-- error 42P13
CREATE FUNCTION fv_bad(VARIADIC a int[], b int) RETURNS int LANGUAGE sql AS 'SELECT 1';
CREATE FUNCTION fv_def(a int, VARIADIC b int[] DEFAULT '{}') RETURNS int LANGUAGE sql AS 'SELECT a + coalesce(sum(x),0)::int FROM unnest(b) u(x)';
SELECT fv_def(1), fv_def(1,2), fv_def(1,2,3);
CREATE FUNCTION fv_n(VARIADIC numeric[]) RETURNS int LANGUAGE sql AS 'SELECT array_length($1, 1)';
SELECT fv_n(1,2,3);
SELECT proname, provariadic::regtype, proargmodes, pg_get_function_arguments(oid), pg_get_function_identity_arguments(oid) FROM pg_proc WHERE proname ~ '^f[vp]_' ORDER BY proname;
SELECT pg_get_functiondef('fv_join'::regproc);
DROP FUNCTION fv_n(VARIADIC numeric[]);
DROP FUNCTION fv_sum(numeric[]);
DROP FUNCTION fp_same(anyelement);
CREATE FUNCTION fp_rng(anyrange) RETURNS anyelement LANGUAGE sql AS 'SELECT lower($1)';
SELECT fp_rng(int4range(3,9)), fp_rng(numrange(1.5,2.5));
CREATE FUNCTION fp_tab(anyelement) RETURNS TABLE (x anyelement, y anyarray) LANGUAGE sql AS 'SELECT $1, array[$1]';
SELECT * FROM fp_tab(5);
-- error 22P02
SELECT fp_or('a', 1);
CREATE TABLE fpt (a int, b text);
INSERT INTO fpt VALUES (1,'x'),(2,'y');
CREATE FUNCTION fp_rows() RETURNS SETOF fpt LANGUAGE sql AS 'SELECT * FROM fpt ORDER BY a';
SELECT fp_rows();
SELECT (fp_rows()).*;
SELECT (fp_rows()).b;
CREATE FUNCTION fp_row(int) RETURNS fpt LANGUAGE sql AS 'SELECT * FROM fpt WHERE a = $1';
SELECT fp_row(1), fp_row(5), fp_row(1) IS NULL;
SELECT (fp_row(2)).*;
SELECT a, (fp_row(a)).b FROM fpt;
SELECT fp_dup(a) FROM fpt;
-- error 42804
SELECT array_length(NULL, 1);
-- error 42804
SELECT to_jsonb('a');
-- error 42804
SELECT first_value('a') OVER ();
-- error 42804
SELECT json_agg(NULL);
SELECT max(NULL), count(NULL), array_append(NULL, NULL), num_nulls(NULL, 'x'), coalesce(NULL, NULL);
-- error 42601
CREATE FUNCTION fp_unread(anyelement) RETURNS anyelement LANGUAGE sql AS 'SELECT $1 +';
-- error 42P13
CREATE FUNCTION fp_unquoted(anyelement) RETURNS anyelement RETURN $1;
