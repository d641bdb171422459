"""A savepoint of a session's transaction."""

from __future__ import annotations

from typing import NamedTuple

from gpudb.session.settings.catalog import SettingsSnapshot
from gpudb.session.state.cursors import Cursor
from gpudb.session.state.deferral import DeferredChecks
from gpudb.session.state.large_object_descriptors import Descriptor
from gpudb.storage.transaction import Savepoint


class SessionSavepoint(NamedTuple):
    """What ROLLBACK TO SAVEPOINT restores: transaction, settings, deferred checks, mail, cursors and descriptors."""

    name: str
    transaction: Savepoint
    settings: SettingsSnapshot
    deferred_checks: DeferredChecks
    mail: tuple[int, int]
    cursors: tuple[Cursor, ...]
    descriptors: tuple[Descriptor, ...]
