-- Tables of the catalog: public.t (a, t_b), public.u (a, u_b), s.t (a, t_b), s.lone (a, lone_b).
-- before
SELECT zeroifnull(min(a)), list_sort(list(t_b)) FROM t WHERE contains('a', 'b')
-- after
SELECT COALESCE(min(a), 0) AS zeroifnull, CASE WHEN pg_catalog.array_agg(t_b) IS NOT NULL THEN ARRAY(SELECT item FROM pg_catalog.unnest(pg_catalog.array_agg(t_b)) AS items (item) ORDER BY item) END AS list_sort FROM t WHERE pg_catalog.strpos('a', 'b') > 0
-- Clauses of an aggregate stay.
-- before
SELECT max_by(a, t_b) FILTER (WHERE nvl(a, 1) > 0) AS best FROM t
-- after
SELECT pg_catalog.arg_max(a, t_b) FILTER (WHERE COALESCE(a, 1) > 0) AS best FROM t
-- Other functions stay.
-- before
SELECT abs(a) FROM t
-- after
SELECT abs(a) FROM t
-- Routines of the database are named by OID.
-- before
SELECT plus(a), s.plus(n => zeroifnull(a)) AS b, upper('x') FROM t
-- after
SELECT "20100".s.plus(a) AS plus, "20100".s.plus(n => COALESCE(a, 0)) AS b, upper('x') FROM t
