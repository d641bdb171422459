-- Tables of the catalog: public.t (a, t_b), public.u (a, u_b), s.t (a, t_b), s.lone (a, lone_b).
-- before
SELECT * FROM t
-- after
SELECT t.a, t.t_b FROM t
-- before
SELECT 1 AS one, x.*, y.u_b FROM t AS x, u AS y
-- after
SELECT 1 AS one, x.a, x.t_b, y.u_b FROM t AS x, u AS y
-- before
SELECT * FROM t LEFT JOIN u USING (a)
-- after
SELECT t.a, t.t_b, u.u_b FROM t LEFT JOIN u USING (a)
-- before
SELECT * FROM t FULL JOIN u USING (a)
-- after
SELECT a, t.t_b, u.u_b FROM t FULL JOIN u USING (a)
-- before
SELECT * FROM public.t, s.t
-- after
SELECT public.t.a, public.t.t_b, s.t.a, s.t.t_b FROM public.t, s.t
-- before
SELECT * FROM (SELECT * FROM lone) AS x(p)
-- after
SELECT x.p, x.lone_b FROM (SELECT lone.a, lone.lone_b FROM lone) AS x(p)
-- before
WITH c AS (SELECT * FROM u) SELECT * FROM c UNION ALL SELECT * FROM u
-- after
WITH c AS (SELECT u.a, u.u_b FROM u) SELECT c.a, c.u_b FROM c UNION ALL SELECT u.a, u.u_b FROM u
-- before
SELECT count(*) FROM t WHERE EXISTS (SELECT * FROM u)
-- after
SELECT count(*) FROM t WHERE EXISTS (SELECT u.a, u.u_b FROM u)
-- before
SELECT * FROM (SELECT 1 AS a, 2 AS a) AS x
-- after
SELECT * FROM (SELECT 1 AS a, 2 AS a) AS x
-- before
SELECT * EXCLUDE (a) REPLACE (t_b + 1 AS t_b) FROM t
-- after
SELECT t_b + 1 AS t_b FROM t
-- before
SELECT x.* EXCLUDE (x.t_b) RENAME (a AS b), u.* FROM t AS x, u
-- after
SELECT x.a AS b, u.a, u.u_b FROM t AS x, u
-- before
SELECT abs(COLUMNS('b$')), COLUMNS(* EXCLUDE (a)) + 1 AS more FROM t
-- after
SELECT abs(t.t_b) AS t_b, t.t_b + 1 AS more FROM t
-- before
SELECT max(COLUMNS('^(.).*b$')) AS "most_\1" FROM t
-- after
SELECT max(t.t_b) AS most_t FROM t
