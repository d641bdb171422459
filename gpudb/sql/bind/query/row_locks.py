"""FOR UPDATE, FOR SHARE and their like: the tables that a locking clause names, and where it may not stand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from postgast import pg_query_pb2 as pg

from gpudb.catalog.tables import Table
from gpudb.errors import FeatureNotSupported, SqlError
from gpudb.sql.bind.base import Binder
from gpudb.sql.bind.scope import Scope
from gpudb.sql.bound import (
    Aggregate,
    CteScan,
    From,
    FunctionScan,
    Join,
    RowLock,
    Scan,
    Select,
    SetReturning,
    TableFunction,
    Window,
)
from gpudb.sql.parse.parser import inner
from gpudb.sql.traverse import walk

_NAMES = {
    "LCS_FORUPDATE": "FOR UPDATE",
    "LCS_FORNOKEYUPDATE": "FOR NO KEY UPDATE",
    "LCS_FORSHARE": "FOR SHARE",
    "LCS_FORKEYSHARE": "FOR KEY SHARE",
}

_UNLOCKABLE: dict[type, str] = {FunctionScan: "a function", TableFunction: "a function", CteScan: "a WITH query"}


def check_lockable(node: Any) -> None:
    """0A000 for a locking clause on a SELECT whose rows are not rows of tables."""
    if not len(node.locking_clause):
        return
    name = get_lock_name(inner(node.locking_clause[0]))
    for present, what in (
        (node.op != pg.SETOP_NONE, "UNION/INTERSECT/EXCEPT"),
        (len(node.distinct_clause), "DISTINCT clause"),
        (len(node.group_clause), "GROUP BY clause"),
        (node.HasField("having_clause"), "HAVING clause"),
    ):
        if present:
            raise FeatureNotSupported(f"{name} is not allowed with {what}")
    if len(node.values_lists):
        raise FeatureNotSupported(f"{name} cannot be applied to VALUES")


def bind_row_locks(binder: Binder, scope: Scope, node: Any, query: Select) -> Select:
    """Returns a SELECT with what its locking clauses lock; 42P01 for a name that is not in FROM, or 0A000."""
    locks: list[RowLock] = []
    for clause in map(inner, node.locking_clause):
        name = get_lock_name(clause)
        if binder.row_locks is None:
            raise FeatureNotSupported(f"{name} is not supported here")
        for target in query.targets:
            for kind, what in (
                (Aggregate, "aggregate functions"),
                (Window, "window functions"),
                (SetReturning, "set-returning functions in the target list"),
            ):
                if any(isinstance(each, kind) for each in walk(target)):
                    raise FeatureNotSupported(f"{name} is not allowed with {what}")
        for rel, item in _list_locked(binder, scope, clause, query.source):
            binder.accesses.lock(rel)
            for each in walk(item):
                if isinstance(each, Scan):
                    binder.accesses.lock(each.rel)
                    if isinstance(each.table, Table) and not each.table.temporary:
                        locks.append(_make_lock(clause, each))
    if binder.row_locks is not None:
        binder.row_locks += locks
    return replace(query, locks=tuple(locks))


def get_lock_name(clause: Any) -> str:
    """Returns the name of a locking clause in messages."""
    return _NAMES[pg.LockClauseStrength.Name(clause.strength)]


def _make_lock(clause: Any, scan: Scan) -> RowLock:
    policy = pg.LockWaitPolicy.Name(clause.wait_policy)
    shared = pg.LockClauseStrength.Name(clause.strength) in {"LCS_FORSHARE", "LCS_FORKEYSHARE"}
    nowait, skips = policy == "LockWaitError", policy == "LockWaitSkip"
    return RowLock(scan.rel, scan.table, get_lock_name(clause), shared, nowait, skips)


def _list_locked(binder: Binder, scope: Scope, clause: Any, source: From | None) -> list[tuple[int, From]]:
    """Lists the FROM items that a clause names, by relation number: all of them if it names none."""
    items = _list_items(source)
    if not len(clause.locked_rels):
        return items
    found = []
    for each in map(inner, clause.locked_rels):
        name = get_lock_name(clause)
        if each.schemaname or each.catalogname:
            message = f"{name} must specify unqualified relation names"
            raise binder.locate(SqlError.of("syntax_error", message), each.location)
        item = scope.find_item(each.relname)
        rels = {column.rel for _, column in (*item.columns, *item.hidden) if hasattr(column, "rel")} if item else set()
        chosen = [(rel, node) for rel, node in items if rel in rels]
        if item is None:
            message = f'relation "{each.relname}" in {name} clause not found in FROM clause'
            raise binder.locate(SqlError.of("undefined_table", message), each.location)
        if not chosen:
            raise binder.locate(FeatureNotSupported(f"{name} cannot be applied to a join"), each.location)
        for _, node in chosen:
            what = _UNLOCKABLE.get(type(node))
            if what is not None:
                raise binder.locate(FeatureNotSupported(f"{name} cannot be applied to {what}"), each.location)
        found += chosen
    return found


def _list_items(source: From | None) -> list[tuple[int, From]]:
    if isinstance(source, Join):
        return _list_items(source.left) + _list_items(source.right)
    return [] if source is None else [(source.rel, source)]
