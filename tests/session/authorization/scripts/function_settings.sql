-- Settings of functions and procedures: SET and FROM CURRENT, ALTER, how long they last, and who may give them.
CREATE SCHEMA a;
CREATE SCHEMA b;
CREATE TABLE a.t (x int);
CREATE TABLE b.t (x int);
INSERT INTO a.t VALUES (1);
INSERT INTO b.t VALUES (2);
SET search_path = b;
CREATE FUNCTION public.sql_a() RETURNS int LANGUAGE sql SET search_path = a AS 'SELECT x FROM t';
CREATE FUNCTION public.plpgsql_a() RETURNS int LANGUAGE plpgsql STABLE SET search_path = 'a', pg_temp SET timezone = 'Asia/Tokyo' AS $$
DECLARE found int; BEGIN SELECT x INTO found FROM t; RETURN found; END $$;
CREATE FUNCTION public.here() RETURNS int LANGUAGE sql SET search_path FROM CURRENT AS 'SELECT x FROM t';
SET search_path = public;
SELECT sql_a(), plpgsql_a(), here();
SELECT sql_a() + x, plpgsql_a() FROM b.t ORDER BY 1;
SELECT * FROM sql_a() f(x);
SELECT x FROM b.t WHERE x = here();
SHOW search_path;
SHOW timezone;
SELECT proname, proconfig FROM pg_proc WHERE pronamespace = 'public'::regnamespace ORDER BY 1;
SELECT pg_get_functiondef('plpgsql_a'::regproc);
SELECT pg_get_functiondef('here'::regproc);
ALTER FUNCTION plpgsql_a() SET search_path TO b;
SELECT plpgsql_a();
ALTER ROUTINE plpgsql_a() RESET search_path IMMUTABLE SET my.own = 'it''s';
SELECT plpgsql_a();
SELECT pg_get_functiondef('plpgsql_a'::regproc);
ALTER FUNCTION plpgsql_a() SET search_path TO "a", "B c" SET my.own TO DEFAULT;
SELECT proconfig, provolatile FROM pg_proc WHERE proname = 'plpgsql_a';
SELECT pg_get_functiondef('plpgsql_a'::regproc);
ALTER FUNCTION plpgsql_a() RESET ALL STRICT SECURITY DEFINER COST 7;
SELECT proconfig, proisstrict, prosecdef, procost FROM pg_proc WHERE proname = 'plpgsql_a';
CREATE OR REPLACE FUNCTION sql_a() RETURNS int LANGUAGE sql AS 'SELECT 3';
SELECT proconfig FROM pg_proc WHERE proname = 'sql_a';
-- A body is checked under the settings
CREATE FUNCTION known_t() RETURNS int LANGUAGE sql SET search_path = b AS 'SELECT x FROM t';
-- Errors
CREATE FUNCTION wrong() RETURNS int LANGUAGE sql SET nowhere = 1 AS 'SELECT 1';
CREATE FUNCTION wrong() RETURNS int LANGUAGE sql SET statement_timeout = 'soon' AS 'SELECT 1';
CREATE FUNCTION wrong() RETURNS int LANGUAGE sql SET lock_timeout = 1, 2 AS 'SELECT 1';
ALTER FUNCTION sql_a() ROWS 5;
ALTER FUNCTION sql_a() COST 0;
ALTER FUNCTION sql_a() STRICT STRICT;
ALTER FUNCTION nobody() STRICT;
ALTER FUNCTION sql_a() SET nowhere = 1;
ALTER PROCEDURE sql_a() SET lock_timeout = 1;
CREATE AGGREGATE own_sum(int) (sfunc = int4pl, stype = int);
ALTER FUNCTION own_sum(int) STRICT;
-- How long they last
CREATE FUNCTION lasting(how text) RETURNS text LANGUAGE plpgsql SET my.own = 'of the function' AS $$
BEGIN
    IF how = 'set' THEN SET my.own = 'set inside'; END IF;
    IF how = 'local' THEN SET LOCAL my.own = 'local inside'; END IF;
    IF how = 'other' THEN SET LOCAL my.other = 'other inside'; END IF;
    IF how = 'error' THEN RAISE 'an error'; END IF;
    RETURN current_setting('my.own');
END $$;
SET my.own = 'outside';
SET my.other = 'outside';
SELECT lasting('');
SHOW my.own;
SELECT lasting('local');
SHOW my.own;
SELECT lasting('error');
SHOW my.own;
SELECT lasting('set');
SHOW my.own;
SET my.own = 'outside';
BEGIN;
SET LOCAL my.own = 'of the transaction';
SELECT lasting('');
SHOW my.own;
SELECT lasting('local');
SHOW my.own;
SELECT lasting('other');
SHOW my.other;
SAVEPOINT s;
SELECT lasting('error');
ROLLBACK TO s;
SHOW my.own;
SELECT lasting('set');
SHOW my.own;
ROLLBACK;
SHOW my.own;
SHOW my.other;
CREATE FUNCTION nested() RETURNS text LANGUAGE plpgsql SET my.own = 'outer' AS $$
DECLARE was text;
BEGIN
    was := current_setting('my.own') || ', ' || lasting('') || ', ' || lasting('local');
    BEGIN
        PERFORM lasting('error');
    EXCEPTION WHEN OTHERS THEN
        was := was || ', ' || SQLERRM;
    END;
    RETURN was || ', ' || current_setting('my.own');
END $$;
SELECT nested();
SHOW my.own;
CREATE FUNCTION of_rows(x int) RETURNS SETOF text LANGUAGE plpgsql SET timezone = 'Asia/Tokyo' AS $$
BEGIN
    RETURN NEXT timestamptz '2026-01-01 00:00+00'::text;
    RETURN QUERY SELECT current_setting('timezone') || x;
END $$;
SELECT * FROM of_rows(1);
SELECT t.x, r FROM b.t, of_rows(t.x) r ORDER BY 2;
SELECT timestamptz '2026-01-01 00:00+00';
-- Procedures
CREATE PROCEDURE ends() LANGUAGE plpgsql SET my.own = 'x' AS $$ BEGIN COMMIT; END $$;
CALL ends();
CREATE PROCEDURE ends_too() LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN COMMIT; END $$;
CALL ends_too();
ALTER PROCEDURE ends() RESET my.own;
CALL ends();
ALTER PROCEDURE ends() STRICT;
-- Triggers
CREATE FUNCTION on_row() RETURNS trigger LANGUAGE plpgsql SET search_path = a AS $$
BEGIN INSERT INTO t VALUES (NEW.x * 100); RETURN NEW; END $$;
CREATE TRIGGER tr AFTER INSERT ON b.t FOR EACH ROW EXECUTE FUNCTION on_row();
INSERT INTO b.t VALUES (3);
INSERT INTO b.t VALUES (4), (5), (6), (7), (8);
SELECT x FROM a.t ORDER BY 1;
SHOW search_path;
-- SECURITY DEFINER is safe only with a search path of its own
CREATE ROLE mallory;
CREATE ROLE keeper SUPERUSER;
CREATE SCHEMA evil AUTHORIZATION mallory;
CREATE TABLE a.secret (held text);
INSERT INTO a.secret VALUES ('kept');
CREATE FUNCTION unsafe() RETURNS text LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN RETURN (SELECT held FROM secret); END $$;
CREATE FUNCTION safe() RETURNS text LANGUAGE plpgsql SECURITY DEFINER SET search_path = a, pg_temp AS $$ BEGIN RETURN (SELECT held FROM secret); END $$;
CREATE FUNCTION safe_sql() RETURNS text LANGUAGE sql SECURITY DEFINER SET search_path = a, pg_temp AS 'SELECT held FROM secret';
SET ROLE mallory;
CREATE TABLE evil.secret (held text);
INSERT INTO evil.secret VALUES ('forged');
CREATE TEMP TABLE secret (held text);
INSERT INTO secret VALUES ('temporary');
GRANT SELECT ON secret TO PUBLIC;
SET search_path = evil, public;
SELECT unsafe();
SELECT safe(), safe_sql();
SHOW search_path;
ALTER FUNCTION safe() SET search_path = evil;
ALTER FUNCTION safe() SECURITY INVOKER;
CREATE FUNCTION evil.mine() RETURNS int LANGUAGE sql AS 'SELECT 1';
ALTER FUNCTION evil.mine() SET session_replication_role = replica;
ALTER FUNCTION evil.mine() SET my.own = 1;
ALTER FUNCTION evil.mine() LEAKPROOF;
ALTER FUNCTION evil.mine() SET work_mem = '4MB';
RESET ROLE;
CREATE FUNCTION public.replica() RETURNS text LANGUAGE plpgsql SET session_replication_role = replica AS $$ BEGIN RETURN current_setting('session_replication_role'); END $$;
CREATE FUNCTION public.replica_too() RETURNS text LANGUAGE plpgsql SECURITY DEFINER SET session_replication_role = replica AS $$ BEGIN RETURN current_setting('session_replication_role'); END $$;
SET search_path = public;
SELECT replica(), replica_too();
SET ROLE mallory;
SELECT replica();
SELECT replica_too();
SHOW session_replication_role;
RESET ROLE;
