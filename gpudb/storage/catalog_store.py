"""Where a store's catalog is kept: the protocol that a catalog of one store and one of several coordinators share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from gpudb.catalog.relations import Relation
from gpudb.storage.catalog.changes import CatalogChanges, Coordinator
from gpudb.storage.catalog.merge import Compaction, MergeResult
from gpudb.storage.catalog.sequences import Sequences
from gpudb.storage.commit_log import CommitLog, LoggedCommit
from gpudb.storage.locks import LockManager
from gpudb.storage.transaction import Transaction

if TYPE_CHECKING:
    from gpudb.storage.catalog.postgres_notifications import Message, PostgresNotifications


class CatalogStore(Protocol):
    """What a store asks of its catalog. It is open from its construction, which sets the committed state, to `close`.

    Whoever writes it, or asks for `last_commit`, holds the lock of commits.
    """

    sequences: Sequences
    locks: LockManager
    is_alone: bool
    """Whether no other coordinator commits, so that transactions of this store may be committed together."""
    log: CommitLog | None
    """The log of small commits; None if each commit writes Iceberg's metadata."""
    logged: Sequence[LoggedCommit]
    """The commits that it had at the opening, whose files are there again."""
    leads: bool
    """Whether this store compacts, and discards old snapshots: one of several coordinators does."""
    spill: Path
    """Folder of this store's temporary files."""

    @property
    def last_commit(self) -> int:
        """The number of the last commit in the catalog that is applied here."""

    @property
    def written_commit(self) -> int:
        """The number of the last commit that the catalog itself has: later ones are in the log of small commits."""

    def last_definition(self) -> int:
        """Returns the time of the last commit that changed more than rows, in microseconds since 1970 UTC."""

    @property
    def private_directory(self) -> Path:
        """The folder of files that no other coordinator writes: the data directory, or one in it."""

    def exclusive(self, transaction: Transaction | None = None) -> AbstractContextManager[None]:
        """Keeps other coordinators from committing, after their commits have been applied here."""

    def write(
        self,
        changes: CatalogChanges,
        merged: MergeResult,
        unused: Mapping[int, list[Path]],
        compactions: Sequence[Compaction],
    ) -> None:
        """Writes a commit atomically and durably, within `exclusive`.

        `unused` are the files that it discards, by their table's OID, `compactions` those that it consists of. Raises
        `CommitUnknown` if the commit may have taken place; any other error says that it has not.
        """

    def is_collected_here(self, relation: Relation | None) -> bool:
        """Returns whether the discarded files of a relation are this store's alone to remove."""

    def copy_to(self, path: Path) -> None:
        """Writes the catalog of the last commit to a file."""

    def refresh(self) -> None:
        """Has later transactions see all that other coordinators have committed; 08006 without PostgreSQL."""

    def announce(self, host: str, port: int) -> None:
        """Makes the address known at which this server's clients connect, if it is one of several."""

    def list_coordinators(self) -> tuple[int, list[Coordinator]]:
        """Returns this server's number and the servers over its catalog; 0 and none if it has the catalog alone."""

    def open_notifications(self, deliver: Callable[[int, Iterable[Message]], None]) -> PostgresNotifications | None:
        """Returns what sends NOTIFY to the other servers over the catalog; None if there can be none.

        `deliver` gets a database's OID and the notifications of another server's sessions. The caller closes it first.
        """

    def start(self) -> None:
        """Begins what runs beside the statements."""

    def stop(self) -> None:
        """Ends what runs beside the statements; without the lock of commits, for which it may wait."""

    def close(self) -> None:
        """Closes the catalog after its last transaction, and removes the temporary files."""
