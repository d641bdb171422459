-- jsonpath: its text, lax and strict, filters, methods, variables, errors and silence; over a table's columns.
-- setup
CREATE TABLE jp_t (id integer, b jsonb, p jsonpath);
INSERT INTO jp_t VALUES
  (1, '{"a": 1, "b": [1, 2, {"c": null}]}', '$.a'), (2, '[3, "x", [4], {"a": 5}]', '$[*].a'), (3, 'null', '$.**'),
  (4, NULL, '$'), (5, '{"track": {"segments": [{"hr": 73, "time": "2018-10-14 10:05:14"}, {"hr": 135, "time": "2018-10-14 10:39:21"}]}}',
   '$.track.segments[*] ? (@.hr > 130)');
-- cases
SELECT id, p FROM jp_t ORDER BY id;
SELECT id, jsonb_path_query_array(b, p), jsonb_path_exists(b, p), jsonb_path_query_first(b, p) FROM jp_t ORDER BY id;
SELECT id, x FROM jp_t, jsonb_path_query(b, '$.**') AS x;
SELECT id FROM jp_t WHERE b @? '$.track.segments[*] ? (@.hr > 130)';
SELECT id, b @@ '$.a == 1' FROM jp_t ORDER BY id;
SELECT '$'::jsonpath, 'strict $.a[*].b ? (@.c > 1 && !(@.d == "x") || exists(@.e)).f'::jsonpath, '$.a[last, 1 to 3]."b c"'::jsonpath;
SELECT '1 + 2 * -$.x'::jsonpath, '($.a == 1) is unknown'::jsonpath, '$.a like_regex "^x" flag "im"'::jsonpath, '$ starts with "a"'::jsonpath, '$.**{2 to last}.type()'::jsonpath;
SELECT '0x1F + 1_000 + .5'::jsonpath, '$."\u00e9\t"'::jsonpath, '-(3)'::jsonpath, '+$.a'::jsonpath, '$ ? (@ == "a\"b")'::jsonpath;
SELECT jsonb_path_query_array('[1, 2, 3, 4]', '$[*] ? (@ > $min && @ < $max)', '{"min": 1, "max": 4}');
SELECT jsonb_path_query('{"a": [1, "2", null, true, {"x": 1}, [1]]}', '$.a[*].type()');
SELECT jsonb_path_query('[1.5, -2.5, "1e3", "7"]', '$[*] ? (@.type() == "number").abs()'), jsonb_path_query_array('["1e3", 7]', '$[*].double()');
SELECT jsonb_path_query_array('[1.5, -1.5]', '$[*].floor()'), jsonb_path_query_array('[1.5, -1.5]', '$[*].ceiling()'), jsonb_path_query_array('[1, [2, 3]]', '$.size()');
SELECT jsonb_path_query_array('{"a": 1, "b": "x"}', '$.keyvalue()');
SELECT jsonb_path_query_array('[10, 3]', '$[0] / $[1]'), jsonb_path_query_array('[10, 3]', '$[0] % $[1]'), jsonb_path_query_array('[1.10, 2.5]', '$[0] * $[1] - 1');
SELECT jsonb_path_query('["abc", "ABC", "a\nbc", 1]', '$[*] ? (@ like_regex "^b" flag "im")');
SELECT jsonb_path_query_array('["2023-08-15", "2023-08-16 12:34:56", "12:34:56+05:30", "12:34"]', '$[0 to 2].datetime().type()');
SELECT jsonb_path_query_array('["2023-08-15", "2023-08-17"]', '$[*].datetime() ? (@ < "2023-08-16".datetime())');
SELECT jsonb_path_exists_tz('["2023-08-15 12:00:00+00"]', '$[*] ? (@.datetime() > "2023-08-15".datetime())');
SELECT jsonb_path_query('{"a": {"b": 1}, "c": [{"b": 2}]}', 'lax $.*.b'), jsonb_path_exists('{"a": 1}', 'strict $.b ? (@ > 0)', silent => true);
SELECT jsonb_path_match('{"a": 1}', '$.a == 1'), jsonb_path_match('{"a": 1}', '$.a', silent => true), jsonb_path_match('[1, "x"]', '$[*] > 0');
SELECT jsonb_path_query_array('[1, 2, 3]', '$[last - 1 to last]'), jsonb_path_query_array('{"a": [{"b": 1}, {"b": [2]}]}', '$.a.b'), jsonb_path_query_array('[[1, [2]], 3]', '$.**{1 to 2}');
SELECT jsonb_path_query_array('[1, null, "a"]', '$[*] ? (@ == null)'), jsonb_path_query_array('[1, "a"]', '$[*] ? ((@ > 0) is unknown)');
-- error 2203A
SELECT jsonb_path_query('{"a": 1}', 'strict $.b');
-- error 22033
SELECT jsonb_path_query('[1]', 'strict $[5]');
-- error 22038
SELECT jsonb_path_query('[1, "x"]', '$[0] + $[1]');
-- error 22012
SELECT jsonb_path_query('[1, 0]', '$[0] / $[1]');
-- error 22036
SELECT jsonb_path_query('"x"', '$.double()');
-- error 22031
SELECT jsonb_path_query('"12:34"', '$.datetime()');
-- error 42704
SELECT jsonb_path_query('1', '$x');
-- error 22023
SELECT jsonb_path_query('1', '$', '[1]');
-- error 22038
SELECT jsonb_path_match('{"a": 1}', '$.a');
-- error 0A000
SELECT jsonb_path_exists('["2023-08-15 12:00:00+00"]', '$[*] ? (@.datetime() > "2023-08-15".datetime())');
-- error 42601
SELECT '$.a &&'::jsonpath;
-- error 42601
SELECT '@.a'::jsonpath;
-- error 42601
SELECT 'last'::jsonpath;
-- error 42601
SELECT '1.type()'::jsonpath;
-- error 22P02
SELECT ''::jsonpath;
-- refused 0A000: templates of .datetime()
SELECT jsonb_path_query('"10-03-2017"', '$.datetime("dd-mm-yyyy")');
