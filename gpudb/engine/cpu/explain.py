"""DuckDB's plan (EXPLAIN in JSON) as plan nodes with gpudb's operator names."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from gpudb.catalog.file_tables import FileTable
from gpudb.catalog.tables import Table
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
_HELD = re.compile(r"\bt(_?\d+)c(\d+)\b")
"""A column of a table's files, as `storage.iceberg.scan.name_held` names it."""
_WRAPPERS = {"RESULT_COLLECTOR", "EXPLAIN_ANALYZE"}


class _Tables:
    """What a plan's scans may read: loaded segments by their names, tables whose files are read, and files."""

    def __init__(self, loaded: Mapping[str, str], unloaded: Sequence[Table], files: Sequence[FileTable]) -> None:
        self.loaded = loaded
        self._unloaded = {table.oid: table for table in unloaded}
        self._files = files

    def rename(self, text: str) -> str:
        """Returns a text with the columns' own names."""
        return _HELD.sub(self._name, text)

    def _find(self, found: re.Match[str]) -> Table | None:
        return self._unloaded.get(int(found[1].replace("_", "-")))

    def _name(self, found: re.Match[str]) -> str:
        table = self._find(found)
        names = [] if table is None else [each.name for each in table.columns if each.field_id == int(found[2])]
        return names[0] if names else found[0]

    def find(self, details: Mapping[str, Any]) -> Table | None:
        """Returns the table whose files a scan reads: by its columns, its files, or as the only one."""
        text = json.dumps(details)
        found = _HELD.search(text)
        if found is not None:
            return self._find(found)
        read = {table.oid: table for table in self._unloaded.values() for file in table.files if file.path in text}
        possible = read or ({} if self._files else self._unloaded)
        return next(iter(possible.values())) if len(possible) == 1 else None

    def find_file(self) -> str | None:
        """Returns the path of the files that are read beside tables, if they are those of one scan."""
        if self._unloaded or len(self._files) != 1:
            return None
        files = self._files[0].files
        return files[0].path if len(files) == 1 else None


def is_measured(text: str) -> bool:
    """Whether an EXPLAIN ANALYZE's JSON has a plan: DuckDB has none for what it knows without running, as a count."""
    return "operator" in json.loads(text)


def parse_plan(text: str, loaded: Mapping[str, str], unloaded: Sequence[Table], files: Sequence[FileTable]) -> PlanNode:
    """Parses an EXPLAIN's JSON; `loaded` maps loaded segments to names of tables, `unloaded` are read from files."""
    tree: Any = json.loads(text)
    if isinstance(tree, dict):
        tree = tree["operator"]
    node = tree[0]
    while node.get("type", node.get("name", "")).strip() in _WRAPPERS:
        node = node["children"][0]
    return _node(node, _Tables(loaded, unloaded, files))


def show_indexes(plan: PlanNode, searches: Sequence[NearestSearch]) -> PlanNode:
    """Returns a plan below the searches of indexes that chose the rows which its scans read."""
    for each in searches:
        name = f"Index Scan using {each.index.name} on {each.scan.table.name}"
        plan = PlanNode(name, (("Method", each.index.method),), inputs=(plan,), execution=plan.execution)
    return plan


def _node(node: Mapping[str, Any], tables: _Tables) -> PlanNode:
    name = node.get("type", node.get("name", "")).strip()
    details = node.get("extra_info", {})
    if name == "PROJECTION" and len(node["children"]) == 1 and _is_passthrough(details.get("Projections", [])):
        return _node(node["children"][0], tables)
    if node.get("total_row_groups_to_scan") and "Filename(s)" in details:
        details = {**details, "Row Groups": f"{node['row_groups_scanned']} of {node['total_row_groups_to_scan']}"}
    function = str(details.get("Function", ""))
    if function.startswith("READ_"):
        name = function  # with ANALYZE DuckDB calls every scan the same
        table = tables.find(details)
        named = tables.find_file() if table is None else table.name
        if named is not None:
            details = {"Table": named, **{key: each for key, each in details.items() if key != "Filename(s)"}}
        name = name if table is None else "TABLE_SCAN"
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


def _detail(key: str, value: object, tables: _Tables) -> str:
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    if key == "Table":
        return tables.loaded.get(text.rpartition(".")[2], text)
    return tables.rename(" ".join(text.split()))
