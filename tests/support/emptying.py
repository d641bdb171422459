"""Removal of all that users' statements made in a database, so that the next tests meet an empty one."""

from __future__ import annotations

import psycopg

# Within CASCADE an earlier statement may have dropped what a later one names: hence IF EXISTS.
_DROPS = """
SELECT format('DROP SCHEMA IF EXISTS %I CASCADE', nspname)
FROM pg_namespace
WHERE nspname <> 'public' AND nspname <> 'information_schema' AND nspname !~ '^pg_'
UNION ALL
SELECT format('DROP %s IF EXISTS %I CASCADE', kind, relname)
FROM pg_class
JOIN (VALUES ('r', 'TABLE'), ('p', 'TABLE'), ('v', 'VIEW'), ('m', 'MATERIALIZED VIEW'), ('S', 'SEQUENCE'),
             ('c', 'TYPE')) AS kinds(letter, kind) ON relkind::text = letter
WHERE relnamespace = 'public'::regnamespace
UNION ALL
SELECT format('DROP %s IF EXISTS %s CASCADE', CASE prokind WHEN 'a' THEN 'AGGREGATE' ELSE 'ROUTINE' END,
              oid::regprocedure)
FROM pg_proc
WHERE pronamespace = 'public'::regnamespace
UNION ALL
SELECT format('DROP TYPE IF EXISTS %I CASCADE', typname)
FROM pg_type
WHERE typnamespace = 'public'::regnamespace AND typtype IN ('d', 'e', 'r')
"""


def empty_database(dsn: str) -> None:
    """Drops every schema but public, and everything within public. Roles and settings stay."""
    with psycopg.connect(dsn, autocommit=True, prepare_threshold=None) as connection:
        connection.execute("SET client_min_messages = error")
        connection.execute("SET lock_timeout = '30s'")
        for (drop,) in connection.execute(_DROPS).fetchall():
            connection.execute(drop)
