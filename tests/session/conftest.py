"""A database in memory for each module, its sessions, and a wire server over it for clients."""

from __future__ import annotations

from tests.support.session_fixtures import connect, database, other, session

__all__ = ["connect", "database", "other", "session"]
