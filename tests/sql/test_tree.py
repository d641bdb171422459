"""Nodes declare every field that can hold nodes, so that no traversal skips one in silence."""

from __future__ import annotations

import importlib
import pkgutil
import sys
import typing
from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from types import ModuleType
from typing import Any, get_args, get_type_hints

import pytest

import gpudb.plan.tree
from gpudb.plan.tree.nodes import Node
from gpudb.sql import bound
from gpudb.sql.traverse import KINDS
from gpudb.sql.tree import TreeNode, children, kinds_of, rewrite, walk


def _modules(package: ModuleType) -> Iterator[ModuleType]:
    for found in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
        yield importlib.import_module(found.name)


def _classes(package: ModuleType) -> list[type[Any]]:
    """Returns the dataclasses that the modules of a package define."""
    defined = [each for module in _modules(package) for each in vars(module).values() if isinstance(each, type)]
    return sorted(
        {each for each in defined if is_dataclass(each) and each.__module__.startswith(package.__name__)}, key=str
    )


def _holds(annotation: Any, base: type[TreeNode]) -> bool:
    """Returns whether a value of an annotated type may be a node, or a tuple with nodes in it."""
    if isinstance(annotation, type) and issubclass(annotation, base):
        return True
    return any(_holds(each, base) for each in get_args(annotation))


def _fields_with_nodes(kind: type[Any], base: type[TreeNode] = TreeNode) -> set[str]:
    hints = get_type_hints(kind, vars(typing) | vars(bound) | vars(sys.modules[kind.__module__]))
    return {each.name for each in fields(kind) if _holds(hints[each.name], base)}


@pytest.mark.parametrize("kind", _classes(bound), ids=lambda kind: kind.__name__)
def test_fields_of_bound_nodes_are_declared(kind: type[TreeNode]) -> None:
    if not issubclass(kind, TreeNode):
        assert _fields_with_nodes(kind) == set()
        return
    assert set(kind.children).isdisjoint(kind.apart)
    assert {*kind.children, *kind.apart} == _fields_with_nodes(kind)


@pytest.mark.parametrize(
    "kind", [each for each in _classes(gpudb.plan.tree) if issubclass(each, Node)], ids=lambda kind: kind.__name__
)
def test_fields_of_plan_nodes_are_declared(kind: type[Node]) -> None:
    declared = [*kind.children, *kind.expressions, *kind.apart]
    assert len(declared) == len(set(declared))
    assert set(declared) == _fields_with_nodes(kind)
    inputs = _fields_with_nodes(kind, Node)
    assert inputs.issuperset(kind.children)
    assert inputs.isdisjoint(kind.expressions)


@pytest.mark.parametrize("kind", _classes(bound), ids=lambda kind: kind.__name__)
def test_every_kind_of_bound_node_is_followed(kind: type[Any]) -> None:
    assert (kind in KINDS) == issubclass(kind, TreeNode)


@dataclass(frozen=True, slots=True)
class _Leaf(TreeNode):
    value: int


@dataclass(frozen=True, slots=True)
class _Pair(TreeNode):
    children = ("left", "rest")
    apart = ("other",)

    left: TreeNode | None
    rest: tuple[tuple[TreeNode, str], ...] = ()
    other: TreeNode | None = None


_KINDS = kinds_of(_Leaf, _Pair)
_TREE = _Pair(_Leaf(1), ((_Leaf(2), "two"), (_Pair(_Leaf(3)), "three")), _Leaf(4))


def test_children_are_the_declared_ones_in_order() -> None:
    assert children(_TREE, _KINDS) == [_Leaf(1), _Leaf(2), _Pair(_Leaf(3))]
    assert [each.value for each in walk(_TREE, _KINDS) if isinstance(each, _Leaf)] == [1, 2, 3]
    assert children(_TREE, kinds_of(_Pair)) == [_Pair(_Leaf(3))]


def test_rewriting_keeps_what_does_not_change() -> None:
    assert rewrite(_TREE, lambda each: None, _KINDS) is _TREE
    changed = rewrite(_TREE, lambda each: _Leaf(9) if each == _Leaf(3) else None, _KINDS)
    assert changed == _Pair(_Leaf(1), ((_Leaf(2), "two"), (_Pair(_Leaf(9)), "three")), _Leaf(4))
    assert changed.left is _TREE.left
    assert changed.rest[0] is _TREE.rest[0]
    assert rewrite((_Leaf(3), "text", None), lambda each: _Leaf(5), _KINDS) == (_Leaf(5), "text", None)
