-- Stored generated columns, and defaults that are computed.
-- cases
CREATE TABLE ge_one (a integer, b integer, total integer GENERATED ALWAYS AS (a + b) STORED, label text GENERATED ALWAYS AS (upper('n' || a::text)) STORED);
INSERT INTO ge_one VALUES (1, 2), (3, NULL), (NULL, NULL);
INSERT INTO ge_one (b, a) SELECT n, n * 10 FROM generate_series(1, 3) AS g(n);
SELECT * FROM ge_one ORDER BY a, b;
INSERT INTO ge_one (a, b, total) VALUES (5, 6, DEFAULT) RETURNING *;
-- error 428C9
INSERT INTO ge_one (a, b, total) VALUES (5, 6, 11);
-- error 428C9
INSERT INTO ge_one SELECT 1, 2, 3;
-- error 428C9
INSERT INTO ge_one (a, total) OVERRIDING SYSTEM VALUE VALUES (1, 2);
UPDATE ge_one SET b = b + 100 WHERE a = 1 RETURNING *;
UPDATE ge_one SET a = o.n FROM (VALUES (5, 50)) AS o(old, n) WHERE a = o.old RETURNING ge_one.*;
UPDATE ge_one SET total = DEFAULT, a = 2 WHERE a = 1 RETURNING a, total;
-- error 428C9
UPDATE ge_one SET total = 1;
-- error 22003
INSERT INTO ge_one VALUES (2147483647, 1);
DELETE FROM ge_one WHERE total = 33 RETURNING label;
SELECT column_name, is_generated, generation_expression, column_default FROM information_schema.columns
WHERE table_name = 'ge_one' AND column_name <> 'label' ORDER BY ordinal_position;
SELECT attname, attgenerated, atthasdef FROM pg_attribute
WHERE attrelid = 'ge_one'::regclass AND attnum > 0 ORDER BY attnum;
-- error 42P17
CREATE TABLE ge_bad (a integer, b integer GENERATED ALWAYS AS (a + random()) STORED);
-- error 42P17
CREATE TABLE ge_bad (a timestamptz, b date GENERATED ALWAYS AS (a::date) STORED);
-- error 42P17
CREATE TABLE ge_bad (a integer, b integer GENERATED ALWAYS AS (a) STORED, c integer GENERATED ALWAYS AS (b) STORED);
-- error 42703
CREATE TABLE ge_bad (a integer, b integer GENERATED ALWAYS AS (nope) STORED);
-- error 0A000
CREATE TABLE ge_bad (a integer, b integer GENERATED ALWAYS AS ((SELECT 1)) STORED);
-- error 42803
CREATE TABLE ge_bad (a integer, b integer GENERATED ALWAYS AS (sum(a)) STORED);
-- error 42P20
CREATE TABLE ge_bad (a integer, b bigint GENERATED ALWAYS AS (row_number() OVER ()) STORED);
-- error 0A000
CREATE TABLE ge_bad (a integer, b integer GENERATED ALWAYS AS (generate_series(1, a)) STORED);
-- error 42804
CREATE TABLE ge_bad (a integer, b date GENERATED ALWAYS AS (a) STORED);
-- error 42601
CREATE TABLE ge_bad (a integer, b integer DEFAULT 1 GENERATED ALWAYS AS (a) STORED);
-- error 42601
CREATE TABLE ge_bad (a integer, b integer GENERATED ALWAYS AS IDENTITY GENERATED ALWAYS AS (a) STORED);
ALTER TABLE ge_one ADD COLUMN twice bigint GENERATED ALWAYS AS (a * 2) STORED;
SELECT a, twice FROM ge_one ORDER BY a;
ALTER TABLE ge_one RENAME COLUMN a TO first;
INSERT INTO ge_one (first, b) VALUES (8, 1) RETURNING *;
-- error 2BP01
ALTER TABLE ge_one DROP COLUMN b;
ALTER TABLE ge_one DROP COLUMN b CASCADE;
SELECT * FROM ge_one ORDER BY first;
-- error 0A000
ALTER TABLE ge_one ALTER COLUMN first TYPE bigint;
-- error 42601
ALTER TABLE ge_one ALTER COLUMN twice SET DEFAULT 1;
ALTER TABLE ge_one ALTER COLUMN twice DROP EXPRESSION;
-- error 55000
ALTER TABLE ge_one ALTER COLUMN twice DROP EXPRESSION;
ALTER TABLE ge_one ALTER COLUMN twice DROP EXPRESSION IF EXISTS;
INSERT INTO ge_one (first, twice) VALUES (9, 99) RETURNING *;
CREATE TABLE ge_key (id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, at timestamp NOT NULL, day date GENERATED ALWAYS AS (at::date) STORED, size numeric(8,2), price numeric GENERATED ALWAYS AS (size * 1.5) STORED);
INSERT INTO ge_key (at, size) VALUES ('2024-02-29 23:59:59', 10.25), ('2024-03-01', NULL) RETURNING *;
SELECT day, sum(price) FROM ge_key GROUP BY day ORDER BY day;
CREATE TABLE ge_like (LIKE ge_key INCLUDING ALL);
INSERT INTO ge_like (at, size) VALUES ('2025-01-01 10:00', 4) RETURNING *;
CREATE TABLE ge_unlike (LIKE ge_key);
INSERT INTO ge_unlike (id, at, day) VALUES (1, '2025-01-01 10:00', '1999-01-01') RETURNING *;
CREATE TABLE ge_null (a integer, b integer NOT NULL GENERATED ALWAYS AS (a + 1) STORED);
-- error 23502
INSERT INTO ge_null VALUES (NULL);
-- Defaults.
CREATE TABLE ge_default (a integer DEFAULT 1 + 2, b text DEFAULT lower('ABC') || '!', c timestamptz DEFAULT now(), d uuid DEFAULT gen_random_uuid(), e double precision DEFAULT random(), f date DEFAULT CURRENT_DATE, g text DEFAULT current_user);
INSERT INTO ge_default DEFAULT VALUES;
INSERT INTO ge_default (a) SELECT n FROM generate_series(1, 3) AS g(n);
SELECT a, b, c = c AS c, f = CURRENT_DATE AS f, g FROM ge_default ORDER BY a;
SELECT count(DISTINCT d), count(DISTINCT e) FROM ge_default;
-- error 0A000
CREATE TABLE ge_bad (a integer DEFAULT (SELECT 1));
-- error 0A000
CREATE TABLE ge_bad (a integer, b integer DEFAULT a);
-- error 42803
CREATE TABLE ge_bad (a integer DEFAULT sum(1));
-- With ON CONFLICT and MERGE.
CREATE TABLE ge_merge (id integer PRIMARY KEY, n integer, twice integer GENERATED ALWAYS AS (n * 2) STORED, s bigint GENERATED ALWAYS AS IDENTITY);
INSERT INTO ge_merge (id, n) VALUES (1, 10), (2, 20);
INSERT INTO ge_merge (id, n) VALUES (1, 11), (3, 30) ON CONFLICT (id) DO UPDATE SET n = excluded.n + ge_merge.n RETURNING id, n, twice;
SELECT id, n, twice FROM ge_merge ORDER BY id;
-- error 428C9
INSERT INTO ge_merge (id, n) VALUES (1, 11) ON CONFLICT (id) DO UPDATE SET twice = 4;
MERGE INTO ge_merge AS m USING (VALUES (2, 200), (9, 900)) AS v(id, n) ON m.id = v.id WHEN MATCHED THEN UPDATE SET n = v.n WHEN NOT MATCHED THEN INSERT (id, n) VALUES (v.id, v.n);
SELECT id, n, twice FROM ge_merge ORDER BY id;
SELECT count(DISTINCT s) = count(*) FROM ge_merge;
-- error 428C9
MERGE INTO ge_merge AS m USING (VALUES (2, 200)) AS v(id, n) ON m.id = v.id WHEN MATCHED THEN UPDATE SET twice = v.n;
-- error 428C9
MERGE INTO ge_merge AS m USING (VALUES (20, 200)) AS v(id, n) ON m.id = v.id WHEN NOT MATCHED THEN INSERT (id, n, s) VALUES (v.id, v.n, 5);
WITH made AS (INSERT INTO ge_merge (id, n) VALUES (50, 5) RETURNING id, twice) SELECT * FROM made;
CREATE TABLE ge_texts (a integer, u uuid, l time, j jsonb, t text GENERATED ALWAYS AS ('n' || a::numeric || u || l || a::float8) STORED, k text GENERATED ALWAYS AS (j || ''::text) STORED);
INSERT INTO ge_texts (a, u, l, j) VALUES (1, 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '10:30', '[1]');
SELECT t, k FROM ge_texts;
-- error 42P17
CREATE TABLE ge_array (a integer[], t text GENERATED ALWAYS AS (a::text) STORED);
-- error 42P17
CREATE TABLE ge_money (a money, t text GENERATED ALWAYS AS (a::text) STORED);
-- error 42P17
CREATE TABLE ge_date (a date, t text GENERATED ALWAYS AS ('n' || a) STORED);
