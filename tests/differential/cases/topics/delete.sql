-- DELETE: conditions, aliases, USING, subqueries, WITH, RETURNING, TRUNCATE beside it, what is refused.
-- setup
CREATE TABLE td (id integer PRIMARY KEY, a integer, b text, n numeric(6,2));
CREATE TABLE td_o (a integer, t text);
INSERT INTO td SELECT n, n % 5, 'row ' || n, n * 1.25 FROM generate_series(1, 40) n;
INSERT INTO td_o VALUES (0, 'zero'), (1, 'one'), (1, 'uno'), (7, NULL), (NULL, 'null');
CREATE TABLE td_n (x integer, y text);
INSERT INTO td_n VALUES (1, 'a'), (NULL, 'b'), (1, 'a'), (2, NULL), (NULL, NULL);
-- cases
DELETE FROM td WHERE id = 1;
DELETE FROM td AS t WHERE t.id = 2;
DELETE FROM td t WHERE id IN (3, 4) RETURNING *;
DELETE FROM td WHERE id > 38 RETURNING id, a + id AS s, upper(b), n / 3;
DELETE FROM td WHERE false RETURNING id;
DELETE FROM td WHERE NULL;
DELETE FROM td WHERE b LIKE '%0' RETURNING b;
DELETE FROM td USING td_o o WHERE o.a = td.a AND o.t = 'zero' AND td.id < 20 RETURNING td.id;
DELETE FROM td USING td_o o WHERE o.a = td.a AND td.id BETWEEN 10 AND 16 RETURNING td.id, td.b;
DELETE FROM td USING (SELECT max(id) AS m FROM td) s WHERE id = m RETURNING td.id;
DELETE FROM td t USING td u WHERE t.id = u.id - 1 AND u.a = 4 AND u.id < 15 RETURNING t.id;
DELETE FROM td WHERE id = (SELECT min(id) FROM td) RETURNING id;
DELETE FROM td WHERE a IN (SELECT a FROM td_o WHERE t = 'uno') AND id > 30 RETURNING id;
DELETE FROM td WHERE EXISTS (SELECT 1 FROM td_o WHERE td_o.a = td.a AND td_o.t LIKE 'o%') AND id > 25 RETURNING id;
DELETE FROM td WHERE a NOT IN (SELECT a FROM td_o) RETURNING id;
DELETE FROM td WHERE id IN (SELECT id FROM td ORDER BY n DESC LIMIT 2) RETURNING id, n;
WITH w AS (SELECT id FROM td WHERE a = 3 LIMIT 100) DELETE FROM td USING w WHERE td.id = w.id AND td.id < 9 RETURNING td.id;
WITH w AS (SELECT avg(n) AS m FROM td) DELETE FROM td WHERE n > (SELECT m * 1.4 FROM w) RETURNING id;
SELECT count(*), sum(id), min(id), max(id) FROM td;
DELETE FROM td WHERE (a, id % 2) = (2, 1) RETURNING (SELECT count(*) FROM td_o), id;
DELETE FROM td_n WHERE x = 1 AND y = 'a';
DELETE FROM td_n WHERE x IS NULL AND y IS NULL RETURNING x, y;
DELETE FROM td_n WHERE x <> 5 RETURNING *;
DELETE FROM td_n WHERE NOT (x = 1) OR y IS NOT DISTINCT FROM 'b' RETURNING *;
SELECT count(*) FROM td_n;
INSERT INTO td_n VALUES (1, 'again') RETURNING x;
DELETE FROM ONLY td_n;
SELECT * FROM td_n;
DELETE FROM td_n RETURNING *;
BEGIN;
DELETE FROM td WHERE a = 0;
SELECT count(*) FILTER (WHERE a = 0) FROM td;
ROLLBACK;
SELECT count(*) > 0 FROM td;
BEGIN;
SAVEPOINT s;
DELETE FROM td;
SELECT count(*) FROM td;
ROLLBACK TO s;
DELETE FROM td WHERE id = (SELECT max(id) FROM td);
COMMIT;
SELECT count(*), max(id) FROM td;
TRUNCATE td_o;
SELECT count(*) FROM td_o;
-- error 42P01
DELETE FROM td dt WHERE td.a > 25;
-- error 42703
DELETE FROM td WHERE nothing = 1;
-- error 42804
DELETE FROM td WHERE id;
-- error 22P02
DELETE FROM td WHERE id = 'x';
-- error 42803
DELETE FROM td WHERE sum(id) > 1;
-- error 42P01
DELETE FROM td USING nothing WHERE id = 1;
-- error 42712
DELETE FROM td USING td WHERE id = 1;
-- error 22012
DELETE FROM td WHERE id = 30 / (id - id);
-- error 42703
DELETE FROM td RETURNING nothing;
-- error 42P01
DELETE FROM nothing;
-- error 42601
DELETE td WHERE id = 1;
