"""What gpudb's catalog says otherwise than PostgreSQL's, each with its reason; nothing else may differ."""

from __future__ import annotations

import re

# Columns of results that are not compared, by name.
COLUMNS = {
    "Size": "bytes of Parquet files, not of heap pages",
    "Access method": "tables are Iceberg, not heaps",
    "amname": "tables are Iceberg, not heaps",
    "relam": "tables are Iceberg, not heaps",
    "definition": "views are kept as written, not as PostgreSQL deparses them",
    "pg_get_viewdef": "views are kept as written, not as PostgreSQL deparses them",
}

# Columns of one statement alone.
OF_STATEMENT = {
    ("psql15", "\\db"): {"Owner": "the bootstrap superuser is called gpudb"},
    ("psql15", "\\du"): {
        "rolcreaterole": "gpudb is the bootstrap superuser", "rolcreatedb": "gpudb is the bootstrap superuser",
        "rolreplication": "gpudb is the bootstrap superuser", "rolbypassrls": "gpudb is the bootstrap superuser",
    },
    ("dbt", "dependencies"): {},
    ("own", "pg_index"): {"indcollation": ""},
}  # fmt: skip

# Rows that one side alone has; matched against the row's cells joined with |.
ROWS = {
    re.compile(r"(^|\|)(postgres|template[01])(\||$)"): "gpudb has one database, and no role postgres",
    re.compile(r"plpgsql"): "gpudb has no procedural languages",
    re.compile(r"(^|\|)pg_toast_\d+"): "long values need no tables of their own",
}
