-- Table s.t becomes public.moved, schema old becomes new, function s.f becomes s.g, and type s.kind becomes u.sort.
-- before
SELECT t.a, s.t.b FROM s.t WHERE a > 1
-- after
SELECT t.a, t.b FROM public.moved t WHERE a > 1
-- before
SELECT x.a FROM s.t AS x JOIN s.lone USING (a)
-- after
SELECT x.a FROM public.moved AS x JOIN s.lone USING (a)
-- before
SELECT old.f(old.t.a), 'x'::old.kind FROM old.t
-- after
SELECT new.f(t.a), 'x'::new.kind FROM new.t
-- before
SELECT * FROM t WHERE EXISTS (SELECT 1 FROM s.t)
-- after
SELECT * FROM t WHERE EXISTS (SELECT 1 FROM public.moved t)
-- before
SELECT s.f(f(1)), x.f(2), 'a'::kind, 'b'::s.kind, CAST(NULL AS x.kind[])
-- after
SELECT s.g(g(1)), x.f(2), 'a'::u.sort, 'b'::u.sort, CAST(NULL AS x.kind[])
-- Functions that are named by OID.
-- before
SELECT "7".s.f(1), "8".s.f(2), "9".old.f(3)
-- after
SELECT "7".s.f(1), "8".u.h(2), "9".new.f(3)
