-- MERGE: its clauses in order, conditions, sources of every kind, and what is refused.
-- setup
CREATE TABLE mg_t (id integer PRIMARY KEY, v text, n integer DEFAULT 7);
CREATE TABLE mg_s (id integer, v text, op text);
INSERT INTO mg_t VALUES (1, 'a', 1), (2, 'b', 2), (3, 'c', 3);
INSERT INTO mg_s VALUES (1, 'A', 'u'), (2, 'B', 'd'), (4, 'D', 'i'), (5, NULL, 'i'), (NULL, 'N', 'x');
-- cases
MERGE INTO mg_t USING mg_s ON mg_t.id = mg_s.id
    WHEN MATCHED AND op = 'u' THEN UPDATE SET v = mg_s.v, n = n + 10
    WHEN MATCHED AND op = 'd' THEN DELETE
    WHEN NOT MATCHED AND op = 'i' THEN INSERT (id, v) VALUES (mg_s.id, lower(mg_s.v));
SELECT * FROM mg_t;
MERGE INTO mg_t AS t USING (SELECT id, max(v) AS v FROM mg_s GROUP BY id) AS s ON t.id = s.id AND t.n > 5
    WHEN MATCHED THEN UPDATE SET (v, n) = (s.v || '!', DEFAULT);
SELECT * FROM mg_t;
MERGE INTO mg_t AS t USING (VALUES (1, 5), (9, 9), (10, 1)) AS s (k, w) ON t.id = s.k
    WHEN MATCHED THEN DO NOTHING
    WHEN NOT MATCHED AND w > 8 THEN DO NOTHING
    WHEN NOT MATCHED THEN INSERT VALUES (k, 'ten', DEFAULT);
SELECT * FROM mg_t;
MERGE INTO mg_t USING mg_s ON false WHEN NOT MATCHED AND mg_s.id = 4 THEN INSERT VALUES (44, 'x');
WITH src AS (SELECT g AS id FROM generate_series(1, 50) AS g) MERGE INTO mg_t USING src ON src.id = mg_t.id
    WHEN MATCHED AND mg_t.id < 5 THEN DELETE
    WHEN MATCHED THEN UPDATE SET n = mg_t.n + (SELECT count(*) FROM src)
    WHEN NOT MATCHED AND src.id % 10 = 0 THEN INSERT (id) VALUES (src.id);
SELECT * FROM mg_t;
MERGE INTO mg_t USING mg_s ON mg_t.id = mg_s.id WHEN MATCHED AND false THEN DELETE;
MERGE INTO mg_t USING (SELECT 60 AS id) AS s ON mg_t.id = s.id WHEN NOT MATCHED THEN INSERT (n, id) VALUES (DEFAULT, s.id);
-- error 23502
MERGE INTO mg_t USING (SELECT 61 AS id) AS s ON mg_t.id = s.id WHEN NOT MATCHED THEN INSERT DEFAULT VALUES;
-- error 23505
MERGE INTO mg_t USING (SELECT 60 AS k) AS s ON false WHEN NOT MATCHED THEN INSERT (id) VALUES (k);
-- error 23505
MERGE INTO mg_t USING (VALUES (70), (70)) AS s (k) ON mg_t.id = k WHEN NOT MATCHED THEN INSERT (id) VALUES (k);
-- error 21000
MERGE INTO mg_t USING (VALUES (60, 1), (60, 2)) AS s (k, w) ON mg_t.id = k WHEN MATCHED THEN UPDATE SET n = w;
-- error 21000
MERGE INTO mg_t USING (VALUES (60, 1), (60, 2)) AS s (k, w) ON mg_t.id = k WHEN MATCHED AND w = 1 THEN DELETE WHEN MATCHED THEN UPDATE SET n = w;
MERGE INTO mg_t USING (VALUES (60, 1), (60, 2)) AS s (k, w) ON mg_t.id = k WHEN MATCHED AND w = 1 THEN UPDATE SET n = w WHEN MATCHED THEN DO NOTHING;
SELECT * FROM mg_t WHERE id = 60;
MERGE INTO mg_t AS t USING mg_t AS s ON t.id = s.id WHEN MATCHED THEN UPDATE SET n = s.n + 1;
SELECT * FROM mg_t;
MERGE INTO mg_t USING (mg_s JOIN mg_t AS o ON o.id = mg_s.id) ON mg_t.id = o.id WHEN MATCHED THEN UPDATE SET v = coalesce(mg_s.v, 'none');
MERGE INTO mg_t USING (VALUES (5, 0), (NULL, NULL)) AS s (k, z) ON mg_t.id = k WHEN MATCHED AND z <> 0 THEN UPDATE SET n = 1 / z WHEN MATCHED THEN UPDATE SET n = -1;
-- error 22012
MERGE INTO mg_t USING (VALUES (5, 0)) AS s (k, z) ON mg_t.id = k WHEN MATCHED THEN UPDATE SET n = 1 / z;
SELECT * FROM mg_t;
-- error 42601
MERGE INTO mg_t USING mg_s ON true WHEN MATCHED THEN DELETE WHEN MATCHED THEN DO NOTHING;
-- error 42P01
MERGE INTO mg_t USING mg_s ON mg_t.id = mg_s.id WHEN NOT MATCHED THEN INSERT VALUES (mg_t.id);
-- error 42P01
MERGE INTO mg_t USING mg_s ON mg_t.id = mg_s.id WHEN NOT MATCHED AND mg_t.n > 1 THEN INSERT DEFAULT VALUES;
-- error 42601
MERGE INTO mg_t USING mg_s ON mg_t.id = mg_s.id WHEN NOT MATCHED THEN INSERT (id) VALUES (1, 2);
-- error 42601
MERGE INTO mg_t USING mg_s ON mg_t.id = mg_s.id WHEN NOT MATCHED THEN INSERT (id, v) VALUES (1);
-- error 42712
MERGE INTO mg_t USING mg_t ON true WHEN MATCHED THEN DELETE;
-- error 42702
MERGE INTO mg_t USING mg_s ON id = 1 WHEN MATCHED THEN DELETE;
-- error 42804
MERGE INTO mg_t USING mg_s ON mg_t.id = mg_s.id WHEN MATCHED AND n THEN DELETE;
-- error 42P01
MERGE INTO mg_nowhere USING mg_s ON true WHEN MATCHED THEN DELETE;
-- error 42P01
MERGE INTO mg_t USING mg_nowhere ON true WHEN MATCHED THEN DELETE;
-- error 42703
MERGE INTO mg_t USING mg_s ON mg_t.id = mg_s.id WHEN MATCHED THEN UPDATE SET nope = 1;
-- error 42601
MERGE INTO mg_t USING mg_s ON mg_t.id = mg_s.id WHEN MATCHED THEN UPDATE SET n = 1, n = 2;
-- error 42703
MERGE INTO mg_t USING mg_s ON mg_t.id = mg_s.id WHEN MATCHED AND nope THEN DELETE;
-- error 42803
MERGE INTO mg_t USING mg_s ON mg_t.id = mg_s.id WHEN MATCHED AND count(*) > 1 THEN DELETE;
-- error 42601
MERGE INTO mg_t USING mg_s ON mg_t.id = mg_s.id WHEN MATCHED THEN DELETE RETURNING *;
-- error 0A000
WITH x AS (MERGE INTO mg_t USING mg_s ON mg_t.id = mg_s.id WHEN MATCHED THEN DELETE) SELECT 1;
CREATE VIEW mg_view AS SELECT * FROM mg_t;
-- error 0A000
MERGE INTO mg_view USING mg_s ON true WHEN MATCHED THEN DELETE;
BEGIN;
MERGE INTO mg_t USING (SELECT 1) AS s ON true WHEN MATCHED THEN DELETE;
SELECT count(*) FROM mg_t;
ROLLBACK;
SELECT count(*) FROM mg_t;
CREATE TABLE mg_still (a integer);
INSERT INTO mg_still VALUES (1);
MERGE INTO mg_still USING (VALUES (1), (2)) AS v(i) ON a = i WHEN MATCHED AND i > 0 THEN DO NOTHING WHEN NOT MATCHED THEN DO NOTHING;
SELECT * FROM mg_still;
