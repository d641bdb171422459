"""Statements that begin again on the newest state, under READ COMMITTED, once they have waited for another transaction.

They keep the locks for which they have waited, so that they do not wait for the same rows again.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar

from gpudb.catalog.tables import Table
from gpudb.errors import GpudbError, SerializationFailure
from gpudb.functions.carried import layout_failure
from gpudb.session.context import Context, Handler
from gpudb.session.execution.locks_and_snapshots.savepoints import restore_savepoint, take_savepoint
from gpudb.session.results import Result

T = TypeVar("T")


class StatementRestart(SerializationFailure):
    """A statement has to begin again on the newest state. Where nothing lets it, the client gets this as 40001.

    `prepare` changes what the statement needs to be another before.
    """

    def __init__(self, prepare: Callable[[Context], None] | None = None) -> None:
        self.prepare = prepare
        super().__init__(
            "could not serialize access due to concurrent update", hint="The transaction might succeed if retried."
        )


def run_with_restarts(context: Context, run: Callable[[], T]) -> T:
    """Runs what a statement does, again whenever it has to begin on a newer state; nothing of a failed try stays."""
    while True:
        before = take_savepoint(context)
        try:
            return run()
        except StatementRestart as restart:
            context.cancel.check()
            restore_savepoint(context, before, keeps_locks=True)
            if restart.prepare is not None:
                restart.prepare(context)
            elif not context.session.transactions.keeps_snapshot:
                context.session.transactions.advance(context.transaction)


def undoing_layouts(handler: Handler) -> Handler:
    """Returns a handler that leaves nothing where a numeric has no room, so that it can run again in another layout."""

    @wraps(handler)
    def run(context: Context) -> Result:
        before = take_savepoint(context)
        try:
            return handler(context)
        except GpudbError as error:
            if layout_failure(error):
                restore_savepoint(context, before, keeps_locks=True)
            raise

    return run


def take_newest(context: Context, table: Table) -> None:
    """Moves a transaction of READ COMMITTED to the newest state, in the midst of a statement that changes a table.

    The statement begins again if that state defines something else.
    """
    transaction = context.transaction
    if context.session.transactions.keeps_snapshot:
        return
    version = transaction.catalog.version
    if transaction.advance() and transaction.catalog.version != version and not table.temporary:
        raise StatementRestart
