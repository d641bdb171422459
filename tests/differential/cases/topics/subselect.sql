-- Subqueries: scalar, row, IN, ANY, ALL, EXISTS, ARRAY, correlated over several levels and in every clause.
-- setup
CREATE TABLE tq (f1 integer, f2 integer, f3 double precision);
INSERT INTO tq VALUES (1, 2, 3), (2, 3, 4), (3, 4, 5), (1, 1, 1), (2, 2, 2), (3, 3, 3), (6, 7, 8), (8, 9, NULL);
CREATE TABLE tq_o (id integer PRIMARY KEY, cust integer, total numeric(8,2), placed date);
INSERT INTO tq_o SELECT n, n % 5, (n * 7 % 23)::numeric * 1.25, date '2022-01-01' + n FROM generate_series(1, 25) AS n;
CREATE TABLE tq_c (cust integer, name text);
INSERT INTO tq_c VALUES (0, 'zero'), (1, 'one'), (2, 'two'), (3, NULL), (9, 'nine');
CREATE TABLE tq_null (x integer);
INSERT INTO tq_null VALUES (1), (NULL), (3);
-- cases
SELECT 1 AS one WHERE 1 IN (SELECT 1);
SELECT 1 AS zero WHERE 1 NOT IN (SELECT 1);
SELECT 1 AS zero WHERE 1 IN (SELECT 2);
SELECT * FROM (SELECT 1 AS x) ss;
SELECT * FROM ((SELECT 1 AS x)) ss;
SELECT * FROM ((SELECT 1 AS x)) AS ss, ((SELECT 2)) t;
SELECT * FROM (SELECT 1, 2);
(SELECT 2) UNION SELECT 2;
((SELECT 2)) UNION SELECT 2;
SELECT ((SELECT 2) UNION SELECT 2);
SELECT (((SELECT 2)) UNION SELECT 2);
SELECT (SELECT ARRAY[1, 2, 3])[1], ((SELECT ARRAY[1, 2, 3]))[2], (((SELECT ARRAY[1, 2, 3])))[3];
SELECT f1 FROM tq WHERE f1 IN (SELECT 1);
SELECT f1 FROM tq WHERE f1 IN (SELECT f2 FROM tq);
SELECT f1 FROM tq WHERE f1 IN (SELECT f2 FROM tq WHERE f2 IN (SELECT f1 FROM tq));
SELECT f1, f2 FROM tq WHERE (f1, f2) NOT IN (SELECT f2, CAST(f3 AS integer) FROM tq WHERE f3 IS NOT NULL);
SELECT f1, f2 FROM tq up WHERE f1 IN (SELECT f2 FROM tq WHERE f1 = up.f1);
SELECT f1, f3 FROM tq up WHERE f1 IN (SELECT f2 FROM tq WHERE CAST(up.f2 AS float) = f3);
SELECT f1, f3 FROM tq up WHERE f3 IN (SELECT up.f1 + f2 FROM tq WHERE f2 = CAST(f3 AS integer));
SELECT f1, f3 FROM tq WHERE (f1, f2) IN (SELECT f2, CAST(f3 AS integer) FROM tq WHERE f3 IS NOT NULL);
SELECT ss.f1, ss.f2 FROM (SELECT f1, max(f2) AS f2 FROM tq GROUP BY f1) ss WHERE ss.f2 > 3;
SELECT count(*) FROM (SELECT f1 FROM tq UNION SELECT f2 FROM tq) s;
SELECT name, (SELECT count(*) FROM tq_o o WHERE o.cust = c.cust) AS n, (SELECT max(total) FROM tq_o o WHERE o.cust = c.cust) AS m FROM tq_c c;
SELECT name FROM tq_c c WHERE EXISTS (SELECT * FROM tq_o o WHERE o.cust = c.cust AND o.total > 20);
SELECT name FROM tq_c c WHERE NOT EXISTS (SELECT 1 FROM tq_o o WHERE o.cust = c.cust);
SELECT id FROM tq_o o WHERE total = (SELECT max(total) FROM tq_o i WHERE i.cust = o.cust);
SELECT id FROM tq_o o WHERE total > (SELECT avg(total) FROM tq_o i WHERE i.cust = o.cust) AND placed < (SELECT max(placed) FROM tq_o) - 10;
SELECT id FROM tq_o o WHERE (SELECT count(*) FROM tq_o i WHERE i.cust = o.cust AND i.total > o.total) < 1;
SELECT c.cust FROM tq_c c WHERE 2 < (SELECT count(*) FROM tq_o o WHERE o.cust = c.cust AND EXISTS (SELECT 1 FROM tq WHERE tq.f1 = o.cust AND tq.f2 > c.cust));
SELECT cust, sum(total) FROM tq_o GROUP BY cust HAVING sum(total) > (SELECT avg(s) FROM (SELECT sum(total) AS s FROM tq_o GROUP BY cust) x);
SELECT cust, (SELECT name FROM tq_c WHERE tq_c.cust = tq_o.cust) AS nm, count(*) FROM tq_o GROUP BY cust;
SELECT (SELECT name FROM tq_c WHERE tq_c.cust = tq_o.cust) AS nm, count(*) FROM tq_o GROUP BY nm;
SELECT (SELECT name FROM tq_c WHERE tq_c.cust = tq_o.cust), count(*) FROM tq_o GROUP BY 1;
-- ordered
SELECT id FROM tq_o ORDER BY (SELECT name FROM tq_c WHERE tq_c.cust = tq_o.cust) NULLS FIRST, id LIMIT 8;
SELECT sum((SELECT f2 FROM tq WHERE f1 = 6 AND f2 > o.cust)) FROM tq_o o;
SELECT count(*) FILTER (WHERE cust IN (SELECT cust FROM tq_c WHERE name IS NOT NULL)) FROM tq_o;
SELECT CASE WHEN f1 = (SELECT min(f1) FROM tq) THEN 'min' WHEN f1 > ALL (SELECT f1 FROM tq_null) THEN 'big' ELSE 'mid' END, f1 FROM tq;
SELECT f1 FROM tq WHERE f1 = ANY (SELECT x FROM tq_null);
SELECT f1 FROM tq WHERE f1 <> ALL (SELECT x FROM tq_null);
SELECT f1 FROM tq WHERE f1 NOT IN (SELECT x FROM tq_null WHERE x IS NOT NULL);
SELECT f1, f1 > ANY (SELECT x FROM tq_null), f1 > ALL (SELECT x FROM tq_null), f1 <= ANY (SELECT x FROM tq_null) FROM tq;
SELECT f1, f1 IN (SELECT x FROM tq_null), f1 NOT IN (SELECT x FROM tq_null), f1 = ALL (SELECT x FROM tq_null) FROM tq;
SELECT NULL IN (SELECT x FROM tq_null), NULL IN (SELECT x FROM tq_null WHERE false), NULL = ALL (SELECT x FROM tq_null WHERE false);
SELECT name FROM tq_c WHERE name LIKE ANY (SELECT 't%' UNION SELECT 'n%');
SELECT name FROM tq_c WHERE name NOT LIKE ALL (SELECT '%o%' UNION SELECT '%z%');
SELECT (1, 2) = (SELECT f1, f2 FROM tq WHERE f3 = 3 AND f1 = 1), (1, 2) < (SELECT 1, 3), ROW(1, NULL) = (SELECT 1, 2);
SELECT f1 FROM tq WHERE (f1, f2) = (SELECT 6, 7);
SELECT f1 FROM tq WHERE (f1, f2) > (SELECT 2, 3);
SELECT f1 FROM tq WHERE (f1, f2) = ANY (SELECT f2, f1 FROM tq);
SELECT f1 FROM tq WHERE (f1, f2) >= ALL (SELECT f1, f2 FROM tq);
SELECT f1 FROM tq WHERE (f1, f2) <> ALL (SELECT 1, 2);
SELECT f1 FROM tq WHERE f1 IN (SELECT f1 FROM tq ORDER BY f2 DESC LIMIT 2);
SELECT f1 FROM tq WHERE (f1 IN (SELECT 1) OR f2 IN (SELECT 9)) AND f3 IS DISTINCT FROM 1;
SELECT f1 FROM tq WHERE f1 = 8 OR EXISTS (SELECT 1 FROM tq t2 WHERE t2.f1 = tq.f2 AND t2.f3 > tq.f3);
SELECT f1 FROM tq WHERE NOT (f1 IN (SELECT 1) OR f2 > ALL (SELECT f1 FROM tq));
SELECT ARRAY(SELECT f1 FROM tq WHERE f1 < 3 ORDER BY f1, f2), ARRAY(SELECT 1 WHERE false), cardinality(ARRAY(SELECT name FROM tq_c));
SELECT c.cust, ARRAY(SELECT id FROM tq_o o WHERE o.cust = c.cust ORDER BY id DESC) FROM tq_c c;
SELECT f1 FROM tq WHERE f1 = ANY (ARRAY(SELECT x FROM tq_null));
SELECT (SELECT x FROM tq_null WHERE false) IS NULL, (SELECT count(*) FROM tq_null WHERE false), EXISTS (SELECT count(*) FROM tq_null WHERE false);
SELECT EXISTS (SELECT FROM tq_null), EXISTS (SELECT 1/0 FROM tq_null WHERE false), EXISTS (SELECT x FROM tq_null GROUP BY x HAVING count(*) > 1);
SELECT (SELECT (SELECT (SELECT max(f1) + o.id FROM tq) + o.cust)) FROM tq_o o WHERE id < 4;
SELECT o.id, (SELECT sum(s.v) FROM (SELECT f1 * o.cust AS v FROM tq WHERE f2 < o.id) s) FROM tq_o o WHERE id < 5;
SELECT o.id, (SELECT string_agg(c.name, '+' ORDER BY c.cust) FROM tq_c c WHERE c.cust IN (SELECT f1 FROM tq WHERE f2 <= o.id)) FROM tq_o o WHERE id IN (1, 3, 10);
SELECT x.id, x.rn FROM (SELECT id, row_number() OVER (PARTITION BY cust ORDER BY total DESC, id) AS rn FROM tq_o) x WHERE rn <= (SELECT min(f2) FROM tq);
SELECT * FROM (SELECT cust FROM tq_o GROUP BY cust) a WHERE cust > (SELECT count(*) FROM tq_o b WHERE b.cust = a.cust) - 3;
SELECT id FROM tq_o WHERE (SELECT total > 10) AND (SELECT cust) = 2;
SELECT (SELECT o.cust FROM tq_c c WHERE c.cust = o.cust) FROM tq_o o WHERE o.id < 6;
SELECT max((SELECT count(*) FROM tq_o i WHERE i.cust = o.cust)) FROM tq_c o;
SELECT id, id + (SELECT 10) * 2, (SELECT 'a') || (SELECT 'b') FROM tq_o WHERE id = 1;
SELECT f1 FROM tq LIMIT (SELECT 2) OFFSET (SELECT 1);
SELECT f1 FROM tq WHERE f1 IN (1, (SELECT 2), (SELECT max(f1) FROM tq));
SELECT f1 FROM tq WHERE f3 BETWEEN (SELECT 2) AND (SELECT avg(f3) FROM tq);
-- error 21000
SELECT (SELECT f1 FROM tq);
-- error 21000
SELECT f1 FROM tq WHERE f1 = (SELECT f2 FROM tq);
-- error 42601
SELECT (SELECT f1, f2 FROM tq LIMIT 1);
-- error 42601
SELECT f1 FROM tq WHERE f1 IN (SELECT f1, f2 FROM tq);
-- error 42601
SELECT f1 FROM tq WHERE (f1, f2) IN (SELECT f1 FROM tq);
-- error 42883
SELECT f1 FROM tq WHERE f1 IN (SELECT name FROM tq_c);
-- error 42703
SELECT f1 FROM tq WHERE f1 = (SELECT zork FROM tq_c);
-- error 42803
SELECT count(*) FROM tq WHERE f1 > (SELECT sum(tq.f2));
-- error 42601
SELECT ARRAY(SELECT f1, f2 FROM tq);
-- error 42601
SELECT f1 FROM tq WHERE f1 IN ();
