-- Assigning to parts of columns: items and slices of arrays, fields of composites, in UPDATE, INSERT, ON CONFLICT and MERGE.
-- cases
CREATE TABLE uf (id integer PRIMARY KEY, a integer[], t text[], m integer[][]);
CREATE TYPE uf_pt AS (x integer, y text);
CREATE TYPE uf_box AS (lo uf_pt, hi uf_pt);
CREATE TABLE ufc (id integer, p uf_pt, b uf_box, ps uf_pt[]);
INSERT INTO uf VALUES (1, '{1,2,3}', '{a,b}', '{{1,2},{3,4}}'), (2, NULL, NULL, NULL), (3, '{}', '{}', '{}');
UPDATE uf SET a[2] = 20 WHERE id = 1;
SELECT * FROM uf ORDER BY id;
UPDATE uf SET a[1] = 7 WHERE id IN (2,3);
SELECT id, a FROM uf ORDER BY id;
UPDATE uf SET a[5] = 50 WHERE id = 1;
SELECT id, a FROM uf ORDER BY id;
UPDATE uf SET a[2:3] = ARRAY[100,200] WHERE id = 1;
SELECT id, a FROM uf ORDER BY id;
-- error 2202E
UPDATE uf SET a[2:3] = ARRAY[1] WHERE id = 1;
UPDATE uf SET a[2:3] = ARRAY[1,2,3] WHERE id = 1;
SELECT id, a FROM uf ORDER BY id;
UPDATE uf SET a[4:6] = '{7,8,9}' WHERE id = 2;
SELECT id, a, array_dims(a) FROM uf ORDER BY id;
UPDATE uf SET a[:2] = '{70,80}' WHERE id = 1;
UPDATE uf SET a[5:] = '{90,91}' WHERE id = 1;
SELECT id, a FROM uf ORDER BY id;
UPDATE uf SET a[:] = '{1,2,3,4,5,6}' WHERE id = 1;
SELECT id, a FROM uf ORDER BY id;
-- error 22004
UPDATE uf SET a[NULL] = 1 WHERE id = 1;
UPDATE uf SET a[1] = NULL WHERE id = 1;
SELECT id, a FROM uf ORDER BY id;
UPDATE uf SET a[1:2] = NULL WHERE id = 1;
SELECT id, a FROM uf ORDER BY id;
UPDATE uf SET a[2] = 5, a[3] = 6 WHERE id = 1;
SELECT id, a FROM uf ORDER BY id;
UPDATE uf SET a[2] = a[3], a[3] = a[2] WHERE id = 1;
SELECT id, a FROM uf ORDER BY id;
-- error 42601
UPDATE uf SET a[1] = 1, a = '{9}' WHERE id = 1;
-- error 22P02
UPDATE uf SET a[1] = 'x' WHERE id = 1;
-- error 42804
UPDATE uf SET a[1] = 'x'::text WHERE id = 1;
-- error 22P02
UPDATE uf SET a['x'] = 1 WHERE id = 1;
UPDATE uf SET a[1.6] = 1 WHERE id = 1;
SELECT id, a FROM uf ORDER BY id;
-- error 42804
UPDATE uf SET id[1] = 1;
-- error 42804
UPDATE uf SET a.x = 1;
-- error 42703
UPDATE uf SET nosuch[1] = 1;
UPDATE uf SET t[1] = 'z', t[3] = 'q' WHERE id = 1;
SELECT id, t FROM uf ORDER BY id;
UPDATE uf SET m[1][2] = 9 WHERE id = 1;
SELECT id, m FROM uf ORDER BY id;
-- error 2202E
UPDATE uf SET m[3][1] = 9 WHERE id = 1;
-- error 2202E
UPDATE uf SET m[1] = 9 WHERE id = 1;
UPDATE uf SET a[id] = id * 10 WHERE id < 3 RETURNING a;
INSERT INTO uf (id, a[1], a[2]) VALUES (4, 41, 42);
-- refused 0A000: lists start at 1
INSERT INTO uf (id, a[3]) VALUES (5, 53);
-- refused 0A000: lists start at 1
INSERT INTO uf (id, a[2:3]) VALUES (6, '{1,2}');
SELECT id, a FROM uf WHERE id = 4 ORDER BY id;
INSERT INTO ufc (id, p.x, p.y) VALUES (1, 10, 'ten');
INSERT INTO ufc (id, p.x) VALUES (2, 20);
INSERT INTO ufc (id) VALUES (3);
INSERT INTO ufc (id, b.lo.x, b.hi.y) VALUES (4, 1, 'h');
SELECT * FROM ufc ORDER BY id;
UPDATE ufc SET p.y = 'changed' WHERE id IN (1, 3);
UPDATE ufc SET p.x = (p).x + 1;
SELECT id, p FROM ufc ORDER BY id;
UPDATE ufc SET b.hi.x = 99 WHERE id < 3;
SELECT id, b FROM ufc ORDER BY id;
-- error 42703
UPDATE ufc SET p.nosuch = 1;
UPDATE ufc SET ps[1] = ROW(1,'a')::uf_pt, ps[2].x = 5 WHERE id = 1;
SELECT id, ps FROM ufc WHERE id = 1;
UPDATE ufc SET ps[1].y = 'changed' WHERE id = 1;
SELECT id, ps FROM ufc WHERE id = 1;
UPDATE ufc SET p.x = 1, p.x = 2;
-- error 22P02
UPDATE ufc SET p.x = 'abc';
-- error 0A000
UPDATE ufc SET p.x = DEFAULT;
-- error 0A000
UPDATE uf SET a[1] = DEFAULT;
-- error 0A000
INSERT INTO uf (id, a[1]) VALUES (9, DEFAULT);
UPDATE uf SET (a[1], a[2]) = (11, 12) WHERE id = 4;
SELECT id, a FROM uf WHERE id = 4;
UPDATE ufc SET (p.x, p.y) = (SELECT 5, 'sub') WHERE id = 1;
SELECT id, p FROM ufc WHERE id = 1;
INSERT INTO uf (id, a[1], a[2]) SELECT 10, n, n + 1 FROM generate_series(1,1) AS g(n);
SELECT id, a FROM uf WHERE id = 10;
INSERT INTO uf (id, a) VALUES (10, '{1}') ON CONFLICT (id) DO UPDATE SET a[2] = excluded.a[1] + 100;
SELECT id, a FROM uf WHERE id = 10;
MERGE INTO uf USING (VALUES (10)) v(i) ON uf.id = v.i WHEN MATCHED THEN UPDATE SET a[1] = 77;
SELECT id, a FROM uf WHERE id = 10;
-- error 42701
INSERT INTO uf (id, id) VALUES (1, 2);
-- error 42701
INSERT INTO ufc (id, p.x, p) VALUES (1, 2, NULL);
CREATE TABLE ufj (j jsonb);
INSERT INTO ufj VALUES ('{"a": 1}'), (NULL), ('[1,2]');
UPDATE ufj SET j['b'] = '2' WHERE j @> '{"a":1}';
UPDATE ufj SET j['n']['deep'][2] = '"x"' WHERE j ? 'a' OR j IS NULL;
UPDATE ufj SET j['a'] = NULL, j['c'] = to_jsonb(j ->> 'b') WHERE j ? 'a';
UPDATE ufj SET j[-1] = '{"k": 1}', j[4]['y'] = '2' WHERE j @> '[1]';
SELECT j FROM ufj ORDER BY j;
SELECT j['n'], j['n']['deep'][2], j[4]['y'], j[-1], j[NULL], j['n']['nothing'][0] FROM ufj AS u ORDER BY u.j;
CREATE TABLE ufi (i integer, j jsonb, t text);
INSERT INTO ufi (i, j['a'], j['b'][1]) VALUES (1, '1', '[2]');
INSERT INTO ufi (i, j[1]) VALUES (2, '1');
INSERT INTO ufi VALUES (3, '5'), (4, '"s"');
SELECT i, j FROM ufi ORDER BY i;
-- messages
-- error 22023
UPDATE ufi SET j[0] = '1' WHERE i = 3;
-- error 22P02
UPDATE ufi SET j['x'] = '1' WHERE i = 2;
-- error 22023
UPDATE ufi SET j[-9] = '1' WHERE i = 2;
-- error 22004
UPDATE ufi SET j[NULL] = '1' WHERE i = 1;
-- error 42804
UPDATE ufi SET j['a'] = 1 WHERE i = 1;
-- error 42804
UPDATE ufi SET j['a':'b'] = '1' WHERE i = 1;
-- error 42804
SELECT j[1.5] FROM ufi;
-- error 42804
SELECT j[1:2] FROM ufi;
-- cases
