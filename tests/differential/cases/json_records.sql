-- Rows of JSON: json_populate_record, json_to_record, their sets and their jsonb forms.
-- setup
CREATE TYPE jr_in AS (x int, y text);
CREATE TYPE jr_one AS (v numeric);
CREATE TABLE jr_t (a int, b text, c numeric(6,2), d date, e int[], f jr_in, g json, h jsonb, i boolean, k text[]);
CREATE TABLE jr_d (id int, j json, jb jsonb);
INSERT INTO jr_d VALUES (1, '{"a": 1, "b": "x", "c": 2.345, "d": "2024-02-29", "e": [1, null, 3], "f": {"x": 5, "y": "z"}, "g": {"q": [1]}, "h": {"r": 2.50}, "i": true, "k": ["p", "q r"]}', '{"a": 2, "b": null, "e": "{4,5}", "f": "(7,w)", "g": null, "h": null}'), (2, '{}', '{"c": "1.5", "zzz": 1}'), (3, NULL, NULL);
CREATE TYPE jr_domain_pair AS (x integer, y integer);
CREATE DOMAIN jr_domain AS jr_domain_pair CHECK ((VALUE).x <= (VALUE).y);
-- cases
SELECT json_populate_record(NULL::jr_t, j) FROM jr_d;
SELECT jsonb_populate_record(NULL::jr_t, jb) FROM jr_d;
SELECT (json_populate_record(NULL::jr_t, j)).* FROM jr_d;
SELECT d.id, r.a, r.b, r.c, r.e, r.f FROM jr_d d, json_populate_record(NULL::jr_t, d.j) r;
SELECT d.id, r.* FROM jr_d d CROSS JOIN LATERAL jsonb_populate_record(NULL::jr_t, d.jb) AS r;
SELECT (r).a + 1, (r).f FROM (SELECT json_populate_record(NULL::jr_t, j) AS r FROM jr_d) AS s;
SELECT json_populate_record(ROW(1, 'q')::jr_in, '{"y": "new"}'), json_populate_record(ROW(1, 'q')::jr_in, '{"x": null}'), json_populate_record(ROW(1, 'q')::jr_in, NULL), json_populate_record(NULL::jr_in, NULL);
SELECT json_populate_record(ROW(1, 'q'), '{"f2": "new", "f1": 7}'), jsonb_populate_record(ROW(1, 2.50, 'q'), '{"f3": [1, 2]}');
SELECT json_populate_record(NULL::jr_in, '{"x": "12", "y": {"k": [1, 2]}}'), json_populate_record(NULL::jr_in, '{"x": 3, "x": 4}'), jsonb_populate_record(NULL::jr_in, '{"y": 1.50}'), json_populate_record(NULL::jr_in, '{"y": true}', true);
SELECT * FROM json_populate_recordset(NULL::jr_in, '[{"x": 1, "y": "a"}, {"y": "b"}, {}]');
SELECT * FROM jsonb_populate_recordset(NULL::jr_in, '[{"x": 1, "y": "a"}, {"y": "b", "n": 1}]') WITH ORDINALITY;
SELECT * FROM json_populate_recordset(ROW(9, 'base')::jr_in, '[{"x": 1}, {"y": "b"}]') AS r(p, q);
SELECT json_populate_recordset(NULL::jr_in, '[{"x": 1, "y": "a"}, {"y": "b"}]'), jsonb_populate_recordset(NULL::jr_in, '[]');
SELECT count(*), sum(x) FROM jr_d, json_populate_recordset(NULL::jr_in, ('[' || coalesce(j ->> 'f', '{}') || ']')::json);
SELECT * FROM json_populate_record(NULL::jr_one, '{"v": 1.500}');
SELECT * FROM json_populate_recordset(NULL::jr_one, '[{"v": 1.500}, {"v": 2}]');
SELECT v, r FROM json_populate_recordset(NULL::jr_one, '[{"v": 1.500}, {"v": "2.0"}]') AS r;
SELECT * FROM json_to_record('{"a": 1, "b": [1, 2], "c": "bar", "d": {"x": 3, "y": "k"}, "r": null}') AS x(a int, b text, c text, d jr_in, r text, missing int);
SELECT * FROM jsonb_to_record('{"a": [1, 2.5], "b": [{"x": 1}, {"x": 2, "y": "q"}], "d": [null, "s"]}') AS x(a numeric[], b jr_in[], d text[]);
SELECT * FROM json_to_record('{"a": [[1, 2], [3, 4]]}') AS x(a int[][]);
SELECT * FROM json_to_recordset('[{"a": 1, "b": "foo"}, {"a": "2", "c": "bar"}]') AS x(a int, b text);
SELECT * FROM jsonb_to_recordset('[{"a": 1.50, "b": "2024-01-31 10:00"}, {"a": null}]') AS x(a numeric, b timestamp);
SELECT d.id, x.a, x.f FROM jr_d d, json_to_record(d.j) AS x(a int, f jr_in) WHERE d.id < 3;
SELECT d.id, x.q FROM jr_d d LEFT JOIN LATERAL json_to_recordset(json_build_array(d.j)) AS x(a int, q text) ON x.a = 1 WHERE d.id < 3;
SELECT a, count(*) FROM json_to_recordset('[{"a": 1}, {"a": 1}, {"a": 2}]') AS x(a int) GROUP BY a;
SELECT * FROM json_populate_record(NULL::record, '{"x": 1, "y": "n"}') AS r(y text, x int);
SELECT * FROM json_populate_record(NULL::jr_in, ' { "x" : 1 } ');
SELECT x.* FROM jsonb_to_record('{"A b": 1}') AS x("A b" int);
-- error 22023
SELECT json_populate_record(NULL::jr_in, '[1, 2]');
-- error 22023
SELECT jsonb_populate_record(NULL::jr_in, '5');
-- error 22023
SELECT * FROM json_to_record('[{"a": 1}]') AS x(a int);
-- error 22023
SELECT * FROM json_to_record('null') AS x(a int);
-- error 22023
SELECT * FROM json_to_recordset('{"a": 1}') AS x(a int);
-- error 22023
SELECT * FROM json_to_recordset('[1, 2]') AS x(a int);
-- error 22P02
SELECT json_populate_record(NULL::jr_in, '{"x": "n"}');
-- error 22P02
SELECT * FROM json_to_record('{"a": 5}') AS x(a int[]);
-- error 22023
SELECT * FROM json_to_record('{"a": [1]}') AS x(a jr_in);
-- error 42804
SELECT json_populate_record(1, '{"x": 1}');
SELECT NULL::jr_t IS NULL, (NULL::jr_t).b, pg_typeof(NULL::jr_t), (ROW(1, '{}', '{"k":1}')::jr_d).id;
-- error 0A000
SELECT json_populate_record(NULL::record, '{"x": 1}');
-- error 0A000
SELECT json_to_record('{"x": 1}');
-- error 42601
SELECT * FROM jsonb_to_record('{"x": 1}');
-- error 42601
SELECT * FROM json_populate_record(NULL::jr_in, '{"x": 1}') AS r(x int, y text, z int);
-- refused 0A000: the row that is read has no place for the domain's checks
SELECT json_populate_record(NULL::jr_domain, '{"x": 1, "y": 2}');
