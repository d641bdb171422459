"""SELECT … FOR UPDATE and its like: they lock out the writers of a whole table, since rows have no locks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from gpudb.catalog.tables import Table
from gpudb.errors import SqlError
from gpudb.session.context import Context
from gpudb.session.execution.locks_and_snapshots.lock_snapshots import refresh_after_lock
from gpudb.session.plan_cache import Plan
from gpudb.sql.bound import Constant, Derived, From, Join, RowLock, Scan, Select
from gpudb.sql.traverse import replace_nodes
from gpudb.types import BOOL


def lock_rows(context: Context, locks: Sequence[RowLock]) -> bool:
    """Takes the locks of a statement; returns whether the transaction then sees another catalog.

    Raises 55P03 with NOWAIT or after lock_timeout, 40P01 on a deadlock, 40001 if others have changed a table since the
    transaction's snapshot, which it keeps, and 25006 in a read-only transaction. EXPLAIN takes none.
    """
    if context.statement.kind == "ExplainStmt":
        return False
    context.check_writable(f"SELECT {locks[0].clause}")
    transaction, outdated = context.transaction, set[int]()
    for lock in locks:
        oid = lock.table.oid
        if lock.nowait or lock.skips:
            found = transaction.try_lock(oid, shared=lock.shared)
            if found is None and lock.nowait:
                message = f'could not obtain lock on row in relation "{lock.table.name}"'
                raise SqlError.of("lock_not_available", message)
        else:
            found = transaction.lock(oid, context.lock_seconds, context.cancel.check, shared=lock.shared)
        if found:
            outdated.add(oid)
    changed = refresh_after_lock(context)
    if not changed and any(_is_rewritten(context, oid) for oid in outdated):
        raise SqlError.of("serialization_failure", "could not serialize access due to concurrent update")
    return changed


def _is_rewritten(context: Context, oid: int) -> bool:
    """Whether others have removed rows of a table since the transaction's snapshot."""
    base = context.transaction.base
    before = base.find_relation_by_oid(oid)
    now = context.session.database.store.catalog(base.database).find_relation_by_oid(oid)
    if not isinstance(before, Table) or not isinstance(now, Table):
        return before is not now
    return not {file.id for file in before.files} <= {file.id for file in now.files}


def skip_locked(context: Context, plan: Plan) -> Plan:
    """Returns a plan without the rows of tables that SKIP LOCKED finds locked by others."""
    if context.statement.kind == "ExplainStmt":
        return plan
    locks = context.session.database.store.locks
    party, number = context.transaction.party, context.transaction.number
    skipped = {
        lock.rel
        for lock in plan.row_locks
        if lock.skips
        and (
            not locks.try_acquire(lock.table.oid, number, party=party, shared=lock.shared)
            or _is_rewritten(context, lock.table.oid)  # its holder has committed since this snapshot
        )
    }
    if not skipped:
        return plan

    def change(node: Any) -> Any:
        if isinstance(node, Select) and _scans(node.source, skipped):
            return replace(node, where=Constant(value=False, type=BOOL))
        return None

    return replace(plan, bound=replace_nodes(plan.bound, change), authorized={})


def _scans(source: From | None, rels: set[int]) -> bool:
    """Whether a FROM clause itself scans one of some tables."""
    if isinstance(source, Join):
        return _scans(source.left, rels) or _scans(source.right, rels)
    return isinstance(source, Scan | Derived) and source.rel in rels
