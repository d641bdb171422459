-- UPDATE: expressions, defaults, FROM, several columns at once, subqueries, aliases, RETURNING, what is refused.
-- setup
CREATE TABLE tup (a integer DEFAULT 10, b integer, c text);
CREATE TABLE tup_o (a integer, b integer, x text);
CREATE TABLE tup_pk (id integer PRIMARY KEY, v text NOT NULL, n numeric(5,2), d date, arr integer[]);
INSERT INTO tup VALUES (5, 10, 'foo'), (10, 20, 'bar'), (NULL, 30, NULL);
INSERT INTO tup_o VALUES (5, 100, 'p'), (10, 200, 'q'), (10, 201, 'r'), (99, 300, 's');
INSERT INTO tup_pk VALUES (1, 'one', 1.5, '2020-01-01', '{1,2}'), (2, 'two', 2.5, '2020-02-29', NULL), (3, 'three', NULL, NULL, '{}');
-- cases
UPDATE tup SET a = DEFAULT, b = DEFAULT WHERE c = 'nothing';
UPDATE tup SET c = 'baz' WHERE a = 5;
SELECT * FROM tup;
UPDATE tup SET a = a + 1, b = a;
SELECT * FROM tup;
UPDATE tup AS t SET b = t.b + 10 WHERE t.a = 11;
UPDATE tup t SET b = t.b + 10 WHERE t.a = 11 RETURNING t.*, a + b AS s;
UPDATE tup SET a = DEFAULT, b = DEFAULT WHERE c = 'bar' RETURNING *;
UPDATE tup SET a = v.i FROM (VALUES (100, 5)) AS v (i, j) WHERE tup.b = v.j;
UPDATE tup SET b = o.b FROM tup_o o WHERE o.a = tup.a AND o.x = 'q' RETURNING tup.a, tup.b, tup.c;
UPDATE tup SET (b, a) = (a, b) WHERE a IS NOT NULL;
UPDATE tup SET (c, b, a) = ('bugle', b + 11, DEFAULT) WHERE c = 'foo' RETURNING *;
UPDATE tup SET (a, b) = ROW(1, 2) WHERE c IS NULL RETURNING *;
UPDATE tup SET (a, b) = (SELECT o.a, o.b FROM tup_o o WHERE o.x = 's') WHERE c = 'baz';
UPDATE tup SET b = (SELECT max(b) FROM tup_o), a = (SELECT count(*) FROM tup_o o WHERE o.a = tup.a);
SELECT * FROM tup;
UPDATE tup SET c = coalesce(c, 'none') || '!', b = CASE WHEN b > 100 THEN b - 100 ELSE -b END RETURNING c, b;
UPDATE tup SET c = NULL WHERE c IN (SELECT 'none!') RETURNING c IS NULL;
UPDATE tup SET b = b WHERE false RETURNING *;
UPDATE ONLY tup SET b = 0 WHERE b IS NULL;
WITH w AS (SELECT 5 AS five) UPDATE tup SET a = five FROM w RETURNING a;
UPDATE tup SET a = s.n FROM (SELECT count(*) AS n, max(x) AS m FROM tup_o) s WHERE s.m = 's' RETURNING tup.a;
UPDATE tup SET b = g FROM generate_series(7, 7) g RETURNING b;
UPDATE tup SET b = o.b FROM tup_o o JOIN tup_pk p ON p.id = o.b / 100 WHERE o.x = 'p' RETURNING tup.b;
SELECT * FROM tup;
UPDATE tup_pk SET n = n * 1.333, v = upper(v), d = d + 30;
SELECT * FROM tup_pk;
UPDATE tup_pk SET n = 1, d = '2021-03-04', arr = arr || 9 WHERE id = 1 RETURNING *;
UPDATE tup_pk SET n = '7.126', v = 5, d = timestamp '2022-05-06 07:08' WHERE id = 2 RETURNING n, v, d;
UPDATE tup_pk SET arr = ARRAY[id, id * 2] RETURNING id, arr;
UPDATE tup_pk SET id = id + 10 WHERE id > 1 RETURNING id;
UPDATE tup_pk SET id = id + 1;
UPDATE tup_pk SET d = NULL, n = NULL RETURNING d, n;
UPDATE tup_pk SET v = v || id || coalesce(n::text, '-') WHERE id IN (SELECT id FROM tup_pk ORDER BY id LIMIT 1) RETURNING v;
-- error 23502
UPDATE tup_pk SET v = DEFAULT;
-- error 23502
UPDATE tup_pk SET v = NULL WHERE id = 2;
-- error 23505
UPDATE tup_pk SET id = 2;
-- error 22003
UPDATE tup_pk SET n = 1000;
-- error 22P02
UPDATE tup_pk SET n = 'abc';
-- error 42804
UPDATE tup_pk SET d = 5;
-- error 42703
UPDATE tup_pk SET nothing = 1;
-- error 42601
UPDATE tup_pk SET id = 1, id = 2;
-- error 42703
UPDATE tup_pk t SET t.id = 1;
-- error 42P01
UPDATE tup_pk t SET v = 'x' WHERE tup_pk.id = 1;
-- error 42601
UPDATE tup_pk SET v = (SELECT v, id FROM tup_pk);
-- error 21000
UPDATE tup_pk SET v = (SELECT v FROM tup_pk);
-- error 42601
UPDATE tup_pk SET (id, v) = (1, 'x', 2);
-- error 42803
UPDATE tup_pk SET v = max(v);
-- error 42803
UPDATE tup_pk SET v = 'x' WHERE count(*) > 1;
-- error 42703
UPDATE tup_pk SET v = 'x' RETURNING nothing;
-- error 42P01
UPDATE nothing SET a = 1;
SELECT id, v FROM tup_pk;
