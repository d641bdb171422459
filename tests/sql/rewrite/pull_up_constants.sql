-- A column of a subquery that is a constant is replaced by that constant.
-- before
SELECT x.one + a AS b FROM (SELECT 1 AS one) AS x, t
-- after
SELECT 1 + a AS b FROM (SELECT 1 AS one) AS x, t
-- before
SELECT x.zero FROM (SELECT a, 0 AS zero FROM t) AS x WHERE 1 / x.zero > 1
-- after
SELECT 0 AS zero FROM (SELECT a, 0 AS zero FROM t) AS x WHERE 1 / 0 > 1
-- before
SELECT x.p + x.q AS b FROM (VALUES (1, 2)) AS x(p, q)
-- after
SELECT 1 + 2 AS b FROM (VALUES (1, 2)) AS x(p, q)
-- before
SELECT x.one AS b FROM (SELECT 1 AS one) AS x LEFT JOIN u ON true
-- after
SELECT 1 AS b FROM (SELECT 1 AS one) AS x LEFT JOIN u ON true
-- Several rows, aggregation, DISTINCT, LIMIT and the nullable side of an outer join keep the column.
-- before
SELECT x.p AS b FROM (VALUES (1), (2)) AS x(p)
-- after
SELECT x.p AS b FROM (VALUES (1), (2)) AS x(p)
-- before
SELECT x.one AS b FROM (SELECT 1 AS one, count(*) AS n FROM t) AS x
-- after
SELECT x.one AS b FROM (SELECT 1 AS one, count(*) AS n FROM t) AS x
-- before
SELECT x.one AS b FROM (SELECT DISTINCT 1 AS one FROM t) AS x
-- after
SELECT x.one AS b FROM (SELECT DISTINCT 1 AS one FROM t) AS x
-- before
SELECT x.one AS b FROM (SELECT 1 AS one FROM t LIMIT 1) AS x
-- after
SELECT x.one AS b FROM (SELECT 1 AS one FROM t LIMIT 1) AS x
-- before
SELECT x.one AS b FROM u LEFT JOIN (SELECT 1 AS one) AS x ON true
-- after
SELECT x.one AS b FROM u LEFT JOIN (SELECT 1 AS one) AS x ON true
-- before
SELECT x.one AS b FROM (SELECT 1 AS one) AS x FULL JOIN u ON true
-- after
SELECT x.one AS b FROM (SELECT 1 AS one) AS x FULL JOIN u ON true
-- before
SELECT x.one AS b FROM (SELECT 1 AS one, generate_series(1, 2) AS n) AS x
-- after
SELECT x.one AS b FROM (SELECT 1 AS one, generate_series(1, 2) AS n) AS x
