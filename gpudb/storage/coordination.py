"""What a coordinator does beside its statements: it listens to the others' commits, and shows that it lives.

The one that holds an advisory lock of PostgreSQL leads: it compacts, and removes the files that no coordinator reads.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import Protocol

import psycopg

from gpudb.errors import GpudbError
from gpudb.storage.catalog.postgres_connection import (
    CHANNEL,
    COORDINATION_NAME,
    LIVES,
    OWNED_NAMES,
    Connection,
    connect,
    describe,
)

BEAT_SECONDS = 1.0
"""Time between two beats, and looks for connections of coordinators that are gone but hang."""
COLLECT_SECONDS = 2.0
ORPHANS_SECONDS = 600.0
"""Time between two looks for files that belong to no table: what coordinators left that were killed."""
ORPHAN_AGE_SECONDS = 300.0
"""How much older than the oldest open transaction such a file is at least: clocks differ."""
LOG_SECONDS = 3600.0
"""How long the log of commits is kept at least: a commit whose connection was lost is looked up in it."""
_POLL_SECONDS = 0.25
_RETRY_SECONDS = 0.2
_LEADER_LOCK = 0x6770756C
_END_CONNECTIONS = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
    " WHERE datname = current_database() AND usename = current_user AND application_name ~ %s"
    " AND substring(application_name FROM '[0-9]+$')::bigint NOT IN ("
    f"SELECT id FROM gpudb_coordinators WHERE {LIVES})"
)
"""Ends the connections of coordinators that are gone but hang: what they hold there, locks of rows included, holds up
the others. Also the one that makes such a one lead.
"""
_LOG = logging.getLogger(__name__)


class CoordinationHost(Protocol):
    """The catalog of a coordinator; `shared_catalog.SharedCatalog` implements it."""

    leads: bool

    def catch_up(self) -> None:
        """Applies what others have committed, unless a commit is under way, which does so itself."""

    def describe_oldest_read(self) -> tuple[int, float]:
        """Returns the number of the oldest commit that is read here, and for how many seconds it has been read."""

    def register_again(self) -> None:
        """Makes this coordinator known again, after the others have taken it for gone."""

    def remove_files(self, paths: Iterable[str]) -> None:
        """Removes files and folders by their paths below `tables`."""

    def list_temporary_tables(self) -> list[int]:
        """Returns the OIDs of the temporary tables here, which no other coordinator knows."""

    def list_old_files(self, age: float) -> set[Path]:
        """Returns the files of tables that were written, or put there, at least `age` seconds ago."""

    def list_live_files(self) -> dict[int, frozenset[Path] | None]:
        """Returns the files of each table and its kept snapshots by OID; None for one that cannot be read."""

    def move_orphans(
        self,
        among: Collection[Path],
        live: Mapping[int, frozenset[Path] | None],
        discarded: Collection[str],
        others: Collection[int],
    ) -> None:
        """Moves files that belong to no table, among those given, to lost+found.

        `discarded` are files and folders by their paths below `tables`, and `others` OIDs, that stay.
        """

    def begin_to_lead(self) -> None:
        """Called when this coordinator begins to lead."""


class Coordination:
    """The threads of one coordinator: one shows that it lives and leads, the other listens, and collects files.

    What the second does may take longer than the lease.
    """

    def __init__(
        self,
        host: CoordinationHost,
        url: str,
        coordinator: int,
        keep_seconds: float,
        orphans_seconds: float = ORPHANS_SECONDS,
        orphan_age: float = ORPHAN_AGE_SECONDS,
        beat_seconds: float = BEAT_SECONDS,
        may_lead: bool = True,
    ) -> None:
        """`keep_seconds` is the time that files are kept for programs other than gpudb."""
        self._host, self._url, self._keep_seconds = host, url, keep_seconds
        self._orphans_seconds, self._orphan_age = orphans_seconds, orphan_age
        self._coordinator, self._beat_seconds, self._may_lead = coordinator, beat_seconds, may_lead
        self._stop = threading.Event()
        self._problem = ""
        self._beats = threading.Thread(target=self._run, args=(self._live,), name="gpudb-heartbeat", daemon=True)
        self._listener = threading.Thread(
            target=self._run, args=(self._listen,), name="gpudb-coordination", daemon=True
        )
        self._beats.start()
        self._listener.start()

    def close(self) -> None:
        """Stops the threads, and tells the others that this coordinator is gone."""
        self._stop.set()
        self._listener.join(timeout=30)

    def _run(self, work: Callable[[Connection], None]) -> None:
        while not self._stop.is_set():
            try:
                with connect(self._url, f"{COORDINATION_NAME}{self._coordinator}") as connection:
                    work(connection)
            except (psycopg.Error, GpudbError, OSError) as error:
                problem = describe(error) if isinstance(error, psycopg.Error) else str(error)
                if not self._problem and not self._stop.is_set():
                    _LOG.warning("the catalog in PostgreSQL does not answer: %s", problem)
                self._problem = problem
            except Exception:
                _LOG.exception("a thread that other coordinators depend on failed, and begins anew")
            if work == self._live:
                self._host.leads = False
            self._stop.wait(_RETRY_SECONDS)

    def _live(self, connection: Connection) -> None:
        """Beats until the end; the connection has the lock of the one that leads."""
        while not self._stop.is_set():
            self._beat(connection)
            self._stop.wait(self._beat_seconds)

    def _listen(self, connection: Connection) -> None:
        connection.execute(f"LISTEN {CHANNEL}")
        collect_at = 0.0
        orphans_at = time.monotonic() + self._orphans_seconds
        while not self._stop.is_set():
            self._host.catch_up()
            now = time.monotonic()
            if self._host.leads and now >= collect_at:
                self._collect(connection)
                collect_at = now + COLLECT_SECONDS
            if self._host.leads and now >= orphans_at:
                self._move_orphans(connection)
                orphans_at = now + self._orphans_seconds
            for _ in connection.notifies(timeout=_POLL_SECONDS, stop_after=1):
                pass
        self._beats.join(timeout=10)
        connection.execute("DELETE FROM gpudb_coordinators WHERE id = %s", (self._coordinator,))

    def _beat(self, connection: Connection) -> None:
        commit, seconds = self._host.describe_oldest_read()
        beat = connection.execute(
            "UPDATE gpudb_coordinators SET heartbeat = now(), oldest_commit = %s, leads = %s,"
            " oldest_began = now() - make_interval(secs => %s), temporary_tables = %s WHERE id = %s",
            (commit, self._host.leads, seconds, self._host.list_temporary_tables(), self._coordinator),
        )
        if beat.rowcount == 0 and not self._stop.is_set():
            _LOG.warning("the other coordinators took this one for gone: PostgreSQL had not heard of it for too long")
            self._host.register_again()
        if self._problem:
            _LOG.warning("the catalog in PostgreSQL answers again")
            self._problem = ""
        connection.execute(_END_CONNECTIONS, (OWNED_NAMES,))
        if self._may_lead and not self._host.leads:
            row = connection.execute("SELECT pg_try_advisory_lock(%s)", (_LEADER_LOCK,)).fetchone()
            if row is not None and row[0]:
                self._host.leads = True
                self._host.begin_to_lead()

    def _collect(self, connection: Connection) -> None:
        """Forgets coordinators that are gone, and removes the files that none of the others reads."""
        connection.execute(f"DELETE FROM gpudb_coordinators WHERE NOT {LIVES}")
        rows = connection.execute(
            "SELECT path FROM gpudb_garbage WHERE commit <= (SELECT min(oldest_commit) FROM gpudb_coordinators)"
            " AND discarded < now() - make_interval(secs => %s) LIMIT 10000",
            (self._keep_seconds,),
        ).fetchall()
        if rows:
            paths = [path for (path,) in rows]
            self._host.remove_files(paths)
            connection.execute("DELETE FROM gpudb_garbage WHERE path = ANY(%s)", (paths,))
        connection.execute(
            "DELETE FROM gpudb_commits WHERE commit <= (SELECT min(oldest_commit) FROM gpudb_coordinators)"
            " AND committed < now() - make_interval(secs => %s)",
            (LOG_SECONDS,),
        )

    def _move_orphans(self, connection: Connection) -> None:
        """Moves files to lost+found that belong to no table and to no open transaction.

        What a commit discards, or takes back, between the looks is among the discarded files of one of them.
        """
        row = connection.execute(
            "SELECT extract(epoch FROM max(now() - oldest_began)), array_agg(DISTINCT oid) FILTER (WHERE oid > 0)"
            " FROM gpudb_coordinators LEFT JOIN unnest(temporary_tables) AS oid ON true"
        ).fetchone()
        if row is None or row[0] is None:
            return
        old = self._host.list_old_files(float(row[0]) + self._orphan_age)
        if old:
            discarded = self._list_garbage(connection)
            self._host.catch_up()
            live = self._host.list_live_files()
            discarded |= self._list_garbage(connection)
            self._host.move_orphans(old, live, discarded, row[1] or ())

    def _list_garbage(self, connection: Connection) -> set[str]:
        return {path for (path,) in connection.execute("SELECT path FROM gpudb_garbage").fetchall()}
