"""Cutting a plan at its exchanges: stages, each of which every worker runs over what it holds and receives.

Where rows have to meet, an exchange moves them: a join's sides (a small one is broadcast, else both are hashed by the
keys), an aggregate's groups (after each worker has made a partial one), a window's partitions, a result's order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from gpudb.plan import nodes
from gpudb.plan.nodes import Exchange, Node, column
from gpudb.sql import bound
from gpudb.types import SqlType

BROADCAST_ROWS = 500_000
"""A join's side of fewer rows goes to every worker; two larger ones are hashed."""


@dataclass(frozen=True)
class Partial(Node):
    """Each worker's part of an aggregate: a row of keys and states a group."""

    input: Node
    aggregate: nodes.Aggregate

    @cached_property
    def types(self) -> tuple[SqlType, ...]:
        return self.aggregate.types

    @cached_property
    def names(self) -> tuple[str, ...]:
        return self.aggregate.names


@dataclass(frozen=True)
class Final(Node):
    """The groups that partial ones make together."""

    input: Node
    aggregate: nodes.Aggregate

    @cached_property
    def types(self) -> tuple[SqlType, ...]:
        return self.aggregate.types

    @cached_property
    def names(self) -> tuple[str, ...]:
        return self.aggregate.names


@dataclass(frozen=True)
class Receive(Node):
    """What a worker gets of another stage's rows."""

    stage: int
    columns: tuple[tuple[str, SqlType], ...]

    @cached_property
    def types(self) -> tuple[SqlType, ...]:
        return tuple(kind for _, kind in self.columns)

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.columns)


@dataclass(frozen=True)
class Stage:
    """A part of a plan without exchanges, and where its rows go.

    `output` is the exchange's kind; `result` rows go to the client, `stay` ones to the same worker's later stages.
    `alone` stages run on the first worker only.
    """

    number: int
    root: Node
    output: Literal["hash", "broadcast", "gather", "range", "stay", "result"]
    keys: tuple[bound.Expr, ...]
    inputs: tuple[int, ...]
    alone: bool


def stages_of(root: Node, estimate: Callable[[Node], int], mergeable: Callable[[bound.Aggregate], bool]) -> list[Stage]:
    """The stages of a plan, each after those that it reads; the last one gives the result."""
    placed, alone = _Placing(estimate, mergeable).place(root)
    cut = _Cutting()
    cut.add(placed, "result", (), alone)
    return cut.stages


# ---------------------------------------------------------------------------------------------- where rows lie


class _Placing:
    """Puts exchanges into a plan. A subplan's rows lie on all workers, or `alone` on the first."""

    def __init__(self, estimate: Callable[[Node], int], mergeable: Callable[[bound.Aggregate], bool]) -> None:
        self._estimate = estimate
        self._mergeable = mergeable
        self._shared: dict[int, tuple[Node, bool]] = {}

    def place(self, node: Node) -> tuple[Node, bool]:
        match node:
            case nodes.Scan():
                return node, False
            case nodes.Values():
                return node, True
            case nodes.Join():
                return self._join(node)
            case nodes.Aggregate():
                return self._aggregate(node)
            case nodes.Sort():
                return self._sort(node)
            case nodes.Window():
                below, alone = self.place(node.input)
                keys = node.calls[0].partition_by
                below, alone = self._meeting(below, alone, keys)
                return replace(node, input=below), alone
            case nodes.DistinctOn():
                below, alone = self.place(node.input)
                below, alone = self._meeting(below, alone, node.keys)
                return replace(node, input=below), alone
            case nodes.SetOperation():
                return self._set_operation(node)
            case nodes.Shared():
                if node.number not in self._shared:
                    below, alone = self.place(node.input)
                    self._shared[node.number] = replace(node, input=below), alone
                return self._shared[node.number]
            case _:
                (below,) = node.inputs
                placed, alone = self.place(below)
                return node.with_inputs(placed), alone

    def _meeting(self, node: Node, alone: bool, keys: tuple[bound.Expr, ...]) -> tuple[Node, bool]:
        """Rows of equal keys on one worker; all rows on the first without keys."""
        if alone:
            return node, True
        return (Exchange(node, "hash", keys), False) if keys else (Exchange(node, "gather"), True)

    def _gathered(self, node: Node, alone: bool) -> Node:
        return node if alone else Exchange(node, "gather")

    def _join(self, node: nodes.Join) -> tuple[Node, bool]:
        left, one = self.place(node.left)
        right, other = self.place(node.right)
        if one and other:
            return node.with_inputs(left, right), True
        small = self._estimate(node.right) <= BROADCAST_ROWS
        if node.kind == "INNER" and one and not other and not small:
            # The side that lies on one worker goes to all.
            return node.with_inputs(Exchange(left, "broadcast"), right), False
        if node.kind == "FULL" and not node.keys:
            return node.with_inputs(self._gathered(left, one), self._gathered(right, other)), True
        if node.kind == "FULL" or (node.keys and not small and not node.null_aware):
            first, second = (tuple(pair[side] for pair in node.keys) for side in (0, 1))
            return node.with_inputs(Exchange(left, "hash", first), Exchange(right, "hash", second)), False
        if one:
            return node.with_inputs(left, Exchange(right, "gather")), True
        return node.with_inputs(left, Exchange(right, "broadcast")), False

    def _aggregate(self, node: nodes.Aggregate) -> tuple[Node, bool]:
        below, alone = self.place(node.input)
        if alone:
            return replace(node, input=below), True
        if not all(self._mergeable(call) for call in node.calls):
            below, alone = self._meeting(below, alone, node.keys)
            return replace(node, input=below), alone
        keys = tuple(column(index, key.type) for index, key in enumerate(node.keys))
        met, alone = self._meeting(Partial(below, node), False, keys)
        return Final(met, node), alone

    def _sort(self, node: nodes.Sort) -> tuple[Node, bool]:
        below, alone = self.place(node.input)
        if alone:
            return replace(node, input=below), True
        if node.limit is not None and node.offset is None:
            # The first rows of all are among the first rows of each.
            below = replace(node, input=below)
        return replace(node, input=Exchange(below, "gather")), True

    def _set_operation(self, node: nodes.SetOperation) -> tuple[Node, bool]:
        (left, one), (right, other) = self.place(node.left), self.place(node.right)
        if one and other:
            return node.with_inputs(left, right), True
        if node.op == "UNION":
            # Rows on one worker stay there: the others have none of them.
            left = Exchange(left, "gather") if one else left
            right = Exchange(right, "gather") if other else right
            return node.with_inputs(left, right), False
        keys = tuple(column(index, kind) for index, kind in enumerate(node.types))
        if not keys:
            return node.with_inputs(self._gathered(left, one), self._gathered(right, other)), True
        return node.with_inputs(Exchange(left, "hash", keys), Exchange(right, "hash", keys)), False


# ---------------------------------------------------------------------------------------------- cutting


class _Cutting:
    def __init__(self) -> None:
        self.stages: list[Stage] = []
        self._shared: dict[int, int] = {}
        self._alone: dict[int, bool] = {}

    def add(self, root: Node, output: str, keys: tuple[bound.Expr, ...], alone: bool | None = None) -> int:
        """Adds the stage that a subplan is, after those below it; its number."""
        inputs: list[int] = []
        cut = self._cut(root, inputs)
        number = len(self.stages)
        if alone is None:
            alone = _is_alone(cut, self.stages)
        self.stages.append(Stage(number, cut, output, keys, tuple(inputs), alone))  # type: ignore[arg-type]
        return number

    def _cut(self, node: Node, inputs: list[int]) -> Node:
        if isinstance(node, Exchange):
            number = self.add(node.input, node.kind, node.keys)
        elif isinstance(node, nodes.Shared):
            if node.number not in self._shared:
                self._shared[node.number] = self.add(node.input, "stay", ())
            number = self._shared[node.number]
        else:
            return node.with_inputs(*(self._cut(each, inputs) for each in node.inputs))
        if number not in inputs:
            inputs.append(number)
        return Receive(number, tuple(zip(node.names, node.types, strict=True)))


def _is_alone(node: Node, stages: list[Stage]) -> bool:
    """Whether a stage's rows come from the first worker alone: from constants, or from what was gathered there."""
    match node:
        case nodes.Scan():
            return False
        case nodes.Values():
            return True
        case Receive(stage=number):
            return stages[number].output == "gather" or (stages[number].output == "stay" and stages[number].alone)
        case nodes.Join(kind="INNER", left=left, right=right) | nodes.SetOperation(left=left, right=right):
            return _is_alone(left, stages) and _is_alone(right, stages)
        case nodes.Join(left=left):
            return _is_alone(left, stages)
        case _:
            return all(_is_alone(each, stages) for each in node.inputs)
