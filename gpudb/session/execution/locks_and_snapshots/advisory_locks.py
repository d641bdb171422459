"""Advisory locks: locks on numbers that applications choose, of a session or of its transaction."""

from __future__ import annotations

from collections.abc import Sequence

from gpudb.catalog.secured_objects import get_database
from gpudb.session.context import Context, SessionState
from gpudb.session.execution.locks_and_snapshots.lock_snapshots import refresh_after_lock
from gpudb.storage.locks import Target

ADVISORY_FUNCTIONS = frozenset(
    {
        *(
            f"pg_{kind}advisory_{level}lock{mode}"
            for kind in ("", "try_")
            for level in ("", "xact_")
            for mode in ("", "_shared")
        ),
        *("pg_advisory_unlock", "pg_advisory_unlock_shared", "pg_advisory_unlock_all"),
    }
)


def call_advisory_function(context: Context, name: str, args: Sequence[object]) -> object:
    """The result of an advisory lock function; 55P03 after lock_timeout, 40P01 on a deadlock."""
    if name == "pg_advisory_unlock_all":
        unlock_all(context.session)
        return ""
    if None in args:
        return None
    locks, session = context.session.database.store.locks, context.session
    target, party = _make_target(context, args), -session.process_id
    shared = name.endswith("_shared")
    if name.startswith("pg_advisory_unlock"):
        found = locks.release_one(target, party, shared=shared)
        if not found:
            mode = "ShareLock" if shared else "ExclusiveLock"
            context.notice(f"you don't own a lock of type {mode}", severity="WARNING", sqlstate="01000")
        return found
    owner = context.transaction.number if "_xact_" in name else party
    if name.startswith("pg_try_"):
        taken = locks.try_acquire(target, owner, party=party, shared=shared)
        if taken:
            refresh_after_lock(context)
        return taken
    locks.acquire(target, owner, context.lock_seconds, context.cancel.check, party=party, shared=shared)
    refresh_after_lock(context)
    return ""


def unlock_all(session: SessionState) -> None:
    """Releases the advisory locks that a session holds beyond its transaction."""
    locks = session.database.store.locks
    if locks.held:
        locks.release(-session.process_id)


def _make_target(context: Context, args: Sequence[object]) -> Target:
    database = get_database(context.transaction.catalog).oid
    numbers = [each for each in args if isinstance(each, int)]
    if len(args) == 2:
        return Target(database, numbers[0] & 0xFFFFFFFF, numbers[1] & 0xFFFFFFFF, 2)
    return Target(database, numbers[0] >> 32 & 0xFFFFFFFF, numbers[0] & 0xFFFFFFFF, 1)
