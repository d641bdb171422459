-- INSERT … ON CONFLICT: which key it is about, what is skipped, what is changed, and what is refused.
-- cases
CREATE TABLE oc_t (a integer PRIMARY KEY, b integer, c text UNIQUE, d timestamp DEFAULT '2024-01-01');
INSERT INTO oc_t VALUES (1, 10, 'one'), (2, 20, 'two'), (3, 30, NULL);
INSERT INTO oc_t VALUES (1, 11, 'x') ON CONFLICT DO NOTHING;
INSERT INTO oc_t VALUES (9, 11, 'one') ON CONFLICT DO NOTHING RETURNING *;
-- error 23505
INSERT INTO oc_t VALUES (9, 11, 'one') ON CONFLICT (a) DO NOTHING;
INSERT INTO oc_t VALUES (1, 11, 'y'), (4, 40, 'four'), (4, 41, 'other'), (5, 50, 'four'), (6, 60, NULL) ON CONFLICT DO NOTHING RETURNING a, c;
INSERT INTO oc_t VALUES (1, 15, 'z') ON CONFLICT (a) DO UPDATE SET b = excluded.b;
INSERT INTO oc_t VALUES (1, 5, 'z') ON CONFLICT (a) DO UPDATE SET b = oc_t.b + excluded.b, c = upper(excluded.c) RETURNING *;
INSERT INTO oc_t VALUES (77, 5, 'two') ON CONFLICT (c) DO UPDATE SET b = 0 WHERE oc_t.b > 100 RETURNING *;
INSERT INTO oc_t VALUES (77, 5, 'two') ON CONFLICT (c) DO UPDATE SET b = 0 WHERE oc_t.b < 100 AND excluded.a = 77 RETURNING *;
INSERT INTO oc_t VALUES (7, 70, 'seven'), (2, 21, 'deux') ON CONFLICT (a) DO UPDATE SET (b, c) = (excluded.b, DEFAULT), d = DEFAULT RETURNING a, b, c, d;
-- error 23505
INSERT INTO oc_t VALUES (8, 80, NULL), (3, 33, NULL) ON CONFLICT (c) DO NOTHING RETURNING a;
INSERT INTO oc_t VALUES (8, 80, NULL), (9, 90, NULL) ON CONFLICT (c) DO NOTHING RETURNING a;
-- error 23505
INSERT INTO oc_t VALUES (3, 33, NULL) ON CONFLICT (c) DO UPDATE SET b = 1;
INSERT INTO oc_t AS x VALUES (3, 33, NULL) ON CONFLICT ON CONSTRAINT oc_t_pkey DO UPDATE SET b = x.b * 2 RETURNING x.a, x.b;
INSERT INTO oc_t SELECT g, g * 100 FROM generate_series(1, 12) AS g ON CONFLICT (a) DO UPDATE SET b = excluded.b WHERE oc_t.a % 2 = 0;
SELECT a, b, c FROM oc_t;
INSERT INTO oc_t (a, b) SELECT g % 5 + 20, g FROM generate_series(1, 50) AS g ON CONFLICT DO NOTHING;
SELECT a, b FROM oc_t WHERE a >= 20;
INSERT INTO oc_t (a, b) VALUES (20, 1) ON CONFLICT (a) DO UPDATE SET b = (SELECT max(b) FROM oc_t AS other WHERE other.a < oc_t.a) RETURNING b;
INSERT INTO oc_t (a) VALUES (20) ON CONFLICT (a) DO UPDATE SET a = 200 RETURNING *;
-- error 23505
INSERT INTO oc_t (a) VALUES (21) ON CONFLICT (a) DO UPDATE SET a = 22;
WITH new (a, b) AS (VALUES (21, 1), (300, 2)) INSERT INTO oc_t (a, b) SELECT * FROM new ON CONFLICT (a) DO UPDATE SET b = (SELECT sum(b) FROM new) RETURNING a, b;
INSERT INTO oc_t (a, b) VALUES (21, 1) ON CONFLICT (a) WHERE b > 3 DO NOTHING;
-- error 21000
INSERT INTO oc_t (a, b) VALUES (400, 1), (400, 2) ON CONFLICT (a) DO UPDATE SET b = 5;
-- error 21000
INSERT INTO oc_t (a, b) VALUES (300, 1), (300, 2) ON CONFLICT (a) DO UPDATE SET b = 5;
INSERT INTO oc_t (a, b) VALUES (300, 1), (300, 2) ON CONFLICT (a) DO UPDATE SET b = 5 WHERE false;
INSERT INTO oc_t (a, b) VALUES (300, 1), (300, 2) ON CONFLICT (a) DO UPDATE SET b = excluded.b WHERE excluded.b = 2 RETURNING b;
-- error 21000
INSERT INTO oc_t (a, b) VALUES (300, 1), (300, 2) ON CONFLICT (a) DO UPDATE SET b = excluded.b WHERE excluded.b = 1 RETURNING b;
-- error 42P10
INSERT INTO oc_t VALUES (1) ON CONFLICT (b) DO NOTHING;
-- error 42P10
INSERT INTO oc_t VALUES (1) ON CONFLICT (a, c) DO UPDATE SET b = 1;
-- error 42703
INSERT INTO oc_t VALUES (1) ON CONFLICT (nope) DO NOTHING;
-- error 42704
INSERT INTO oc_t VALUES (1) ON CONFLICT ON CONSTRAINT nope DO NOTHING;
-- error 42601
INSERT INTO oc_t VALUES (1) ON CONFLICT DO UPDATE SET b = 1;
-- error 42702
INSERT INTO oc_t VALUES (1) ON CONFLICT (a) DO UPDATE SET b = b + 1;
-- error 42703
INSERT INTO oc_t VALUES (1) ON CONFLICT (a) DO UPDATE SET excluded.b = 1;
-- error 42601
INSERT INTO oc_t VALUES (1) ON CONFLICT (a) DO UPDATE SET b = 1, b = 2;
-- error 42P01
INSERT INTO oc_t AS tt VALUES (1) ON CONFLICT (a) DO UPDATE SET b = oc_t.b;
-- error 42803
INSERT INTO oc_t VALUES (1) ON CONFLICT (a) DO UPDATE SET b = count(*);
-- error 22012
INSERT INTO oc_t VALUES (1, 0) ON CONFLICT (a) DO UPDATE SET b = 1 / excluded.b;
INSERT INTO oc_t VALUES (1, 0) ON CONFLICT (a) DO UPDATE SET b = 1 / excluded.b WHERE excluded.b <> 0;

CREATE TABLE oc_checked (a integer UNIQUE NOT NULL, b integer CHECK (b > 0), s varchar(3));
INSERT INTO oc_checked VALUES (1, 1, 'x');
-- error 23514
INSERT INTO oc_checked VALUES (1, -1) ON CONFLICT DO NOTHING;
-- error 23502
INSERT INTO oc_checked VALUES (NULL, 1) ON CONFLICT DO NOTHING;
-- error 23514
INSERT INTO oc_checked VALUES (1, 1) ON CONFLICT (a) DO UPDATE SET b = -1;
-- error 22001
INSERT INTO oc_checked VALUES (1, 1) ON CONFLICT (a) DO UPDATE SET s = 'long text';
-- error 42804
INSERT INTO oc_checked VALUES (1, 1) ON CONFLICT (a) DO UPDATE SET b = true;
SELECT * FROM oc_checked;
CREATE TABLE oc_none (a integer);
INSERT INTO oc_none VALUES (1), (1) ON CONFLICT DO NOTHING;
-- error 42P10
INSERT INTO oc_none VALUES (1) ON CONFLICT (a) DO NOTHING;
CREATE TABLE oc_two (a integer, b numeric, n integer DEFAULT 0, UNIQUE (a, b), UNIQUE NULLS NOT DISTINCT (b));
INSERT INTO oc_two VALUES (1, 1.0), (2, NULL) ON CONFLICT DO NOTHING;
INSERT INTO oc_two VALUES (1, 1.00, 5), (3, NULL, 6), (NULL, 7.5, 7), (NULL, 7.50, 8) ON CONFLICT DO NOTHING;
INSERT INTO oc_two AS o VALUES (9, NULL) ON CONFLICT (b) DO UPDATE SET n = o.n + 1;
INSERT INTO oc_two AS o VALUES (1, 1) ON CONFLICT (b, a) DO UPDATE SET n = o.n + 1;
SELECT * FROM oc_two;
CREATE UNIQUE INDEX oc_checked_s ON oc_checked (s);
INSERT INTO oc_checked VALUES (5, 5, 'x') ON CONFLICT (s) DO UPDATE SET b = 55 RETURNING *;
-- error 42704
INSERT INTO oc_checked VALUES (5, 5, 'x') ON CONFLICT ON CONSTRAINT oc_checked_s DO NOTHING;
BEGIN;
INSERT INTO oc_checked VALUES (6, 6, 'y');
INSERT INTO oc_checked VALUES (6, 7, 'z') ON CONFLICT (a) DO UPDATE SET b = excluded.b RETURNING *;
INSERT INTO oc_checked VALUES (6, 8, 'z'), (7, 8, 'w') ON CONFLICT (a) DO UPDATE SET b = excluded.b RETURNING *;
ROLLBACK;
SELECT * FROM oc_checked;
CREATE TABLE oc_fruit (key integer PRIMARY KEY, fruit text);
INSERT INTO oc_fruit VALUES (1, 'Apple');
-- error 42P10
INSERT INTO oc_fruit VALUES (1, 'Pear') ON CONFLICT (key, lower(fruit)) DO NOTHING;
-- error 42P10
INSERT INTO oc_fruit VALUES (1, 'Pear') ON CONFLICT (lower(fruit)) DO UPDATE SET fruit = excluded.fruit;
-- error 42703
INSERT INTO oc_fruit VALUES (1, 'Pear') ON CONFLICT (lower(nothing)) DO NOTHING;
INSERT INTO oc_fruit VALUES (1, 'Pear') ON CONFLICT (key) WHERE fruit LIKE 'A%' DO UPDATE SET fruit = oc_fruit.fruit || excluded.fruit RETURNING *;
-- error 42703
INSERT INTO oc_fruit VALUES (1, 'Pear') ON CONFLICT (key) WHERE nothing DO NOTHING;
