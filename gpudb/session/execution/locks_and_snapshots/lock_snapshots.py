"""Snapshots after a lock: what a transaction sees once it has a lock that another one held."""

from __future__ import annotations

from gpudb.session.context import Context

_KEEPING = {"repeatable read", "serializable"}


def refresh_after_lock(context: Context) -> bool:
    """Lets a transaction see what the last holder of a lock has committed; returns whether it sees another catalog.

    Not a transaction with changes, nor one that has read another state under an isolation level that keeps it.
    """
    session, transaction = context.session, context.transaction
    has_read = session.transactions.explicit and session.transactions.bound_statements > 1
    keeps = has_read and session.settings["transaction_isolation"] in _KEEPING
    if keeps or transaction.changed or session.cursors:
        return False
    before = transaction.catalog
    transaction.refresh(reads_on=True)  # the statement that locks, or a portal, may be reading
    return transaction.catalog is not before
