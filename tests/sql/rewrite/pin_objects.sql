-- Tables of the catalog by OID: public.t 20000, public.u 20001, s.t 20002, s.lone 20003. The search path is public, s.
-- before
SELECT 't'::regclass, CAST('u' AS pg_catalog.regclass)::oid AS u FROM t WHERE a <> 't'::regclass
-- after
SELECT '20000'::regclass, '20001'::pg_catalog.regclass::oid AS u FROM t WHERE a <> '20000'::regclass
-- Arguments, and a literal that gets its type from another
-- before
SELECT nextval('lone') FROM t UNION ALL SELECT nextval('t'::regclass)
-- after
SELECT nextval('20003'::regclass) FROM t UNION ALL SELECT nextval('20000'::regclass)
-- before
SELECT 't' UNION SELECT 'u'::regclass
-- after
SELECT '20000'::regclass AS "?column?" UNION SELECT '20001'::regclass
-- Texts stay, and numbers.
-- before
SELECT 't', 't'::text::regclass, '5'::regclass, to_regclass('t'), pg_get_serial_sequence('t', 'a')
-- after
SELECT 't', 't'::text::regclass, '5'::regclass, to_regclass('t'), pg_get_serial_sequence('t', 'a')
