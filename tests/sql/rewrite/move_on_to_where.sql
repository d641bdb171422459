-- A condition with a subquery leaves the ON of an inner join.
-- before
SELECT t.a FROM t JOIN u ON t.a = u.a AND u.u_b IN (SELECT a FROM s.t)
-- after
SELECT t.a FROM t JOIN u ON t.a = u.a WHERE u.u_b IN (SELECT a FROM s.t)
-- before
SELECT t.a FROM t JOIN u ON EXISTS (SELECT FROM s.t AS x WHERE x.a = u.a) WHERE t.a > 1
-- after
SELECT t.a FROM t CROSS JOIN u WHERE t.a > 1 AND EXISTS (SELECT FROM s.t AS x WHERE x.a = u.a)
-- That of a join below an outer join stays, whose own condition may fail for rows that it leaves out.
-- before
SELECT w.a FROM u AS w RIGHT JOIN (t JOIN u ON t.a = u.a AND t.a = (SELECT max(a) FROM s.t)) ON w.a = t.a
-- after
SELECT w.a FROM u AS w RIGHT JOIN (t JOIN u ON t.a = u.a AND t.a = (SELECT max(a) FROM s.t)) ON w.a = t.a
-- Subqueries have their own FROM.
-- before
SELECT x.a FROM (SELECT t.a FROM t JOIN u ON t.a = u.a AND u.a IN (SELECT a FROM s.t)) AS x
-- after
SELECT x.a FROM (SELECT t.a FROM t JOIN u ON t.a = u.a WHERE u.a IN (SELECT a FROM s.t)) AS x
-- The ON of an outer join, and of an inner join for whose rows an outer join adds others, stays.
-- before
SELECT t.a FROM t LEFT JOIN u ON t.a = u.a AND u.u_b IN (SELECT a FROM s.t)
-- after
SELECT t.a FROM t LEFT JOIN u ON t.a = u.a AND u.u_b IN (SELECT a FROM s.t)
-- before
SELECT w.a FROM u AS w LEFT JOIN (t JOIN u ON t.a = u.a AND t.a IN (SELECT a FROM s.t)) ON w.a = t.a
-- after
SELECT w.a FROM u AS w LEFT JOIN (t JOIN u ON t.a = u.a AND t.a IN (SELECT a FROM s.t)) ON w.a = t.a
-- before
SELECT t.a FROM (t JOIN u ON t.a = u.a AND t.a IN (SELECT a FROM s.t)) FULL JOIN u AS w ON w.a = t.a
-- after
SELECT t.a FROM (t JOIN u ON t.a = u.a AND t.a IN (SELECT a FROM s.t)) FULL JOIN u AS w ON w.a = t.a
-- before
SELECT t.a FROM t JOIN u ON t.a = u.a
-- after
SELECT t.a FROM t JOIN u ON t.a = u.a
