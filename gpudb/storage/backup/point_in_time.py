"""The database of a moment between backups: which backup reaches it, and its tables as they were then.

A backup holds the kept snapshots of its tables, so that it reaches back to the time since which all of them are kept,
unless a definition has changed since: those of earlier moments are not kept.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from gpudb.catalog.tables import Table, TableSnapshot
from gpudb.errors import GpudbError, SqlError
from gpudb.storage.backup.manifest import Manifest, list_manifests
from gpudb.storage.store import Store

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SHOWN = 5


def find_reaching(where: str | Path, at: datetime) -> Manifest:
    """Returns the backup of a folder or URL from which the database of a moment can be restored exactly.

    Raises 42704 with the reachable times if none reaches it, and what `manifest.list_manifests` raises.
    """
    manifests = list_manifests(where)
    for each in manifests:
        if datetime.fromisoformat(each.time) >= at:
            if _begin(each) <= at:
                return each
            break
    earlier = [each for each in manifests if datetime.fromisoformat(each.time) <= at]
    reached = [f"{_show(_begin(each))} to {_show(datetime.fromisoformat(each.time))}" for each in manifests]
    shown = "; ".join(reached[-_SHOWN:])
    before = f"the last {_SHOWN} of {len(reached)}: " if len(reached) > _SHOWN else ""
    hint = f'"--backup {earlier[-1].id}" restores the last backup before.' if earlier else None
    message = f'the backups in "{where}" do not reach {_show(at)}'
    raise SqlError.of("undefined_object", message, detail=f"Reachable are {before}{shown}.", hint=hint)


def _begin(manifest: Manifest) -> datetime:
    """Returns the first moment whose database a backup has; one of an earlier gpudb has only its own."""
    return datetime.fromisoformat(manifest.time if manifest.reaches is None else manifest.reaches)


def _show(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="microseconds")


def rewind(directory: Path, at: datetime) -> int:
    """Gives the tables of a restored data directory the rows of a moment; returns the number of those that differ.

    No earlier snapshots are kept. Raises XX001 for a table of which the snapshot of that moment is not there.
    """
    moment = (at.astimezone(UTC) - _EPOCH) // (datetime.resolution)
    changed = 0
    with Store(directory, compaction=False, keep_seconds=0.0, restoring=True) as store:
        for database in store.catalogs():
            with store.begin(database) as transaction:
                catalog = transaction.catalog
                for table in catalog.tables():
                    if table.temporary or table.partitioned_by is not None:
                        continue
                    past = _find(table, catalog.snapshots.get(table.oid, ()), moment)
                    if past.files != table.files:
                        catalog = catalog.put(replace(table, files=past.files))
                        changed += 1
                if catalog is not transaction.catalog:
                    transaction.set_catalog(catalog)
                    transaction.commit()
    return changed


def _find(table: Table, snapshots: tuple[TableSnapshot, ...], moment: int) -> Table:
    """Returns a table in its last snapshot up to a moment."""
    found = next((each for each in reversed(snapshots) if each.committed <= moment), None)
    if found is None or not found.table.is_readable:
        message = f'the backup has no snapshot of table "{table.schema}.{table.name}" of that time'
        raise GpudbError(message, condition="data_corrupted")
    return found.table
