"""Locks of several coordinators: each is an advisory lock of the PostgreSQL that has their catalog.

Every session or transaction that holds or awaits a lock has a connection to PostgreSQL of its own, so PostgreSQL knows
who waits for whom over all coordinators, finds deadlocks, and releases the locks of a coordinator that is killed. One
whose host vanishes loses them when its connections time out (LEASE_SECONDS), and one that hangs when the others take it
for gone. If PostgreSQL itself is killed, all locks are lost. A transaction whose locks were lost gets 40001 at COMMIT.
"""

from __future__ import annotations

import contextlib
import hashlib
import select
import threading
import time
from collections.abc import Callable, Sequence

import psycopg
from psycopg import pq
from psycopg.pq.abc import PGresult

from gpudb.errors import GpudbError, InternalError, SerializationFailure
from gpudb.storage.catalog.postgres_connection import CONNECTION_NAME, Connection, connect, describe
from gpudb.storage.locks import (
    POLL_SECONDS,
    Item,
    Lockable,
    LockManager,
    Target,
    make_deadlock_error,
    make_timeout_error,
)

LEASE_SECONDS = 11.0
"""How long PostgreSQL keeps the locks of a host that it does not hear from any more."""
MAX_ITEMS = 256
"""How many items of tables a transaction locks: PostgreSQL has 64 times `max_connections` locks by default."""
KEPT_CONNECTIONS = 8
"""How many connections stay open while no session holds a lock."""
_SETTINGS = (
    "SET lock_timeout TO 0",
    "SET statement_timeout TO 0",
    "SET idle_session_timeout TO 0",
    "SET tcp_keepalives_idle TO 5",
    "SET tcp_keepalives_interval TO 2",
    "SET tcp_keepalives_count TO 3",
)
_DEADLOCK_TIMEOUT = "SET deadlock_timeout TO '100ms'"
"""For superusers alone: others detect deadlocks after the server's deadlock_timeout, 1 s by default."""
_LAST_COMMIT = "SELECT value FROM gpudb_state WHERE key = 'commit'"
_DEADLOCK, _SERVER_ENDS = b"40P01", b"57P"
_CANCEL_SECONDS = 5.0


class _Disconnected(Exception):
    """PostgreSQL went away from a party that has no lock yet, which may try again."""


class PostgresLocks(LockManager):
    """The locks of one coordinator, whose catalog is in PostgreSQL at `url`.

    `catalog` is the catalog's identifier: the locks of another in the same database are others. `catch_up` is called
    with a commit number whenever a lock is taken: what its last holder has committed has at most that number.
    """

    max_items = MAX_ITEMS

    def __init__(
        self,
        url: str,
        catalog: str,
        catch_up: Callable[[int], None],
        *,
        coordinator: int = 0,
        wait_seconds: float = 30.0,
    ) -> None:
        super().__init__(threading.Lock())
        self._url = url
        self._name = f"{CONNECTION_NAME}{coordinator}"
        self._catalog = catalog
        self._catch_up = catch_up
        self._wait_seconds = wait_seconds
        self._connections: dict[int, Connection] = {}
        """The connection of each party that holds or awaits a lock."""
        self._kept: list[Connection] = []

    def acquire(
        self,
        target: Lockable,
        owner: int,
        timeout: float | None = None,
        check: Callable[[], None] | None = None,
        *,
        party: int | None = None,
        shared: bool = False,
    ) -> bool:
        """Acquires a lock as `LockManager.acquire` says.

        Also raises 40001 if PostgreSQL has lost locks of the party, and 08006 if it cannot be reached.
        """
        party = owner if party is None else party
        deadline = None if timeout is None else time.monotonic() + timeout
        patience = time.monotonic() + self._wait_seconds
        while True:
            try:
                if self._try(target, owner, party, shared=shared, patience=patience, check=check):
                    return False
                self._wait_for(target, owner, party, deadline, check, shared=shared, patience=patience)
            except _Disconnected as error:
                if time.monotonic() >= patience:
                    raise _failed(str(error)) from error
            else:
                return True
            finally:
                self._close_if_unused(party)

    def acquire_all(
        self,
        wanted: Sequence[tuple[Lockable, bool]],
        owner: int,
        timeout: float | None = None,
        check: Callable[[], None] | None = None,
        *,
        party: int | None = None,
    ) -> bool:
        """Acquires locks as `LockManager.acquire_all` says: asks for all at once, and waits for those that it lacks."""
        waited = False
        if len(wanted) > 1:
            wanted = self._try_all(wanted, owner, owner if party is None else party, check)
            waited = bool(wanted)
        for target, shared in wanted:
            waited |= self.acquire(target, owner, timeout, check, party=party, shared=shared)
        return waited

    def _try_all(
        self, wanted: Sequence[tuple[Lockable, bool]], owner: int, party: int, check: Callable[[], None] | None
    ) -> list[tuple[Lockable, bool]]:
        """Tries to take locks; returns those that others hold."""
        patience = time.monotonic() + self._wait_seconds
        while True:
            try:
                connection = self._open(party, patience, check)
                with self._mutex:
                    known = {each for each in wanted if self._table.holds(each[0], party, shared=each[1])}
                    for target, shared in known:
                        self._table.add(target, owner, party, shared=shared)
                unknown = [each for each in wanted if each not in known]
                if not unknown:
                    return []
                calls = ", ".join(
                    f"pg_try_advisory_lock{'_shared' if shared else ''}({self._make_key(target)})::int"
                    for target, shared in unknown
                )
                results = self._ask(party, connection, f"SELECT {calls}; {_LAST_COMMIT}")
                lacking = []
                for place, (target, shared) in enumerate(unknown):
                    if results[0].get_value(0, place) == b"1":
                        self._note(target, owner, party, shared=shared)
                    else:
                        lacking.append((target, shared))
                if len(lacking) < len(unknown):
                    self._catch_up(_read_int(results[1]))
                return lacking
            except _Disconnected as error:
                if time.monotonic() >= patience:
                    raise _failed(str(error)) from error
            finally:
                self._close_if_unused(party)

    def try_acquire(self, target: Lockable, owner: int, *, party: int | None = None, shared: bool = False) -> bool:
        """Acquires a lock if nobody has to be waited for; returns whether it did. Raises as `acquire` does."""
        party = owner if party is None else party
        patience = time.monotonic() + self._wait_seconds
        while True:
            try:
                return self._try(target, owner, party, shared=shared, patience=patience)
            except _Disconnected as error:
                if time.monotonic() >= patience:
                    raise _failed(str(error)) from error
            finally:
                self._close_if_unused(party)

    def release_one(self, target: Lockable, owner: int, *, shared: bool = False) -> bool:
        """Releases a lock once, in a mode; returns False if the owner does not hold it so."""
        with self._mutex:
            party = self._table.remove_one(target, owner, shared=shared)
            if party is None:
                return False
            remains = self._table.holds(target, party, shared=shared)
        if not remains:
            self._unlock(party, [(target, shared)])
        return True

    def release(self, owner: int) -> None:
        """Releases all locks of `owner`."""
        self.release_last(owner, 0)

    def release_last(self, owner: int, kept: int) -> None:
        """Releases the locks of `owner` but the `kept` ones that it took first."""
        if self._table.count_held(owner) <= kept:
            return
        with self._mutex:
            before = set(self._table.list_modes(owner, kept))
            self._table.remove(owner, kept)
            gone = [each for each in before if not self._table.holds(each[0], each[1], shared=each[2])]
        for party in {party for _, party, _ in before}:
            self._unlock(party, [(target, shared) for target, of, shared in gone if of == party])

    def check_held(self, party: int) -> None:
        """Raises 40001 if locks that a party holds were lost."""
        if not self._table.holders:
            return
        with self._mutex:
            connection = self._connections.get(party)
            holds = bool(self._table.list_held(party))
        if holds and (connection is None or not _is_alive(connection)):
            raise _lost_error()

    def close(self) -> None:
        """Closes all connections, which releases what is still held."""
        with self._mutex:
            connections = [*self._connections.values(), *self._kept]
            self._connections.clear()
            self._kept.clear()
        for connection in connections:
            connection.close()

    # ---- one party's connection

    def _wait_for(
        self,
        target: Lockable,
        owner: int,
        party: int,
        deadline: float | None,
        check: Callable[[], None] | None,
        *,
        shared: bool,
        patience: float,
    ) -> None:
        with self._mutex:
            self._table.waits[party] = target, owner, shared
        try:
            connection = self._open(party, patience, check)
            function = "pg_advisory_lock_shared" if shared else "pg_advisory_lock"
            statement = f"SELECT {function}({self._make_key(target)}); {_LAST_COMMIT}"
            results = self._ask(party, connection, statement, deadline, check, (target, shared))
            self._note(target, owner, party, shared=shared)
        finally:
            with self._mutex:
                del self._table.waits[party]
        self._catch_up(_read_int(results[1]))

    def _try(
        self,
        target: Lockable,
        owner: int,
        party: int,
        *,
        shared: bool,
        patience: float,
        check: Callable[[], None] | None = None,
    ) -> bool:
        connection = self._open(party, patience, check)
        with self._mutex:
            if self._table.holds(target, party, shared=shared):
                self._table.add(target, owner, party, shared=shared)
                return True
        function = "pg_try_advisory_lock_shared" if shared else "pg_try_advisory_lock"
        # In this order: the second statement sees what was committed before the lock was released.
        statement = f"SELECT {function}({self._make_key(target)})::int; {_LAST_COMMIT}"
        taken, commit = map(_read_int, self._ask(party, connection, statement))
        if taken:
            self._note(target, owner, party, shared=shared)
            self._catch_up(commit)
        return bool(taken)

    def _note(self, target: Lockable, owner: int, party: int, *, shared: bool) -> None:
        with self._mutex:
            self._table.add(target, owner, party, shared=shared)

    def _open(self, party: int, patience: float, check: Callable[[], None] | None) -> Connection:
        """Returns the party's connection, a new one if it holds no lock; 40001 if its locks are lost.

        Tries to connect until `patience`, then raises 08006.
        """
        with self._mutex:
            connection = self._connections.get(party)
            holds = bool(self._table.list_held(party))
            while connection is None and self._kept and not holds:
                kept = self._kept.pop()
                if _is_alive(kept):
                    connection = self._connections[party] = kept
                else:
                    kept.close()
        if connection is not None and _is_alive(connection):
            return connection
        if holds:
            raise _lost_error()
        while True:
            try:
                connection = _connect(self._url, self._name)
                break
            except (GpudbError, psycopg.Error) as error:
                if time.monotonic() >= patience:
                    raise _failed(describe(error) if isinstance(error, psycopg.Error) else error.message) from error
            if check is not None:
                check()
            time.sleep(POLL_SECONDS)
        with self._mutex:
            self._connections[party] = connection
        return connection

    def _ask(
        self,
        party: int,
        connection: Connection,
        statement: str,
        deadline: float | None = None,
        check: Callable[[], None] | None = None,
        lock: tuple[Lockable, bool] | None = None,
    ) -> list[PGresult]:
        """Runs statements on a party's connection; returns their results.

        After `deadline`, or an error of `check`, it cancels them, and gives back the lock that they may have taken.
        """
        try:
            connection.pgconn.send_query(statement.encode())
            ended: BaseException | None = None
            while True:
                seconds = POLL_SECONDS if deadline is None else min(POLL_SECONDS, deadline - time.monotonic())
                if _wait(connection, max(seconds, 0.0)):
                    break
                try:
                    if check is not None:
                        check()
                    if deadline is not None and time.monotonic() >= deadline:
                        raise make_timeout_error()
                except BaseException as error:
                    ended = error
                    connection.cancel_safe(timeout=_CANCEL_SECONDS)
                    while not _wait(connection, POLL_SECONDS):
                        pass
                    break
            results = []
            while (result := connection.pgconn.get_result()) is not None:
                results.append(result)
        except psycopg.Error as error:
            raise self._lose(party, connection, describe(error)) from error
        if connection.pgconn.status != pq.ConnStatus.OK:
            raise self._lose(party, connection, "the server closed the connection")
        failed = next((each for each in results if each.status == pq.ExecStatus.FATAL_ERROR), None)
        if ended is not None:
            if lock is not None and results[0] is not failed:
                self._run_unlock(connection, [lock])
            raise ended
        if failed is not None:
            state = failed.error_field(pq.DiagnosticField.SQLSTATE) or b""
            message = (failed.error_field(pq.DiagnosticField.MESSAGE_PRIMARY) or b"").decode(errors="replace")
            if state == _DEADLOCK:
                raise make_deadlock_error()
            if state.startswith(_SERVER_ENDS):
                raise self._lose(party, connection, message)
            raise GpudbError(f"could not lock: {message}", condition="io_error")
        return results

    def _lose(self, party: int, connection: Connection, reason: str) -> Exception:
        """Closes a connection that broke; returns what its party has to know."""
        connection.close()
        with self._mutex:
            holds = bool(self._table.list_held(party))
        return _lost_error() if holds else _Disconnected(reason)

    def _unlock(self, party: int, locks: list[tuple[Lockable, bool]]) -> None:
        connection = self._connections.get(party)
        if connection is not None and locks:
            self._run_unlock(connection, locks)
        self._close_if_unused(party)

    def _run_unlock(self, connection: Connection, locks: list[tuple[Lockable, bool]]) -> None:
        """Unlocks in PostgreSQL; a connection for which that fails is closed, which unlocks as well."""
        calls = ", ".join(
            f"pg_advisory_unlock{'_shared' if shared else ''}({self._make_key(target)})" for target, shared in locks
        )
        try:
            connection.execute(f"SELECT {calls}".encode())
        except psycopg.Error:
            connection.close()

    def _close_if_unused(self, party: int) -> None:
        """Gives back the connection of a party that neither holds nor awaits a lock."""
        with self._mutex:
            if party in self._table.waits or self._table.list_held(party):
                return
            connection = self._connections.pop(party, None)
            if connection is None:
                return
            if not connection.closed and len(self._kept) < KEPT_CONNECTIONS:
                self._kept.append(connection)
                return
        connection.close()

    def _make_key(self, target: Lockable) -> int:
        """Returns PostgreSQL's number for a lock, which locks of other catalogs and applications do not have."""
        name = f"{self._catalog} {tuple(target) if isinstance(target, Target | Item) else target}"
        digest = hashlib.blake2b(name.encode(), digest_size=8).digest()
        return int.from_bytes(digest, "big", signed=True)


def _connect(url: str, name: str) -> Connection:
    connection = connect(url)
    with connection.pipeline():
        connection.execute("SELECT set_config('application_name', %s, false)", (name,))
        for statement in _SETTINGS:
            connection.execute(statement)
    with contextlib.suppress(psycopg.errors.InsufficientPrivilege):
        connection.execute(_DEADLOCK_TIMEOUT)
    return connection


def _wait(connection: Connection, seconds: float) -> bool:
    """Waits for results; returns whether all that a query sends first is there, or the connection broke."""
    pgconn = connection.pgconn
    if not pgconn.is_busy():
        return True
    if not select.select([pgconn.socket], [], [], seconds)[0]:
        return False
    pgconn.consume_input()
    return not pgconn.is_busy()


def _is_alive(connection: Connection) -> bool:
    """Returns whether PostgreSQL has not closed a connection that is idle."""
    if connection.closed:
        return False
    pgconn = connection.pgconn
    try:
        while select.select([pgconn.socket], [], [], 0)[0]:  # a last message, and then the end
            pgconn.consume_input()
    except (psycopg.Error, OSError, ValueError):
        connection.close()
        return False
    return pgconn.status == pq.ConnStatus.OK


def _read_int(result: PGresult) -> int:
    value = result.get_value(0, 0)
    if value is None:
        raise InternalError("PostgreSQL returned no value")
    return int(value)


def _lost_error() -> SerializationFailure:
    message = "could not serialize access: locks were lost with the connection to the catalog"
    hint = "Try the transaction again, once the session has released its advisory locks."
    return SerializationFailure(message, hint=hint)


def _failed(reason: str) -> GpudbError:
    message = f"could not lock: the connection to the catalog was lost: {reason}"
    return GpudbError(message, condition="connection_failure")
