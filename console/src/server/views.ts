/** What the server pane asks, by SQL over the views that everybody has. */
import { OWN, quoteLiteral } from "../run";

/** Characters of a statement that are asked for. */
export const LONGEST = 2000;

export const SESSIONS = `
SELECT pid, coalesce(usename, '') AS usename, coalesce(state, '') AS state, coalesce(wait_event, '') AS wait_event,
    CASE WHEN state = 'active' THEN extract(epoch FROM clock_timestamp() - query_start) END::float8 AS seconds,
    coalesce(application_name, '') AS application_name, coalesce(client_addr::text, '') AS client_addr, left(coalesce(query, ''), ${LONGEST}) AS query
FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'
ORDER BY state <> 'active', query_start`;

export const COPIES = `
SELECT pid, relid::regclass::text AS relation, command, bytes_processed, bytes_total, tuples_processed FROM pg_stat_progress_copy`;

export const QUERIES = `
SELECT pid, fraction FROM gpudb_progress WHERE fraction IS NOT NULL`;

export const LOG = `
SELECT to_char(ended_at, 'HH24:MI:SS') AS ended, usename, engine, sqlstate, duration_ms, rows, bytes, fallback, left(query, ${LONGEST}) AS query
FROM gpudb_query_log WHERE ltrim(query) NOT LIKE '${OWN}%' ORDER BY id DESC LIMIT 50`;

export const SLOW = `
SELECT calls, total_exec_time, mean_exec_time, max_exec_time, rows, left(query, ${LONGEST}) AS query
FROM pg_stat_statements ORDER BY total_exec_time DESC LIMIT 30`;

export const DATABASE = `
SELECT xact_commit + xact_rollback, tup_inserted + tup_updated + tup_deleted FROM pg_stat_database WHERE datname = current_database()`;

export const TABLES = `
SELECT n.nspname AS schema, c.relname AS name, c.reltuples::float8 AS rows, pg_table_size(c.oid) AS bytes,
    coalesce(CASE d.pclocatortype::text WHEN 'H' THEN 'hash (' || a.attname || ')' WHEN 'R' THEN 'replication' WHEN 'N' THEN 'round robin' END, '') AS distribution
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
LEFT JOIN pgxc_class d ON d.pcrelid = c.oid LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = d.pcattnum AND d.pcattnum > 0
WHERE c.relkind IN ('r', 'p', 'm') AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast')
ORDER BY 4 DESC LIMIT 200`;

/** The files of tables, as SQL names them in quotes. */
export function countFiles(tables: string[]): string {
  return tables.map((table) => `SELECT ${quoteLiteral(table)} AS relation, files FROM gpudb_snapshots(${quoteLiteral(table)}) WHERE current`).join("\nUNION ALL ");
}

export const RESIDENT = `
SELECT "table"::oid::regclass::text AS relation, sum(bytes)::bigint AS bytes, sum(parts)::bigint AS parts, bool_or(pinned) AS pinned, count(DISTINCT "column") AS columns
FROM gpudb_resident GROUP BY 1`;

export const DEVICES = `
SELECT worker, node_name, kind, name, memory_bytes, resident_bytes, utilization, memory_utilization FROM gpudb_devices ORDER BY worker`;
