"""Scans of files as scans of tables, whose data files are parts of these files; what workers do not read of them."""

from __future__ import annotations

from typing import Any

from gpudb.catalog.file_tables import FilePart
from gpudb.plan.errors import NotSupportedOnWorkers
from gpudb.plan.tree.nodes import Node, Scan
from gpudb.plan.tree.traversal import walk_nodes
from gpudb.sql import bound
from gpudb.sql.traverse import replace_nodes
from gpudb.storage.files.parts import TEXTS, get_obstacle, open_part_table


def open_file_scans(query: bound.Query) -> bound.Query:
    """Returns a query with scans of tables in the place of its scans of files.

    NotSupportedOnWorkers for objects, tables of others and formats that only the embedded engine reads; for other
    errors see `open_part_table`.
    """

    def open_scan(node: Any) -> bound.Scan | None:
        if not isinstance(node, bound.FileScan):
            return None
        if any(file.store is not None for file in node.files.files):
            raise NotSupportedOnWorkers("a scan of an object storage's files")
        if node.files.lake is not None:
            raise NotSupportedOnWorkers("a scan of a table of Iceberg or Delta")
        table = open_part_table(node.files)
        if table is None:
            raise NotSupportedOnWorkers(f"a scan of {node.files.format} files")
        return bound.Scan(node.rel, table)

    opened: bound.Query = replace_nodes(query, open_scan)
    return opened


def check_file_columns(root: Node) -> None:
    """Raises NotSupportedOnWorkers for a column of files that the plan reads and only the embedded engine can.

    The same for text without any column: only who reads values knows how many records there are.
    """
    for scan in (node for node in walk_nodes(root) if isinstance(node, Scan) and node.table.format):
        if scan.table.format in TEXTS and not _reads_file(scan):
            raise NotSupportedOnWorkers(f"a scan of {scan.table.format} files without their columns")
        for index in scan.columns:
            if obstacle := get_obstacle(scan.table.columns[index]):
                raise NotSupportedOnWorkers(f"{obstacle} of {scan.table.format} files")


def _reads_file(scan: Scan) -> bool:
    """Whether a scan of text reads a column that is in its files; true if plain files have no records."""
    read = {scan.table.columns[index].field_id for index in scan.columns}
    parts = [file for file in scan.table.files if isinstance(file, FilePart)]
    if not parts:
        return not any(map(get_obstacle, scan.table.columns))
    return any(not read.isdisjoint(part.names) for part in parts)
