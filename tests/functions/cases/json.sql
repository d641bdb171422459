select x -> 'a', x ->> 'a', x -> 'b', x ->> 'b', x -> 'z', x #> '{b,1}', x #>> '{b,0}', x #> '{}' from (values ('{"a": 1.50, "b": [1, {"c": "x"}]}'::json), ('{"a": null, "b": []}'), ('{"a":"t\u00e9\n"}'), ('{}'), ('[1]'), ('5'), (null)) v(x)
select x -> 'a', x ->> 'a', x -> 'b', x ->> 'b', x -> 'z', x #> '{b,1}', x #>> '{b,0}', x #> '{}' from (values ('{"a": 1.50, "b": [1, {"c": "x"}]}'::jsonb), ('{"a": null, "b": []}'), ('{"a":"t\u00e9\n"}'), ('{}'), ('[1]'), ('5'), (null)) v(x)
select x -> 0, x -> -1, x -> 5, x ->> 1 from (values ('[1, "b", {"c": 1}]'::json), ('{}'), ('[]')) v(x)
select x -> 0, x -> -1, x -> 5, x ->> 1 from (values ('[1, "b", {"c": 1}]'::jsonb), ('{}'), ('[]')) v(x)
select json_typeof(x), jsonb_typeof(x::jsonb) from (values ('1'::json), ('"a"'), ('null'), ('true'), ('[]'), (' {}'), (null)) v(x)
json_array_length('[1,2,[3]]'), jsonb_array_length('[]'), json_extract_path('{"a":{"b":[1,2]}}', 'a', 'b'), jsonb_extract_path_text('{"a":{"b":"x"}}', 'a', 'b')
json_array_length('{}')
json_array_length('1')
select * from json_array_elements('[1, "a", {"b": null}, null]')
select * from jsonb_array_elements_text('[1, "a", {"b": null}, null]')
select * from json_object_keys('{"b":1,"a":2}')
select * from jsonb_object_keys('{"bb":1,"a":2}')
select * from json_each('{"a":"x","b":[1, 2]}')
select * from jsonb_each_text('{"a":"x","b":[1,2],"c":null}')
select * from jsonb_array_elements('{}')
'{"a":1,"b":2}'::jsonb ? 'a', '{"a":1}'::jsonb ? 'z', '["a","b"]'::jsonb ? 'b', '"a"'::jsonb ? 'a', '{"a":1}'::jsonb ?| array['z','a'], '{"a":1}'::jsonb ?& array['z','a']
'{"a":1,"b":{"c":2}}'::jsonb @> '{"b":{"c":2}}', '[1,2,3]'::jsonb @> '[3,1]', '{"a":1}'::jsonb @> '{"a":2}', '[1,[2,3]]'::jsonb @> '[[2]]', '["a"]'::jsonb @> '"a"', '{"a":[1,2]}'::jsonb <@ '{"a":[1,2,3],"b":1}', '1'::jsonb @> '1.0'
'{"a":1}'::jsonb || '{"b":2,"a":3}', '[1]'::jsonb || '2', '[1]'::jsonb || '[2,3]', '1'::jsonb || '2', '{"a":1}'::jsonb || '[1]'
'{"a":1,"b":2}'::jsonb - 'a', '["a","b"]'::jsonb - 'a', '[1,2,3]'::jsonb - 1, '[1,2,3]'::jsonb - -1, '{"a":1,"b":2,"c":3}'::jsonb - array['a','c'], '{"a":{"b":[1,2]}}'::jsonb #- '{a,b,0}'
jsonb_set('{"a":1,"b":[1,2]}', '{b,1}', '9'), jsonb_set('{"a":1}', '{z}', '5'), jsonb_set('{"a":1}', '{z}', '5', false), jsonb_insert('{"a":[0,1,2]}', '{a,1}', '"x"'), jsonb_insert('{"a":[0,1,2]}', '{a,1}', '"x"', true), jsonb_strip_nulls('{"a":null,"b":[null,{"c":null}]}'), json_strip_nulls('{"a":null,"b":1}')
jsonb_pretty('{"a":[1,{"b":null}],"c":{}}'), jsonb_pretty('[]')
'{"a":1}'::jsonb = '{"a": 1.0}'::jsonb, '{"a":1,"b":2}'::jsonb = '{"b":2,"a":1}'::jsonb, '1'::jsonb <> '2'::jsonb, '[1]'::jsonb = '[1.00]'::jsonb
json_build_object('a', 1, 'b', 'x', 'c', null, 'd', true, 'e', 1.50, 'f', array[1,2], 'g', '2020-01-01'::date), json_build_array(1, 'a', null, 2.5::float8, '{"x": 1}'::json), json_build_object(), json_build_array()
jsonb_build_object('bb', 1, 'a', 'x"y', 'c', array['p','q']), jsonb_build_array(1, 'a', null, 1.50), jsonb_build_object(1, 2)
json_build_object(null, 1)
json_build_object('a')
to_json(1), to_json('a"b'::text), to_json(1.50), to_json(true), to_json(null::int4), to_json(array[1,2,null]), to_json(array['a','b"']), to_json('2020-01-01 10:00'::timestamp), to_json('2020-01-01 10:00+00'::timestamptz), to_json('NaN'::float8), to_json(1e20::float8), to_jsonb('x'::text), to_jsonb(1.50), to_jsonb('{"b":1,"a":2}'::json), to_json('\xab'::bytea), to_json('1 day'::interval), to_json(E'a\nb\\'::text), array_to_json(array[1,2])
select json_agg(x order by x), json_agg(x order by x desc), jsonb_agg(x order by x), json_agg(x::text order by x) from (values (1), (3), (null)) v(x)
select json_agg(x), jsonb_agg(x) from (values (1)) v(x) where false
select json_object_agg(k, v), jsonb_object_agg(k, v) from (values ('b', 1), ('a', null)) v(k, v)
json_object('{a,1,b,2}'), json_object('{a,b}', '{1,NULL}'), jsonb_object('{bb,1,a,2}')
json_object('{a}')
