"""A session's transactions: their begin, their end, and the notifications that a commit sends.

Idle (I) -BEGIN→ in a transaction (T) -error→ failed (E) -COMMIT or ROLLBACK→ idle. Outside BEGIN, a statement or a text
of several runs in an implicit transaction, which `sync` ends.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Protocol

from gpudb.catalog.model import Catalog
from gpudb.catalog.secured_objects import get_database
from gpudb.catalog.tables import Exclusion
from gpudb.errors import GpudbError, SqlError
from gpudb.session.mailbox import Mailbox, Notification
from gpudb.session.settings.catalog import SettingValues
from gpudb.session.state.savepoints import SessionSavepoint
from gpudb.storage.store import Store
from gpudb.storage.transaction import Transaction

_KEEPING = ("repeatable read", "serializable")


class TransactionHost(Protocol):
    """What transactions use of the database."""

    store: Store

    def mailboxes(self, database: str) -> Sequence[Mailbox]:
        """Returns the mailboxes of the sessions in a database."""

    def notify_others(self, database: int, sent: Sequence[Notification]) -> None:
        """Sends notifications of a session to those of other servers over the catalog, by the OID of its database."""


class TransactionEvents(Protocol):
    """What a session does at the end of its transactions."""

    def transaction_ends(self, committed: bool) -> None:
        """Ends what belongs to a transaction that is committed or rolled back."""

    def transaction_ended(self) -> None:
        """Ends what a transaction holds to its very end."""

    def before_commit(self, transaction: Transaction) -> None:
        """Runs what precedes a commit."""

    def is_deferred(self, exclusion: Exclusion) -> bool:
        """Returns whether an exclusion is checked at the end of the transaction."""

    def hide_values(self, error: GpudbError, catalog: Catalog | None = None) -> None:
        """Takes values that the current role may not read out of an error."""


class Transactions:
    """The transactions of a session, of which `current` is open.

    `explicit` is whether BEGIN opened it, `failed` whether an error ended it, `started` when it began.
    `has_snapshot` is whether a statement has run that reads or changes something.
    `bound_statements` counts its statements that were bound, the running one included. `commits` and `rollbacks` are
    those of the session.
    """

    def __init__(
        self,
        host: TransactionHost,
        database: str,
        process_id: int,
        settings: SettingValues,
        mailbox: Mailbox,
        events: TransactionEvents,
    ) -> None:
        self.current: Transaction | None = None
        self.started: dt.datetime | None = None
        self.explicit = self.failed = False
        self.savepoints: list[SessionSavepoint] = []
        self.bound_statements = 0
        self.has_snapshot = False
        self._chained: Mapping[str, str] | None = None
        self._first_modes: Mapping[str, str] | None = None
        settings.check_mode = self._check_mode
        self.commits = self.rollbacks = 0
        self._host, self._database, self._process_id = host, database, process_id
        self._settings, self._mailbox, self._events = settings, mailbox, events

    @property
    def status(self) -> str:
        """The transaction status byte: I, T or E."""
        if not self.explicit:
            return "I"
        return "E" if self.failed else "T"

    @property
    def catalog(self) -> Catalog:
        """The catalog that the transaction sees, or the last one that was committed."""
        current = self.current
        return self._host.store.catalog(self._database) if current is None else current.catalog

    @property
    def keeps_snapshot(self) -> bool:
        """Whether all statements of the transaction read one snapshot; else each reads what is committed before it."""
        return self._settings["transaction_isolation"] in _KEEPING

    def begin(self, now: dt.datetime | None = None, *, reads: bool = True) -> Transaction:
        """Returns the transaction, with the rights of now; begins one if there is none.

        If its isolation level allows that, a statement that `reads` sees the newest state: 40001 if others have changed
        what the transaction has.
        """
        if self.current is None:
            self._refresh()
            self.current = self._host.store.begin(self._database)
            self.current.party = -self._process_id
            self.current.is_deferred = self._events.is_deferred
            self.bound_statements = 0
            self.started = now or dt.datetime.now(dt.UTC)
            self.has_snapshot = False
            self._settings.begin()
            self._settings.begin_modes(self._chained)
            self._first_modes, self._chained = self._chained, None
        elif reads and not (self.keeps_snapshot and (self.has_snapshot or self.current.shares_snapshot)):
            self.advance(self.current)
        else:
            self.current.take_rights()
        return self.current

    def advance(self, transaction: Transaction) -> None:
        """Lets the transaction see the newest state: 40001 if others have changed what it has."""
        self._refresh()
        transaction.advance()

    def _refresh(self) -> None:
        """Takes what other servers have committed, if the session asks for that."""
        if self._settings["gpudb.fresh_reads"] == "on":
            self._host.store.refresh()

    def fail(self) -> None:
        """Marks the transaction as failed; others need not wait for what it has locked since the last savepoint."""
        self.failed = True
        if self.current is not None and self.explicit:
            self.current.release_locks(self.savepoints[-1].transaction.locks if self.savepoints else 0)

    def sync(self) -> None:
        """Ends the implicit transaction: commits it, or rolls it back after an error."""
        if self.explicit:
            return
        if self.current is None:
            self.failed = False
            return
        self.end(commit=not self.failed)

    def end(self, *, commit: bool) -> None:
        """Commits or rolls back the transaction, implicit or explicit."""
        try:
            self._end(commit=commit)
        finally:
            self._events.transaction_ended()

    def _end(self, *, commit: bool) -> None:
        transaction, self.current = self.current, None
        self.started = None
        self.explicit = self.failed = False
        self.savepoints.clear()
        self._events.transaction_ends(commit)
        done = False
        try:
            if transaction is not None:
                if commit:
                    self._commit(transaction)
                    self.commits += 1
                else:
                    transaction.rollback()
                    self.rollbacks += 1
            done = commit
        except GpudbError as error:
            self._events.hide_values(error, transaction.catalog if transaction is not None else None)
            raise
        finally:
            self._settings.end(committed=done)
            if self._mailbox.has_changes:
                self._end_mail(committed=done)

    def _commit(self, transaction: Transaction) -> None:
        try:
            self._events.before_commit(transaction)
            if self._mailbox.has_changes:
                self._mailbox.check_room(self._host.mailboxes(self._database))
        except BaseException:
            transaction.rollback()
            raise
        transaction.commit()

    def _end_mail(self, *, committed: bool) -> None:
        """Sends the notifications of a transaction that is committed, and forgets those of any other."""
        if not committed:
            self._mailbox.forget()
            return
        sent = self._mailbox.commit(self._process_id, self._host.mailboxes(self._database))
        if sent:
            self._host.notify_others(get_database(self.catalog).oid, sent)

    def restart(self, *, commit: bool, chain: bool) -> Transaction:
        """Commits the implicit transaction or rolls it back, and begins another, with `chain` in the same modes."""
        modes = self._settings.modes() if chain else None
        self._end(commit=commit)
        self._chained = modes
        return self.begin()

    def end_and_chain(self, *, commit: bool) -> None:
        """Commits the explicit transaction or rolls it back; the next one is explicit and has the same modes.

        As in PostgreSQL, one that has failed has only the modes with which it began.
        """
        modes = self._first_modes if self.failed else self._settings.modes()
        self.end(commit=commit)
        self._chained, self.explicit = modes, True

    def _check_mode(self, name: str, value: str) -> None:
        """25001 for a mode that the transaction cannot take any more."""
        if self._settings[name] == value and name != "transaction_deferrable":
            return
        if name == "transaction_read_only":
            if value == "on":
                return
            if self.savepoints:
                message = "cannot set transaction read-write mode inside a read-only transaction"
            else:
                message = "transaction read-write mode must be set before any query" if self.has_snapshot else ""
        elif name == "transaction_isolation":
            what = "SET TRANSACTION ISOLATION LEVEL must"
            message = f"{what} not be called in a subtransaction" if self.savepoints else ""
            message = f"{what} be called before any query" if self.has_snapshot else message
        else:
            what = "SET TRANSACTION [NOT] DEFERRABLE"
            message = f"{what} must be called before any query" if self.has_snapshot else ""
            message = f"{what} cannot be called within a subtransaction" if self.savepoints else message
        if message:
            raise SqlError.of("active_sql_transaction", message)
