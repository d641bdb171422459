-- Tables of the catalog: public.t (a, t_b), public.u (a, u_b), s.t (a, t_b), s.lone (a, lone_b).
-- before
SELECT t_b, count(*), a + 1 FROM t GROUP BY ALL
-- after
SELECT t_b, count(*), a + 1 FROM t GROUP BY 1, 3
-- Groups of nothing are one group.
-- before
SELECT max(a) FROM t GROUP BY ALL
-- after
SELECT max(a) FROM t GROUP BY ()
-- before
SELECT a, t_b FROM t ORDER BY ALL DESC NULLS LAST
-- after
SELECT a, t_b FROM t ORDER BY 1 DESC NULLS LAST, 2 DESC NULLS LAST
-- before
SELECT a FROM t UNION SELECT a FROM u ORDER BY ALL
-- after
SELECT a FROM t UNION SELECT a FROM u ORDER BY 1
-- A column of that name is one.
-- before
SELECT a AS "all" FROM t ORDER BY "all"
-- after
SELECT a AS "all" FROM t ORDER BY "all"
