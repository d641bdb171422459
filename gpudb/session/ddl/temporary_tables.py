"""What becomes of temporary tables when a transaction commits: ON COMMIT DROP and ON COMMIT DELETE ROWS."""

from __future__ import annotations

from typing import TYPE_CHECKING

from postgast import pg_query_pb2 as pg

from gpudb.catalog.model import Relation, Table
from gpudb.engine.protocol import Cancel
from gpudb.errors import SqlError
from gpudb.session.context import Context
from gpudb.session.ddl.drop import drop_with_dependents
from gpudb.sql.parse.parser import RawStatement
from gpudb.storage.transaction import Transaction

if TYPE_CHECKING:
    from gpudb.session.session import Session

_ACTIONS = {pg.ONCOMMIT_DROP: "drop", pg.ONCOMMIT_DELETE_ROWS: "delete rows"}


def on_commit(action: int, *, temporary: bool) -> str:
    """What a CREATE TABLE says is to be done at COMMIT; 42P16 for a table that is not temporary."""
    if action not in (0, pg.ONCOMMIT_NOOP) and not temporary:
        raise SqlError.of("invalid_table_definition", "ON COMMIT can only be used on temporary tables")
    return _ACTIONS.get(action, "")


def before_commit(session: Session, transaction: Transaction) -> None:
    """Does at the end of a session's transaction what its temporary tables ask for."""
    schema = session.temporary_schema
    if schema not in transaction.catalog.schemas:
        return
    own = [each for each in transaction.catalog.tables() if each.schema == schema and each.on_commit]
    doomed: list[Relation] = [each for each in own if each.on_commit == "drop"]
    for table in own:
        if isinstance(table, Table) and table.on_commit == "delete rows" and table.files:
            transaction.truncate(table.oid)
    if doomed:
        context = Context(session, RawStatement(pg.DropStmt(), ""), transaction, Cancel())
        told = len(session.notices)
        drop_with_dependents(context, doomed, True)
        del session.notices[told:]
