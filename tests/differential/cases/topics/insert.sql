-- INSERT: defaults, column lists, rows and queries, conversions, RETURNING, what is refused.
-- setup
CREATE TABLE ti (c1 integer, c2 integer NOT NULL, c3 text DEFAULT 'testing', c4 numeric(6,2) DEFAULT 1 + 0.5);
CREATE TABLE ti_pk (id integer PRIMARY KEY, v varchar(5), d date DEFAULT '2000-01-01', b boolean DEFAULT true);
CREATE TABLE ti_src (a integer, b text, n numeric, f double precision);
INSERT INTO ti_src VALUES (1, 'one', 1.005, 1.5), (2, 'two', 2.344, 2.5), (3, NULL, NULL, NULL);
CREATE TABLE ti_arr (a integer[], t text[], j jsonb);
-- cases
INSERT INTO ti (c1, c2, c3) VALUES (DEFAULT, 1, DEFAULT);
INSERT INTO ti (c2, c3) VALUES (3, DEFAULT);
INSERT INTO ti (c1, c2, c3) VALUES (DEFAULT, 5, DEFAULT);
INSERT INTO ti VALUES (DEFAULT, 5, 'test', 2);
INSERT INTO ti VALUES (DEFAULT, 7);
SELECT * FROM ti;
INSERT INTO ti VALUES (10, 20, '40', DEFAULT), (-1, 2, DEFAULT, 3.456), ((SELECT 2), (SELECT i FROM (VALUES (3)) AS foo (i)), 'values are fun!', NULL);
SELECT * FROM ti WHERE c1 IS NOT NULL;
INSERT INTO ti (c2, c1) SELECT a, a * 10 FROM ti_src RETURNING c1, c2, c3, c4;
INSERT INTO ti (c2, c4) SELECT a, n FROM ti_src WHERE n IS NOT NULL RETURNING *;
INSERT INTO ti (c4, c2) VALUES (1.005, 1), ('2.675', 2), (1e2, 3) RETURNING c4;
INSERT INTO ti TABLE ti ORDER BY c2, c4, c1 LIMIT 2;
INSERT INTO ti (c2) VALUES (1.5), ('42'), (7.5::float8) RETURNING c2;
INSERT INTO ti (c2, c3) SELECT 1, 'x' UNION ALL SELECT 2, 'y' RETURNING c3 || c2 AS both;
INSERT INTO ti (c2) SELECT count(*) FROM ti_src RETURNING c2;
INSERT INTO ti (c2) WITH w AS (SELECT 77 AS x) SELECT x FROM w RETURNING c2;
WITH w (x) AS (VALUES (88)) INSERT INTO ti (c2) SELECT x FROM w RETURNING c2, c2 * 2 AS twice;
INSERT INTO ti (c2) SELECT c2 + 1000 FROM ti WHERE c2 = 88 RETURNING ti.c2, (SELECT count(*) FROM ti_src);
INSERT INTO ti AS t (c2) VALUES (99) RETURNING t.c2, t.*;
SELECT count(*), sum(c2), sum(c4) FROM ti;
-- error 23502
INSERT INTO ti_pk DEFAULT VALUES;
INSERT INTO ti_pk (id) VALUES (1), (2);
-- error 22001
INSERT INTO ti_pk VALUES (3, 'abc  ', DEFAULT, NULL), (4, 'toolong' , '2020-02-02', 'no');
INSERT INTO ti_pk VALUES (3, 'abcde  ', DEFAULT, NULL), (4, 'x'::char(3), '2020-02-02', 'no') RETURNING *, length(v);
INSERT INTO ti_pk (id, d) VALUES (5, '2020-06-15 12:34'), (6, timestamp '2020-06-16 23:59') RETURNING d;
INSERT INTO ti_pk (id, d) VALUES (7, 'epoch'), (8, 'infinity'), (9, current_date) RETURNING d < '2100-01-01';
-- error 23505
INSERT INTO ti_pk VALUES (1, 'dup');
-- error 23502
INSERT INTO ti_pk VALUES (NULL, 'x');
-- error 23505
INSERT INTO ti_pk VALUES (20, 'a'), (20, 'b');
-- error 23505
INSERT INTO ti_pk SELECT id FROM ti_pk;
SELECT id, v, d, b FROM ti_pk WHERE id < 7;
INSERT INTO ti_arr VALUES ('{1,2,3}', ARRAY['a', NULL], '{"b": 1, "a": [1, 2]}'), (NULL, '{}', 'null'), (ARRAY[]::integer[], '{"x y","NULL",NULL}', '"s"') RETURNING *;
INSERT INTO ti_arr (a) SELECT array_agg(a ORDER BY a DESC) FROM ti_src RETURNING a, a[1];
INSERT INTO ti_src SELECT generate_series(10, 12), 'g' || generate_series(10, 12) RETURNING a, b;
INSERT INTO ti_src (a, f) VALUES (1, 'NaN'), (2, '-Infinity'), (3, 1e-300) RETURNING f;
INSERT INTO ti_src (n) VALUES (1.10), (123456789.123456789), ('1e3'), (.5) RETURNING n;
-- error 23502
INSERT INTO ti (c1, c2, c3) VALUES (DEFAULT, DEFAULT, DEFAULT);
-- error 23502
INSERT INTO ti (c1) VALUES (1);
-- error 42601
INSERT INTO ti (c1, c2, c3) VALUES (1, 2);
-- error 42601
INSERT INTO ti (c1, c2) VALUES (1, 2, 3);
-- error 42601
INSERT INTO ti (c1) VALUES (1, 2);
-- error 42601
INSERT INTO ti (c1) VALUES (DEFAULT, DEFAULT);
-- error 42601
INSERT INTO ti VALUES (1, 2, 'x', 3, 5);
-- error 42703
INSERT INTO ti (c2, nothing) VALUES (1, 2);
-- error 42701
INSERT INTO ti (c2, c2) VALUES (1, 2);
-- error 22P02
INSERT INTO ti (c2) VALUES ('abc');
-- error 42804
INSERT INTO ti (c2) VALUES (true);
-- error 22003
INSERT INTO ti (c2, c4) VALUES (1, 12345.6);
-- error 22003
INSERT INTO ti (c2) VALUES (2147483648);
-- error 42703
INSERT INTO ti (c2) VALUES (1) RETURNING nothing;
-- error 42804
INSERT INTO ti (c2) SELECT b FROM ti_src;
-- error 42P01
INSERT INTO nothing VALUES (1);
