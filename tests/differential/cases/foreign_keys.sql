-- FOREIGN KEY: what it lets in, what leaves with what, how it is changed, and what it keeps from being dropped.
-- cases
CREATE TABLE fk_p (id integer PRIMARY KEY, code text UNIQUE, x integer, y integer, UNIQUE (x, y));
CREATE TABLE fk_c (id integer PRIMARY KEY, p integer REFERENCES fk_p, code text REFERENCES fk_p (code) ON DELETE SET NULL, a integer DEFAULT 1, b integer DEFAULT 1, CONSTRAINT pair FOREIGN KEY (a, b) REFERENCES fk_p (x, y) ON DELETE SET DEFAULT);
INSERT INTO fk_p VALUES (1, 'one', 1, 1), (2, 'two', 2, 2), (3, 'three', 3, 3), (4, NULL, NULL, 4);
INSERT INTO fk_c VALUES (1, 1, 'one', 1, 1), (2, 2, 'two', 2, 2), (3, NULL, NULL, NULL, 9), (4, NULL, 'three', 3, 3);
-- error 23503
INSERT INTO fk_c VALUES (5, 9);
-- error 23503
INSERT INTO fk_c VALUES (5, 1, 'nine');
-- error 23503
INSERT INTO fk_c (id, p, a, b) VALUES (5, 1, 1, 2);
-- error 23503
INSERT INTO fk_c (id, p) SELECT g + 100, g FROM generate_series(1, 10) AS g;
-- error 23503
UPDATE fk_c SET p = p + 10 WHERE id = 1;
UPDATE fk_c SET p = 3, a = 4, b = NULL WHERE id = 1;
UPDATE fk_c SET p = 1, a = 1, b = 1 WHERE id = 1;
-- error 23503
DELETE FROM fk_p WHERE id = 1;
-- error 23503
UPDATE fk_p SET id = 10 WHERE id = 1;
-- error 23503
UPDATE fk_p SET code = 'uno' WHERE id = 1;
UPDATE fk_p SET code = 'four', y = 5 WHERE id = 4;
UPDATE fk_p SET id = id, code = code;
DELETE FROM fk_p WHERE id = 3;
SELECT * FROM fk_c;
DELETE FROM fk_p WHERE id = 4;
-- error 23503
DELETE FROM fk_p;
-- error 0A000
TRUNCATE fk_p;
BEGIN;
TRUNCATE fk_p, fk_c;
SELECT (SELECT count(*) FROM fk_p), (SELECT count(*) FROM fk_c);
ROLLBACK;
BEGIN;
TRUNCATE fk_p CASCADE;
SELECT (SELECT count(*) FROM fk_p), (SELECT count(*) FROM fk_c);
ROLLBACK;
-- error 2BP01
DROP TABLE fk_p;
-- error 2BP01
ALTER TABLE fk_p DROP CONSTRAINT fk_p_pkey;
-- error 2BP01
ALTER TABLE fk_p DROP COLUMN code;
ALTER TABLE fk_p RENAME COLUMN id TO key;
-- error 23503
INSERT INTO fk_c (id, p) VALUES (50, 50);
ALTER TABLE fk_p RENAME TO fk_parent;
-- error 23503
INSERT INTO fk_c (id, p) VALUES (50, 50);
ALTER TABLE fk_parent RENAME TO fk_p;
SELECT conname, contype, confrelid::regclass, conkey, confkey, confupdtype, confdeltype, confmatchtype, convalidated FROM pg_constraint WHERE conrelid = 'fk_c'::regclass;
SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'fk_c'::regclass AND contype = 'f';
SELECT constraint_name, unique_constraint_name, match_option, update_rule, delete_rule FROM information_schema.referential_constraints WHERE constraint_name LIKE 'fk\_%';
SELECT table_name, column_name, constraint_name FROM information_schema.constraint_column_usage WHERE constraint_name LIKE 'fk_c%';
ALTER TABLE fk_c DROP CONSTRAINT pair;
INSERT INTO fk_c VALUES (60, 1, 'one', 60, 60);
-- error 23503
ALTER TABLE fk_c ADD CONSTRAINT pair FOREIGN KEY (a, b) REFERENCES fk_p (x, y);
ALTER TABLE fk_c ADD CONSTRAINT pair FOREIGN KEY (a, b) REFERENCES fk_p (x, y) NOT VALID;
-- error 23503
INSERT INTO fk_c VALUES (61, 1, 'one', 60, 60);
-- error 23503
ALTER TABLE fk_c VALIDATE CONSTRAINT pair;
DELETE FROM fk_c WHERE id = 60;
ALTER TABLE fk_c VALIDATE CONSTRAINT pair;
ALTER TABLE fk_c RENAME CONSTRAINT pair TO fk_both;
ALTER TABLE fk_c DROP COLUMN a;
SELECT conname FROM pg_constraint WHERE conrelid = 'fk_c'::regclass;
DROP TABLE fk_p CASCADE;
SELECT conname FROM pg_constraint WHERE conrelid = 'fk_c'::regclass;
INSERT INTO fk_c VALUES (70, 70, 'seventy');

-- cascades, also in a circle and through itself
CREATE TABLE fk_tree (id integer PRIMARY KEY, parent integer REFERENCES fk_tree ON DELETE CASCADE, name text);
INSERT INTO fk_tree VALUES (1, NULL, 'root'), (2, 1, 'a'), (3, 1, 'b'), (4, 2, 'aa'), (5, 4, 'aaa'), (6, 6, 'own');
CREATE TABLE fk_leaf (tree integer NOT NULL REFERENCES fk_tree ON DELETE CASCADE, n integer);
INSERT INTO fk_leaf SELECT id, id * 10 FROM fk_tree;
-- error 23503
INSERT INTO fk_tree VALUES (10, 11, 'x');
INSERT INTO fk_tree VALUES (10, 11, 'x'), (11, 10, 'y');
DELETE FROM fk_tree WHERE id = 2 RETURNING id;
SELECT * FROM fk_tree;
SELECT * FROM fk_leaf;
DELETE FROM fk_tree WHERE id = 10;
DELETE FROM fk_tree WHERE id = 6;
SELECT id FROM fk_tree;
WITH gone AS (DELETE FROM fk_tree WHERE id = 3 RETURNING id) SELECT * FROM gone;
SELECT id FROM fk_tree;
MERGE INTO fk_tree USING (VALUES (1)) AS v (k) ON fk_tree.id = v.k WHEN MATCHED THEN DELETE;
SELECT count(*) FROM fk_leaf;
CREATE TABLE fk_r (id integer PRIMARY KEY);
CREATE TABLE fk_rc (r integer REFERENCES fk_r ON DELETE RESTRICT ON UPDATE RESTRICT);
INSERT INTO fk_r VALUES (1), (2);
INSERT INTO fk_rc VALUES (1);
-- error 23503
DELETE FROM fk_r WHERE id = 1;
DELETE FROM fk_r WHERE id = 2;
CREATE TABLE fk_n (id integer PRIMARY KEY);
CREATE TABLE fk_nc (n integer NOT NULL REFERENCES fk_n ON DELETE SET NULL);
INSERT INTO fk_n VALUES (1);
INSERT INTO fk_nc VALUES (1);
-- error 23502
DELETE FROM fk_n;
CREATE TABLE fk_d (id integer PRIMARY KEY);
CREATE TABLE fk_dc (d integer DEFAULT 5 REFERENCES fk_d ON DELETE SET DEFAULT);
INSERT INTO fk_d VALUES (1), (5);
INSERT INTO fk_dc VALUES (1), (1), (5);
DELETE FROM fk_d WHERE id = 1;
SELECT * FROM fk_dc;
-- error 23503
DELETE FROM fk_d;

-- both at once
WITH p AS (INSERT INTO fk_d VALUES (8) RETURNING id) INSERT INTO fk_dc SELECT id FROM p;
INSERT INTO fk_dc VALUES (8) ON CONFLICT DO NOTHING;
WITH c AS (DELETE FROM fk_dc WHERE d = 8 AND false) DELETE FROM fk_d WHERE id = 8;
WITH c AS (DELETE FROM fk_dc WHERE d = 8) DELETE FROM fk_d WHERE id = 8;
BEGIN;
INSERT INTO fk_d VALUES (9);
INSERT INTO fk_dc VALUES (9);
DELETE FROM fk_d WHERE id = 9;
SELECT * FROM fk_dc;
ROLLBACK;

CREATE TABLE fk_pairs (x bigint, y numeric, PRIMARY KEY (x, y));
CREATE TABLE fk_full (x integer, y integer, FOREIGN KEY (x, y) REFERENCES fk_pairs MATCH FULL);
INSERT INTO fk_pairs VALUES (1, 1.0), (2, 2);
INSERT INTO fk_full VALUES (1, 1), (NULL, NULL), (2, 2);
-- error 23503
INSERT INTO fk_full VALUES (1, NULL);
-- error 23503
INSERT INTO fk_full VALUES (1, 2);
-- error 23503
DELETE FROM fk_pairs WHERE x = 1;

-- definitions that are refused
-- error 42P01
CREATE TABLE fk_bad (a integer REFERENCES fk_nowhere);
-- error 42703
CREATE TABLE fk_bad (a integer REFERENCES fk_r (nope));
-- error 42703
CREATE TABLE fk_bad (a integer, FOREIGN KEY (b) REFERENCES fk_r);
-- error 42830
CREATE TABLE fk_bad (a integer, b integer, FOREIGN KEY (a, b) REFERENCES fk_r);
-- error 42830
CREATE TABLE fk_bad (a integer REFERENCES fk_leaf (n));
-- error 42704
CREATE TABLE fk_bad (a integer REFERENCES fk_leaf);
-- error 42804
CREATE TABLE fk_bad (a text REFERENCES fk_r);
CREATE TEMP TABLE fk_passing (a integer PRIMARY KEY);
-- error 42P16
CREATE TABLE fk_bad (a integer REFERENCES fk_passing);
CREATE VIEW fk_view AS SELECT 1 AS a;
-- error 42809
CREATE TABLE fk_bad (a integer REFERENCES fk_view (a));
CREATE TABLE fk_p2 (id integer PRIMARY KEY);
CREATE TABLE fk_later (a integer REFERENCES fk_p2 ON UPDATE CASCADE);
DROP TABLE fk_r, fk_rc;
DROP TABLE fk_nc, fk_n;
DROP TABLE fk_pairs CASCADE;
INSERT INTO fk_full VALUES (77, NULL);
-- the search path decides how a definition shows the other table
CREATE TABLE fk_shown (a int PRIMARY KEY);
CREATE TABLE fk_showing (a int REFERENCES fk_shown CHECK (a < ('5'::text)::int), b numeric CHECK (b > 1::numeric));
SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'fk_showing'::regclass ORDER BY 1;
SET search_path = '';
SELECT conname, pg_get_constraintdef(oid), pg_get_constraintdef(oid, false) FROM pg_constraint WHERE conrelid = 'public.fk_showing'::regclass ORDER BY 1;
RESET search_path;
