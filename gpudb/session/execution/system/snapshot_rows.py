"""The rows of gpudb_snapshots: the kept snapshots of the tables that the current role may read."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping

from gpudb.session.authorization.privileges import get_current_role, list_object_privileges
from gpudb.session.context import Context

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


def snapshot_rows(context: Context) -> list[Mapping[str, object]]:
    """Returns the rows by table, and by time of commit."""
    return list(_iter_rows(context))


def _iter_rows(context: Context) -> Iterator[Mapping[str, object]]:
    catalog = context.transaction.catalog
    role = get_current_role(context)
    for table in sorted(catalog.tables(), key=lambda each: each.oid):
        snapshots = catalog.snapshots.get(table.oid, ())
        if (
            not snapshots
            or table.is_elsewhere
            or table.partitioned_by is not None
            or "r" not in list_object_privileges(catalog, role, table)
        ):
            continue
        for each in snapshots:
            files = each.table.files if each.table.is_readable else None
            yield {
                "table": table.oid,
                "snapshot_id": each.id,
                "committed_at": _EPOCH + dt.timedelta(microseconds=each.committed),
                "operation": each.operation,
                "rows": None if files is None else each.table.rows,
                "files": None if files is None else len(files),
                "bytes": None if files is None else sum(file.bytes for file in files),
                "current": each is snapshots[-1],
            }
