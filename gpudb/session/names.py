"""The names of relations and schemas in statements that define them: what they refer to, and whether they are free."""

from __future__ import annotations

from typing import Any

from gpudb.catalog.model import Catalog, Relation, Schema
from gpudb.errors import DuplicateTable, SqlError
from gpudb.session.context import Context
from gpudb.sql.bind.from_clause import SYSTEM_SCHEMAS


def target_schema(context: Context, schema: str, *, temporary: bool = False) -> str:
    """The schema in which something is made; 3F000 if it does not exist."""
    session, catalog = context.session, context.transaction.catalog
    if temporary or schema == "pg_temp":
        name = session.temporary_schema
        if name not in catalog.schemas:
            oid, catalog = catalog.allocate_oid()
            context.transaction.set_catalog(catalog.with_schema(Schema(oid, name, session.user)))
        return name
    if schema:
        if schema in SYSTEM_SCHEMAS:
            raise SqlError.of("insufficient_privilege", f'permission denied to create in "{schema}"')
        if schema not in catalog.schemas:
            raise SqlError.of("invalid_schema_name", f'schema "{schema}" does not exist')
        return schema
    for name in session.search_path()[1:]:
        if name in catalog.schemas:
            return name
    raise SqlError.of("invalid_schema_name", "no schema has been selected to create in")


def named_relation(context: Context, node: Any) -> Relation | None:
    """The relation that a RangeVar names, as the transaction sees it."""
    path = (node.schemaname,) if node.schemaname else context.session.search_path()
    return context.transaction.catalog.find(node.relname, path)


def spoken(node: Any) -> str:
    """A RangeVar as messages write it."""
    return f"{node.schemaname}.{node.relname}" if node.schemaname else str(node.relname)


def check_free(catalog: Catalog, schema: str, name: str) -> None:
    """42P07 if a relation has that name, 42710 if a type has it: a relation's rows are a type of its name."""
    if catalog.relation(schema, name) is not None:
        raise DuplicateTable(f'relation "{name}" already exists')
    if catalog.find_type(name, (schema,)) is not None:
        hint = (
            "A relation has an associated type of the same name, so you must use a name that doesn't conflict with"
            " any existing type."
        )
        raise SqlError.of("duplicate_object", f'type "{name}" already exists', hint=hint)


def identifier(name: str) -> str:
    """PostgreSQL cuts identifiers at 63 bytes."""
    return name.encode()[:63].decode(errors="ignore")
