"""Settings of a database, which are those of its storage, engines, sessions and clients."""

from __future__ import annotations

from dataclasses import dataclass

from gpudb.config.engine import EngineSettings
from gpudb.config.observe import ObserveSettings
from gpudb.config.session import SessionSettings
from gpudb.config.storage import StorageSettings
from gpudb.config.wire import WireSettings


@dataclass(frozen=True)
class DatabaseSettings(StorageSettings, EngineSettings, SessionSettings, WireSettings, ObserveSettings):
    """What `session.database.Database` reads, and passes on."""


EMBEDDED = DatabaseSettings(track_statements=False)
"""Those of a database in its user's process, where nobody asks for statistics."""
