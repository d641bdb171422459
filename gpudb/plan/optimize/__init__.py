"""Rewrite rules over plans, one a file; `RULES` lists all of them in the order in which they run.

Each rule returns an equivalent of what it is given: the same rows, computed for less. May import `tree` and `cost` of
the plan, and nothing else of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from gpudb.plan.optimize.defer_columns import defer_columns
from gpudb.plan.optimize.defer_strings import defer_strings
from gpudb.plan.optimize.dynamic_filters import add_dynamic_filters
from gpudb.plan.optimize.exact_moments import use_exact_moments
from gpudb.plan.optimize.fold_constants import Evaluate, fold_constants, fold_immutable
from gpudb.plan.optimize.group_before_joins import group_before_joins
from gpudb.plan.optimize.inline_shared import inline_shared
from gpudb.plan.optimize.lower_semi_joins import lower_semi_joins
from gpudb.plan.optimize.merge_projects import merge_projects
from gpudb.plan.optimize.order_joins import order_joins
from gpudb.plan.optimize.prune_columns import prune_columns
from gpudb.plan.optimize.prune_empty import prune_empty
from gpudb.plan.optimize.push_down_filters import push_down_filters
from gpudb.plan.optimize.remove_barriers import remove_barriers
from gpudb.plan.optimize.share_subplans import share_subplans
from gpudb.plan.optimize.split_distinct import Mergeable, split_distinct
from gpudb.plan.tree.nodes import Aggregate, Node
from gpudb.plan.tree.stages import Stage

Phase = Literal["query", "request", "exchange", "stages"]
"""When a rule runs: once per query, over its plan; per request, over the plan with the request's parameters and
settings; while exchanges are planned, over an aggregate; or over the stages."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A rewrite rule. `apply` takes what its phase rewrites, and what the rule `needs` of its caller."""

    phase: Phase
    apply: Callable[..., Any]
    needs: Literal["", "evaluate"] = ""
    gpu: bool = True
    """Whether it applies to stages that a GPU computes."""


RULES: tuple[Rule, ...] = (
    Rule("query", fold_immutable, needs="evaluate"),
    Rule("query", use_exact_moments),
    Rule("query", prune_empty),
    Rule("query", inline_shared),
    Rule("query", merge_projects),
    Rule("query", push_down_filters),
    Rule("query", lower_semi_joins),
    Rule("query", group_before_joins),
    Rule("query", defer_columns),
    Rule("query", order_joins),
    Rule("query", share_subplans),
    Rule("query", remove_barriers),
    Rule("query", prune_columns),
    Rule("query", merge_projects),
    Rule("request", fold_constants, needs="evaluate"),
    Rule("exchange", split_distinct),
    Rule("stages", add_dynamic_filters),
    Rule("stages", defer_strings, gpu=False),  # it needs row positions on the host
)


def optimize(root: Node, evaluate: Evaluate | None = None, *, rules: Sequence[Rule] = RULES) -> Node:
    """Applies the rules for a query's plan. Constants stay as they are without `evaluate`."""
    return _rewrite("query", root, evaluate, rules)


def optimize_request(root: Node, evaluate: Evaluate, *, rules: Sequence[Rule] = RULES) -> Node:
    """Applies the rules for a plan whose parameters and settings are known to `evaluate`."""
    return _rewrite("request", root, evaluate, rules)


def _rewrite(phase: Phase, root: Node, evaluate: Evaluate | None, rules: Sequence[Rule]) -> Node:
    for rule in rules:
        if rule.phase != phase:
            continue
        if not rule.needs:
            root = rule.apply(root)
        elif evaluate is not None:
            root = rule.apply(root, evaluate)
    return root


def optimize_aggregate(
    node: Aggregate, is_mergeable: Mergeable, reuse: Callable[[Node], Node], *, rules: Sequence[Rule] = RULES
) -> Node | None:
    """Applies the first rule that rewrites an aggregate whose groups may exceed a worker's memory; else None.

    `is_mergeable` returns whether workers' partial states of a call can be merged. `reuse` returns an input for several
    readers.
    """
    made = (rule.apply(node, is_mergeable, reuse) for rule in rules if rule.phase == "exchange")
    return next((each for each in made if each is not None), None)


def optimize_stages(stages: Sequence[Stage], *, gpu: bool = False, rules: Sequence[Rule] = RULES) -> list[Stage]:
    """Applies the rules for stages; `gpu` says that GPUs compute them."""
    made = list(stages)
    for rule in rules:
        if rule.phase == "stages" and (rule.gpu or not gpu):
            made = rule.apply(made)
    return made
