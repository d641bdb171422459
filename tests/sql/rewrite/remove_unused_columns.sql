-- An unused column of a subquery becomes NULL where its computation may raise an error.
-- before
SELECT x.a FROM (SELECT a, 1 / 0 AS b FROM t) AS x
-- after
SELECT x.a FROM (SELECT a, NULL::int4 AS b FROM t) AS x
-- before
SELECT x.a FROM (SELECT a, (SELECT u.a FROM u) AS b FROM t) AS x
-- after
SELECT x.a FROM (SELECT a, NULL::int4 AS b FROM t) AS x
-- before
SELECT y.a FROM (SELECT x.a, x.b FROM (SELECT a, 1 / 0 AS b FROM t) AS x) AS y
-- after
SELECT y.a FROM (SELECT x.a, x.b FROM (SELECT a, 1 / 0 AS b FROM t) AS x) AS y
-- before
SELECT y.a FROM (SELECT x.a, (SELECT x.b) AS c FROM (SELECT a, 1 / 0 AS b FROM t) AS x) AS y
-- after
SELECT y.a FROM (SELECT x.a, NULL::int4 AS c FROM (SELECT a, NULL::int4 AS b FROM t) AS x) AS y
-- A WITH query is pruned only where PostgreSQL inlines it: when it is read once, or is NOT MATERIALIZED.
-- before
WITH x AS (SELECT a, 1 / 0 AS b FROM t) SELECT x.a FROM x
-- after
WITH x AS (SELECT a, NULL::int4 AS b FROM t) SELECT x.a FROM x
-- before
WITH x AS MATERIALIZED (SELECT a, 1 / 0 AS b FROM t) SELECT x.a FROM x
-- after
WITH x AS MATERIALIZED (SELECT a, 1 / 0 AS b FROM t) SELECT x.a FROM x
-- before
WITH x AS (SELECT a, 1 / 0 AS b FROM t) SELECT x.a FROM x, x AS y
-- after
WITH x AS (SELECT a, 1 / 0 AS b FROM t) SELECT x.a FROM x, x AS y
-- before
WITH x AS NOT MATERIALIZED (SELECT a, 1 / 0 AS b FROM t) SELECT x.a FROM x, x AS y
-- after
WITH x AS NOT MATERIALIZED (SELECT a, NULL::int4 AS b FROM t) SELECT x.a FROM x, x AS y
-- Columns that are read, volatile, set-returning, sort keys or part of DISTINCT stay.
-- before
SELECT x.a, x.b FROM (SELECT a, 1 / 0 AS b FROM t) AS x
-- after
SELECT x.a, x.b FROM (SELECT a, 1 / 0 AS b FROM t) AS x
-- before
SELECT x.a FROM (SELECT a, random() AS b FROM t) AS x
-- after
SELECT x.a FROM (SELECT a, random() AS b FROM t) AS x
-- before
SELECT x.a FROM (SELECT a, generate_series(1, 2) AS b FROM t) AS x
-- after
SELECT x.a FROM (SELECT a, generate_series(1, 2) AS b FROM t) AS x
-- before
SELECT x.a FROM (SELECT DISTINCT a, 1 / 0 AS b FROM t) AS x
-- after
SELECT x.a FROM (SELECT DISTINCT a, 1 / 0 AS b FROM t) AS x
-- before
SELECT x.a FROM (SELECT a, (SELECT 1) AS b FROM t ORDER BY b) AS x
-- after
SELECT x.a FROM (SELECT a, (SELECT 1) AS b FROM t ORDER BY b) AS x
-- before
SELECT x.a FROM (SELECT a, t_b / 0 AS b FROM t) AS x
-- after
SELECT x.a FROM (SELECT a, t_b / 0 AS b FROM t) AS x
