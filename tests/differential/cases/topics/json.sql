-- json and jsonb: input, operators, paths, building, aggregates, taking apart, changing, sets of rows.
-- setup
CREATE TABLE tjs (id integer, j json, b jsonb);
INSERT INTO tjs VALUES (1, '{"a": 1, "b": {"c": [10, 20, null]}, "s": "x y"}', '{"a": 1, "b": {"c": [10, 20, null]}, "s": "x y"}'), (2, '[1, "two", {"three": 3.50}, true, null]', '[1, "two", {"three": 3.50}, true, null]'), (3, '"str\u0041 \"q\" \n"', '"str\u0041 \"q\" \n"'), (4, 'null', 'null'), (5, NULL, NULL), (6, '  { "k" : 1 , "k" : 2 , "" : [ ] , "z":{} } ', '  { "k" : 1 , "k" : 2 , "" : [ ] , "z":{} } '), (7, '1.50e2', '1.50e2');
-- cases
SELECT id, j, b FROM tjs;
SELECT '""'::json, '"abc"'::jsonb, '1'::json, '-1.5e-3'::jsonb, 'true'::json, '[1,2, [3]]'::jsonb, '{"a":{"b":1},"c":[]}'::jsonb, ' null '::json, '{"b":1,"aa":2,"a":3}'::jsonb;
SELECT j -> 'a', j -> 'b' -> 'c', j -> 'b' -> 'c' -> 1, j ->> 's', j -> 'nothing', j ->> 'b' FROM tjs WHERE id = 1;
SELECT b -> 'a', b -> 'b' -> 'c' -> -1, b ->> 's', b #> '{b,c,0}', b #>> '{b,c,1}', b #> '{}', b['a'], b['b']['c'][0] FROM tjs WHERE id = 1;
SELECT j -> 0, j -> 1, j ->> 1, j -> 2 ->> 'three', j -> 4, j ->> 4, j -> 9, j -> -2 FROM tjs WHERE id = 2;
SELECT j #> '{2,three}', j #>> '{1}', j #> '{9}', j #>> '{2,three,x}' FROM tjs WHERE id = 2;
SELECT json_typeof(j), jsonb_typeof(b), jsonb_typeof(b -> 'a'), json_typeof(j -> 0) FROM tjs WHERE id NOT IN (1, 3, 4, 7) OR id = 7;
SELECT json_array_length('[1,2,[3]]'), jsonb_array_length('[]'), (SELECT count(*) FROM json_array_elements('[1,null,"x"]'));
SELECT json_array_elements('[1, "a", null, {"b": 2}]'), json_array_elements_text('[1, "a", null, {"b": 2}]');
SELECT * FROM jsonb_array_elements('[3, {"z": 1, "a": 2}, []]') AS e WHERE e <> '3';
SELECT id, e.value FROM tjs, jsonb_array_elements(CASE jsonb_typeof(b) WHEN 'array' THEN b ELSE '[]' END) WITH ORDINALITY AS e(value, n) WHERE n < 4;
SELECT * FROM json_each('{"a": 1, "b": "x", "c": null}');
SELECT * FROM jsonb_each_text('{"a": 1, "b": "x", "c": null, "d": {"e": 1}}');
SELECT json_object_keys('{"b": 1, "a": 2}'), jsonb_object_keys('{"b": 1, "a": 2}');
SELECT b @> '{"a": 1}', '{"a": 1}' <@ b, b ? 'a', b ?| ARRAY['z', 's'], b ?& ARRAY['a', 'z'], b @> '{"b": {"c": [20]}}' FROM tjs WHERE id = 1;
SELECT '[1, 2, [1, 3]]'::jsonb @> '[1, 3]', '[1, 2]'::jsonb @> '1', '{"a": 1, "b": 2}'::jsonb = '{"b": 2, "a": 1}'::jsonb, '1.0'::jsonb = '1'::jsonb, '[1]'::jsonb <> '[1, 1]'::jsonb, '"a"'::jsonb ? 'a';
SELECT '{"a": 1}'::jsonb || '{"b": 2, "a": 3}', '[1]'::jsonb || '2', '{"a": 1, "b": 2}'::jsonb - 'a', '["a", "b"]'::jsonb - 'a', '[1, 2, 3]'::jsonb - 1, '{"a": {"b": 1}}'::jsonb #- '{a,b}', '{"a": 1, "b": 2, "c": 3}'::jsonb - '{a,c}'::text[];
SELECT jsonb_set('{"a": 1, "b": {"c": 2}}', '{b,c}', '[9]'), jsonb_set('{"a": 1}', '{z}', '5'), jsonb_set('{"a": 1}', '{z}', '5', false), jsonb_set('[0, 1]', '{-1}', '"x"'), jsonb_insert('[1, 2]', '{1}', '9'), jsonb_insert('[1, 2]', '{1}', '9', true);
SELECT jsonb_strip_nulls('{"a": null, "b": [null, {"c": null}]}'), json_strip_nulls('{"a": null, "b": 1}'), jsonb_pretty('{"a": [1, {"b": null}], "c": {}}');
SELECT to_json(1.50), to_json('a"b'::text), to_json(ARRAY[1, NULL]), to_jsonb(true), to_json(date '2020-01-02'), to_json(timestamp '2020-01-02 03:04:05'), to_jsonb(1.50), to_json('{"a": 1}'::json), to_json(NULL::integer);
SELECT json_build_object('a', 1, 'b', NULL, 'c', ARRAY[1, 2], 'd', json_build_array(1, 'x')), jsonb_build_object('z', 1.0, 'y', false), json_build_array(), json_build_object(), jsonb_build_array(1, 'a', NULL, '{"k": 1}'::jsonb);
SELECT json_object('{a,1,b,"x y"}'), json_object('{a,b}', '{1,NULL}'), jsonb_object('{c,3,d,4}');
SELECT json_agg(id ORDER BY id), jsonb_agg(b ORDER BY id), json_object_agg(id, j ORDER BY id) FROM tjs WHERE id IN (1, 4, 7);
SELECT json_agg(x), jsonb_agg(x) FROM (SELECT NULL::integer AS x WHERE false) s;
SELECT jsonb_object_agg(k, v) FROM (VALUES ('a', 1), ('b', NULL), ('a', 3)) t(k, v);
SELECT array_to_json(ARRAY['a', NULL, 'b"c']), array_to_json(ARRAY[1.5, 2]), row_to_json(r) FROM (SELECT 1 AS a, 'x' AS b, NULL AS c) r;
SELECT j ->> 'a' AS a, count(*) FROM tjs WHERE id < 6 AND id NOT IN (2, 3, 4) GROUP BY 1;
SELECT (b ->> 'a')::integer + 1, (b -> 'a')::integer, (b -> 'b' -> 'c' -> 0)::numeric, (b ->> 's')::text FROM tjs WHERE id = 1;
SELECT '5'::jsonb::integer, '1.5'::jsonb::numeric, 'true'::jsonb::boolean, '"x"'::jsonb ->> 0, '[1]'::jsonb::text, '{"a":1}'::json::jsonb, '{"a":  1}'::jsonb::json;
SELECT id FROM tjs WHERE b ->> 's' LIKE 'x%' OR b -> 'k' = '2' OR jsonb_typeof(b) = 'number';
-- ordered
SELECT b FROM tjs WHERE id <> 6 ORDER BY b NULLS FIRST;
SELECT DISTINCT b FROM (VALUES ('{"a": 1, "b": 2}'::jsonb), ('{"b": 2, "a": 1}'), ('[1]')) v(b);
SELECT b, count(*) FROM (VALUES ('1'::jsonb), ('1.0'), ('2')) v(b) GROUP BY b HAVING count(*) < 2;
SELECT * FROM json_to_record('{"a": 1, "b": "x", "c": [1, 2]}') AS r(a integer, b text, c json, d date);
SELECT * FROM jsonb_to_recordset('[{"a": 1, "b": "x"}, {"a": 2}]') AS r(a integer, b text);
SELECT jsonb_path_query('{"a": [1, 2, 3]}', '$.a[*] ? (@ > 1)'), jsonb_path_exists('{"a": 1}', '$.a'), '{"a": 5}'::jsonb @? '$.a ? (@ > 3)', '{"a": 5}'::jsonb @@ '$.a > 3';
SELECT jsonb_path_query_array('{"a": [1, 2, 3]}', '$.a[1 to 2]'), jsonb_path_query_first('{"a": [1, 2]}', '$.a.size()');
SELECT json '{"a": "\u00e9\n\t"}' ->> 'a', jsonb '"\ud83d\ude00"' ->> 0, length(json '"\u0041bc"' #>> '{}');
SELECT '{"a": {"b": [{"c": 1}, {"c": 2}]}}'::jsonb #>> '{a,b,1,c}', json_extract_path('{"a": {"b": 1}}', 'a', 'b'), json_extract_path_text('{"a": ["x"]}', 'a', '0'), jsonb_extract_path('{"a": 1}', 'z');
SELECT pg_typeof(j -> 'a'), pg_typeof(j ->> 'a'), pg_typeof(b || '{}'), pg_typeof(to_jsonb(1)) FROM tjs WHERE id = 1;
-- error 22P02
SELECT '{"a":1'::json;
-- error 22P02
SELECT '{a: 1}'::jsonb;
-- error 22P02
SELECT '[1,]'::json;
-- error 22P02
SELECT '"\u00zz"'::json;
-- error 22P02
SELECT ''::json;
-- error 22P02
SELECT '{"a" 1}'::json;
-- error 42883
SELECT j = j FROM tjs;
-- error 42883
SELECT DISTINCT j FROM tjs;
-- error 42883
SELECT j FROM tjs ORDER BY j;
-- error 22023
SELECT json_array_length('{"a": 1}');
-- error 22023
SELECT json_array_elements('5');
-- error 22023
SELECT json_object_keys('[1]');
-- error 22023
SELECT json_build_object('a');
-- error 22004
SELECT json_build_object(NULL, 1);
-- error 22023
SELECT jsonb_set('1', '{a}', '2');
-- error 22023
SELECT '"x"'::jsonb::integer;
-- error 2202E
SELECT json_object('{a,b,c}');
-- error 22023
SELECT '5'::jsonb - 'a';
