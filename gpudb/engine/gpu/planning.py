"""From a request to stages: planned, its constants computed, optimised, over the tables as the snapshot has them."""

from __future__ import annotations

from dataclasses import replace

from gpudb.engine.gpu.constants import evaluator
from gpudb.engine.gpu.lower.aggregates import is_mergeable
from gpudb.engine.protocol import Engine, Request
from gpudb.plan.logical import plan_query
from gpudb.plan.nodes import Node, Plan, Scan
from gpudb.plan.optimize import optimized
from gpudb.plan.optimize.estimate import estimate
from gpudb.plan.optimize.fold_constants import fold_constants
from gpudb.plan.stages import Stage, stages_of
from gpudb.plan.traversal import rebuild


def planned(request: Request, constants: Engine) -> tuple[Plan, list[Stage]]:
    """The plan and its stages; NotCarried names what the workers lack. `constants` computes constant expressions."""
    plan = plan_query(request.query, estimate)

    def current(node: Node) -> Node:
        # The bound query may be older than the snapshot.
        return replace(node, table=request.table(node.table)) if isinstance(node, Scan) else node

    root = rebuild(fold_constants(optimized(plan.root), evaluator(constants, request)), current)
    return Plan(root, plan.columns), stages_of(root, estimate, is_mergeable)
