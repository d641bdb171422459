"""EXPLAIN of functions in FROM over queries: each as an operator above the plans of the queries that it reads."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa

from gpudb.engine.protocol import PlanNode
from gpudb.session.context import Context
from gpudb.session.execution.requests.requests import build_request
from gpudb.sql.bound import Constant, FrameScan, OutputColumn, Query, TableFunction
from gpudb.sql.traverse import replace_nodes

_FRAME_SCANS = ("ArrowScan", "FrameScan")


def separate_table_functions(query: Query) -> tuple[Query, list[TableFunction], dict[str, pa.Table]]:
    """Returns the query over a frame in the place of each outermost call, the calls, and those frames, empty."""
    calls: list[TableFunction] = []
    frames: dict[str, pa.Table] = {}

    def change(node: Any) -> Any:
        if not isinstance(node, TableFunction):
            return None
        calls.append(node)
        name = f"gpudb function {len(calls)}"
        outputs = tuple(OutputColumn(f"k{number}", each.type) for number, each in enumerate(node.columns, 1))
        frames[name] = pa.schema([pa.field(each.name, each.type.arrow) for each in outputs]).empty_table()
        return FrameScan(node.rel, name, outputs)

    return replace_nodes(query, change), calls, frames


def explain_table_function(context: Context, call: TableFunction) -> PlanNode:
    """Returns the plan of a call: its operator, with its options, above the plans of its queries."""
    options = [
        f"{name} => {arg.value}" for name, arg in zip(call.names, call.args, strict=True) if isinstance(arg, Constant)
    ]
    details = [("Table", call.function.name), ("Features", ", ".join(call.features)), ("Options", ", ".join(options))]
    inputs = tuple(_explain(context, query) for query in call.queries)
    return PlanNode(
        "FunctionScan",
        tuple(each for each in details if each[1]),
        inputs[0].estimated_rows if call.kept[0] else None,
        inputs=inputs,
        output=tuple(each.name for each in call.columns),
    )


def _explain(context: Context, query: Query) -> PlanNode:
    query, calls, frames = separate_table_functions(query)
    plan = context.session.database.engine.explain(build_request(context, query, frames), analyze=False)
    return place_table_functions(plan, [explain_table_function(context, each) for each in calls])


def place_table_functions(plan: PlanNode, functions: list[PlanNode]) -> PlanNode:
    """Returns a plan with a function in the place of the scan of its frame.

    Plans do not name frames: where several are scanned, the functions are further inputs of the plan.
    """
    if not functions:
        return plan
    if len(functions) == 1 and _count_scans(plan) == 1:
        return _replace_scan(plan, functions[0])
    return replace(plan, inputs=(*plan.inputs, *functions))


def _is_frame_scan(node: PlanNode) -> bool:
    return node.operator.endswith(_FRAME_SCANS)


def _count_scans(node: PlanNode) -> int:
    return _is_frame_scan(node) + sum(map(_count_scans, node.inputs))


def _replace_scan(node: PlanNode, function: PlanNode) -> PlanNode:
    if _is_frame_scan(node):
        return function
    return replace(node, inputs=tuple(_replace_scan(each, function) for each in node.inputs))
