"""Objects of created extensions: they are in pg_catalog without the extension, and in its schema once it is created."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from gpudb.catalog.model import Catalog
from gpudb.catalog.postgres.function_tables import STATEMENTS, STATEMENTS_INFO
from gpudb.catalog.postgres.names import map_schema_oids
from gpudb.pgdata import load_added

STATEMENTS_RESET = "pg_stat_statements_reset"
VECTOR_OIDS = frozenset((*range(11_000, 11_200), *range(11_500, 11_900)))
"""OIDs of the types, functions and operators of the extension vector."""


@cache
def _objects() -> Mapping[str, frozenset[str]]:
    """Returns the names of relations, types and functions by extension."""
    rows = [*load_added("pg_proc").select("oid", "proname"), *load_added("pg_type").select("oid", "typname")]
    return {
        "pg_stat_statements": frozenset({STATEMENTS, STATEMENTS_INFO, STATEMENTS_RESET}),
        "vector": frozenset(name for oid, name in rows if int(oid) in VECTOR_OIDS),
    }


def has_extension_object(catalog: Catalog, schema: str, name: str) -> bool:
    """Returns whether a schema has a relation, type or function of an extension."""
    owners = [each for each in catalog.extensions.values() if name in _objects().get(each.name, ())]
    return bool(owners) and map_schema_oids(catalog).get(schema) == owners[0].schema
