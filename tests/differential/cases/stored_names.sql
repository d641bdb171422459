-- What is stored keeps the functions and types that it called when it was written, whatever ones there are later.
CREATE SCHEMA sn;
CREATE ROLE sn_reader;
CREATE TABLE sn_notes (id int, tags text, owner text);
INSERT INTO sn_notes VALUES (1, 'sn_reader boss', 'a'), (2, 'boss', 'b'), (3, 'sn_reader', 'c');
GRANT SELECT, INSERT ON sn_notes TO sn_reader;
GRANT USAGE, CREATE ON SCHEMA public TO sn_reader;
-- Two functions of the database, of which a later one takes the arguments exactly
CREATE FUNCTION sn_rank(numeric) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT 1';
CREATE FUNCTION sn_label(sn_notes) RETURNS text LANGUAGE sql AS $$ SELECT 'own ' || $1.id $$;
CREATE FUNCTION sn.sn_apart(int) RETURNS text LANGUAGE sql AS $$ SELECT 'apart' $$;
CREATE TYPE sn.sn_mood AS ENUM ('low', 'high');
SET search_path = sn, public;
CREATE VIEW public.sn_moods AS SELECT 'high'::sn_mood AS mood, sn_apart(1) AS apart, array['low']::sn_mood[] AS list;
RESET search_path;
ALTER TABLE sn_notes ENABLE ROW LEVEL SECURITY;
CREATE POLICY sn_mine ON sn_notes FOR SELECT USING (strpos(tags, current_user) > 0);
CREATE POLICY sn_put ON sn_notes FOR INSERT WITH CHECK (strpos(tags, current_user) > 0 AND sn_rank(id) = 1);
CREATE VIEW sn_calls AS
  SELECT id, strpos(tags, owner::name) AS place, sn_rank(id) AS rank, n.sn_label AS label, (n).sn_label AS again,
    upper(owner::name) AS big, max(id) OVER () AS most
  FROM sn_notes AS n, generate_series(1, 1::smallint) AS g(x);
CREATE VIEW sn_grouped AS SELECT max(id) AS most, count(owner::name) AS n FROM sn_notes;
CREATE MATERIALIZED VIEW sn_kept AS SELECT id, strpos(tags, owner::name) AS place, sn_rank(id) AS rank FROM sn_notes;
CREATE TABLE sn_checked (
  id int DEFAULT strpos('abc', 'c'::name), name name,
  place int GENERATED ALWAYS AS (strpos('abc', name::text)) STORED,
  rank int GENERATED ALWAYS AS (sn_rank(id)) STORED,
  CONSTRAINT sn_in CHECK (strpos('abc', name) > 0 AND sn_rank(id) = 1)
);
CREATE UNIQUE INDEX sn_by ON sn_checked ((strpos('abc', name::text)), sn_rank(id)) WHERE strpos('abc', name::text) > 0;
CREATE TABLE sn_log (what text);
CREATE FUNCTION sn_fire() RETURNS trigger LANGUAGE plpgsql AS
  $$ BEGIN INSERT INTO sn_log VALUES ('fired ' || NEW.id); RETURN NEW; END $$;
CREATE TRIGGER sn_trigger AFTER INSERT ON sn_checked FOR EACH ROW
  WHEN (strpos('abc', NEW.name) > 0 AND sn_rank(NEW.id) = 1) EXECUTE FUNCTION sn_fire();
CREATE DOMAIN sn_letter AS name DEFAULT substr('abc', strpos('abc', 'b'::name)) CHECK (strpos('abc', VALUE) > 0);
CREATE TABLE sn_letters (letter sn_letter, n int DEFAULT sn_rank(3));
CREATE FUNCTION sn_atomic(n name) RETURNS int LANGUAGE sql BEGIN ATOMIC SELECT strpos('abc', n) + sn_rank(3) * 10; END;
CREATE FUNCTION sn_return(n name) RETURNS int LANGUAGE sql RETURN strpos('abc', n) + sn_rank(3) * 10;
CREATE FUNCTION sn_text(n name) RETURNS int LANGUAGE sql AS $$ SELECT strpos('abc', n) + sn_rank(3) * 10 $$;
CREATE FUNCTION sn_defaults(n int DEFAULT strpos('abc', 'b'::name), r int DEFAULT sn_rank(3)) RETURNS int LANGUAGE sql
  AS 'SELECT n * 10 + r';
CREATE PROCEDURE sn_run(n name) LANGUAGE sql BEGIN ATOMIC
  INSERT INTO sn_log SELECT 'place ' || strpos('abc', n) || ' rank ' || sn_rank(3)
  ; WITH sn_log AS (SELECT 'with' AS what) INSERT INTO sn_log SELECT what FROM sn_log RETURNING *
  ; END;
CREATE VIEW sn_changed AS SELECT id, tags, owner FROM sn_notes WHERE strpos(tags, owner::name) < 90 AND sn_rank(id) = 1
  WITH CHECK OPTION;
ALTER VIEW sn_changed ALTER COLUMN tags SET DEFAULT 'at ' || strpos('abc', 'b'::name);
CREATE TABLE sn_apart (a int, b name, EXCLUDE USING btree ((strpos('abc', b::text)) WITH =) WHERE (sn_rank(a) = 1));
CREATE TABLE sn_like (LIKE sn_checked INCLUDING ALL);
-- The attack: functions that take the arguments more exactly, and others of their names
SET ROLE sn_reader;
CREATE FUNCTION public.strpos(text, name) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT 100';
CREATE FUNCTION public.sn_rank(int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT 100';
CREATE FUNCTION public.upper(name) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT 'stolen' $$;
CREATE FUNCTION public.generate_series(int, smallint) RETURNS SETOF int LANGUAGE sql AS 'SELECT 1 UNION ALL SELECT 2';
CREATE FUNCTION sn_step(bigint, name) RETURNS bigint LANGUAGE sql AS 'SELECT $1';
CREATE AGGREGATE public.count(name) (SFUNC = sn_step, STYPE = bigint, INITCOND = '100');
CREATE FUNCTION public.substr(text, bigint) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT 'stolen' $$;
CREATE FUNCTION public.sn_apart(int) RETURNS text LANGUAGE sql AS $$ SELECT 'stolen' $$;
CREATE TYPE public.sn_mood AS ENUM ('high', 'stolen');
SELECT strpos('abc', 'c'::name), sn_rank(1), upper('a'::name);
SELECT id FROM sn_notes ORDER BY id;
-- error 42501
INSERT INTO sn_notes VALUES (4, 'boss', 'd');
INSERT INTO sn_notes VALUES (5, 'sn_reader', 'e');
RESET ROLE;
SELECT * FROM sn_calls ORDER BY id;
SELECT * FROM sn_grouped;
INSERT INTO sn_changed (id, owner) VALUES (6, 'f');
UPDATE sn_changed SET owner = 'g' WHERE id = 6;
SELECT * FROM sn_changed ORDER BY id;
DELETE FROM sn_changed WHERE id = 6;
INSERT INTO sn_apart VALUES (1, 'a');
-- error 23P01
INSERT INTO sn_apart VALUES (2, 'a');
REFRESH MATERIALIZED VIEW sn_kept;
SELECT * FROM sn_kept ORDER BY id;
SELECT * FROM sn_moods;
-- error 23514
INSERT INTO sn_checked VALUES (1, 'x');
INSERT INTO sn_checked (name) VALUES ('b');
-- error 23505
INSERT INTO sn_checked (name) VALUES ('b');
-- error 23514
INSERT INTO sn_like VALUES (1, 'x');
INSERT INTO sn_like (name) VALUES ('c');
SELECT * FROM sn_checked;
SELECT * FROM sn_like;
SELECT * FROM sn_log;
-- error 23514
INSERT INTO sn_letters VALUES ('x');
INSERT INTO sn_letters DEFAULT VALUES;
SELECT * FROM sn_letters;
SELECT sn_atomic('b'), sn_return('b'), sn_text('b'), sn_defaults();
SELECT sn_atomic(name), sn_text(name) FROM sn_checked;
CALL sn_run('b');
SELECT * FROM sn_log;
-- What an error says, and what follows a new name
ALTER FUNCTION sn_rank(numeric) RENAME TO sn_level;
ALTER SCHEMA sn RENAME TO sn_moved;
SELECT id, rank FROM sn_calls ORDER BY id;
SELECT * FROM sn_moods;
INSERT INTO sn_checked (name) VALUES ('c');
SELECT * FROM sn_checked ORDER BY id, name;
SELECT sn_atomic('b'), sn_return('b');
-- error 2BP01
DROP FUNCTION sn_level(numeric);
-- What depends on a function: each is refused, and dropped with CASCADE
CREATE FUNCTION sn_used(int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT $1';
CREATE FUNCTION sn_user(int) RETURNS int LANGUAGE sql RETURN sn_used($1);
-- messages
-- error 2BP01
DROP FUNCTION sn_used(int);
-- cases
DROP FUNCTION sn_user(int);
CREATE FUNCTION sn_user(n int DEFAULT sn_used(4)) RETURNS int LANGUAGE sql AS 'SELECT n';
-- messages
-- error 2BP01
DROP FUNCTION sn_used(int);
-- cases
CREATE TABLE sn_indexed (a int);
CREATE UNIQUE INDEX sn_index ON sn_indexed (sn_used(a));
CREATE INDEX sn_part ON sn_indexed (a) WHERE sn_used(a) > 0;
-- error 2BP01
DROP FUNCTION sn_used(int);
DROP FUNCTION sn_used(int) CASCADE;
-- error 42883
SELECT sn_user();
SELECT count(*) FROM pg_indexes WHERE tablename = 'sn_indexed';
DROP TABLE sn_indexed;
DROP FUNCTION sn_rank(int);
SELECT sn_atomic('b');
DROP PROCEDURE sn_run(name);
DROP TABLE sn_like, sn_letters, sn_log, sn_checked CASCADE;
DROP MATERIALIZED VIEW sn_kept;
DROP TABLE sn_apart;
DROP VIEW sn_changed, sn_calls, sn_grouped, sn_moods;
DROP TABLE sn_notes CASCADE;
DROP FUNCTION sn_fire(), sn_atomic(name), sn_return(name), sn_text(name), sn_defaults(int, int), sn_level(numeric);
DROP DOMAIN sn_letter;
DROP AGGREGATE public.count(name);
DROP FUNCTION sn_step(bigint, name), strpos(text, name), upper(name), generate_series(int, smallint), substr(text, bigint), sn_apart(int);
DROP TYPE public.sn_mood;
DROP SCHEMA sn_moved CASCADE;
REVOKE ALL ON SCHEMA public FROM sn_reader;
DROP ROLE sn_reader;
CREATE FUNCTION sn_bound(int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT $1';
CREATE TABLE sn_retyped (c int CHECK (sn_bound(c) > 1));
CREATE FUNCTION sn_bound(bigint) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT 5';
ALTER TABLE sn_retyped ALTER COLUMN c TYPE bigint;
INSERT INTO sn_retyped VALUES (0);
SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'sn_retyped'::regclass;
CREATE SCHEMA sn_private;
CREATE TYPE sn_private.sn_hue AS ENUM ('red', 'blue');
CREATE TABLE sn_hues (a int, m sn_private.sn_hue DEFAULT 'red'::sn_private.sn_hue CHECK (m <> 'blue'::sn_private.sn_hue));
CREATE ROLE sn_third;
GRANT ALL ON sn_hues TO sn_third;
SET ROLE sn_third;
INSERT INTO sn_hues (a) VALUES (1);
SELECT a, m FROM sn_hues;
-- error 42501
SELECT 'red'::sn_private.sn_hue;
RESET ROLE;
CREATE VIEW sn_windows AS SELECT a, row_number() OVER "W x" AS "N n" FROM sn_hues WINDOW "W x" AS (ORDER BY a);
CREATE FUNCTION sn_argument("end" int) RETURNS int LANGUAGE sql AS 'SELECT $1 + 1';
CREATE VIEW sn_arguments AS SELECT sn_argument("end" => a) AS b FROM sn_hues;
CREATE VIEW sn_joined AS SELECT "J j".a FROM sn_hues x JOIN sn_hues y USING (a) AS "J j";
SELECT * FROM sn_windows, sn_arguments, sn_joined;
SELECT count(*) > 1 FROM pg_class WHERE relname LIKE 'sn%';
DROP VIEW sn_windows, sn_arguments, sn_joined;
DROP TABLE sn_hues;
DROP ROLE sn_third;
-- Names of relations in literals: the relations of the writing, under a new name too
CREATE ROLE sn_other;
CREATE TABLE sn_secret (id int);
CREATE SEQUENCE sn_counter;
CREATE TABLE sn_audit (rel oid DEFAULT 'sn_secret'::regclass::oid, what text, CHECK (rel <> 'sn_counter'::regclass::oid));
INSERT INTO sn_audit VALUES (DEFAULT, 'hidden'), (1, 'shown');
ALTER TABLE sn_audit ENABLE ROW LEVEL SECURITY;
CREATE POLICY sn_p ON sn_audit USING (rel <> 'sn_secret'::regclass::oid);
CREATE VIEW sn_relations AS SELECT 'sn_secret'::regclass AS rel, 'sn_counter'::regclass::text AS seq;
CREATE VIEW sn_counts AS SELECT nextval('sn_counter') AS n;
CREATE FUNCTION sn_count() RETURNS bigint LANGUAGE sql RETURN nextval('sn_counter');
-- error 42P01
CREATE VIEW sn_missing AS SELECT nextval('sn_nowhere');
-- error 42P01
CREATE POLICY sn_q ON sn_audit USING (rel <> 'sn_nowhere'::regclass);
-- error 0A000
CREATE POLICY sn_q ON sn_audit USING (rel <> 'sn_other'::regrole);
GRANT SELECT ON sn_audit, sn_counts TO sn_other;
CREATE TEMP TABLE sn_secret (x int);
CREATE TEMP SEQUENCE sn_counter START 100;
SET ROLE sn_other;
SELECT what FROM sn_audit;
RESET ROLE;
INSERT INTO sn_audit VALUES (DEFAULT, 'hidden too');
-- error 23514
INSERT INTO sn_audit VALUES ('public.sn_counter'::regclass, 'refused');
SELECT * FROM sn_relations;
SELECT n FROM sn_counts;
SELECT sn_count();
DROP TABLE pg_temp.sn_secret;
DROP SEQUENCE pg_temp.sn_counter;
ALTER TABLE sn_secret RENAME TO sn_renamed;
ALTER SEQUENCE sn_counter RENAME TO sn_ticker;
SELECT * FROM sn_relations;
SELECT n FROM sn_counts;
SELECT sn_count();
SELECT policyname, qual FROM pg_policies WHERE tablename = 'sn_audit';
SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'sn_audit'::regclass;
SET search_path = '';
SELECT policyname, qual FROM pg_policies WHERE tablename = 'sn_audit';
RESET search_path;
DROP VIEW sn_relations, sn_counts;
DROP FUNCTION sn_count();
DROP TABLE sn_audit, sn_renamed;
DROP SEQUENCE sn_ticker;
DROP ROLE sn_other;
-- Defaults of views' columns, domains, and names with a quote
CREATE FUNCTION "sn_q""t"(int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT 5';
CREATE DOMAIN sn_positive AS int CONSTRAINT sn_above CHECK ("sn_q""t"(VALUE) > 0);
-- error 2BP01
DROP FUNCTION "sn_q""t"(int);
DROP DOMAIN sn_positive;
CREATE DOMAIN sn_five AS int DEFAULT "sn_q""t"(1);
-- error 2BP01
DROP FUNCTION "sn_q""t"(int);
DROP DOMAIN sn_five;
CREATE FUNCTION sn_named(int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT 5';
CREATE DOMAIN sn_positive AS int DEFAULT sn_named(1) CONSTRAINT sn_above CHECK (sn_named(VALUE) > 0);
-- messages
-- error 2BP01
DROP FUNCTION sn_named(int);
-- cases
DROP DOMAIN sn_positive;
DROP FUNCTION sn_named(int);
CREATE TABLE sn_based (a int, CHECK ("sn_q""t"(a) > 0));
-- error 2BP01
DROP FUNCTION "sn_q""t"(int);
DROP TABLE sn_based;
CREATE TABLE sn_based (a int);
CREATE VIEW sn_over AS SELECT a FROM sn_based;
ALTER VIEW sn_over ALTER COLUMN a SET DEFAULT "sn_q""t"(1);
-- error 2BP01
DROP FUNCTION "sn_q""t"(int);
CREATE DOMAIN sn_positive AS int CONSTRAINT sn_above CHECK ("sn_q""t"(VALUE) > 0);
DROP FUNCTION "sn_q""t"(int) CASCADE;
INSERT INTO sn_over VALUES (DEFAULT);
SELECT a::sn_positive FROM sn_over;
DROP TABLE sn_based CASCADE;
DROP DOMAIN sn_positive;
