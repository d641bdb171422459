-- A scalar subquery that only computes an expression over the outer query is replaced by that expression.
-- before
SELECT (SELECT a + 1) AS c FROM t
-- after
SELECT a + 1 AS c FROM t
-- before
SELECT CASE WHEN a <> 0 THEN (SELECT 1 / a) END AS c FROM t
-- after
SELECT CASE WHEN a <> 0 THEN 1 / a END AS c FROM t
-- before
SELECT (SELECT (SELECT a) + t_b) AS c FROM t WHERE (SELECT a > 1)
-- after
SELECT a + t_b AS c FROM t WHERE a > 1
-- before
SELECT x.c FROM (SELECT (SELECT -a) AS c FROM t) AS x
-- after
SELECT x.c FROM (SELECT -a AS c FROM t) AS x
-- An uncorrelated subquery, a volatile call, FROM, WHERE, LIMIT and aggregates stay.
-- before
SELECT (SELECT 1) AS c FROM t
-- after
SELECT (SELECT 1) AS c FROM t
-- before
SELECT (SELECT a + random()) AS c FROM t
-- after
SELECT (SELECT a + random()) AS c FROM t
-- before
SELECT (SELECT t.a FROM u) AS c FROM t
-- after
SELECT (SELECT t.a FROM u) AS c FROM t
-- before
SELECT (SELECT a WHERE a > 1) AS c FROM t
-- after
SELECT (SELECT a WHERE a > 1) AS c FROM t
-- before
SELECT (SELECT a LIMIT 1) AS c FROM t
-- after
SELECT (SELECT a LIMIT 1) AS c FROM t
-- before
SELECT (SELECT generate_series(1, a)) AS c FROM t
-- after
SELECT (SELECT generate_series(1, a)) AS c FROM t
