"""Cutting a plan at its exchanges: stages, each of which every worker runs over what it holds and receives."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from gpudb.plan.cost.estimate import estimate, like
from gpudb.plan.physical.exchange_planning import Costs, Mergeable, placed
from gpudb.plan.tree import nodes
from gpudb.plan.tree.fused_nodes import Fused
from gpudb.plan.tree.nodes import Exchange, Node, Project
from gpudb.plan.tree.stage_nodes import Receive, Sample
from gpudb.sql import bound

SAMPLED, LEAST_SAMPLED = 1000, 100
"""The rows of each worker by which an order's ranges are found, shared by its chunks, each of which has a few."""


@dataclass(frozen=True)
class Narrowing:
    """Of the scan at a place among the stage's, the rows whose `column` has no value of column `key` of the rows that
    were received of a stage are wanted by nobody; `grouped` says that they are grouped before they meet those."""

    stage: int
    key: int
    scan: int
    column: int
    grouped: bool = False


@dataclass(frozen=True)
class Stage:
    """A part of a plan without exchanges, and where its rows go.

    `output` is the exchange's kind; `result` rows go to the client, `stay` ones to the same worker's later stages.
    `hash` rows go by the hash of `keys`, or with `by` to the worker that has their bucket. `range` rows go by the order
    of `keys`, which `order` tells, between the values of them that stage `sample` gives, equal ones all `together` or
    spread over ranges.
    `alone` stages run on the first worker only. `rows` is how many the stage is thought to give.
    """

    number: int
    root: Node
    output: Literal["hash", "broadcast", "gather", "range", "stay", "result"]
    keys: tuple[bound.Expr, ...]
    inputs: tuple[int, ...]
    alone: bool
    rows: int = 1
    order: tuple[bound.SortKey, ...] = ()
    sample: int | None = None
    narrows: tuple[Narrowing, ...] = ()
    by: str = ""
    together: bool = False


def stages_of(root: Node, mergeable: Mergeable, costs: Costs | None = None) -> list[Stage]:
    """The stages of a plan, each after those that it reads; the last one gives the result."""
    costs = costs or Costs()
    made, alone = placed(root, mergeable, costs)
    cut = _Cutting(single=costs.workers == 1, sampled=max(SAMPLED // costs.chunks, LEAST_SAMPLED))
    cut.add(made, "result", (), alone)
    return cut.stages


class _Cutting:
    """Cuts a plan. Where there is a `single` worker, what only goes on with received rows is no stage of its own. For
    the ranges of an order so many rows of each share are `sampled`."""

    def __init__(self, *, single: bool, sampled: int) -> None:
        self.stages: list[Stage] = []
        self._single, self._sampled = single, sampled
        self._shared: dict[int, int] = {}

    def add(
        self, root: Node, output: str, keys: tuple[bound.Expr, ...], alone: bool | None = None, by: str = ""
    ) -> int:
        """Adds the stage that a subplan is, after those below it; its number."""
        inputs: list[int] = []
        cut = self._cut(root, inputs)
        number = len(self.stages)
        if alone is None:
            alone = _is_alone(cut, self.stages)
        rows = estimate(root)
        self.stages.append(Stage(number, cut, output, keys, tuple(inputs), alone, rows, by=by))  # type: ignore[arg-type]
        return number

    def _cut(self, node: Node, inputs: list[int], *, built: bool = False) -> Node:
        if isinstance(node, Receive):
            number = node.stage
        elif isinstance(node, Exchange) and node.kind == "range":
            number = self._ranges(node)
        elif isinstance(node, Exchange):
            if self._single and not built and _goes_on(node.input):
                return self._cut(node.input, inputs)
            number = self.add(node.input, node.kind, node.keys, by=node.by)
        elif isinstance(node, nodes.Shared):
            if node.number not in self._shared:
                self._shared[node.number] = self.add(node.input, "stay", ())
            number = self._shared[node.number]
        else:
            # A kernel's build sides are stages: they need not run again for one that is bound.
            return node.with_inputs(*(self._cut(each, inputs, built=isinstance(node, Fused)) for each in node.inputs))
        if number not in inputs:
            inputs.append(number)
        return node if isinstance(node, Receive) else self._received(number, node)

    def _received(self, number: int, node: Node) -> Receive:
        given = self.stages[number]
        return like(Receive(number, tuple(zip(node.names, node.types, strict=True)), given.rows), given.root)

    def _ranges(self, node: Exchange) -> int:
        """Rows by the ranges of an order: computed, sampled for where the ranges end, and then sent."""
        rows = self.add(node.input, "stay", ())
        receive = self._received(rows, node)
        keys = tuple(key.expr for key in node.order)
        sample = self.add(Sample(Project(receive, keys), self._sampled), "broadcast", ())
        number = len(self.stages)
        given = self.stages[rows]
        found = Stage(number, receive, "range", keys, (rows, sample), given.alone, given.rows, node.order, sample)
        self.stages.append(replace(found, together=node.together))
        return number


def _goes_on(node: Node) -> bool:
    """Whether all that a subplan reads has been received: nothing of it is read from a table, or by a kernel."""
    if isinstance(node, Exchange | Receive | nodes.Shared):
        return True
    return not isinstance(node, nodes.Scan | Fused) and all(map(_goes_on, node.inputs))


def _is_alone(node: Node, stages: list[Stage]) -> bool:
    """Whether a stage's rows come from the first worker alone: from constants, or from what was gathered there."""
    match node:
        case nodes.Scan(part=nodes.WHOLE):
            return True
        case nodes.Scan() | Fused():
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
