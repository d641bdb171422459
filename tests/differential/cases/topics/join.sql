-- Joins: all kinds, USING and NATURAL, aliases of joins and their columns, LATERAL, joins of joins, any condition.
-- setup
CREATE TABLE tj_a (i integer, j integer, t text);
CREATE TABLE tj_b (i integer, k integer);
CREATE TABLE tj_c (k integer, x numeric(6,2), t text);
CREATE TABLE tj_none (i integer, z integer);
INSERT INTO tj_a VALUES (1, 4, 'one'), (2, 3, 'two'), (3, 2, 'three'), (4, 1, 'four'), (5, 0, 'five'), (0, NULL, 'zero'), (NULL, NULL, 'null'), (NULL, 0, 'nz');
INSERT INTO tj_b VALUES (1, -1), (2, 2), (3, -3), (2, 4), (5, -5), (5, -5), (0, NULL), (NULL, NULL), (NULL, 0);
INSERT INTO tj_c VALUES (-1, 1.50, 'one'), (2, 2.25, 'two'), (4, NULL, 'four'), (7, 7.75, NULL), (NULL, 0.10, 'none');
-- cases
SELECT * FROM tj_a, tj_b WHERE tj_a.i = tj_b.i;
SELECT * FROM tj_a CROSS JOIN tj_b WHERE j = 2;
SELECT a.i, b.k FROM tj_a a CROSS JOIN tj_b b WHERE a.i = 1;
SELECT * FROM tj_a INNER JOIN tj_b USING (i);
SELECT * FROM tj_a JOIN tj_b USING (i) WHERE k > 0;
SELECT * FROM tj_a NATURAL JOIN tj_b;
SELECT * FROM tj_a NATURAL LEFT JOIN tj_b;
SELECT * FROM tj_a a (a, b, c) NATURAL JOIN tj_b b (a, d);
SELECT * FROM tj_a a (a, b) NATURAL JOIN tj_b b (c, a);
SELECT * FROM tj_a a (a, b, c) JOIN tj_b b (a, d) USING (a);
SELECT * FROM tj_a JOIN tj_b ON (tj_a.i = tj_b.i);
SELECT * FROM tj_a JOIN tj_b ON (tj_a.i <= tj_b.k);
SELECT * FROM tj_a LEFT OUTER JOIN tj_b USING (i);
SELECT * FROM tj_a RIGHT OUTER JOIN tj_b USING (i);
SELECT * FROM tj_a FULL OUTER JOIN tj_b USING (i);
SELECT * FROM tj_a FULL JOIN tj_b USING (i) WHERE k IS NULL;
SELECT i, tj_a.i, tj_b.i FROM tj_a FULL JOIN tj_b USING (i);
SELECT * FROM tj_a NATURAL FULL JOIN tj_b NATURAL FULL JOIN (SELECT k, x FROM tj_c) c;
SELECT * FROM tj_a LEFT JOIN tj_b USING (i) WHERE k = 1;
SELECT * FROM tj_a a LEFT JOIN tj_b b ON a.i = b.i AND b.k > 0;
SELECT * FROM tj_a a LEFT JOIN tj_b b ON a.i = b.i AND a.j > 2;
SELECT * FROM tj_a a LEFT JOIN tj_b b ON false;
SELECT * FROM tj_a a LEFT JOIN tj_b b ON true WHERE a.i = 3;
SELECT * FROM tj_a a FULL JOIN tj_b b ON a.i = b.i AND a.j <> b.k;
SELECT * FROM tj_a a FULL JOIN tj_b b ON false;
SELECT count(*) FROM tj_a a FULL JOIN tj_b b ON true;
-- error 0A000
-- differs: a full join takes any condition
SELECT a.i, b.i FROM tj_a a FULL JOIN tj_b b ON a.i + b.i = 5;
SELECT * FROM tj_a a RIGHT JOIN tj_b b ON a.j = b.k OR a.i = b.k;
SELECT * FROM (tj_a JOIN tj_b USING (i)) AS j WHERE j.i > 1;
SELECT j.* FROM (tj_a LEFT JOIN tj_b USING (i)) AS j (p, q, r, s);
SELECT * FROM tj_a JOIN tj_b USING (i) AS m WHERE m.i = 2;
SELECT m.i, tj_a.i, k FROM tj_a JOIN tj_b USING (i) AS m;
SELECT * FROM (tj_a CROSS JOIN tj_b) AS x (a, b, c, d, e) WHERE a = d AND e > 0;
SELECT * FROM tj_a LEFT JOIN (tj_b LEFT JOIN tj_c USING (k)) USING (i);
SELECT * FROM (tj_a LEFT JOIN tj_b USING (i)) LEFT JOIN tj_c USING (k);
SELECT * FROM tj_a LEFT JOIN tj_b ON tj_a.i = tj_b.i LEFT JOIN tj_c ON tj_c.k = tj_b.k AND tj_c.t = tj_a.t;
SELECT a.i, b.k, c.x FROM tj_a a JOIN tj_b b ON a.i = b.i JOIN tj_c c ON c.k = b.k;
SELECT a.i, b.k, c.x FROM tj_a a LEFT JOIN tj_b b LEFT JOIN tj_c c ON c.k = b.k ON a.i = b.i;
SELECT t FROM tj_a NATURAL JOIN (SELECT t, x FROM tj_c) s;
SELECT a.t, s.n FROM tj_a a, LATERAL (SELECT count(*) AS n FROM tj_b b WHERE b.i = a.i) s;
SELECT a.t, s.k FROM tj_a a LEFT JOIN LATERAL (SELECT k FROM tj_b b WHERE b.i = a.i ORDER BY k DESC LIMIT 1) s ON true;
SELECT a.i, g FROM tj_a a, generate_series(1, a.i) AS g;
SELECT a.i, g FROM tj_a a LEFT JOIN generate_series(1, a.j) AS g ON true;
SELECT a.i, s.v FROM tj_a a CROSS JOIN LATERAL (VALUES (a.i), (a.j)) AS s(v);
SELECT a.i, s.v FROM tj_a a, LATERAL (SELECT a.i + b.k AS v FROM tj_b b WHERE b.i = a.i) s WHERE v > 0;
SELECT a.i, x.m, y.n FROM tj_a a, LATERAL (SELECT max(k) AS m FROM tj_b b WHERE b.i <= a.i) x, LATERAL (SELECT x.m + a.j AS n) y;
SELECT * FROM (SELECT i FROM tj_a) a JOIN LATERAL (SELECT sum(k) AS s FROM tj_b WHERE i = a.i) b ON s IS NOT NULL;
SELECT a.i FROM tj_a a WHERE EXISTS (SELECT 1 FROM tj_b b, LATERAL (SELECT b.k + a.i AS v) l WHERE l.v = 4);
SELECT a.i, (SELECT sum(v) FROM (VALUES (a.i), (a.j)) AS s(v)) FROM tj_a a;
SELECT a1.i, a2.i FROM tj_a a1 JOIN tj_a a2 ON a1.i = a2.j;
SELECT a1.i, a2.i FROM tj_a a1 LEFT JOIN tj_a a2 ON a1.i = a2.j WHERE a2.i IS NULL;
SELECT count(*) FROM tj_a JOIN tj_none USING (i);
SELECT * FROM tj_a LEFT JOIN tj_none USING (i);
SELECT * FROM tj_none RIGHT JOIN tj_a USING (i);
SELECT * FROM tj_none FULL JOIN tj_none n2 USING (i);
SELECT a.i FROM tj_a a WHERE a.i IN (SELECT b.i FROM tj_b b LEFT JOIN tj_c c USING (k) WHERE c.x IS NULL);
SELECT a.i FROM tj_a a WHERE NOT EXISTS (SELECT FROM tj_b b JOIN tj_c c ON c.k = b.k WHERE b.i = a.i);
SELECT coalesce(a.i, b.i) AS i, count(*) FROM tj_a a FULL JOIN tj_b b ON a.i = b.i GROUP BY 1;
SELECT a.*, b.* FROM tj_a a JOIN tj_b b ON (a.i, a.j) = (b.i, b.k);
SELECT * FROM tj_a a JOIN tj_b b ON a.i IS NOT DISTINCT FROM b.i;
SELECT * FROM tj_a a JOIN tj_c c ON a.i = c.x::integer;
SELECT * FROM tj_a a JOIN tj_c c ON a.t = c.t AND a.i < (SELECT max(k) FROM tj_b);
SELECT a.i, b.k FROM tj_a a LEFT JOIN tj_b b ON b.i = a.i AND b.k = (SELECT max(k) FROM tj_b WHERE i = a.i);
SELECT a.i, b.i FROM tj_a a LEFT JOIN tj_b b ON EXISTS (SELECT 1 FROM tj_c c WHERE c.k = b.k AND c.t = a.t);
SELECT ss.a, ss.b FROM (SELECT a.i AS a, b.i AS b FROM tj_a a LEFT JOIN tj_b b ON a.j = b.i) ss WHERE ss.b IS NOT NULL;
SELECT * FROM tj_a a, (tj_b b JOIN tj_c c USING (k)) bc WHERE a.i = bc.i;
-- error 42P01
SELECT * FROM tj_a a, tj_b b LEFT JOIN tj_c c ON c.k = a.i;
-- error 42703
SELECT * FROM tj_a JOIN tj_b USING (j);
-- error 42703
SELECT * FROM tj_a JOIN tj_b USING (nothing);
-- error 42702
SELECT i FROM tj_a, tj_b;
-- error 42712
SELECT * FROM tj_a a JOIN tj_b a ON true;
-- error 42P01
SELECT * FROM tj_a a, (SELECT a.i) s;
-- error 42P10
SELECT * FROM tj_a a RIGHT JOIN LATERAL (SELECT a.i) s ON true;
-- error 42803
SELECT * FROM tj_a JOIN tj_b ON sum(k) > 1;
-- error 42703
SELECT m.j FROM tj_a JOIN tj_b USING (i) AS m;
-- error 42P01
SELECT * FROM (tj_a JOIN tj_b USING (i)) AS j WHERE tj_a.i > 1;
-- error 42804
SELECT * FROM tj_a JOIN tj_b ON tj_a.i;
-- error 42703
SELECT * FROM tj_a a JOIN tj_c c USING (t, x);
