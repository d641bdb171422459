"""Parts of statements that row level security reads and adds."""

from __future__ import annotations

from collections.abc import Iterator

from gpudb.catalog.tables import Table
from gpudb.sql.bind.base import Binder
from gpudb.sql.bind.dml.targets import ROW_ID
from gpudb.sql.bind.expressions.operators import apply_operator, conjunction
from gpudb.sql.bound import OLD_ROWS, POLICY_CHECK, ROW_NUMBER, Column, FrameScan, From, Join, OutputColumn, Scan
from gpudb.types import INT8, TEXT

_NUMBER = OutputColumn(ROW_NUMBER, INT8)


def list_kept_scans(source: From | None) -> Iterator[Scan]:
    """Yields the scans of a FROM clause of which no join adds rows of NULLs: WHERE decides on their rows."""
    if isinstance(source, Scan):
        yield source
    elif isinstance(source, Join):
        if source.kind in {"INNER", "CROSS", "LEFT"}:
            yield from list_kept_scans(source.left)
        if source.kind in {"INNER", "CROSS", "RIGHT"}:
            yield from list_kept_scans(source.right)


def scan_old_rows(binder: Binder, rel: int, table: Table) -> tuple[From, Column]:
    """Returns the stored rows of a table whose positions are in OLD_ROWS, as relation `rel`, and their numbers."""
    frame, width = binder.new_rel(), len(table.columns)
    places = [Column(frame, n, each.type, each.name) for n, each in enumerate((*ROW_ID, _NUMBER))]
    own = (Column(rel, width, TEXT, "file"), Column(rel, width + 1, INT8, "row"))
    on = conjunction([apply_operator(binder, "=", one, two) for one, two in zip(places[:2], own, strict=True)])
    frame_scan = FrameScan(frame, OLD_ROWS, (*ROW_ID, _NUMBER))
    return Join("INNER", frame_scan, Scan(rel, table, row_ids=True), on), places[2]


def describe_violation(message: str, table: Table, policy: str | None) -> tuple[str, str]:
    shown = "" if policy is None else f' "{policy}"'
    return POLICY_CHECK, message.format(policy=shown, table=f'"{table.name}"')
