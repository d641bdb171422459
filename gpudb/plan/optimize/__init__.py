"""What the planner leaves to do: one rule a file, each from plan to plan of the same rows. `RULES` are run in order."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gpudb.plan.optimize.empty_limit import nothing_wanted
from gpudb.plan.optimize.group_before_joins import group_before_joins
from gpudb.plan.optimize.inline_shared import inline_shared
from gpudb.plan.optimize.late_columns import late_columns
from gpudb.plan.optimize.lower_semi_joins import lower_semi_joins
from gpudb.plan.optimize.merge_projects import merge_projects
from gpudb.plan.optimize.order_joins import order_joins
from gpudb.plan.optimize.prune_columns import prune_columns
from gpudb.plan.optimize.push_down_filters import filters_into_joins
from gpudb.plan.optimize.share_subplans import share_subplans
from gpudb.plan.tree.nodes import Node

Rule = Callable[[Node], Node]
RULES: tuple[Rule, ...] = (
    nothing_wanted,
    inline_shared,
    merge_projects,
    filters_into_joins,
    lower_semi_joins,
    group_before_joins,
    late_columns,
    order_joins,
    share_subplans,
    prune_columns,
    merge_projects,
)


def optimized(root: Node, rules: Sequence[Rule] = RULES) -> Node:
    """The plan with every rule applied."""
    for rule in rules:
        root = rule(root)
    return root
