"""Columns of a table or view created from a query, and queries that compute stored rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from gpudb.catalog.tables import Column, Table
from gpudb.errors import FeatureNotSupported, SqlError
from gpudb.session.authorization.authorize import authorize
from gpudb.session.authorization.privileges import check_column_types
from gpudb.session.context import Context
from gpudb.session.objects.names import check_column_name
from gpudb.sql.bind.base import Binder
from gpudb.sql.bind.query.select import bind_query
from gpudb.sql.bound import Cast, Derived, Expr, OutputColumn, Query, Scan, Select
from gpudb.sql.bound import Column as Reference
from gpudb.sql.parse.parser import inner
from gpudb.types import TEXT, SqlType
from gpudb.types.facts import COLUMN_TYPES


def _check_fields(name: str, item: SqlType) -> None:
    if not item.fields:
        raise FeatureNotSupported(f'columns of type {item}, which has no fields, are not supported (column "{name}")')
    for field, kind_of_field in item.fields:
        check_column_type(f"{name}.{field}", kind_of_field)


def check_column_type(name: str, item: SqlType) -> None:
    """0A000 or 42P16 for a type that a column cannot have."""
    base = item.element or item
    if base.user is not None and base.user.kind == "c":
        _check_fields(name, base)
        return
    if base.labels is None and base.name not in COLUMN_TYPES:
        if base.category == "P" or base.name in {"unknown", "record"}:
            raise SqlError.of("invalid_table_definition", f'column "{name}" has pseudo-type {item}')
        raise FeatureNotSupported(f'columns of type {item} are not supported (column "{name}")')


def cast_to_columns(query: Query, columns: tuple[Column, ...]) -> Query:
    """The query with its columns cast to the types of the table's columns."""
    rel = 1_000_000
    targets = []
    for index, (output, column) in enumerate(zip(query.columns, columns, strict=True)):
        reference = Reference(rel, index, output.type, output.name)
        targets.append(reference if output.type == column.type else Cast(reference, column.type))
    outputs = tuple(OutputColumn(column.name, column.type) for column in columns)
    return Select(outputs, tuple(targets), Derived(rel, query))


def rewrite_query(old: Table, columns: Sequence[Column], changed: Mapping[str, Expr], rel: int = 1) -> Select:
    """A query of all rows of a table for new columns; `changed` computes some of them over relation `rel`."""
    indexes = {column.name: index for index, column in enumerate(old.columns)}
    targets = tuple(
        changed[c.name] if c.name in changed else Reference(rel, indexes[c.name], c.type, c.name) for c in columns
    )
    return Select(tuple(OutputColumn(c.name, c.type) for c in columns), targets, Scan(rel, old))


def bind_stored_query(context: Context, binder: Binder, node: Any, what: str) -> Query:
    """The query of a CREATE TABLE AS or CREATE MATERIALIZED VIEW, which its role may run unless it stores no rows."""
    source = inner(node.query)
    if source.DESCRIPTOR.name != "SelectStmt":
        raise FeatureNotSupported(f"{what} EXECUTE is not supported")
    query = bind_query(binder, source, None)
    if node.into.skip_data:
        return query
    allowed = authorize(context, query, binder.accesses)
    assert isinstance(allowed, Query)
    return allowed


def stored_columns(context: Context, query: Query, names: tuple[str, ...], what: str) -> tuple[Column, ...]:
    """A query's columns as those of a table; 0A000, 42P16 or 42501 for a type that its role cannot store."""
    columns = query_columns(query, names, what)
    check_column_types(context.transaction.catalog, context.session.user, (column.type for column in columns))
    for column in columns:
        check_column_type(column.name, column.type)
    return columns


def query_columns(query: Query, names: tuple[str, ...], what: str) -> tuple[Column, ...]:
    """A query's columns as those of a table or view; numerics without modifier are stored with carried scale."""
    if not query.columns:
        raise FeatureNotSupported("rows without columns are not supported")
    if len(names) > len(query.columns):
        message = "too many column names were specified"
        if what == "CREATE VIEW":
            message = "CREATE VIEW specifies more column names than columns"
        raise SqlError.of("syntax_error", message)
    columns: list[Column] = []
    for index, output in enumerate(query.columns):
        name = names[index] if index < len(names) else output.name
        if any(each.name == name for each in columns):
            raise SqlError.of("duplicate_column", f'column "{name}" specified more than once')
        item = output.type if output.type.name != "unknown" else TEXT
        base = item.element or item
        if base.modifier == -1:
            item = replace(item, digits=None, varying=False)
        if what != "CREATE VIEW":
            check_column_name(name)
        columns.append(Column(name, item))
    return tuple(columns)
