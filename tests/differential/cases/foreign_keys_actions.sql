-- What foreign keys do about keys that change or go: ON UPDATE, ON DELETE SET of some columns, MATCH FULL.
-- cases
CREATE TABLE fka_p (id integer PRIMARY KEY, name text);
CREATE TABLE fka_c (id integer PRIMARY KEY, p integer REFERENCES fka_p ON UPDATE CASCADE ON DELETE SET NULL);
INSERT INTO fka_p VALUES (1,'a'),(2,'b'),(3,'c');
INSERT INTO fka_c VALUES (10,1),(11,1),(12,2),(13,NULL);
UPDATE fka_p SET id = 100 WHERE id = 1;
SELECT * FROM fka_c ORDER BY id;
UPDATE fka_p SET id = id + 1000;
SELECT * FROM fka_c ORDER BY id;
UPDATE fka_p SET name = 'z';
SELECT * FROM fka_c ORDER BY id;
DELETE FROM fka_p WHERE id = 1100;
SELECT * FROM fka_c ORDER BY id;
CREATE TABLE fka_sn (id integer, p integer REFERENCES fka_p ON UPDATE SET NULL);
INSERT INTO fka_sn VALUES (1, 1002), (2, 1003);
UPDATE fka_p SET id = 5 WHERE id = 1002;
SELECT * FROM fka_sn ORDER BY id;
CREATE TABLE fka_sd (id integer, p integer DEFAULT 5 REFERENCES fka_p ON UPDATE SET DEFAULT ON DELETE SET DEFAULT);
INSERT INTO fka_sd VALUES (1, 1003);
UPDATE fka_p SET id = 6 WHERE id = 1003;
SELECT * FROM fka_sd ORDER BY id;
SELECT * FROM fka_sn ORDER BY id;
-- error 23503
UPDATE fka_p SET id = 7 WHERE id = 5;
CREATE TABLE fka_r (id integer, p integer REFERENCES fka_p ON UPDATE RESTRICT);
INSERT INTO fka_r VALUES (1, 6);
-- error 23503
UPDATE fka_p SET id = 8 WHERE id = 6;
UPDATE fka_p SET id = 6 WHERE id = 6;
CREATE TABLE fka_p2 (a integer, b integer, c text, PRIMARY KEY (a, b));
CREATE TABLE fka_c2 (id integer, a integer DEFAULT 1, b integer DEFAULT 1, FOREIGN KEY (a, b) REFERENCES fka_p2 ON UPDATE CASCADE ON DELETE SET NULL (b));
INSERT INTO fka_p2 VALUES (1,1,'x'),(1,2,'y'),(2,2,'z');
INSERT INTO fka_c2 VALUES (1,1,1),(2,1,2),(3,2,2),(4,NULL,9),(5,1,NULL);
DELETE FROM fka_p2 WHERE a = 1 AND b = 2;
SELECT * FROM fka_c2 ORDER BY id;
UPDATE fka_p2 SET a = a * 10, b = b + 5;
SELECT * FROM fka_c2 ORDER BY id;
CREATE TABLE fka_d2 (id integer, a integer DEFAULT 10, b integer DEFAULT 6, FOREIGN KEY (a, b) REFERENCES fka_p2 ON DELETE SET DEFAULT (b));
INSERT INTO fka_d2 VALUES (1, 20, 7);
-- error 23503
DELETE FROM fka_p2 WHERE a = 20;
INSERT INTO fka_p2 VALUES (20, 6, 'n');
DELETE FROM fka_p2 WHERE a = 20 AND b = 7;
SELECT * FROM fka_d2;
-- error 42703
CREATE TABLE fka_bad (a integer, b integer, FOREIGN KEY (a, b) REFERENCES fka_p2 ON DELETE SET NULL (nosuch));
-- error 42P10
CREATE TABLE fka_bad (a integer, b integer, x integer, FOREIGN KEY (a, b) REFERENCES fka_p2 ON DELETE SET NULL (x));
CREATE TABLE fka_full (id integer, a integer, b integer, FOREIGN KEY (a, b) REFERENCES fka_p2 MATCH FULL);
INSERT INTO fka_full VALUES (1, NULL, NULL);
-- error 23503
INSERT INTO fka_full VALUES (2, 10, NULL);
INSERT INTO fka_full VALUES (3, 10, 6);
-- error 23503
UPDATE fka_full SET a = NULL;
UPDATE fka_full SET a = NULL, b = NULL;
-- error 0A000
CREATE TABLE fka_partial (a integer, b integer, FOREIGN KEY (a, b) REFERENCES fka_p2 MATCH PARTIAL);
CREATE TABLE fka_self (id integer PRIMARY KEY, up integer REFERENCES fka_self ON UPDATE CASCADE ON DELETE CASCADE);
INSERT INTO fka_self VALUES (1, NULL), (2, 1), (3, 2), (4, 1);
UPDATE fka_self SET id = 10 WHERE id = 1;
SELECT * FROM fka_self ORDER BY id;
UPDATE fka_self SET id = id + 100;
SELECT * FROM fka_self ORDER BY id;
DELETE FROM fka_self WHERE id = 102;
SELECT * FROM fka_self ORDER BY id;
CREATE TABLE fka_ch1 (id integer PRIMARY KEY);
CREATE TABLE fka_ch2 (id integer PRIMARY KEY REFERENCES fka_ch1 ON UPDATE CASCADE ON DELETE CASCADE);
CREATE TABLE fka_ch3 (id integer REFERENCES fka_ch2 ON UPDATE CASCADE ON DELETE CASCADE);
INSERT INTO fka_ch1 VALUES (1),(2); INSERT INTO fka_ch2 VALUES (1),(2); INSERT INTO fka_ch3 VALUES (1),(1),(2);
UPDATE fka_ch1 SET id = id + 10;
SELECT * FROM fka_ch3 ORDER BY id;
DELETE FROM fka_ch1 WHERE id = 11;
SELECT * FROM fka_ch3 ORDER BY id;
ALTER TABLE fka_c DROP CONSTRAINT fka_c_p_fkey;
ALTER TABLE fka_c ADD FOREIGN KEY (p) REFERENCES fka_p ON UPDATE CASCADE;
SELECT conname, confupdtype, confdeltype, confmatchtype, confdelsetcols, condeferrable, condeferred FROM pg_constraint WHERE contype = 'f' AND conname LIKE 'fka\_%' ORDER BY 1;
SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE contype = 'f' AND conname LIKE 'fka\_%' ORDER BY conname;
SELECT constraint_name, update_rule, delete_rule, match_option FROM information_schema.referential_constraints WHERE constraint_name LIKE 'fka\_%' ORDER BY 1;
