"""Temporary objects: ON COMMIT DROP and DELETE ROWS of tables, and the removal of all at the end of a session."""

from __future__ import annotations

from postgast import pg_query_pb2 as pg

from gpudb.catalog.relations import Relation
from gpudb.catalog.tables import Table
from gpudb.engine.protocol import Cancel
from gpudb.errors import SqlError
from gpudb.session.context import Context, SessionState
from gpudb.session.objects.removal import drop_with_dependents
from gpudb.session.routines.alter_drop import drop_routine
from gpudb.sql.parse.parser import RawStatement
from gpudb.storage.transaction import Transaction

_ACTIONS = {pg.ONCOMMIT_DROP: "drop", pg.ONCOMMIT_DELETE_ROWS: "delete rows"}


def on_commit(action: int, *, temporary: bool) -> str:
    """The ON COMMIT action of a CREATE TABLE; 42P16 for a table that is not temporary."""
    if action not in (0, pg.ONCOMMIT_NOOP) and not temporary:
        raise SqlError.of("invalid_table_definition", "ON COMMIT can only be used on temporary tables")
    return _ACTIONS.get(action, "")


def run_on_commit(session: SessionState, transaction: Transaction) -> None:
    """Runs the ON COMMIT actions of a session's temporary tables before a commit."""
    schema = session.temporary_schema
    tables = [each for each in transaction.catalog.tables() if each.schema == schema and each.on_commit]
    dropped: list[Relation] = [each for each in tables if each.on_commit == "drop"]
    for table in tables:
        if isinstance(table, Table) and table.on_commit == "delete rows" and table.files:
            transaction.truncate(table.oid)
    if dropped:
        context = Context(session, RawStatement(pg.DropStmt(), ""), transaction, Cancel())
        count = len(session.notices)
        drop_with_dependents(context, dropped, True)
        del session.notices[count:]


def drop_relations(context: Context) -> None:
    """DISCARD TEMP: drops the session's temporary relations and routines."""
    schema = context.session.temporary_schema
    relations = [r for r in context.transaction.catalog.relations.values() if r.schema == schema]
    if relations:
        drop_with_dependents(context, relations, True)
    while routines := [each for each in context.transaction.catalog.routines.values() if each.schema == schema]:
        drop_routine(context, routines[0], cascade=True)


def drop_schema(session: SessionState) -> None:
    """Drops the temporary relations and routines of a session that ends, and their schema."""
    schema = session.temporary_schema
    store = session.database.store
    catalog = store.catalogs().get(session.database_name)
    if catalog is None or schema not in catalog.schemas:  # its database may be gone
        return
    with store.begin(session.database_name) as transaction:
        catalog = transaction.catalog
        for relation in [r for r in catalog.relations.values() if r.schema == schema]:
            catalog = catalog.drop(relation)
        for routine in [each for each in catalog.routines.values() if each.schema == schema]:
            catalog = catalog.drop(routine)
        transaction.set_catalog(catalog.drop(catalog.schemas[schema]))
        transaction.commit()
