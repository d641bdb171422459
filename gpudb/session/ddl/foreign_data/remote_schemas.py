"""IMPORT FOREIGN SCHEMA of postgres_fdw: definitions of the tables of another PostgreSQL server's schema."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpudb.catalog.foreign import ForeignServer
from gpudb.errors import FeatureNotSupported, SqlError
from gpudb.session.context import Context
from gpudb.session.ddl.foreign_data.foreign_options import read_boolean
from gpudb.session.execution.foreign_data.remote_tables import connect, find_access

_TABLES = """
SELECT c.relname, a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod), a.attnotnull
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
WHERE c.relkind IN ('r', 'v', 'f', 'm', 'p') AND NOT c.relispartition AND n.nspname = %s
ORDER BY c.relname, a.attnum
"""
_OPTIONS = {"import_collate": True, "import_default": False, "import_generated": True, "import_not_null": True}


def list_remote_definitions(
    context: Context, server: ForeignServer, remote: str, local: str, options: Mapping[str, str]
) -> dict[str, str]:
    """Returns CREATE FOREIGN TABLE for each table of a schema, by its name; HV00Q without the schema, HV00D, 0A000."""
    for name, value in options.items():
        if name not in _OPTIONS:
            raise SqlError.of("fdw_invalid_option_name", f'invalid option "{name}"')
        if name == "import_default" and read_boolean(name, value):
            raise FeatureNotSupported("the option import_default is not supported")
    keeps_not_null = read_boolean("import_not_null", options.get("import_not_null", "true"))
    tables: dict[str, list[Any]] = {}
    with connect(find_access(context, server, context.session.user), context.cancel) as connection:
        known = connection.execute("SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = %s", [remote]).fetchone()
        if known is None:
            message = f'schema "{remote}" is not present on foreign server "{server.name}"'
            raise SqlError.of("fdw_schema_not_found", message)
        for table, *column in connection.execute(_TABLES, [remote]):
            tables.setdefault(table, []).append(column)
    made = {}
    for table, columns in tables.items():
        listed = ", ".join(
            f"{_quote(name)} {kind} OPTIONS (column_name {_literal(name)})"
            + (" NOT NULL" if required and keeps_not_null else "")
            for name, kind, required in columns
            if name is not None
        )
        made[table] = (
            f"CREATE FOREIGN TABLE {_quote(local)}.{_quote(table)} ({listed}) SERVER {_quote(server.name)}"
            f" OPTIONS (schema_name {_literal(remote)}, table_name {_literal(table)})"
        )
    return made


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _literal(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "''")
    return f"E'{escaped}'"
