-- What FROM may hold beside tables: functions, several side by side, records with their columns, samples, VALUES.
-- setup
CREATE TABLE fi_t (id integer, a integer[], j jsonb);
INSERT INTO fi_t VALUES (1, '{1,2}', '[{"x": 1}, {"x": 2, "y": "b"}]'), (2, '{3}', '[]'), (3, NULL, NULL);
CREATE TABLE fi_big (n integer);
INSERT INTO fi_big SELECT generate_series(1, 5000);
CREATE VIEW fi_v AS SELECT id FROM fi_t;
-- cases
SELECT * FROM generate_series(1, 3);
SELECT * FROM generate_series(1, 3) AS g;
SELECT g, g + 1 FROM generate_series(1, 3) AS g;
SELECT g.g, g.* FROM generate_series(1, 3) AS g;
SELECT * FROM generate_series(1, 3) AS g(x);
SELECT x FROM generate_series(1, 3) WITH ORDINALITY AS g(x, o) WHERE o > 1;
SELECT * FROM generate_series(1, 2) WITH ORDINALITY;
SELECT * FROM ROWS FROM (generate_series(1, 3), generate_series(10, 11));
SELECT * FROM ROWS FROM (generate_series(1, 2), unnest(ARRAY['a', 'b', 'c'])) WITH ORDINALITY AS r(n, t, o);
SELECT * FROM ROWS FROM (json_each('{"a": 1, "b": 2}'), generate_series(1, 3)) AS r;
SELECT id, r.* FROM fi_t, ROWS FROM (unnest(a), generate_series(1, id)) AS r(u, g);
SELECT * FROM unnest(ARRAY[1, 2], ARRAY['x', 'y', 'z']) AS u(n, t);
SELECT id, u.* FROM fi_t LEFT JOIN LATERAL unnest(a, ARRAY[id, id * 10, id * 100]) WITH ORDINALITY AS u(x, y, o) ON true;
SELECT * FROM json_to_record('{"a": 1, "b": "x", "c": null}') AS r(a integer, b text, c date, d numeric);
SELECT id, r.x, r.y FROM fi_t, jsonb_to_recordset(j) AS r(x integer, y text);
SELECT r.b + 1 FROM jsonb_to_record('{"a": {"k": [1]}, "b": "41"}') AS r(a jsonb, b integer);
SELECT * FROM upper('abc');
SELECT * FROM upper('abc') AS u, length('abcd') AS l;
SELECT * FROM coalesce(NULL, 5) AS c;
SELECT c + 1 FROM current_date AS c WHERE c IS NULL;
SELECT * FROM abs(-5) WITH ORDINALITY;
SELECT s FROM string_to_table('a,b', ',') s;
SELECT e -> 'x' FROM fi_t, jsonb_array_elements(j) AS e;
SELECT count(*) FROM fi_t, LATERAL (SELECT * FROM generate_series(1, fi_t.id) g WHERE g > 1) s;
SELECT * FROM (VALUES (1, 'a'), (2, 'b')) v(n, t), generate_series(1, v.n) g;
SELECT count(*) FROM fi_big TABLESAMPLE BERNOULLI (100);
SELECT count(*) FROM fi_big TABLESAMPLE SYSTEM (100);
SELECT count(*) FROM fi_big TABLESAMPLE BERNOULLI (0) REPEATABLE (1);
SELECT count(*) BETWEEN 2000 AND 3000 FROM fi_big TABLESAMPLE BERNOULLI (50);
SELECT count(*) BETWEEN 2000 AND 3000 FROM fi_big TABLESAMPLE BERNOULLI (50) REPEATABLE (3);
SELECT (SELECT sum(n) FROM fi_big TABLESAMPLE BERNOULLI (20) REPEATABLE (9)) = (SELECT sum(n) FROM fi_big TABLESAMPLE BERNOULLI (20) REPEATABLE (9));
SELECT count(*) > 0 FROM fi_big AS b TABLESAMPLE SYSTEM (60) REPEATABLE (2) WHERE b.n > 0;
SELECT count(*) FROM fi_t t TABLESAMPLE BERNOULLI (100) JOIN fi_big b ON b.n = t.id;
-- messages
-- error 2202H
SELECT count(*) FROM fi_big TABLESAMPLE BERNOULLI (101);
-- error 2202H
SELECT count(*) FROM fi_big TABLESAMPLE SYSTEM (NULL);
-- error 2202G
SELECT count(*) FROM fi_big TABLESAMPLE SYSTEM (1) REPEATABLE (NULL);
-- error 42704
SELECT count(*) FROM fi_big TABLESAMPLE nosuch (1);
-- error 0A000
SELECT count(*) FROM fi_v TABLESAMPLE BERNOULLI (1);
-- error 42601
SELECT * FROM json_to_record('{"a": 1}');
-- error 42601
SELECT * FROM generate_series(1, 2) AS g(a integer);
-- error 42P10
SELECT * FROM generate_series(1, 2) AS g(a, b);
-- error 42803
SELECT * FROM generate_series(1, max(1));
-- error 42883
SELECT * FROM nosuch(1);
