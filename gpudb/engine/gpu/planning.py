"""From a request to stages: planned, its constants computed, optimised, over the tables as the snapshot has them."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from gpudb.engine.gpu.carried import check
from gpudb.engine.gpu.constants import evaluator
from gpudb.engine.gpu.fused.match import fused
from gpudb.engine.gpu.lower.aggregates import is_mergeable
from gpudb.engine.protocol import Engine, Request
from gpudb.plan.logical import plan_query
from gpudb.plan.nodes import Node, Plan, Scan
from gpudb.plan.optimize import RULES, Rule, optimized
from gpudb.plan.optimize.estimate import estimate
from gpudb.plan.optimize.fold_constants import Evaluate, fold_constants
from gpudb.plan.placing import Costs
from gpudb.plan.stages import Stage, stages_of
from gpudb.plan.traversal import rebuild
from gpudb.sql import bound

_KEPT = 256
_COSTS = Costs()


class Planner:
    """Plans queries; a query planned before is found again. `constants` computes constant expressions, `costs` say
    of how many workers the cluster is, `rules` are the optimiser's. With `fuse` the parts that one kernel computes are
    one node."""

    def __init__(
        self, constants: Engine, costs: Costs = _COSTS, *, fuse: bool = False, rules: Sequence[Rule] = RULES
    ) -> None:
        self._constants = constants
        self._fuse = fuse
        self._costs = costs
        self._rules = rules
        # By identity: plan caches hold bound queries, and so does this one, so that an id stays its own.
        self._plans: OrderedDict[int, tuple[bound.Query, Plan]] = OrderedDict()
        self._hosted: dict[int, dict[int, tuple[str, ...]]] = {}
        self._lock = threading.Lock()

    def planned(self, request: Request) -> tuple[Plan, list[Stage]]:
        """The plan and its stages over the snapshot; NotCarried names what the workers lack."""
        evaluate = evaluator(self._constants, request)
        plan = self._plan(request.query, evaluate)

        def current(node: Node) -> Node:
            # The bound query may be older than the snapshot.
            return replace(node, table=request.table(node.table)) if isinstance(node, Scan) else node

        root = rebuild(fold_constants(plan.root, evaluate), current)
        physical = fused(root, estimate, request.parameters) if self._fuse else root
        stages = stages_of(physical, is_mergeable, self._costs)
        if id(request.query) not in self._hosted:
            hosted = check(stages, request.parameters)
            with self._lock:
                self._hosted[id(request.query)] = hosted
        return Plan(root, plan.columns), stages

    def hosted(self, query: bound.Query) -> Mapping[int, tuple[str, ...]]:
        """What the host's functions compute in each stage of a query that has been planned."""
        return self._hosted.get(id(query), {})

    def _plan(self, query: bound.Query, evaluate: Evaluate) -> Plan:
        with self._lock:
            kept = self._plans.get(id(query))
            if kept is not None:
                self._plans.move_to_end(id(query))
                return kept[1]
        plan = plan_query(query, estimate)
        folded = fold_constants(plan.root, evaluate, immutable=True)
        plan = Plan(optimized(folded, self._rules), plan.columns)
        with self._lock:
            self._plans[id(query)] = query, plan
            while len(self._plans) > _KEPT:
                self._hosted.pop(self._plans.popitem(last=False)[0], None)
        return plan
