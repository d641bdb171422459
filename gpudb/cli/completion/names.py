"""The names that completion offers: relations with their columns, functions, types, settings, roles, foreign keys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache

from gpudb import pgdata
from gpudb.api.connection import Connection
from gpudb.api.names import quote_identifier

_RELATIONS = """
SELECT n.nspname, c.relname, c.relkind::text, a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod)
FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname <> 'pg_toast'
ORDER BY n.nspname, c.relname, a.attnum
"""
_FOREIGN_KEYS = """
SELECT n.nspname, c.relname, a.attname, fn.nspname, f.relname, fa.attname
FROM pg_catalog.pg_constraint k
JOIN pg_catalog.pg_class c ON c.oid = k.conrelid
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
JOIN pg_catalog.pg_class f ON f.oid = k.confrelid
JOIN pg_catalog.pg_namespace fn ON fn.oid = f.relnamespace
JOIN pg_catalog.pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = k.conkey[1]
JOIN pg_catalog.pg_attribute fa ON fa.attrelid = k.confrelid AND fa.attnum = k.confkey[1]
WHERE k.contype = 'f' AND array_length(k.conkey, 1) = 1
"""
_PATH = "SELECT unnest(pg_catalog.current_schemas(true))::text"
_FUNCTIONS = "SELECT DISTINCT proname::text FROM pg_catalog.pg_proc WHERE prokind <> 'p' ORDER BY 1"
_TYPES = """
SELECT DISTINCT pg_catalog.format_type(oid, NULL) FROM pg_catalog.pg_type
WHERE typtype IN ('b', 'd', 'e', 'r', 'm') AND typelem = 0 AND typname !~ '^_|^pg_' ORDER BY 1
"""
_SETTINGS = "SELECT name FROM pg_catalog.pg_settings ORDER BY 1"
_SCHEMAS = "SELECT nspname::text FROM pg_catalog.pg_namespace WHERE nspname <> 'pg_toast' ORDER BY 1"
_ROLES = "SELECT rolname::text FROM pg_catalog.pg_roles WHERE rolname !~ '^pg_' ORDER BY 1"


@dataclass(frozen=True, slots=True)
class Relation:
    """A table or a view; `columns` maps names to types, as text."""

    schema: str
    name: str
    kind: str
    columns: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ForeignKey:
    """A key of one column: (schema, relation, column) of the referencing and of the referenced side."""

    source: tuple[str, str, str]
    target: tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Names:
    """The names of a database. `path` are the schemas whose relations need no schema before them."""

    relations: tuple[Relation, ...] = ()
    path: tuple[str, ...] = ()
    schemas: tuple[str, ...] = ()
    functions: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()
    foreign_keys: tuple[ForeignKey, ...] = field(default=())

    def find(self, schema: str, name: str) -> Relation | None:
        """Returns a relation by its name; without a schema the path's first one."""
        for each in [schema] if schema else self.path:
            for relation in self.relations:
                if (relation.schema, relation.name) == (each, name):
                    return relation
        return None


def load_names(connection: Connection) -> Names:
    """Reads the names of the catalog, of gpudb or of PostgreSQL."""

    def read(query: str) -> tuple[str, ...]:
        return tuple(str(row[0]) for row in connection.execute(query))

    found: dict[tuple[str, str, str], dict[str, str]] = {}
    for schema, name, kind, column, type_ in connection.execute(_RELATIONS):
        columns = found.setdefault((str(schema), str(name), str(kind)), {})
        if column is not None:
            columns[str(column)] = str(type_)
    keys = [tuple(map(str, row)) for row in connection.execute(_FOREIGN_KEYS)]
    return Names(
        tuple(Relation(schema, name, kind, columns) for (schema, name, kind), columns in found.items()),
        read(_PATH),
        read(_SCHEMAS),
        read(_FUNCTIONS),
        read(_TYPES),
        read(_SETTINGS),
        read(_ROLES),
        tuple(ForeignKey((a, b, c), (d, e, f)) for a, b, c, d, e, f in keys),
    )


@cache
def get_keywords() -> dict[str, str]:
    """PostgreSQL's keywords in lower case, with their category: R and T cannot be names of columns unless quoted."""
    return {row[0]: row[1] for row in pgdata.load_table("keywords").select("word", "catcode")}


def quote_if_needed(name: str) -> str:
    """Returns a name as it has to be written: quoted if it has capitals or signs, or is a reserved word."""
    plain = name.isidentifier() and name == name.lower() and get_keywords().get(name) not in {"R", "T"}
    return name if plain else quote_identifier(name)
