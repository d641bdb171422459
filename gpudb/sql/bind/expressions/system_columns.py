"""System columns of tables: `tableoid` is the table's OID; those of PostgreSQL's row versions are refused."""

from __future__ import annotations

from gpudb.catalog.tables import SYSTEM_COLUMNS, Table
from gpudb.errors import FeatureNotSupported, SqlError
from gpudb.sql.bind.base import Binder
from gpudb.sql.bind.expressions.records import bind_presence
from gpudb.sql.bind.scope import NamespaceItem, Scope
from gpudb.sql.bound import Case, Constant, Expr
from gpudb.types import OID


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
    if name != "tableoid":
        hint = "Rows have no positions or versions that a client could name; use the columns of a key."
        raise FeatureNotSupported(f'the system column "{name}" is not supported', hint=hint)
    table = binder.catalog.find_relation_by_oid(item.oid)
    if isinstance(table, Table) and table.partitioned_by is not None:
        raise FeatureNotSupported('the system column "tableoid" of a partitioned table is not supported')
    oid = Constant(item.oid, OID)
    if not item.nullable:
        return oid
    return Case(((bind_presence(binder, item), oid),), Constant(None, OID), OID)
