"""Chooses into how many chunks a statement's rows are cut, so that a worker's memory holds one chunk.

The estimate comes first. A statement that still runs out of memory is retried over smaller chunks.
"""

from __future__ import annotations

from dataclasses import dataclass

from gpudb.engine.gpu.fused.packed_cache.packed_tables import DISTINCT_SAMPLE
from gpudb.engine.gpu.fused.planning.matching import MANY_ROWS, find_scan
from gpudb.engine.gpu.fused.translate.typed_values import PLAIN_TEXT
from gpudb.plan.cost.estimate import estimate_bytes
from gpudb.plan.cost.profile import profile_table, row_width
from gpudb.plan.tree.fused_nodes import Fused
from gpudb.plan.tree.nodes import Node, Scan, Window
from gpudb.plan.tree.traversal import walk_nodes

MAX_CHUNKS = 64
"""The maximum number of chunks of a worker's partition."""
GROWTH = 4
"""Factor by which the number of chunks grows on a retry."""
_COPIES, _SENT = 3, 1
"""Copies of an operator's rows in memory: input, hash table and output; with several workers, one more in transit."""
_WINDOW_FACTOR = 3
"""A window multiplies its rows' columns: keys, positions in partition and order, frame ends."""
_BUILD_BYTES = 64
"""Bytes of a build side's row: two columns as received, and two in the kernel's table, which is half full."""
_TABLE_FRACTION, _TABLE_BYTES = 11, 8
"""The fraction of the table memory for kernels' tables (see `fused.runner`), and the bytes of a row there: its
position, and a column as narrow as its values.
"""
_MAX_FANOUT = 8
"""Limit of estimated rows, as a multiple of the tables' bytes."""


@dataclass(frozen=True, slots=True)
class MemorySpace:
    """Bytes of each worker for tables' columns, and for concurrent statements."""

    tables: int
    statements: int


def choose_chunks(root: Node, workers: int, space: MemorySpace) -> int:
    """Returns into how many chunks each worker's partition is cut; 1 if it fits whole."""
    scans = read = most = 0
    for node in walk_nodes(root):
        if isinstance(node, Scan):
            read += node.table.rows * row_width(node.types)
            scans += node.table.rows * row_width(node.types)
        elif isinstance(node, Fused):
            scan = find_scan(node.root)
            read += scan.table.rows * row_width(scan.types)
            scans += scan.table.rows * _packed_row_bytes(scan)
        most = max(most, estimate_bytes(node) * (_WINDOW_FACTOR if isinstance(node, Window) else 1))
    copies = _COPIES + _SENT * (workers > 1)
    needed = copies * min(most, _MAX_FANOUT * read) // workers
    if scans // workers > space.tables:
        # Columns are then read from files, all columns of a chunk at once.
        needed = max(needed, copies * scans // workers)
    return min(max(-(-needed // space.statements), 1), MAX_CHUNKS)


def max_build_rows(space: MemorySpace) -> int:
    """Returns the row limit of a fused part's build side: the rows and their table stay in memory beside each chunk."""
    return space.statements // _BUILD_BYTES


def max_cached_build_rows(space: MemorySpace) -> int:
    """Returns the row limit of a build side whose table is cached between runs, in its part of the table memory."""
    return space.tables // _TABLE_FRACTION // _TABLE_BYTES


def next_chunks(chunks: int) -> int | None:
    """Returns the next number of chunks after memory ran out; None at the maximum."""
    return min(chunks * GROWTH, MAX_CHUNKS) if chunks < MAX_CHUNKS else None


def _packed_row_bytes(scan: Scan) -> int:
    """Returns a row's bytes in the packed form: integers as narrow as their values, texts as codes if few
    are distinct.
    """
    found = 0
    for column, kind in zip(profile_table(scan.table, scan.columns).columns, scan.types, strict=True):
        if (
            kind.name in PLAIN_TEXT
            and scan.table.rows >= MANY_ROWS
            and column.distinct > DISTINCT_SAMPLE[0] * scan.table.rows
        ):
            found += 4 + row_width((kind,))
            continue
        spread = None if column.low is None or column.high is None else column.high - column.low
        if kind.name == "numeric" and spread is not None:
            spread *= 10.0 ** kind.numeric_digits[1]
        found += 4 if spread is None else next((each for each in (1, 2, 4) if spread < 256.0**each), 8)
    return found
