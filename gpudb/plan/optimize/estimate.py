"""How many rows a node is thought to give: from tables' row counts, with the usual guesses for what is not known."""

from __future__ import annotations

from gpudb.plan import nodes
from gpudb.plan.nodes import Node
from gpudb.plan.traversal import conjuncts
from gpudb.sql import bound

_EQUALITY = 0.05
_OTHER = 0.33


def estimate(node: Node) -> int:
    """The estimated rows, at least 1."""
    match node:
        case nodes.Scan(table=table, filter=condition):
            return max(int(table.rows * _selectivity(condition)), 1)
        case nodes.Values(rows=rows):
            return max(len(rows), 1)
        case nodes.Filter(input=below, condition=condition):
            return max(int(estimate(below) * _selectivity(condition)), 1)
        case nodes.Join(kind=kind, left=left, right=right, keys=keys):
            first, second = estimate(left), estimate(right)
            if kind in {"SEMI", "ANTI", "LEFT"}:
                return first
            # A key joins many to one, as a rule.
            return max(first, second) if keys else first * second
        case nodes.Aggregate(input=below, keys=keys):
            return max(estimate(below) // 10, 1) if keys else 1
        case nodes.Sort(input=below, limit=bound.Constant(value=int(limit))):
            return max(min(estimate(below), limit), 1)
        case nodes.SetOperation(op="UNION", left=left, right=right):
            return estimate(left) + estimate(right)
        case _:
            return estimate(node.inputs[0])


def _selectivity(condition: object | None) -> float:
    made = 1.0
    for part in conjuncts(condition):
        equal = isinstance(part, bound.Call) and part.function.name.endswith("eq")
        made *= _EQUALITY if equal else 1.0 if isinstance(part, bound.Test) and part.negated else _OTHER
    return made
