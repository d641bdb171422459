-- Rows as values: ROW(…), whole rows of relations, named row types, their fields, comparison, text, JSON, arrays.
-- setup
CREATE TYPE cm_point AS (x integer, y numeric(8,2));
CREATE TYPE cm_mood AS ENUM ('sad', 'happy');
CREATE TYPE cm_item AS ("Name" text, at cm_point, tags text[], m cm_mood, n numeric, d date, u uuid, iv interval, b boolean);
CREATE TABLE cm_t (id integer PRIMARY KEY, name text, n numeric, p cm_point);
INSERT INTO cm_t VALUES (1, 'a', 1.50, ROW(1, 2.5)), (2, 'b "q"', NULL, '(3,)'), (3, NULL, 2, NULL), (4, '', -1, (NULL, NULL)), (5, 'x,y', 1.5, ROW(1, 2.50));
CREATE TABLE cm_o (id integer, t_id integer, v text);
INSERT INTO cm_o VALUES (10, 1, 'one'), (11, 1, 'uno'), (12, 9, 'none'), (NULL, NULL, NULL);
CREATE TABLE cm_i (k integer, i cm_item, ps cm_point[]);
INSERT INTO cm_i VALUES (1, ROW('n', ROW(1, 2), '{a,"b c"}', 'happy', 1.500, '2024-02-29', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '1 day 02:03', true), ARRAY[ROW(1, 2), ROW(3, NULL)]::cm_point[]), (2, NULL, NULL), (3, ROW(NULL, NULL, '{}', 'sad', NULL, NULL, NULL, NULL, false), '{"(5,6.5)",NULL}');
-- cases
SELECT * FROM cm_t;
SELECT t FROM cm_t AS t;
SELECT cm_t FROM cm_t WHERE id < 3;
SELECT ROW(1, 'a'), ROW(1, NULL, 'a b', '', 'x"y', 'a\b', 'c,d', '(e)', true, 1.50), (1, 2), ROW(ROW(1, 2), ARRAY[1, NULL]), ROW(NULL);
SELECT (p).x, (p).y, (t.p).x + 1, (t).name, (t).p, ((t).p).x FROM cm_t AS t;
SELECT (p).* FROM cm_t;
SELECT (t).* FROM cm_t AS t WHERE id = 1;
SELECT (ROW(1, 'a'::text)).f1, (ROW(1, 'a'::text)).f2, (ROW(1, 'a'::text)).*;
SELECT ROW(t.*, 9), ROW(t.id, t.*) FROM cm_t AS t WHERE id < 3;
SELECT s FROM (SELECT id AS a, name AS b FROM cm_t) AS s;
SELECT v, (v).column1 FROM (VALUES (1, 'x'), (2, NULL)) AS v;
SELECT w FROM (SELECT 1 AS a, 2 AS a) AS w;
SELECT c, c IS NULL FROM (SELECT 1 AS a, NULL AS b) AS c;
SELECT id, p IS NULL, p IS NOT NULL, ROW(p, 1) IS NULL, ROW(NULL, p) IS NOT NULL, t IS NULL, t IS NOT NULL FROM cm_t AS t;
SELECT ROW(NULL, NULL) IS NULL, ROW(1, NULL) IS NULL, ROW(1, NULL) IS NOT NULL, ROW(ROW(NULL)) IS NULL, NULL::cm_point IS NULL;
SELECT count(t), count(p), count(*) FROM cm_t AS t;
SELECT t.id, o FROM cm_t AS t LEFT JOIN cm_o AS o ON o.t_id = t.id;
SELECT t, o.v FROM cm_t AS t RIGHT JOIN cm_o AS o ON o.t_id = t.id;
SELECT t, o, t IS NULL, o IS NULL FROM cm_t AS t FULL JOIN cm_o AS o ON o.t_id = t.id;
SELECT t.id, count(o) FROM cm_t AS t LEFT JOIN cm_o AS o ON o.t_id = t.id GROUP BY t.id;
SELECT t.id, o FROM cm_t AS t LEFT JOIN (SELECT t_id, v FROM cm_o) AS o ON o.t_id = t.id WHERE t.id < 3;
SELECT (SELECT o FROM cm_o AS o WHERE o.id = 10), (SELECT o FROM cm_o AS o WHERE o.id = 99);
SELECT id, (SELECT ROW(t.id, t.name)) FROM cm_t AS t;
SELECT p = ROW(1, 2.5)::cm_point, p < ROW(2, 0)::cm_point, p <> '(1,2.5)'::cm_point, p IS DISTINCT FROM ROW(3, NULL)::cm_point, p IN ('(1,2.50)'::cm_point, NULL) FROM cm_t;
SELECT a.id, b.id FROM cm_t AS a JOIN cm_t AS b ON a.p = b.p;
SELECT a.id, b.id FROM cm_t AS a, cm_t AS b WHERE a = b;
SELECT ROW(1, 2) = ROW(1, 2), ROW(1, NULL) = ROW(1, 2), ROW(1, NULL) = ROW(2, NULL), ROW(1, 2) < ROW(1, 3), ROW(2, NULL) > ROW(1, 5), ROW(1, 'a') <> ROW(1, 'b'), ROW(1, NULL) IS NOT DISTINCT FROM ROW(1, NULL);
SELECT id FROM cm_t WHERE (id, name) IN ((1, 'a'), (2, 'x'));
SELECT id FROM cm_t WHERE ROW(id, n) = ROW(5, 1.5);
-- ordered
SELECT id, p FROM cm_t ORDER BY p, id;
-- ordered
SELECT id, p FROM cm_t ORDER BY p DESC, id;
-- ordered
SELECT o FROM cm_o AS o ORDER BY o;
-- ordered
SELECT o FROM cm_o AS o ORDER BY o DESC;
SELECT DISTINCT p FROM cm_t;
SELECT p, count(*) FROM cm_t GROUP BY p;
SELECT DISTINCT (id > 2, name IS NULL) FROM cm_t;
SELECT p FROM cm_t UNION SELECT ROW(7, 8)::cm_point;
SELECT o FROM cm_o AS o EXCEPT SELECT o FROM cm_o AS o WHERE id = 10;
SELECT t.p::text, t::text, ROW(1, 2)::text, 'x' || p::text, length(p::text) FROM cm_t AS t;
SELECT '(1,2.345)'::cm_point, ' ( 4 ,)'::cm_point, '("5","6")'::cm_point, '(7,8)'::text::cm_point, CAST(ROW(1, '2') AS cm_point), ROW(1.6, 2)::cm_point;
SELECT row_to_json(t), to_json(t), to_jsonb(t) FROM cm_t AS t;
SELECT row_to_json(ROW(1, 'a', NULL)), row_to_json(ROW(1, 'a'), true), to_json(p), to_json(ARRAY[p]) FROM cm_t;
SELECT json_agg(t ORDER BY id), jsonb_agg(p ORDER BY id) FROM cm_t AS t;
SELECT json_agg(s) FROM (SELECT id, name FROM cm_t WHERE id < 3 ORDER BY id) AS s;
SELECT json_build_object('t', t, 'p', p), json_build_array(p, t) FROM cm_t AS t WHERE id = 1;
SELECT array_agg(p ORDER BY id), array_agg(t ORDER BY id) FROM cm_t AS t WHERE id < 3;
SELECT ARRAY[ROW(1, 'a'), ROW(2, 'b')], ARRAY[ROW(1, 2)::cm_point, NULL], (ARRAY[ROW(1, 2)::cm_point])[1].x;
SELECT * FROM cm_i;
SELECT k, (i).at, ((i).at).x, (i)."Name", (i).tags[2], (i).m, (i).n, ps[1], (ps[1]).y FROM cm_i;
SELECT i::text, to_json(i), ps::text FROM cm_i;
SELECT k, u.* FROM cm_i, unnest(ps) AS u;
SELECT k, u FROM cm_i, unnest(ps) AS u;
SELECT k, x, y, o FROM cm_i, unnest(ps) WITH ORDINALITY AS u(x, y, o);
SELECT unnest(ps) FROM cm_i;
SELECT (unnest(ps)).x FROM cm_i WHERE k = 1;
SELECT coalesce(p, ROW(0, 0)::cm_point), CASE WHEN id = 1 THEN p ELSE ROW(9, 9)::cm_point END, nullif(p, '(1,2.5)'::cm_point) FROM cm_t;
SELECT pg_typeof(p), pg_typeof(t), pg_typeof(ROW(1, 2)), pg_typeof(ARRAY[p]), pg_typeof((p).y) FROM cm_t AS t LIMIT 1;
SELECT lag(p) OVER (ORDER BY id), first_value(t) OVER (ORDER BY id) FROM cm_t AS t;
WITH w AS (SELECT p, id FROM cm_t) SELECT w, (w.p).x FROM w WHERE id = 1;
SELECT x FROM json_each('{"a":1}') AS x;
SELECT g FROM generate_series(1, 2) AS g;
SELECT EXISTS (SELECT p FROM cm_t), p = ANY (ARRAY['(1,2.5)', '(3,)']::cm_point[]) FROM cm_t;
SELECT k, ps[1] = ANY (ps), ROW(5, 6.5)::cm_point = ANY (ps) FROM cm_i;
SELECT p FROM cm_t WHERE p IN (SELECT p FROM cm_t WHERE id = 1);
SELECT id, t IN (SELECT o FROM cm_t AS o WHERE o.n = t.n), (t.*) NOT IN (SELECT o FROM cm_t AS o WHERE o.id < t.id), t = ANY (SELECT o FROM cm_t AS o WHERE o.name < t.name) FROM cm_t AS t;
SELECT id FROM cm_t AS t WHERE (n, p) IN (SELECT o.n, o.p FROM cm_t AS o WHERE o.id <> t.id);
SELECT id FROM cm_t AS t WHERE ROW(n, p) NOT IN (SELECT o.n, o.p FROM cm_t AS o WHERE o.id < t.id);
UPDATE cm_t SET p = ROW(id, id) WHERE id = 3 RETURNING p, (p).y;
UPDATE cm_t SET p = NULL WHERE p = ROW(3, 3)::cm_point RETURNING id;
-- error 0A000
SELECT p = '(3,3)' FROM cm_t;
-- error 42804
SELECT coalesce(p, ROW(0, 0)) FROM cm_t;
INSERT INTO cm_t SELECT 6, 'new', 0, p FROM cm_t WHERE id = 1 RETURNING cm_t;
INSERT INTO cm_t (id, p) VALUES (7, '(1,"2.5")'), (8, ROW(NULL, 1));
SELECT id, p FROM cm_t WHERE id > 5;
DELETE FROM cm_t WHERE (p).y = 1 RETURNING *;
CREATE TABLE cm_copy AS SELECT id, p, ARRAY[p] AS ps FROM cm_t;
SELECT * FROM cm_copy;
CREATE VIEW cm_v AS SELECT p, (p).x AS px FROM cm_t;
SELECT * FROM cm_v;
SELECT typname, typtype, typcategory, typlen, typalign, typinput FROM pg_type WHERE typname IN ('cm_point', '_cm_point', 'cm_t');
SELECT relname, relkind, relnatts FROM pg_class WHERE relname = 'cm_point';
SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 'cm_item'::regclass AND attnum > 0;
SELECT user_defined_type_name FROM information_schema.user_defined_types WHERE user_defined_type_name LIKE 'cm\_%';
-- error 42703
SELECT (p).z FROM cm_t;
-- error 42703
SELECT (ROW(1, 2)).f3;
-- error 42809
SELECT (id).x FROM cm_t;
-- error 42804
SELECT ROW(1, 2)::cm_point = ROW(1, 2) FROM cm_t;
-- refused 42804: rows of unlike types are refused before they are compared
SELECT a = b FROM cm_t AS a, cm_o AS b;
-- error 42846
SELECT ROW(1, 2, 3)::cm_point;
-- error 42846
SELECT ROW(1)::cm_point;
-- error 42846
SELECT ROW(1, true)::cm_point;
-- error 22P02
SELECT '(1,2'::cm_point;
-- error 22P02
SELECT '1,2'::cm_point;
-- error 22P02
SELECT '(1,2,3)'::cm_point;
-- error 22P02
SELECT '(a,2)'::cm_point;
-- error 0A000
SELECT '(1,2)'::record;
-- error 42846
SELECT 5::cm_point;
-- error 42804
INSERT INTO cm_t (id, p) VALUES (9, 5);
-- error 42601
SELECT ROW(1, 2) = ROW(1, 2, 3);
-- error 42883
SELECT p + 1 FROM cm_t;
-- error 42710
CREATE TYPE cm_point AS (a integer);
-- error 42710
CREATE TYPE cm_t AS (a integer);
-- error 42701
CREATE TYPE cm_bad AS (a integer, a text);
-- error 42704
CREATE TYPE cm_bad AS (a nothing);
-- error 2BP01
DROP TYPE cm_point;
-- error 2BP01
DROP TYPE cm_t;
ALTER TYPE cm_point RENAME TO cm_place;
SELECT p, pg_typeof(p) FROM cm_t WHERE id = 1;
DROP TYPE cm_item CASCADE;
DROP TYPE cm_place CASCADE;
SELECT * FROM cm_t WHERE id = 1;
SELECT * FROM cm_i WHERE k = 1;
-- functions of a table's rows, called and written as columns
CREATE TABLE cmp_emp (name text, pay integer);
INSERT INTO cmp_emp VALUES ('a', 10), ('b', 20), (NULL, NULL);
CREATE FUNCTION cmp_twice(cmp_emp) RETURNS integer LANGUAGE sql AS 'SELECT $1.pay * 2';
CREATE FUNCTION cmp_told(t cmp_emp) RETURNS text LANGUAGE sql AS $$SELECT coalesce(t.name, 'none') || (t).pay$$;
CREATE FUNCTION cmp_same(cmp_emp) RETURNS cmp_emp LANGUAGE sql AS 'SELECT $1';
CREATE FUNCTION cmp_count(cmp_emp) RETURNS SETOF integer LANGUAGE sql AS 'SELECT generate_series(1, $1.pay / 10)';
SELECT cmp_twice(e), e.cmp_twice, cmp_told(e.*), (e).cmp_told FROM cmp_emp AS e;
SELECT name FROM cmp_emp AS e WHERE e.cmp_twice > 20 ORDER BY e.cmp_twice;
SELECT cmp_twice(row('x', 5)), (row('x', 5)::cmp_emp).cmp_twice, cmp_twice(NULL), cmp_same(e), (cmp_same(e)).pay FROM cmp_emp AS e;
SELECT name, n FROM cmp_emp AS e, cmp_count(e) AS n;
SELECT e.cmp_count, name, (e).cmp_count + 1 FROM cmp_emp AS e;
-- error 0A000
SELECT name FROM cmp_emp AS e WHERE e.cmp_count > 1;
SELECT sum(e.cmp_twice), max(cmp_told(e)) FROM cmp_emp AS e GROUP BY name HAVING max(e.cmp_twice) > 20;
-- error 42703
SELECT e.cmp_none FROM cmp_emp AS e;
ALTER TABLE cmp_emp ADD COLUMN more integer DEFAULT 7;
ALTER TABLE cmp_emp RENAME TO cmp_staff;
CREATE FUNCTION cmp_more(cmp_staff) RETURNS integer LANGUAGE sql AS 'SELECT $1.more';
SELECT cmp_more(e), e.cmp_twice, 'cmp_twice(cmp_staff)'::regprocedure FROM cmp_staff AS e;
DROP FUNCTION cmp_told(cmp_staff);
-- error 2BP01
DROP TABLE cmp_staff;
-- rows in arrays compare as rows do
-- error 42804
SELECT ROW(1, 2) = ANY (ARRAY[ROW(1, '{}'::json)]);
-- error 42883
SELECT ROW(1, '{}'::json) = ANY (ARRAY[ROW(1, '{}'::json)]);
SELECT ROW(1, 2) = ANY (ARRAY[ROW(1, 3), ROW(1, 2)]);
-- error 42601
SELECT * FROM unnest('{}'::record[]);
CREATE TYPE cm_late AS (x integer, y text);
CREATE TABLE cm_lates (p cm_late);
-- error 42846
INSERT INTO cm_lates SELECT ROW(1, 'x') FROM generate_series(1, 2);
-- error 42846
SELECT r::cm_late FROM (SELECT ROW(1, 'x') AS r) AS s;
INSERT INTO cm_lates VALUES (ROW(1, 'x')) RETURNING p;
-- refused 0A000: a session's own schema holds relations alone
CREATE TYPE pg_temp.cm_own AS (x integer);
CREATE TABLE comp_n (w numeric(10,2), u numeric);
INSERT INTO comp_n VALUES (1.5, 3.25), (2.25, 1.5);
SELECT ARRAY[ROW(w)] || ARRAY[ROW(u)], ARRAY[ROW(w)] || ROW(u), array_append(ARRAY[ROW(w)], ROW(u)) FROM comp_n ORDER BY w;
SELECT array_remove(ARRAY[ROW(w)], ROW(u)), array_prepend(ROW(u), ARRAY[ROW(w)]) FROM comp_n ORDER BY w;
SELECT array_remove(ARRAY[ROW(w), ROW(u)], ROW(1.50)), array_replace(ARRAY[ROW(w)], ROW(u), ROW(w)) FROM comp_n ORDER BY w;
