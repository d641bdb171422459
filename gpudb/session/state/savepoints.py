"""A savepoint of a session's transaction."""

from __future__ import annotations

from typing import NamedTuple

from gpudb.session.settings.catalog import SettingsSnapshot
from gpudb.session.state.deferral import DeferredChecks
from gpudb.storage.transaction import Savepoint


class SessionSavepoint(NamedTuple):
    """What ROLLBACK TO SAVEPOINT restores: the transaction, the settings and the deferred checks."""

    name: str
    transaction: Savepoint
    settings: SettingsSnapshot
    deferred_checks: DeferredChecks
