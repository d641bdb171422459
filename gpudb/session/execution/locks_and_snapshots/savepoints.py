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
        tuple(session.descriptors.values()),
    )


def restore_savepoint(context: Context, savepoint: SessionSavepoint, *, keeps_locks: bool = False) -> None:
    """Undoes what was changed since a savepoint, which stays usable; also what was locked, unless it keeps that."""
    session = context.session
    context.transaction.rollback_to(savepoint.transaction, keeps_locks=keeps_locks)
    session.settings.restore(savepoint.settings)
    session.deferred_checks = savepoint.deferred_checks.copy()
    session.mailbox.rollback_to(savepoint.mail)
    close_declared_since(session.cursors, savepoint.cursors)
    if session.descriptors:
        session.descriptors.keep(savepoint.descriptors)
