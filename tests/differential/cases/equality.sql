-- Equal values in several forms: jsonb whose numbers are spelt otherwise, numerics in rows and arrays, rows in order.
-- setup
CREATE TABLE eq_j (id int, j jsonb, n numeric, a numeric[]);
INSERT INTO eq_j VALUES (1, '1', 1.0, '{1,2.0}'), (2, '1.0', 1.00, '{1.00,2}'), (3, '{"a": 1.50}', 2, '{3}'), (4, '{"a": 1.5}', 2.5, NULL), (5, '"x.0"', NULL, '{}'), (6, '[1, 2.0]', 0, '{NULL}'), (7, '[1.0, 2]', 0.0, '{NULL}'), (8, NULL, 3, '{3.000}'), (9, '"x.00"', 3.0, NULL);
CREATE TYPE eq_pair AS (x int, y text);
CREATE TABLE eq_c (id int, p eq_pair, q eq_pair);
INSERT INTO eq_c VALUES (1, ROW(1,'b'), ROW(1,'a')), (2, ROW(2,'a'), ROW(1,NULL)), (3, ROW(1,'a'), NULL), (4, NULL, ROW(NULL,'z')), (5, ROW(NULL,NULL), ROW(3,'c'));
-- cases
SELECT min(id), count(*), sum(n) FROM eq_j GROUP BY j;
SELECT j = '1', count(*) FROM eq_j GROUP BY j HAVING count(*) > 1 AND jsonb_typeof(j) = 'number';
-- ordered
SELECT jsonb_typeof(j), count(*) FROM eq_j GROUP BY j ORDER BY j, 2;
SELECT count(DISTINCT j), count(DISTINCT n), count(DISTINCT a), count(DISTINCT (j, n)) FROM eq_j;
SELECT a.id, b.id FROM eq_j a JOIN eq_j b ON a.j = b.j;
SELECT a.id, b.id FROM eq_j a LEFT JOIN eq_j b ON a.j = b.j AND a.id < b.id;
SELECT a.id FROM eq_j a WHERE a.j IN (SELECT j FROM eq_j WHERE id IN (2, 4, 7));
SELECT a.id FROM eq_j a WHERE a.j NOT IN (SELECT j FROM eq_j WHERE id IN (2, 4, 7));
SELECT id FROM eq_j WHERE j IN ('1.000', '{"a": 1.500}');
SELECT id FROM eq_j WHERE (j, n) IN (SELECT j, n FROM eq_j WHERE id = 2);
SELECT id FROM eq_j WHERE (j, n) = (SELECT j, n FROM eq_j WHERE id = 2);
SELECT count(*) FROM (SELECT DISTINCT j FROM eq_j) AS s;
SELECT count(*) FROM (SELECT DISTINCT a FROM eq_j) AS s;
SELECT count(*) FROM (SELECT DISTINCT ROW(n, 1) FROM eq_j) AS s;
SELECT count(*) FROM (SELECT j FROM eq_j UNION SELECT '1.000' UNION SELECT '[1.00, 2.00]') AS s;
SELECT count(*) FROM (SELECT j FROM eq_j INTERSECT SELECT '1.000') AS s;
SELECT count(*) FROM (SELECT j FROM eq_j INTERSECT ALL SELECT j FROM eq_j WHERE id IN (2, 3)) AS s;
SELECT count(*) FROM (SELECT j FROM eq_j EXCEPT SELECT '1.000'::jsonb) AS s;
SELECT count(*) FROM (SELECT j FROM eq_j EXCEPT ALL SELECT '1.000'::jsonb) AS s;
SELECT count(*) FROM (SELECT a FROM eq_j UNION SELECT '{3.0}') AS s;
SELECT count(*) FROM (SELECT ROW(n, id > 4) FROM eq_j INTERSECT SELECT ROW(1.000, false)) AS s;
-- ordered
SELECT id, rank() OVER (ORDER BY j), dense_rank() OVER (ORDER BY j) FROM eq_j ORDER BY id;
-- ordered
SELECT id, count(*) OVER (PARTITION BY j), row_number() OVER (PARTITION BY j ORDER BY id) FROM eq_j ORDER BY id;
-- ordered
SELECT id, count(*) OVER (PARTITION BY a), count(*) OVER (PARTITION BY ROW(n, 1)) FROM eq_j ORDER BY id;
-- ordered
SELECT id FROM eq_j ORDER BY j, id DESC;
-- ordered
SELECT id FROM eq_j ORDER BY j DESC NULLS LAST, id;
-- ordered
SELECT id FROM eq_j ORDER BY a, id DESC;
-- ordered
SELECT id FROM eq_j ORDER BY ROW(n, -id);
-- ordered
SELECT id FROM eq_j ORDER BY ROW(j, -id) DESC;
-- ordered
SELECT id FROM eq_j ORDER BY ARRAY[j, '0'], id DESC;
SELECT '1'::jsonb IS DISTINCT FROM '1.0', nullif('1'::jsonb, '1.0'), CASE '1'::jsonb WHEN '1.0' THEN 'y' ELSE 'n' END;
SELECT '1.0'::jsonb = ANY(ARRAY['1'::jsonb]), ARRAY['1'::jsonb] = ARRAY['1.0'::jsonb], ARRAY['1'::jsonb] @> ARRAY['1.0'::jsonb], ARRAY['1'::jsonb] && ARRAY['1.0'::jsonb];
SELECT array_position(ARRAY['2', '1.0']::jsonb[], '1'), array_positions(ARRAY['1', '1.0']::jsonb[], '1.00'), array_remove(ARRAY['2', '1.0']::jsonb[], '1'), array_replace(ARRAY['2', '1.0']::jsonb[], '1', '7');
SELECT ARRAY['9', '1']::jsonb[] < ARRAY['10', '0']::jsonb[], ARRAY['9']::jsonb[] > ARRAY['10']::jsonb[], ARRAY[1.0, 2] = ARRAY[1, 2.00], ARRAY[[1.0], [2]] = ARRAY[[1], [2.00]];
SELECT ROW('1'::jsonb, 2) = ROW('1.0'::jsonb, 2), ROW('1'::jsonb, 2) < ROW('1.0'::jsonb, 3), ROW(1, 2.50) = ROW(1, 2.5), ROW(ARRAY[1.0]) = ROW(ARRAY[1.00]);
SELECT sum(id), count(*) FROM eq_j GROUP BY GROUPING SETS ((j), (), (j, n));
SELECT j IS NULL, grouping(j), sum(id) FROM eq_j GROUP BY ROLLUP (j);
SELECT DISTINCT ON (j) j IS NULL, id FROM eq_j ORDER BY j, id;
SELECT DISTINCT ON (j) id FROM eq_j ORDER BY j, id DESC;
SELECT a.id, b.id FROM eq_j a LEFT JOIN eq_j b USING (j);
SELECT cardinality(array_agg(DISTINCT j)), jsonb_array_length(jsonb_agg(DISTINCT j)), array_agg(DISTINCT n), string_agg(DISTINCT j::text, ',') FROM eq_j WHERE id IN (1, 2, 9);
SELECT count(DISTINCT j) FILTER (WHERE id < 5) FROM eq_j WHERE id < 4;
SELECT mode() WITHIN GROUP (ORDER BY n) FROM eq_j WHERE id <= 4;
SELECT ROW(n, 1) IS NULL, count(*) FROM eq_j GROUP BY ROW(n, 1);
SELECT (SELECT count(*) FROM eq_j b WHERE b.j = a.j) FROM eq_j a;
SELECT count(*), (SELECT count(*) FROM eq_j b WHERE b.j = a.j) FROM eq_j a GROUP BY a.j;
SELECT greatest('9'::jsonb, '10', NULL), least('9'::jsonb, '10', '[]'), greatest(ROW(1, 2.0), ROW(1, 2.00), ROW(1, 1.5));
SELECT greatest(j, '1.000'), least(a, '{1,2}') FROM eq_j;
-- ordered
SELECT id, p FROM eq_c ORDER BY p;
-- ordered
SELECT id, q FROM eq_c ORDER BY q DESC, id;
-- ordered
SELECT id FROM eq_c ORDER BY ROW(p, q);
-- ordered
SELECT id, rank() OVER (ORDER BY p), lag(p) OVER (ORDER BY p, id) FROM eq_c ORDER BY id;
SELECT p < q, p = q, p > q, p <= q, p <> q, p IS DISTINCT FROM q FROM eq_c;
SELECT p, count(*) FROM eq_c GROUP BY p;
SELECT DISTINCT p FROM eq_c;
SELECT greatest(p, q), least(p, q), coalesce(p, q), nullif(p, q) FROM eq_c;
SELECT ROW(1, 2) < ROW(1, 3), ROW(1, NULL) < ROW(1, 3), ROW(1, NULL) = ROW(2, NULL), ROW(1, NULL) IS DISTINCT FROM ROW(1, NULL);
SELECT ROW(1, 2) IN (ROW(1, 2), ROW(3, 4)), (1, 2) IN (SELECT 1, 2), ROW(1, 2) = ANY(ARRAY[ROW(1, 2)]);
SELECT count(DISTINCT p), count(DISTINCT ROW(p, q)) FROM eq_c;
SELECT array_agg(p ORDER BY p DESC), array_agg(DISTINCT p) FROM eq_c;
SELECT (1, 2) < (SELECT 1, 3), (1, 2) < ANY (SELECT 1, 3), (1, 2) <> ALL (SELECT 1, 3), (1, 2) > ANY (SELECT x, y FROM (VALUES (1, 1), (2, 2)) AS v(x, y)), (1, 2) >= ALL (SELECT x, 1 FROM (VALUES (0), (1)) AS v(x));
SELECT a.id, b.id FROM eq_c a JOIN eq_c b ON a.p = b.p;
SELECT a.id, b.id FROM eq_c a JOIN eq_c b USING (p);
SELECT p FROM eq_c UNION SELECT q FROM eq_c;
SELECT p FROM eq_c INTERSECT SELECT ROW(1, 'a')::eq_pair;
SELECT id FROM eq_c WHERE p BETWEEN ROW(1, 'a')::eq_pair AND ROW(1, 'z')::eq_pair;
SELECT id FROM eq_c WHERE p IN (ROW(1, 'a')::eq_pair, ROW(2, 'a')::eq_pair);
SELECT id FROM eq_c WHERE (p).x = 1 AND (q).y = 'a';
SELECT eq_c FROM eq_c ORDER BY eq_c LIMIT 2;
SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY (n, id)) FROM eq_j;
SELECT id FROM eq_j WHERE a BETWEEN '{0}' AND '{2.00}';
SELECT id, (SELECT count(*) FROM eq_j AS b WHERE b.n = a.n), (SELECT n + 1) FROM eq_j AS a GROUP BY id, n;
SELECT count(*), (SELECT max(b.id) FROM eq_j AS b WHERE b.n > a.n), (SELECT count(a.id)) FROM eq_j AS a GROUP BY n HAVING EXISTS (SELECT 1 FROM eq_j AS c WHERE c.n = a.n);
SELECT count(*), grouping(n), (SELECT count(*) FROM eq_j AS b WHERE b.n = a.n) FROM eq_j AS a GROUP BY ROLLUP (n);
-- error 42883
SELECT max(p) FROM eq_c;
-- error 42883
SELECT min(ROW(id, n)) FROM eq_j;

-- equal values are one key, however they are spelt
CREATE TABLE eq_key (j jsonb UNIQUE);
-- error 23505
INSERT INTO eq_key VALUES ('1'), ('1.0');
INSERT INTO eq_key VALUES ('1'), ('"1.0"'), ('"1.00"'), ('{"a": [2.50]}');
-- error 23505
INSERT INTO eq_key VALUES ('1.00');
-- error 23505
INSERT INTO eq_key VALUES ('{"a": [2.5]}');
INSERT INTO eq_key VALUES ('1.0') ON CONFLICT DO NOTHING;
INSERT INTO eq_key VALUES ('1.000') ON CONFLICT (j) DO UPDATE SET j = '7.0';
SELECT j FROM eq_key;
CREATE TABLE eq_ref (j jsonb REFERENCES eq_key (j));
INSERT INTO eq_ref VALUES ('7');
-- error 23503
INSERT INTO eq_ref VALUES ('7.01');
-- error 23503
DELETE FROM eq_key WHERE j = '7.00';
CREATE TABLE eq_keys (a numeric[], r eq_pair, m nummultirange, n numrange, PRIMARY KEY (a, n), UNIQUE (r), UNIQUE (m));
INSERT INTO eq_keys VALUES ('{1,2.0}', (1, 'a'), '{[1,2)}', '[1,2)');
-- error 23505
INSERT INTO eq_keys VALUES ('{1.0,2}', (2, 'a'), '{[1,3)}', '[1.0,2)');
-- error 23505
INSERT INTO eq_keys VALUES ('{1.0,2}', (1, 'a'), '{[1,3)}', '[1.0,3)');
-- error 23505
INSERT INTO eq_keys VALUES ('{1.0,2}', (2, 'a'), '{[1.0,2)}', '[1.0,3)');
INSERT INTO eq_keys VALUES ('{1.0,2}', (2, 'a'), '{[1.0,3)}', '[1.0,3)');
CREATE TABLE eq_later (j jsonb);
INSERT INTO eq_later VALUES ('1'), ('1.0');
-- error 23505
ALTER TABLE eq_later ADD UNIQUE (j);
-- numbers of more digits than a numeric's are told apart by all of them
SELECT DISTINCT j FROM (VALUES ('[1.0, 1000000000000000000000000000000000000000001]'::jsonb), ('[1.0, 1000000000000000000000000000000000000000002]')) v(j);
CREATE TABLE written (v varchar(5), t text, i int, b bigint, d date, m timestamp);
INSERT INTO written VALUES ('a', 'b', 1, 2, '2024-01-01', '2024-01-02'), ('d', 'e', 3, 4, '2024-01-03', '2024-01-02'), ('a', 'b', 1, 2, NULL, NULL);
SELECT string_agg(DISTINCT v || t, ',' ORDER BY v::text || t), array_agg(DISTINCT v || 'x' ORDER BY v::text || 'x' DESC), string_agg(DISTINCT upper(v), ',' ORDER BY upper(v::text)) FROM written;
SELECT DISTINCT v || t FROM written ORDER BY v::text || t;
-- error 42803
SELECT v || t, i + b, d < m FROM written GROUP BY v::text || t, i::bigint + b, d::timestamp < m;
SELECT v || t FROM written GROUP BY v::text || t;
SELECT string_agg(DISTINCT v, t ORDER BY t DESC, v), string_agg(DISTINCT v, t ORDER BY v, t), string_agg(DISTINCT v, t) FROM written;
-- error 42P10
SELECT string_agg(DISTINCT v, ',' ORDER BY v::text) FROM written;
-- error 42P10
SELECT sum(DISTINCT i::numeric ORDER BY i) FROM written;
DROP TABLE written;
-- What an IN list holds is of one type with what is looked for, if it is more than one constant.
SELECT i, r IN (1.1), r IN (1.1, 0), r NOT IN (1.1, 2), r IN ('NaN', 1.1), r IN (1.1, 1.1::float8), d IN (1.1::real, 2), d IN (1.1::real) FROM (VALUES (1, 1.1::real, 1.1::float8), (2, 2, 2), (3, 'NaN', NULL)) AS t(i, r, d);
SELECT i, c IN ('a '::text), c IN ('a '::text, 'b'), t IN ('a '::char(2), 'b'), t IN ('a '::char(2)), c = ANY (ARRAY['a '::text, 'b']) FROM (VALUES (1, 'a'::char(3), 'a'::text), (2, 'b', 'a ')) AS x(i, c, t);
SELECT n IN (9007199254740992, 1::float8), n IN (9007199254740992), n IN (n, 9007199254740992, 1::float8), n IN (n + 1, 9007199254740992), i IN (9007199254740992, 1.5, '7') FROM (VALUES (9007199254740993::numeric, 7::bigint)) AS x(n, i);
SELECT d IN ('2020-01-01', timestamp '2020-01-02 00:00'), d IN (date '2020-01-01', timestamptz '2020-01-01 00:00+00'), d IN (timestamp '2020-01-01 00:00', NULL) FROM (VALUES (date '2020-01-01'), ('2020-01-02')) AS x(d);
-- error 42883
SELECT 1 IN ('1'::text, 2);
-- error 22P02
SELECT 1 IN ('x', 2);
