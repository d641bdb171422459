-- Tables of the catalog: public.t, public.u, s.t, s.lone. The search path is public, s.
-- before
SELECT * FROM t, lone, s.t, nowhere
-- after
SELECT * FROM public.t, s.lone, s.t, nowhere
-- before
SELECT a FROM t AS x JOIN u USING (a) WHERE EXISTS (SELECT 1 FROM lone WHERE lone.a = x.a)
-- after
SELECT a FROM public.t AS x JOIN public.u USING (a) WHERE EXISTS (SELECT 1 FROM s.lone WHERE lone.a = x.a)
-- before
WITH t AS (SELECT * FROM u) SELECT * FROM t, u
-- after
WITH t AS (SELECT * FROM public.u) SELECT * FROM t, public.u
-- before
WITH t AS (SELECT * FROM t) SELECT * FROM t
-- after
WITH t AS (SELECT * FROM public.t) SELECT * FROM t
-- before
WITH a AS (SELECT * FROM u), u AS (SELECT * FROM a) SELECT * FROM u
-- after
WITH a AS (SELECT * FROM public.u), u AS (SELECT * FROM a) SELECT * FROM u
-- before
WITH RECURSIVE t AS (SELECT 1 AS a UNION ALL SELECT a + 1 FROM t WHERE a < 3) SELECT * FROM t
-- after
WITH RECURSIVE t AS (SELECT 1 AS a UNION ALL SELECT a + 1 FROM t WHERE a < 3) SELECT * FROM t
-- before
SELECT * FROM (WITH t AS (SELECT 1 AS a) SELECT * FROM t) AS x, t
-- after
SELECT * FROM (WITH t AS (SELECT 1 AS a) SELECT * FROM t) AS x, public.t
-- before
SELECT 1 FROM t UNION SELECT 2 FROM u
-- after
SELECT 1 FROM public.t UNION SELECT 2 FROM public.u
-- before
SELECT t.a FROM t ORDER BY (SELECT max(a) FROM u)
-- after
SELECT t.a FROM public.t ORDER BY (SELECT max(a) FROM public.u)
-- before
SELECT NULL::lone, '{}'::_lone, 'a'::text, 'b'::nothing
-- after
SELECT NULL::s.lone, '{}'::_lone, 'a'::text, 'b'::nothing
-- before
WITH t AS (SELECT 1 AS a) INSERT INTO t SELECT a FROM t
-- after
WITH t AS (SELECT 1 AS a) INSERT INTO public.t SELECT a FROM t
-- before
WITH u AS (SELECT * FROM u) UPDATE t SET a = u.a FROM u, lone
-- after
WITH u AS (SELECT * FROM public.u) UPDATE public.t SET a = u.a FROM u, s.lone
