"""Cuts a plan at its exchanges into stages, which every worker runs over its own and received rows."""

from __future__ import annotations

from dataclasses import replace

from gpudb.plan.cost.estimate import copy_profile, estimate
from gpudb.plan.optimize.split_distinct import Mergeable
from gpudb.plan.physical.exchange_planning import Costs, plan_exchanges
from gpudb.plan.tree import nodes
from gpudb.plan.tree.fused_nodes import Fused
from gpudb.plan.tree.nodes import Exchange, Node, Project
from gpudb.plan.tree.stage_nodes import Receive, Sample
from gpudb.plan.tree.stages import Stage
from gpudb.sql import bound

SAMPLED_ROWS, MIN_SAMPLED_ROWS = 1000, 100
"""Sampled rows per worker for the ranges of an order, divided among its chunks, and the minimum per chunk."""

MANY_ROWS, FAN_OUT = 1 << 23, 4
"""Rows of a join from which on it may fan out, and how many times the rows of its larger input it then has."""


def cut_stages(root: Node, mergeable: Mergeable, costs: Costs | None = None) -> list[Stage]:
    """Returns the stages of a plan, each after its inputs; the last one returns the result."""
    costs = costs or Costs()
    made, single_worker = plan_exchanges(root, mergeable, costs)
    cut = _StageCutter(single=costs.workers == 1, sampled=max(SAMPLED_ROWS // costs.chunks, MIN_SAMPLED_ROWS))
    cut.add(made, "result", (), single_worker)
    return cut.stages


class _StageCutter:
    """Cuts a plan into stages.

    With a `single` worker, a subplan that only continues with received rows is no stage of its own. `sampled` rows of
    each share define the ranges of an order.
    """

    def __init__(self, *, single: bool, sampled: int) -> None:
        self.stages: list[Stage] = []
        self._single, self._sampled = single, sampled
        self._shared: dict[int, int] = {}

    def add(
        self,
        root: Node,
        output: str,
        keys: tuple[bound.Expr, ...],
        single_worker: bool | None = None,
        hash_name: str = "",
    ) -> int:
        """Adds a subplan as a stage, after the stages below it; returns its number."""
        inputs: list[int] = []
        cut = self._cut(root, inputs)
        number = len(self.stages)
        if single_worker is None:
            single_worker = _is_on_single_worker(cut, self.stages)
        rows = estimate(root)
        self.stages.append(Stage(number, cut, output, keys, tuple(inputs), single_worker, rows, hash_name=hash_name))  # type: ignore[arg-type]
        return number

    def _cut(self, node: Node, inputs: list[int], *, built: bool = False) -> Node:
        if isinstance(node, Receive):
            number = node.stage
        elif isinstance(node, Exchange) and node.kind == "range":
            number = self._cut_range_exchange(node)
        elif isinstance(node, Exchange):
            if self._single and not built and _reads_received_only(node.input):
                return self._cut(node.input, inputs)
            number = self.add(node.input, node.kind, node.keys, hash_name=node.hash_name)
        elif isinstance(node, nodes.Shared):
            if node.number not in self._shared:
                self._shared[node.number] = self.add(node.input, "stay", ())
            number = self._shared[node.number]
        else:
            # A kernel's build sides are stages, so that a cached hash table spares their run.
            made = node.with_inputs(*(self._cut(each, inputs, built=isinstance(node, Fused)) for each in node.inputs))
            return replace(made, fans_out=True) if isinstance(made, nodes.Join) and _fans_out(node) else made
        if number not in inputs:
            inputs.append(number)
        return node if isinstance(node, Receive) else self._receive(number, node)

    def _receive(self, number: int, node: Node) -> Receive:
        sender = self.stages[number]
        return copy_profile(Receive(number, tuple(zip(node.names, node.types, strict=True)), sender.rows), sender.root)

    def _cut_range_exchange(self, node: Exchange) -> int:
        """Adds the stages of a range exchange: the rows, a sample that defines the ranges, and the exchange."""
        rows = self.add(node.input, "stay", ())
        receive = self._receive(rows, node)
        keys = tuple(key.expr for key in node.order)
        sample = self.add(Sample(Project(receive, keys), self._sampled), "broadcast", ())
        number = len(self.stages)
        sender = self.stages[rows]
        inputs, single_worker = (rows, sample), sender.single_worker
        stage = Stage(number, receive, "range", keys, inputs, single_worker, sender.rows, node.order, sample)
        self.stages.append(replace(stage, keep_peers=node.keep_peers))
        return number


def _fans_out(node: Node) -> bool:
    """Returns whether a join is expected to have far more rows than its inputs, and many."""
    rows = estimate(node)
    return rows >= MANY_ROWS and rows > FAN_OUT * max(map(estimate, node.inputs))


def _reads_received_only(node: Node) -> bool:
    """Returns whether a subplan reads received rows alone, and neither a table nor a kernel."""
    if isinstance(node, Exchange | Receive | nodes.Shared):
        return True
    return not isinstance(node, nodes.Scan | Fused) and all(map(_reads_received_only, node.inputs))


def _is_on_single_worker(node: Node, stages: list[Stage]) -> bool:
    """Returns whether a stage's rows come from the first worker alone: from constants or from gathered rows."""
    match node:
        case nodes.Scan(part=nodes.WHOLE):
            return True
        case nodes.Scan() | Fused():
            return False
        case nodes.Values():
            return True
        case Receive(stage=number):
            return stages[number].output == "gather" or (
                stages[number].output == "stay" and stages[number].single_worker
            )
        case nodes.Join(kind="INNER", left=left, right=right) | nodes.SetOperation(left=left, right=right):
            return _is_on_single_worker(left, stages) and _is_on_single_worker(right, stages)
        case nodes.Join(left=left) | nodes.AsofJoin(left=left):
            return _is_on_single_worker(left, stages)
        case _:
            return all(_is_on_single_worker(each, stages) for each in node.inputs)
