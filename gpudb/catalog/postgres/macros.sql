-- Functions that look objects up, over the relations of pg_catalog and tables of ours beside them. They are found on the
-- search path of the statement's connection, which also has the variables
--   pg_path      OIDs of the schemas that a name without one is looked up in, in order
--   pg_temp      OID of the session's temporary schema, or 0
--   pg_reach     OIDs of the roles that the current role reaches, as in role_reach
--   pg_superuser whether the current role is a superuser
--   pg_bypassrls whether policies never restrict the current role
--   pg_schemas   OIDs of schemas by name, if the statement looks names up
--   pg_relations names of relations by the texts of their OIDs, if the statement shows expressions
--   pg_short_texts  expressions without the schema public by those with it, if the statement shows expressions
--   pg_objects   literals of types as regclass by those of the OIDs, if the statement shows expressions
--   pg_grants    privileges of the current role by object, if the statement asks for them
--   pg_database  name of the database
--   pg_version   the catalog's version, which stands for the transaction that wrote a row
-- Every operand is put in textually: inside, all columns are qualified and no alias is one that the renderer makes. Each
-- subquery looks one thing up by one operand, since planning is what these statements spend their time on.

-- ---------------------------------------------------------------------------------------------- names

CREATE MACRO sys_quote(t) AS list_transform([CAST(t AS VARCHAR)], lambda name: CASE
    WHEN regexp_full_match(name, '[a-z_][a-z0-9_$]*') AND NOT contains({reserved}, ' ' || name || ' ') THEN name
    ELSE '"' || replace(name, '"', '""') || '"' END)[1];

-- The parts of a name as typed, unquoted ones folded to lower case; and the name as it would be printed.
CREATE MACRO sys_parts(t) AS list_transform(list_filter(regexp_extract_all(t, '"(?:[^"]|"")*"|[^."]+'),
    lambda part: trim(part) <> ''), lambda part: CASE WHEN part[1] = '"' THEN replace(part[2:-2], '""', '"') ELSE lower(trim(part)) END);
CREATE MACRO sys_printed(t) AS
    array_to_string(list_transform(sys_parts(CAST(t AS VARCHAR)), lambda each: sys_quote(each)), '.');

CREATE MACRO sys_rank(namespace) AS list_position(getvariable('pg_path'), namespace);

-- ---------------------------------------------------------------------------------------------- visibility

CREATE MACRO sys_table_visible(x) AS (x IN (SELECT vs.oid FROM relation_names AS vs WHERE vs.visible));
CREATE MACRO sys_type_visible(x) AS (x IN (SELECT vs.oid FROM type_names AS vs WHERE vs.visible));
CREATE MACRO sys_function_visible(x) AS
    (x IN (SELECT vs.oid FROM pg_proc AS vs
           WHERE sys_rank(vs.pronamespace) > 0 AND vs.pronamespace <> getvariable('pg_temp')));
CREATE MACRO sys_operator_visible(x) AS
    (x IN (SELECT vs.oid FROM pg_operator AS vs WHERE sys_rank(vs.oprnamespace) > 0));
CREATE MACRO sys_opclass_visible(x) AS
    (x IN (SELECT vs.oid FROM pg_opclass AS vs WHERE sys_rank(vs.opcnamespace) > 0));
CREATE MACRO sys_opfamily_visible(x) AS
    (x IN (SELECT vs.oid FROM pg_opfamily AS vs WHERE sys_rank(vs.opfnamespace) > 0));
CREATE MACRO sys_collation_visible(x) AS
    (x IN (SELECT vs.oid FROM pg_collation AS vs WHERE sys_rank(vs.collnamespace) > 0));
CREATE MACRO sys_conversion_visible(x) AS
    (x IN (SELECT vs.oid FROM pg_conversion AS vs WHERE sys_rank(vs.connamespace) > 0));
CREATE MACRO sys_ts_config_visible(x) AS
    (x IN (SELECT vs.oid FROM pg_ts_config AS vs WHERE sys_rank(vs.cfgnamespace) > 0));
CREATE MACRO sys_ts_dict_visible(x) AS
    (x IN (SELECT vs.oid FROM pg_ts_dict AS vs WHERE sys_rank(vs.dictnamespace) > 0));
CREATE MACRO sys_ts_parser_visible(x) AS
    (x IN (SELECT vs.oid FROM pg_ts_parser AS vs WHERE sys_rank(vs.prsnamespace) > 0));
CREATE MACRO sys_ts_template_visible(x) AS
    (x IN (SELECT vs.oid FROM pg_ts_template AS vs WHERE sys_rank(vs.tmplnamespace) > 0));

-- ---------------------------------------------------------------------------------------------- types

CREATE MACRO sys_interval_words(modifier) AS CASE (modifier >> 16) & 32767
    WHEN 4 THEN 'year' WHEN 2 THEN 'month' WHEN 8 THEN 'day' WHEN 1024 THEN 'hour' WHEN 2048 THEN 'minute'
    WHEN 4096 THEN 'second' WHEN 6 THEN 'year to month' WHEN 1032 THEN 'day to hour' WHEN 3080 THEN 'day to minute'
    WHEN 7176 THEN 'day to second' WHEN 3072 THEN 'hour to minute' WHEN 7168 THEN 'hour to second'
    WHEN 6144 THEN 'minute to second' END || CASE WHEN modifier & 65535 < 65535 THEN '(' || (modifier & 65535) || ')'
    ELSE '' END;
CREATE MACRO sys_modifier(style, modifier) AS CASE style
    WHEN 'numeric' THEN '(' || ((modifier - 4) >> 16) || ',' || (xor((modifier - 4) & 2047, 1024) - 1024) || ')'
    WHEN 'length' THEN CASE WHEN modifier > 4 THEN '(' || (modifier - 4) || ')' ELSE '' END
    WHEN 'plain' THEN '(' || modifier || ')'
    WHEN 'interval' THEN coalesce(' ' || sys_interval_words(modifier),
        CASE WHEN modifier & 65535 < 65535 THEN '(' || (modifier & 65535) || ')' ELSE '' END) ELSE '' END;
CREATE MACRO sys_unknown_type(x) AS CASE WHEN x = 0 THEN '-' WHEN x IS NOT NULL THEN '???' END;
CREATE MACRO sys_plain_type(x) AS
    coalesce((SELECT first(ft.name) FROM type_names AS ft WHERE ft.oid = x), sys_unknown_type(x));
CREATE MACRO sys_type_name(x, modifier) AS list_transform(
    [struct_pack(t := (SELECT first(ft) FROM type_names AS ft WHERE ft.oid = x), o := x, m := CAST(modifier AS INTEGER))],
    lambda p: CASE WHEN p.t IS NULL THEN sys_unknown_type(p.o) WHEN p.m IS NULL THEN p.t.name
        WHEN p.m < 0 THEN p.t.unmodified ELSE p.t.before || sys_modifier(p.t.style, p.m) || p.t.after END)[1];

-- ---------------------------------------------------------------------------------------------- OIDs as names

CREATE MACRO sys_number_or(found, x) AS coalesce(found, CASE WHEN x = 0 THEN '-' ELSE CAST(x AS VARCHAR) END);
CREATE MACRO pg_regclass_name(x) AS
    sys_number_or((SELECT first(nc.name) FROM relation_names AS nc WHERE nc.oid = x), x);
CREATE MACRO pg_regtype_name(x) AS sys_plain_type(x);
-- A function that is not on the search path is shown with its schema.
CREATE MACRO pg_regproc_name(x) AS sys_number_or((SELECT first(
    CASE WHEN sys_rank(nc.namespace) > 0 THEN '' ELSE sys_quote(nc.nspname) || '.' END || nc.name)
    FROM procedure_names AS nc WHERE nc.oid = x), x);
CREATE MACRO pg_regprocedure_name(x) AS sys_number_or((SELECT first(
    CASE WHEN sys_rank(nc.namespace) > 0 THEN '' ELSE sys_quote(nc.nspname) || '.' END
    || sys_quote(nc.proname) || '(' || nc.arguments || ')') FROM procedure_names AS nc WHERE nc.oid = x), x);
CREATE MACRO pg_regoper_name(x) AS sys_number_or((SELECT first(
    CASE WHEN (SELECT count(*) FROM pg_operator AS no WHERE no.oprname = nc.oprname) = 1 THEN nc.oprname
    ELSE 'pg_catalog.' || nc.oprname END) FROM pg_operator AS nc WHERE nc.oid = x), x);
CREATE MACRO pg_regoperator_name(x) AS sys_number_or((SELECT first(nc.oprname || '(' ||
    CASE WHEN nc.oprleft = 0 THEN 'NONE' ELSE sys_plain_type(nc.oprleft) END || ',' ||
    CASE WHEN nc.oprright = 0 THEN 'NONE' ELSE sys_plain_type(nc.oprright) END || ')')
    FROM pg_operator AS nc WHERE nc.oid = x), x);
CREATE MACRO pg_regnamespace_name(x) AS
    sys_number_or((SELECT first(sys_quote(nc.nspname)) FROM pg_namespace AS nc WHERE nc.oid = x), x);
CREATE MACRO pg_regrole_name(x) AS
    sys_number_or((SELECT first(sys_quote(nc.rolname)) FROM pg_authid AS nc WHERE nc.oid = x), x);
CREATE MACRO pg_regcollation_name(x) AS
    sys_number_or((SELECT first(sys_quote(nc.collname)) FROM pg_collation AS nc WHERE nc.oid = x), x);
CREATE MACRO pg_regconfig_name(x) AS
    sys_number_or((SELECT first(sys_quote(nc.cfgname)) FROM pg_ts_config AS nc WHERE nc.oid = x), x);
CREATE MACRO pg_regdictionary_name(x) AS
    sys_number_or((SELECT first(sys_quote(nc.dictname)) FROM pg_ts_dict AS nc WHERE nc.oid = x), x);

-- ---------------------------------------------------------------------------------------------- names as OIDs

CREATE MACRO sys_number(t) AS list_transform([CAST(t AS VARCHAR)], lambda v:
    CASE WHEN v = '-' THEN 0 WHEN regexp_full_match(v, '[0-9]+') THEN CAST(v AS BIGINT) END)[1];
-- Whether the current role has one of the wanted privileges on an object. The variable pg_grants has its privileges by
-- object: views ask this for every row.
CREATE MACRO sys_own_grants(what, x) AS coalesce(map_extract_value(getvariable('pg_grants'), what || x),
    CASE WHEN x < 16384 THEN CASE what WHEN 'r' THEN ['r'] WHEN 'f' THEN ['X'] WHEN 'd' THEN ['c', 'T'] ELSE ['U'] END END);
CREATE MACRO sys_own(what, x, wanted) AS list_transform([CAST(x AS BIGINT)], lambda o:
    CASE WHEN sys_own_grants(what, o) IS NOT NULL
        THEN (getvariable('pg_superuser') AND len(wanted) > 0) OR list_has_any(sys_own_grants(what, o), wanted) END)[1];
-- True for a name whose schema the current role may look into, or that has none; 42501 for any other.
CREATE MACRO sys_look_in(parts) AS list_transform([struct_pack(name := parts[-2], found := CASE WHEN len(parts) > 1
        THEN map_extract_value(getvariable('pg_schemas'), parts[-2]) END)],
    lambda p: CASE WHEN (p).found IS NULL OR getvariable('pg_superuser') OR coalesce(sys_own('n', (p).found, ['U']), true) THEN true
        ELSE CAST(pg_error('42501', 'permission denied for schema ' || (p).name) AS BOOLEAN) END)[1];
-- A relation's name as printed, without the database's; 0A000 for one of another database.
CREATE MACRO sys_printed_here(t) AS list_transform([struct_pack(parts := sys_parts(CAST(t AS VARCHAR)), shown := t)], lambda p:
    CASE WHEN len((p).parts) <> 3 THEN array_to_string(list_transform((p).parts, lambda each: sys_quote(each)), '.')
        WHEN (p).parts[1] = getvariable('pg_database')
            THEN array_to_string(list_transform((p).parts[2:], lambda each: sys_quote(each)), '.')
        ELSE pg_error('0A000', 'cross-database references are not implemented: "' || (p).shown || '"') END)[1];
CREATE MACRO sys_find_class(t) AS coalesce(sys_number(t), CASE WHEN sys_look_in(sys_parts(CAST(t AS VARCHAR)))
    THEN (SELECT min(lc.oid) FROM relation_names AS lc
        WHERE sys_printed_here(t) IN (lc.qualified, CASE WHEN lc.visible THEN lc.short END)) END);

-- A type's name as typed: SQL's spelling or PostgreSQL's, with [] for arrays; a modifier is passed over.
CREATE MACRO sys_bare_type(t) AS trim(regexp_replace(regexp_replace(
    CASE WHEN contains(t, '"') THEN t ELSE lower(t) END, '(\s*\[\d*\])+\s*$', ''), '\s*\([\d\s,]*\)', ''));
CREATE MACRO sys_internal_type(t) AS CASE t
    WHEN 'boolean' THEN 'bool' WHEN 'smallint' THEN 'int2' WHEN 'integer' THEN 'int4' WHEN 'int' THEN 'int4'
    WHEN 'bigint' THEN 'int8' WHEN 'real' THEN 'float4' WHEN 'double precision' THEN 'float8' WHEN 'float' THEN 'float8'
    WHEN 'decimal' THEN 'numeric' WHEN 'dec' THEN 'numeric' WHEN 'character varying' THEN '"varchar"'
    WHEN 'char varying' THEN 'varchar' WHEN 'character' THEN 'bpchar' WHEN 'char' THEN 'bpchar'
    WHEN 'bit varying' THEN 'varbit' WHEN 'time without time zone' THEN '"time"' WHEN 'time with time zone' THEN 'timetz'
    WHEN 'timestamp without time zone' THEN '"timestamp"' WHEN 'timestamp with time zone' THEN 'timestamptz'
    ELSE t END;
CREATE MACRO sys_printed_type(t) AS list_transform([sys_bare_type(CAST(t AS VARCHAR))],
    lambda bare: sys_printed(sys_internal_type(bare)))[1];
CREATE MACRO sys_find_type(t) AS coalesce(sys_number(t),
    CASE WHEN sys_look_in(sys_parts(sys_bare_type(CAST(t AS VARCHAR)))) THEN (SELECT min(CASE
        WHEN regexp_matches(CAST(t AS VARCHAR), '\[\d*\]\s*$') THEN lc.array_oid ELSE lc.oid END)
    FROM type_names AS lc
    WHERE sys_printed_type(t) IN (lc.qualified, CASE WHEN lc.visible THEN lc.short END)) END);

-- Whether a function is meant by a name as typed: on the search path, or in the schema that the name tells.
CREATE MACRO sys_proc_meant(parts, proname, namespace, nspname) AS proname = parts[-1]
    AND CASE WHEN len(parts) = 1 THEN sys_rank(namespace) > 0 ELSE nspname = parts[-2] END;
CREATE MACRO sys_find_proc(t) AS coalesce(sys_number(t), CASE WHEN sys_look_in(sys_parts(CAST(t AS VARCHAR)))
    THEN (SELECT CASE WHEN count(*) = 1 THEN min(lc.oid) END FROM procedure_names AS lc
        WHERE sys_proc_meant(sys_parts(CAST(t AS VARCHAR)), lc.proname, lc.namespace, lc.nspname)) END);
-- The types in a function's parentheses, each by one of its spellings.
CREATE MACRO sys_signature(t) AS list_transform(string_split(CASE WHEN trim(t) = '' THEN NULL ELSE t END, ','), lambda part:
    sys_internal_type(regexp_replace(sys_bare_type(part), '^pg_catalog\s*\.\s*', ''))
    || CASE WHEN regexp_matches(part, '\[\d*\]\s*$') THEN '[]' ELSE '' END);
CREATE MACRO sys_find_procedure(t) AS coalesce(sys_number(t),
    CASE WHEN sys_look_in(sys_parts(regexp_replace(CAST(t AS VARCHAR), '\(.*$', '')))
    THEN (SELECT min(lc.oid) FROM procedure_names AS lc
    WHERE sys_proc_meant(sys_parts(regexp_replace(CAST(t AS VARCHAR), '\(.*$', '')), lc.proname, lc.namespace, lc.nspname)
        AND sys_signature(lc.arguments)
            IS NOT DISTINCT FROM sys_signature(regexp_extract(CAST(t AS VARCHAR), '\((.*)\)\s*$', 1))) END);
CREATE MACRO sys_find_namespace(t) AS coalesce(sys_number(t), (SELECT min(lc.oid) FROM pg_namespace AS lc
    WHERE lc.nspname = sys_parts(CAST(t AS VARCHAR))[-1]));
CREATE MACRO sys_find_role(t) AS coalesce(sys_number(t), (SELECT min(lc.oid) FROM pg_authid AS lc
    WHERE lc.rolname = sys_parts(CAST(t AS VARCHAR))[-1]));
CREATE MACRO sys_find_collation(t) AS coalesce(sys_number(t), (SELECT min(lc.oid) FROM pg_collation AS lc
    WHERE lc.collname = sys_parts(CAST(t AS VARCHAR))[-1]));

CREATE MACRO sys_found(found, t, state, before, after) AS
    list_transform([struct_pack(known := found, shown := t)], lambda p: coalesce((p).known,
        CASE WHEN (p).shown IS NOT NULL THEN CAST(pg_error(state, before || (p).shown || after) AS BIGINT) END))[1];
CREATE MACRO sys_missing_schema(parts) AS list_transform([struct_pack(named := parts)], lambda p:
    CASE WHEN len((p).named) > 1 AND NOT starts_with((p).named[-2], 'pg_temp')
        AND map_extract_value(getvariable('pg_schemas'), (p).named[-2]) IS NULL THEN (p).named[-2] END)[1];
CREATE MACRO pg_to_regclass(t) AS sys_found(sys_find_class(t), t, '42P01', 'relation "', '" does not exist');
-- A relation whose name is a text: a schema that does not exist is said first.
CREATE MACRO pg_to_regrelation(t) AS list_transform([struct_pack(known := sys_find_class(t), shown := t,
        schema := sys_missing_schema(sys_parts(CAST(t AS VARCHAR))))], lambda p: coalesce((p).known,
    CASE WHEN (p).schema IS NOT NULL
        THEN CAST(pg_error('3F000', 'schema "' || (p).schema || '" does not exist') AS BIGINT)
        WHEN (p).shown IS NOT NULL
        THEN CAST(pg_error('42P01', 'relation "' || (p).shown || '" does not exist') AS BIGINT) END))[1];
CREATE MACRO pg_to_regtype(t) AS list_transform([struct_pack(known := sys_find_type(t), shown := t,
        schema := CASE WHEN t LIKE '%.%' THEN sys_missing_schema(sys_parts(CAST(t AS VARCHAR))) END)], lambda p:
    coalesce((p).known, CASE WHEN (p).schema IS NOT NULL
        THEN CAST(pg_error('3F000', 'schema "' || (p).schema || '" does not exist') AS BIGINT)
        WHEN (p).shown IS NOT NULL
        THEN CAST(pg_error('42704', 'type "' || (p).shown || '" does not exist') AS BIGINT) END))[1];
CREATE MACRO sys_several_procs(t) AS
    (SELECT count(*) > 1 FROM procedure_names AS lc
        WHERE sys_proc_meant(sys_parts(CAST(t AS VARCHAR)), lc.proname, lc.namespace, lc.nspname));
CREATE MACRO pg_to_regproc(t) AS coalesce(sys_find_proc(t), CASE
    WHEN sys_several_procs(t) THEN CAST(pg_error('42725', 'more than one function named "' || t || '"') AS BIGINT)
    WHEN t IS NOT NULL THEN CAST(pg_error('42883', 'function "' || t || '" does not exist') AS BIGINT) END);
CREATE MACRO pg_to_regprocedure(t) AS
    sys_found(sys_find_procedure(t), t, '42883', 'function "', '" does not exist');
CREATE MACRO pg_to_regnamespace(t) AS sys_found(sys_find_namespace(t), t, '3F000', 'schema "', '" does not exist');
CREATE MACRO pg_to_regrole(t) AS sys_found(sys_find_role(t), t, '42704', 'role "', '" does not exist');
CREATE MACRO pg_to_regcollation(t) AS
    sys_found(sys_find_collation(t), t, '42704', 'collation "', '" for encoding "UTF8" does not exist');
CREATE MACRO sys_find_text_search(t) AS regexp_replace(t, '^pg_catalog[.]', '');
CREATE MACRO pg_to_regconfig(t) AS sys_found(
    (SELECT first(lt.oid) FROM pg_ts_config AS lt WHERE lt.cfgname = sys_find_text_search(t)), t,
    '42704', 'text search configuration "', '" does not exist');
CREATE MACRO pg_to_regdictionary(t) AS sys_found(
    (SELECT first(lt.oid) FROM pg_ts_dict AS lt WHERE lt.dictname = sys_find_text_search(t)), t,
    '42704', 'text search dictionary "', '" does not exist');

-- ---------------------------------------------------------------------------------------------- descriptions

CREATE MACRO sys_userbyid(x) AS coalesce((SELECT first(da.rolname) FROM pg_authid AS da WHERE da.oid = x),
    'unknown (OID=' || x || ')');
CREATE MACRO sys_role_oid(t) AS sys_found((SELECT min(lc.oid) FROM pg_authid AS lc WHERE lc.rolname = t), t, '42704',
    'role "', '" does not exist');
CREATE MACRO sys_role_kinds(t) AS list_distinct(list_transform(string_split(t, ','), lambda word: CASE upper(trim(word))
    WHEN 'USAGE' THEN 'usage' WHEN 'MEMBER' THEN 'member' WHEN 'SET' THEN 'set'
    WHEN 'USAGE WITH GRANT OPTION' THEN 'admin' WHEN 'USAGE WITH ADMIN OPTION' THEN 'admin'
    WHEN 'MEMBER WITH GRANT OPTION' THEN 'admin' WHEN 'MEMBER WITH ADMIN OPTION' THEN 'admin'
    WHEN 'SET WITH GRANT OPTION' THEN 'admin' WHEN 'SET WITH ADMIN OPTION' THEN 'admin'
    ELSE CAST(pg_error('22023', 'unrecognized privilege type: "' || trim(word) || '"') AS VARCHAR) END));
CREATE MACRO sys_reaches(reach, role, kinds) AS
    (list_contains(kinds, 'usage') AND list_contains(struct_extract(reach, 'usage'), role))
    OR (list_contains(kinds, 'member') AND list_contains(struct_extract(reach, 'member'), role))
    OR (list_contains(kinds, 'set') AND list_contains(struct_extract(reach, 'set'), role))
    OR (list_contains(kinds, 'admin') AND list_contains(struct_extract(reach, 'admin'), role));
-- What a role may do with another one: usage, member, set and admin, of which one of `kinds` is enough.
-- The kinds are read for a superuser, too: an unknown one is an error.
CREATE MACRO sys_current_has_role(role, kinds) AS CASE WHEN role IS NULL THEN NULL
    WHEN getvariable('pg_superuser') THEN list_contains(kinds, kinds[1])
    ELSE sys_reaches(getvariable('pg_reach'), role, kinds) END;
CREATE MACRO sys_has_role(x, role, kinds) AS CASE WHEN x IS NULL OR role IS NULL THEN NULL
    WHEN x = role AND kinds <> ['admin'] THEN true
    ELSE coalesce((SELECT first(rr.superuser OR sys_reaches(rr, role, kinds)) FROM role_reach AS rr WHERE rr.oid = x),
        false) END;
CREATE MACRO sys_class(class) AS
    (SELECT first(dc.oid) FROM pg_class AS dc WHERE dc.relname = class AND dc.relnamespace = 11);
CREATE MACRO sys_description(x, class) AS (SELECT first(dd.description) FROM pg_description AS dd
    WHERE dd.objoid = x AND dd.objsubid = 0 AND dd.classoid = class);
CREATE MACRO sys_any_description(x) AS
    (SELECT first(dd.description) FROM pg_description AS dd WHERE dd.objoid = x AND dd.objsubid = 0);
CREATE MACRO sys_shared_description(x, class) AS
    (SELECT first(dd.description) FROM pg_shdescription AS dd WHERE dd.objoid = x AND dd.classoid = class);
CREATE MACRO sys_column_description(x, number) AS (SELECT first(dd.description) FROM pg_description AS dd
    WHERE dd.objoid = x AND dd.objsubid = number AND dd.classoid = 1259);
-- Names of schema public have it where the search path does not.
CREATE MACRO sys_by_path(t) AS CASE WHEN list_contains(getvariable('pg_path'), 2200)
    THEN coalesce(map_extract_value(getvariable('pg_short_texts'), t), t) ELSE t END;
-- An expression as kept: the OIDs of relations, types … in it become their names.
CREATE MACRO sys_object_names(t) AS CASE WHEN regexp_matches(t, '''\d+''::reg') THEN list_reduce(
    list_prepend(t, list_distinct(regexp_extract_all(t, '''\d+''::reg(?:class|type|procedure|proc|namespace)\b'))),
    lambda shown, pinned: replace(shown, pinned, coalesce(map_extract_value(getvariable('pg_objects'), pinned), pinned)))
    ELSE t END;
CREATE MACRO sys_expression(t) AS sys_object_names(sys_by_path(t));
-- The sequence of a column, by its table's OID and by the table's name, which is for the message.
CREATE MACRO sys_sequence_of(x, t, part) AS list_transform([struct_pack(shown := t, wanted := part, c :=
    (SELECT struct_pack(columns := count(*), sequence := first(nc.qualified)) FROM pg_attribute AS da
    LEFT JOIN pg_depend AS dd ON dd.refobjid = da.attrelid AND dd.refobjsubid = da.attnum AND dd.classid = 1259
        AND dd.refclassid = 1259 AND dd.deptype IN ('a', 'i')
    LEFT JOIN relation_names AS nc ON nc.oid = dd.objid WHERE da.attrelid = x AND da.attname = part))],
    lambda p: CASE WHEN ((p).c).columns = 0 AND (p).shown IS NOT NULL AND (p).wanted IS NOT NULL
        THEN CAST(pg_error('42703', 'column "' || (p).wanted || '" of relation "' || (p).shown || '" does not exist') AS VARCHAR)
        ELSE ((p).c).sequence END)[1];
CREATE MACRO sys_serial_sequence(t, part) AS sys_sequence_of(pg_to_regrelation(t), t, part);
CREATE MACRO sys_sequence_parameters(x) AS (SELECT first(struct_pack(start_value := ps.seqstart,
    minimum_value := ps.seqmin, maximum_value := ps.seqmax, "increment" := ps.seqincrement,
    cycle_option := ps.seqcycle, cache_size := ps.seqcache, data_type := ps.seqtypid))
    FROM pg_sequence AS ps WHERE ps.seqrelid = x);
-- A foreign key's definition has the other table's OID between two characters 1.
CREATE MACRO sys_named_target(t) AS CASE WHEN contains(t, chr(1)) THEN replace(t, regexp_extract(t, '\x01\d+\x01'),
    coalesce(map_extract_value(getvariable('pg_relations'), regexp_extract(t, '\x01(\d+)\x01', 1)), '')) ELSE t END;
-- Step by step, since a macro's text has as many copies of an argument as it names it.
CREATE MACRO sys_constraint(x) AS
    (SELECT first(sys_object_names(ds.shown)) FROM (SELECT sys_by_path(dn.named) AS shown
        FROM (SELECT sys_named_target(dd.definition) AS named FROM constraint_definitions AS dd WHERE dd.oid = x) AS dn) AS ds);
-- Printed prettily, a check has no parentheses but its own: it is kept so, but for the system's.
CREATE MACRO sys_pretty_constraint(x) AS coalesce(
    (SELECT first('CHECK (' || sys_expression(dk.conbin) || ')' || CASE WHEN dk.convalidated THEN '' ELSE ' NOT VALID' END)
        FROM pg_constraint AS dk WHERE dk.oid = x AND dk.contype = 'c' AND x >= 16384),
    regexp_replace(sys_constraint(x), '^CHECK \(\((.*)\)\)', 'CHECK (\1)', 's'));
CREATE MACRO sys_partition_key(x) AS (SELECT first(dd.key) FROM partition_definitions AS dd WHERE dd.oid = x);
CREATE MACRO sys_partition_condition(x) AS
    (SELECT first(dd.condition) FROM partition_definitions AS dd WHERE dd.oid = x);
CREATE MACRO sys_partition_root(x) AS (SELECT arg_max(dd.root, dd.level) FROM partition_trees AS dd WHERE dd.relid = x);
CREATE MACRO sys_partition_ancestors(x) AS coalesce(
    (SELECT list(dd.root ORDER BY dd.level) FROM partition_trees AS dd WHERE dd.relid = x), CAST([] AS BIGINT[]));
CREATE MACRO sys_partition_tree(x) AS (SELECT coalesce(list(struct_pack(relid := dd.relid,
        parentrelid := dd.parentrelid, isleaf := dd.isleaf, level := dd.level) ORDER BY dd.level, dd.relid),
        CAST([] AS STRUCT(relid BIGINT, parentrelid BIGINT, isleaf BOOLEAN, level INTEGER)[]))
    FROM partition_trees AS dd WHERE dd.root = x);
CREATE MACRO sys_trigger(x) AS (SELECT first(sys_object_names(dd.definition)) FROM trigger_definitions AS dd WHERE dd.oid = x);
CREATE MACRO sys_pretty_trigger(x) AS (SELECT first(sys_object_names(dd.pretty)) FROM trigger_definitions AS dd WHERE dd.oid = x);
CREATE MACRO sys_index(x) AS (SELECT first(sys_object_names(dd.definition)) FROM index_definitions AS dd WHERE dd.oid = x);
-- Printed prettily, a table that is visible goes without its schema.
CREATE MACRO sys_pretty_index(x) AS (SELECT first(sys_object_names(dd.definition)) FROM pretty_index_definitions AS dd WHERE dd.oid = x);
CREATE MACRO sys_index_column(x, number, prettily) AS coalesce(
    (SELECT first(sys_object_names(CASE WHEN prettily THEN de.pretty ELSE de.definition END)) FROM index_expressions AS de WHERE de.oid = x AND de.place = number),
    (SELECT first(sys_quote(da.attname)) FROM pg_attribute AS da WHERE da.attrelid = x AND da.attnum = number),
    CASE WHEN x IN (SELECT dd.oid FROM index_definitions AS dd) THEN '' END);
CREATE MACRO sys_view(x) AS coalesce((SELECT first(sys_expression(dr.ev_action)) FROM pg_rewrite AS dr
        WHERE dr.ev_class = x AND dr.rulename = '_RETURN'),
    CASE WHEN x IN (SELECT dc.oid FROM relation_names AS dc) THEN 'Not a view' END);
CREATE MACRO sys_function_result(x) AS
    (SELECT first(df.result) FROM function_signatures AS df WHERE df.oid = x);
CREATE MACRO sys_function_arguments(x) AS
    (SELECT first(sys_object_names(df.arguments)) FROM function_signatures AS df WHERE df.oid = x);
CREATE MACRO sys_function_definition(x) AS
    (SELECT first(sys_object_names(df.definition)) FROM function_definitions AS df WHERE df.oid = x);
CREATE MACRO sys_function_identity(x) AS
    (SELECT first(df.identity_arguments) FROM function_signatures AS df WHERE df.oid = x);
CREATE MACRO sys_encoding(x) AS coalesce((['SQL_ASCII', 'EUC_JP', 'EUC_CN', 'EUC_KR', 'EUC_TW', 'EUC_JIS_2004', 'UTF8',
    'MULE_INTERNAL', 'LATIN1', 'LATIN2', 'LATIN3', 'LATIN4', 'LATIN5', 'LATIN6', 'LATIN7', 'LATIN8', 'LATIN9', 'LATIN10',
    'WIN1256', 'WIN1258', 'WIN866', 'WIN874', 'KOI8R', 'WIN1251', 'WIN1252', 'ISO_8859_5', 'ISO_8859_6', 'ISO_8859_7',
    'ISO_8859_8', 'WIN1250', 'WIN1253', 'WIN1254', 'WIN1255', 'WIN1257', 'KOI8U', 'SJIS', 'BIG5', 'GBK', 'UHC', 'GB18030',
    'JOHAB', 'SHIFT_JIS_2004'])[CASE WHEN x >= 0 THEN x + 1 END], '');
-- What an OID of pg_class, pg_proc, pg_type or pg_namespace stands for, and its name with its schema. Types of the
-- standard have no schema in it.
CREATE MACRO sys_qualified_type(x) AS (SELECT first(CASE WHEN iy.typnamespace = 11
        AND coalesce(ie.typname, iy.typname) IN ('bit', 'bool', 'bpchar', 'char', 'float4', 'float8', 'int2', 'int4', 'int8',
            'interval', 'numeric', 'time', 'timetz', 'timestamp', 'timestamptz', 'varbit', 'varchar') THEN ft.name
        ELSE coalesce(fe.qualified || '[]', ft.qualified) END)
    FROM type_names AS ft JOIN pg_type AS iy ON iy.oid = ft.oid
    LEFT JOIN pg_type AS ie ON ie.oid = iy.typelem AND iy.typcategory = 'A'
    LEFT JOIN type_names AS fe ON fe.oid = ie.oid WHERE ft.oid = x);
CREATE MACRO sys_identify(catalog, x, part) AS CASE catalog
    WHEN 1259 THEN (SELECT first(struct_pack("type" := CASE ic.relkind WHEN 'v' THEN 'view' WHEN 'm' THEN 'materialized view'
            WHEN 'S' THEN 'sequence' WHEN 'i' THEN 'index' WHEN 'f' THEN 'foreign table' WHEN 'c' THEN 'composite type'
            ELSE 'table' END || CASE WHEN part = 0 THEN '' ELSE ' column' END, "schema" := iz.nspname,
            name := sys_quote(ic.relname), identity := sys_quote(iz.nspname) || '.' || sys_quote(ic.relname)
            || CASE WHEN part = 0 THEN '' ELSE '.' || (SELECT first(sys_quote(ia.attname)) FROM pg_attribute AS ia
                WHERE ia.attrelid = ic.oid AND ia.attnum = part) END))
        FROM pg_class AS ic JOIN pg_namespace AS iz ON iz.oid = ic.relnamespace WHERE ic.oid = x)
    WHEN 1255 THEN (SELECT first(struct_pack("type" := CASE ip.prokind WHEN 'a' THEN 'aggregate' WHEN 'p' THEN 'procedure'
            ELSE 'function' END, "schema" := iz.nspname, name := CAST(NULL AS VARCHAR),
            identity := sys_quote(iz.nspname) || '.' || sys_quote(ip.proname) || '('
            || coalesce((SELECT string_agg(sys_qualified_type(iu.t), ',' ORDER BY iu.i) FROM (SELECT
                unnest(ip.proargtypes) AS t, generate_subscripts(ip.proargtypes, 1) AS i) AS iu), '') || ')'))
        FROM pg_proc AS ip JOIN pg_namespace AS iz ON iz.oid = ip.pronamespace WHERE ip.oid = x)
    WHEN 1247 THEN (SELECT first(struct_pack("type" := 'type', "schema" := iz.nspname, name := sys_quote(it.typname),
            identity := sys_qualified_type(it.oid)))
        FROM pg_type AS it JOIN pg_namespace AS iz ON iz.oid = it.typnamespace WHERE it.oid = x)
    WHEN 2615 THEN (SELECT first(struct_pack("type" := 'schema', "schema" := CAST(NULL AS VARCHAR),
            name := sys_quote(iz.nspname), identity := sys_quote(iz.nspname))) FROM pg_namespace AS iz WHERE iz.oid = x)
    ELSE struct_pack("type" := pg_error('0A000', 'pg_identify_object of the catalog with OID ' || catalog
        || ' is not supported'), "schema" := CAST(NULL AS VARCHAR), name := CAST(NULL AS VARCHAR),
        identity := CAST(NULL AS VARCHAR)) END;

-- ---------------------------------------------------------------------------------------------- sizes

CREATE MACRO sys_bytes(x) AS coalesce((SELECT first(ss.bytes) FROM relation_sizes AS ss WHERE ss.oid = x),
    CASE WHEN x IN (SELECT sc.oid FROM relation_names AS sc) THEN 0 END);
-- PostgreSQL's bits: 4 UPDATE, 8 INSERT, 16 DELETE
CREATE MACRO sys_updatable(x) AS CASE WHEN x IN (SELECT u.oid FROM pg_class AS u WHERE u.relkind = 'r') THEN 28
    ELSE (SELECT CASE WHEN count(*) = 0 THEN 0 WHEN max(uc.number) > 0 THEN 28 ELSE 16 END
        FROM updatable_columns AS uc WHERE uc.oid = x) END;
CREATE MACRO sys_updatable_column(x, n) AS n > 0 AND (x IN (SELECT u.oid FROM pg_class AS u WHERE u.relkind = 'r')
    OR EXISTS (SELECT 1 FROM updatable_columns AS uc WHERE uc.oid = x AND uc.number = n));
-- Whether policies restrict the rows of a relation for the current role.
CREATE MACRO sys_row_security(x) AS CASE WHEN x IS NOT NULL THEN coalesce((SELECT first(rs.relrowsecurity
        AND NOT getvariable('pg_bypassrls')
        AND (rs.relforcerowsecurity OR NOT list_contains(getvariable('pg_reach').usage, rs.relowner)))
    FROM pg_class AS rs WHERE rs.oid = x), false) END;
CREATE MACRO sys_rows(x) AS coalesce((SELECT first(ss.row_count) FROM relation_sizes AS ss WHERE ss.oid = x), 0);
CREATE MACRO sys_all_bytes() AS CAST(coalesce((SELECT sum(ss.bytes) FROM relation_sizes AS ss), 0) AS BIGINT);
CREATE MACRO sys_half(n) AS (n + sign(n)) // 2;
CREATE MACRO sys_size_pretty(n) AS list_transform([CAST(n AS BIGINT)], lambda b:
    CASE WHEN abs(b) < 10240 THEN b || ' bytes'
    WHEN abs(b // 512) < 20479 THEN sys_half(b // 512) || ' kB'
    WHEN abs(b // 524288) < 20479 THEN sys_half(b // 524288) || ' MB'
    WHEN abs(b // 536870912) < 20479 THEN sys_half(b // 536870912) || ' GB'
    WHEN abs(b // 549755813888) < 20479 THEN sys_half(b // 549755813888) || ' TB'
    ELSE sys_half(b // 562949953421312) || ' PB' END)[1];

-- A setting as SHOW has it: a number in the largest unit that it is a whole number of.
CREATE MACRO sys_setting(t, unit) AS list_transform([struct_pack(shown := t, amount := TRY_CAST(t AS BIGINT)
        * CASE unit WHEN '8kB' THEN 8192 WHEN 'kB' THEN 1024 WHEN 'ms' THEN 1 END, counted := unit)], lambda p:
    CASE WHEN p.amount IS NULL OR p.amount <= 0 THEN p.shown
    WHEN p.counted = 'ms' THEN CASE WHEN p.amount % 86400000 = 0 THEN p.amount // 86400000 || 'd'
        WHEN p.amount % 3600000 = 0 THEN p.amount // 3600000 || 'h'
        WHEN p.amount % 60000 = 0 THEN p.amount // 60000 || 'min'
        WHEN p.amount % 1000 = 0 THEN p.amount // 1000 || 's' ELSE p.amount || 'ms' END
    WHEN p.amount % 1099511627776 = 0 THEN p.amount // 1099511627776 || 'TB'
    WHEN p.amount % 1073741824 = 0 THEN p.amount // 1073741824 || 'GB'
    WHEN p.amount % 1048576 = 0 THEN p.amount // 1048576 || 'MB' ELSE p.amount // 1024 || 'kB' END)[1];

-- ---------------------------------------------------------------------------------------------- columns' types

CREATE MACRO sys_char_length(typid, modifier) AS CASE WHEN modifier = -1 THEN NULL
    WHEN typid IN (1042, 1043) THEN modifier - 4 WHEN typid IN (1560, 1562) THEN modifier END;
CREATE MACRO sys_octet_length(typid, modifier) AS CASE WHEN typid IN (25, 1042, 1043) THEN
    CASE WHEN modifier = -1 THEN 1073741824 ELSE least(CAST(modifier - 4 AS BIGINT) * 4, 1073741824)::INTEGER END END;
CREATE MACRO sys_numeric_precision(typid, modifier) AS CASE typid WHEN 21 THEN 16 WHEN 23 THEN 32 WHEN 20 THEN 64
    WHEN 1700 THEN CASE WHEN modifier = -1 THEN NULL ELSE ((modifier - 4) >> 16) & 65535 END
    WHEN 700 THEN 24 WHEN 701 THEN 53 END;
CREATE MACRO sys_numeric_radix(typid) AS
    CASE WHEN typid IN (20, 21, 23, 700, 701) THEN 2 WHEN typid = 1700 THEN 10 END;
CREATE MACRO sys_numeric_scale(typid, modifier) AS CASE WHEN typid IN (20, 21, 23) THEN 0
    WHEN typid = 1700 AND modifier <> -1 THEN (modifier - 4) & 65535 END;
CREATE MACRO sys_datetime_precision(typid, modifier) AS CASE WHEN typid = 1082 THEN 0
    WHEN typid IN (1083, 1114, 1184, 1266) THEN CASE WHEN modifier < 0 THEN 6 ELSE modifier END
    WHEN typid = 1186 THEN CASE WHEN modifier < 0 OR modifier & 65535 = 65535 THEN 6 ELSE modifier & 65535 END END;
CREATE MACRO sys_interval_fields(typid, modifier) AS
    CASE WHEN typid = 1186 AND modifier >= 0 THEN upper(sys_interval_words(modifier)) END;
CREATE MACRO sys_expand(list) AS
    list_transform(list, lambda item, place: struct_pack(x := item, n := CAST(place AS INTEGER)));

-- ---------------------------------------------------------------------------------------------- privileges

-- A privilege list of the system catalogs as rows: grantee=rights/grantor, a star where the right may be granted on.
CREATE MACRO sys_right(letter) AS CASE letter
    WHEN 'r' THEN 'SELECT' WHEN 'w' THEN 'UPDATE' WHEN 'a' THEN 'INSERT' WHEN 'd' THEN 'DELETE' WHEN 'D' THEN 'TRUNCATE'
    WHEN 'x' THEN 'REFERENCES' WHEN 't' THEN 'TRIGGER' WHEN 'X' THEN 'EXECUTE' WHEN 'U' THEN 'USAGE'
    WHEN 'C' THEN 'CREATE' WHEN 'T' THEN 'TEMPORARY' WHEN 'c' THEN 'CONNECT' WHEN 's' THEN 'SET'
    WHEN 'A' THEN 'ALTER SYSTEM' END;
CREATE MACRO sys_default_acl(kind, owner) AS (SELECT list_concat(
        CASE kind WHEN 'd' THEN ['=Tc/' || aq.name] WHEN 'f' THEN ['=X/' || aq.name] WHEN 'l' THEN ['=U/' || aq.name]
            WHEN 'T' THEN ['=U/' || aq.name] ELSE CAST([] AS VARCHAR[]) END,
        CASE kind WHEN 'c' THEN CAST([] AS VARCHAR[]) ELSE [aq.name || '=' || CASE kind WHEN 'r' THEN 'arwdDxt'
            WHEN 's' THEN 'rwU' WHEN 'd' THEN 'CTc' WHEN 'f' THEN 'X' WHEN 'l' THEN 'U' WHEN 'L' THEN 'rw' WHEN 'n' THEN 'UC'
            WHEN 't' THEN 'C' WHEN 'F' THEN 'U' WHEN 'S' THEN 'U' WHEN 'T' THEN 'U' WHEN 'p' THEN 'sA' ELSE '' END
            || '/' || aq.name] END)
    FROM (SELECT CAST(sys_userbyid(owner) AS VARCHAR) AS name) AS aq);
CREATE MACRO sys_acl_rows(acl) AS (SELECT coalesce(list(struct_pack(
        grantor := coalesce(ag.oid, 0), grantee := coalesce(ae.oid, 0), privilege_type := sys_right(ap.rights[1]),
        is_grantable := len(ap.rights) = 2)), CAST([] AS STRUCT(grantor BIGINT, grantee BIGINT, privilege_type VARCHAR,
        is_grantable BOOLEAN)[]))
    FROM (SELECT unnest(regexp_extract_all(regexp_extract(ai.item, '=([^/]*)/', 1), '[a-zA-Z]\*?')) AS rights,
            regexp_extract(ai.item, '^([^=]*)=', 1) AS grantee, regexp_extract(ai.item, '/(.*)$', 1) AS grantor
          FROM (SELECT unnest(CAST(acl AS VARCHAR[])) AS item) AS ai) AS ap
    LEFT JOIN pg_authid AS ag ON ag.rolname = trim(ap.grantor, '"')
    LEFT JOIN pg_authid AS ae ON ae.rolname = trim(ap.grantee, '"') AND ap.grantee <> '');

-- Whether a role has one of the wanted privileges on an object, by the grants in acl_lists. What PostgreSQL itself
-- brings has the default list, unless acl_lists has another; an object that does not exist yields NULL.
CREATE MACRO sys_default_grants(what, x) AS CASE WHEN x < 16384 THEN
    CASE what WHEN 'r' THEN ['r:0'] WHEN 'f' THEN ['X:0'] WHEN 'd' THEN ['c:0', 'T:0'] ELSE ['U:0'] END END;
CREATE MACRO sys_holds(held, roles, wanted) AS list_has_any(held, flatten(list_transform(wanted, lambda w:
    list_transform(list_append(coalesce(roles, []), 0), lambda r: w || ':' || r))));
CREATE MACRO sys_may(who, what, x, wanted) AS list_transform([struct_pack(
        asking := (SELECT first(struct_pack(superuser := gr.superuser, roles := gr.usage)) FROM role_reach AS gr
            WHERE gr.oid = who),
        held := coalesce((SELECT first(ga.grants) FROM acl_lists AS ga
            WHERE ga.kind = what AND ga.oid = x AND ga.number = 0), sys_default_grants(what, x)), asked := who)],
    lambda p: CASE WHEN (p).held IS NOT NULL AND (p).asked IS NOT NULL
        THEN (coalesce(((p).asking).superuser, false) AND len(wanted) > 0) OR sys_holds((p).held, ((p).asking).roles, wanted) END)[1];
-- The same for a column by its number, or for any column with the number -1: by the grants on it or on its relation.
CREATE MACRO sys_may_column(who, x, n, wanted) AS list_transform([struct_pack(
        asking := (SELECT first(struct_pack(superuser := gr.superuser, roles := gr.usage)) FROM role_reach AS gr
            WHERE gr.oid = who),
        held := coalesce((SELECT first(ga.grants) FROM acl_lists AS ga
            WHERE ga.kind = 'r' AND ga.oid = x AND ga.number = 0), sys_default_grants('r', x)),
        own := (SELECT first(ga.grants) FROM acl_lists AS ga
            WHERE ga.kind = 'r' AND ga.oid = x AND ga.number = n AND n <> 0), asked := who, place := n)],
    lambda p: CASE WHEN (p).held IS NOT NULL AND (p).asked IS NOT NULL AND (p).place IS NOT NULL
        THEN (coalesce(((p).asking).superuser, false) AND len(wanted) > 0)
            OR sys_holds(list_concat((p).held, coalesce((p).own, [])), ((p).asking).roles, wanted) END)[1];
-- The same for columns and the current role.
CREATE MACRO sys_own_column(x, n, wanted) AS list_transform([struct_pack(o := CAST(x AS BIGINT), place := n)], lambda p:
    CASE WHEN (p).place IS NOT NULL AND sys_own_grants('r', (p).o) IS NOT NULL THEN (getvariable('pg_superuser') AND len(wanted) > 0) OR list_has_any(list_concat(
        sys_own_grants('r', (p).o),
        coalesce(map_extract_value(getvariable('pg_grants'), 'r' || (p).o || '.' || (p).place), [])), wanted) END)[1];
-- The privileges of a list in which names stand for letters.
CREATE MACRO sys_wanted(t, letters) AS list_filter(list_transform(
    list_transform(string_split(t, ','), lambda w: trim(w, ' ' || chr(9) || chr(10) || chr(11) || chr(12) || chr(13))),
    lambda w: coalesce(map_extract_value(letters, upper(w)),
        CAST(pg_error('22023', 'unrecognized privilege type: "' || w || '"') AS VARCHAR))), lambda w: w <> '');
-- An OID if an object has it, else NULL.
CREATE MACRO sys_known_relation(x) AS (SELECT first(lc.oid) FROM pg_class AS lc WHERE lc.oid = x);
CREATE MACRO sys_known_routine(x) AS (SELECT first(lc.oid) FROM pg_proc AS lc WHERE lc.oid = x);
CREATE MACRO sys_known_type(x) AS (SELECT first(lc.oid) FROM pg_type AS lc WHERE lc.oid = x);
CREATE MACRO sys_known_schema(x) AS (SELECT first(lc.oid) FROM pg_namespace AS lc WHERE lc.oid = x);
CREATE MACRO sys_known_database(x) AS (SELECT first(lc.oid) FROM pg_database AS lc WHERE lc.oid = x);
CREATE MACRO sys_column_number(x, n) AS
    (SELECT first(lc.attnum) FROM pg_attribute AS lc WHERE lc.attrelid = x AND lc.attnum = n);
CREATE MACRO sys_sequence(x, t) AS list_transform([struct_pack(shown := t, known :=
    (SELECT struct_pack(oid := max(lc.oid), kind := max(lc.relkind), relation := max(lc.relname)) FROM pg_class AS lc WHERE lc.oid = x))],
    lambda p: CASE WHEN ((p).known).kind = 'S' THEN ((p).known).oid WHEN ((p).known).oid IS NOT NULL
        THEN CAST(pg_error('42809', '"' || coalesce((p).shown, ((p).known).relation) || '" is not a sequence') AS BIGINT) END)[1];
CREATE MACRO sys_role(t) AS CASE WHEN t = 'public' THEN 0 ELSE sys_role_oid(t) END;
CREATE MACRO sys_schema(t) AS sys_found(
    map_extract_value(getvariable('pg_schemas'), t), t, '3F000', 'schema "', '" does not exist');
CREATE MACRO sys_database(t) AS sys_found(
    (SELECT min(lc.oid) FROM pg_database AS lc WHERE lc.datname = t), t, '3D000', 'database "', '" does not exist');
CREATE MACRO sys_language(t) AS sys_found(
    (SELECT min(lc.oid) FROM pg_language AS lc WHERE lc.lanname = t), t, '42704', 'language "', '" does not exist');
CREATE MACRO sys_column(x, t) AS list_transform([struct_pack(shown := t, known :=
    (SELECT struct_pack(number := max(CASE WHEN lc.attname = t THEN lc.attnum END), relation := max(ld.relname))
        FROM pg_attribute AS lc JOIN pg_class AS ld ON ld.oid = lc.attrelid WHERE lc.attrelid = x))],
    lambda p: coalesce(((p).known).number, CASE WHEN (p).shown IS NOT NULL AND ((p).known).relation IS NOT NULL
        THEN CAST(pg_error('42703', 'column "' || (p).shown || '" of relation "' || ((p).known).relation
            || '" does not exist') AS BIGINT) END))[1];
