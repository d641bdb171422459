"""DuckDB's plan (EXPLAIN in JSON) as plan nodes with gpudb's operator names."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from gpudb.engine.protocol import PlanNode
from gpudb.sql.nearest_search import NearestSearch

_NAMES = {
    "SEQ_SCAN": "CpuScan",
    "TABLE_SCAN": "CpuScan",
    "READ_PARQUET": "CpuParquetScan",
    "HASH_GROUP_BY": "CpuAggregate",
    "PERFECT_HASH_GROUP_BY": "CpuAggregate",
    "UNGROUPED_AGGREGATE": "CpuAggregate",
    "ORDER_BY": "CpuSort",
    "PROJECTION": "CpuProject",
    "DUMMY_SCAN": "CpuOneRow",
}
# Details that are internal to DuckDB.
_HIDDEN = {"Estimated Cardinality", "Function", "Type", "Total Files Read", "CTE Index", "Table Index", "Delim Index"}
_PASSTHROUGH = re.compile(r"#\d+|__internal_\w+\(#\d+\)|CAST\(#\d+ AS \w+\)|\w+(\.\w+)?")
_WRAPPERS = {"RESULT_COLLECTOR", "EXPLAIN_ANALYZE"}


def parse_plan(text: str, tables: Mapping[str, str]) -> PlanNode:
    """Parses an EXPLAIN's JSON; `tables` maps loaded segments to names of tables."""
    tree: Any = json.loads(text)
    if isinstance(tree, dict):
        tree = tree["operator"]
    node = tree[0]
    while node.get("type", node.get("name", "")).strip() in _WRAPPERS:
        node = node["children"][0]
    return _node(node, tables)


def show_indexes(plan: PlanNode, searches: Sequence[NearestSearch]) -> PlanNode:
    """Returns a plan below the searches of indexes that chose the rows which its scans read."""
    for each in searches:
        name = f"Index Scan using {each.index.name} on {each.scan.table.name}"
        plan = PlanNode(name, (("Method", each.index.method),), inputs=(plan,), execution=plan.execution)
    return plan


def _node(node: Mapping[str, Any], tables: Mapping[str, str]) -> PlanNode:
    name = node.get("type", node.get("name", "")).strip()
    details = node.get("extra_info", {})
    if name == "PROJECTION" and len(node["children"]) == 1 and _is_passthrough(details.get("Projections", [])):
        return _node(node["children"][0], tables)
    if node.get("total_row_groups_to_scan") and "Filename(s)" in details:
        details = {**details, "Row Groups": f"{node['row_groups_scanned']} of {node['total_row_groups_to_scan']}"}
    estimated = details.get("Estimated Cardinality")
    seconds = node.get("timing")
    return PlanNode(
        _NAMES.get(name, "Cpu" + name.title().replace("_", "").replace(" ", "")),
        tuple((key, _detail(key, value, tables)) for key, value in details.items() if key not in _HIDDEN and value),
        int(estimated) if estimated is not None else None,
        node.get("intermediate_rows"),
        None if seconds is None else seconds * 1000,
        tuple(_node(each, tables) for each in node.get("children", ())),
    )


def _is_passthrough(projections: object) -> bool:
    """Returns whether a projection computes nothing: it passes, packs or unpacks columns for the next operator."""
    listed = projections if isinstance(projections, list) else [projections]
    return all(_PASSTHROUGH.fullmatch(str(each)) for each in listed)


def _detail(key: str, value: object, tables: Mapping[str, str]) -> str:
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    if key == "Table":
        return tables.get(text.rpartition(".")[2], text)
    return " ".join(text.split())
