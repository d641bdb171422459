"""SET CONSTRAINTS: when the foreign keys that may wait are looked at; and the end of a transaction, when they are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from postgast import pg_query_pb2 as pg

from gpudb.catalog.model import ForeignKey
from gpudb.engine.protocol import Cancel
from gpudb.errors import SqlError
from gpudb.session.context import Context, command, handles
from gpudb.session.ddl.constraints import constraint_names
from gpudb.session.dml.references import check_deferred
from gpudb.session.results import Result
from gpudb.session.state.deferral import deferral, forget
from gpudb.sql.parse.parser import RawStatement, inner

if TYPE_CHECKING:
    from gpudb.session.session import Session
    from gpudb.storage.transaction import Transaction


@handles("ConstraintsSetStmt")
def set_constraints(context: Context) -> Result:
    """SET CONSTRAINTS ALL | names DEFERRED | IMMEDIATE: what need not wait longer is looked at. 42704, 42809."""
    node: Any = context.statement.node
    if not context.session.explicit:
        message = "SET CONSTRAINTS can only be used in transaction blocks"
        context.notice(message, severity="WARNING", sqlstate="25P01")
        return command("SET CONSTRAINTS")
    put_off = deferral(context.session)
    if not len(node.constraints):
        put_off.every = node.deferred
        put_off.some.clear()
    for each in map(inner, node.constraints):
        for foreign in _named(context, each.schemaname, each.relname):
            put_off.some[foreign.oid] = node.deferred
    check_deferred(context, put_off.due())
    return command("SET CONSTRAINTS")


def _named(context: Context, schema: str, name: str) -> Iterator[ForeignKey]:
    """The foreign keys of that name in the first schema of the path that has a constraint so called."""
    for each in (schema,) if schema else context.session.search_path():
        found = [t for t in context.transaction.catalog.tables() if t.schema == each and name in constraint_names(t)]
        for table in found:
            foreign = next((key for key in table.foreign_keys if key.name == name), None)
            if foreign is None or not foreign.deferrable:
                raise SqlError.of("wrong_object_type", f'constraint "{name}" is not deferrable')
            yield foreign
        if found:
            return
    raise SqlError.of("undefined_object", f'constraint "{name}" does not exist')


def before_commit(session: Session, transaction: Transaction) -> None:
    """Looks at what the transaction had put off: 23503."""
    put_off = forget(session)
    if put_off is not None and put_off.events:
        context = Context(session, RawStatement(pg.ConstraintsSetStmt(), ""), transaction, Cancel())
        check_deferred(context, put_off.events)
