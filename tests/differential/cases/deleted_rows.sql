-- Rows that an open transaction has deleted or changed: the first ones, samples and windows of the others.
-- cases
CREATE TABLE dr (id integer, item text, sold date);
INSERT INTO dr SELECT i, 'x' || i, date '2024-01-01' + i FROM generate_series(1, 9) i;
SELECT count(*), max(id) FROM dr;
SELECT * FROM dr ORDER BY id;
BEGIN;
DELETE FROM dr WHERE id IN (3, 9);
SELECT * FROM dr ORDER BY abs(id) DESC LIMIT 1;
SELECT id FROM dr ORDER BY sold DESC LIMIT 2 OFFSET 1;
WITH z AS (SELECT * FROM dr) SELECT * FROM z ORDER BY -id LIMIT 2;
WITH z AS MATERIALIZED (SELECT * FROM dr ORDER BY item LIMIT 2) SELECT id FROM z ORDER BY id;
SELECT (SELECT item FROM dr ORDER BY id DESC LIMIT 1);
SELECT count(*) FROM dr TABLESAMPLE BERNOULLI (100);
SELECT id FROM (SELECT id, row_number() OVER (ORDER BY sold DESC) AS n FROM dr) s WHERE n <= 2 ORDER BY id;
SELECT DISTINCT ON (id % 2) id, item FROM dr ORDER BY id % 2, id DESC LIMIT 2;
UPDATE dr SET item = 'y' WHERE id = 8;
SELECT id, item FROM dr ORDER BY id DESC LIMIT 1;
SELECT id, item FROM dr ORDER BY item DESC FETCH FIRST 1 ROW WITH TIES;
COMMIT;
SELECT id, item FROM dr ORDER BY id DESC LIMIT 3;
DELETE FROM dr WHERE id = 1;
SELECT id, item FROM dr ORDER BY id LIMIT 2;
