-- INSERT, UPDATE, DELETE, TRUNCATE and CREATE TABLE AS: what they count, return, coerce and refuse.
-- setup
CREATE TABLE dm_t (id integer NOT NULL, name varchar(5), qty numeric(6,2) DEFAULT 1.5, at timestamp, ok boolean DEFAULT true);
CREATE TABLE dm_src (id bigint, name text);
INSERT INTO dm_src VALUES (1, 'one'), (2, 'two'), (3, NULL), (4, 'four');
-- cases
INSERT INTO dm_t VALUES (1, 'a', 2.345, '2024-02-29 10:00:00', false);
INSERT INTO dm_t (id) VALUES (2);
INSERT INTO dm_t (name, id) VALUES ('b', 3), (NULL, 4), ('', 5);
INSERT INTO dm_t (id, qty, ok) VALUES (6, DEFAULT, DEFAULT), (7, NULL, 'f');
INSERT INTO dm_t (id, name) SELECT id + 100, name FROM dm_src WHERE name IS NOT NULL;
INSERT INTO dm_t (id, name) SELECT id, name FROM dm_src WHERE false;
SELECT * FROM dm_t;
INSERT INTO dm_t (id, name, at) VALUES (8, 'xy', '2024-01-01') RETURNING id, name || '!', qty, at;
INSERT INTO dm_t VALUES (9, 'trail     ', 0.005, NULL, NULL) RETURNING *;
UPDATE dm_t SET qty = qty * 2 WHERE id < 4;
UPDATE dm_t SET name = 'z', ok = NOT ok WHERE id = 1 RETURNING id, name, ok;
UPDATE dm_t SET qty = DEFAULT, at = NULL WHERE id = 8;
UPDATE dm_t SET (name, qty) = ('pair', 7) WHERE id = 2;
UPDATE dm_t SET name = s.name FROM dm_src s WHERE s.id = dm_t.id AND s.name IS NOT NULL AND dm_t.id = 4;
UPDATE dm_t SET qty = (SELECT count(*) FROM dm_src) WHERE id = 5;
UPDATE dm_t SET qty = 0 WHERE false;
UPDATE dm_t AS d SET qty = d.id WHERE d.id = 6;
SELECT id, name, qty, at, ok FROM dm_t;
DELETE FROM dm_t WHERE id = 101;
DELETE FROM dm_t WHERE id = 9999;
DELETE FROM dm_t WHERE id IN (SELECT id + 100 FROM dm_src) RETURNING id;
DELETE FROM dm_t USING dm_src s WHERE s.id = dm_t.id AND s.id = 3;
DELETE FROM dm_t WHERE name IS NULL;
-- error 23502
INSERT INTO dm_t (name) VALUES ('q');
-- error 23502
INSERT INTO dm_t VALUES (50, 'a'), (NULL, 'b');
-- error 23502
UPDATE dm_t SET id = NULL WHERE id = 1;
-- error 22001
INSERT INTO dm_t (id, name) VALUES (60, 'too long');
-- error 22003
INSERT INTO dm_t (id, qty) VALUES (60, 10000);
-- error 22003
INSERT INTO dm_t (id) VALUES (2147483648);
-- error 22003
UPDATE dm_t SET qty = 1e6;
-- error 42601
INSERT INTO dm_t VALUES (1, 'a', 2, NULL, true, 6);
-- error 42601
INSERT INTO dm_t (id, name) VALUES (1);
-- error 42601
INSERT INTO dm_t (id) VALUES (1, 2);
-- error 42703
INSERT INTO dm_t (id, nope) VALUES (1, 2);
-- error 42701
INSERT INTO dm_t (id, id) VALUES (1, 2);
-- error 42804
INSERT INTO dm_t (id, ok) VALUES (1, 5);
-- error 42804
INSERT INTO dm_t (id, at) SELECT id, name FROM dm_src;
-- error 22P02
INSERT INTO dm_t (id) VALUES ('abc');
-- error 22007
INSERT INTO dm_t (id, at) VALUES (1, 'not a time');
-- error 42703
UPDATE dm_t SET nope = 1;
-- error 42601
UPDATE dm_t SET qty = 1, qty = 2;
-- error 42P01
DELETE FROM dm_missing;
-- error 21000
UPDATE dm_t SET qty = (SELECT id FROM dm_src);
SELECT id, name, qty, at, ok FROM dm_t;
TRUNCATE dm_t;
SELECT count(*) FROM dm_t;
TRUNCATE TABLE dm_t, dm_src;
SELECT count(*) FROM dm_src;
-- error 42P01
TRUNCATE dm_missing;
CREATE TABLE dm_made AS SELECT 1 AS i, 2.50 AS n, 'x'::varchar(3) AS v, NULL AS u, 'y' AS w, date '2024-02-29' AS d, now() IS NULL AS b;
SELECT * FROM dm_made;
CREATE TABLE dm_made2 (a, b) AS VALUES (1, 'x'), (2, NULL);
SELECT a, b FROM dm_made2;
CREATE TABLE dm_empty AS SELECT * FROM dm_made2 WITH NO DATA;
SELECT * FROM dm_empty;
CREATE TABLE IF NOT EXISTS dm_made2 AS SELECT 9 AS z;
SELECT * INTO dm_into FROM dm_made2 WHERE a > 1;
SELECT * FROM dm_into;
-- error 42P07
CREATE TABLE dm_made AS SELECT 1;
-- error 42701
CREATE TABLE dm_twice AS SELECT 1 AS a, 2 AS a;
INSERT INTO dm_made2 SELECT a + 10, b FROM dm_made2;
INSERT INTO dm_made2 TABLE dm_made2;
SELECT count(*), sum(a) FROM dm_made2;
INSERT INTO dm_made2 DEFAULT VALUES RETURNING a, b;
-- RETURNING of everything, DEFAULT in rows, and other relations in reach
CREATE TABLE dm_left (a integer DEFAULT 7, b text DEFAULT 'def', c integer);
CREATE TABLE dm_right (k integer, v text);
INSERT INTO dm_right VALUES (1, 'one'), (2, 'two'), (2, 'deux'), (9, NULL);
INSERT INTO dm_left VALUES (DEFAULT, 'x', 1), (2, DEFAULT, DEFAULT), (DEFAULT, DEFAULT, 9) RETURNING *, a + 1 AS next, dm_left.b || '!';
INSERT INTO dm_left DEFAULT VALUES RETURNING dm_left.*;
INSERT INTO dm_left AS l (c) SELECT k FROM dm_right WHERE v IS NOT NULL RETURNING l.c, (SELECT max(k) FROM dm_right) AS m;
UPDATE dm_left SET b = v FROM dm_right WHERE c = k AND k = 1 RETURNING dm_left.a, b, k, v;
UPDATE dm_left AS l SET b = r.v FROM dm_right AS r WHERE l.c = r.k AND r.k = 9 RETURNING *;
UPDATE dm_left l SET a = l.a + s.n FROM (SELECT count(*)::integer AS n FROM dm_right) AS s WHERE l.c = 2 RETURNING l.*, s.n;
DELETE FROM dm_left USING dm_right r, (VALUES (9)) AS w (x) WHERE c = r.k AND r.k = w.x RETURNING dm_left.c, r.*, w.x;
DELETE FROM dm_left l USING dm_right WHERE l.c = k AND k = 1 RETURNING *;
-- error 42702
UPDATE dm_left SET b = 'x' FROM dm_left AS o RETURNING a;
-- error 42P01
UPDATE dm_left AS l SET b = 'x' RETURNING dm_left.a;
-- error 42803
DELETE FROM dm_left RETURNING count(*);
SELECT * FROM dm_left;

-- rows of different lengths
-- error 42601
INSERT INTO dm_t (id) VALUES (901), (902, 'x');
-- views as targets
CREATE VIEW dm_counted AS SELECT count(*) AS c FROM dm_left;
CREATE VIEW dm_grouped AS SELECT a FROM dm_left GROUP BY a;
CREATE VIEW dm_joined AS SELECT a, v FROM dm_left, dm_right;
CREATE VIEW dm_plain AS SELECT a, b FROM dm_left WHERE a > 1;
-- error 55000
INSERT INTO dm_counted VALUES (1);
-- error 55000
UPDATE dm_grouped SET a = 1;
-- error 55000
DELETE FROM dm_joined;
INSERT INTO dm_plain VALUES (5, 'x');
UPDATE dm_plain SET b = 'y';
CREATE TABLE as_it_was (id int PRIMARY KEY, q int);
INSERT INTO as_it_was VALUES (10, 10), (20, 20);
INSERT INTO as_it_was VALUES (1, 1), (2, 2) RETURNING id, (SELECT sum(q) FROM as_it_was), (SELECT count(*) FROM as_it_was x WHERE x.id <= as_it_was.id);
BEGIN;
INSERT INTO as_it_was VALUES (5, 5);
INSERT INTO as_it_was SELECT q + 100, q FROM as_it_was RETURNING id, (SELECT count(*) FROM as_it_was), EXISTS (SELECT 1 FROM as_it_was x WHERE x.id = as_it_was.id);
COMMIT;
-- error 23505
INSERT INTO as_it_was VALUES (1, 1) RETURNING (SELECT max(q) FROM as_it_was);
DROP TABLE as_it_was;
