"""Statements whose WITH changes data: each part is bound over the rows that earlier parts return."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from gpudb.errors import FeatureNotSupported, SqlError
from gpudb.sql.bind.base import Binder
from gpudb.sql.bind.query.recursion import refers_to, sort_by_reference
from gpudb.sql.bind.query.with_clause import bind_cte, check_names, rename_columns
from gpudb.sql.bind.scope import CteStub, Scope
from gpudb.sql.bound import (
    Column,
    Cte,
    CteScan,
    DataChange,
    FrameScan,
    OutputColumn,
    Part,
    Query,
    Select,
    WithChanges,
)
from gpudb.sql.parse.parser import inner, kind, strings
from gpudb.sql.traverse import walk

Bind = Callable[[Binder, Any, Scope], Query | DataChange]

CHANGE_KINDS = {"insert_stmt", "update_stmt", "delete_stmt"}


def bind_with_changes(
    binder: Binder, node: Any, bind: Callable[[Binder, Any, Scope], Query | DataChange]
) -> WithChanges:
    """Binds a statement with such a WITH; `bind` binds INSERT, UPDATE, DELETE or SELECT below a scope.

    0A000 for MERGE in WITH, 42P19 for a self-reference, 42712.
    """
    scope = Scope()
    known: list[Cte] = []
    parts: list[Part] = []
    clause = node.with_clause
    nodes = [inner(each) for each in clause.ctes]
    check_names(binder, nodes)
    for each in sort_by_reference(binder, nodes) if clause.recursive else nodes:
        if kind(each.ctequery) == "select_stmt":
            *own, cte = bind_cte(binder, scope, each, recursive=clause.recursive)
            part: Query | DataChange = cte.query
            if cte.recursive:
                part = _as_select(binder, cte, own)
            columns: tuple[OutputColumn, ...] | None = cte.query.columns
            number = cte.number
        else:
            part, number = _bind_change(binder, scope, each, clause.recursive, bind), binder.new_cte()
            columns = (
                None
                if part.returning is None
                else rename_columns(part.returning, strings(each.aliascolnames), each.ctename).columns
            )
        frame = f"gpudb with {number}"
        parts.append((frame, _attach_ctes(part, known)))
        if columns is None:
            scope.ctes[each.ctename] = (CteStub((), returning=False), number)
            continue
        result = Cte(number, each.ctename, _scan_part(binder, frame, columns))
        known.append(result)
        scope.ctes[each.ctename] = (result, number)
    plain = type(node)()
    plain.CopyFrom(node)
    plain.ClearField("with_clause")
    statement = _attach_ctes(bind(binder, plain, scope), known)
    before = _find_needed(parts, statement)
    # PostgreSQL completes unread parts last to first, each behind the parts that it reads
    after: list[Part] = []
    for each in reversed([part for part in parts if isinstance(part[1], DataChange)]):
        if each not in (*before, *after):
            after += [part for part in (*_find_needed(parts, each[1]), each) if part not in (*before, *after)]
    return WithChanges(tuple(before), statement, tuple(after))


def _find_needed(parts: Sequence[Part], reader: Query | DataChange) -> list[Part]:
    """Returns the parts that a reader needs, directly or through other parts, in order."""
    needed = {f"gpudb with {scan.cte}" for scan in _list_scans(reader)}
    for name, part in reversed(parts):
        if name in needed:
            needed |= {f"gpudb with {scan.cte}" for scan in _list_scans(part)}
    return [part for part in parts if part[0] in needed]


def _bind_change(binder: Binder, scope: Scope, node: Any, recursive: bool, bind: Bind) -> DataChange:
    body = inner(node.ctequery)
    if kind(node.ctequery) not in CHANGE_KINDS:
        raise binder.locate(FeatureNotSupported("MERGE not supported in WITH query"), node.location)
    if recursive and refers_to(body, node.ctename):
        message = f'recursive query "{node.ctename}" must not contain data-modifying statements'
        raise binder.locate(SqlError.of("invalid_recursion", message), node.location)
    result = bind(binder, body, scope)
    assert isinstance(result, DataChange)
    return result


def _as_select(binder: Binder, cte: Cte, own: Sequence[Cte]) -> Select:
    """Returns a recursive WITH query as a query by itself; `own` are the queries of its own WITH."""
    rel = binder.new_rel()
    targets = tuple(Column(rel, index, c.type, c.name) for index, c in enumerate(cte.query.columns))
    return Select(cte.query.columns, targets, CteScan(rel, cte.number), ctes=(*own, cte))


def _scan_part(binder: Binder, name: str, columns: tuple[OutputColumn, ...]) -> Select:
    rel = binder.new_rel()
    frame_columns = tuple(OutputColumn(f"c{n}", column.type) for n, column in enumerate(columns, 1))
    targets = tuple(Column(rel, index, column.type, column.name) for index, column in enumerate(columns))
    return Select(columns, targets, FrameScan(rel, name, frame_columns))


def _attach_ctes(part: Any, known: list[Cte]) -> Any:
    """Returns a part that can read the rows of those before it."""
    ctes = tuple(known)
    if isinstance(part, DataChange):
        result: Any = replace(part, query=_attach_ctes(part.query, known))
        if part.returning is not None:
            result = replace(result, returning=_attach_ctes(part.returning, known))
        conflict = getattr(part, "on_conflict", None)
        if conflict is not None:
            conflict = replace(conflict, conflicts=_attach_ctes(conflict.conflicts, known))
            result = replace(result, on_conflict=conflict)
        return result
    used = {scan.cte for scan in walk(part) if isinstance(scan, CteScan)}
    return replace(part, ctes=(*(cte for cte in ctes if cte.number in used), *part.ctes))


def _list_scans(part: Query | DataChange) -> list[CteScan]:
    if not isinstance(part, DataChange):
        return [node for node in walk(part) if isinstance(node, CteScan)]
    queries = [part.query, part.returning, getattr(getattr(part, "on_conflict", None), "conflicts", None)]
    return [scan for query in queries if query is not None for scan in _list_scans(query)]
