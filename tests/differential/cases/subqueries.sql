-- Subqueries: scalar, EXISTS, IN, ANY and ALL, correlated and not, over empty sets and with NULLs.
-- setup
CREATE TABLE sq_a (id integer, v integer, t text);
CREATE TABLE sq_b (id integer, a_id integer, w numeric(8,3));
CREATE TABLE sq_none (v integer);
INSERT INTO sq_a VALUES (1, 10, 'one'), (2, 20, 'two'), (3, NULL, 'three'), (4, 20, NULL), (5, -5, 'five');
INSERT INTO sq_b VALUES (1, 1, 1.500), (2, 1, 2.500), (3, 2, NULL), (4, NULL, 9.125), (5, 7, 0.001);
-- cases
SELECT (SELECT max(v) FROM sq_a);
SELECT (SELECT v FROM sq_none);
SELECT (SELECT 1 WHERE false) IS NULL;
SELECT id, (SELECT sum(w) FROM sq_b WHERE a_id = sq_a.id) FROM sq_a;
SELECT id, (SELECT count(*) FROM sq_b WHERE a_id = sq_a.id) AS n FROM sq_a;
SELECT id FROM sq_a WHERE EXISTS (SELECT 1 FROM sq_b WHERE a_id = sq_a.id);
SELECT id FROM sq_a WHERE NOT EXISTS (SELECT * FROM sq_b WHERE a_id = sq_a.id);
SELECT EXISTS (SELECT 1 FROM sq_none), NOT EXISTS (SELECT 1 FROM sq_none);
SELECT id FROM sq_a WHERE id IN (SELECT a_id FROM sq_b);
SELECT id FROM sq_a WHERE id NOT IN (SELECT a_id FROM sq_b);
SELECT id FROM sq_a WHERE id NOT IN (SELECT a_id FROM sq_b WHERE a_id IS NOT NULL);
SELECT id FROM sq_a WHERE v NOT IN (SELECT v FROM sq_none);
SELECT id, v IN (SELECT v FROM sq_a s WHERE s.id < 4) FROM sq_a;
SELECT id, v NOT IN (10, NULL) FROM sq_a;
SELECT id FROM sq_a WHERE v > ALL (SELECT v FROM sq_a s WHERE s.v < 15);
SELECT id FROM sq_a WHERE v = ANY (SELECT v FROM sq_a s WHERE s.id <> sq_a.id);
SELECT id FROM sq_a WHERE v >= ALL (SELECT v FROM sq_none);
SELECT id, v <> ALL (SELECT v FROM sq_a s WHERE s.id IN (1, 3)) FROM sq_a;
SELECT id FROM sq_a WHERE (id, v) IN (SELECT id, v FROM sq_a WHERE v = 20);
SELECT id FROM sq_a WHERE (id, v) IN ((1, 10), (2, 21), (5, -5));
SELECT id FROM sq_a o WHERE v = (SELECT max(v) FROM sq_a i WHERE i.t = o.t);
SELECT id FROM sq_a o WHERE 1 < (SELECT count(*) FROM sq_a i WHERE i.v = o.v);
SELECT s.id, s.n FROM (SELECT a.id, count(b.id) AS n FROM sq_a a LEFT JOIN sq_b b ON b.a_id = a.id GROUP BY a.id) s WHERE s.n > 0;
SELECT count(*) FROM (SELECT DISTINCT v FROM sq_a) AS d;
SELECT x.* FROM (SELECT 1 AS one, 'two' AS two) x;
SELECT (SELECT (SELECT count(*) FROM sq_b WHERE a_id = sq_a.id) + sq_a.id) FROM sq_a;
SELECT id FROM sq_a WHERE id = (SELECT a_id FROM sq_b WHERE sq_b.id = 3);
SELECT a.id, (SELECT string_agg(b.w::text, ',' ORDER BY b.w) FROM sq_b b WHERE b.a_id = a.id) FROM sq_a a WHERE a.id < 3;
SELECT CASE WHEN EXISTS (SELECT 1 FROM sq_b WHERE w > 9) THEN 'yes' ELSE 'no' END;
SELECT id FROM sq_a WHERE v IS NOT DISTINCT FROM (SELECT v FROM sq_none);
SELECT id FROM sq_a GROUP BY id HAVING count(*) = (SELECT 1) AND id > (SELECT min(id) FROM sq_a);
-- ordered
SELECT id FROM sq_a ORDER BY (SELECT count(*) FROM sq_b WHERE a_id = sq_a.id) DESC, id;
SELECT ARRAY(SELECT id FROM sq_a ORDER BY id DESC);
-- error 21000
SELECT (SELECT v FROM sq_a);
-- error 21000
SELECT id FROM sq_a WHERE v = (SELECT v FROM sq_a s WHERE s.v = 20);
-- error 42601
SELECT (SELECT id, v FROM sq_a LIMIT 1);
-- error 42601
SELECT id FROM sq_a WHERE id IN (SELECT id, v FROM sq_a);
-- error 42703
SELECT (SELECT nothing FROM sq_b) FROM sq_a;
-- error 42883
SELECT id FROM sq_a WHERE t IN (SELECT id FROM sq_b);
SELECT (VALUES (1)), ((SELECT 1))::numeric(5,2), (SELECT 2 AS x)::integer, (SELECT 1 UNION SELECT 1), (SELECT abs(1))::text;
SELECT v.a, (v.a, v.b) IN (SELECT g, NULLIF(g % 3, v.a) FROM generate_series(1, v.n) AS g), (v.a, v.b) NOT IN (SELECT g, g % 3 FROM generate_series(1, v.n) AS g) FROM (VALUES (1, 1, 3), (2, 2, 1), (3, NULL, 5), (4, 0, 0), (NULL, 1, 2)) AS v(a, b, n);
-- an output with a subquery, by which rows are ordered
-- ordered
SELECT DISTINCT (SELECT count(*) FROM sq_b WHERE a_id = sq_a.id) FROM sq_a ORDER BY (SELECT count(*) FROM sq_b WHERE a_id = sq_a.id);
-- ordered
SELECT DISTINCT v, v IN (SELECT s.v FROM sq_a s WHERE s.id < 2) FROM sq_a ORDER BY v IN (SELECT s.v FROM sq_a s WHERE s.id < 2) DESC NULLS LAST, v;
-- ordered
SELECT DISTINCT ARRAY(SELECT b.id FROM sq_b b WHERE b.a_id = sq_a.id ORDER BY 1) FROM sq_a ORDER BY ARRAY(SELECT b.id FROM sq_b b WHERE b.a_id = sq_a.id ORDER BY 1) DESC;
-- ordered
SELECT DISTINCT ON ((SELECT max(s.v) FROM sq_a s WHERE s.id < sq_a.id)) id FROM sq_a ORDER BY (SELECT max(s.v) FROM sq_a s WHERE s.id < sq_a.id) DESC, id;
-- error 42P10
SELECT DISTINCT (SELECT max(v) FROM sq_a) FROM sq_a ORDER BY (SELECT min(v) FROM sq_a);
-- an aggregate of a relation in FROM, wherever in a LATERAL join it stands
-- error 42803
SELECT 1 FROM sq_a a LEFT JOIN LATERAL (SELECT sum(a.id) AS s FROM sq_b) x ON true;
-- error 42803
SELECT 1 FROM sq_a a LEFT JOIN LATERAL (SELECT (SELECT sum(a.id) FROM sq_b b2) FROM sq_b) x ON true;
-- error 42803
SELECT 1 FROM sq_a a CROSS JOIN LATERAL (SELECT 1 FROM sq_b WHERE (SELECT sum(a.id)) > 0) x;
SELECT (SELECT x.s FROM sq_b LEFT JOIN LATERAL (SELECT count(a.id) AS s) x ON true LIMIT 1) FROM sq_a a;
-- subqueries in what is aggregated
SELECT max(ARRAY[(SELECT max(w) FROM sq_b WHERE a_id = sq_a.id), v]), min(ARRAY[id, v]) FILTER (WHERE EXISTS (SELECT FROM sq_b WHERE a_id = sq_a.id)) FROM sq_a;
SELECT id, max((SELECT array_agg(w ORDER BY w) FROM sq_b WHERE a_id = sq_a.id)) OVER (ORDER BY id) FROM sq_a;
SELECT max(DISTINCT ARRAY[w, (SELECT 1.50)]), min(DISTINCT ARRAY[w]) FROM sq_b WHERE w IS NOT NULL;
SELECT array_agg(DISTINCT (SELECT max(id) FROM sq_b WHERE a_id = sq_a.id)), string_agg(DISTINCT (SELECT t || v), ',') FROM sq_a;
SELECT v, string_agg(DISTINCT (SELECT t), ',' ORDER BY (SELECT t) DESC), array_agg(DISTINCT id IN (SELECT a_id FROM sq_b)) FILTER (WHERE id > 1) FROM sq_a GROUP BY v;
CREATE TABLE taken_keys (x int, y int);
INSERT INTO taken_keys VALUES (1, 5), (2, 7), (9, 3);
CREATE TABLE taken (k int, r int4range, nr numrange, n numeric, f float8, iv interval, t text, m int4multirange);
INSERT INTO taken VALUES (1, '[1,10)', '[1.5,2]', 1.50, 1.5, '1 day', 'a', '{[1,3)}'), (1, '[3,12)', '[1.7,9]', 2.5, 2.5, '2 day', 'b', '{[1,9)}'), (2, '[5,6)', NULL, 3, 4, '3 mon', 'c', '{[1,7)}'), (2, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
SELECT k, range_intersect_agg((SELECT r * int4range(0, max(y)) FROM taken_keys)), range_intersect_agg((SELECT nr)), range_agg((SELECT m)), range_intersect_agg(r) FILTER (WHERE EXISTS (SELECT 1 FROM taken_keys WHERE x = k)) FROM taken GROUP BY k;
SELECT k, stddev((SELECT f)), corr((SELECT f), n), regr_slope((SELECT f), (SELECT n)), regr_count((SELECT f), (SELECT n)), regr_sxy(f, (SELECT n)), regr_avgx(f, (SELECT n)), regr_r2(f, (SELECT n)) FROM taken GROUP BY k;
SELECT (SELECT max(taken.n) FILTER (WHERE x IN (SELECT 1)) FROM taken_keys), (SELECT max(taken.f) FILTER (WHERE x IN (SELECT k FROM taken)) FROM taken_keys) FROM taken;
SELECT k, range_intersect_agg((SELECT r)) OVER w, ntile((SELECT 2)) OVER w, nth_value((SELECT n), (SELECT 2)) OVER w, count(*) FILTER (WHERE EXISTS (SELECT 1 FROM taken_keys WHERE x = k)) OVER w FROM taken WINDOW w AS (PARTITION BY k ORDER BY (SELECT f));
SELECT k, sum(sum(n)) OVER (ORDER BY (SELECT k)), rank() OVER (ORDER BY sum((SELECT n))) FROM taken GROUP BY k;
-- ordered
SELECT coalesce(k, -1), grouping(k), sum((SELECT n + 1)), count(*) FROM taken GROUP BY ROLLUP (k) HAVING sum((SELECT n)) > 1 ORDER BY sum((SELECT n)) DESC, 1;
SELECT x, (SELECT array_agg((SELECT taken.n * x) ORDER BY (SELECT taken.n) DESC) FROM taken WHERE k = x) FROM taken_keys;
SELECT (SELECT max(x) FROM taken_keys WHERE x <= k), count(*) FILTER (WHERE n IN (SELECT 1.5)), avg(n) FILTER (WHERE n > ALL (SELECT x FROM taken_keys WHERE x < 2)), percentile_disc(0.5) WITHIN GROUP (ORDER BY (SELECT n)) FROM taken GROUP BY (SELECT max(x) FROM taken_keys WHERE x <= k);
DROP TABLE taken, taken_keys;
CREATE TABLE plain_sub (id int, g text, v int, n numeric(8,3), j jsonb, ts timestamp, iv interval, a int[]);
INSERT INTO plain_sub VALUES (1, 'a', 10, 1.5, '{"k": 1}', '2024-01-15', '1 day', '{1,2}'), (2, 'a', 1, 2.25, '{"k": 1.0}', '2024-02-29', '24:00', '{3}'), (3, NULL, NULL, NULL, NULL, NULL, NULL, NULL), (4, 'b', 0, 1.5, '[]', '2023-12-31', '1 mon', '{}');
SELECT CASE WHEN v > 1 THEN (SELECT 1 / (v - 1)) END, CASE WHEN v <> 0 THEN (SELECT 10 / v) END FROM plain_sub;
SELECT sum((SELECT 10 / v)) FILTER (WHERE v <> 0), (SELECT sum(v)), (SELECT (SELECT min(id))) FROM plain_sub;
CREATE TABLE plain_made AS SELECT id, CASE WHEN v > 1 THEN (SELECT 1 / (v - 1)) END AS e FROM plain_sub;
SELECT * FROM plain_made;
UPDATE plain_made SET e = id WHERE id < 3 RETURNING CASE WHEN id > 1 THEN (SELECT 1 / (id - 1)) END;
DELETE FROM plain_made RETURNING CASE WHEN id > 1 THEN (SELECT e / (id - 1)) END;
DROP TABLE plain_made;
SELECT date_trunc((SELECT 'month'), (SELECT ts)), age((SELECT ts), (SELECT '2024-01-01'::timestamp)), width_bucket((SELECT n), (SELECT 0), (SELECT 10), (SELECT 5)), numrange((SELECT n), (SELECT n + 1)) @> (SELECT n), jsonb_build_object((SELECT 'x'), (SELECT n), 'y', (SELECT ts)), json_build_array((SELECT n), (SELECT a)), array_append((SELECT a), (SELECT v)), array_position((SELECT a), (SELECT 1), (SELECT 1)), (SELECT a) @> (SELECT a), num_nulls((SELECT v), (SELECT g)), (SELECT n)::int FROM plain_sub;
-- ordered
SELECT id FROM plain_sub ORDER BY (SELECT 1), (SELECT v) NULLS FIRST, (SELECT -id);
SELECT (SELECT n), (SELECT g), count(*) FROM plain_sub GROUP BY ROLLUP ((SELECT n), (SELECT g));
-- error 42803
SELECT v FROM plain_sub GROUP BY (SELECT v);
SELECT DISTINCT (SELECT iv) FROM plain_sub WHERE v = 0 OR g IS NULL;
SELECT id, (SELECT v WHERE v > 5), (SELECT v LIMIT 0), (SELECT count(*)) FROM plain_sub GROUP BY id, v;
SELECT (SELECT plain_sub), (SELECT ROW(v, n)), (SELECT ARRAY[v, id]) FROM plain_sub;
DROP TABLE plain_sub;
-- A subquery of ON decides for pairs only, and DISTINCT ON keeps its order.
CREATE TABLE sq_one (id int, k int, v int);
INSERT INTO sq_one VALUES (1, 1, 5), (2, 2, 0), (3, NULL, 7);
CREATE TABLE sq_two (k int, z int, v int);
INSERT INTO sq_two VALUES (1, 1, 10), (1, 2, 5), (2, 1, 0), (2, 1, 0);
SELECT a.id, b.id FROM sq_one a LEFT JOIN sq_one b ON a.id = b.id AND b.v IN (SELECT DISTINCT ON (k) v FROM sq_two ORDER BY k, z DESC);
SELECT a.id, b.z FROM sq_one a LEFT JOIN sq_two b ON a.k = b.z AND b.v > 5 AND a.v = (SELECT v FROM sq_two c WHERE c.k = a.k AND c.z = 2);
WITH RECURSIVE r(n) AS (SELECT 1 UNION SELECT r.n + p.z FROM r, sq_two p WHERE r.n + p.z < 9) SELECT n FROM r;
DROP TABLE sq_one, sq_two;
