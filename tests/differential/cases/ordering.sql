-- ORDER BY, LIMIT, OFFSET and FETCH: NULL places, ties, expressions, positions, C order of text, NaN and infinities.
-- setup
CREATE TABLE or_t (id integer, t text, f double precision, n numeric(6,2), ts timestamp);
CREATE TABLE or_none (id integer);
INSERT INTO or_t VALUES
  (1, 'b', 1.5, 1.50, '2024-02-29 12:00:00'), (2, 'B', 'NaN', 1.5, '2024-02-29 12:00:00.000001'), (3, 'a', 'Infinity', NULL, NULL),
  (4, NULL, '-Infinity', -3, '1970-01-01 00:00:00'), (5, 'ä', NULL, 0, '9999-12-31 23:59:59'), (6, 'ab', 0, 10, '0001-01-01 00:00:00'),
  (7, '', -0.0, 9.99, 'infinity'), (8, 'Zebra', 2, -0.01, '-infinity'), (9, '10', 1e-300, 2, NULL), (10, '9', -1, 2, '2000-01-01');
-- cases
-- ordered
SELECT id FROM or_t ORDER BY t, id;
-- ordered
SELECT id FROM or_t ORDER BY t DESC, id;
-- ordered
SELECT id, f FROM or_t ORDER BY f, id;
-- ordered
SELECT id, f FROM or_t ORDER BY f DESC NULLS LAST, id;
-- ordered
SELECT id, n FROM or_t ORDER BY n NULLS FIRST, id DESC;
-- ordered
SELECT id, ts FROM or_t ORDER BY ts, id;
-- ordered
SELECT id AS n, t FROM or_t ORDER BY n DESC;
-- ordered
SELECT t, id FROM or_t ORDER BY 2 DESC;
-- ordered
SELECT id FROM or_t ORDER BY -id;
-- ordered
SELECT id, length(t) FROM or_t ORDER BY length(t) DESC, id;
-- ordered
SELECT id FROM or_t ORDER BY n % 2, id;
-- ordered
SELECT id FROM or_t ORDER BY CASE WHEN id % 2 = 0 THEN id ELSE -id END;
-- ordered
SELECT id FROM or_t ORDER BY id LIMIT 3;
-- ordered
SELECT id FROM or_t ORDER BY id LIMIT 3 OFFSET 8;
-- ordered
SELECT id FROM or_t ORDER BY id OFFSET 8;
-- ordered
SELECT id FROM or_t ORDER BY id LIMIT 0;
-- ordered
SELECT id FROM or_t ORDER BY id LIMIT ALL OFFSET 7;
-- ordered
SELECT id FROM or_t ORDER BY id LIMIT NULL OFFSET NULL;
-- ordered
SELECT id FROM or_t ORDER BY id OFFSET 100;
-- ordered
SELECT id FROM or_t ORDER BY id FETCH FIRST 2 ROWS ONLY;
-- ordered
SELECT id FROM or_t ORDER BY id OFFSET 1 ROW FETCH NEXT ROW ONLY;
-- ordered
SELECT n FROM or_t ORDER BY n DESC NULLS LAST FETCH FIRST 3 ROWS WITH TIES;
-- ordered
SELECT id FROM or_t ORDER BY id LIMIT (SELECT 2);
-- ordered
SELECT id FROM or_t ORDER BY id LIMIT 1 + 1;
SELECT id FROM or_none ORDER BY id LIMIT 5;
-- ordered
SELECT * FROM (SELECT id FROM or_t ORDER BY id DESC LIMIT 3) s ORDER BY id;
-- ordered
SELECT x FROM (VALUES ('a b'), ('a'), ('A'), ('_'), ('á'), ('日本'), ('😀'), ('~'), (NULL)) v(x) ORDER BY x;
-- ordered
SELECT x FROM (VALUES (true), (NULL), (false)) v(x) ORDER BY x DESC;
-- ordered
SELECT x FROM (VALUES (interval '1 mon'), (interval '30 days'), (interval '31 days'), (interval '-1 hour')) v(x) ORDER BY x, x::text;
-- ordered
SELECT x FROM (VALUES (1.10), (1.1), (1.09), (-1)) v(x) ORDER BY x, x::text;
-- ordered
SELECT ARRAY[3,1] AS x UNION ALL SELECT ARRAY[3] UNION ALL SELECT NULL UNION ALL SELECT ARRAY[1,99] ORDER BY x;
-- error 2201W
SELECT id FROM or_t ORDER BY id LIMIT -1;
-- error 2201X
SELECT id FROM or_t ORDER BY id OFFSET -1;
-- error 42P10
SELECT id FROM or_t ORDER BY 5;
-- error 42703
SELECT id AS k FROM or_t ORDER BY k + 1;
-- error 42601
SELECT id FROM or_t ORDER BY 'x';
-- error 42702
SELECT id AS a, n AS a FROM or_t ORDER BY a;
-- error 42P10
SELECT id FROM or_t LIMIT id;
-- rows with names of objects keep their order
-- ordered
SELECT relname, oid::regclass, relnamespace::regnamespace FROM pg_class WHERE relname LIKE 'pg\_a%' ORDER BY relname DESC;
-- sets that order rows and are not selected
-- ordered
SELECT x FROM generate_series(1, 3) AS x ORDER BY generate_series(1, 2), x DESC;
-- ordered
SELECT x, count(*) FROM generate_series(1, 3) AS x GROUP BY x ORDER BY generate_series(1, 2), x LIMIT 4;
-- keys that no row changes
-- ordered
SELECT DISTINCT ON (ascii('a')) id FROM or_t ORDER BY ascii('a') DESC NULLS LAST, id DESC;
-- ordered
SELECT DISTINCT ON (n IS NULL, ceil(2.5)) n IS NULL, id FROM or_t ORDER BY n IS NULL, ceil(2.5), id;
-- ordered
SELECT DISTINCT ON ('a'::text) id FROM or_t ORDER BY 'a'::text, id DESC;
-- ordered
SELECT DISTINCT ON ('null'::jsonb::text) id FROM or_t ORDER BY 'null'::jsonb::text, id DESC;
