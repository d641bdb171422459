"""Intended differences between gpudb's catalog and PostgreSQL's, each with its reason; all else is equal."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gpudb import pgdata
from gpudb.functions.library import added_names

# Names of functions, types and operators that PostgreSQL has none of.
_ADDED = "|".join(
    sorted(
        {re.escape(name) for name in added_names()}
        | {re.escape(name) for (name,) in pgdata.load_added("pg_type").select("typname")}
        | {re.escape(name) for (name,) in pgdata.load_added("pg_am").select("amname")}
        | {re.escape(name) for (name,) in pgdata.load_added("pg_opclass").select("opcname")}
    )
)
_TYPES = "|".join(name for (name,) in pgdata.load_added("pg_type").select("typname") if name[0] != "_")
ADDED_OIDS = frozenset(
    oid
    for relation in ("pg_proc", "pg_type", "pg_operator", "pg_cast", "pg_am", "pg_opfamily", "pg_opclass")
    for (oid,) in pgdata.load_added(relation).select("oid")
)
"""OIDs of all that gpudb adds to PostgreSQL's catalog, as text."""

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
    re.compile(rf"(^|\|)({_ADDED})(\||$)"): "functions, aggregates and types that gpudb adds",
    re.compile(rf"(^|[|, (])({_TYPES})(\[\])?($|[|, )])"): "functions and operators of types that gpudb adds",
    re.compile(r"^relation pg_catalog\.pg_stat_progress_copy\|tuples_skipped\|"): "a column of a later PostgreSQL",
}


def is_added(row: Sequence[object]) -> bool:
    """Whether a row of a system relation is one that gpudb adds: by an OID in it, or by a function's name."""
    return any(str(cell) in ADDED_OIDS or str(cell) in added_names() for cell in row)


_ADDED_CELL = re.compile(rf"_?({_ADDED})")


def names_added(row: Sequence[object]) -> bool:
    """Whether a row of the catalog names something that gpudb adds to PostgreSQL's."""
    return any(_ADDED_CELL.fullmatch(str(cell)) for cell in row)


# The bootstrap superuser's name, where PostgreSQL's own objects have it.
BOOTSTRAP = "postgres"
