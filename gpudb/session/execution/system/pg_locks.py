"""Rows of pg_locks, and who waits for whom."""

from __future__ import annotations

from collections.abc import Mapping

from gpudb.catalog.secured_objects import get_database
from gpudb.session.context import Context
from gpudb.storage.locks import Item, Target

Row = Mapping[str, object]


def lock_rows(context: Context) -> list[Row]:
    """The locks that sessions hold and await.

    Who locks rows holds the lock of their table as RowExclusiveLock; the one that excludes it, and itself, is shown as
    ShareRowExclusiveLock. Rows and keys are those of a table by a number.
    """
    rows: list[Row] = []
    for lock in context.session.database.store.locks.list_rows():
        if lock.party > 0:
            continue  # a transaction of the storage itself
        row: dict[str, object] = {
            "virtualtransaction": f"{-lock.party}/{lock.owner if lock.owner > 0 else 0}",
            "pid": -lock.party,
            "granted": lock.is_granted,
            "fastpath": False,
        }
        if isinstance(lock.target, Target):
            database, high, low, kind = lock.target
            row |= {"locktype": "advisory", "database": database, "classid": high, "objid": low, "objsubid": kind}
            row["mode"] = "ShareLock" if lock.is_shared else "ExclusiveLock"
        elif isinstance(lock.target, Item):
            item = lock.target
            if item.kind == "write":
                row |= {"locktype": "relation", "relation": item.table, "database": _find_database(context, item.table)}
                row["mode"] = "RowExclusiveLock" if lock.is_shared else "ShareRowExclusiveLock"
                rows.append(row)
                continue
            row |= {"locktype": "tuple" if item.kind == "row" else "object", "objid": item.number & 0xFFFFFFFF}
            row |= {"relation": item.table, "database": _find_database(context, item.table)}
            row["mode"] = "RowShareLock" if lock.is_shared else "ExclusiveLock"
        else:
            row |= {"locktype": "relation", "relation": lock.target, "database": _find_database(context, lock.target)}
            row["mode"] = "RowExclusiveLock" if lock.is_shared else "ShareRowExclusiveLock"
        rows.append(row)
    return rows


def _find_database(context: Context, oid: int) -> int | None:
    """Returns the OID of the database that holds a table; None for one that is not committed yet."""
    catalogs = context.session.database.store.catalogs().values()
    found = next((each for each in catalogs if each.find_relation_by_oid(oid) is not None), None)
    return None if found is None else get_database(found).oid


def wait_rows(context: Context) -> list[Row]:
    """The process IDs of sessions that wait for a lock, each with those that it waits for."""
    locks = context.session.database.store.locks
    waiting = sorted({lock.party for lock in locks.list_rows() if not lock.is_granted and lock.party < 0})
    return [{"pid": -party, "blocker": -each} for party in waiting for each in locks.find_blockers(party) if each < 0]
