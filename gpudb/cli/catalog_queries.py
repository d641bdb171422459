"""The queries of the shell's \\d commands over the catalog; `more` has further columns, `table` a text constant."""

from __future__ import annotations

RELATIONS = """
SELECT n.nspname AS "Schema", c.relname AS "Name",
       CASE c.relkind WHEN 'v' THEN 'view' WHEN 'i' THEN 'index' ELSE 'table' END AS "Type",
       pg_catalog.pg_get_userbyid(c.relowner) AS "Owner"{more}
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ({kinds}) AND n.nspname <> 'pg_catalog' AND n.nspname <> 'information_schema'
  AND n.nspname NOT LIKE 'pg_toast%'
ORDER BY 1, 2
"""
INDEX_TABLE = """,
       (SELECT t.relname FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class t ON t.oid = i.indrelid
        WHERE i.indexrelid = c.oid) AS "Table"
"""
SIZE = """,
       pg_catalog.pg_size_pretty(pg_catalog.pg_table_size(c.oid)) AS "Size",
       pg_catalog.obj_description(c.oid, 'pg_class') AS "Description"
"""
COLUMNS = """
SELECT a.attname AS "Column", pg_catalog.format_type(a.atttypid, a.atttypmod) AS "Type",
       CASE WHEN a.attnotnull THEN 'not null' ELSE '' END AS "Nullable"{more}
FROM pg_catalog.pg_attribute a
WHERE a.attrelid = {table}::pg_catalog.regclass AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY a.attnum
"""
COLUMN_DETAILS = """,
       (SELECT pg_catalog.pg_get_expr(d.adbin, d.adrelid) FROM pg_catalog.pg_attrdef d
        WHERE d.adrelid = a.attrelid AND d.adnum = a.attnum) AS "Default",
       pg_catalog.col_description(a.attrelid, a.attnum) AS "Description"
"""
DEFINITIONS = """
SELECT pg_catalog.pg_get_indexdef(i.indexrelid) AS "Indexes and constraints" FROM pg_catalog.pg_index i
WHERE i.indrelid = {table}::pg_catalog.regclass
UNION ALL
SELECT pg_catalog.quote_ident(c.conname) || ' ' || pg_catalog.pg_get_constraintdef(c.oid)
FROM pg_catalog.pg_constraint c WHERE c.conrelid = {table}::pg_catalog.regclass AND c.contype IN ('c', 'f')
ORDER BY 1
"""
CONNECTED = """
SELECT 'You are connected to database "' || pg_catalog.current_database() || '" as user "' || current_user || '"'
"""
SCHEMAS = """
SELECT nspname AS "Name", pg_catalog.pg_get_userbyid(nspowner) AS "Owner"
FROM pg_catalog.pg_namespace WHERE nspname NOT LIKE 'pg_%' AND nspname <> 'information_schema' ORDER BY 1
"""
ROLES = """
SELECT r.rolname AS "Role name", pg_catalog.concat_ws(', ',
         CASE WHEN r.rolsuper THEN 'Superuser' END, CASE WHEN NOT r.rolinherit THEN 'No inheritance' END,
         CASE WHEN r.rolcreaterole THEN 'Create role' END, CASE WHEN r.rolcreatedb THEN 'Create DB' END,
         CASE WHEN NOT r.rolcanlogin THEN 'Cannot login' END, CASE WHEN r.rolreplication THEN 'Replication' END,
         CASE WHEN r.rolbypassrls THEN 'Bypass RLS' END) AS "Attributes",
       pg_catalog.array_to_string(ARRAY(
         SELECT g.rolname FROM pg_catalog.pg_auth_members m JOIN pg_catalog.pg_roles g ON m.roleid = g.oid
         WHERE m.member = r.oid ORDER BY 1), ', ') AS "Member of"
FROM pg_catalog.pg_roles r WHERE r.rolname !~ '^pg_' ORDER BY 1
"""
FUNCTIONS = """
SELECT n.nspname AS "Schema", p.proname AS "Name", pg_catalog.pg_get_function_result(p.oid) AS "Result data type",
       pg_catalog.pg_get_function_arguments(p.oid) AS "Argument data types",
       CASE p.prokind WHEN 'a' THEN 'agg' WHEN 'w' THEN 'window' WHEN 'p' THEN 'proc' ELSE 'func' END AS "Type"
FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
WHERE {condition}
ORDER BY 1, 2, 4
"""
DATABASES = """
SELECT datname AS "Name", pg_catalog.pg_get_userbyid(datdba) AS "Owner",
       pg_catalog.pg_encoding_to_char(encoding) AS "Encoding", datcollate AS "Collate", datctype AS "Ctype"
FROM pg_catalog.pg_database ORDER BY 1
"""
