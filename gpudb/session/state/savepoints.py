"""A savepoint of a session's transaction."""

from __future__ import annotations

from typing import NamedTuple

from gpudb.session.settings.catalog import SettingsSnapshot
from gpudb.session.state.cursors import Cursor
from gpudb.session.state.deferral import DeferredChecks
from gpudb.storage.transaction import Savepoint


class SessionSavepoint(NamedTuple):
    """What ROLLBACK TO SAVEPOINT restores: the transaction, settings, deferred checks, queued mail, and cursors."""

    name: str
    transaction: Savepoint
    settings: SettingsSnapshot
    deferred_checks: DeferredChecks
    mail: tuple[int, int]
    cursors: tuple[Cursor, ...]
