"""The cost of a plan's operator as EXPLAIN shows it: a figure to compare plans by, made from the estimated rows."""

from __future__ import annotations

from typing import NamedTuple

from gpudb.engine.protocol import PlanNode

_ROW = 0.01
"""The cost of a row that an operator reads or returns, PostgreSQL's cpu_tuple_cost."""
_BLOCKING = ("aggregate", "sort", "order", "window", "exchange", "topn", "top_n", "distinct", "unique")
"""Parts of names of operators that return nothing before they have read their input."""


class Cost(NamedTuple):
    """The cost until the first row, the cost of all rows, and the estimated rows and bytes of a row."""

    startup: float
    total: float
    rows: int
    width: int


def estimate_cost(node: PlanNode) -> Cost:
    """Returns the cost of an operator with its inputs.

    An operator whose engine estimates no rows or width counts as large as its largest input.
    """
    inputs = [estimate_cost(each) for each in node.inputs]
    rows = node.estimated_rows
    if rows is None:
        rows = max((each.rows for each in inputs), default=1)
    width = node.width
    if width is None:
        width = max((each.width for each in inputs), default=0)
    below = sum(each.total for each in inputs)
    blocks = any(part in node.operator.lower() for part in _BLOCKING)
    startup = below if blocks else max((each.startup for each in inputs), default=0.0)
    return Cost(startup, below + _ROW * max(rows, sum(each.rows for each in inputs)), rows, width)
