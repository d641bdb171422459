"""Plans and stages as indented text, for comparison with expected text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpudb.engine.gpu.explain.operators import render_expression
from gpudb.engine.gpu.lower.groups.aggregates import is_mergeable
from gpudb.plan.cost.estimate import estimate
from gpudb.plan.logical.query_planner import plan_query
from gpudb.plan.optimize import optimize
from gpudb.plan.physical.exchange_planning import Costs
from gpudb.plan.physical.stage_cutting import cut_stages
from gpudb.plan.tree import nodes
from gpudb.plan.tree.nodes import Node
from gpudb.plan.tree.stage_nodes import Defer, Fetch, Final, Partial, Receive
from gpudb.plan.tree.stages import Stage
from tests.support.lab import Lab

CLOSE = Costs(exchange=0, broadcast=64, range=10, groups=10)
"""Costs that treat small tables as large."""


def plan(lab: Lab, sql: str) -> Node:
    """Returns a query's optimized plan."""
    return optimize(plan_query(lab.request(sql).query, estimate).root)


def stages(lab: Lab, sql: str, costs: Costs = CLOSE) -> list[Stage]:
    """Returns a query's stages."""
    return cut_stages(plan(lab, sql), is_mergeable, costs)


def shape(node: Node, depth: int = 0) -> str:
    """Formats a plan, one line for each node."""
    lines = ["  " * depth + _line(node)]
    lines += [shape(each, depth + 1) for each in node.inputs]
    return "\n".join(lines)


def shapes(given: Sequence[Stage]) -> str:
    """Formats stages, each with its exchange."""
    return "\n".join(
        f"{stage.number} {stage.output}{' alone' if stage.single_worker else ''}\n{shape(stage.root, 1)}"
        for stage in given
    )


def _line(node: Any) -> str:
    match node:
        case nodes.Scan():
            condition = f" where {render_expression(node.filter, node.names)}" if node.filter is not None else ""
            return f"{node.table.name}({', '.join(node.names)}){condition}"
        case nodes.Filter():
            return f"filter {render_expression(node.condition, node.names)}"
        case nodes.Project():
            return f"project {', '.join(render_expression(expr, node.input.names) for expr in node.exprs)}"
        case nodes.Join():
            on = " and ".join(
                f"{render_expression(a, node.left.names)} = {render_expression(b, node.right.names)}"
                for a, b in node.keys
            )
            more = (
                f" if {render_expression(node.condition, node.left.names + node.right.names)}" if node.condition else ""
            )
            return f"{node.kind.lower()} join {on or 'all'}{more}"
        case nodes.AsofJoin():
            one, other = (
                render_expression(each, over.names) for each, over in zip(node.times, node.inputs, strict=True)
            )
            return f"asof {_line(nodes.Join(node.kind, node.left, node.right, node.keys, node.condition))} by {one} {node.operator} {other}"
        case nodes.Aggregate() | Partial() | Final():
            inner = getattr(node, "aggregate", node)
            below = node.input if isinstance(node, nodes.Aggregate) else inner.input
            whole = " whole" if isinstance(node, Final) and node.whole else ""
            keys = ", ".join(render_expression(key, below.names) for key in inner.keys) or "all"
            return f"{type(node).__name__.lower()}{whole} by {keys}"
        case nodes.Sort():
            keys = ", ".join(render_expression(key.expr, node.names) for key in node.keys)
            limit = f" first {render_expression(node.limit, ())}" if node.limit is not None else ""
            return f"sort {keys}{limit}".rstrip()
        case nodes.Shared():
            return f"shared {abs(node.number)}"
        case Defer() | Fetch():
            strings = node.strings if isinstance(node, Defer) else [place for place, _ in node.columns]
            return f"{type(node).__name__.lower()} {', '.join(node.names[place] for place in strings)}"
        case Receive():
            return f"receive {node.stage}"
        case _:
            return type(node).__name__.lower()
