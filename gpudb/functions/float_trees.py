"""Trees of float operations, such as `(x - a) * b + c`, whose errors are looked for once, over the whole tree.

Each step of a tree may raise: 22003 where finite operands give infinity, or a product that is not zero gives zero.
Checked step by step, each result has to be named, which DuckDB does by a lambda at ten times the cost of the step.
A tree computes all its steps unchecked instead. Infinities and NaN reach the result, or a condition of the step that
loses them; rows of which nothing tells of an error have their value, and only for others the steps are looked at.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from gpudb.functions.let_binding import bind_values

_MAX_LEAVES = 16
_MAX_LENGTH = 1_000
"""Limits of a tree, which repeats its SQL: the operands of a larger one are leaves of another."""
_CONSTANT = re.compile(r"\(?(-?[0-9.]+(?:e[+-]?[0-9]+)?)\)?::(?:DOUBLE|FLOAT)")


class Operand(NamedTuple):
    """An operand of a step: its unchecked SQL, whether a step computes it, and the value of a finite constant."""

    sql: str
    is_computed: bool
    constant: float | None


@dataclass(frozen=True, slots=True)
class Step:
    """An operation of floats, as SQL over the SQL of its operands.

    unchecked: its value; it never raises, and is not finite if the step fails or an operand is not finite, but where
    `sure` does not hold. errors: conditions in their order, each with the error that it means, from the result and the
    operands. sure: a condition that fails wherever a finite result hides an error, or an operand that is not finite;
    None if none does. is_product: whether zeros of operands are zeros of the result.
    """

    unchecked: Callable[..., str]
    errors: Callable[..., Iterable[tuple[str, str]]] = lambda *_: ()
    sure: Callable[..., str | None] = lambda *_: None
    is_product: bool = False


@dataclass(frozen=True, slots=True)
class _Node:
    step: Step
    operands: tuple[_Tree, ...]


_Tree = _Node | str


class FloatSql(str):
    """The SQL of a float that a tree computes; as an operand of another step it becomes a part of that step's tree."""

    __slots__ = ("tree",)
    tree: _Node

    def __new__(cls, sql: str, tree: _Node) -> FloatSql:
        """Returns the SQL with its tree."""
        made = super().__new__(cls, sql)
        made.tree = tree
        return made


def apply_step(step: Step, *operands: str) -> str:
    """Returns the SQL of a step; operands that are trees become parts of one tree with it."""
    tree = _Node(step, tuple(each.tree if isinstance(each, FloatSql) else each for each in operands))
    leaves = list(_leaves(tree))
    if len(leaves) > _MAX_LEAVES or len(_compute(tree, dict.fromkeys(leaves, "x"))) > _MAX_LENGTH:
        tree = _Node(step, tuple(map(str, operands)))
    return FloatSql(_render(tree), tree)


def apply_plain(template: str, operand: str) -> str:
    """Returns the SQL of a function without errors, whose result is finite where its operand is, and only there."""
    if not isinstance(operand, FloatSql):
        return template.format(operand)
    return apply_step(Step(template.format), operand)


def _render(tree: _Node) -> str:
    leaves = list(dict.fromkeys(each for each in _leaves(tree) if get_constant(each) is None))
    return bind_values(lambda *names: _choose(tree, dict(zip(leaves, names, strict=True))), *leaves)


def _choose(tree: _Node, names: Mapping[str, str]) -> str:
    """Returns the value, or the error of the step that fails first; leaves are written by their names."""
    value = _compute(tree, names)
    errors = [f" WHEN {condition} THEN {error}" for node in _steps(tree) for condition, error in _fail(node, names)]
    if not errors:
        return value
    if any(isinstance(each, _Node) for each in tree.operands):
        sure = (_trust(node, names) for node in _steps(tree, within_products=False))
        conditions = dict.fromkeys([f"isfinite({value})", *filter(None, sure)])
        errors.insert(0, f" WHEN {' AND '.join(conditions)} THEN {value}")
    return f"(CASE{''.join(errors)} ELSE {value} END)"


def _compute(tree: _Tree, names: Mapping[str, str]) -> str:
    if isinstance(tree, str):
        return names.get(tree, tree)
    return tree.step.unchecked(*(_compute(each, names) for each in tree.operands))


def _operands(node: _Node, names: Mapping[str, str]) -> list[Operand]:
    return [Operand(_compute(each, names), isinstance(each, _Node), get_constant(each)) for each in node.operands]


def _fail(node: _Node, names: Mapping[str, str]) -> Iterable[tuple[str, str]]:
    return node.step.errors(_compute(node, names), *_operands(node, names))


def _trust(node: _Node, names: Mapping[str, str]) -> str | None:
    """Returns the condition under which a finite result hides nothing, in a product nothing of all products in it."""
    value = _compute(node, names)
    sure = node.step.sure(value, *_operands(node, names))
    if not node.step.is_product:
        return sure
    products = (each for each in node.operands if isinstance(each, _Node) and each.step.is_product)
    inside = list(filter(None, [sure, *(_trust(each, names) for each in products)]))
    return f"({value} <> 0 OR ({' AND '.join(inside)}))" if inside else None


def _steps(tree: _Tree, *, within_products: bool = True) -> Iterator[_Node]:
    """Yields the steps of a tree in the order of their computation, those of products within products if asked for."""
    if isinstance(tree, str):
        return
    for each in tree.operands:
        if within_products or not (tree.step.is_product and isinstance(each, _Node) and each.step.is_product):
            yield from _steps(each, within_products=within_products)
        elif isinstance(each, _Node):
            for inner in each.operands:
                yield from _steps(inner, within_products=within_products)
    yield tree


def _leaves(tree: _Tree) -> Iterator[str]:
    if isinstance(tree, str):
        yield tree
        return
    for each in tree.operands:
        yield from _leaves(each)


def get_constant(tree: _Tree) -> float | None:
    """Returns the value of a finite constant, None of everything else."""
    found = _CONSTANT.fullmatch(tree) if isinstance(tree, str) else None
    value = float(found[1]) if found is not None else math.inf
    return value if math.isfinite(value) else None
