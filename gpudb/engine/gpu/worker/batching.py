"""Into how many chunks a statement's rows are cut, so that what a worker has in memory of it at once fits there.

The estimate comes first; a statement that runs out of memory all the same is tried again over smaller chunks.
"""

from __future__ import annotations

from dataclasses import dataclass

from gpudb.engine.gpu.fused.packed_cache.packed_tables import DISTINCT
from gpudb.engine.gpu.fused.planning.matching import MANY, scan_of
from gpudb.engine.gpu.fused.translate.typed_values import PLAIN_TEXT
from gpudb.plan.cost.estimate import size
from gpudb.plan.cost.profile import table_profile, width
from gpudb.plan.tree.fused_nodes import Fused
from gpudb.plan.tree.nodes import Node, Scan, Window
from gpudb.plan.tree.traversal import walk_nodes

MOST = 64
"""The most chunks of a worker's share."""
FINER = 4
"""How many times as many there are the next time."""
_COPIES, _SENT = 3, 1
"""How often an operator has its rows in memory at once: what it reads, its hash table, what it gives; of several
workers once more, while rows are on their way from one to another."""
_WINDOWED = 3
"""A window's rows have as often so many columns: keys, places in partition and order, what frames reach to."""
_BUILD_BYTES = 64
"""A row of a build side: two columns, as they are received and as the kernel's table has them, which is half full."""
_KEPT, _TABLE_BYTES = 11, 8
"""Which part of the room for columns kernels' tables have (`fused.run`), and what a row takes there: where it is, and a
column as narrow as its values are."""
_FANOUT = 8
"""So many times the bytes of the tables an estimate of rows is believed."""


@dataclass(frozen=True, slots=True)
class Space:
    """The bytes that each worker has for tables' columns, and for the statements that run at once."""

    tables: int
    statements: int


def chunks_of(root: Node, workers: int, space: Space) -> int:
    """Into how many chunks each worker's share of a plan's rows is cut: 1 for what fits as a whole."""
    scans = read = most = 0
    for node in walk_nodes(root):
        if isinstance(node, Scan):
            read += node.table.rows * width(node.types)
            scans += node.table.rows * width(node.types)
        elif isinstance(node, Fused):
            scan = scan_of(node.root)
            read += scan.table.rows * width(scan.types)
            scans += scan.table.rows * _packed(scan)
        most = max(most, size(node) * (_WINDOWED if isinstance(node, Window) else 1))
    copies = _COPIES + _SENT * (workers > 1)
    needed = copies * min(most, _FANOUT * read) // workers
    if scans // workers > space.tables:
        # They are read from their files, all columns of a chunk at once.
        needed = max(needed, copies * scans // workers)
    return min(max(-(-needed // space.statements), 1), MOST)


def build_rows(space: Space) -> int:
    """The most rows of a fused part's build side: all of them lie beside each chunk, with the table made of them."""
    return space.statements // _BUILD_BYTES


def kept_rows(space: Space) -> int:
    """The most rows of a build side whose table is kept from run to run, in its part of the room for columns."""
    return space.tables // _KEPT // _TABLE_BYTES


def finer(chunks: int) -> int | None:
    """How many there are after memory has run out; None once there are most."""
    return min(chunks * FINER, MOST) if chunks < MOST else None


def _packed(scan: Scan) -> int:
    """The bytes of a row as kernels read it: integers as narrow as their values are, texts as numbers if few differ."""
    found = 0
    for column, kind in zip(table_profile(scan.table, scan.columns).columns, scan.types, strict=True):
        if kind.name in PLAIN_TEXT and scan.table.rows >= MANY and column.distinct > DISTINCT[0] * scan.table.rows:
            found += 4 + width((kind,))
            continue
        spread = None if column.low is None or column.high is None else column.high - column.low
        if kind.name == "numeric" and spread is not None:
            spread *= 10.0 ** kind.numeric_digits[1]
        found += 4 if spread is None else next((each for each in (1, 2, 4) if spread < 256.0**each), 8)
    return found
