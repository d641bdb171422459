-- 0.56

-- connect: time zone
show timezone;

-- connect: read alone
SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY

-- connect: read and write
SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE

-- connect: time zone of the session
SET SESSION TIMEZONE TO 'UTC'

-- connect: role
SET ROLE NONE;

-- metadata: enumerations
SELECT nspname, typname FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace WHERE t.oid IN (SELECT DISTINCT enumtypid FROM pg_enum e)

-- metadata: privileges of the user
with table_privileges as (select NULL as role, t.schemaname as schema, t.objectname as table, pg_catalog.has_any_column_privilege(current_user, '"' || replace(t.schemaname, '"', '""') || '"' || '.' || '"' || replace(t.objectname, '"', '""') || '"', 'update') as update, pg_catalog.has_any_column_privilege(current_user, '"' || replace(t.schemaname, '"', '""') || '"' || '.' || '"' || replace(t.objectname, '"', '""') || '"', 'select') as select, pg_catalog.has_any_column_privilege(current_user, '"' || replace(t.schemaname, '"', '""') || '"' || '.' || '"' || replace(t.objectname, '"', '""') || '"', 'insert') as insert, pg_catalog.has_table_privilege(current_user, '"' || replace(t.schemaname, '"', '""') || '"' || '.' || '"' || replace(t.objectname, '"', '""') || '"', 'delete') as delete from (select schemaname, tablename as objectname from pg_catalog.pg_tables union select schemaname, viewname as objectname from pg_catalog.pg_views union select schemaname, matviewname as objectname from pg_catalog.pg_matviews) t where t.schemaname !~ '^pg_' and t.schemaname <> 'information_schema' and pg_catalog.has_schema_privilege(current_user, t.schemaname, 'usage')) select t.* from table_privileges t

-- metadata: tables
SELECT "n"."nspname" AS "schema", "c"."relname" AS "name", CASE "c"."relkind" WHEN 'r' THEN 'TABLE' WHEN 'p' THEN 'PARTITIONED TABLE' WHEN 'v' THEN 'VIEW' WHEN 'f' THEN 'FOREIGN TABLE' WHEN 'm' THEN 'MATERIALIZED VIEW' ELSE NULL END AS "type", "d"."description" AS "description", "stat"."n_live_tup" AS "estimated_row_count" FROM "pg_catalog"."pg_class" AS "c" INNER JOIN "pg_catalog"."pg_namespace" AS "n" ON "c"."relnamespace" = "n"."oid" LEFT JOIN "pg_catalog"."pg_description" AS "d" ON ("c"."oid" = "d"."objoid") AND ("d"."objsubid" = 0) AND ("d"."classoid" = 'pg_class'::regclass) LEFT JOIN "pg_stat_user_tables" AS "stat" ON ("n"."nspname" = "stat"."schemaname") AND ("c"."relname" = "stat"."relname") WHERE ("c"."relnamespace" = "n"."oid") AND ("n"."nspname" !~ '^pg_') AND ("n"."nspname" <> 'information_schema') AND c.relkind in ('r', 'p', 'v', 'f', 'm') AND ("n"."nspname" IN ('public', 'sales')) ORDER BY "type" ASC, "schema" ASC, "name" ASC

-- metadata: columns
SELECT "c"."column_name" AS "name", CASE WHEN "c"."udt_schema" IN ('public', 'pg_catalog') THEN FORMAT('%s', "c"."udt_name") ELSE FORMAT('"%s"."%s"', "c"."udt_schema", "c"."udt_name") END AS "database-type", "c"."ordinal_position" - 1 AS "database-position", "c"."table_schema" AS "table-schema", "c"."table_name" AS "table-name", "pk"."column_name" IS NOT NULL AS "pk?", COL_DESCRIPTION(CAST(CAST(FORMAT('%I.%I', CAST("c"."table_schema" AS TEXT), CAST("c"."table_name" AS TEXT)) AS REGCLASS) AS OID), "c"."ordinal_position") AS "field-comment", (("column_default" IS NULL) OR (LOWER("column_default") = 'null')) AND ("is_nullable" = 'NO') AND NOT ((("column_default" IS NOT NULL) AND ("column_default" LIKE '%nextval(%')) OR ("is_identity" <> 'NO')) AS "database-required", (("column_default" IS NOT NULL) AND ("column_default" LIKE '%nextval(%')) OR ("is_identity" <> 'NO') AS "database-is-auto-increment" FROM "information_schema"."columns" AS "c" LEFT JOIN (SELECT "tc"."table_schema", "tc"."table_name", "kc"."column_name" FROM "information_schema"."table_constraints" AS "tc" INNER JOIN "information_schema"."key_column_usage" AS "kc" ON ("tc"."constraint_name" = "kc"."constraint_name") AND ("tc"."table_schema" = "kc"."table_schema") AND ("tc"."table_name" = "kc"."table_name") WHERE "tc"."constraint_type" = 'PRIMARY KEY') AS "pk" ON ("c"."table_schema" = "pk"."table_schema") AND ("c"."table_name" = "pk"."table_name") AND ("c"."column_name" = "pk"."column_name") WHERE c.table_schema !~ '^information_schema|catalog_history|pg_' AND ("c"."table_schema" IN ('sales')) UNION ALL SELECT "pa"."attname" AS "name", CASE WHEN "ptn"."nspname" IN ('public', 'pg_catalog') THEN FORMAT('%s', "pt"."typname") ELSE FORMAT('"%s"."%s"', "ptn"."nspname", "pt"."typname") END AS "database-type", "pa"."attnum" - 1 AS "database-position", "pn"."nspname" AS "table-schema", "pc"."relname" AS "table-name", FALSE AS "pk?", NULL AS "field-comment", FALSE AS "database-required", FALSE AS "database-is-auto-increment" FROM "pg_catalog"."pg_class" AS "pc" INNER JOIN "pg_catalog"."pg_namespace" AS "pn" ON "pn"."oid" = "pc"."relnamespace" INNER JOIN "pg_catalog"."pg_attribute" AS "pa" ON "pa"."attrelid" = "pc"."oid" INNER JOIN "pg_catalog"."pg_type" AS "pt" ON "pt"."oid" = "pa"."atttypid" INNER JOIN "pg_catalog"."pg_namespace" AS "ptn" ON "ptn"."oid" = "pt"."typnamespace" WHERE ("pc"."relkind" = 'm') AND ("pa"."attnum" >= 1) AND ("pn"."nspname" IN ('sales')) ORDER BY "table-schema" ASC, "table-name" ASC, "database-position" ASC

-- metadata: foreign keys
SELECT "fk_ns"."nspname" AS "fk-table-schema", "fk_table"."relname" AS "fk-table-name", "fk_column"."attname" AS "fk-column-name", "pk_ns"."nspname" AS "pk-table-schema", "pk_table"."relname" AS "pk-table-name", "pk_column"."attname" AS "pk-column-name" FROM "pg_constraint" AS "c" INNER JOIN "pg_class" AS "fk_table" ON "c"."conrelid" = "fk_table"."oid" INNER JOIN "pg_namespace" AS "fk_ns" ON "c"."connamespace" = "fk_ns"."oid" INNER JOIN "pg_attribute" AS "fk_column" ON "c"."conrelid" = "fk_column"."attrelid" INNER JOIN "pg_class" AS "pk_table" ON "c"."confrelid" = "pk_table"."oid" INNER JOIN "pg_namespace" AS "pk_ns" ON "pk_table"."relnamespace" = "pk_ns"."oid" INNER JOIN "pg_attribute" AS "pk_column" ON "c"."confrelid" = "pk_column"."attrelid" WHERE fk_ns.nspname !~ '^information_schema|catalog_history|pg_' AND ("c"."contype" = 'f'::char) AND ("fk_column"."attnum" = ANY(c.conkey)) AND ("pk_column"."attnum" = ANY(c.confkey)) AND ("fk_ns"."nspname" IN ('sales')) ORDER BY "fk-table-schema" ASC, "fk-table-name" ASC

-- metadata: indexes
SELECT "tmp"."table-schema", "tmp"."table-name", TRIM(BOTH '"' FROM "pg_catalog"."pg_get_indexdef"("tmp"."ci_oid", "tmp"."pos", FALSE)) AS "field-name" FROM (SELECT "n"."nspname" AS "table-schema", "ct"."relname" AS "table-name", "ci"."oid" AS "ci_oid", ("information_schema"._pg_expandarray("i"."indkey"))."n" AS "pos" FROM "pg_catalog"."pg_class" AS "ct" INNER JOIN "pg_catalog"."pg_namespace" AS "n" ON "ct"."relnamespace" = "n"."oid" INNER JOIN "pg_catalog"."pg_index" AS "i" ON "ct"."oid" = "i"."indrelid" INNER JOIN "pg_catalog"."pg_class" AS "ci" ON "ci"."oid" = "i"."indexrelid" WHERE (pg_catalog.pg_get_expr(i.indpred, i.indrelid) IS NULL) AND n.nspname !~ '^information_schema|catalog_history|pg_' AND ("n"."nspname" IN ('sales'))) AS "tmp" WHERE "tmp"."pos" = 1

-- metadata: may a table be read
SELECT TRUE AS "_" FROM "sales"."customers" WHERE 1 <> 1 LIMIT 0

-- metadata: may a table be written, by a schema of its own
CREATE SCHEMA IF NOT EXISTS "metabase_cache_1"

-- metadata: its end
DROP SCHEMA "metabase_cache_1"

-- queries: rows for the fingerprint
SELECT "sales"."customers"."id" AS "id", SUBSTRING("sales"."customers"."name", 1, 1234) AS "substring1", "sales"."customers"."mood" AS "mood", "sales"."customers"."rank" AS "rank", "sales"."customers"."joined" AS "joined", "sales"."customers"."active" AS "active" FROM "sales"."customers" LIMIT 10000

-- queries: keys in JSON
SELECT "sales"."customers"."notes" AS "notes" FROM "sales"."customers" WHERE "sales"."customers"."notes" IS NOT NULL ORDER BY "sales"."customers"."id" DESC LIMIT 500

-- queries: distinct values
SELECT "source"."name" AS "name" FROM (SELECT "sales"."customers"."name" AS "name" FROM "sales"."customers" GROUP BY "sales"."customers"."name" ORDER BY "sales"."customers"."name" ASC) AS "source" LIMIT 1000

-- queries: count by month
SELECT DATE_TRUNC('month', "sales"."orders"."at") AS "at", COUNT(*) AS "count" FROM "sales"."orders" GROUP BY DATE_TRUNC('month', "sales"."orders"."at") ORDER BY DATE_TRUNC('month', "sales"."orders"."at") ASC

-- queries: sum by day
SELECT CAST("sales"."orders"."at" AS date) AS "at", SUM("sales"."orders"."amount") AS "sum" FROM "sales"."orders" GROUP BY CAST("sales"."orders"."at" AS date) ORDER BY CAST("sales"."orders"."at" AS date) ASC

-- queries: week that starts on Sunday
SELECT (DATE_TRUNC('week', ("sales"."orders"."at" + INTERVAL '1 day')) + INTERVAL '-1 day') AS "at", COUNT(*) AS "count" FROM "sales"."orders" GROUP BY (DATE_TRUNC('week', ("sales"."orders"."at" + INTERVAL '1 day')) + INTERVAL '-1 day') ORDER BY 1 ASC

-- queries: parts of a time
SELECT CAST(extract(hour from "sales"."orders"."at") AS integer) AS "hour", CAST(extract(quarter from "sales"."orders"."at") AS integer) AS "quarter", CAST(extract(week from "sales"."orders"."at") AS integer) AS "week", ((CAST(extract(dow from "sales"."orders"."at") AS integer) + 1) % 7) AS "day", COUNT(*) AS "count" FROM "sales"."orders" GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4

-- queries: of a time of day
SELECT MAKE_TIME(extract(hour from "wakes")::integer, extract(minute from "wakes")::integer, 0.0) AS "wakes" FROM "sales"."customers" ORDER BY 1

-- queries: the last 30 days
SELECT COUNT(*) AS "count" FROM "sales"."customers" WHERE ("sales"."customers"."joined" >= CAST((CAST(now() AS timestamp) + INTERVAL '-30 day') AS date)) AND ("sales"."customers"."joined" < CAST(now() AS date))

-- queries: by a joined table
SELECT "Customers"."name" AS "Customers__name", AVG("sales"."orders"."amount") AS "avg", COUNT(DISTINCT "sales"."orders"."id") AS "count" FROM "sales"."orders" LEFT JOIN "sales"."customers" AS "Customers" ON "sales"."orders"."customer" = "Customers"."id" WHERE "Customers"."mood" = CAST('happy' AS "sales"."mood") GROUP BY "Customers"."name" ORDER BY "avg" DESC, "Customers"."name" ASC

-- queries: bins of a histogram
SELECT ((FLOOR((("sales"."orders"."amount" - 0.0) / 5.0)) * 5.0) + 0.0) AS "amount", COUNT(*) AS "count" FROM "sales"."orders" GROUP BY ((FLOOR((("sales"."orders"."amount" - 0.0) / 5.0)) * 5.0) + 0.0) ORDER BY ((FLOOR((("sales"."orders"."amount" - 0.0) / 5.0)) * 5.0) + 0.0) ASC

-- queries: a field of JSON
SELECT ("sales"."customers"."notes"#>> array['size', 'm']::text[])::bigint AS "notes → size → m", COUNT(*) AS "count" FROM "sales"."customers" GROUP BY ("sales"."customers"."notes"#>> array['size', 'm']::text[])::bigint ORDER BY 1 ASC

-- queries: median and percentile
SELECT PERCENTILE_CONT(0.5) within group (order by "sales"."orders"."amount") AS "median", PERCENTILE_CONT(0.9) within group (order by "sales"."orders"."amount") AS "percentile", STDDEV_POP("sales"."orders"."amount") AS "stddev" FROM "sales"."orders"

-- queries: differences of dates
SELECT CAST(extract(year from AGE(DATE_TRUNC('day', CAST("joined" AS timestamp)), DATE_TRUNC('day', CAST("born" AS timestamp)))) AS integer) AS "years", CAST("joined" AS DATE) - CAST("born" AS DATE) AS "days" FROM "sales"."customers" ORDER BY "id"

-- queries: another time zone
SELECT TIMEZONE('Asia/Tokyo', "joined") AS "joined", TIMEZONE('Asia/Tokyo', TIMEZONE('UTC', CAST("born" AS timestamp))) AS "born" FROM "sales"."customers" ORDER BY "id"

-- queries: texts
SELECT SUBSTRING("name" FROM '[A-Z]') AS "first", CASE WHEN 1 < 1 THEN '' ELSE SPLIT_PART("name", 'n', 1) END AS "part", REPLACE("name", 'n', 'm') AS "other", (LOWER("name") LIKE '%nn%') AS "has", LENGTH(CAST("notes" AS text)) AS "long" FROM "sales"."customers" ORDER BY "id"

-- queries: a running sum
SELECT DATE_TRUNC('minute', "at") AS "at", SUM(SUM("amount")) OVER (ORDER BY DATE_TRUNC('minute', "at") ROWS UNBOUNDED PRECEDING) AS "sum" FROM "sales"."orders" GROUP BY DATE_TRUNC('minute', "at") ORDER BY DATE_TRUNC('minute', "at") ASC

-- queries: a question as a model
-- Metabase:: userID: 1 queryType: native queryHash: 0b
SELECT "source"."id" AS "id", "source"."total" AS "total" FROM (SELECT customer AS id, sum(amount) AS total FROM sales.orders GROUP BY 1) AS "source" WHERE "source"."total" > 1 ORDER BY "source"."id" ASC LIMIT 1048575
