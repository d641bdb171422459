-- CHECK and UNIQUE constraints and indexes: what they let in, what they refuse, and how they are changed.
-- cases
CREATE TABLE co_item (
    id integer PRIMARY KEY,
    name text NOT NULL CHECK (name <> ''),
    price numeric(8,2) CONSTRAINT price_positive CHECK (price > 0),
    low integer, high integer,
    CHECK (low <= high),
    CONSTRAINT co_code UNIQUE (low, name)
);
INSERT INTO co_item VALUES (1, 'a', 1.50, 1, 2), (2, 'b', NULL, NULL, 2);
-- error 23514
INSERT INTO co_item VALUES (3, '', 1, 1, 2);
-- error 23514
INSERT INTO co_item VALUES (3, 'c', -1, 1, 2);
-- error 23514
INSERT INTO co_item VALUES (4, 'd', 1, 1, 2), (5, 'e', 1, 3, 2);
-- error 23502
INSERT INTO co_item VALUES (6, NULL, -1, 5, 2);
-- error 23505
INSERT INTO co_item VALUES (1, 'z', 1, 1, 2);
-- error 23505
INSERT INTO co_item VALUES (7, 'a', 1, 1, 9);
INSERT INTO co_item VALUES (8, 'a', 1, NULL, 9), (9, 'a', 1, NULL, 9);
-- error 23505
INSERT INTO co_item SELECT g, 'same', 1, 0, g FROM generate_series(20, 25) AS g;
-- error 23514
UPDATE co_item SET price = price - 10 WHERE id = 1;
-- error 23514
UPDATE co_item SET low = 100;
-- error 23505
UPDATE co_item SET name = 'a', low = 1 WHERE id = 2;
UPDATE co_item SET high = high + 1;
-- ordered
SELECT * FROM co_item ORDER BY id;
-- error 23514
INSERT INTO co_item (id, name, price) SELECT 100 + g, 'n' || g, 5 - g FROM generate_series(1, 9) AS g;
SELECT count(*) FROM co_item;

ALTER TABLE co_item ADD CONSTRAINT name_short CHECK (length(name) < 10);
-- error 23514
ALTER TABLE co_item ADD CONSTRAINT high_low CHECK (high < 5);
ALTER TABLE co_item ADD CONSTRAINT high_low CHECK (high < 5) NOT VALID;
-- error 23514
INSERT INTO co_item VALUES (30, 'x', 1, 1, 6);
-- error 23514
ALTER TABLE co_item VALIDATE CONSTRAINT high_low;
UPDATE co_item SET high = 4 WHERE high > 4;
ALTER TABLE co_item VALIDATE CONSTRAINT high_low;
ALTER TABLE co_item VALIDATE CONSTRAINT high_low;
-- error 42710
ALTER TABLE co_item ADD CONSTRAINT high_low CHECK (high < 7);
-- error 42704
ALTER TABLE co_item VALIDATE CONSTRAINT nothing;
-- error 42809
ALTER TABLE co_item VALIDATE CONSTRAINT co_code;
-- error 42704
ALTER TABLE co_item DROP CONSTRAINT nothing;
ALTER TABLE co_item DROP CONSTRAINT IF EXISTS nothing;
-- error 42704
ALTER TABLE co_item RENAME CONSTRAINT nothing TO something;
ALTER TABLE co_item RENAME CONSTRAINT high_low TO high_small;
-- error 42710
ALTER TABLE co_item RENAME CONSTRAINT high_small TO name_short;
ALTER TABLE co_item RENAME CONSTRAINT co_code TO co_key;
-- error 23505
INSERT INTO co_item VALUES (40, 'a', 1, 1, 2);
ALTER TABLE co_item DROP CONSTRAINT co_key;
INSERT INTO co_item VALUES (40, 'a', 1, 1, 2);
-- error 23505
ALTER TABLE co_item ADD UNIQUE (low, name);
ALTER TABLE co_item ADD UNIQUE (id, name);
ALTER TABLE co_item DROP CONSTRAINT co_item_pkey;
INSERT INTO co_item VALUES (40, 'b', 1, 1, 2);
-- error 23505
ALTER TABLE co_item ADD PRIMARY KEY (id);
DELETE FROM co_item WHERE id = 40;
ALTER TABLE co_item ADD PRIMARY KEY (id);
-- error 42P16
ALTER TABLE co_item ADD PRIMARY KEY (name);
SELECT conname, contype, conkey, convalidated FROM pg_constraint WHERE conrelid = 'co_item'::regclass;
SELECT indexdef FROM pg_indexes WHERE tablename = 'co_item';
ALTER TABLE co_item RENAME COLUMN name TO title;
-- error 23514
INSERT INTO co_item VALUES (50, '', 1, 1, 2);
-- error 23505
INSERT INTO co_item SELECT id, title, 1, 1, 2 FROM co_item WHERE id = 1;
ALTER TABLE co_item DROP COLUMN title;
SELECT conname, contype FROM pg_constraint WHERE conrelid = 'co_item'::regclass;
INSERT INTO co_item VALUES (51, 2, 1, 2);
-- error 23514
INSERT INTO co_item VALUES (52, -2, 1, 2);
ALTER TABLE co_item ADD COLUMN kind text CHECK (kind IN ('x', 'y')) UNIQUE;
INSERT INTO co_item VALUES (53, 2, 1, 2, 'x');
-- error 23514
INSERT INTO co_item VALUES (54, 2, 1, 2, 'z');
-- error 23505
INSERT INTO co_item VALUES (54, 2, 1, 2, 'x');
-- error 23514
ALTER TABLE co_item ADD COLUMN worth integer DEFAULT 0 CHECK (worth > 0);
-- error 42703
SELECT worth FROM co_item;
ALTER TABLE co_item RENAME TO co_thing;
-- error 23514
INSERT INTO co_thing VALUES (54, 2, 1, 2, 'z');

-- names that PostgreSQL makes
CREATE TABLE co_names (a integer UNIQUE, b integer UNIQUE, c integer CHECK (c > 0) CHECK (c < 9), CHECK (a > b), CHECK (true), UNIQUE (a, b), UNIQUE (b, a), UNIQUE (a, b), PRIMARY KEY (a, c));
SELECT conname, contype, conkey FROM pg_constraint WHERE conrelid = 'co_names'::regclass;
CREATE TABLE co_a_very_long_table_name_of_many_characters (a_very_long_column_name_of_many_characters integer UNIQUE CHECK (a_very_long_column_name_of_many_characters > 1), another_column integer, UNIQUE (a_very_long_column_name_of_many_characters, another_column));
SELECT conname FROM pg_constraint WHERE conrelid = 'co_a_very_long_table_name_of_many_characters'::regclass;
CREATE TABLE co_like (LIKE co_names INCLUDING ALL);
SELECT conname, contype, conkey FROM pg_constraint WHERE conrelid = 'co_like'::regclass;
-- error 23514
INSERT INTO co_like VALUES (1, 2, 3);
CREATE TABLE co_like2 (LIKE co_names);
INSERT INTO co_like2 VALUES (1, 2, 3), (1, 2, 3);
CREATE TABLE co_like3 (LIKE co_names INCLUDING CONSTRAINTS);
-- error 23514
INSERT INTO co_like3 VALUES (3, 2, 10);
INSERT INTO co_like3 VALUES (3, 2, 1), (3, 2, 1);

CREATE TABLE co_source (a integer PRIMARY KEY, b text, c integer);
CREATE INDEX co_by_c ON co_source (c DESC, b);
CREATE UNIQUE INDEX co_one_b ON co_source (b);
CREATE TABLE co_like4 (LIKE co_source INCLUDING ALL);
SELECT indexrelid::regclass::text, indisunique, indkey::text, indoption::text FROM pg_index WHERE indrelid = 'co_like4'::regclass;
INSERT INTO co_like4 VALUES (1, 'x', 2);
-- error 23505
INSERT INTO co_like4 VALUES (2, 'x', 2);
CREATE TABLE co_like5 (LIKE co_source INCLUDING ALL EXCLUDING INDEXES);
INSERT INTO co_like5 VALUES (1, 'x', 2), (1, 'x', 2);

-- NULLS NOT DISTINCT
CREATE TABLE co_nulls (a integer, b integer, UNIQUE NULLS NOT DISTINCT (a, b));
INSERT INTO co_nulls VALUES (1, NULL), (NULL, 1);
-- error 23505
INSERT INTO co_nulls VALUES (1, NULL);
INSERT INTO co_nulls VALUES (NULL, NULL);
-- error 23505
INSERT INTO co_nulls VALUES (NULL, NULL);
-- error 23505
INSERT INTO co_nulls VALUES (5, NULL), (5, NULL);

-- types of keys
CREATE TABLE co_types (n numeric UNIQUE, t timestamptz UNIQUE, i interval UNIQUE, x text UNIQUE, c char(4) UNIQUE, d float8 UNIQUE, u uuid UNIQUE, b bytea UNIQUE, l boolean UNIQUE, y integer[] UNIQUE);
INSERT INTO co_types VALUES (1.0, '2024-01-01', '1 day', 'a', 'a', 1, '00000000-0000-0000-0000-000000000001', '\x01', true, '{1}');
-- error 23505
INSERT INTO co_types (n) VALUES (1.00);
-- error 23505
INSERT INTO co_types (t) VALUES ('2024-01-01 00:00:00+00');
-- error 23505
INSERT INTO co_types (i) VALUES ('1 day');
-- error 23505
INSERT INTO co_types (c) VALUES ('a  ');
-- error 23505
INSERT INTO co_types (d) VALUES (1.0);
-- error 23505
INSERT INTO co_types (u) VALUES ('00000000-0000-0000-0000-000000000001');
-- error 23505
INSERT INTO co_types (b) VALUES ('\x01');
-- error 23505
INSERT INTO co_types (l) VALUES (true);
-- error 23505
INSERT INTO co_types (y) VALUES ('{1}');
INSERT INTO co_types (n, x, l) VALUES (2, 'A', false);
-- error 42704
CREATE TABLE co_json (j json UNIQUE);

-- definitions that are refused
-- error 42804
CREATE TABLE co_bad (a integer CHECK (a + 1));
-- error 42703
CREATE TABLE co_bad (a integer CHECK (b > 1));
-- error 0A000
CREATE TABLE co_bad (a integer CHECK (a > (SELECT 1)));
-- error 42803
CREATE TABLE co_bad (a integer CHECK (sum(a) > 1));
-- error 42P20
CREATE TABLE co_bad (a integer CHECK (row_number() OVER () > 1));
-- error 0A000
CREATE TABLE co_bad (a integer CHECK (generate_series(1, a) > 1));
-- error 42703
CREATE TABLE co_bad (a integer, UNIQUE (b));
-- error 42701
CREATE TABLE co_bad (a integer, UNIQUE (a, a));
-- error 42710
CREATE TABLE co_bad (a integer CONSTRAINT x CHECK (a > 1) CONSTRAINT x CHECK (a > 2));
-- error 42P07
CREATE TABLE co_bad (a integer CONSTRAINT co_like UNIQUE);
-- error 42P16
CREATE TABLE co_bad (a integer PRIMARY KEY, b integer PRIMARY KEY);
-- error 42P01
SELECT * FROM co_bad;
CREATE TABLE co_deferred (a integer UNIQUE DEFERRABLE INITIALLY DEFERRED);
CREATE TABLE co_exclude (a integer, EXCLUDE USING btree (a WITH =));

-- expressions in checks
CREATE TABLE co_expr (a text, b jsonb, c date, CHECK (a ~ '^[a-z]+$' OR a IS NULL), CHECK (b ? 'k'), CHECK (c BETWEEN '2020-01-01' AND '2029-12-31' AND extract(dow FROM c) <> 0), CHECK (co_expr.a IS DISTINCT FROM 'bad'), CHECK (CASE WHEN a = 'one' THEN c IS NOT NULL ELSE true END));
INSERT INTO co_expr VALUES ('abc', '{"k": 1}', '2024-02-28');
-- error 23514
INSERT INTO co_expr VALUES ('ABC', '{"k": 1}', '2024-02-28');
-- error 23514
INSERT INTO co_expr VALUES ('abc', '{"l": 1}', '2024-02-28');
-- error 23514
INSERT INTO co_expr VALUES ('abc', '{"k": 1}', '2024-02-25');
-- error 23514
INSERT INTO co_expr VALUES ('bad', '{"k": 1}', '2024-02-28');
-- error 23514
INSERT INTO co_expr VALUES ('one', '{"k": 1}', NULL);
ALTER TABLE co_expr RENAME COLUMN a TO "A b";
-- error 23514
INSERT INTO co_expr VALUES ('bad', '{"k": 1}', '2024-02-28');
ALTER TABLE co_expr RENAME TO co_expr2;
-- error 23514
INSERT INTO co_expr2 VALUES ('bad', '{"k": 1}', '2024-02-28');
-- error 22012
CREATE TABLE co_div AS SELECT 1 / 0 AS x;
CREATE TABLE co_div (x integer CHECK (10 / x > 1));
-- error 22012
INSERT INTO co_div VALUES (0);

-- indexes
CREATE TABLE co_indexed (a integer, b text, c integer);
CREATE INDEX ON co_indexed (a);
CREATE INDEX ON co_indexed (a);
CREATE INDEX co_i3 ON co_indexed (b DESC, a NULLS FIRST);
CREATE UNIQUE INDEX co_u1 ON co_indexed (a, b);
CREATE UNIQUE INDEX ON co_indexed (c) NULLS NOT DISTINCT;
CREATE INDEX IF NOT EXISTS co_i3 ON co_indexed (c);
SELECT indexdef FROM pg_indexes WHERE tablename = 'co_indexed';
SELECT relname, indisunique, indkey, indoption, indnullsnotdistinct FROM pg_index JOIN pg_class ON oid = indexrelid WHERE indrelid = 'co_indexed'::regclass;
INSERT INTO co_indexed VALUES (1, 'x', 1), (1, 'y', NULL);
-- error 23505
INSERT INTO co_indexed VALUES (1, 'x', 2);
-- error 23505
INSERT INTO co_indexed VALUES (2, 'x', NULL);
-- error 42P07
CREATE INDEX co_i3 ON co_indexed (a);
-- error 42P07
CREATE TABLE co_i3 (a integer);
-- error 42703
CREATE INDEX ON co_indexed (nope);
-- error 42P01
CREATE INDEX ON co_nowhere (a);
-- error 42704
CREATE INDEX ON co_indexed USING nothing (a);
-- error 23505
CREATE UNIQUE INDEX ON co_indexed (a);
ALTER INDEX co_u1 RENAME TO co_u2;
-- error 42P01
ALTER INDEX co_u1 RENAME TO co_u3;
-- error 23505
INSERT INTO co_indexed VALUES (1, 'x', 2);
DROP INDEX co_u2, co_i3;
INSERT INTO co_indexed VALUES (1, 'x', 2);
DROP INDEX IF EXISTS co_u2;
-- error 42704
DROP INDEX co_u2;
-- error 42809
DROP INDEX co_indexed;
-- error 42809
DROP TABLE co_indexed_a_idx;
-- error 2BP01
DROP INDEX co_item_kind_key;
CREATE UNIQUE INDEX ON co_indexed (a) WHERE b IS NULL;
CREATE INDEX co_lower ON co_indexed (lower(b));

-- within a transaction, and after its end
BEGIN;
ALTER TABLE co_indexed ADD CONSTRAINT big CHECK (a < 100);
-- error 23514
INSERT INTO co_indexed VALUES (200, 'n', 9);
ROLLBACK;
INSERT INTO co_indexed VALUES (200, 'n', 9);
BEGIN;
CREATE UNIQUE INDEX co_later ON co_indexed (c, b);
SAVEPOINT s;
-- error 23505
INSERT INTO co_indexed VALUES (300, 'n', 9);
ROLLBACK TO s;
COMMIT;
-- error 23505
INSERT INTO co_indexed VALUES (300, 'n', 9);
SELECT constraint_name, check_clause LIKE '%IS NOT NULL' FROM information_schema.check_constraints WHERE constraint_name LIKE 'co\_%';
SELECT table_name, constraint_name, constraint_type, enforced, nulls_distinct FROM information_schema.table_constraints WHERE table_name IN ('co_names', 'co_nulls') AND constraint_type <> 'CHECK';
SELECT table_name, column_name, constraint_name, ordinal_position FROM information_schema.key_column_usage WHERE table_name = 'co_names';
SELECT table_name, column_name, constraint_name FROM information_schema.constraint_column_usage WHERE table_name = 'co_names';
-- keys are looked at when a statement ends, not row by row
CREATE TABLE co_shift (id integer PRIMARY KEY);
INSERT INTO co_shift VALUES (1), (2), (3);
-- error 23505
-- differs: rows that a statement changes are looked at together
UPDATE co_shift SET id = id + 1;

-- Checks as their definitions are shown, prettily and with all parentheses.
CREATE TABLE co_shown (a integer CHECK (a + 1 * 2 > -3 AND a BETWEEN 1 AND 9), b integer, CONSTRAINT pairs CHECK ((a, b) IS DISTINCT FROM (b, a)), CONSTRAINT same CHECK ((a, b) IS NOT DISTINCT FROM (1, 2) AND b > 1), CONSTRAINT listed CHECK ((a, b) IN ((1, 2), (3, 4))), CONSTRAINT below CHECK (ROW(a, b, a + 1) < ROW(1, 2, 3) OR (a, b) <> (1, 2)), CONSTRAINT called CHECK (abs(a + 1) > 2 AND (a > 1) IS NOT FALSE AND -a < 5 AND b IS NOT NULL));
SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'co_shown'::regclass;
CREATE TABLE co_pretty (a integer, b integer, CONSTRAINT k CHECK (a > 0 AND (b < 5 OR a IS NULL)));
SELECT pg_get_constraintdef(oid, true) FROM pg_constraint WHERE conrelid = 'co_pretty'::regclass;
