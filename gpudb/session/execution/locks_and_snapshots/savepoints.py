"""Savepoints of a session's transaction: what they keep, and how it is restored."""

from __future__ import annotations

from gpudb.session.context import Context
from gpudb.session.state.cursors import close_declared_since
from gpudb.session.state.savepoints import SessionSavepoint


def take_savepoint(context: Context, name: str = "") -> SessionSavepoint:
    """Returns a savepoint of the transaction as it is now."""
    session = context.session
    return SessionSavepoint(
        name,
        context.transaction.savepoint(),
        session.settings.snapshot(),
        session.deferred_checks.copy(),
        session.mailbox.mark(),
        tuple(session.cursors.values()),
    )


def restore_savepoint(context: Context, savepoint: SessionSavepoint) -> None:
    """Undoes what was changed since a savepoint, which stays usable."""
    session = context.session
    context.transaction.rollback_to(savepoint.transaction)
    session.settings.restore(savepoint.settings)
    session.deferred_checks = savepoint.deferred_checks.copy()
    session.mailbox.rollback_to(savepoint.mail)
    close_declared_since(session.cursors, savepoint.cursors)
