"""The rows of gpudb_resource_groups: limits, members, and the transactions that run and wait on this server."""

from __future__ import annotations

from collections.abc import Mapping

from gpudb.catalog.resource_groups import find_group, list_groups
from gpudb.session.context import Context


def group_rows(context: Context) -> list[Mapping[str, object]]:
    """Returns the rows by name."""
    catalog, database = context.transaction.catalog, context.session.database
    members: dict[str, list[str]] = {}
    for role in (each for each in catalog.roles.values() if each.login or each.resource_group is not None):
        members.setdefault(find_group(catalog.resource_groups, role).name, []).append(role.name)
    rows: list[Mapping[str, object]] = []
    for name, group in sorted(list_groups(catalog.resource_groups).items()):
        running, queued = database.group_places.count(name)
        rows.append(
            {
                "oid": group.oid,
                "name": name,
                "concurrency": group.concurrency,
                "memory_bytes": group.count_bytes(database.cpu.memory_limit),
                "memory_share": group.memory_share,
                "temporary_space_bytes": group.temporary_space,
                "statement_seconds": group.statement_seconds,
                "workers": group.workers,
                "roles": sorted(members.get(name, ())),
                "running": running,
                "queued": queued,
                "total_admitted": database.group_places.admitted[name],
                "total_queued": database.group_places.queued[name],
            }
        )
    return rows
