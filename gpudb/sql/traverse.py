"""Traversal of bound trees: child nodes, all nodes below a node, and trees with some nodes replaced."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import Field, fields, replace
from typing import Any

from gpudb.sql import bound

_KINDS: tuple[type, ...] = (
    *bound.Expr.__args__,
    *bound.From.__args__,
    *bound.Query.__args__,
    bound.SortKey,
    bound.Frame,
    bound.Cte,
)
_LEAVES = {"type", "function", "functions", "table", "files", "columns", "value", "name", "prepared"}
_SCALARS = {"int", "str", "bool"}


def _may_hold(each: Field[Any]) -> bool:
    """Whether a field may hold nodes."""
    declared = str(each.type).removesuffix(" | None")
    return each.name not in _LEAVES and declared not in _SCALARS and not declared.startswith("Literal[")


_FIELDS = {kind: tuple(each.name for each in fields(kind) if _may_hold(each)) for kind in _KINDS}


def children(node: Any) -> list[Any]:
    """Returns the direct children of a node: expressions, relations, queries, sort keys and frames."""
    return children_of_kinds(node, _FIELDS)


def children_of_kinds(node: Any, fields_of: Mapping[type, tuple[str, ...]]) -> list[Any]:
    """Returns the direct children that are of the kinds in `fields_of`, which maps kinds to fields with nodes."""
    found: list[Any] = []
    for name in fields_of[node.__class__]:
        value = getattr(node, name)
        if value.__class__ in fields_of:
            found.append(value)
        elif value.__class__ is tuple:
            found += filter_nodes(value, fields_of)
    return found


def filter_nodes(values: tuple[Any, ...], kinds: Container[type]) -> list[Any]:
    """Returns the nodes of some kinds in a tuple and its nested tuples."""
    found: list[Any] = []
    for value in values:
        if value.__class__ in kinds:
            found.append(value)
        elif value.__class__ is tuple:
            found += filter_nodes(value, kinds)
    return found


def walk(node: Any) -> Iterator[Any]:
    """Yields a node and all nodes below it, subqueries included, parents first."""
    waiting = [node]
    while waiting:
        each = waiting.pop()
        yield each
        if found := children_of_kinds(each, _FIELDS):
            found.reverse()
            waiting += found


def reads_columns(expr: bound.Expr) -> bool:
    """Whether an expression reads a column, including in its subqueries."""
    return any(isinstance(node, bound.Column) for node in walk(expr))


def is_volatile(node: Any) -> bool:
    """Returns whether a node is a call of a volatile function."""
    return isinstance(node, bound.Call) and node.function.volatile


def has_volatile(expr: Any) -> bool:
    """Returns whether an expression calls a volatile function, including in its subqueries."""
    return any(map(is_volatile, walk(expr)))


def outer_columns(query: bound.Query) -> set[tuple[int, int]]:
    """Returns the columns of outer queries that a query reads."""
    nodes = list(walk(query))
    own = {node.rel for node in nodes if hasattr(node, "rel") and not isinstance(node, bound.Column)}
    own |= {node.item for node in nodes if isinstance(node, bound.Fold)}
    return {(node.rel, node.index) for node in nodes if isinstance(node, bound.Column) and node.rel not in own}


def replace_nodes(node: Any, change: Callable[[Any], Any]) -> Any:
    """Returns the tree with each node replaced for which `change` returns another node, parents first."""
    result = change(node)
    if result is not None:
        return result
    values = {name: getattr(node, name) for name in _FIELDS[type(node)]}
    changed = {name: new for name, value in values.items() if (new := _replace_in(value, change)) is not value}
    return replace(node, **changed) if changed else node


def _replace_in(value: Any, change: Callable[[Any], Any]) -> Any:
    if isinstance(value, tuple):
        items = tuple(_replace_in(item, change) for item in value)
        return value if all(new is old for new, old in zip(items, value, strict=True)) else items
    return replace_nodes(value, change) if type(value) in _FIELDS else value


def iter_queries(statement: bound.Statement) -> Iterator[bound.Query]:
    """Yields every top-level query of a statement."""
    match statement:
        case bound.WithChanges():
            for _, part in (*statement.parts, *statement.after):
                yield from iter_queries(part)
            yield from iter_queries(statement.statement)
        case bound.Insert() | bound.Update() | bound.Delete() | bound.Merge():
            yield statement.query
            if isinstance(statement, bound.Insert) and statement.on_conflict is not None:
                yield statement.on_conflict.conflicts
            if statement.returning is not None:
                yield statement.returning
        case _:
            yield statement


def map_queries(statement: Any, change: Callable[[bound.Query], bound.Query]) -> Any:
    """Returns the statement with `change` applied to each query that it is or whose rows it writes."""
    match statement:
        case bound.WithChanges():
            parts, after = (
                tuple((name, map_queries(part, change)) for name, part in each)
                for each in (statement.parts, statement.after)
            )
            return bound.WithChanges(parts, map_queries(statement.statement, change), after)
        case bound.Insert() | bound.Update() | bound.Delete() | bound.Merge():
            return replace(statement, query=change(statement.query))
        case _:
            return change(statement)
