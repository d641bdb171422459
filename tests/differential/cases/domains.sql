-- Domains: checks where a value becomes one, defaults, changes, and what they are in the catalog.
-- setup
CREATE DOMAIN do_pos AS integer CHECK (VALUE > 0);
CREATE DOMAIN do_code AS varchar(5) NOT NULL DEFAULT 'none' CONSTRAINT lower_case CHECK (VALUE = lower(VALUE));
CREATE DOMAIN do_money AS numeric(8,2) CHECK (VALUE >= 0) CHECK (VALUE < 1000);
CREATE DOMAIN do_any AS numeric;
CREATE DOMAIN do_small AS do_pos CHECK (VALUE < 100) DEFAULT 7;
CREATE DOMAIN do_tags AS text[] CHECK (array_length(VALUE, 1) < 4);
CREATE TABLE do_t (id integer, p do_pos, c do_code, m do_money, a do_any, s do_small, g do_tags);
INSERT INTO do_t VALUES (1, 5, 'abc', 9.999, 1.50, 10, '{a,b}'), (2, NULL, 'x', NULL, 2, NULL, NULL);
INSERT INTO do_t (id, p) VALUES (3, 9);
-- cases
SELECT * FROM do_t;
SELECT p + 1, p * 2.5, c || '!', m / 2, a + 1, s - p, g[1], g || 'z'::text FROM do_t;
SELECT p = 5, c LIKE 'a%', m > 5, a = 1.5, s IN (7, 8), 'a' = ANY (g), p BETWEEN 1 AND 5 FROM do_t;
SELECT max(p), min(c), sum(m), avg(a), count(s), array_agg(p ORDER BY id), string_agg(c, ',' ORDER BY id) FROM do_t;
SELECT c, count(*) FROM do_t GROUP BY c;
-- ordered
SELECT id, c FROM do_t ORDER BY c DESC, id;
SELECT DISTINCT p, m FROM do_t;
SELECT coalesce(p, 3), coalesce(p, s), greatest(p, s), nullif(p, 5), CASE WHEN id = 1 THEN p ELSE 2 END FROM do_t;
SELECT p FROM do_t UNION SELECT s FROM do_t UNION ALL SELECT 1;
SELECT upper(c), length(c), abs(p), round(m, 1), to_char(m, '999.99'), cardinality(g), to_json(p), row_number() OVER (ORDER BY c, id) FROM do_t;
SELECT 5::do_pos, '5'::do_pos, CAST(5.4 AS do_pos), 'abc'::do_code, 1.005::do_money, '3'::text::do_pos, 3::do_small, NULL::do_pos, 12::smallint::do_pos;
SELECT 'abcdef'::do_code;
SELECT pg_typeof(p), pg_typeof(c), pg_typeof(5::do_small), pg_typeof(p + 1), pg_typeof(coalesce(p, p)), pg_typeof(coalesce(p, 1)), pg_typeof(g) FROM do_t LIMIT 1;
SELECT '{1,2}'::do_pos[], ARRAY[1, 2]::do_pos[], ARRAY[3::do_pos], pg_typeof(ARRAY[3::do_pos]), '{a}'::do_tags;
-- error 23514
SELECT 0::do_pos;
-- error 23514
SELECT '-1'::do_pos;
-- error 23514
SELECT (id - 1)::do_pos FROM do_t;
-- error 23514
SELECT 'ABC'::do_code;
-- error 23502
SELECT NULL::do_code;
-- error 23502
SELECT NULL::text::do_code;
-- error 23514
SELECT 100::do_small;
-- error 23514
SELECT (-5)::do_small;
-- error 23514
SELECT 1000::do_money;
-- error 22003
SELECT 10000000::do_money;
-- error 23514
SELECT '{1,0}'::do_pos[];
-- error 23514
SELECT '{a,b,c,d}'::do_tags;
-- error 22P02
SELECT 'x'::do_pos;
-- error 42846
SELECT true::do_money;
-- error 42883
SELECT upper(p) FROM do_t;
-- error 23514
INSERT INTO do_t VALUES (4, 0);
-- error 23502
INSERT INTO do_t (id, c) VALUES (4, NULL);
-- error 22001
INSERT INTO do_t (id, c) VALUES (4, 'abcdef');
-- error 23514
INSERT INTO do_t (id, p) SELECT id - 2, id - 2 FROM do_t;
-- error 42804
INSERT INTO do_t (id, p) SELECT id, c FROM do_t;
-- error 23514
UPDATE do_t SET p = p - 9;
-- error 23514
UPDATE do_t SET g = g || ARRAY['x', 'y', 'z'];
INSERT INTO do_t SELECT id + 3, p, c, m, a, s, g FROM do_t;
UPDATE do_t SET p = p + 1, m = m * 2, s = DEFAULT WHERE id = 1 RETURNING id, p, m, s;
SELECT * FROM do_t;
CREATE TABLE do_copy AS SELECT id, p, c, a, p + 1 AS next FROM do_t;
SELECT attname, atttypid::regtype, format_type(atttypid, atttypmod), attnotnull FROM pg_attribute WHERE attrelid = 'do_copy'::regclass AND attnum > 0;
CREATE VIEW do_v AS SELECT id, p, c::text AS c FROM do_t;
SELECT * FROM do_v WHERE p = 9;
SELECT typname, typtype, typcategory, typnotnull, typbasetype::regtype, typtypmod, typndims, typdefault, typinput, typoutput, typreceive, typlen FROM pg_type WHERE typname LIKE 'do\_%' AND typtype = 'd';
SELECT conname, contype, contypid::regtype, conrelid FROM pg_constraint WHERE contypid <> 0 AND conname LIKE 'do\_%';
SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint WHERE contypid = 'do_pos'::regtype;
SELECT column_name, data_type, domain_name, character_maximum_length, numeric_precision, numeric_scale FROM information_schema.columns WHERE table_name = 'do_t';
SELECT domain_name, data_type, domain_default FROM information_schema.domains WHERE domain_name LIKE 'do\_%';
-- error 23514
ALTER DOMAIN do_pos ADD CHECK (VALUE > 6);
-- error 23502
ALTER DOMAIN do_pos SET NOT NULL;
ALTER DOMAIN do_pos ADD CONSTRAINT below CHECK (VALUE < 50);
-- error 23514
SELECT 60::do_pos;
-- error 23514
SELECT 60::do_small;
-- error 42710
ALTER DOMAIN do_pos ADD CONSTRAINT below CHECK (VALUE < 51);
ALTER DOMAIN do_pos RENAME CONSTRAINT below TO under;
-- error 42704
ALTER DOMAIN do_pos DROP CONSTRAINT below;
ALTER DOMAIN do_pos DROP CONSTRAINT IF EXISTS below;
ALTER DOMAIN do_pos VALIDATE CONSTRAINT under;
ALTER DOMAIN do_pos DROP CONSTRAINT under;
SELECT 60::do_pos, 60::do_small;
ALTER DOMAIN do_pos SET DEFAULT 3;
INSERT INTO do_t (id) VALUES (20);
ALTER DOMAIN do_small DROP DEFAULT;
INSERT INTO do_t (id) VALUES (21);
SELECT id, p, c, s FROM do_t WHERE id >= 20;
ALTER DOMAIN do_pos DROP DEFAULT;
ALTER DOMAIN do_code DROP NOT NULL;
INSERT INTO do_t (id, c) VALUES (22, NULL);
SELECT id, c FROM do_t WHERE c IS NULL;
-- error 23502
ALTER DOMAIN do_code SET NOT NULL;
ALTER DOMAIN do_money RENAME TO do_price;
SELECT 5::do_price, pg_typeof(m) FROM do_t WHERE id = 1;
-- error 42704
SELECT 5::do_money;
COMMENT ON DOMAIN do_price IS 'what it costs';
SELECT obj_description('do_price'::regtype, 'pg_type');
-- error 42809
ALTER DOMAIN int4 SET NOT NULL;
-- error 42704
ALTER DOMAIN do_nothing SET NOT NULL;
-- error 42710
CREATE DOMAIN do_pos AS text;
-- error 42804
CREATE DOMAIN do_x AS integer CHECK (VALUE + 1);
-- error 42703
CREATE DOMAIN do_x AS integer CHECK (nothing > 1);
-- error 0A000
CREATE DOMAIN do_x AS integer CHECK (VALUE > (SELECT 1));
-- error 42803
CREATE DOMAIN do_x AS integer CHECK (sum(VALUE) > 1);
-- error 42601
CREATE DOMAIN do_x AS integer UNIQUE;
-- error 42601
CREATE DOMAIN do_x AS integer NOT NULL NULL;
-- error 42601
CREATE DOMAIN do_x AS integer DEFAULT 1 DEFAULT 2;
-- error 42704
CREATE DOMAIN do_x AS nothing;
-- error 22P02
CREATE DOMAIN do_x AS integer DEFAULT 'x';
-- error 2BP01
DROP DOMAIN do_pos;
-- error 42704
DROP DOMAIN do_nothing;
DROP DOMAIN IF EXISTS do_nothing;
DROP DOMAIN do_any CASCADE;
SELECT * FROM do_t WHERE id = 1;
DROP DOMAIN do_pos CASCADE;
SELECT * FROM do_t WHERE id = 1;
-- error 42P01
SELECT * FROM do_v;
SELECT typname FROM pg_type WHERE typname LIKE 'do\_%' AND typtype = 'd';
-- functions over domains: what they take and what they give is checked
CREATE DOMAIN dom_fpos AS integer CHECK (VALUE > 0);
CREATE FUNCTION dom_f(integer) RETURNS dom_fpos LANGUAGE sql AS 'SELECT $1';
CREATE FUNCTION dom_fset(integer) RETURNS SETOF dom_fpos LANGUAGE sql AS 'SELECT generate_series($1, 2)';
CREATE FUNCTION dom_ftake(dom_fpos) RETURNS integer LANGUAGE sql AS 'SELECT $1 + 1';
CREATE FUNCTION dom_fout(a integer, OUT x dom_fpos, OUT y integer) LANGUAGE sql AS 'SELECT $1, $1 + 1';
SELECT dom_f(1), pg_typeof(dom_f(1)), dom_f(1) + 1, dom_ftake(7);
-- error 23514
SELECT x, dom_f(x) FROM generate_series(0, 2) AS x;
SELECT * FROM dom_fset(1);
-- error 23514
SELECT * FROM dom_fset(0);
-- error 23514
SELECT dom_ftake(x) FROM generate_series(0, 1) AS x;
SELECT * FROM dom_fout(1);
-- error 23514
SELECT * FROM dom_fout(0);
CREATE FUNCTION dom_ftake(integer) RETURNS integer LANGUAGE sql AS 'SELECT $1 + 100';
SELECT dom_ftake(1);
SELECT proname, pg_get_function_arguments(oid), prorettype::regtype FROM pg_proc WHERE proname LIKE 'dom\_f%' ORDER BY 1, 2;
-- error 2BP01
DROP DOMAIN dom_fpos;
DROP FUNCTION dom_ftake(dom_fpos), dom_ftake(integer);
CREATE DOMAIN do_gone AS integer;
CREATE TABLE do_v (a do_gone UNIQUE, b integer, c integer, CHECK (a < b));
CREATE VIEW do_of_a AS SELECT a FROM do_v;
CREATE VIEW do_of_c AS SELECT c, count(*) AS n FROM do_v GROUP BY c;
DROP DOMAIN do_gone CASCADE;
SELECT * FROM do_of_c;
INSERT INTO do_v VALUES (1, 2) RETURNING *;
-- error 42P01
SELECT * FROM do_of_a;
-- error 2BP01
ALTER TABLE do_v DROP COLUMN c;
-- A function of a domain goes before one of its base type where that is what an argument is
CREATE DOMAIN do_positive AS integer CHECK (VALUE > 0);
CREATE FUNCTION do_which(integer) RETURNS text LANGUAGE sql AS $$ SELECT 'integer' $$;
CREATE FUNCTION do_which(do_positive) RETURNS text LANGUAGE sql AS $$ SELECT 'positive' $$;
CREATE TABLE do_overloads (a do_positive, b integer);
INSERT INTO do_overloads VALUES (1, 2);
SELECT do_which(a), do_which(b), do_which(a + 0), do_which(3), do_which(3::do_positive) FROM do_overloads;
