"""Open cursors of a session: tables that they scan, and their end."""

from __future__ import annotations

from gpudb.catalog.tables import Table
from gpudb.errors import SqlError
from gpudb.session.context import SessionState


def check_not_scanned(session: SessionState, table: Table, command: str) -> None:
    """55006 if an open cursor scans a table that a command replaces as a whole, or a statement that fires triggers."""
    is_scanned = any(table.oid in cursor.tables and not cursor.persisted for cursor in session.cursors.values())
    if is_scanned or table.oid in session.triggered:
        message = f'cannot {command} "{table.name}" because it is being used by active queries in this session'
        raise SqlError.of("object_in_use", message)


def close_all(session: SessionState) -> None:
    """Closes all cursors, those WITH HOLD too."""
    for cursor in session.cursors.values():
        cursor.result.close()
    session.cursors.clear()


def end_transaction(session: SessionState, committed: bool) -> None:
    """Closes the cursors of a transaction; a commit persists those WITH HOLD."""
    for name, cursor in list(session.cursors.items()):
        cursor.persisted = cursor.persisted or (cursor.hold and committed)
        if not cursor.persisted:
            session.cursors.pop(name).result.close()
