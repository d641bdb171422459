"""Names of relations and schemas in DDL: resolution, availability and truncation."""

from __future__ import annotations

import itertools
from collections.abc import Container, Iterable
from typing import Any

from gpudb.catalog.model import Catalog, Schema
from gpudb.catalog.relations import Relation
from gpudb.catalog.tables import SYSTEM_COLUMNS
from gpudb.errors import DuplicateTable, FeatureNotSupported, SqlError
from gpudb.session.context import Context
from gpudb.sql.bind.query.sources import SYSTEM_SCHEMAS
from gpudb.sql.parse.parser import position

NAME_BYTES = 63


def target_schema(context: Context, schema: str, *, temporary: bool = False, location: int = -1) -> str:
    """The schema in which an object is created; 3F000 at a byte offset of the statement's text if it does not exist."""
    session, catalog = context.session, context.transaction.catalog
    if temporary or schema == "pg_temp":
        name = session.temporary_schema
        if name not in catalog.schemas:
            oid, catalog = catalog.allocate_oid()
            context.transaction.set_catalog(catalog.put(Schema(oid, name, session.user)))
        return name
    if schema:
        if schema in SYSTEM_SCHEMAS:
            raise SqlError.of("insufficient_privilege", f'permission denied to create in "{schema}"')
        if schema not in catalog.schemas:
            error = SqlError.of("invalid_schema_name", f'schema "{schema}" does not exist')
            raise error.at(position(context.statement.text, location))
        return schema
    for name in session.search_path():
        if name in catalog.schemas and name != session.temporary_schema:
            return name
    raise SqlError.of("invalid_schema_name", "no schema has been selected to create in")


def permanent_schema(context: Context, schema: str, what: str) -> str:
    """The schema in which an object that cannot be temporary is created; 0A000 for the temporary schema."""
    if schema in ("pg_temp", context.session.temporary_schema):
        raise FeatureNotSupported(f"temporary {what} are not supported")
    return target_schema(context, schema)


def resolve_range(context: Context, node: Any) -> Relation | None:
    """The relation of a RangeVar in the transaction's catalog."""
    return context.transaction.catalog.find(node.relname, schema_path(context, node.schemaname))


def schema_path(context: Context, schema: str) -> tuple[str, ...]:
    """The schemas that resolve a name with that qualifier: `pg_temp` is the temporary schema, '' the search path."""
    if schema == "pg_temp":
        return (context.session.temporary_schema,)
    return (schema,) if schema else context.session.search_path()


def check_not_system(context: Context, schema: str, name: str) -> None:
    """42501 for a relation of the system catalog."""
    if schema not in ("", *SYSTEM_SCHEMAS):
        return
    if context.session.database.cpu.system_columns(schema or "pg_catalog", name) is not None:
        message = f'permission denied: "{name}" is a system catalog'
        raise SqlError.of("insufficient_privilege", message)


def range_text(node: Any) -> str:
    """A RangeVar as messages print it."""
    return f"{node.schemaname}.{node.relname}" if node.schemaname else str(node.relname)


def find_new_name(
    context: Context, relation: Any, *, if_not_exists: bool, temporary: bool = False, location: int = -1
) -> tuple[str, str] | None:
    """Returns the schema and name of a relation to create; None, with a notice, if IF NOT EXISTS skips it. 3F000."""
    schema = target_schema(context, relation.schemaname, temporary=temporary, location=location)
    name = truncate_identifier(relation.relname)
    if if_not_exists and context.transaction.catalog.relation(schema, name) is not None:
        context.notice(f'relation "{name}" already exists, skipping', sqlstate="42P07")
        return None
    return schema, name


def check_name_free(catalog: Catalog, schema: str, name: str) -> None:
    """42P07 if a relation has that name, 42710 if a type has it: a relation also defines a type of its name."""
    indexes = (table.index_names for table in catalog.tables() if table.schema == schema)
    if catalog.relation(schema, name) is not None or any(name in names for names in indexes):
        raise DuplicateTable(f'relation "{name}" already exists')
    if catalog.find_type(name, (schema,)) is not None:
        hint = (
            "A relation has an associated type of the same name, so you must use a name that doesn't conflict with"
            " any existing type."
        )
        raise SqlError.of("duplicate_object", f'type "{name}" already exists', hint=hint)


def check_column_name(name: str) -> None:
    """42701 for a table's column with the name of a system column."""
    if name in SYSTEM_COLUMNS:
        message = f'column name "{name}" conflicts with a system column name'
        raise SqlError.of("duplicate_column", message)


def truncate_identifier(name: str) -> str:
    """Truncates an identifier to 63 bytes, as PostgreSQL does."""
    return _truncate(name, NAME_BYTES)


def join_names(names: Iterable[str]) -> str:
    """Column names joined, for the middle part of an index's name."""
    return "_".join(names)[:NAME_BYTES]


def free_name(taken: Container[str], first: str, second: str, label: str) -> str:
    """Returns `first_second_label`, truncated to fit, with a number appended if the name is taken."""
    for number in itertools.count():
        name = _object_name(first, second, label if number == 0 else f"{label}{number}")
        if name not in taken:
            return name
    raise AssertionError


def _object_name(first: str, second: str, label: str) -> str:
    """PostgreSQL's makeObjectName: truncates the longer of the two parts first."""
    room = NAME_BYTES - len(label) - 1 - (1 if second else 0)
    one, other = len(first.encode()), len(second.encode())
    while one + other > room:
        one, other = (one - 1, other) if one > other else (one, other - 1)
    parts = (_truncate(first, one), _truncate(second, other), label)
    return "_".join(part for part in parts if part)


def _truncate(text: str, size: int) -> str:
    return text.encode()[:size].decode(errors="ignore")
