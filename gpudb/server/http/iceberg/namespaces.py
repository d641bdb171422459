"""What the Iceberg REST catalog shows of a database: schemas and durable tables that a role may read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gpudb.catalog.model import Catalog
from gpudb.catalog.tables import Table
from gpudb.errors import SqlError
from gpudb.session.authorization.privileges import list_object_privileges
from gpudb.session.authorization.row_security.applicable import has_row_security
from gpudb.storage.iceberg.locations import to_uri
from gpudb.storage.store import Store

_OWN_PROPERTIES = ("gpudb.", "owner")


def list_schemas(catalog: Catalog, role: str) -> list[str]:
    """Returns the names of schemas that a role may use."""
    return sorted(name for name, each in catalog.schemas.items() if "U" in list_object_privileges(catalog, role, each))


def find_schema(catalog: Catalog, role: str, name: str) -> str:
    """Returns a schema's name; 3F000 if there is none that the role may use."""
    if name not in list_schemas(catalog, role):
        raise SqlError.of("invalid_schema_name", f'schema "{name}" does not exist')
    return name


def list_tables(store: Store, catalog: Catalog, role: str, schema: str) -> list[str]:
    """Returns the names of a schema's tables that a role may read."""
    return sorted(each.name for each in _iter_tables(store, catalog, role) if each.schema == schema)


def load_table(store: Store, catalog: Catalog, role: str, schema: str, name: str) -> dict[str, Any]:
    """Returns the committed metadata of a table, and its file; 42P01 if there is none that the role may read, and
    42501 if policies restrict the rows that it sees. It has all that was committed before.
    """
    store.fold()
    for table in _iter_tables(store, catalog, role):
        if (table.schema, table.name) != (schema, name):
            continue
        if has_row_security(catalog, role, table):
            message = f'policies restrict the rows of table "{name}", whose files are not for role "{role}"'
            raise SqlError.of("insufficient_privilege", message, hint="Read the table with SQL.")
        if (state := store.find_state(table)) is not None:
            metadata = state.metadata.model_dump(mode="json", by_alias=True, exclude_none=True)
            properties = metadata.get("properties", {})
            metadata["properties"] = {
                key: value for key, value in properties.items() if not key.startswith(_OWN_PROPERTIES)
            }
            return {"metadata-location": to_uri(state.location), "metadata": metadata, "config": {}}
    raise SqlError.of("undefined_table", f'table "{schema}.{name}" does not exist')


def _iter_tables(store: Store, catalog: Catalog, role: str) -> Iterator[Table]:
    usable = set(list_schemas(catalog, role))
    for table in catalog.tables():
        if table.schema in usable and table.kind == "r" and store.is_durable(table):
            if "r" in list_object_privileges(catalog, role, table):
                yield table
