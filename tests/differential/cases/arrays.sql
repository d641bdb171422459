-- Arrays: literals, elements out of range, slices, NULL elements, comparison, ANY and ALL, unnest, functions.
-- setup
CREATE TABLE ar_t (id integer, a integer[], t text[], n numeric(6,2)[], d date[]);
INSERT INTO ar_t VALUES
  (1, '{1,2,3}', '{a,b}', '{1.50,2}', '{2024-02-29}'), (2, '{}', '{}', NULL, NULL), (3, NULL, '{NULL,"x y","q\"uote","",null}', '{NULL}', '{infinity}'),
  (4, ARRAY[3, NULL, 1], ARRAY['é', '日本', 'a,b', '{c}'], ARRAY[0.005], ARRAY[]::date[]), (5, '{1,2,3}', '{NULL}', '{}', '{}');
-- cases
SELECT id, a, t, n, d FROM ar_t;
SELECT id, a[1], a[3], a[0], a[99], t[2] FROM ar_t;
SELECT id, a[1:2], a[2:], a[:1], a[5:9] FROM ar_t;
SELECT id, array_length(a, 1), cardinality(a), array_upper(a, 1), array_lower(a, 1), array_ndims(a), array_length(a, 2) FROM ar_t;
SELECT id, a || 4, 0 || a, a || ARRAY[9, 8], a || NULL::integer FROM ar_t;
SELECT id FROM ar_t WHERE 2 = ANY (a);
SELECT id FROM ar_t WHERE 0 < ALL (a);
SELECT id, 3 = ANY (a), 5 <> ALL (a) FROM ar_t;
SELECT id FROM ar_t WHERE a = ARRAY[1, 2, 3];
SELECT id, a < ARRAY[2], a @> ARRAY[1], a && ARRAY[3, 7], ARRAY[1] <@ a FROM ar_t;
SELECT ARRAY[1, 2] = ARRAY[1, 2], ARRAY[1, NULL] = ARRAY[1, NULL], ARRAY[1, 2] < ARRAY[1, 3], ARRAY[1] < ARRAY[1, 0], '{}'::integer[] < ARRAY[0];
SELECT array_append(ARRAY[1], 2), array_prepend(0, ARRAY[1]), array_cat(ARRAY[1], ARRAY[2, 3]), array_remove(ARRAY[1, 2, 1], 1), array_replace(ARRAY[1, 2], 1, 9), array_position(ARRAY['a', 'b'], 'b'), array_positions(ARRAY[1, 2, 1], 1);
SELECT unnest(ARRAY[3, NULL, 1]);
SELECT id, u FROM ar_t, unnest(a) AS u;
SELECT id, u, o FROM ar_t, unnest(t) WITH ORDINALITY AS x(u, o);
SELECT * FROM unnest(ARRAY[1, 2, 3], ARRAY['a', 'b']) AS x(n, c);
SELECT * FROM unnest(ARRAY[1, 2, 3], ARRAY['a', 'b'], '{}'::date[]);
SELECT * FROM unnest(ARRAY[1], ARRAY['a', 'b']) WITH ORDINALITY AS x(n, c, o);
SELECT id, x.* FROM ar_t, unnest(a, t) AS x;
SELECT id, x.* FROM ar_t LEFT JOIN LATERAL unnest(a, t) WITH ORDINALITY AS x(i, v, o) ON true;
SELECT * FROM ROWS FROM (generate_series(1, 3), unnest(ARRAY['a', 'b'])) AS r(n, c);
SELECT * FROM ROWS FROM (generate_series(1, 2), abs(-5), json_each('{"a":1,"b":2,"c":3}')) WITH ORDINALITY;
SELECT * FROM ROWS FROM (unnest(ARRAY[1, 2])) AS r;
INSERT INTO ar_t (id, a) SELECT n, ARRAY[n] FROM unnest(ARRAY[101, 102], ARRAY['x', 'y']) AS x(n, c) RETURNING id, a;
DELETE FROM ar_t WHERE id > 100;
SELECT array_agg(id ORDER BY id DESC), array_agg(t[1] ORDER BY id) FROM ar_t;
SELECT ARRAY[1, 2.5], ARRAY[1, NULL], ARRAY['a', 'b'::varchar], ARRAY[]::text[], ARRAY[true, false], ARRAY[1::smallint, 2::bigint];
SELECT ARRAY[[1, 2], [3, 4]], (ARRAY[[1, 2], [3, 4]])[2][1], array_length(ARRAY[[1, 2, 3]], 2), array_dims(ARRAY[[1, 2], [3, 4]]);
SELECT '{1, 2 ,3}'::integer[], '{"a b",c}'::text[], '{1.5,NaN}'::float8[], '{t,f,NULL}'::boolean[], '{2024-02-29 10:00:00}'::timestamp[];
SELECT ARRAY[1, 2]::text[], ARRAY['1', '2']::integer[], ARRAY[1.5, 2.5]::integer[], array_to_string(ARRAY[1, NULL, 3], ','), array_fill(7, ARRAY[3]);
SELECT a, count(*) FROM ar_t GROUP BY a;
-- ordered
SELECT id FROM ar_t ORDER BY a NULLS FIRST, id;
SELECT id FROM ar_t WHERE id = ANY ('{1,3}'::integer[]);
SELECT id FROM ar_t WHERE 'a' = ANY (t) OR t[1] IS NULL;
SELECT 1 = ANY ('{}'::integer[]), 1 = ALL ('{}'::integer[]), 1 = ANY (NULL::integer[]), NULL = ANY (ARRAY[1]), 1 = ANY (ARRAY[NULL, 1]), 1 = ANY (ARRAY[2, NULL]);
SELECT max(a), min(t) FROM ar_t;
SELECT generate_series(1, 3), generate_subscripts(ARRAY['x', 'y'], 1);
SELECT x FROM generate_series(5, 1, -2) AS x;
SELECT x FROM generate_series(1, 0) AS x;
SELECT x FROM generate_series(0.5, 2, 0.5) AS x;
SELECT sum(x), count(*) FROM generate_series(1, 1000) AS g(x) WHERE x % 7 = 0;
SELECT ARRAY(SELECT x * x FROM generate_series(1, 4) x);
SELECT trim_array(ARRAY[1, 2, 3], 1), string_to_array('1|2', '|')::integer[];
UPDATE ar_t SET a = a || 100 WHERE id = 2;
SELECT a FROM ar_t WHERE id = 2;
-- error 22P02
SELECT '{1,x}'::integer[];
-- error 22P02
SELECT '1,2'::integer[];
-- error 42804
SELECT (5)[1];
-- error 42883
SELECT ARRAY[1] = ARRAY['a'::text];
-- error 42804
SELECT ARRAY[1, true];
-- error 42P18
SELECT ARRAY[];
-- error 2202E
SELECT ARRAY[[1, 2], [3]];
-- error 42809
SELECT 1 = ANY (5);
-- error 22023
SELECT x FROM generate_series(1, 5, 0) AS x;

-- Arrays of several dimensions
-- setup
CREATE TABLE ar_m (id integer, m integer[][], t text[][], n numeric[][]);
INSERT INTO ar_m VALUES (1, '{{1,2,3},{4,5,6}}', '{{a,"b c"},{NULL,"{x}"}}', '{{1.5,2.50}}'), (2, ARRAY[[7], [8]], ARRAY[['x', 'y']], ARRAY[[1, 2], [3.25, NULL]]), (3, '{}', NULL, '{}'), (4, NULL, '{}', NULL);
-- cases
SELECT * FROM ar_m;
SELECT id, m[1][2], m[2][1], m[1], m[3][1], m[0][1], m[1][1][1], t[2][2], t[1][2], n[1][2] FROM ar_m;
SELECT id, m[1:1], m[2:], t[:1], m[5:6] FROM ar_m;
SELECT id, array_ndims(m), array_dims(m), array_length(m, 1), array_length(m, 2), array_length(m, 3), array_upper(t, 2), array_lower(m, 2), cardinality(m), cardinality(t) FROM ar_m;
SELECT id, unnest(m) FROM ar_m;
SELECT id, u, o FROM ar_m, unnest(t) WITH ORDINALITY AS x(u, o);
SELECT id, 5 = ANY (m), 3 < ALL (m), 'x' = ANY (t), m @> ARRAY[2], m && ARRAY[[8, 9]], ARRAY[4] <@ m FROM ar_m;
SELECT id, m || ARRAY[9, 9, 9], ARRAY[0, 0, 0] || m FROM ar_m WHERE id = 1;
SELECT id, m || m, array_cat(t, t) FROM ar_m WHERE id < 3;
SELECT id, array_to_string(m, ','), array_to_string(t, '|', '*'), array_replace(m, 5, 50), array_replace(t, NULL, 'n') FROM ar_m;
SELECT id, m = '{{1,2,3},{4,5,6}}', m <> '{{7},{8}}', m < '{{1,2,4}}', m IS DISTINCT FROM '{}' FROM ar_m;
SELECT ARRAY[[1, 2], [3, 4]] = ARRAY[[1, 2], [3, 4]], ARRAY[[1, 2]] = ARRAY[[1], [2]], ARRAY[1, 2] = ARRAY[[1, 2]], ARRAY[[1, 2]] < ARRAY[[1], [2]], ARRAY[[1, 2], [3, 4]] > ARRAY[[1, 2, 3]];
SELECT '{{{1,2},{3,4}},{{5,6},{7,8}}}'::int[], ('{{{1,2},{3,4}},{{5,6},{7,8}}}'::int[])[2][1][2], array_dims('{{{1,2},{3,4}},{{5,6},{7,8}}}'::int[]), ARRAY[ARRAY[1, 2], ARRAY[3, NULL]];
SELECT ARRAY[['1', '2'], ['3', '4']]::integer[], ARRAY[[1, 2.5], [3, 4]], '{{1,2},{3,4}}'::text[]::integer[], ARRAY[[1.5, 2.5]]::integer[], m::text, m::bigint[], t::varchar(1)[] FROM ar_m WHERE id = 1;
SELECT array_agg(ARRAY[id, id * 2] ORDER BY id), array_agg(t[1:1] ORDER BY id) FILTER (WHERE id < 3) FROM ar_m;
SELECT array_fill(7, ARRAY[2, 3]), array_fill('x'::text, ARRAY[2, 0]), array_fill(0, ARRAY[1, 1, 2]);
SELECT generate_subscripts(m, 1) FROM ar_m WHERE id = 1;
SELECT generate_subscripts(m, 2, true) FROM ar_m WHERE id = 1;
SELECT to_json(m), to_jsonb(t), array_to_json(n), json_agg(m ORDER BY id) FROM ar_m GROUP BY id, m, t, n;
SELECT trim_array(m, 1), coalesce(m, '{}'), CASE WHEN id = 1 THEN m ELSE '{{0}}' END FROM ar_m WHERE id < 3;
SELECT DISTINCT m FROM ar_m;
SELECT m, count(*) FROM ar_m GROUP BY m;
-- ordered
SELECT id, m FROM ar_m ORDER BY m, id;
SELECT m FROM ar_m UNION SELECT '{{7},{8}}';
SELECT pg_typeof(m), pg_typeof(ARRAY[[1]]), pg_typeof(m[1][1]) FROM ar_m LIMIT 1;
UPDATE ar_m SET m = ARRAY[[id, id]] WHERE id = 2 RETURNING m, m[1][2];
INSERT INTO ar_m (id, m) SELECT id + 10, m || m FROM ar_m WHERE id = 2 RETURNING id, m;
SELECT attname, attndims, format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 'ar_m'::regclass AND attnum > 0;
-- error 22P02
SELECT '{{1,2},{3}}'::int[];
-- error 22P02
SELECT '{{1,2},3}'::int[];
-- error 2202E
SELECT ARRAY[[1, 2], [3]];
-- error 2202E
SELECT ARRAY[[1, 2]] || ARRAY[[1]];
-- error 2202E
SELECT ARRAY[[[1]]] || ARRAY[1];
-- error 22000
SELECT array_append(ARRAY[[1]], 2);
-- error 0A000
SELECT array_position(ARRAY[[1]], 1);
-- error 0A000
SELECT array_remove(ARRAY[[1]], 1);
-- error 2202E
SELECT array_agg(a) FROM (VALUES (ARRAY[1]), (ARRAY[1, 2])) AS v(a);
-- error 22004
SELECT array_agg(a) FROM (VALUES (ARRAY[1]), (NULL)) AS v(a);
SELECT m[1:2][2:3] FROM ar_m;
-- Arrays of arrays that only a row shows the shape of.
SELECT id, ARRAY[a, a], ARRAY[t, t], ARRAY[n, n], ARRAY[d, d] FROM ar_t;
SELECT ARRAY[a, '{10,20,30}'], ARRAY[a, ARRAY[7, 8, 9]] FROM ar_t WHERE id IN (1, 5);
-- error 2202E
SELECT ARRAY[a, a || 1] FROM ar_t WHERE id = 1;
-- error 2202E
SELECT ARRAY[a, NULL] FROM ar_t WHERE id = 1;
SELECT id, ARRAY[ARRAY[a], ARRAY[a]] FROM ar_t;
SELECT array_length(ARRAY[a, a], 2), array_dims(ARRAY[a, a]), (ARRAY[a, a])[2][1], cardinality(ARRAY[a, a]), array_ndims(ARRAY[a, a]) FROM ar_t;
SELECT ARRAY[(SELECT a FROM ar_t WHERE id = 1), (SELECT a FROM ar_t WHERE id = 5)], ARRAY[string_to_array('a,b', ','), string_to_array('c,d', ',')];
-- error 2202E
SELECT ARRAY[string_to_array('a,b', ','), string_to_array('c', ',')];
SELECT ARRAY[array_agg(id ORDER BY id), array_agg(-id ORDER BY id)] FROM ar_t;
SELECT ARRAY(SELECT a FROM ar_t WHERE id IN (1, 5)), ARRAY(SELECT a FROM ar_t WHERE id = 99), ARRAY(SELECT ARRAY[[id]] FROM ar_t ORDER BY id);
-- error 22004
SELECT ARRAY(SELECT a FROM ar_t WHERE id IN (1, 3));
-- error 2202E
SELECT ARRAY(SELECT a FROM ar_t WHERE id IN (1, 2));
SELECT unnest(ARRAY[a, a]) FROM ar_t WHERE id = 1;
SELECT array_agg(a ORDER BY id) FROM ar_t WHERE id IN (1, 4);
SELECT ARRAY[[1, 2], [3, 4]] || a[1:2] FROM ar_t WHERE id IN (1, 4);
SELECT ARRAY[ROW(1, a), ROW(2, a)] FROM ar_t WHERE id = 1;
SELECT to_json(ARRAY[a, a]), array_to_string(ARRAY[t, t], '/', '-') FROM ar_t WHERE id = 1;
SELECT ARRAY[[1], [2]]::text[], ARRAY[[1, 2], [3, 4]]::text[]::int[], ARRAY[[1, 2], [3, 4]]::text, '{{1,2},{3,4}}'::int[]::text[], ARRAY[[1.5], [2.5]]::int[], ARRAY[['1'], ['2']]::numeric(5,2)[];
SELECT '{{1,2},{3,4}}'::text::int[], ARRAY[a, a]::text[], ARRAY[a, a]::numeric(5,1)[], ARRAY[a, a]::text FROM ar_t WHERE id = 1;
SELECT (ARRAY[[1, 2, 3], [4, 5, 6]])[1:2][2:3], (ARRAY[[1, 2, 3], [4, 5, 6]])[1:1], (ARRAY[[1, 2, 3], [4, 5, 6]])[2][1:2], (ARRAY[[1, 2, 3], [4, 5, 6]])[2:][:2], (ARRAY[[1, 2, 3], [4, 5, 6]])[:][3:];
SELECT (ARRAY[[1, 2, 3], [4, 5, 6]])[1:2][5:6], (ARRAY[[1, 2, 3], [4, 5, 6]])[2:1][1:1], (ARRAY[[1, 2, 3], [4, 5, 6]])[1:NULL][1:1], (ARRAY[1, 2])[1:2][1:1], (ARRAY[1, 2])[1][1], (ARRAY[[[1, 2]], [[3, 4]]])[2:2][1:1][2:2];
SELECT id, (ARRAY[a, a])[1:2][2:id] FROM ar_t;
-- refused 0A000: a column holds arrays of the dimensions that it is declared with
INSERT INTO ar_m (id, m) VALUES (20, '{1,2}');
-- refused 0A000: a column holds arrays of the dimensions that it is declared with
INSERT INTO ar_t (id, a) VALUES (20, '{{1,2}}');
-- refused 0A000: lower bounds other than 1
SELECT '[2:3]={1,2}'::int[];
SELECT ('añ'::name)[0], ('añ'::name)[1], ('añ'::name)[3], ('añ'::name)[64], ('añ'::name)[-1], pg_typeof(('a'::name)[0]);
-- error 0A000
SELECT ('abc'::name)[0:1];
-- error 22P02
SELECT m[1]['x'][1] FROM ar_m;
-- error 22003
SELECT m[9223372036854775807][1][1] FROM ar_m;
-- error 42704
SELECT '{1}'::_int4[];
SELECT (NULL::int[])[:][2:], ('{1}'::int[])[:][2:], (NULL::int[])[1][1];
-- what a subscript may be, and what an array's type may be restricted to
-- error 22003
SELECT a[9999999999999999999999] FROM ar_t;
-- error 22003
SELECT a[9999999999] FROM ar_t;
-- error 22003
UPDATE ar_t SET a[9999999999999999999999] = 1;
SELECT '{abcd}'::varchar(3)[], '{1}'::bit(3)[], '{abc}'::char(2)[], '{10101}'::varbit(3)[], '{1.234}'::_numeric(4,2), '{abcd}'::_varchar(3);
-- error 42601
SELECT NULL::_int4(1);
-- error 54000
SELECT ('{}'::integer[])[1][2][3][4][5][6][7];
-- error 42809
SELECT 33 * ANY ('{1,2,3}');
-- refused 0A000: a column holds arrays of as many dimensions
SELECT ARRAY[NULL] UNION SELECT '{{7},{8}}';
-- refused 0A000: a column holds arrays of as many dimensions
SELECT coalesce(ARRAY['x'], '{{7}}');
-- branches whose numbers have other digits, or are integers, are arrays of one type
SELECT id, CASE WHEN id = 1 THEN ARRAY[1.5] ELSE ARRAY[1.234] END FROM ar_t WHERE id < 6;
SELECT id, CASE WHEN id = 1 THEN ARRAY[1.5] ELSE ARRAY[1] END, CASE WHEN n IS NULL THEN ARRAY[0] ELSE n END FROM ar_t WHERE id < 6;
SELECT CASE WHEN false THEN ARRAY[ARRAY[1.5]] ELSE ARRAY[ARRAY[1.234]] END;
SELECT * FROM (VALUES (ARRAY[1.5]), (ARRAY[1.234]), (ARRAY[2])) v;
SELECT ARRAY[1.5] UNION SELECT ARRAY[1.234] UNION SELECT ARRAY[1.50];
SELECT coalesce(n, ARRAY[1.2345]) FROM ar_t WHERE id < 6;
-- error 22P02
SELECT '[ 1 : 2 ]={1,2}'::int[];
-- a slice that ends before the first element is empty, wherever it begins
SELECT id, a[-2:-1], a[:-1], a[0:0], a[-1:1], a[-id:-1] FROM ar_t WHERE id < 6;
SELECT x[1:2][-3:-1], x[-2:-1][1:2], x[-1:1][0:1] FROM (VALUES ('{{1,2},{3,4}}'::int[])) AS v(x);
