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
_LEAVES = {"type", "function", "functions", "table", "columns", "value", "name", "prepared"}
_SCALARS = {"int", "str", "bool"}


def _may_hold(each: Field[Any]) -> bool:
    """Whether a field may hold nodes."""
    declared = str(each.type).removesuffix(" | None")
    return each.name not in _LEAVES and declared not in _SCALARS and not declared.startswith("Literal[")


_FIELDS = {kind: tuple(each.name for each in fields(kind) if _may_hold(each)) for kind in _KINDS}


def children(node: Any) -> list[Any]:
    """Returns the direct children of a node: expressions, relations, queries, sort keys and frames."""
    return below(node, _FIELDS)


def below(node: Any, fields_of: Mapping[type, tuple[str, ...]]) -> list[Any]:
    """Returns the direct children of a node that are of some kinds; `fields_of` maps these to fields with nodes."""
    found: list[Any] = []
    for name in fields_of[node.__class__]:
        value = getattr(node, name)
        if value.__class__ in fields_of:
            found.append(value)
        elif value.__class__ is tuple:
            found += among(value, fields_of)
    return found


def among(values: tuple[Any, ...], kinds: Container[type]) -> list[Any]:
    """Returns the nodes of some kinds in a tuple and its nested tuples."""
    found: list[Any] = []
    for value in values:
        if value.__class__ in kinds:
            found.append(value)
        elif value.__class__ is tuple:
            found += among(value, kinds)
    return found


def walk(node: Any) -> Iterator[Any]:
    """Yields a node and all nodes below it, subqueries included, parents first."""
    waiting = [node]
    while waiting:
        each = waiting.pop()
        yield each
        if found := below(each, _FIELDS):
            found.reverse()
            waiting += found


def reads_columns(expr: bound.Expr) -> bool:
    """Whether an expression reads a column, including in its subqueries."""
    return any(isinstance(node, bound.Column) for node in walk(expr))


def outer_columns(query: bound.Query) -> set[tuple[int, int]]:
    """Returns the columns of outer queries that a query reads."""
    nodes = list(walk(query))
    own = {node.rel for node in nodes if hasattr(node, "rel") and not isinstance(node, bound.Column)}
    own |= {node.item for node in nodes if isinstance(node, bound.Fold)}
    return {(node.rel, node.index) for node in nodes if isinstance(node, bound.Column) and node.rel not in own}


def mapped(node: Any, change: Callable[[Any], Any]) -> Any:
    """Returns the tree with each node replaced for which `change` returns another node, parents first."""
    made = change(node)
    if made is not None:
        return made
    values = {name: getattr(node, name) for name in _FIELDS[type(node)]}
    changed = {name: new for name, value in values.items() if (new := _mapped(value, change)) is not value}
    return replace(node, **changed) if changed else node


def _mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    if isinstance(value, tuple):
        items = tuple(_mapped(item, change) for item in value)
        return value if all(new is old for new, old in zip(items, value, strict=True)) else items
    return mapped(value, change) if type(value) in _FIELDS else value


def queries(statement: bound.Statement) -> Iterator[bound.Query]:
    """Yields every top-level query of a statement."""
    match statement:
        case bound.WithChanges():
            for _, part in (*statement.parts, *statement.after):
                yield from queries(part)
            yield from queries(statement.statement)
        case bound.Insert() | bound.Update() | bound.Delete() | bound.Merge():
            yield statement.query
            if isinstance(statement, bound.Insert) and statement.on_conflict is not None:
                yield statement.on_conflict.conflicts
            if statement.returning is not None:
                yield statement.returning
        case _:
            yield statement


def over_queries(statement: Any, change: Callable[[bound.Query], bound.Query]) -> Any:
    """Returns the statement with `change` applied to each query that it is or whose rows it writes."""
    match statement:
        case bound.WithChanges():
            parts, after = (
                tuple((name, over_queries(part, change)) for name, part in each)
                for each in (statement.parts, statement.after)
            )
            return bound.WithChanges(parts, over_queries(statement.statement, change), after)
        case bound.Insert() | bound.Update() | bound.Delete() | bound.Merge():
            return replace(statement, query=change(statement.query))
        case _:
            return change(statement)
