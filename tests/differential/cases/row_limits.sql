-- LIMIT and OFFSET whose number is computed, NULL, or as large as bigint holds.
SELECT * FROM (VALUES (1), (2), (3)) AS v(n) ORDER BY n LIMIT NULL + 1;
SELECT * FROM (VALUES (1), (2), (3)) AS v(n) ORDER BY n OFFSET NULL + 1;
SELECT * FROM (VALUES (1), (2), (3)) AS v(n) ORDER BY n LIMIT 9223372036854775807;
SELECT * FROM (VALUES (1), (2), (3)) AS v(n) ORDER BY n LIMIT 9223372036854775806 + 1 OFFSET 1 + 1;
SELECT * FROM (VALUES (1), (2), (3)) AS v(n) ORDER BY n OFFSET 9223372036854775807;
-- of no rows nothing is computed
CREATE TABLE rl_zero (k int, v int);
INSERT INTO rl_zero VALUES (1, 0), (2, 5);
SELECT k, sum(10 / v) FROM rl_zero GROUP BY k ORDER BY 2 LIMIT 0;
SELECT a.k, b.q FROM rl_zero AS a LEFT JOIN (SELECT k, 10 / v AS q FROM rl_zero LIMIT 0 OFFSET 1) AS b ON a.k = b.k ORDER BY 1;
-- error 2201X
SELECT k FROM rl_zero LIMIT 0 OFFSET -1;
-- A LIMIT of 0 computes no row, be it a parameter of any width
PREPARE rl_none (smallint, integer, bigint) AS SELECT 1 / (n - n) FROM generate_series(1, 10) AS g(n) ORDER BY 1 LIMIT $1 OFFSET $2 + $3;
EXECUTE rl_none (0, 0, 0);
-- error 22012
EXECUTE rl_none (1, 0, 0);
PREPARE rl_small (smallint, integer) AS SELECT n FROM generate_series(1, 10) AS g(n) ORDER BY 1 LIMIT $1 OFFSET $2;
EXECUTE rl_small (2, 3);
EXECUTE rl_small (0, NULL);
EXECUTE rl_small (NULL, 8);
-- error 2201W
EXECUTE rl_small (-1, 0);
-- error 2201X
EXECUTE rl_small (0, -1);
