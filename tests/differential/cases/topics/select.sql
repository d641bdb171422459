-- SELECT: lists, conditions, ordering by every kind of key, VALUES, TABLE, DISTINCT ON, whole rows, odd spellings.
-- setup
CREATE TABLE ts_item (id integer PRIMARY KEY, grp integer, name text, price numeric(8,2), weight double precision, made date);
INSERT INTO ts_item SELECT n, n % 7, 'item ' || lpad((n * 37 % 100)::text, 2, '0'), (n * 13 % 50)::numeric / 4, n / 8.0, date '2020-01-01' + n * 11 FROM generate_series(1, 60) AS n;
CREATE TABLE ts_null (a integer, b text);
INSERT INTO ts_null VALUES (1, 'x'), (NULL, 'y'), (3, NULL), (NULL, NULL), (2, '');
CREATE TABLE "Odd ""Name""" ("Col One" integer, "select" text, "ünï" integer, UPPER integer);
INSERT INTO "Odd ""Name""" VALUES (1, 'a', 10, 100), (2, 'b', 20, 200);
CREATE TABLE ts_empty (a integer, b integer);
-- cases
-- ordered
SELECT * FROM ts_item WHERE id < 4 ORDER BY id;
-- ordered
SELECT i.id, i.name FROM ts_item i WHERE i.price > 10 ORDER BY i.price USING >, i.id USING <;
-- ordered
SELECT id, grp FROM ts_item WHERE grp IN (0, 3) ORDER BY grp DESC, id;
-- ordered
SELECT id AS "The Id", name AS n FROM ts_item ORDER BY "The Id" DESC LIMIT 3;
-- ordered
SELECT id, -id AS neg FROM ts_item ORDER BY neg OFFSET 55;
-- ordered
SELECT grp + 0 AS grp, id FROM ts_item WHERE id < 10 ORDER BY grp, 2 DESC;
-- ordered
SELECT name FROM ts_item ORDER BY weight * -1 LIMIT 5;
-- ordered
SELECT id FROM ts_item ORDER BY made DESC NULLS LAST, id LIMIT 4;
-- ordered
SELECT a, b FROM ts_null ORDER BY a, b;
-- ordered
SELECT a, b FROM ts_null ORDER BY a DESC, b DESC;
-- ordered
SELECT a, b FROM ts_null ORDER BY a NULLS FIRST, b NULLS FIRST;
-- ordered
SELECT a, b FROM ts_null ORDER BY a USING > NULLS LAST, b USING <;
-- ordered
SELECT DISTINCT ON (grp) grp, id, name FROM ts_item ORDER BY grp, price DESC, id;
-- ordered
SELECT DISTINCT ON (grp, two) grp, id % 2 AS two, id FROM ts_item ORDER BY grp, two, id DESC;
SELECT DISTINCT grp FROM ts_item;
SELECT DISTINCT grp % 2 AS odd, price > 6 AS dear FROM ts_item;
SELECT count(*) FROM (SELECT DISTINCT ON (price) * FROM ts_item ORDER BY price, id) s;
SELECT ALL grp FROM ts_item WHERE id < 3;
-- ordered
TABLE ts_null ORDER BY b NULLS FIRST, a;
TABLE ts_empty;
VALUES (1, 'one'), (2, 'two'), (3, NULL);
-- ordered
VALUES (1, 2), (3, 4 + 4), (7, 77.7) ORDER BY 2 DESC;
VALUES (1, 2), (3, 4 + 4), (7, 77.7) UNION ALL SELECT 2 + 2, 57 UNION ALL TABLE ts_empty;
-- ordered
VALUES (3), (1), (2) ORDER BY column1 LIMIT 2;
SELECT * FROM (VALUES (1, 'a'), (2, 'b')) AS v;
SELECT v.column2, v.column1 FROM (VALUES (1, 'a'), (2, 'b')) v;
SELECT * FROM (VALUES (1, 'a'), (2, 'b')) AS v(n, t) WHERE t > 'a';
SELECT * FROM (VALUES ((SELECT max(id) FROM ts_item)), ((SELECT min(id) FROM ts_item))) AS v(x);
SELECT id FROM ts_item WHERE (id, grp) IN (VALUES (1, 1), (2, 2), (3, 4), (60, 4));
SELECT id FROM ts_item, (VALUES (14), (30), (99)) AS bad(i) WHERE ts_item.id = bad.i;
SELECT "Col One", "select", "ünï", upper FROM "Odd ""Name""";
SELECT "Odd ""Name""".* FROM "Odd ""Name""" WHERE "select" = 'a';
SELECT U&"\00FCn\00EF" FROM "Odd ""Name""";
SELECT FROM ts_item WHERE id < 4;
SELECT;
SELECT WHERE false;
SELECT count(*) FROM (SELECT FROM ts_item) s;
SELECT 1 AS one, 2 two, 3 "Three", 4 AS select;
SELECT +1, - 1, -(-1), + + 1, 1 - -1;
SELECT 2 + 3 * 4 ^ 2 / 8 - 1, (2 + 3) * 4, 7 % 3, -7 % 3, -7 / 2, 2 ^ 3 ^ 2;
SELECT 10 OPERATOR(pg_catalog.+) 2 OPERATOR(pg_catalog.*) 3, OPERATOR(pg_catalog.-) 4;
SELECT 1 < 2 AND 2 < 3, NOT 1 = 2, 1 = 1 IS TRUE, NULL IS NULL, (1 = NULL) IS UNKNOWN;
-- error 42601
SELECT 'a' 'b', 'con'
'cat', E'tab\there', E'\x41\102\u0043', U&'d\0061t\+000061', U&'d!0061t' UESCAPE '!', $$dollar 'quoted'$$, $tag$a $$ b$tag$;
SELECT 0x1F, 0o17, 0b101, 1_000_000, 1.5e3, .5, 5., 1e-3;
SELECT ts_item.id, ts_item.grp FROM public.ts_item WHERE public.ts_item.id = 5;
SELECT i.* FROM ts_item AS i (k, g) WHERE k = 5;
SELECT k, price FROM ts_item AS i (k, g, n) WHERE g = 6 AND k < 20;
SELECT x.id FROM ONLY ts_item x WHERE id = 1;
SELECT (SELECT 1) + (SELECT 2) AS three;
SELECT id FROM ts_item WHERE name LIKE 'item 3_' AND made BETWEEN '2020-03-01' AND '2021-06-30';
SELECT id FROM ts_item WHERE price NOT BETWEEN 1 AND 11;
SELECT id FROM ts_item WHERE price BETWEEN SYMMETRIC 3 AND 2;
SELECT a, b FROM ts_null WHERE a IS NULL OR b IS NULL;
SELECT a FROM ts_null WHERE (a, b) IS NULL;
SELECT a FROM ts_null WHERE (a, b) IS NOT NULL;
SELECT a FROM ts_null WHERE NOT (a, b) IS NULL;
SELECT i FROM ts_null i;
SELECT i.* , i FROM ts_null i WHERE a = 1;
SELECT (i).b FROM ts_null i;
-- refused 0A000: rows as values
SELECT ROW(1, 'two', NULL), (3, 4.50), ROW();
SELECT count(i) FROM ts_null i;
SELECT current_date = now()::date, current_user = session_user, current_schema;
-- ordered
SELECT id FROM ts_item ORDER BY id FETCH FIRST ROW ONLY;
-- ordered
SELECT id FROM ts_item ORDER BY id OFFSET 2 ROWS FETCH NEXT 3 ROWS ONLY;
-- ordered
SELECT id FROM ts_item ORDER BY id LIMIT ALL OFFSET 57;
-- ordered
SELECT grp, id FROM ts_item ORDER BY CASE grp WHEN 3 THEN 0 ELSE 1 END, grp, id LIMIT 12;
SELECT a AS b, b AS a FROM ts_null ORDER BY a;
-- ordered
SELECT a AS b FROM ts_null ORDER BY b DESC NULLS LAST;
SELECT count(*) FROM ts_item TABLESAMPLE BERNOULLI (100);
SELECT count(*) FROM ts_item TABLESAMPLE SYSTEM (0);
SELECT count(*) <= 60 FROM ts_item TABLESAMPLE BERNOULLI (30) REPEATABLE (7);
SELECT count(*) FROM ts_item WHERE true;
SELECT count(*) FROM ts_item WHERE NULL;
SELECT * FROM ts_empty WHERE a = 1 AND b = 2;
SELECT max(a), count(*) FROM ts_empty;
-- error 42P01
SELECT * FROM ts_item nosuch WHERE ts_item.id = 1;
-- error 42703
SELECT id FROM ts_item ORDER BY nothing;
-- error 42P10
SELECT id, id FROM ts_item ORDER BY 3;
-- error 42P10
SELECT DISTINCT grp FROM ts_item ORDER BY id;
-- error 42P10
SELECT DISTINCT ON (grp) id FROM ts_item ORDER BY id;
-- error 42601
SELECT * ;
-- error 42804
SELECT id FROM ts_item WHERE id;
-- error 42883
SELECT 'x' FROM ts_item WHERE name = 5;
