-- Booleans, NULL logic, CASE, COALESCE, NULLIF, IS tests, row comparison, SELECT without FROM and odd names.
-- setup
CREATE TABLE lo_t (id integer, b boolean, n integer);
INSERT INTO lo_t VALUES (1, true, 1), (2, false, 0), (3, NULL, NULL), (4, true, NULL), (5, false, -1);
-- cases
SELECT a, b, a AND b, a OR b, NOT a FROM (VALUES (true), (false), (NULL)) x(a), (VALUES (true), (false), (NULL)) y(b);
SELECT id FROM lo_t WHERE b;
SELECT id FROM lo_t WHERE NOT b;
SELECT id FROM lo_t WHERE b IS NOT TRUE;
SELECT id, b IS TRUE, b IS FALSE, b IS UNKNOWN, b IS NOT UNKNOWN, n IS NULL, n IS NOT NULL FROM lo_t;
SELECT id FROM lo_t WHERE n = NULL;
SELECT id, n = n, n <> 0, n IS DISTINCT FROM 0, n IS NOT DISTINCT FROM NULL FROM lo_t;
SELECT id FROM lo_t WHERE n = 1 OR b;
SELECT id FROM lo_t WHERE n > 0 AND 1 / n > 0;
SELECT id, CASE n WHEN 1 THEN 'one' WHEN 0 THEN 'zero' WHEN NULL THEN 'never' ELSE 'other' END FROM lo_t;
SELECT id, CASE WHEN n > 0 THEN 1 WHEN n = 0 THEN 2.5 END FROM lo_t;
SELECT id, CASE WHEN n <> 0 THEN 10 / n ELSE 0 END FROM lo_t;
SELECT id, coalesce(n, -99), coalesce(n, 1.5), nullif(n, 0), nullif(n, NULL), coalesce(b, false) FROM lo_t;
SELECT b, count(*) FROM lo_t GROUP BY b;
SELECT 1 < 2, 1 <= 1, 'a' <> 'a', 1 != 2, NULL = NULL, NULL IS NULL, true > false, true = 't';
SELECT (1, 2) = (1, 2), (1, 2) < (1, 3), (1, NULL) = (1, 2), (1, NULL) = (2, NULL), (1, 2) IN ((1, 2), (3, 4)), ROW(1, NULL) IS NULL, ROW(NULL, NULL) IS NULL;
SELECT 1 IN (1, NULL), 2 IN (1, NULL), 2 NOT IN (1, NULL), NULL IN (1), 1 NOT IN (2, 3);
SELECT NOT true AND false, NOT (true AND false), true OR false AND false, 1 = 1 AND NOT 2 = 3;
SELECT;
SELECT FROM lo_t;
SELECT 1 AS "Weird Name", 2 AS "select", 3 "quoted", 4 plain, 5 AS "ünïcode", 6 AS "a""b";
SELECT 1 AS a, 2 AS a, 3;
SELECT lo_t.* FROM lo_t WHERE id = 1;
SELECT *, id + 1 AS next FROM lo_t WHERE id < 3;
SELECT id "order", b AS "group" FROM lo_t WHERE id = 1;
SELECT count(*), upper('a'), 1 + 1, 'x'::text, CASE WHEN true THEN 1 END, coalesce(1, 2), cast(1 AS bigint), (SELECT 5), ARRAY[1], EXISTS (SELECT 1), -id FROM lo_t GROUP BY id HAVING id = 1;
SELECT b::integer, n::text FROM lo_t LIMIT 0;
SELECT true::integer + 1, 'yes'::boolean AND 'on'::boolean, bool 'f';
VALUES (1, 'one'), (2, 'two');
-- ordered
VALUES (3), (1), (2) ORDER BY 1 DESC LIMIT 2;
SELECT * FROM (VALUES (1, NULL), (NULL, 'x')) AS v(a, b);
SELECT column1, column2 FROM (VALUES (1, 'a')) v;
TABLE lo_t;
SELECT x.id FROM lo_t AS x (id, flag, num) WHERE x.num = 1 AND x.flag;
SELECT /* comment /* nested */ */ 1 -- the end
;
SELECT num_nulls(1, NULL, 2), num_nonnulls(1, NULL);
-- error 42703
SELECT nope FROM lo_t;
-- error 42P01
SELECT lo_missing.id FROM lo_t;
-- error 42P01
SELECT * FROM lo_missing;
-- error 42P01
SELECT * FROM nowhere.lo_t;
-- error 42703
SELECT lo_t.nope FROM lo_t;
-- error 42804
SELECT id FROM lo_t WHERE n;
-- error 42804
SELECT NOT 5;
-- error 42804
SELECT CASE WHEN 1 THEN 2 END;
-- error 42804
SELECT CASE WHEN true THEN 1 ELSE true END;
-- error 22P02
SELECT coalesce(1, 'x');
-- error 42804
SELECT coalesce(1, true);
-- error 42883
SELECT 1 = 'a'::text;
-- error 42883
SELECT id = b FROM lo_t;
-- error 42883
SELECT b > 1 FROM lo_t;
-- error 42601
SELEC 1;
-- error 42601
SELECT 1 FROM;
-- error 42601
SELECT (1;
-- error 42601
SELECT * FROM lo_t WHERE;
-- error 42601
SELECT 1 1;
-- error 42601
SELECT *;
-- error 42601
VALUES (1, 2), (3);
-- error 42601
SELECT id FROM lo_t GROUP;
-- error 42601
SELECT FROM WHERE;
-- error 42P02
SELECT $1;
-- error 42601
(1, 2) = (1, 2, 3);
-- error 42601
SELECT (1, 2) = (1, 2, 3);
-- error 42883
SELECT abs();
-- error 42883
SELECT abs(1, 2);
-- error 42883
SELECT count(1, 2);
-- error 42809
SELECT abs(DISTINCT 1);
-- error 42883
SELECT sum(*) FROM lo_t;
-- error 42703
SELECT id AS x FROM lo_t WHERE x = 1;
-- error 42703
SELECT "ID" FROM lo_t;

-- IS DISTINCT FROM with a bare NULL asks for NULL, whatever the type
SELECT '[]'::json IS DISTINCT FROM NULL, 1 IS NOT DISTINCT FROM NULL, NULL IS DISTINCT FROM NULL, NULL IS NOT DISTINCT FROM 2, (1, 2) IS DISTINCT FROM NULL;
-- error 42804
SELECT NOT generate_series(1, 3) IS NULL;
-- error 42P02
SELECT $1 + true;
-- error 3F000
SELECT nowhere.f(1);
-- error 3F000
SELECT 1::nowhere.t;
SELECT ROW(1, 'a') IN (NULL, ROW(1, 'a')), ROW(1, 'a') IN (NULL, ROW(1, 'b')), ROW(1, 2) NOT IN (NULL, ROW(1, 2));
-- error 42883
SELECT ROW(1, 2) IN (3);
-- error 42804
SELECT 2 BETWEEN generate_series(1, 3) AND 4;
SELECT nullif('e', coalesce('e', x)) >= 'e', coalesce(1, max(n)), coalesce(2.50, max(n)) FROM (VALUES ('a', 1), (NULL, 2)) AS v(x, n) GROUP BY x;
-- error 42804
SELECT generate_series(1, 3) = 1 IS NOT TRUE;
SELECT count(*) FROM (SELECT coalesce(coalesce('e', n::text), 'y') FROM (VALUES (1)) AS v(n)) AS t(x) WHERE nullif(x, 'z') BETWEEN x AND x;
-- A constant of a type whose values Python has not all.
SELECT d <> make_date(-44, 12, 29), coalesce(d, make_date(-44, 12, 29)), CASE WHEN make_date(-44, 12, 29) > d THEN 1 ELSE 2 END FROM (VALUES (date '2024-01-01')) AS v(d);
-- A literal that no numeric holds, where nothing reads it.
-- error 22003
SELECT x FROM (SELECT 1 AS x, (SELECT max(y) FROM (VALUES (1e999999), (2)) AS v(y)) AS z) AS t;
-- a coalesce computes no more than it needs, of numerics too, and of what is written twice
CREATE TABLE lo_first (id integer, n numeric, q numeric(6,2), i integer, t text, r numrange);
INSERT INTO lo_first VALUES (1, 1.50, 2.25, 0, 'abc', '[1.5,2)'), (2, NULL, NULL, 4, '7.5', NULL), (3, -2, 0, 0, NULL, '(,0.25]');
SELECT id, coalesce(n, 1 / i), coalesce(q, 1.0 / i), coalesce(n, t::numeric) FROM lo_first;
SELECT id, coalesce(n, sqrt(n), t::numeric), coalesce(r, t::numrange) FROM lo_first WHERE id <> 2;
SELECT coalesce(id, 1 / i), coalesce(id * 2, 1 / i), coalesce(t, (1 / i)::text) FROM lo_first WHERE id = 1;
SELECT coalesce(coalesce(coalesce(n, t::numeric), 1 / i), 5), sum(coalesce(n, 10 / i)) OVER (ORDER BY id) FROM lo_first;
SELECT sum(coalesce(n, 10 / i)), coalesce(sum(n), 1 / (count(*) - 3)) FROM lo_first;
-- error 22012
SELECT coalesce(n, 1 / (i - 4)) FROM lo_first;
-- nor do AND and OR of a select list, and of what orders rows
SELECT id, i <> 0 AND 10 / i > 2 AND n IS NULL, i = 0 OR 10 / i < 2 OR n IS NULL, i > 0 AND (n > 0 OR sqrt(n) > 0), i IS NULL AND 1 / i > 0 FROM lo_first;
SELECT count(*) FILTER (WHERE i <> 0 AND 10 / i > 2), bool_or(i <> 0 AND 10 / i > 2), sum(CASE WHEN i <> 0 AND 10 / i > 2 THEN 1 ELSE 0 END) FROM lo_first;
-- ordered
SELECT id FROM lo_first ORDER BY i <> 0 AND 10 / i > 2, id DESC;
SELECT i <> 0 AND 10 / i > 2, count(*) FROM lo_first WHERE i <> 0 GROUP BY 1;
SELECT DISTINCT i <> 0 AND 10 / i > 2 FROM lo_first WHERE i <> 0 ORDER BY 1;
SELECT id, NULL AND 1 / i > 0 FROM lo_first WHERE i <> 0;
-- error 22012
SELECT n IS NULL AND 1 / (i - 4) > 0 FROM lo_first;
-- beside subqueries, aggregates and window functions
SELECT id, coalesce(nullif(upper(t) || lower(t) || repeat(t, 2), 'x'), (SELECT max(f.t) FROM lo_first AS f WHERE f.id > o.id)) FROM lo_first AS o;
SELECT coalesce(nullif(round(sum(n) * 2.5 + sum(q) * 3, 2), 7.77777), 1 / (count(*) - 3)), count(*) > 0 OR 1 / (count(*) - 3) > 0 FROM lo_first;
SELECT id, coalesce(nullif(round(sum(n) OVER (ORDER BY id) * 2.5, 2), 7.77777), 1 / (id - 1), rank() OVER (ORDER BY id)) FROM lo_first;
