-- A test of the privileges of current_user is one of the current role.
-- before
SELECT has_table_privilege(current_user, 'public.t', 'SELECT') AS c FROM t
-- after
SELECT has_table_privilege('public.t', 'SELECT') AS c FROM t
-- before
SELECT a FROM t WHERE has_column_privilege(current_user, 20000::oid, 'a', 'SELECT') AND has_schema_privilege(user, 's', 'USAGE')
-- after
SELECT a FROM t WHERE has_column_privilege(20000::oid, 'a', 'SELECT') AND has_schema_privilege('s', 'USAGE')
-- Tests of other roles stay.
-- before
SELECT has_table_privilege(session_user, 'public.t', 'SELECT') AS c, has_table_privilege('gpudb', 'public.t', 'SELECT') AS d FROM t
-- after
SELECT has_table_privilege(session_user, 'public.t', 'SELECT') AS c, has_table_privilege('gpudb', 'public.t', 'SELECT') AS d FROM t
-- before
SELECT has_table_privilege(10::oid, 'public.t', 'SELECT') AS c FROM t
-- after
SELECT has_table_privilege(10::oid, 'public.t', 'SELECT') AS c FROM t
