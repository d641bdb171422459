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
