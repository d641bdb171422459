"""CHECK OPTION of views: the check of rows that are written through them."""

from __future__ import annotations

from gpudb.sql.bind.base import Binder
from gpudb.sql.bind.dml.on_conflict import scan_proposed
from gpudb.sql.bind.dml.row_checks import build_row_check
from gpudb.sql.bind.dml.view_targets import ChangeTarget, resolve_target
from gpudb.sql.bound import ROW_NUMBER, VIEW_CHECK, Column, RowCheck
from gpudb.types import INT8


def bind_view_check(binder: Binder, changed: ChangeTarget) -> RowCheck | None:
    """Returns the check of rows that are written to a target; None if no view demands one."""
    if changed.view is None or not changed.list_checks():
        return None
    rel, table = binder.new_rel(), changed.table
    checks = resolve_target(binder, changed.view, rel, "delete from").list_checks()
    errors = tuple((VIEW_CHECK, f'new row violates check option for view "{name}"') for name, _ in checks)
    number = Column(rel, len(table.columns), INT8, ROW_NUMBER)
    return build_row_check(scan_proposed(rel, table), number, [test for _, test in checks], errors)
