-- LIMIT, OFFSET and FETCH: expressions, NULL, WITH TIES, in subqueries, over sets, of cursors in every direction.
-- setup
CREATE TABLE tl (n integer, g integer, t text);
INSERT INTO tl SELECT n, n / 3, 'row' || n FROM generate_series(0, 29) n;
CREATE TABLE tl_ties (k integer, v text);
INSERT INTO tl_ties VALUES (1, 'a'), (2, 'b'), (2, 'c'), (2, 'd'), (3, 'e'), (NULL, 'f'), (NULL, 'g');
-- cases
-- ordered
SELECT n, t FROM tl WHERE n > 20 ORDER BY n LIMIT 2;
-- ordered
SELECT n, t FROM tl WHERE n > 20 ORDER BY n DESC LIMIT 3;
-- ordered
SELECT n FROM tl WHERE n > 20 ORDER BY n LIMIT 20;
-- ordered
SELECT n FROM tl ORDER BY n OFFSET 27 LIMIT 8;
-- ordered
SELECT n FROM tl ORDER BY n LIMIT 5 OFFSET 990;
-- ordered
SELECT n FROM tl ORDER BY n LIMIT NULL OFFSET 27;
-- ordered
SELECT n FROM tl ORDER BY n LIMIT ALL OFFSET NULL;
-- ordered
SELECT n FROM tl ORDER BY n LIMIT 0;
-- ordered
SELECT n FROM tl ORDER BY n LIMIT 1 + 1 OFFSET length('abc');
-- ordered
SELECT n FROM tl ORDER BY n LIMIT '3' OFFSET 1.5;
-- ordered
SELECT n FROM tl ORDER BY n LIMIT (SELECT count(*) / 10 FROM tl);
-- ordered
SELECT n FROM tl ORDER BY n LIMIT CASE WHEN now() IS NULL THEN 1 ELSE 2 END;
-- ordered
SELECT n FROM tl ORDER BY n LIMIT 2.5;
-- ordered
SELECT n FROM tl ORDER BY n LIMIT 2::smallint OFFSET 3::bigint;
SELECT count(*) FROM (SELECT n FROM tl LIMIT 7) s;
SELECT sum(n) FROM (SELECT n FROM tl ORDER BY n OFFSET 20) s;
SELECT * FROM (SELECT n FROM tl ORDER BY n DESC LIMIT 3) s WHERE n < 29;
SELECT * FROM (SELECT n FROM tl ORDER BY n LIMIT 3) a, (SELECT g FROM tl ORDER BY n DESC LIMIT 2) b;
SELECT o.n, (SELECT i.n FROM tl i WHERE i.g = o.g ORDER BY i.n DESC LIMIT 1) FROM tl o WHERE o.n < 6;
SELECT o.n, x.n FROM (SELECT n, g FROM tl WHERE n % 10 = 0) o, LATERAL (SELECT n FROM tl i WHERE i.g = o.g ORDER BY n OFFSET 1 LIMIT 1) x;
SELECT o.n, x.n FROM (SELECT n FROM tl WHERE n IN (1, 2, 3)) o, LATERAL (SELECT n FROM tl i ORDER BY i.n DESC LIMIT o.n) x;
SELECT n FROM tl WHERE n IN (SELECT n FROM tl ORDER BY n LIMIT 3);
SELECT EXISTS (SELECT 1 FROM tl LIMIT 0), EXISTS (SELECT 1 FROM tl OFFSET 29), EXISTS (SELECT 1 FROM tl OFFSET 30);
-- ordered
SELECT generate_series(1, 5) AS g LIMIT 2;
-- ordered
SELECT generate_series(0, 2) AS s1, generate_series((random() * .1)::integer, 2) AS s2 ORDER BY s2 DESC LIMIT 2;
-- ordered
SELECT n, generate_series(1, 2) FROM tl ORDER BY n, 2 LIMIT 5 OFFSET 1;
SELECT sum(n) AS s FROM tl GROUP BY g ORDER BY s LIMIT 3;
-- ordered
SELECT n FROM tl UNION ALL SELECT n + 100 FROM tl ORDER BY n DESC LIMIT 3 OFFSET 1;
-- ordered
(SELECT n FROM tl ORDER BY n LIMIT 2) UNION ALL (SELECT n FROM tl ORDER BY n DESC LIMIT 2) ORDER BY n;
-- ordered
VALUES (1), (2), (3) ORDER BY 1 LIMIT 1 OFFSET 1;
-- ordered
SELECT n FROM tl ORDER BY n FETCH FIRST 2 ROWS ONLY;
-- ordered
SELECT n FROM tl ORDER BY n FETCH NEXT ROW ONLY;
-- ordered
SELECT n FROM tl ORDER BY n OFFSET 1 ROW FETCH FIRST (1 + 1) ROWS ONLY;
-- ordered
SELECT n FROM tl ORDER BY n FETCH FIRST NULL ROWS ONLY OFFSET 28;
SELECT k FROM tl_ties ORDER BY k FETCH FIRST 1 ROW WITH TIES;
SELECT k, v FROM tl_ties ORDER BY k FETCH FIRST 2 ROWS WITH TIES;
SELECT k, v FROM tl_ties ORDER BY k FETCH FIRST 4 ROWS WITH TIES;
SELECT k, v FROM tl_ties ORDER BY k DESC FETCH FIRST ROW WITH TIES;
SELECT k FROM tl_ties ORDER BY k NULLS FIRST OFFSET 1 ROWS FETCH NEXT 2 ROWS WITH TIES;
SELECT k, v FROM tl_ties ORDER BY k, v FETCH FIRST 2 ROWS WITH TIES;
SELECT k FROM tl_ties ORDER BY k OFFSET 2 FETCH FIRST 1 ROWS WITH TIES;
SELECT k FROM tl_ties ORDER BY k FETCH FIRST 0 ROWS WITH TIES;
SELECT k, count(*) FROM tl_ties GROUP BY k ORDER BY count(*) DESC FETCH FIRST 2 ROWS WITH TIES;
SELECT * FROM (SELECT k FROM tl_ties ORDER BY k FETCH FIRST 2 ROWS WITH TIES) s WHERE k = 2;
SELECT DISTINCT g / 2 AS h FROM tl ORDER BY h FETCH FIRST 2 ROWS WITH TIES;
SELECT n FROM tl ORDER BY g FETCH FIRST 4 ROWS WITH TIES;
SELECT k FROM tl_ties UNION ALL SELECT 1 ORDER BY k FETCH FIRST 1 ROW WITH TIES;
CREATE VIEW tl_v AS SELECT n FROM tl WHERE n < 15 ORDER BY n FETCH FIRST 3 ROWS ONLY OFFSET 10;
TABLE tl_v;
-- error 2201W
SELECT n FROM tl LIMIT -1;
-- error 2201X
SELECT n FROM tl OFFSET -1;
-- error 22P02
SELECT n FROM tl LIMIT 'x';
-- error 42P10
SELECT n FROM tl LIMIT n;
-- error 42804
SELECT n FROM tl LIMIT true;
-- error 42803
SELECT n FROM tl LIMIT count(*);
-- error 42601
SELECT n FROM tl LIMIT 1, 2;
-- error 42601
SELECT n FROM tl FETCH FIRST 2 ROWS WITH TIES;
-- error 2201W
SELECT n FROM tl ORDER BY n FETCH FIRST -1 ROWS WITH TIES;
-- error 2201W
SELECT n FROM tl ORDER BY n FETCH FIRST NULL ROWS WITH TIES;
-- error 42601
SELECT n FROM tl LIMIT 1 LIMIT 2;
BEGIN;
DECLARE tl_any CURSOR FOR SELECT n, t FROM tl WHERE n < 7 ORDER BY n;
-- ordered
FETCH 3 IN tl_any;
-- ordered
FETCH 0 IN tl_any;
-- ordered
FETCH BACKWARD 1 IN tl_any;
-- ordered
FETCH BACKWARD ALL IN tl_any;
-- ordered
FETCH BACKWARD 1 IN tl_any;
-- ordered
FETCH ALL IN tl_any;
-- ordered
FETCH 1 IN tl_any;
-- ordered
FETCH BACKWARD 2 IN tl_any;
-- ordered
FETCH PRIOR IN tl_any;
-- ordered
FETCH FIRST IN tl_any;
-- ordered
FETCH LAST IN tl_any;
-- ordered
FETCH NEXT IN tl_any;
-- ordered
FETCH LAST IN tl_any;
-- ordered
FETCH ABSOLUTE 3 IN tl_any;
-- ordered
FETCH ABSOLUTE -2 IN tl_any;
-- ordered
FETCH ABSOLUTE 0 IN tl_any;
-- ordered
FETCH NEXT IN tl_any;
-- ordered
FETCH RELATIVE 2 IN tl_any;
-- ordered
FETCH RELATIVE -1 IN tl_any;
-- ordered
FETCH RELATIVE 0 IN tl_any;
-- ordered
FETCH ABSOLUTE 100 IN tl_any;
-- ordered
FETCH RELATIVE -1 IN tl_any;
-- ordered
FETCH ABSOLUTE -100 IN tl_any;
-- ordered
FETCH RELATIVE 0 IN tl_any;
MOVE FORWARD 3 IN tl_any;
-- ordered
FETCH RELATIVE 0 IN tl_any;
MOVE BACKWARD ALL IN tl_any;
MOVE ALL IN tl_any;
MOVE 0 IN tl_any;
MOVE ABSOLUTE 3 IN tl_any;
MOVE 0 IN tl_any;
-- ordered
FETCH FORWARD -1 IN tl_any;
-- ordered
FETCH BACKWARD -2 IN tl_any;
DECLARE tl_groups SCROLL CURSOR FOR SELECT g % 3 AS m, count(*) FROM tl GROUP BY 1 ORDER BY 1;
MOVE FORWARD ALL IN tl_groups;
-- ordered
FETCH BACKWARD ALL IN tl_groups;
-- ordered
FETCH ABSOLUTE 2 IN tl_groups;
SELECT name, is_holdable, is_binary, is_scrollable FROM pg_cursors WHERE name <> '';
DECLARE tl_ahead NO SCROLL CURSOR FOR SELECT n FROM tl ORDER BY n LIMIT 9;
-- ordered
FETCH 2 IN tl_ahead;
-- ordered
FETCH ABSOLUTE 4 IN tl_ahead;
-- ordered
FETCH RELATIVE 1 IN tl_ahead;
SAVEPOINT s;
-- error 55000
FETCH PRIOR IN tl_ahead;
ROLLBACK TO s;
-- error 55000
FETCH ABSOLUTE 2 IN tl_ahead;
ROLLBACK TO s;
-- error 55000
FETCH 0 IN tl_ahead;
ROLLBACK;
BEGIN;
DECLARE tl_held SCROLL CURSOR WITH HOLD FOR SELECT k, v FROM tl_ties ORDER BY v;
COMMIT;
-- ordered
FETCH LAST IN tl_held;
-- ordered
FETCH BACKWARD ALL IN tl_held;
CLOSE tl_held;
