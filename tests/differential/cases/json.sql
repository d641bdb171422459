-- json and jsonb: text kept or normalised, fields, elements, paths, NULL against null, building.
-- setup
CREATE TABLE js_t (id integer, j json, b jsonb);
INSERT INTO js_t VALUES
  (1, '{"a": 1,  "b": [1, 2, {"c": null}], "a": 2}', '{"b": [1, 2, {"c": null}], "a": 2}'), (2, '[]', '[]'), (3, 'null', 'null'),
  (4, '"text é \u00e9"', '"text"'), (5, NULL, NULL), (6, ' {"x":{"y":"z"}, "n": 1.50, "t": true} ', '{"x":{"y":"z"}, "n": 1.50, "t": true}');
-- cases
SELECT id, j FROM js_t;
SELECT id, b FROM js_t;
SELECT id, j -> 'b', j ->> 'b', j -> 'missing', j ->> 'a' FROM js_t WHERE id IN (1, 6);
SELECT id, j -> 'b' -> 0, j -> 'b' ->> 2, j #> '{b,2,c}', j #>> '{x,y}', j -> 'b' -> -1 FROM js_t WHERE id IN (1, 6);
SELECT id, j IS NULL, b ->> 'a' IS NULL FROM js_t;
SELECT (b ->> 'n')::numeric + 1, (b -> 't')::text, b -> 'x' ->> 'y' FROM js_t WHERE id = 6;
SELECT id FROM js_t WHERE j ->> 'a' = '2';
SELECT id, json_typeof(j), jsonb_typeof(b) FROM js_t;
SELECT json_array_length('[1,2,3]'), jsonb_array_length('[]');
SELECT json_build_object('a', 1, 'b', NULL, 'c', 'x'), json_build_array(1, 'two', NULL, true, 1.50), jsonb_build_object('k', 2.50);
SELECT to_json('a"b'::text), to_json(1.50), to_json(ARRAY[1, 2]), to_json(date '2024-02-29'), to_json(true), to_jsonb(timestamp '2024-02-29 10:00');
SELECT json_agg(id ORDER BY id), jsonb_agg(id ORDER BY id DESC) FROM js_t;
SELECT json_object_agg(id, id * 2 ORDER BY id) FROM js_t;
SELECT row_to_json(r) FROM (SELECT 1 AS a, 'x' AS b, NULL AS c) r;
SELECT value FROM json_array_elements('[1, {"a": 2}, null, "s"]');
SELECT value FROM json_array_elements_text('[1, "s", null]');
SELECT key, value FROM json_each('{"a": 1, "b": "x"}');
SELECT json_object_keys('{"z": 1, "a": 2}');
SELECT '{"a":1}'::jsonb @> '{}', '{"a":1}'::jsonb ? 'a', '{"a":[1,2]}'::jsonb @> '{"a":[2]}', '{"b":1,"a":2}'::jsonb = '{"a":2,"b":1}'::jsonb;
SELECT '{"a": 1, "b": 2}'::jsonb - 'a', '{"a": 1}'::jsonb || '{"b": 2}', jsonb_set('{"a": 1}', '{a}', '5'), '[1,2]'::jsonb - 0;
SELECT '1.0'::jsonb, '1.00'::jsonb = '1.0'::jsonb, '" \t"'::jsonb, '{"b":1,"aa":2,"a":3}'::jsonb;
-- error 22P02
SELECT '{a: 1}'::json;
-- error 22P02
SELECT '{"a": }'::jsonb;
-- error 22P02
SELECT ''::json;
-- error 42883
SELECT '{}'::json = '{}'::json;
-- error 42883
SELECT DISTINCT j FROM js_t;
-- error 22P02
INSERT INTO js_t VALUES (9, '[1,', NULL);
-- error 22023
SELECT json_array_length('{}');

-- jsonb sorts as documents, not as text
-- ordered
SELECT x FROM (VALUES ('null'::jsonb), ('[]'), ('{}'), ('"b"'), ('"a"'), ('1'), ('-1.5'), ('1e10'), ('100'), ('[1]'), ('[1, 2]'), ('true'), ('false'), ('{"a": 1}'), ('{"aa": 0}'), ('[null]'), (NULL)) t(x) ORDER BY x;
-- ordered
SELECT DISTINCT x FROM (VALUES ('10'::jsonb), ('9'), ('"10"'), ('9'), ('[]')) t(x) ORDER BY x DESC;
SELECT x, rank() OVER (ORDER BY x) FROM (VALUES ('10'::jsonb), ('9'), ('9.0'), ('[9]')) t(x);
SELECT '{"k": [1]}'::jsonb > '{"k": [0, 1]}'::jsonb, '1'::jsonb <= '1.0', NULL::jsonb < '1', '"b"'::jsonb >= '"a"', jsonb_cmp('1', '"1"');
SELECT '"x"'::jsonb -> 0, '1'::jsonb -> -1, '1'::jsonb -> 1, '"x"'::json -> 0;
-- error 22004
SELECT '{"a": 1}'::jsonb #- '{NULL}';
-- error 22023
SELECT 'null'::jsonb::int;
SELECT '{"a": {"b": "é"}, "a": 2}'::json #> '{a,b}';
SELECT ('{"1": {"a": [10, 20]}}'::jsonb)[1]['a'][-1], ('"s"'::jsonb)[0], ('[1]'::jsonb)['0'], ('{"a": 1}'::jsonb)[NULL];
SELECT '9223372036854775807'::jsonb::int8, '32767.4'::jsonb::int2, '1.5'::jsonb::int8, '-2.5'::jsonb::int4, '1e3'::jsonb::int4;
-- error 22003
SELECT '9223372036854775808'::jsonb::int8;
-- error 22003
SELECT '1e30'::jsonb::int8;
-- messages
-- error 22P02
SELECT '"abc'::json;
-- error 22P02
SELECT '"\v"'::json;
-- error 22P02
SELECT '"a\u00g1"'::json;
-- error 22P02
SELECT '01'::json;
-- error 22P02
SELECT '1f2'::json;
-- error 22P02
SELECT '0.x1'::json;
-- error 22P02
SELECT '1.3ex100'::json;
-- error 22P02
SELECT '[1,2,]'::json;
-- error 22P02
SELECT '[1 2]'::json;
-- error 22P02
SELECT '{"abc"}'::json;
-- error 22P02
SELECT '{1:"abc"}'::json;
-- error 22P02
SELECT '{"abc",1}'::json;
-- error 22P02
SELECT '{"abc"::1}'::json;
-- error 22P02
SELECT '{"abc":1:2}'::json;
-- error 22P02
SELECT '{"abc":1,3}'::json;
-- error 22P02
SELECT '{"abc":1'::json;
-- error 22P02
SELECT 'true false'::json;
-- error 22P02
SELECT 'true, false'::json;
-- error 22P02
SELECT 'trues'::json;
-- error 22P02
SELECT ''::json;
-- error 22P02
SELECT 'nul'::json;
-- error 22P02
SELECT '-Infinity'::json;
-- error 22P02
SELECT '"\u12'::json;
-- error 22P02
SELECT '"\'::json;
-- error 22P02
SELECT '"\ud83d"'::jsonb;
-- error 22P02
SELECT '"\ud83d\ud83d"'::jsonb;
-- error 22P02
SELECT '"\ude04"'::jsonb;
-- error 22P02
SELECT '{"a":"\ud83dx"}'::jsonb;
-- error 22P05
SELECT '["\u0000", 1 2]'::jsonb;
-- error 22P02
SELECT E'"abc\ndef"'::json;
-- error 22P02
SELECT '{"a": [1, {"b": }]}'::jsonb;
-- documents are compared with those of a subquery in jsonb's own order, not as texts
SELECT a, a < ANY (SELECT b FROM (VALUES ('1.5'::jsonb), ('"x"'), ('{}')) AS w(b)), a >= ALL (SELECT b FROM (VALUES ('[]'::jsonb), ('null'), ('"b"')) AS w(b)), a > ANY (SELECT b FROM (VALUES ('[2]'::jsonb), (NULL)) AS w(b)), a <= ALL (SELECT b FROM (VALUES ('10'::jsonb), ('9')) AS w(b) WHERE b <> a) FROM (VALUES ('[]'::jsonb), ('null'), ('"x"'), ('1.50'), ('10'), ('true'), ('[1, 2]'), ('{"a": 1}'), (NULL)) AS v(a);
SELECT a, a > ALL (SELECT b FROM (VALUES (ARRAY['10'::jsonb]), (ARRAY['9'::jsonb, 'null'])) AS w(b)), a <> ALL (SELECT b FROM (VALUES (ARRAY['1.0'::jsonb])) AS w(b)) FROM (VALUES (ARRAY['10'::jsonb, '1']), (ARRAY['1'::jsonb]), ('{}')) AS v(a);
-- the distinct documents of a group by documents, and percentiles of documents in their own order
SELECT v, count(DISTINCT v), jsonb_agg(DISTINCT v), array_agg(DISTINCT v) FROM (VALUES ('1'::jsonb), ('"x"'), ('{}'), ('"x"'), (NULL)) AS v(v) GROUP BY v;
SELECT v, count(DISTINCT v) FROM (VALUES ('1'::jsonb), ('"x"'), ('{}'), ('"x"'), (NULL)) AS v(v) GROUP BY CUBE (v) HAVING count(DISTINCT v) < 9;
SELECT percentile_disc(0) WITHIN GROUP (ORDER BY v), percentile_disc(1) WITHIN GROUP (ORDER BY v), percentile_disc(1) WITHIN GROUP (ORDER BY v DESC), percentile_disc(ARRAY[0, 0.3, 1]) WITHIN GROUP (ORDER BY v DESC) FROM (VALUES ('10'::jsonb), ('"x"'), ('null'), ('9'), ('{"a": 1}'), ('[]'), (NULL), ('true')) AS v(v);
SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY v), mode() WITHIN GROUP (ORDER BY v) FROM (VALUES ('10'::jsonb), ('9'), ('9'), ('"x"'), ('null'), ('null'), ('[1]')) AS v(v) WHERE v > '5';
CREATE TABLE json_keys (ts timestamp, tz timestamptz, d date, n numeric, f float8, b bool, i interval, v int, t time, bp char(4));
INSERT INTO json_keys VALUES ('2024-01-01', '2024-01-01 00:00+00', '2024-01-01', 1.50, 1.5, true, '1 day', 1, '10:00', 'ab'), ('infinity', '-infinity', 'infinity', -0.10, 'NaN', false, '-01:00', -2, '24:00', ''), ('0044-03-15 10:00 BC', '0044-03-15 10:00+00 BC', '0044-03-15 BC', 0, '-0', NULL, '1 mon', 3, '00:00:00.5', 'abcd');
SELECT json_object_agg(ts, v), json_object_agg_unique(ts, v), jsonb_object_agg(ts, v), json_object_agg_strict(tz, ts), jsonb_object_agg_unique_strict(tz, d) FROM json_keys;
SELECT json_object_agg(DISTINCT tz, v) FROM json_keys;
SELECT json_build_object(ts, v, tz, d, d, ts), jsonb_build_object(ts, v, tz, d, d, tz), JSON_OBJECT(ts: tz, tz: ts), json_build_object(VARIADIC ARRAY[ts, ts]), jsonb_build_object(VARIADIC ARRAY[tz, tz]) FROM json_keys;
SELECT json_build_object(n, 1, f, 2, i, 3, t, 4, v, 5, bp, 6), jsonb_build_object(n, 1, f, 2, i, 3, t, 4, v, 5, bp, 6), json_build_object(b, n), jsonb_build_object(b, n), JSON_OBJECT(b: n), JSON_OBJECT(t: f RETURNING jsonb), json_build_object(VARIADIC ARRAY[b, b]) FROM json_keys WHERE b IS NOT NULL;
SELECT json_object_agg(b, i), jsonb_object_agg(b, i), JSON_OBJECTAGG(b: v), JSON_OBJECTAGG(tz: b RETURNING jsonb) FROM json_keys WHERE b IS NOT NULL;
DROP TABLE json_keys;
