"""pg_export_snapshot and SET TRANSACTION SNAPSHOT: several transactions that read the same state."""

from __future__ import annotations

import re

from gpudb.errors import FeatureNotSupported, SqlError
from gpudb.session.context import Context

_KEEPING = ("repeatable read", "serializable")


def export_snapshot(context: Context) -> str:
    """Returns an identifier of the transaction's snapshot; 25001 after a savepoint."""
    if context.session.transactions.savepoints:
        raise SqlError.of("active_sql_transaction", "cannot export a snapshot from a subtransaction")
    return context.transaction.export_snapshot()


def import_snapshot(context: Context, identifier: str) -> None:
    """Lets the transaction read an exported snapshot.

    25001 after a statement that reads or changes; 0A000 for another isolation level or database; 22023 or 42704 for an
    identifier of no snapshot.
    """
    session, transaction = context.session, context.transaction
    if not session.transactions.explicit:
        message = "SET TRANSACTION can only be used in transaction blocks"
        context.notice(message, severity="WARNING", sqlstate="25P01")
    if session.transactions.bound_statements or transaction.changed or session.transactions.savepoints:
        message = "SET TRANSACTION SNAPSHOT must be called before any query"
        raise SqlError.of("active_sql_transaction", message)
    if session.settings["transaction_isolation"] not in _KEEPING:
        message = "a snapshot-importing transaction must have isolation level SERIALIZABLE or REPEATABLE READ"
        raise FeatureNotSupported(message)
    if not re.fullmatch("[0-9A-F-]+", identifier):
        raise SqlError.of("invalid_parameter_value", f'invalid snapshot identifier: "{identifier}"')
    if not transaction.import_snapshot(identifier):
        raise SqlError.of("undefined_object", f'snapshot "{identifier}" does not exist')
