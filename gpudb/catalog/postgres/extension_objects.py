"""Objects of created extensions: they are in pg_catalog without the extension, and in its schema once it is created."""

from __future__ import annotations

from collections.abc import Mapping

from gpudb.catalog.model import Catalog
from gpudb.catalog.postgres.function_tables import STATEMENTS, STATEMENTS_INFO
from gpudb.catalog.postgres.names import map_schema_oids

STATEMENTS_RESET = "pg_stat_statements_reset"
_OBJECTS: Mapping[str, frozenset[str]] = {
    "pg_stat_statements": frozenset({STATEMENTS, STATEMENTS_INFO, STATEMENTS_RESET})
}
"""Relations and functions by extension."""


def has_extension_object(catalog: Catalog, schema: str, name: str) -> bool:
    """Returns whether a schema has a relation or function of an extension."""
    owners = [each for each in catalog.extensions.values() if name in _OBJECTS.get(each.name, ())]
    return bool(owners) and map_schema_oids(catalog).get(schema) == owners[0].schema
