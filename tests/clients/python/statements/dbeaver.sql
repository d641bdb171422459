-- 24.2

-- connect: settings of the driver
SET extra_float_digits = 3

-- connect: name of the application
SET application_name = 'DBeaver 24.2.3 - Main'

-- connect: current database
SELECT current_database()

-- connect: version
SELECT version()

-- connect: schema and user
SELECT current_schema(), session_user

-- connect: search path
SHOW search_path

-- connect: set search path
SET search_path = sales, public

-- connect: back to the default path
SET search_path = "$user", public

-- metadata: is there pg_enum
SELECT * FROM pg_catalog.pg_enum WHERE 1<>1 LIMIT 1

-- metadata: is there reltype
SELECT reltype FROM pg_catalog.pg_class WHERE 1<>1 LIMIT 1

-- metadata: is there typcategory
SELECT typcategory FROM pg_catalog.pg_type WHERE 1<>1 LIMIT 1

-- metadata: databases
SELECT db.oid, db.* FROM pg_catalog.pg_database db WHERE 1 = 1 AND datallowconn AND NOT datistemplate OR db.datname = current_database() ORDER BY db.datname

-- metadata: templates
SELECT db.datname FROM pg_catalog.pg_database db WHERE datistemplate

-- metadata: description of a database
select description from pg_shdescription join pg_database on objoid = pg_database.oid where datname = 'postgres'

-- metadata: sizes of databases
SELECT db.datname, pg_database_size(db.oid) FROM pg_catalog.pg_database db

-- metadata: settings
select * from pg_catalog.pg_settings

-- metadata: one setting
select * from pg_catalog.pg_settings where name = 'work_mem'

-- metadata: roles
SELECT a.oid, a.*, pd.description FROM pg_catalog.pg_roles a left join pg_catalog.pg_shdescription pd on a.oid = pd.objoid ORDER BY a.rolname

-- metadata: members of a role
SELECT * FROM pg_catalog.pg_auth_members WHERE roleid = 10

-- metadata: access methods
SELECT am.oid, am.* FROM pg_catalog.pg_am am ORDER BY am.oid

-- metadata: encodings
SELECT c.contoencoding as encid, pg_catalog.pg_encoding_to_char(c.contoencoding) as encname FROM pg_catalog.pg_conversion c GROUP BY c.contoencoding ORDER BY 2

-- metadata: collations
SELECT c.oid, c.* FROM pg_catalog.pg_collation c ORDER BY c.oid

-- metadata: languages
SELECT l.oid, l.* FROM pg_catalog.pg_language l ORDER BY l.oid

-- metadata: foreign data wrappers
SELECT l.oid, l.*, p.pronamespace as handler_schema_id FROM pg_catalog.pg_foreign_data_wrapper l LEFT OUTER JOIN pg_catalog.pg_proc p ON p.oid = l.fdwhandler ORDER BY l.fdwname

-- metadata: foreign servers
SELECT l.oid, l.* FROM pg_catalog.pg_foreign_server l ORDER BY l.srvname

-- metadata: user mappings
select distinct srvname, case when rolname is null then 'public' else rolname end rolname, srvoptions, umoptions from pg_user_mapping um join pg_foreign_server fs on um.umserver = fs.OID left join pg_authid pa on um.umuser = pa.OID where fs.OID = 1 ORDER BY srvname

-- metadata: tablespaces
SELECT t.oid, t.*, pg_tablespace_location(t.oid) loc FROM pg_catalog.pg_tablespace t ORDER BY t.oid

-- metadata: available extensions
SELECT name, default_version, installed_version, comment FROM pg_catalog.pg_available_extensions ORDER BY name

-- metadata: event triggers
SELECT pet.*, d.description FROM pg_catalog.pg_event_trigger pet LEFT OUTER JOIN pg_catalog.pg_description d ON pet."oid" = d.objoid

-- metadata: extensions and their tables
SELECT e.oid, cfg.tbls, n.nspname as schema_name, e.* FROM pg_catalog.pg_extension e join pg_namespace n on n.oid = e.extnamespace left join (select ARRAY_AGG(ns.nspname || '.' || cls.relname) tbls, oid_ext from (select unnest(e1.extconfig) oid, e1.oid oid_ext from pg_catalog.pg_extension e1) c join pg_class cls on cls.oid = c.oid join pg_namespace ns on ns.oid = cls.relnamespace group by oid_ext) cfg on cfg.oid_ext = e.oid ORDER BY e.oid

-- metadata: schemas
SELECT n.oid, n.*, d.description FROM pg_catalog.pg_namespace n LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid = n.oid AND d.objsubid = 0 AND d.classoid = 'pg_namespace'::regclass ORDER BY nspname

-- metadata: one schema
SELECT 1 FROM INFORMATION_SCHEMA.SCHEMATA WHERE SCHEMA_NAME = 'sales'

-- metadata: a schema's default privileges
SELECT * FROM pg_default_acl WHERE defaclnamespace = {schema_sales}

-- metadata: types of a schema
SELECT t.oid, t.*, c.relkind, format_type(nullif(t.typbasetype, 0), t.typtypmod) as base_type_name, d.description FROM pg_catalog.pg_type t LEFT OUTER JOIN pg_catalog.pg_type et ON et.oid = t.typelem LEFT OUTER JOIN pg_catalog.pg_class c ON c.oid = t.typrelid LEFT OUTER JOIN pg_catalog.pg_description d ON t.oid = d.objoid WHERE t.typname IS NOT NULL AND (c.relkind IS NULL OR c.relkind = 'c') AND (et.typcategory IS NULL OR et.typcategory <> 'C') AND t.typnamespace = {schema_sales}

-- metadata: types of pg_catalog
SELECT t.oid, t.*, c.relkind, format_type(nullif(t.typbasetype, 0), t.typtypmod) as base_type_name, d.description FROM pg_catalog.pg_type t LEFT OUTER JOIN pg_catalog.pg_type et ON et.oid = t.typelem LEFT OUTER JOIN pg_catalog.pg_class c ON c.oid = t.typrelid LEFT OUTER JOIN pg_catalog.pg_description d ON t.oid = d.objoid WHERE t.typname IS NOT NULL AND (c.relkind IS NULL OR c.relkind = 'c') AND (et.typcategory IS NULL OR et.typcategory <> 'C') AND t.typnamespace = 11

-- metadata: a type by name
SELECT t.oid, t.*, format_type(nullif(t.typbasetype, 0), t.typtypmod) as base_type_name FROM pg_catalog.pg_type t LEFT OUTER JOIN pg_class c ON c.oid = t.typrelid LEFT OUTER JOIN pg_catalog.pg_description d ON t.oid = d.objoid WHERE t.typname = 'mood'

-- metadata: every enumeration
SELECT * FROM pg_catalog.pg_enum

-- metadata: values of an enumeration
SELECT e.enumlabel FROM pg_catalog.pg_enum e WHERE e.enumtypid = {type_mood} ORDER BY e.enumsortorder

-- metadata: check of a domain
SELECT concat(c.conname, ' ', pg_catalog.pg_get_constraintdef(oid, true)) FROM pg_catalog.pg_constraint c WHERE contypid = {type_positive}

-- metadata: fields of a composite type
SELECT c.relname, row_number() OVER (ORDER BY a.attnum) as attnum, a.*, pg_catalog.pg_get_expr(ad.adbin, ad.adrelid, true) as def_value, dsc.description FROM pg_catalog.pg_attribute a INNER JOIN pg_catalog.pg_class c ON (a.attrelid = c.oid) LEFT OUTER JOIN pg_catalog.pg_attrdef ad ON (a.attrelid = ad.adrelid AND a.attnum = ad.adnum) LEFT OUTER JOIN pg_catalog.pg_description dsc ON (c.oid = dsc.objoid AND a.attnum = dsc.objsubid) WHERE a.attnum > 0 AND NOT a.attisdropped AND c.oid = {relation_place} ORDER BY a.attnum

-- metadata: an object by name
SELECT oid, relkind, reltype FROM pg_catalog.pg_class WHERE relnamespace = {schema_sales} AND relname = 'customers' UNION ALL SELECT oid, 'c', oid FROM pg_catalog.pg_type WHERE typnamespace = {schema_sales} AND typname = 'customers'

-- metadata: tables and views of a schema
SELECT c.oid, c.*, d.description, pg_catalog.pg_get_expr(c.relpartbound, c.oid) as partition_expr, pg_catalog.pg_get_partkeydef(c.oid) as partition_key FROM pg_catalog.pg_class c LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid = c.oid AND d.objsubid = 0 AND d.classoid = 'pg_class'::regclass WHERE c.relnamespace = {schema_sales} AND c.relkind not in ('i', 'I', 'c')

-- metadata: sizes of a schema's tables
select c.oid, pg_catalog.pg_total_relation_size(c.oid) as total_rel_size, pg_catalog.pg_relation_size(c.oid) as rel_size FROM pg_class c WHERE c.relnamespace = {schema_sales}

-- metadata: size of a table
select pg_catalog.pg_total_relation_size({relation_customers}) as total_rel_size, pg_catalog.pg_relation_size({relation_customers}) as rel_size

-- metadata: columns of a schema
SELECT c.relname, a.*, pg_catalog.pg_get_expr(ad.adbin, ad.adrelid, true) as def_value, dsc.description, dep.objid FROM pg_catalog.pg_attribute a INNER JOIN pg_catalog.pg_class c ON (a.attrelid = c.oid) LEFT OUTER JOIN pg_catalog.pg_attrdef ad ON (a.attrelid = ad.adrelid AND a.attnum = ad.adnum) LEFT OUTER JOIN pg_catalog.pg_description dsc ON (c.oid = dsc.objoid AND a.attnum = dsc.objsubid) LEFT OUTER JOIN pg_depend dep on dep.refobjid = a.attrelid AND dep.deptype = 'i' and dep.refobjsubid = a.attnum and dep.classid = dep.refclassid WHERE NOT a.attisdropped AND c.relkind not in ('i', 'I', 'c') AND c.relnamespace = {schema_sales} ORDER BY a.attnum

-- metadata: constraints of a schema
SELECT c.oid, c.*, t.relname as tabrelname, rt.relnamespace as refnamespace, d.description, case when c.contype = 'c' then "substring"(pg_get_constraintdef(c.oid), 7) else null end consrc_copy FROM pg_catalog.pg_constraint c INNER JOIN pg_catalog.pg_class t ON t.oid = c.conrelid LEFT OUTER JOIN pg_catalog.pg_class rt ON rt.oid = c.confrelid LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid = c.oid AND d.objsubid = 0 AND d.classoid = 'pg_constraint'::regclass WHERE t.relnamespace = {schema_sales} ORDER BY c.oid

-- metadata: schemas that refer to a table
SELECT DISTINCT connamespace FROM pg_catalog.pg_constraint WHERE confrelid = {relation_customers}

-- metadata: indexes of a schema
SELECT i.*, i.indkey as keys, c.relname, c.relnamespace, c.relam, c.reltablespace, tc.relname as tabrelname, dsc.description, pg_catalog.pg_get_expr(i.indpred, i.indrelid) as pred_expr, pg_catalog.pg_get_expr(i.indexprs, i.indrelid, true) as expr, pg_catalog.pg_relation_size(i.indexrelid) as index_rel_size, pg_catalog.pg_stat_get_numscans(i.indexrelid) as index_num_scans FROM pg_catalog.pg_index i INNER JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid INNER JOIN pg_catalog.pg_class tc ON tc.oid = i.indrelid LEFT OUTER JOIN pg_catalog.pg_description dsc ON i.indexrelid = dsc.objoid WHERE c.relnamespace = {schema_sales} ORDER BY c.relname

-- metadata: column of an index
select pg_catalog.pg_get_indexdef({relation_orders_at}, 1, true)

-- metadata: functions of a schema
SELECT p.oid as poid, p.*, pg_catalog.pg_get_expr(p.proargdefaults, 0) as arg_defaults, d.description FROM pg_catalog.pg_proc p LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid = p.oid and d.classoid = 'pg_proc'::regclass AND d.objsubid = 0 WHERE p.pronamespace = {schema_sales} ORDER BY p.proname

-- metadata: text of a function
SELECT pg_get_functiondef({function_twice})

-- metadata: body of a function
SELECT prosrc FROM pg_proc where oid = {function_stamp}

-- metadata: aggregates of a schema
SELECT p.oid AS proc_oid, p.proname AS proc_name, a.* FROM pg_catalog.pg_aggregate a, pg_catalog.pg_proc p WHERE p.oid = a.aggfnoid AND p.pronamespace = 11 ORDER BY p.proname

-- metadata: an aggregate
SELECT (pg_identify_object('pg_proc'::regclass, aggfnoid, 0)).identity, aggtransfn::regproc, format_type(aggtranstype, NULL) as aggtranstype, CASE aggfinalfn WHEN '-'::regproc THEN NULL ELSE aggfinalfn::text END, CASE aggsortop WHEN 0 THEN NULL ELSE oprname END, agginitval, aggmtransfn, aggminvtransfn, aggfinalextra, aggmfinalextra, aggserialfn, aggdeserialfn, aggmfinalfn, format_type(aggmtranstype, NULL) as aggmtranstype, aggfinalmodify, aggmfinalmodify FROM pg_aggregate LEFT JOIN pg_operator ON pg_operator.oid = aggsortop WHERE aggfnoid = 'pg_catalog.bool_and'::regproc

-- metadata: a sequence
SELECT * from pg_catalog.pg_sequences WHERE schemaname = 'sales' AND sequencename = 'tickets'

-- metadata: parents of a schema's tables
SELECT i.inhrelid relid, pc.relnamespace parent_ns, pc.oid parent_oid, i.inhseqno FROM pg_catalog.pg_inherits i, pg_class rc, pg_class pc WHERE rc.oid = i.inhrelid AND rc.relnamespace = {schema_sales} AND pc.oid = i.inhparent

-- metadata: children of a table
SELECT i.*, c.relnamespace FROM pg_catalog.pg_inherits i, pg_catalog.pg_class c WHERE i.inhparent = {relation_customers} AND c.oid = i.inhrelid

-- metadata: bounds of a partition
select pg_get_expr(c.relpartbound, c.oid, true) as partition_range from "pg_catalog".pg_class c where relname = 'orders' and relnamespace = {schema_sales};

-- metadata: triggers of a table
SELECT x.oid, x.*, p.pronamespace as func_schema_id, d.description FROM pg_catalog.pg_trigger x LEFT OUTER JOIN pg_catalog.pg_proc p ON p.oid = x.tgfoid LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid = x.oid AND d.objsubid = 0 WHERE x.tgrelid = {relation_customers} AND NOT x.tgisinternal

-- metadata: text of a trigger
SELECT pg_catalog.pg_get_triggerdef({trigger_stamped})

-- metadata: rules of a view
SELECT r.oid, r.*, pg_get_ruledef(r.oid) AS definition FROM pg_rewrite r WHERE r.ev_class = {relation_rich} AND r.rulename <> '_RETURN'::name

-- metadata: text of a view
SELECT pg_get_viewdef({relation_rich}, true)

-- metadata: what a table depends on
SELECT DISTINCT dep.deptype, dep.classid, dep.refobjid, cl.relkind, attr.attname, pg_get_expr(ad.adbin, ad.adrelid) adefval, CASE WHEN cl.relkind IS NOT NULL THEN cl.relkind::text || COALESCE(dep.objsubid::text, '')::text WHEN tg.oid IS NOT NULL THEN 'T'::text WHEN ty.oid IS NOT NULL THEN 'y'::text WHEN ns.oid IS NOT NULL THEN 'n'::text WHEN pr.oid IS NOT NULL THEN 'p'::text WHEN la.oid IS NOT NULL THEN 'l'::text WHEN rw.oid IS NOT NULL THEN 'R'::text WHEN co.oid IS NOT NULL THEN 'C'::text || contype::text WHEN ad.oid IS NOT NULL THEN 'A'::text ELSE '' END AS type, COALESCE(coc.relname, clrw.relname, tgr.relname) AS ownertable, CASE WHEN cl.relname IS NOT NULL AND att.attname IS NOT NULL THEN cl.relname || '.' || att.attname ELSE COALESCE(cl.relname, co.conname, pr.proname, tg.tgname, ty.typname, la.lanname, rw.rulename, ns.nspname) END AS refname, COALESCE(nsc.nspname, nso.nspname, nsp.nspname, nst.nspname, nsrw.nspname, tgrn.nspname) AS nspname FROM pg_depend dep LEFT JOIN pg_class cl ON dep.refobjid = cl.oid LEFT JOIN pg_attribute att ON dep.refobjid = att.attrelid AND dep.objsubid = att.attnum LEFT JOIN pg_namespace nsc ON cl.relnamespace = nsc.oid LEFT JOIN pg_proc pr ON dep.refobjid = pr.oid LEFT JOIN pg_namespace nsp ON pr.pronamespace = nsp.oid LEFT JOIN pg_trigger tg ON dep.refobjid = tg.oid LEFT JOIN pg_class tgr ON tg.tgrelid = tgr.oid LEFT JOIN pg_namespace tgrn ON tgr.relnamespace = tgrn.oid LEFT JOIN pg_type ty ON dep.refobjid = ty.oid LEFT JOIN pg_namespace nst ON ty.typnamespace = nst.oid LEFT JOIN pg_constraint co ON dep.refobjid = co.oid LEFT JOIN pg_class coc ON co.conrelid = coc.oid LEFT JOIN pg_namespace nso ON co.connamespace = nso.oid LEFT JOIN pg_rewrite rw ON dep.refobjid = rw.oid LEFT JOIN pg_class clrw ON clrw.oid = rw.ev_class LEFT JOIN pg_namespace nsrw ON clrw.relnamespace = nsrw.oid LEFT JOIN pg_language la ON dep.refobjid = la.oid LEFT JOIN pg_namespace ns ON dep.refobjid = ns.oid LEFT JOIN pg_attrdef ad ON ad.oid = dep.refobjid LEFT JOIN pg_attribute attr ON attr.attrelid = ad.adrelid and attr.attnum = ad.adnum WHERE dep.objid = {relation_customers} ORDER BY type

-- metadata: what depends on a table
SELECT DISTINCT dep.deptype, dep.classid, dep.objid, cl.relkind, attr.attname, pg_get_expr(ad.adbin, ad.adrelid) adefval, CASE WHEN cl.relkind IS NOT NULL THEN cl.relkind::text || COALESCE(dep.objsubid::text, '')::text WHEN tg.oid IS NOT NULL THEN 'T'::text WHEN ty.oid IS NOT NULL THEN 'y'::text WHEN ns.oid IS NOT NULL THEN 'n'::text WHEN pr.oid IS NOT NULL THEN 'p'::text WHEN la.oid IS NOT NULL THEN 'l'::text WHEN rw.oid IS NOT NULL THEN 'R'::text WHEN co.oid IS NOT NULL THEN 'C'::text || contype::text WHEN ad.oid IS NOT NULL THEN 'A'::text ELSE '' END AS type, COALESCE(coc.relname, clrw.relname, tgr.relname) AS ownertable, CASE WHEN cl.relname IS NOT NULL AND att.attname IS NOT NULL THEN cl.relname || '.' || att.attname ELSE COALESCE(cl.relname, co.conname, pr.proname, tg.tgname, ty.typname, la.lanname, rw.rulename, ns.nspname) END AS refname, COALESCE(nsc.nspname, nso.nspname, nsp.nspname, nst.nspname, nsrw.nspname, tgrn.nspname) AS nspname FROM pg_depend dep LEFT JOIN pg_class cl ON dep.objid = cl.oid LEFT JOIN pg_attribute att ON dep.objid = att.attrelid AND dep.objsubid = att.attnum LEFT JOIN pg_namespace nsc ON cl.relnamespace = nsc.oid LEFT JOIN pg_proc pr ON dep.objid = pr.oid LEFT JOIN pg_namespace nsp ON pr.pronamespace = nsp.oid LEFT JOIN pg_trigger tg ON dep.objid = tg.oid LEFT JOIN pg_class tgr ON tg.tgrelid = tgr.oid LEFT JOIN pg_namespace tgrn ON tgr.relnamespace = tgrn.oid LEFT JOIN pg_type ty ON dep.objid = ty.oid LEFT JOIN pg_namespace nst ON ty.typnamespace = nst.oid LEFT JOIN pg_constraint co ON dep.objid = co.oid LEFT JOIN pg_class coc ON co.conrelid = coc.oid LEFT JOIN pg_namespace nso ON co.connamespace = nso.oid LEFT JOIN pg_rewrite rw ON dep.objid = rw.oid LEFT JOIN pg_class clrw ON clrw.oid = rw.ev_class LEFT JOIN pg_namespace nsrw ON clrw.relnamespace = nsrw.oid LEFT JOIN pg_language la ON dep.objid = la.oid LEFT JOIN pg_namespace ns ON dep.objid = ns.oid LEFT JOIN pg_attrdef ad ON ad.oid = dep.objid LEFT JOIN pg_attribute attr ON attr.attrelid = ad.adrelid and attr.attnum = ad.adnum WHERE dep.refobjid = {relation_customers} ORDER BY type

-- metadata: privileges on tables
SELECT * FROM information_schema.table_privileges WHERE table_catalog = current_database() AND grantee = 'PUBLIC'

-- metadata: privileges on functions
SELECT * FROM information_schema.routine_privileges WHERE specific_catalog = current_database() AND grantee = 'PUBLIC' AND specific_schema = 'sales'

-- metadata: privileges on schemas and sequences
SELECT * FROM (SELECT DISTINCT relnamespace, relacl, relname, relkind, (aclexplode(relacl)).grantee as granteeI FROM pg_class WHERE relacl IS NOT NULL AND relnamespace IN (SELECT oid FROM pg_namespace WHERE nspname NOT LIKE 'pg_%' AND nspname != 'information_schema') UNION ALL SELECT DISTINCT n.oid AS relnamespace, nspacl AS relacl, n.nspname AS relname, cast('C' as "char") AS relkind, (aclexplode(nspacl)).grantee as granteeI FROM pg_catalog.pg_namespace n WHERE n.nspacl IS NOT NULL) AS tr WHERE tr.granteeI = 0 AND tr.relkind IN ('S', 'm', 'C')

-- metadata: search for tables
SELECT pc.oid, pc.relname, pc.relnamespace, pc.relkind FROM pg_catalog.pg_class pc WHERE pc.relkind in ('r', 'v', 'm', 'f', 'p') AND (pc.relname ILIKE '%cust%' OR obj_description(pc.oid, 'pg_class') ILIKE '%cust%' OR (pc.relkind = 'v' AND pg_get_viewdef(pc."oid") ILIKE '%cust%')) AND pc.relnamespace IN ({schema_sales}) ORDER BY pc.relname LIMIT 100

-- metadata: search for functions
SELECT DISTINCT pp.oid as poid, pp.* FROM pg_catalog.pg_proc pp WHERE (pp.proname ILIKE '%tw%' OR obj_description(pp.oid, 'pg_proc') ILIKE '%tw%' OR (pp.prokind <> 'm' AND pp.prokind <> 'a' AND pg_get_functiondef(pp."oid") ILIKE '%tw%')) AND pp.pronamespace IN ({schema_sales}) ORDER BY pp.proname LIMIT 100

-- metadata: search for constraints
SELECT pc.oid, pc.conname, pc.connamespace FROM pg_catalog.pg_constraint pc WHERE (pc.conname ILIKE '%once%' OR obj_description(pc.oid, 'pg_constraint') ILIKE '%once%' OR (pg_get_constraintdef(pc."oid") ILIKE '%once%')) AND pc.connamespace IN ({schema_sales}) ORDER BY pc.conname LIMIT 100

-- metadata: search for columns
SELECT x.attname, x.attrelid, x.atttypid, c.relnamespace FROM pg_catalog.pg_attribute x, pg_catalog.pg_class c WHERE c.oid = x.attrelid AND (x.attname LIKE '%nam%' OR col_description(c.oid, x.attnum) LIKE '%nam%') AND c.relnamespace IN ({schema_sales}) ORDER BY x.attname LIMIT 100

-- metadata: sessions
SELECT sa.* FROM pg_catalog.pg_stat_activity sa

-- metadata: who waits for whom
with locks as (select pid, locktype, mode, granted, transactionid tid, relation, page, tuple from pg_locks), conflict as (select * from (values ('AccessShareLock', 'AccessExclusiveLock', 1), ('RowShareLock', 'ExclusiveLock', 1), ('RowExclusiveLock', 'ShareLock', 1), ('ShareLock', 'RowExclusiveLock', 1), ('ExclusiveLock', 'ExclusiveLock', 6), ('AccessExclusiveLock', 'AccessShareLock', 1)) as t (mode1, mode2, prt)), real_locks as (select la.pid as blocked_pid, blocked_activity.usename AS blocked_user, la.blocked AS blocking_pid, blocking_activity.usename AS blocking_user, blocked_activity.query AS blocked_statement, blocking_activity.query AS statement_in from (select l.*, c.mode2, c.prt, l2.pid blocked, row_number() over (partition by l.pid order by c.prt) rid from locks l join conflict c on l.mode = c.mode1 join locks l2 on l2.locktype = l.locktype and l2.mode = c.mode2 and l2.granted and l.pid != l2.pid and coalesce(l.tid::text, '*') || ':' || coalesce(l.relation::text, '*') || ':' || coalesce(l.page::text, '*') || ':' || coalesce(l.tuple::text, '*') = coalesce(l2.tid::text, '*') || ':' || coalesce(l2.relation::text, '*') || ':' || coalesce(l2.page::text, '*') || ':' || coalesce(l2.tuple::text, '*') where not l.granted) la join pg_catalog.pg_stat_activity blocked_activity ON blocked_activity.pid = la.pid join pg_catalog.pg_stat_activity blocking_activity ON blocking_activity.pid = la.blocked where la.rid = 1), root_quest as (select blocking_pid as blocking_pid from real_locks except select blocked_pid from real_locks) select blocked_pid, blocked_user, blocking_pid, blocking_user, blocked_statement, statement_in from real_locks union select real_locks.blocking_pid, real_locks.blocking_user, null::integer, null::text, real_locks.statement_in, null::text from real_locks, root_quest where real_locks.blocking_pid = root_quest.blocking_pid

-- metadata: locks of a session
select coalesce(db.datname, '') as datname, coalesce(lock.locktype, '') as locktype, coalesce(lock.relation::regclass::varchar, '') as relation, coalesce(lock.mode, '') as mode, coalesce(lock.transactionid::varchar, '') as tid, lock.page as page, lock.tuple as tuple, lock.pid as pid, lock.granted from pg_catalog.pg_locks lock left join pg_catalog.pg_database db on db.oid = lock.database where lock.pid = 0

-- queries: rows of a table
SELECT c.* FROM sales.customers c LIMIT 200

-- queries: a sequence as a table
SELECT * from sales.tickets

-- queries: number of rows
SELECT COUNT(*) FROM sales.orders

-- queries: the plan as XML
EXPLAIN (FORMAT XML, COSTS, VERBOSE) SELECT * FROM sales.customers WHERE balance > 3
