"""Snapshots after a lock: what a transaction sees once it has a lock that another one held."""

from __future__ import annotations

from gpudb.session.context import Context


def refresh_after_lock(context: Context) -> bool:
    """Lets a transaction see what the last holder of a lock has committed; returns whether it sees another catalog.

    Under an isolation level that keeps the snapshot, not a transaction with changes, nor one that has read another
    state.
    """
    session, transaction = context.session, context.transaction
    if not session.transactions.keeps_snapshot:
        return transaction.advance(rows_alone=True)
    has_read = session.transactions.explicit and session.transactions.bound_statements > 1
    if has_read or transaction.changed or session.cursors:
        return False
    before = transaction.catalog
    transaction.refresh(reads_on=True)  # the statement that locks, or a portal, may be reading
    return transaction.catalog is not before
