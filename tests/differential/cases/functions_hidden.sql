-- Functions of equal parameters: the first schema of the search path has them, which is pg_catalog unless it is named.
CREATE SCHEMA fh;
CREATE FUNCTION fh.length(text) RETURNS int LANGUAGE sql AS 'SELECT 42';
CREATE FUNCTION public.length(text) RETURNS int LANGUAGE sql AS 'SELECT 43';
CREATE FUNCTION public.upper(integer) RETURNS int LANGUAGE sql AS 'SELECT 44';
CREATE FUNCTION public.generate_series(int, int) RETURNS SETOF int LANGUAGE sql AS 'SELECT 45';
CREATE AGGREGATE public.max(int) (SFUNC = int4smaller, STYPE = int);
SELECT length('abc'), length('abc'::text), length('abc'::varchar), upper('abc'), upper(1), upper('1');
SELECT public.length('abc'), public.length('abc'::text), fh.length('abc'), pg_catalog.length('abc');
-- error 42883
SELECT public.length('\x00'::bytea);
SELECT * FROM generate_series(1, 2);
SELECT * FROM public.generate_series(1, 2);
SELECT max(v), public.max(v) FROM (VALUES (1), (2)) AS t(v);
-- error 42883
SELECT public.sum(1);
SET search_path = pg_catalog, public;
SELECT length('abc'), length('abc'::text), public.length('abc');
CREATE FUNCTION public.fh_f(VARIADIC int[]) RETURNS text LANGUAGE sql AS $$SELECT 'variadic'$$;
CREATE FUNCTION public.fh_f(int, int) RETURNS text LANGUAGE sql AS $$SELECT 'two'$$;
SELECT fh_f(1, 2), fh_f(1, 2, 3);
DROP FUNCTION public.fh_f(int[]), public.fh_f(int, int);
SET search_path = public, pg_catalog;
SELECT length('abc'), length('abc'::text), fh.length('abc'), pg_catalog.length('abc');
SELECT * FROM generate_series(1, 2);
SELECT max(v) FROM (VALUES (1), (2)) AS t(v);
SET search_path = fh, public;
SELECT length('abc'), length('abc'::text);
SET search_path = fh, pg_catalog, public;
SELECT length('abc'), length('abc'::text);
RESET search_path;
DROP AGGREGATE public.max(int);
DROP FUNCTION public.length(text), public.upper(integer), public.generate_series(int, int);
DROP SCHEMA fh CASCADE;
