"""Intended differences between gpudb's catalog and PostgreSQL's, each with its reason; all else is equal."""

from __future__ import annotations

import re

from gpudb import pgdata

_ADDED = "|".join(sorted({re.escape(name) for (name,) in pgdata.load_added("pg_proc").select("proname")}))
_ADDED_TYPES = "|".join(re.escape(name) for (name,) in pgdata.load_added("pg_type").select("typname"))

# Columns of results that are not compared, by name.
COLUMNS = {
    "Size": "bytes of Parquet files, not of heap pages",
    "Access method": "tables are Iceberg, not heaps",
    "amname": "tables are Iceberg, not heaps",
    "relam": "tables are Iceberg, not heaps",
    "pg_get_viewdef": "views are kept as written, not as PostgreSQL deparses them",
    "is_updatable": "views cannot be written to",
    "is_insertable_into": "views cannot be written to",
}

# Columns of one statement alone.
OF_STATEMENT = {
    ("psql15", "\\du"): {
        "rolcreaterole": "gpudb is the bootstrap superuser", "rolcreatedb": "gpudb is the bootstrap superuser",
        "rolreplication": "gpudb is the bootstrap superuser", "rolbypassrls": "gpudb is the bootstrap superuser",
    },
}  # fmt: skip

# Last columns of relations that a later PostgreSQL than the compared one has, with the OIDs of their types.
LATER_COLUMNS = {"pg_catalog.pg_stat_progress_copy": (("tuples_skipped", 20),)}

# Rows that one side alone has; matched against the row's cells joined with |.
ROWS = {
    re.compile(r"^(postgres|template[01])(\||$)"): "gpudb has one database, and no role postgres",
    re.compile(r"plpgsql_(call_handler|inline_handler|validator)"): "PL/pgSQL has no functions in C",
    re.compile(r"C\.utf8"): "gpudb has no collations of the operating system",
    re.compile(r"pg_(toast_)?temp_\d+"): "PostgreSQL keeps the schemas of sessions' temporary tables",
    re.compile(r"pg_toast_\d+"): "long values need no tables of their own",
    re.compile(rf"(^|\|)({_ADDED})(\||$)"): "functions and aggregates that gpudb adds",
    re.compile(rf"(^|\|)({_ADDED_TYPES})(\[\])?(\||$)"): "types that gpudb adds, with their operators and casts",
    re.compile(r"^relation pg_catalog\.pg_stat_progress_copy\|tuples_skipped\|"): "a column of a later PostgreSQL",
}

# The bootstrap superuser's name, where PostgreSQL's own objects have it.
BOOTSTRAP = "postgres"
