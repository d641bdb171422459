-- SQL/JSON constructors and IS JSON, rows as JSON, records out of JSON, arguments by name.
-- setup
CREATE TABLE sj_t (id integer, name text, tags text[], made date);
INSERT INTO sj_t VALUES (1, 'one', '{a,b}', '2024-02-29'), (2, NULL, NULL, NULL), (3, 'th"ree', '{}', '1999-12-31');
-- cases
SELECT json_object('id': id, 'name': name), json_object('id' VALUE id, 'name' VALUE name ABSENT ON NULL) FROM sj_t ORDER BY id;
SELECT json_object('id': id RETURNING jsonb), json_object('a': 1, 'b': 2 WITH UNIQUE KEYS), json_object(), json_object('a': '[1, 2]' FORMAT JSON) FROM sj_t WHERE id = 1;
SELECT json_array(id, name, tags), json_array(id, name NULL ON NULL), json_array(id, name RETURNING jsonb) FROM sj_t ORDER BY id;
SELECT json_array(SELECT id FROM sj_t ORDER BY id DESC), json_array(SELECT name FROM sj_t WHERE id = 2), json_array(SELECT id FROM sj_t WHERE id > 9);
SELECT json_arrayagg(name ORDER BY id), json_arrayagg(name ORDER BY id NULL ON NULL), json_arrayagg(id ORDER BY id RETURNING jsonb) FILTER (WHERE id > 1) FROM sj_t;
SELECT json_objectagg(id: name), json_objectagg(id: name ABSENT ON NULL RETURNING jsonb), json_objectagg(id: name WITH UNIQUE) FROM sj_t WHERE id < 3;
SELECT json_object('a': 1 RETURNING text), json_array(1, 2 RETURNING varchar(20));
-- error 22030
SELECT json_object('a': 1, 'a': 2 WITH UNIQUE KEYS);
-- error 22030
SELECT json_objectagg(k: v WITH UNIQUE KEYS) FROM (VALUES ('a', 1), ('a', 2)) AS t(k, v);
-- error 22004
SELECT json_object(NULL: 1);
SELECT s, s IS JSON, s IS JSON OBJECT, s IS JSON ARRAY, s IS JSON SCALAR, s IS NOT JSON VALUE, s IS JSON OBJECT WITH UNIQUE KEYS FROM (VALUES ('{"a": 1}'), ('[]'), ('1'), ('{a}'), (''), (NULL), ('{"a": 1, "a": 2}'), ('[{"a": 1, "a": 2}]')) AS v(s);
SELECT '{"a": 1}'::jsonb IS JSON OBJECT, '[1]'::json IS JSON SCALAR;
-- error 42804
SELECT 1 IS JSON;
SELECT row_to_json(t) FROM sj_t t ORDER BY id;
SELECT row_to_json(t, true), to_jsonb(t), row_to_json(ROW(t.id, 'x')) FROM sj_t t ORDER BY id;
SELECT json_agg(t ORDER BY id), jsonb_agg(t ORDER BY id DESC), json_agg(tags ORDER BY id) FROM sj_t t;
SELECT id, json_build_object('row', t, 'n', json_build_array(t, NULL)) FROM sj_t t ORDER BY id;
SELECT (SELECT json_agg(x) FROM (SELECT id, name FROM sj_t WHERE id = 1) x), (SELECT json_agg(x) FROM sj_t x WHERE id > 5);
SELECT * FROM json_to_record('{"a": 1, "b": "x", "c": [1, 2], "e": {"k": 1}}') AS x(a int, b text, c int[], d text, e json);
SELECT t.n, x.* FROM (VALUES (1, '[{"a": 5, "b": [true]}, {"a": null}]'::jsonb), (2, '[]')) AS t(n, j), jsonb_to_recordset(t.j) AS x(a numeric(4,1), b boolean[]);
SELECT make_interval(days => 10), make_interval(1, weeks => 2, secs => 1.5), jsonb_set('{"a": 1}', '{b}', '2', create_if_missing => false), jsonb_insert('[1, 2]', '{0}', '9', insert_after => true);
-- error 42883
SELECT make_interval(foo => 1);
-- error 42601
SELECT make_interval(days => 1, days => 2);
-- error 42601
SELECT make_interval(days => 1, 2);
SELECT jsonb_set_lax('{"a": 1, "b": 2}', '{a}', NULL, true, 'delete_key'), jsonb_set_lax('{"a": 1}', '{b}', NULL), jsonb_set_lax('{"a": 1}', '{a}', NULL, false, 'return_target');
-- error 22004
SELECT jsonb_set_lax('{"a": 1}', '{a}', NULL, true, 'raise_exception');
SELECT array_to_json(tags, true), array_to_json(ARRAY[1, 2], false) FROM sj_t ORDER BY id;
