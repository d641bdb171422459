"""Traversal of bound trees: child nodes, all nodes below a node, and trees with some nodes replaced."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from gpudb.sql import bound, tree

KINDS = tree.kinds_of(
    *bound.Expr.__args__,
    *bound.From.__args__,
    *bound.Query.__args__,
    *bound.DataChange.__args__,
    bound.SortKey,
    bound.Frame,
    bound.Cte,
    bound.OnConflict,
    bound.RowCheck,
    bound.WithChanges,
)
"""Every class of nodes of bound trees."""


def children(node: Any) -> list[Any]:
    """Returns the direct children of a node: expressions, relations, queries, sort keys and frames."""
    return tree.children(node, KINDS)


def walk(node: Any) -> Iterator[Any]:
    """Yields a node and all nodes below it, subqueries included, parents first."""
    return tree.walk(node, KINDS)


def reads_columns(expr: bound.Expr) -> bool:
    """Whether an expression reads a column, including in its subqueries."""
    return any(isinstance(node, bound.Column) for node in walk(expr))


def is_volatile(node: Any) -> bool:
    """Returns whether a node is a call of a volatile function."""
    return isinstance(node, bound.Call) and node.function.volatile


def has_volatile(expr: Any) -> bool:
    """Returns whether an expression calls a volatile function, including in its subqueries."""
    return any(map(is_volatile, walk(expr)))


def outer_columns(root: bound.Query | bound.Expr) -> set[tuple[int, int]]:
    """Returns the columns of outer queries that a query, or an expression without a FROM, reads."""
    nodes = list(walk(root))
    own = {node.rel for node in nodes if hasattr(node, "rel") and not isinstance(node, bound.Column)}
    own |= {node.item for node in nodes if isinstance(node, bound.Fold)}
    return {(node.rel, node.index) for node in nodes if isinstance(node, bound.Column) and node.rel not in own}


def replace_nodes(node: Any, change: Callable[[Any], Any]) -> Any:
    """Returns the tree with each node replaced for which `change` returns another node, parents first."""
    return tree.rewrite(node, change, KINDS)


def iter_queries(statement: bound.Statement) -> Iterator[bound.Query]:
    """Yields every top-level query of a statement."""
    if isinstance(statement, bound.Query):
        yield statement
    else:
        for each in children(statement):
            yield from iter_queries(each)


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


def split_conjuncts(expr: Any | None) -> tuple[Any, ...]:
    """Returns the conditions that an AND joins."""
    if expr is None:
        return ()
    if isinstance(expr, bound.BoolOp) and expr.op == "AND":
        return tuple(part for each in expr.args for part in split_conjuncts(each))
    return (expr,)


def join_conjuncts(parts: tuple[Any, ...]) -> Any | None:
    """Joins conditions by AND; None for none."""
    if len(parts) < 2:
        return parts[0] if parts else None
    return bound.BoolOp("AND", tuple(parts))


def has_subquery(expr: Any) -> bool:
    """Whether a subquery is anywhere in an expression."""
    return any(isinstance(each, bound.SUBQUERIES) for each in walk(expr))
