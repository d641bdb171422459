"""FOR SYSTEM_TIME AS OF and FOR SYSTEM_VERSION AS OF: a table as an earlier commit left it.

The snapshot is chosen while the statement is bound, since its columns are those of its time, so the expression may
contain constants, parameters and built-in functions alone. A statement that is described before its parameters have
values is bound to the committed state.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gpudb.catalog.model import FIRST_USER_OID
from gpudb.catalog.row_types import get_row_type
from gpudb.catalog.tables import Table, TableSnapshot
from gpudb.errors import FeatureNotSupported, SqlError, UndefinedObject
from gpudb.sql.bind.base import Binder
from gpudb.sql.bind.expressions.expressions import bind_expression
from gpudb.sql.bind.query.sources import Source, build_source, find_relation, table_columns
from gpudb.sql.bind.scope import Scope
from gpudb.sql.bind.types.coercion import coerce
from gpudb.sql.bound import Aggregate, Call, Column, Expr, Parameter, Query, Scan, SetReturning, Window
from gpudb.sql.parse.parser import inner, strings
from gpudb.sql.parse.system_time import METHODS
from gpudb.sql.traverse import walk
from gpudb.types import INT8, TIMESTAMPTZ

_NOT_CONSTANT = (Aggregate, Column, Query, SetReturning, Window)
_HINT = "gpudb_snapshots lists the snapshots of tables; gpudb.snapshot_retention is how long they are kept."


def is_past(node: Any) -> bool:
    """Whether a RangeTableSample message is one of these clauses."""
    return strings(node.method)[-1] in METHODS.values()


def bind_past_table(binder: Binder, scope: Scope, node: Any) -> Source:
    """Binds such a clause.

    42809 for what is no table, 55000 for a table without snapshots, 72000 for a time before the first one that is kept,
    42704 for the number of a snapshot that is not kept.
    """
    name = inner(node.relation)
    table = find_relation(binder, name.schemaname, name.relname)
    hidden = not name.schemaname and (scope.resolve_cte(name.relname) is not None or name.relname in binder.frames)
    if hidden or not isinstance(table, Table) or table.is_elsewhere:
        error = SqlError.of("wrong_object_type", f'"{name.relname}" is not a table', hint=_HINT)
        raise binder.locate(error, name.location)
    by_time = strings(node.method)[-1] == METHODS["time"]
    if table.partitioned_by is not None:
        message = "an earlier snapshot of a partitioned table is not supported"
        raise binder.locate(FeatureNotSupported(message, hint="Its partitions have snapshots."), name.location)
    expr = _bind_moment(binder, scope, node, by_time=by_time)
    binder.cacheable = False
    snapshots = binder.catalog.snapshots.get(table.oid, ())
    if not snapshots:
        detail = "Temporary tables and databases without a data directory have none."
        message = f'table "{table.name}" has no snapshots'
        raise binder.locate(
            SqlError.of("object_not_in_prerequisite_state", message, detail=detail, hint=_HINT), name.location
        )
    if binder.describing and any(isinstance(each, Parameter) for each in walk(expr)):
        found = snapshots[-1]
    else:
        found = _find_snapshot(binder, table, snapshots, expr, by_time=by_time)
    # Its own OID keeps what engines hold of it apart from what they hold of the table.
    past = replace(found.table, oid=-found.id, schema=table.schema, name=table.name, past_of=table.oid)
    rel = binder.new_rel()
    binder.accesses.add_relation(table, "r", rel, [column.name for column in past.columns])
    alias = name.alias if name.HasField("alias") else None
    row = get_row_type(replace(past, oid=table.oid))
    return build_source(binder, rel, Scan(rel, past), table_columns(past), name.relname, alias, table.schema, row)


def _bind_moment(binder: Binder, scope: Scope, node: Any, *, by_time: bool) -> Expr:
    level = Scope(parent=scope.parent, ctes=scope.ctes, clause="FROM")
    expr = coerce(binder, bind_expression(binder, level, node.args[0]), TIMESTAMPTZ if by_time else INT8)
    for each in walk(expr):
        routine = isinstance(each, Call) and each.function.oid >= FIRST_USER_OID
        if routine or isinstance(each, _NOT_CONSTANT):
            message = "AS OF takes an expression of constants, parameters and built-in functions alone"
            raise binder.locate(FeatureNotSupported(message), node.location)
    return expr


def _find_snapshot(
    binder: Binder, table: Table, snapshots: tuple[TableSnapshot, ...], expr: Expr, *, by_time: bool
) -> TableSnapshot:
    wanted = binder.evaluate_integer(expr)
    if wanted is None:
        raise SqlError.of("null_value_not_allowed", "AS OF must not be null")
    if by_time:
        found = next((each for each in reversed(snapshots) if each.committed <= wanted), None)
        if found is None:
            message = f'snapshot too old: those of table "{table.name}" from before that time are not kept'
            raise SqlError.of("snapshot_too_old", message, hint=_HINT)
        return found
    found = next((each for each in snapshots if each.id == wanted), None)
    if found is None:
        raise UndefinedObject(f'snapshot {wanted} of table "{table.name}" does not exist', hint=_HINT)
    return found
