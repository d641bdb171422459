-- Statements whose parts do not go together: grouping, types, places, subqueries, sets, values, syntax.
-- setup
CREATE TABLE em_t (k integer PRIMARY KEY, g text, n numeric(6,2), d date, b boolean);
CREATE TABLE em_u (k integer, v text, j json);
INSERT INTO em_t VALUES (1, 'a', 1.5, '2020-01-01', true), (2, 'b', 2.5, '2020-02-02', false);
INSERT INTO em_u VALUES (1, 'x', '{}'), (1, 'y', '[]');
-- messages
-- error 42803
SELECT g, n FROM em_t GROUP BY g;
-- error 42803
SELECT t.g, t.n FROM em_t t GROUP BY t.g;
-- error 42803
SELECT g, max(n), d + 1 FROM em_t GROUP BY g;
-- error 42803
SELECT * FROM em_t GROUP BY g;
-- error 42803
SELECT g FROM em_t HAVING count(*) > 0;
-- error 42803
SELECT g FROM em_t GROUP BY g HAVING n > 1;
-- error 42803
SELECT g FROM em_t GROUP BY g ORDER BY n;
-- error 42803
SELECT g, count(*) FROM em_t;
-- error 42803
SELECT (SELECT max(v) FROM em_u WHERE em_u.k = em_t.k), count(*) FROM em_t GROUP BY g;
-- error 42803
SELECT count(*) FROM em_t WHERE count(*) > 1;
-- error 42803
SELECT g FROM em_t GROUP BY count(*);
-- error 42803
SELECT max(count(*)) FROM em_t;
-- error 42803
SELECT sum(max(n) + 1) FROM em_t GROUP BY g;
-- error 42803
SELECT 1 FROM em_t JOIN em_u ON count(*) > 1;
-- error 42803
SELECT k FROM em_t LIMIT sum(1);
-- error 42803
SELECT * FROM generate_series(1, count(*));
-- error 42P20
SELECT rank() OVER (ORDER BY k) FROM em_t WHERE rank() OVER (ORDER BY k) > 1;
-- error 42P20
SELECT g FROM em_t GROUP BY g HAVING row_number() OVER () > 1;
-- error 42803
SELECT sum(rank() OVER ()) FROM em_t;
-- error 42P20
SELECT rank() OVER (PARTITION BY rank() OVER ()) FROM em_t;
-- error 42809
SELECT rank(1) FROM em_t;
-- error 42809
SELECT row_number() FROM em_t;
-- error 0A000
SELECT count(DISTINCT g) OVER () FROM em_t;
-- error 0A000
SELECT string_agg(g, ',' ORDER BY g) OVER () FROM em_t;
-- error 42809
SELECT length(DISTINCT g) FROM em_t;
-- error 42809
SELECT length(g ORDER BY g) FROM em_t;
-- error 42809
SELECT length(g) OVER () FROM em_t;
-- error 42809
SELECT count() FROM em_t;
-- error 42883
SELECT lower(*) FROM em_t;
-- error 0A000
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY n) OVER () FROM em_t;
-- error 42804
SELECT k FROM em_t WHERE k;
-- error 42804
SELECT k FROM em_t WHERE n + 1;
-- error 22P02
SELECT k FROM em_t WHERE 'x';
-- error 42804
SELECT k FROM em_t WHERE b AND k;
-- error 42804
SELECT NOT k FROM em_t;
-- error 42804
SELECT k FROM em_t WHERE k IS TRUE;
-- error 42804
SELECT CASE WHEN k THEN 1 END FROM em_t;
-- error 22P02
SELECT CASE k WHEN 'a' THEN 1 END FROM em_t;
-- error 42804
SELECT CASE WHEN b THEN k ELSE g END FROM em_t;
-- error 22P02
SELECT CASE WHEN b THEN 1 ELSE 'x' END FROM em_t;
-- error 42804
SELECT coalesce(k, g) FROM em_t;
-- error 22P02
SELECT coalesce(k, 'x') FROM em_t;
-- error 42804
SELECT greatest(k, d) FROM em_t;
-- error 42883
SELECT nullif(g, k) FROM em_t;
-- error 42804
SELECT k FROM em_t UNION SELECT v FROM em_u;
-- error 42601
SELECT k, g FROM em_t UNION SELECT k FROM em_u;
-- error 42601
SELECT k FROM em_t EXCEPT SELECT k, v FROM em_u;
-- error 22P02
SELECT k FROM em_t UNION SELECT 'x';
-- error 42883
SELECT j FROM em_u UNION SELECT j FROM em_u;
-- error 42883
SELECT DISTINCT j FROM em_u;
-- error 42883
SELECT j FROM em_u ORDER BY j;
-- error 42883
SELECT j, count(*) FROM em_u GROUP BY j;
-- error 42703
SELECT k FROM em_t UNION SELECT k FROM em_u ORDER BY g;
-- error 0A000
SELECT k FROM em_t UNION SELECT k FROM em_u ORDER BY k + 1;
-- error 42P10
SELECT k FROM em_t UNION SELECT k FROM em_u ORDER BY 2;
-- error 42P10
SELECT k FROM em_t ORDER BY 2;
-- error 42P10
SELECT k FROM em_t ORDER BY 0;
-- error 42601
SELECT k FROM em_t ORDER BY 'x';
-- error 42P10
SELECT k FROM em_t GROUP BY 2;
-- error 42601
SELECT k, g FROM em_t GROUP BY 1.5;
-- error 42702
SELECT k AS x, g AS x FROM em_t ORDER BY x;
-- error 42P10
SELECT DISTINCT g FROM em_t ORDER BY k;
-- error 42P10
SELECT DISTINCT ON (g) k FROM em_t ORDER BY k;
-- error 42804
SELECT k FROM em_t LIMIT g;
-- error 22P02
SELECT k FROM em_t LIMIT 'x';
-- error 2201W
SELECT k FROM em_t LIMIT -1;
-- error 2201X
SELECT k FROM em_t OFFSET -5;
-- error 42601
SELECT (SELECT k, g FROM em_t);
-- error 21000
SELECT (SELECT v FROM em_u WHERE k = 1);
-- error 42883
SELECT k FROM em_t WHERE k = (SELECT v FROM em_u);
-- error 42601
SELECT k FROM em_t WHERE k IN (SELECT k, v FROM em_u);
-- error 42601
SELECT k FROM em_t WHERE (k, g) IN (SELECT k FROM em_u);
-- error 42601
SELECT k FROM em_t WHERE (k, g) = (1, 2, 3);
-- error 42601
SELECT k FROM em_t WHERE (k, g) IN ((1, 'a'), (2, 'b', 3));
-- error 42883
SELECT k FROM em_t WHERE g IN (SELECT k FROM em_u);
-- error 42883
SELECT k FROM em_t WHERE k > ALL (SELECT v FROM em_u);
-- error 42883
SELECT (1, 2) < (1, 'x'::text);
-- error 42883
SELECT ROW(1, 2) = ROW(1, date '2020-01-01');
-- error 42601
SELECT ARRAY(SELECT k, g FROM em_t);
-- error 42P18
SELECT ARRAY[];
-- error 42804
SELECT ARRAY[1, date '2020-01-01'];
-- error 22012
SELECT 1 / 0;
-- error 22012
SELECT n / 0 FROM em_t;
-- error 22012
SELECT k % 0 FROM em_t;
-- error 22012
SELECT 1.0 / 0.0;
-- error 22012
SELECT 1e0::float8 / 0;
-- error 22003
SELECT 2147483647 + 1;
-- error 22003
SELECT 9223372036854775807 * 2;
-- error 22003
SELECT 32768::smallint;
-- error 22003
SELECT 3000000000::integer;
-- error 22003
SELECT 1e10::integer;
-- error 22003
SELECT (-32768)::smallint * (-1)::smallint;
-- error 22003
SELECT 12345.678::numeric(5,2);
-- error 22P02
SELECT 'abc'::integer;
-- error 22P02
SELECT ''::integer;
-- error 22P02
SELECT '1.5'::integer;
-- error 22P02
SELECT '12x'::numeric;
-- error 22P02
SELECT 'maybe'::boolean;
-- error 22007
SELECT 'x'::date;
-- error 22008
SELECT '2020-13-01'::date;
-- error 22008
SELECT '2020-02-30'::date;
-- error 22008
SELECT '25:00'::time;
-- error 22008
SELECT '2020-01-01 10:61'::timestamp;
-- error 22007
SELECT '1 fortnight'::interval;
-- error 22023
SELECT '2020-01-01 00:00 Nowhere/Zone'::timestamptz;
-- error 22P02
SELECT 'zz'::uuid;
-- error 22P02
SELECT '{1,2'::integer[];
-- error 22P02
SELECT '{1,x}'::integer[];
-- error 22023
SELECT '\xzz'::bytea;
-- error 22003
SELECT '99999999999999999999'::bigint;
-- error 22003
SELECT '1e400'::float8;
-- error 22007
SELECT date '2020-01-01' = 'x';
-- error 22P02
SELECT k = 'x' FROM em_t;
-- error 22P02
SELECT k + 'x' FROM em_t;
-- error 22023
SELECT timestamp '2020-01-01' AT TIME ZONE 'nowhere';
-- error 42601
SELECT extract(nothing FROM d) FROM em_t;
-- error 22023
SELECT date_trunc('nothing', d) FROM em_t;
-- error 2201F
SELECT sqrt(-1);
-- error 2201E
SELECT ln(0);
-- error 2201F
SELECT 0 ^ -1;
-- error 54000
SELECT chr(0);
-- error 54000
SELECT repeat('x', 2000000000);
-- error 22011
SELECT substring('abc' FROM 1 FOR -1);
-- error 22023
SELECT split_part('a', ',', 0);
-- error 2201B
SELECT 'a' ~ '(';
-- error 2201B
SELECT regexp_replace('a', '[', 'b');
-- error 22P02
SELECT ('{1,2}'::integer[])['x'];
-- error 22023
SELECT generate_series(1, 10, 0);
-- error 0A000
SELECT k FROM em_t WHERE generate_series(1, 2) = k;
-- error 0A000
SELECT sum(generate_series(1, 2));
-- error 0A000
SELECT CASE WHEN b THEN generate_series(1, 2) END FROM em_t;
-- error 42601
SELECT * FROM (VALUES (1, 2), (3)) v;
-- error 22P02
SELECT * FROM (VALUES (1), ('x')) v;
-- error 42P10
SELECT * FROM (VALUES (1, 2)) v (a, b, c);
-- error 42P10
SELECT * FROM em_t t (a, b, c, d, e, f);
-- error 42712
WITH w AS (SELECT 1), w AS (SELECT 2) SELECT 1;
-- error 42P10
WITH w (a, b) AS (SELECT 1) SELECT * FROM w;
-- error 22P02
WITH RECURSIVE w AS (SELECT 1 AS a UNION ALL SELECT 'x' FROM w) SELECT * FROM w;
-- error 42804
WITH RECURSIVE w(a) AS (SELECT 1 UNION ALL SELECT a + 1.5 FROM w) SELECT * FROM w;
-- error 42P19
WITH RECURSIVE w(a) AS (SELECT a FROM w) SELECT * FROM w;
-- error 42703
SELECT * FROM em_t JOIN em_u USING (g);
-- error 42703
SELECT * FROM em_t JOIN em_u USING (v);
-- error 42804
SELECT * FROM em_t JOIN em_u ON em_t.k;
-- error 42702
SELECT * FROM em_t a JOIN em_t b USING (k) JOIN em_u c USING (g);
-- error 23505
INSERT INTO em_t VALUES (1, 'dup');
-- error 23502
INSERT INTO em_t VALUES (NULL, 'x');
-- error 22003
INSERT INTO em_t (k, n) VALUES (9, 99999);
-- error 22007
INSERT INTO em_t (k, d) VALUES (9, 'x');
-- error 42804
INSERT INTO em_t (k) SELECT v FROM em_u;
-- error 42601
INSERT INTO em_t (k) VALUES (DEFAULT + 1);
-- error 42804
INSERT INTO em_t (k, b) VALUES (9, 1);
-- error 23505
UPDATE em_t SET k = 1 WHERE k = 2;
-- error 23502
UPDATE em_t SET k = NULL;
-- error 22003
UPDATE em_t SET n = 1e9;
-- error 42803
UPDATE em_t SET k = count(*);
-- error 42601
UPDATE em_t SET (k, g) = (1, 2, 3);
-- error 42601
UPDATE em_t SET k = (SELECT k, v FROM em_u);
-- error 42804
UPDATE em_t SET b = k;
-- error 42803
DELETE FROM em_t WHERE sum(k) > 1;
-- error 42804
DELETE FROM em_t WHERE k;
-- error 42803
DELETE FROM em_t RETURNING max(k);
-- error 42601
SELEC 1;
-- error 42601
SELECT 1 FROM;
-- error 42601
SELECT FROM WHERE;
-- error 42601
SELECT 1,;
-- error 42601
SELECT (1;
-- error 42601
SELECT 1);
-- error 42601
SELECT 'abc;
-- error 42601
SELECT "abc;
-- error 42601
SELECT 1 /* open;
-- error 42601
SELECT $$abc;
-- error 22025
SELECT E'\u00';
-- error 42601
SELECT 1 AS;
-- error 42601
SELECT * FROM em_t WHERE;
-- error 42601
SELECT * FROM em_t ORDER;
-- error 42601
SELECT * FROM em_t LIMIT 1, 2;
-- error 42601
SELECT k FROM em_t GROUP k;
-- error 42601
SELECT * FROM em_t t1 t2;
-- error 42601
SELECT 1 = = 2;
-- error 42601
SELECT 1a;
-- error 42601
SELECT 0x;
-- error 42601
SELECT 1__0;
-- error 42703
SELECT ünï FROM em_t;
-- error 42703
SELECT 'ünïcode', nothing FROM em_t;
-- error 42601
INSERT em_t VALUES (1);
-- error 42601
INSERT INTO em_t;
-- error 42601
UPDATE em_t k = 1;
-- error 42601
DELETE em_t;
-- error 42601
CREATE TABLE;
-- error 42601
CREATE TABLE em_x (a);
-- error 42601
DROP;
-- error 42601
ALTER TABLE em_t FROB;
-- error 42601
TABLE;
-- error 42601
VALUES;
-- error 42601
VALUES (1), (1, 2);
-- error 22003
SELECT sum(i + 2147483647) FROM (VALUES (1), (2)) AS v(i);
