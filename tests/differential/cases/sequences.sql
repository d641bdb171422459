-- Sequences: what CREATE and ALTER SEQUENCE take, what nextval, currval, setval and lastval give, and who depends on whom.
-- cases
-- error 55000
SELECT lastval();
CREATE SEQUENCE sq_plain;
-- error 42P07
CREATE SEQUENCE sq_plain;
CREATE SEQUENCE IF NOT EXISTS sq_plain;
-- error 55000
SELECT currval('sq_plain');
SELECT * FROM sq_plain;
SELECT nextval('sq_plain');
SELECT * FROM sq_plain;
SELECT nextval('sq_plain'), nextval('sq_plain'), currval('sq_plain'), lastval();
SELECT last_value, is_called FROM sq_plain;
SELECT q.last_value + 1 AS next FROM sq_plain AS q WHERE q.is_called;
SELECT nextval('public.sq_plain'::regclass), nextval('"sq_plain"'), nextval('SQ_PLAIN'::text);
SELECT setval('sq_plain', 10);
SELECT nextval('sq_plain');
SELECT setval('sq_plain', 20, false);
SELECT nextval('sq_plain');
SELECT setval('sq_plain', 30, true), currval('sq_plain');
SELECT currval('sq_plain'), nextval('sq_plain'), currval('sq_plain');
-- error 22003
SELECT setval('sq_plain', 0);
-- error 42P01
SELECT nextval('sq_none');
-- error 42P01
SELECT nextval('nowhere.sq_plain');
SELECT nextval(NULL);
SELECT setval('sq_plain', NULL);
CREATE TABLE sq_table (a integer, b text);
-- error 42809
SELECT nextval('sq_table');
INSERT INTO sq_table SELECT n, 'r' || n FROM generate_series(1, 5) AS g(n);
SELECT a, nextval('sq_plain') FROM sq_table ORDER BY a DESC;
SELECT a, nextval('sq_plain') * 10 AS n, b FROM sq_table WHERE a > 3 ORDER BY a;
SELECT a, nextval('sq_plain') - currval('sq_plain') AS zero FROM sq_table ORDER BY a LIMIT 2;
SELECT 'N' || nextval('sq_plain')::text || '.' AS label;
SELECT count(*), min(n), max(n) FROM (SELECT nextval('sq_plain') AS n FROM sq_table) AS q;
WITH q AS (SELECT nextval('sq_plain') AS n) SELECT a.n = b.n AS same FROM q AS a, q AS b;
SELECT (SELECT nextval('sq_plain')) AS once;
VALUES (nextval('sq_plain'), 'x'), (nextval('sq_plain'), 'y');
SELECT nextval('sq_plain') UNION ALL SELECT nextval('sq_plain');
SELECT setval('sq_plain', max(a)) FROM sq_table;
SELECT setval('sq_plain', (SELECT max(a) + 100 FROM sq_table));
SELECT setval('sq_plain', a + 200) FROM sq_table ORDER BY a;
-- differs: RETURNING is computed once all rows have drawn their values
INSERT INTO sq_table VALUES (nextval('sq_plain'), 'one'), (nextval('sq_plain'), 'two') RETURNING a, currval('sq_plain');
INSERT INTO sq_table SELECT nextval('sq_plain'), 'from ' || b FROM sq_table WHERE a <= 3 ORDER BY a DESC RETURNING *;
UPDATE sq_table SET a = nextval('sq_plain') WHERE b = 'one' RETURNING *;
CREATE TABLE sq_made AS SELECT nextval('sq_plain') AS id, b FROM sq_table ORDER BY a;
SELECT count(DISTINCT id) = count(*) FROM sq_made;
-- A rolled back value is spent.
BEGIN;
SELECT nextval('sq_plain') > 0;
ROLLBACK;
SELECT nextval('sq_plain') - (SELECT max(id) FROM sq_made);
BEGIN READ ONLY;
-- error 25006
SELECT nextval('sq_plain');
ROLLBACK;
-- Options.
CREATE SEQUENCE sq_down INCREMENT BY -2 START 5 MINVALUE -1 MAXVALUE 5;
SELECT nextval('sq_down'), nextval('sq_down'), nextval('sq_down'), nextval('sq_down');
-- error 2200H
SELECT nextval('sq_down');
ALTER SEQUENCE sq_down CYCLE;
SELECT nextval('sq_down');
CREATE SEQUENCE sq_few MAXVALUE 3 CYCLE;
SELECT nextval('sq_few') FROM generate_series(1, 7);
ALTER SEQUENCE sq_few NO CYCLE;
SELECT nextval('sq_few'), nextval('sq_few');
-- error 2200H
SELECT nextval('sq_few') FROM generate_series(1, 5);
CREATE SEQUENCE sq_small AS smallint;
SELECT setval('sq_small', 32767);
-- error 2200H
SELECT nextval('sq_small');
ALTER SEQUENCE sq_small AS integer;
SELECT nextval('sq_small');
-- error 22023
ALTER SEQUENCE sq_small AS smallint;
-- error 22023
CREATE SEQUENCE sq_bad AS text;
-- error 22023
CREATE SEQUENCE sq_bad INCREMENT 0;
-- error 22023
CREATE SEQUENCE sq_bad MINVALUE 10 MAXVALUE 5;
-- error 22023
CREATE SEQUENCE sq_bad START 5 MAXVALUE 4;
-- error 22023
CREATE SEQUENCE sq_bad START -5;
-- error 22023
CREATE SEQUENCE sq_bad AS smallint MAXVALUE 100000;
-- error 22023
CREATE SEQUENCE sq_bad CACHE 0;
-- error 42601
CREATE SEQUENCE sq_bad START 1 START 2;
-- error 42601
CREATE SEQUENCE sq_bad OWNED BY nobody;
-- error 42P01
CREATE SEQUENCE sq_bad OWNED BY nobody.x;
-- error 42703
CREATE SEQUENCE sq_bad OWNED BY sq_table.x;
CREATE SEQUENCE sq_cached CACHE 5 INCREMENT 3;
SELECT nextval('sq_cached'), nextval('sq_cached');
SELECT last_value, is_called FROM sq_cached;
ALTER SEQUENCE sq_plain RESTART WITH 1000 INCREMENT 10;
SELECT nextval('sq_plain'), nextval('sq_plain');
ALTER SEQUENCE sq_plain RESTART;
SELECT nextval('sq_plain');
BEGIN;
ALTER SEQUENCE sq_plain RESTART 5000;
SELECT nextval('sq_plain');
ROLLBACK;
SELECT nextval('sq_plain');
-- error 42P01
ALTER SEQUENCE sq_none RESTART;
ALTER SEQUENCE IF EXISTS sq_none RESTART;
-- error 42809
ALTER SEQUENCE sq_table RESTART;
SELECT sequencename, data_type, start_value, min_value, max_value, increment_by, cycle, cache_size, last_value
FROM pg_sequences WHERE sequencename LIKE 'sq%' ORDER BY 1;
SELECT sequence_name, data_type, numeric_precision, start_value, minimum_value, maximum_value, increment, cycle_option
FROM information_schema.sequences WHERE sequence_name LIKE 'sq%' ORDER BY 1;
SELECT c.relname, c.relkind, s.seqincrement, s.seqcycle FROM pg_class c JOIN pg_sequence s ON s.seqrelid = c.oid
WHERE c.relname LIKE 'sq%' ORDER BY 1;
SELECT * FROM pg_sequence_parameters('sq_down'::regclass);
SELECT pg_sequence_last_value('sq_few'::regclass);
-- Names, owners and dependents.
ALTER SEQUENCE sq_few RENAME TO sq_some;
SELECT nextval('sq_some') FROM sq_table LIMIT 0;
CREATE SCHEMA sq_there;
ALTER SEQUENCE sq_some SET SCHEMA sq_there;
-- error 42P01
SELECT nextval('sq_some');
SELECT last_value FROM sq_there.sq_some;
COMMENT ON SEQUENCE sq_down IS 'downwards';
SELECT obj_description('sq_down'::regclass, 'pg_class');
CREATE TABLE sq_user (id bigint DEFAULT nextval('sq_down'), v text);
-- error 2BP01
DROP SEQUENCE sq_down;
ALTER SEQUENCE sq_down RENAME TO sq_under;
SELECT column_default FROM information_schema.columns WHERE table_name = 'sq_user' AND column_name = 'id';
INSERT INTO sq_user (v) VALUES ('x'), ('y') RETURNING id;
DROP SEQUENCE sq_under CASCADE;
INSERT INTO sq_user (v) VALUES ('z') RETURNING id;
-- error 42809
DROP TABLE sq_plain;
-- error 42809
DROP SEQUENCE sq_table;
-- error 42P01
DROP SEQUENCE sq_none;
DROP SEQUENCE IF EXISTS sq_none;
-- error 42809
INSERT INTO sq_plain VALUES (1);
ALTER SEQUENCE sq_small OWNED BY sq_user.id;
SELECT pg_get_serial_sequence('sq_user', 'id');
DROP TABLE sq_user;
-- error 42P01
SELECT nextval('sq_small');
SELECT nextval('sq_cached') > 0, lastval() > 0;
DISCARD SEQUENCES;
-- error 55000
SELECT currval('sq_cached');
-- error 55000
SELECT lastval();
CREATE TEMPORARY SEQUENCE sq_temp;
SELECT nextval('sq_temp'), nextval('sq_temp');
DROP SEQUENCE sq_temp;
DROP SCHEMA sq_there CASCADE;
CREATE SEQUENCE sq_small AS smallint START -32768 MINVALUE -32768;
ALTER SEQUENCE sq_small AS integer;
CREATE SEQUENCE sq_down AS smallint INCREMENT -1 START 32767 MAXVALUE 32767;
ALTER SEQUENCE sq_down AS integer;
CREATE SEQUENCE sq_kept AS smallint;
ALTER SEQUENCE sq_kept AS bigint;
ALTER SEQUENCE sq_kept AS smallint MAXVALUE 100;
ALTER SEQUENCE sq_kept AS integer NO MINVALUE;
ALTER SEQUENCE sq_small AS smallint;
SELECT sequencename, data_type::text, start_value, min_value, max_value, increment_by FROM pg_sequences WHERE sequencename IN ('sq_small', 'sq_down', 'sq_kept');
-- error 42P01
SELECT setval('sq_nothing', NULL);
-- a column's sequence, by the table's name and by its OID as a name
CREATE TABLE sq_owner (id serial PRIMARY KEY, i integer GENERATED ALWAYS AS IDENTITY, z integer);
SELECT attname, pg_get_serial_sequence(attrelid::regclass::text, attname), pg_get_serial_sequence('public.sq_owner', attname)::regclass::oid = 'sq_owner_id_seq'::regclass FROM pg_attribute WHERE attrelid = 'sq_owner'::regclass AND attnum > 0;
-- error 42703
SELECT pg_get_serial_sequence('sq_owner', 'none');
-- error 42P01
SELECT pg_get_serial_sequence('sq_none', 'id');
-- A sequence that is named is looked up, whatever else is NULL; an OID is not.
SELECT setval(12345, NULL), setval(row_number() OVER (), 1, NULL);
-- Functions that use a drawn value twice, beside columns
CREATE SEQUENCE seq_bound;
CREATE TABLE seq_rows (x int);
INSERT INTO seq_rows VALUES (10), (0);
CREATE FUNCTION seq_add(int) RETURNS bigint LANGUAGE sql AS $$ SELECT nextval('seq_bound') + $1 $$;
CREATE FUNCTION seq_twice(bigint, int) RETURNS bigint LANGUAGE sql AS 'SELECT $1 * 1000 + $1 + $2';
CREATE FUNCTION seq_more(bigint) RETURNS bigint LANGUAGE sql
  AS $$ SELECT $1 * 1000 + $1 + nextval('seq_bound') * 1000000 $$;
CREATE FUNCTION seq_safe(bigint, int) RETURNS bigint LANGUAGE sql
  AS 'SELECT CASE WHEN $2 <> 0 THEN $1 * 100 + $1 / $2 + 100 / $2 ELSE $1 END';
SELECT seq_add(x) FROM seq_rows;
SELECT seq_twice(nextval('seq_bound'), x) FROM seq_rows;
SELECT seq_twice(nextval('seq_bound') + x, x * 2), x FROM seq_rows;
SELECT seq_twice(seq_twice(nextval('seq_bound'), x), x + 1) FROM seq_rows;
SELECT seq_more(nextval('seq_bound')), seq_more(x) FROM seq_rows;
SELECT seq_safe(nextval('seq_bound'), x) FROM seq_rows;
SELECT seq_twice(nextval('seq_bound'), sum(x)::int) FROM seq_rows;
SELECT seq_twice(nextval('seq_bound') * 0, x + 1 + count(*)::int) FROM seq_rows GROUP BY x + 1, x;
SELECT CASE WHEN x <> 0 THEN nextval('seq_bound') * 0 + 100 / x END FROM seq_rows;
INSERT INTO seq_rows SELECT seq_twice(nextval('seq_bound'), x) FROM seq_rows;
DROP FUNCTION seq_add(int), seq_twice(bigint, int), seq_more(bigint), seq_safe(bigint, int);
DROP TABLE seq_rows;
DROP SEQUENCE seq_bound;
