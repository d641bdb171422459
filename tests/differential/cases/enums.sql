-- Enums: their labels' order, casts, functions, arrays, changes of the type, and what depends on it.
-- setup
CREATE TYPE en_mood AS ENUM ('sad', 'ok', 'happy');
CREATE TYPE en_color AS ENUM ('red', 'Green "x"', 'it''s, blue');
CREATE TABLE en_t (id integer, m en_mood, c en_color DEFAULT 'red', ms en_mood[]);
INSERT INTO en_t VALUES (1, 'happy', 'it''s, blue', '{sad,happy}'), (2, 'sad', 'Green "x"', NULL), (3, NULL, NULL, '{}'), (4, 'ok', 'red', '{NULL,ok}');
INSERT INTO en_t (id, m) VALUES (5, 'happy');
-- cases
SELECT * FROM en_t;
-- ordered
SELECT id, m FROM en_t ORDER BY m, id;
-- ordered
SELECT id, m FROM en_t ORDER BY m DESC NULLS LAST, id;
SELECT id FROM en_t WHERE m > 'sad';
SELECT id FROM en_t WHERE m = 'happy' OR c <> 'red';
SELECT id, m = 'ok', m < 'happy', m IN ('sad', 'happy'), m BETWEEN 'sad' AND 'ok', m IS DISTINCT FROM 'sad' FROM en_t;
SELECT min(m), max(m), count(m), count(DISTINCT m), min(c), max(c) FROM en_t;
SELECT m, count(*) FROM en_t GROUP BY m;
SELECT DISTINCT m FROM en_t;
SELECT array_agg(m ORDER BY m), array_agg(DISTINCT c), string_agg(m::text, ',' ORDER BY m) FROM en_t;
SELECT id, ms, ms[1], array_length(ms, 1), 'sad' = ANY (ms), ms @> '{happy}', ms || 'ok'::en_mood FROM en_t;
SELECT id, u FROM en_t, unnest(ms) AS u;
SELECT 'sad'::en_mood, CAST('ok' AS en_mood), 'happy'::en_mood::text, m::text || '!', length(m::text), m::varchar(2) FROM en_t;
SELECT ('s' || 'ad')::en_mood, 'o'::text || 'k', ARRAY['sad', 'ok']::en_mood[], '{sad,happy}'::en_mood[], ARRAY['sad'::en_mood];
SELECT enum_first(NULL::en_mood), enum_last(NULL::en_mood), enum_range(NULL::en_mood), enum_first(m), enum_range(m, NULL), enum_range('sad'::en_mood, 'ok'::en_mood), enum_range(NULL, 'ok'::en_mood) FROM en_t;
SELECT enum_cmp('sad'::en_mood, 'ok'), enum_larger('sad'::en_mood, 'ok'), enum_smaller(m, 'ok') FROM en_t;
SELECT greatest(m, 'ok'), least('sad', m), coalesce(m, 'sad'), nullif(m, 'ok'), CASE WHEN id = 1 THEN m ELSE 'ok' END FROM en_t;
SELECT m FROM en_t UNION SELECT 'ok' UNION ALL SELECT 'sad'::en_mood;
SELECT a.id, b.id FROM en_t AS a JOIN en_t AS b USING (m);
SELECT a.id, b.id FROM en_t AS a JOIN en_t AS b ON a.m < b.m;
SELECT id, rank() OVER (ORDER BY m), lag(m) OVER (ORDER BY id), first_value(m) OVER (ORDER BY m) FROM en_t;
SELECT pg_typeof(m), pg_typeof(ms), pg_typeof('sad'::en_mood) FROM en_t LIMIT 1;
SELECT to_json(m), to_jsonb(m), json_agg(c), json_build_object('m', m), to_json(ms) FROM en_t GROUP BY m, ms;
SELECT array_position(enum_range(NULL::en_mood), 'ok'), array_to_string(enum_range(NULL::en_color), '|'), unnest(enum_range(NULL::en_mood));
SELECT * FROM en_t WHERE m = (SELECT max(m) FROM en_t);
SELECT ARRAY['happy', 'sad']::en_mood[] < ARRAY['happy', 'ok']::en_mood[], ROW('sad'::en_mood, 1) < ROW('ok'::en_mood, 0);
SELECT m::text::en_mood FROM en_t;
SELECT format('%s %L %I', m, m, m) FROM en_t WHERE m IS NOT NULL;
SELECT concat(m, '-', c), m || 'x' FROM en_t;
-- error 22P02
SELECT 'angry'::en_mood;
-- error 22P02
SELECT id FROM en_t WHERE m = 'angry';
-- error 22P02
SELECT (id::text)::en_mood FROM en_t;
-- error 22P02
INSERT INTO en_t VALUES (6, 'Sad');
-- error 22P02
SELECT '{sad,angry}'::en_mood[];
-- error 42883
SELECT m = c FROM en_t;
-- error 42883
SELECT m = 'sad'::text FROM en_t;
-- error 42883
SELECT m + 1 FROM en_t;
-- error 42804
INSERT INTO en_t VALUES (6, 'sad'::text);
-- error 42846
SELECT 1::en_mood;
-- error 42846
SELECT m::integer FROM en_t;
-- error 42846
SELECT coalesce(m, c) FROM en_t;
-- error 42704
SELECT 'x'::en_nothing;
-- error 42883
SELECT upper(m) FROM en_t;
UPDATE en_t SET m = 'ok', ms = ARRAY['ok', 'happy']::en_mood[] WHERE id = 2 RETURNING id, m, ms;
UPDATE en_t SET m = CASE WHEN m = 'ok' THEN 'sad'::en_mood ELSE 'happy' END WHERE id IN (2, 4) RETURNING *;
DELETE FROM en_t WHERE m = 'sad' AND id = 4 RETURNING m;
CREATE TABLE en_copy AS SELECT id, m, ms FROM en_t;
SELECT * FROM en_copy;
CREATE VIEW en_v AS SELECT id, m, 'ok'::en_mood AS fixed FROM en_t WHERE m > 'sad';
SELECT * FROM en_v;
SELECT typname, typtype, typcategory, typlen, typbyval, typalign, typstorage, typinput, typoutput FROM pg_type WHERE typname IN ('en_mood', '_en_mood', 'en_color');
-- ordered
SELECT t.typname, e.enumlabel FROM pg_enum AS e JOIN pg_type AS t ON t.oid = e.enumtypid WHERE t.typname LIKE 'en\_%' ORDER BY t.typname, e.enumsortorder;
SELECT attname, atttypid::regtype, format_type(atttypid, atttypmod), attlen, attndims FROM pg_attribute WHERE attrelid = 'en_t'::regclass AND attnum > 0;
SELECT column_name, data_type, udt_schema, udt_name FROM information_schema.columns WHERE table_name = 'en_t';
SELECT 'en_mood'::regtype, 'en_mood[]'::regtype, to_regtype('en_nothing'), to_regtype('public.en_mood');
-- cases
ALTER TYPE en_mood ADD VALUE 'ecstatic';
ALTER TYPE en_mood ADD VALUE 'meh' BEFORE 'ok';
ALTER TYPE en_mood ADD VALUE 'glum' AFTER 'sad';
ALTER TYPE en_mood ADD VALUE IF NOT EXISTS 'glum';
INSERT INTO en_t VALUES (7, 'meh'), (8, 'ecstatic'), (9, 'glum');
-- ordered
SELECT id, m, c, ms FROM en_t ORDER BY m, id;
SELECT enum_range(NULL::en_mood);
ALTER TYPE en_mood RENAME VALUE 'happy' TO 'glad';
SELECT id, m, ms FROM en_t;
SELECT id FROM en_t WHERE m = 'glad';
-- error 22P02
SELECT id FROM en_t WHERE m = 'happy';
ALTER TYPE en_mood ADD VALUE 'happy';
INSERT INTO en_t VALUES (10, 'happy', NULL, '{happy,glad}'), (11, 'glad', NULL, NULL);
-- ordered
SELECT id, m, ms FROM en_t ORDER BY m, id;
SELECT * FROM en_v;
-- error 42710
ALTER TYPE en_mood ADD VALUE 'sad';
-- error 22023
ALTER TYPE en_mood ADD VALUE 'x' BEFORE 'nothing';
-- error 22023
ALTER TYPE en_mood RENAME VALUE 'nothing' TO 'x';
-- error 42710
ALTER TYPE en_mood RENAME VALUE 'ok' TO 'sad';
-- error 42704
ALTER TYPE en_nothing ADD VALUE 'x';
-- error 42710
CREATE TYPE en_mood AS ENUM ('a');
-- error 23505
CREATE TYPE en_twice AS ENUM ('a', 'a');
-- error 42710
CREATE TABLE en_mood (a integer);
-- error 42710
CREATE TYPE en_t AS ENUM ('a');
-- error 3F000
CREATE TYPE en_nowhere.x AS ENUM ('a');
ALTER TYPE en_color RENAME TO en_colour;
SELECT c, pg_typeof(c) FROM en_t WHERE c = 'red';
SELECT 'red'::en_colour;
-- error 42704
SELECT 'red'::en_color;
COMMENT ON TYPE en_colour IS 'seen';
SELECT obj_description('en_colour'::regtype, 'pg_type');
CREATE TABLE en_more AS SELECT id FROM en_t WHERE id < 3;
ALTER TABLE en_more ADD COLUMN extra en_colour DEFAULT 'red';
SELECT id, extra FROM en_more;
ALTER TABLE en_more ALTER COLUMN extra DROP DEFAULT;
ALTER TABLE en_more ALTER COLUMN extra TYPE text;
SELECT id, extra || '!' FROM en_more;
-- error 42804
ALTER TABLE en_more ALTER COLUMN extra TYPE en_colour;
ALTER TABLE en_more ALTER COLUMN extra TYPE en_colour USING extra::en_colour;
SELECT id, extra FROM en_more;
CREATE TABLE en_key (m en_mood PRIMARY KEY, n integer);
INSERT INTO en_key VALUES ('sad', 1), ('ok', 2);
-- error 23505
INSERT INTO en_key VALUES ('sad', 3);
CREATE TYPE en_empty AS ENUM ();
SELECT NULL::en_empty, enum_range(NULL::en_empty);
-- error 22P02
SELECT ''::en_empty;
CREATE SCHEMA en_s;
CREATE TYPE en_s.inner AS ENUM ('x', 'y');
SELECT 'x'::en_s.inner, pg_typeof('x'::en_s.inner);
-- error 42704
SELECT 'x'::"inner";
ALTER TYPE en_s.inner SET SCHEMA public;
SELECT 'y'::"inner";
-- error 2BP01
DROP TYPE en_mood;
-- error 2BP01
DROP TYPE en_colour RESTRICT;
-- error 42704
DROP TYPE en_nothing;
DROP TYPE IF EXISTS en_nothing;
-- error 42809
DROP DOMAIN en_mood;
DROP TYPE en_mood CASCADE;
-- error 42P01
SELECT * FROM en_v;
SELECT * FROM en_copy;
SELECT id, c FROM en_t;
DROP TYPE "inner", en_empty;
SELECT count(*) FROM pg_type WHERE typname IN ('inner', 'en_empty', 'en_mood', '_en_mood');
