"""Whether the server can take clients' statements, and why not.

starting -opened→ warming -warmed→ ready, or not ready while workers are missing;  any -drain→ draining
"""

from __future__ import annotations

from gpudb.session.database import Database

STARTING = "the catalog is not open yet"
WORKERS_STARTING = "the workers are starting"
WARMING = "the system catalog is being loaded"
DRAINING = "the server is shutting down"


class Readiness:
    """The state of the server. Written by the thread that starts and ends it, read by any."""

    def __init__(self) -> None:
        self._database: Database | None = None
        self._warm = self._draining = False

    def opened(self, database: Database) -> None:
        """The catalog is open, and clients are accepted."""
        self._database = database

    def warmed(self) -> None:
        """What the first statements need is loaded."""
        self._warm = True

    def drain(self) -> None:
        """The server ends: it finishes what runs, and takes no new clients."""
        self._draining = True

    def find_obstacle(self) -> str | None:
        """Returns why the server is not ready; None if it is."""
        if self._draining:
            return DRAINING
        database = self._database
        if database is None:
            return STARTING
        if database.cluster is None and database.cluster_start is not None:
            return WORKERS_STARTING
        if database.cluster is not None:
            members = database.cluster.members
            present, expected = len(members.list_heartbeats()), members.count
            if present < expected:
                return f"{present} of {expected} workers are ready"
        return None if self._warm else WARMING
