-- Arrays: input, output, subscripts, slices, operators, functions, aggregates, unnest, comparison with lists.
-- setup
CREATE TABLE tar (id integer, a integer[], t text[], f double precision[], d date[], n numeric(5,2)[]);
INSERT INTO tar VALUES (1, '{1,2,3}', '{a,"b c",NULL}', '{1.5,NaN}', '{2020-01-01,2020-02-02}', '{1.5,2.25}'), (2, '{}', '{}', NULL, '{NULL}', '{}'), (3, NULL, NULL, '{}', NULL, NULL), (4, ARRAY[5, NULL, 5], ARRAY['', 'NULL', 'x"y'], ARRAY[0.1], ARRAY[date 'infinity'], ARRAY[1, 2.345]), (5, '{10,20,30,40}', '{"a,b","{c}","\\\\"}', '{1e300}', NULL, '{0}');
-- cases
SELECT * FROM tar;
SELECT id, a[1], a[2], a[0], a[10], t[3], n[1], d[1] FROM tar;
SELECT id, a[1:2], a[2:], a[:2], a[:], a[3:1], t[2:3] FROM tar;
SELECT array_length(a, 1), array_upper(a, 1), array_lower(a, 1), cardinality(a), array_ndims(a), array_dims(a), array_length(a, 2) FROM tar;
SELECT ARRAY[1, 2, 3], ARRAY['a', NULL], ARRAY[1.5, 2], ARRAY[1, 2.50, NULL], ARRAY[]::text[], ARRAY[true, false], '{t,f}'::boolean[];
SELECT ARRAY[1, 2] || ARRAY[3], ARRAY[1] || 2, 0 || ARRAY[1], ARRAY[1, 2] || NULL::integer[], ARRAY[1] || NULL::integer, ARRAY['a'] || 'b'::text, ARRAY[1, 2] || '{3,4}';
SELECT array_append(ARRAY[1], 2), array_prepend(0, ARRAY[1]), array_cat(ARRAY[1], ARRAY[2, 3]), array_append(NULL, 1), array_remove(ARRAY[1, 2, 1], 1), array_replace(ARRAY[1, 2, 1], 1, 9), array_remove(ARRAY[1, NULL], NULL);
SELECT array_position(ARRAY['sun', 'mon', 'tue'], 'mon'), array_position(ARRAY[1, 4, 2, 3, 4], 4, 3), array_positions(ARRAY[1, 4, 1], 1), array_position(ARRAY[1, NULL], NULL), array_position(ARRAY[1], 5);
SELECT ARRAY[1, 4, 3] @> ARRAY[3, 1], ARRAY[2, 7] <@ ARRAY[1, 7, 4, 2, 6], ARRAY[1, 4] && ARRAY[2, 1], ARRAY[1] && ARRAY[]::integer[], ARRAY[]::integer[] <@ ARRAY[1], ARRAY[NULL]::integer[] @> ARRAY[NULL]::integer[];
SELECT ARRAY[1, 2] = ARRAY[1, 2], ARRAY[1, 2] < ARRAY[1, 3], ARRAY[1] < ARRAY[1, 0], ARRAY[2] > ARRAY[1, 9], ARRAY[1, NULL] = ARRAY[1, NULL], ARRAY['a'] <> ARRAY['b'], ARRAY[1, 2] IS DISTINCT FROM ARRAY[1];
SELECT id FROM tar WHERE 5 = ANY (a) OR 20 = ANY (a);
SELECT id, 1 = ANY (a), 1 <> ALL (a), 3 > ALL (a), 2 < ANY (a), 'a' = ANY (t) FROM tar;
SELECT 5 = ANY ('{1,5}'), 'x' LIKE ANY (ARRAY['a%', 'x%']), 'abc' NOT LIKE ALL (ARRAY['x%', 'y%']), 5 >= ALL (ARRAY[1, NULL]), NULL = ANY (ARRAY[1]), 1 = ANY (NULL::integer[]), 1 = ALL ('{}'::integer[]);
SELECT id FROM tar WHERE a @> '{5}' OR t && ARRAY['a,b'];
SELECT id, unnest(a) FROM tar;
SELECT id, u FROM tar, unnest(a) AS u WHERE u > 2;
SELECT id, u.x, u.o FROM tar CROSS JOIN LATERAL unnest(t) WITH ORDINALITY AS u(x, o);
SELECT * FROM unnest(ARRAY[1, 2, 3], ARRAY['a', 'b']) AS x(n, c);
SELECT * FROM unnest(ARRAY[1, 2], ARRAY['a', 'b', 'c'], ARRAY[1.5]) WITH ORDINALITY;
SELECT unnest(ARRAY[1, 2, 3]), unnest(ARRAY['x', 'y']);
SELECT array_agg(id ORDER BY id DESC), array_agg(a[1] ORDER BY id), array_agg(DISTINCT cardinality(a)) FROM tar;
SELECT array_agg(x) FROM (SELECT unnest(a) AS x FROM tar ORDER BY 1 DESC) s WHERE x IS NOT NULL AND x > 20;
SELECT ARRAY(SELECT id FROM tar WHERE id < 4 ORDER BY id DESC), ARRAY(SELECT unnest(a) FROM tar WHERE id = 1), ARRAY(SELECT 1 WHERE false);
SELECT array_to_string(a, ','), array_to_string(t, '|', '?'), array_to_string(ARRAY[1.50, 2], ';') FROM tar;
SELECT string_to_array('a,b,,c', ','), string_to_array('a,b', ',', 'b'), string_to_array('', ','), string_to_array('abc', ''), string_to_array(NULL, ',');
SELECT '{1, 2 ,3}'::integer[], '{"a b", c d ,"e\"f"}'::text[], '{NULL,"NULL",null}'::text[], '{2020-01-01, infinity}'::date[], '{}'::integer[], ' { 1 } '::integer[];
SELECT ARRAY['a b', 'c,d', '{', '"', '\', '', 'NULL', NULL, 'é'], ARRAY[E'tab\t', ' x '];
SELECT a::text, t::text, a::bigint[], a::text[], n::integer[], '{1,2}'::text::integer[], ARRAY['1', '2']::integer[] FROM tar WHERE id IN (1, 4);
SELECT generate_subscripts(a, 1), id FROM tar;
SELECT array_fill(7, ARRAY[3]), array_fill('x'::text, '{2}'), trim_array(ARRAY[1, 2, 3, 4], 2), array_length(array_shuffle(ARRAY[1, 2, 3]), 1), cardinality(array_sample(ARRAY[1, 2, 3], 2));
SELECT max(a), min(a), count(DISTINCT a) FROM tar;
-- ordered
SELECT id, a FROM tar ORDER BY a DESC NULLS LAST;
SELECT a, count(*) FROM (VALUES (ARRAY[1, 2]), ('{1,2}'), ('{2}')) v(a) GROUP BY a;
SELECT coalesce(a, '{0}'), CASE WHEN a IS NULL THEN '{}' ELSE a END, nullif(a, '{}') FROM tar;
SELECT (ARRAY[10, 20, 30])[2], (string_to_array('x,y', ','))[1], ('{a,b}'::text[])[2], (ARRAY[1, 2, 3])[2:3], (SELECT a FROM tar WHERE id = 1)[3];
SELECT ARRAY[1, 2]::integer[] = '{1,2}', 2 IN (SELECT unnest(ARRAY[1, 2])), pg_typeof(ARRAY[1, 2.5]), pg_typeof(ARRAY['a']), pg_typeof('{1}'::smallint[]);
SELECT ARRAY[[1, 2], [3, 4]], (ARRAY[[1, 2], [3, 4]])[2][1], array_dims(ARRAY[[1, 2, 3]]);
SELECT cardinality(ARRAY[1] || ARRAY[2, 3]), 3 = ANY (ARRAY[1] || 3), ARRAY[1, 2] || ARRAY[]::integer[];
SELECT id FROM tar WHERE a IS NULL OR a = '{}' OR t[1] IS NULL;
UPDATE tar SET a[2] = 99 WHERE id = 1 RETURNING a;
UPDATE tar SET a = array_append(a, 7) WHERE id IN (2, 3) RETURNING id, a;
-- error 22P02
SELECT '{1,2'::integer[];
-- error 22P02
SELECT '{1,x}'::integer[];
-- error 22P02
SELECT '1,2'::integer[];
-- error 22P02
SELECT '{1,,2}'::integer[];
-- error 22P02
SELECT '{"a}'::text[];
-- error 22P02
SELECT ARRAY[1, 'x'];
-- error 42804
SELECT ARRAY[1, true];
-- error 42P18
SELECT ARRAY[];
-- error 42883
SELECT ARRAY[1] || 'x'::text;
-- error 42883
SELECT ARRAY[1] = ARRAY['a'];
-- error 42601
SELECT 5[1];
-- error 22P02
SELECT a['x'] FROM tar;
-- error 42809
SELECT 1 = ANY (5);
-- error 42883
SELECT unnest(5);
-- error 2202E
SELECT trim_array(ARRAY[1], 5);
-- error 42883
SELECT array_append(ARRAY[1], 'x'::text);
-- error 42601
SELECT ARRAY(SELECT 1, 2);
SELECT ARRAY[1, 2]::numeric[], ARRAY[[1.5], [2]]::numeric[], ARRAY[[1], [NULL]]::numeric[], ARRAY[[1], [2]]::text[], ARRAY[ARRAY[1, 2]::numeric[], ARRAY[3, 4]::numeric[]];
SELECT array_dims(ARRAY[[1], [2]]::text[]), (ARRAY[[1], [2]]::text[])[2][1], (ARRAY[[1], [2]])::text[], ARRAY[[1], [2]]::varchar[] = '{{1},{2}}'::varchar[];
