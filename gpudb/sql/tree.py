"""Trees of immutable nodes: classes declare which of their fields hold nodes, and one traversal serves all trees."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import Field, fields
from typing import TYPE_CHECKING, Any, ClassVar


class TreeNode:
    """Base of all nodes, which are frozen dataclasses.

    A field that can hold nodes is declared in `children` or in `apart`. It holds a node, None, or a tuple with nodes in
    it, also nested.
    """

    __slots__ = ()

    children: ClassVar[tuple[str, ...]] = ()
    """The fields with the nodes below this one."""
    apart: ClassVar[tuple[str, ...]] = ()
    """The fields with nodes that are no part of the tree: no traversal follows them."""

    if TYPE_CHECKING:
        # Every concrete node is a dataclass.
        __dataclass_fields__: ClassVar[dict[str, Field[Any]]]


Kinds = Mapping[type, tuple[str, ...]]
"""The classes of nodes that a traversal follows, each with its fields that hold children."""


def kinds_of(*classes: type[TreeNode]) -> Kinds:
    """Returns classes of nodes with their declared children."""
    return {each: each.children for each in classes}


def children(node: Any, kinds: Kinds) -> list[Any]:
    """Returns the direct children of some kinds."""
    found: list[Any] = []
    for name in kinds[node.__class__]:
        value = getattr(node, name)
        if value.__class__ in kinds:
            found.append(value)
        elif value.__class__ is tuple:
            found += nodes_in(value, kinds)
    return found


def nodes_in(values: tuple[Any, ...], kinds: Container[type]) -> list[Any]:
    """Returns the nodes of some kinds in a tuple and its nested tuples."""
    found: list[Any] = []
    for value in values:
        if value.__class__ in kinds:
            found.append(value)
        elif value.__class__ is tuple:
            found += nodes_in(value, kinds)
    return found


def walk(node: Any, kinds: Kinds) -> Iterator[Any]:
    """Yields a node and all nodes of some kinds below it, parents first."""
    waiting = [node]
    while waiting:
        each = waiting.pop()
        yield each
        if found := children(each, kinds):
            found.reverse()
            waiting += found


def rewrite(tree: Any, change: Callable[[Any], Any], kinds: Kinds) -> Any:
    """Rebuilds a node, or several in a tuple, from the top.

    Where `change` returns something other than None for a node, that replaces it. Nodes of other kinds are left
    unchanged, as is what is below them.
    """
    kind = tree.__class__
    if kind is tuple:
        rewritten = [rewrite(each, change, kinds) for each in tree]
        for after, before in zip(rewritten, tree, strict=True):
            if after is not before:
                return tuple(rewritten)
        return tree
    names = kinds.get(kind)
    if names is None:
        return tree
    replacement = change(tree)
    if replacement is not None or not names:
        return tree if replacement is None else replacement
    changes: dict[str, Any] = {}
    for name in names:
        before = getattr(tree, name)
        if before is not None:
            after = rewrite(before, change, kinds)
            if after is not before:
                changes[name] = after
    if not changes:
        return tree
    # Takes half the time of `replace`.
    return kind(*[changes[name] if name in changes else getattr(tree, name) for name in _arguments(kind)])


_ARGUMENTS: dict[type, tuple[str, ...]] = {}


def _arguments(kind: type) -> tuple[str, ...]:
    """Returns the fields that a node class's constructor takes, in order."""
    found = _ARGUMENTS.get(kind)
    if found is None:
        found = _ARGUMENTS[kind] = tuple(each.name for each in fields(kind) if each.init)
    return found
