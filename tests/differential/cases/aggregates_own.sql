-- Aggregates that users make: CREATE, calls over groups and windows, ALTER, DROP, what the catalog says.
-- cases
CREATE TABLE ca (k text, n integer, x numeric, t text);
INSERT INTO ca VALUES ('a',1,1.5,'p'),('a',2,2.25,'q'),('b',3,NULL,'r'),('b',NULL,4,NULL),('c',NULL,NULL,NULL);
CREATE AGGREGATE ca_sum(integer) (sfunc = int4pl, stype = integer, initcond = '0');
SELECT ca_sum(n) FROM ca;
SELECT k, ca_sum(n) FROM ca GROUP BY k ORDER BY k;
SELECT ca_sum(n) FROM ca WHERE false;
CREATE FUNCTION ca_cat(text, text) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT COALESCE($1 || ',', '') || COALESCE($2, '-') $$;
CREATE AGGREGATE ca_join(text) (sfunc = ca_cat, stype = text);
SELECT ca_join(t ORDER BY t) FROM ca;
SELECT ca_join(t ORDER BY t DESC) FILTER (WHERE n > 0) FROM ca;
SELECT k, ca_join(t ORDER BY n) FROM ca GROUP BY k ORDER BY k;
SELECT ca_join(DISTINCT k) FROM ca;
SELECT ca_join(t) FROM ca WHERE false;
CREATE FUNCTION ca_first_f(anyelement, anyelement) RETURNS anyelement LANGUAGE sql IMMUTABLE STRICT AS 'SELECT $1';
CREATE AGGREGATE ca_first(anyelement) (sfunc = ca_first_f, stype = anyelement);
SELECT ca_first(n ORDER BY n), ca_first(t ORDER BY t DESC), ca_first(x ORDER BY x) FROM ca;
SELECT k, ca_first(n ORDER BY n DESC NULLS LAST) FROM ca GROUP BY k ORDER BY k;
CREATE FUNCTION ca_acc(state numeric[], v numeric) RETURNS numeric[] LANGUAGE sql AS 'SELECT CASE WHEN v IS NULL THEN state ELSE ARRAY[state[1] + v, state[2] + 1] END';
CREATE FUNCTION ca_fin(state numeric[]) RETURNS numeric LANGUAGE sql AS 'SELECT round(state[1] / nullif(state[2], 0), 4)';
CREATE AGGREGATE ca_avg(numeric) (sfunc = ca_acc, stype = numeric[], finalfunc = ca_fin, initcond = '{0,0}');
SELECT ca_avg(x), ca_avg(n) FROM ca;
SELECT k, ca_avg(x) FROM ca GROUP BY k HAVING ca_avg(x) > 1 ORDER BY ca_avg(x);
SELECT n, ca_sum(n) OVER (ORDER BY n) FROM ca WHERE n IS NOT NULL ORDER BY n;
SELECT n, ca_sum(n) OVER (ORDER BY n ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM ca WHERE n IS NOT NULL ORDER BY n;
SELECT k, ca_sum(n) OVER (PARTITION BY k) FROM ca ORDER BY k, 2;
CREATE AGGREGATE ca_count(*) (sfunc = int8inc, stype = int8, initcond = '0');
-- error 42883
CREATE AGGREGATE ca_wsum(integer, numeric) (sfunc = ca_w, stype = numeric, initcond = '0');
CREATE FUNCTION ca_w(numeric, integer, numeric) RETURNS numeric LANGUAGE sql AS 'SELECT $1 + COALESCE($2 * $3, 0)';
CREATE AGGREGATE ca_wsum(integer, numeric) (sfunc = ca_w, stype = numeric, initcond = '0', combinefunc = numeric_add, parallel = safe);
SELECT ca_wsum(n, x) FROM ca;
CREATE AGGREGATE ca_max(integer) (sfunc = int4larger, stype = integer, sortop = >);
-- error 42883
CREATE AGGREGATE ca_arr(anyelement) (sfunc = array_append, stype = anyarray, initcond = '{}');
-- error 42883
SELECT ca_arr(n ORDER BY n), ca_arr(t ORDER BY t) FROM ca;
CREATE AGGREGATE ca_old (basetype = integer, sfunc = int4pl, stype = integer, initcond = '10');
SELECT ca_old(n) FROM ca;
-- error 42P13
CREATE AGGREGATE ca_bad(integer) (sfunc = int4pl);
-- error 42704
CREATE AGGREGATE ca_bad(integer) (sfunc = int4pl, stype = NULL);
-- error 42601
CREATE AGGREGATE ca_bad(integer) (sfunc = int4pl, stype = 3);
-- error 42P13
CREATE AGGREGATE ca_bad(integer) (stype = integer);
-- error 42883
CREATE AGGREGATE ca_bad(text) (sfunc = int4pl, stype = integer);
-- error 42883
CREATE AGGREGATE ca_bad(integer) (sfunc = int4pl, stype = text);
-- error 42804
CREATE AGGREGATE ca_bad(integer) (sfunc = int8pl, stype = integer);
-- error 42804
CREATE AGGREGATE ca_bad(integer) (sfunc = int4eq, stype = integer);
-- error 22P02
CREATE AGGREGATE ca_bad(integer) (sfunc = int4pl, stype = integer, initcond = 'x');
-- error 42883
CREATE AGGREGATE ca_bad(integer) (sfunc = int4pl, stype = integer, finalfunc = nosuch);
-- error 42883
CREATE AGGREGATE ca_bad(text) (sfunc = ca_strict, stype = integer);
CREATE FUNCTION ca_strict(integer, text) RETURNS integer LANGUAGE sql STRICT AS 'SELECT $1 + length($2)';
-- error 42P13
CREATE AGGREGATE ca_bad(text) (sfunc = ca_strict, stype = integer);
CREATE AGGREGATE ca_len(text) (sfunc = ca_strict, stype = integer, initcond = '100');
SELECT ca_len(t) FROM ca;
-- error 42723
CREATE AGGREGATE ca_sum(integer) (sfunc = int4mul, stype = integer, initcond = '1');
CREATE OR REPLACE AGGREGATE ca_sum(integer) (sfunc = int4mul, stype = integer, initcond = '1');
SELECT ca_sum(n) FROM ca;
-- error 42804
CREATE AGGREGATE ca_bad(integer) (sfunc = int4pl, stype = integer, combinefunc = int8pl);
CREATE AGGREGATE ca_bad(integer) (sfunc = int4pl, stype = integer, foo = 1);
-- error 42P13
CREATE AGGREGATE ca_bad(integer) (sfunc = int4pl, stype = anyelement);
SELECT proname, prokind, pg_get_function_arguments(oid), pg_get_function_result(oid), proisstrict, prosrc FROM pg_proc WHERE proname LIKE 'ca\_%' ORDER BY proname;
SELECT aggfnoid::regproc, aggtransfn, aggfinalfn, aggtranstype::regtype, agginitval, aggkind, aggnumdirectargs, aggcombinefn FROM pg_aggregate WHERE aggfnoid >= 16384 ORDER BY 1::text;
SELECT n.nspname as "Schema", p.proname AS "Name", pg_catalog.format_type(p.prorettype, NULL) AS "Result data type", CASE WHEN p.pronargs = 0 THEN CAST('*' AS pg_catalog.text) ELSE pg_catalog.pg_get_function_arguments(p.oid) END AS "Argument data types", pg_catalog.obj_description(p.oid, 'pg_proc') as "Description" FROM pg_catalog.pg_proc p LEFT JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace WHERE p.prokind = 'a' AND n.nspname <> 'pg_catalog' AND n.nspname <> 'information_schema' AND pg_catalog.pg_function_is_visible(p.oid) ORDER BY 1, 2, 4;
-- error 2BP01
DROP FUNCTION ca_cat(text, text);
-- error 42809
DROP FUNCTION ca_join(text);
-- error 42809
DROP AGGREGATE ca_cat(text, text);
-- error 42883
DROP AGGREGATE nosuch(integer);
DROP AGGREGATE IF EXISTS nosuch(integer);
DROP AGGREGATE ca_count(*);
COMMENT ON AGGREGATE ca_join(text) IS 'joins';
SELECT obj_description('ca_join'::regproc);
ALTER AGGREGATE ca_join(text) RENAME TO ca_joined;
SELECT ca_joined(t ORDER BY t) FROM ca;
ALTER AGGREGATE ca_joined(text) OWNER TO gpudb;
CREATE SCHEMA ca_s;
ALTER AGGREGATE ca_joined(text) SET SCHEMA ca_s;
SELECT ca_s.ca_joined(t ORDER BY t) FROM ca;
-- error 42883
SELECT ca_joined(t) FROM ca;
CREATE VIEW ca_v AS SELECT k, ca_avg(x) AS a FROM ca GROUP BY k;
SELECT * FROM ca_v ORDER BY k;
-- error 2BP01
DROP AGGREGATE ca_avg(numeric);
DROP AGGREGATE ca_avg(numeric) CASCADE;
-- error 42P01
SELECT * FROM ca_v;
-- error 42803
SELECT ca_sum(ca_sum(n)) FROM ca;
-- error 42803
SELECT ca_sum(n) FROM ca WHERE ca_sum(n) > 1;
SELECT ca_sum(DISTINCT n) FROM (VALUES (1),(2),(2)) v(n);
-- error 42883
SELECT ca_sum(t) FROM ca;
-- error 42883
SELECT ca_sum() FROM ca;
-- error 42883
SELECT ca_sum(*) FROM ca;
-- refused 0A000: an array of what is distinct has one order
SELECT ca_first(DISTINCT n ORDER BY n DESC) FROM ca;
CREATE FUNCTION ca_med(numeric[]) RETURNS numeric LANGUAGE sql AS 'SELECT x FROM unnest($1) AS u(x) ORDER BY x LIMIT 1 OFFSET (array_length($1,1)-1)/2';
CREATE AGGREGATE ca_median(numeric) (sfunc = array_append, stype = numeric[], initcond = '{}', finalfunc = ca_med);
SELECT ca_median(n) FROM generate_series(1,9) g(n);
SELECT n % 3, ca_median(n) FROM generate_series(1,9) g(n) GROUP BY 1 ORDER BY 1;
-- error 42883
CREATE AGGREGATE ca_bad(integer) (sfunc = int4pl, stype = integer, finalfunc = int4um, finalfunc_extra);
CREATE AGGREGATE ca_neg(integer) (sfunc = int4pl, stype = integer, finalfunc = int4um);
SELECT ca_neg(n), ca_neg(n) FILTER (WHERE n > 100) FROM ca;
DROP AGGREGATE ca_neg(integer), ca_len(text);
-- error 42883
SELECT ca_neg(n) FROM ca;
-- error 42601
CREATE AGGREGATE ao_bad(text) (sfunc = 1e400, stype = integer);
