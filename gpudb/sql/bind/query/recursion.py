"""Rules of WITH RECURSIVE: where a query may refer to itself, and the order in which queries are bound."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from postgast import pg_query_pb2 as pg

from gpudb.catalog.parse_trees import walk_with_state
from gpudb.errors import FeatureNotSupported, SqlError
from gpudb.sql.bind.base import Binder
from gpudb.sql.bound import CteScan, Derived, Query, Select, SetOperation, SetReturning
from gpudb.sql.parse.parser import expression_location, inner, present
from gpudb.sql.traverse import walk

_CROSSINGS = {"subquery": "a subquery", "outer": "an outer join", "INTERSECT": "INTERSECT", "EXCEPT": "EXCEPT"}


def refers_to(node: Any, name: str) -> bool:
    """Whether a parse tree names a relation without schema."""
    return next(_iter_references(node, name, ""), None) is not None


def sort_by_reference(binder: Binder, nodes: Sequence[Any]) -> list[Any]:
    """Returns the queries of WITH RECURSIVE, each after those that it refers to; 0A000 for mutual recursion."""
    remaining, result = list(nodes), list[Any]()
    while remaining:
        ready = next(
            (n for n in remaining if not any(o is not n and refers_to(n.ctequery, o.ctename) for o in remaining)), None
        )
        if ready is None:
            error = FeatureNotSupported("mutual recursion between WITH items is not implemented")
            raise binder.locate(error, remaining[0].location)
        remaining.remove(ready)
        result.append(ready)
    return result


def check_recursion(binder: Binder, node: Any, body: Any) -> None:
    """Raises 42P19 for a CommonTableExpr message with an invalid recursion (checkWellFormedRecursion)."""
    name = node.ctename
    if body.op != pg.SETOP_UNION:
        message = f'recursive query "{name}" does not have the form non-recursive-term UNION [ALL] recursive-term'
        raise binder.locate(SqlError.of("invalid_recursion", message), node.location)
    for location, where in _iter_references(body.larg, name, "its non-recursive term"):
        message = f'recursive reference to query "{name}" must not appear within {_CROSSINGS.get(where, where)}'
        raise binder.locate(SqlError.of("invalid_recursion", message), location)
    for what, found in (
        ("ORDER BY", body.sort_clause[0] if len(body.sort_clause) else None),
        ("OFFSET", body.limit_offset if present(body.limit_offset) else None),
        ("LIMIT", body.limit_count if present(body.limit_count) else None),
    ):
        if found is not None:
            at = expression_location(inner(found).node) if what == "ORDER BY" else expression_location(found)
            error = FeatureNotSupported(f"{what} in a recursive query is not implemented")
            raise binder.locate(error, at)
    if len(body.locking_clause):
        raise FeatureNotSupported("FOR UPDATE/SHARE in a recursive query is not implemented")
    for number, (location, where) in enumerate(_iter_references(body.rarg, name, "")):
        if where or number:
            rule = f"must not appear within {_CROSSINGS[where]}" if where else "must not appear more than once"
            message = f'recursive reference to query "{name}" {rule}'
            raise binder.locate(SqlError.of("invalid_recursion", message), location)


def _iter_references(node: Any, name: str, where: str) -> Iterator[tuple[int, str]]:
    """Yields the locations of references to a relation, each with the construct that recursion must not cross."""

    def enter(message: Any, field: str, outer: str) -> str | None:
        kind = message.DESCRIPTOR.name
        if kind == "SelectStmt" and name in [inner(each).ctename for each in message.with_clause.ctes]:
            return None
        return outer or _find_crossing(message, kind, field)

    for each, inside in walk_with_state(node, where, enter):
        if each.DESCRIPTOR.name == "RangeVar" and each.relname == name and not each.schemaname:
            yield each.location, inside


def _find_crossing(node: Any, kind: str, field: str) -> str:
    if kind == "SubLink" and field == "subselect":
        return "subquery"
    if kind == "JoinExpr" and field in {"larg", "rarg"}:
        outer = {pg.JOIN_LEFT: {"rarg"}, pg.JOIN_RIGHT: {"larg"}, pg.JOIN_FULL: {"larg", "rarg"}}
        return "outer" if field in outer.get(node.jointype, ()) else ""
    if kind == "SelectStmt" and field in {"larg", "rarg"}:
        if node.op == pg.SETOP_INTERSECT and node.all:
            return "INTERSECT"
        if node.op == pg.SETOP_EXCEPT and (node.all or field == "rarg"):
            return "EXCEPT"
    return ""


def check_termination(name: str, term: Query) -> None:
    """Raises 0A000 for an endless recursive query within the recursive term of another, unless a LIMIT stops it."""
    for node in walk(term):
        for cte in node.ctes if isinstance(node, Select | SetOperation) else ():
            if cte.recursive and isinstance(cte.query, SetOperation) and cte.query.all:
                if _keeps_all(cte.query.right, cte.number):
                    message = f'recursive query "{cte.name}", which never ends, is not supported within "{name}"'
                    raise FeatureNotSupported(message, hint=f'Give the recursive term of "{cte.name}" a condition.')


def _keeps_all(query: Any, number: int) -> bool:
    """Whether a query returns at least one row for each row of the recursion's previous step."""
    match query:
        case SetOperation(op="UNION", all=True, limit=None, offset=None):
            return _keeps_all(query.left, number) or _keeps_all(query.right, number)
        case Derived():
            return _keeps_all(query.query, number)
        case CteScan():
            return query.cte == number
        case Select():
            sets = any(isinstance(each, SetReturning) for target in query.targets for each in walk(target))
            less = (query.where, query.limit, query.offset, query.distinct or None)
            return not sets and not query.grouped and less == (None,) * len(less) and _keeps_all(query.source, number)
    return False
