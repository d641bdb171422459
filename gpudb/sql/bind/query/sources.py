"""Sources of FROM: relations with the aliases and columns that each brings into scope."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from gpudb.catalog.relations import Relation
from gpudb.catalog.tables import Table
from gpudb.errors import SqlError, UndefinedTable
from gpudb.sql.bind.base import Binder
from gpudb.sql.bind.name_errors import Entry
from gpudb.sql.bind.scope import Columns, NamespaceItem
from gpudb.sql.bound import ALL_ROWS, Column, Constant, From, OutputColumn, Query, SystemScan
from gpudb.sql.parse.parser import strings
from gpudb.types import INT8, SqlType

_HIDDEN = ("tableoid", "xmin")
SYSTEM_SCHEMAS = ("pg_catalog", "information_schema")


@dataclass(frozen=True, slots=True)
class Source:
    """A FROM item: its relation, its aliases, and its columns in the order of `*`."""

    relation: From
    items: tuple[NamespaceItem, ...]
    columns: Columns
    rels: frozenset[int]


def build_entries(source: Source, relation: str | None) -> list[Entry]:
    """Returns the entries of a FROM item for name errors; `relation` is its own name, which an alias may hide."""
    return [Entry(item.alias, tuple(name for name, _ in item.columns), relation) for item in source.items]


def build_source(
    binder: Binder,
    rel: int,
    relation: From,
    columns: Sequence[OutputColumn],
    alias: str,
    node: Any,
    schema: str | None = None,
    row: SqlType | None = None,
    oid: int | None = None,
) -> Source:
    """Returns a relation under an alias, with the column aliases of an Alias message.

    `row` is its named row type, and `oid` that of a table.
    """
    names = [column.name for column in columns]
    if node is not None:
        alias = node.aliasname
        aliases = strings(node.colnames)
        if len(aliases) > len(names):
            message = f'table "{alias}" has {len(names)} columns available but {len(aliases)} columns specified'
            raise SqlError.of("invalid_column_reference", message, position=0)
        names = [*aliases, *names[len(aliases) :]]
        schema = None
    result = tuple(
        (name, Column(rel, index, column.type, name))
        for index, (name, column) in enumerate(zip(names, columns, strict=True))
    )
    return Source(relation, (NamespaceItem(alias, result, schema, row_type=row, oid=oid),), result, frozenset({rel}))


def build_barrier(query: Query) -> Query:
    """Returns the query of a security barrier view: no condition of a query over it sees a row that it hides."""
    # No engine moves a condition below a limit
    return query if query.limit is not None else replace(query, limit=Constant(ALL_ROWS, INT8))


def table_columns(table: Table) -> tuple[OutputColumn, ...]:
    """Returns a table's columns as output columns."""
    return tuple(OutputColumn(c.name, c.type, table.catalog_oid, n) for n, c in enumerate(table.columns, 1))


def build_system_source(binder: Binder, rel: int, name: str, columns: tuple[OutputColumn, ...], alias: Any) -> Source:
    """Returns a system relation; OID and transaction of its rows are hidden columns."""
    schema, _, relation = name.partition(".")
    width = len(columns)
    if tuple(column.name for column in columns[-len(_HIDDEN) :]) == _HIDDEN:
        width -= len(_HIDDEN)
    scan = SystemScan(rel, name, columns)
    result = build_source(binder, rel, scan, columns[:width], relation.removesuffix("()"), alias, schema)
    return add_hidden(result, rel, width, columns[width:])


def add_hidden(source: Source, rel: int, width: int, columns: Sequence[OutputColumn]) -> Source:
    """Returns a relation of `width` columns with hidden ones behind them."""
    hidden = tuple((c.name, Column(rel, index, c.type, c.name)) for index, c in enumerate(columns, width))
    return replace(source, items=tuple(replace(item, hidden=hidden) for item in source.items))


def find_relation(binder: Binder, schema: str, name: str) -> Relation:
    """Returns a table, view or sequence by name; 42P01."""
    binder.accesses.add_schema(schema)
    path = (schema,) if schema else binder.search_path
    if schema == "pg_temp":
        path = tuple(each for each in binder.search_path if each.startswith("pg_temp_"))
    relation = binder.catalog.find(name, path)
    if relation is None:
        shown = f"{schema}.{name}" if schema else name
        if binder.system_columns(schema or "pg_catalog", name) is not None:
            message = f'permission denied: "{name}" is a system catalog'
            raise SqlError.of("insufficient_privilege", message)
        if any(table.schema in path and _has_index(table, name) for table in binder.catalog.tables()):
            detail = "This operation is not supported for indexes."
            raise SqlError.of("wrong_object_type", f'cannot open relation "{name}"', detail=detail)
        raise UndefinedTable(f'relation "{shown}" does not exist')
    return relation


def names_no_rows(relation: Relation, node: Any) -> bool:
    """Whether a RangeVar message is ONLY of a partitioned table, which has no rows besides those of its partitions."""
    return isinstance(relation, Table) and relation.partitioned_by is not None and not node.inh


def _has_index(table: Table, name: str) -> bool:
    return name in table.index_names


def mark_nullable(items: tuple[NamespaceItem, ...], outer: bool) -> tuple[NamespaceItem, ...]:
    """Marks the relations of one side as nullable if the join is outer to them."""
    return tuple(replace(item, nullable=True) for item in items) if outer else items
