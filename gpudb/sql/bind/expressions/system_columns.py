"""System columns of tables: `tableoid` and `ctid`, the address of a row; those of row versions are refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gpudb.catalog.tables import SYSTEM_COLUMNS, Table
from gpudb.errors import FeatureNotSupported, SqlError
from gpudb.functions.row_addresses import ROW_ADDRESS
from gpudb.sql.bind.base import Binder
from gpudb.sql.bind.expressions.calls import call_function
from gpudb.sql.bind.expressions.records import bind_presence
from gpudb.sql.bind.scope import NamespaceItem, Scope
from gpudb.sql.bound import Case, Column, Constant, Expr, Scan, Statement
from gpudb.sql.traverse import replace_nodes
from gpudb.types import INT8, OID, TEXT


def bind_system_column(binder: Binder, scope: Scope, name: str) -> Expr | None:
    """Binds the unqualified name of a system column; None if it means something else, 42702 if several tables have it.

    At each query level, a column of that name comes first.
    """
    level: Scope | None = scope
    while level is not None:
        if level.find_column(name) is not None:
            return None
        found = [item for item in level.items if item.oid is not None]
        if len(found) > 1:
            raise SqlError.of("ambiguous_column", f'column reference "{name}" is ambiguous')
        if found:
            return bind_item_column(binder, found[0], name)
        level = level.parent
    return None


def bind_item_column(binder: Binder, item: NamespaceItem, name: str) -> Expr | None:
    """Binds a system column of a relation; None if it has none of that name, 0A000 for one of row versions."""
    if item.oid is None or name not in SYSTEM_COLUMNS:
        return None
    if name == "ctid":
        return _bind_address(binder, item)
    if name != "tableoid":
        hint = "Rows have no versions that a client could name; use the columns of a key."
        raise FeatureNotSupported(f'the system column "{name}" is not supported', hint=hint)
    table = binder.catalog.find_relation_by_oid(item.oid)
    if isinstance(table, Table) and table.partitioned_by is not None:
        raise FeatureNotSupported('the system column "tableoid" of a partitioned table is not supported')
    column = item.columns[0][1] if item.columns else None
    if isinstance(column, Column):
        binder.accesses.select_system_column(column.rel, name)
    oid = Constant(item.oid, OID)
    if not item.nullable:
        return oid
    return Case(((bind_presence(binder, item), oid),), Constant(None, OID), OID)


def _bind_address(binder: Binder, item: NamespaceItem) -> Expr:
    """Binds the address of a relation's rows; it is NULL where an outer join adds a row of NULLs."""
    column = item.columns[0][1] if item.columns else None
    table = binder.catalog.find_relation_by_oid(item.oid or 0)
    if not isinstance(column, Column) or not isinstance(table, Table):
        raise _make_error()
    binder.accesses.addressed.add(column.rel)
    width = len(table.columns)
    place = (Column(column.rel, width, TEXT, "file"), Column(column.rel, width + 1, INT8, "row"))
    return call_function(binder, ROW_ADDRESS, place)


def read_addresses(binder: Binder, bound: Statement) -> Statement:
    """Returns a statement whose scans have what the addresses of their rows are computed from.

    0A000 if other rows than those of scans are addressed: new ones, and those of foreign tables.
    """
    rels = set(binder.accesses.addressed)

    def change(node: Any) -> Any:
        if not isinstance(node, Scan) or node.rel not in binder.accesses.addressed or node.addressed:
            return None
        rels.discard(node.rel)
        return replace(node, row_ids=True, only_reads=node.only_reads or not node.row_ids, addressed=True)

    changed: Statement = replace_nodes(bound, change)
    if rels:
        raise _make_error()
    return changed


def _make_error() -> FeatureNotSupported:
    hint = "Only rows that a statement reads from a table have an address, and not those that it has written."
    return FeatureNotSupported('the system column "ctid" is not supported here', hint=hint)
