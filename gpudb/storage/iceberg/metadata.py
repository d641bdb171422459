"""Writes a table's Iceberg metadata: a new version takes effect when the catalog's database names it.

Beside the current snapshot the metadata has those before it for as long as `history.Retention` says; the store's
garbage collection keeps what open transactions still read.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from pyiceberg.schema import Schema
from pyiceberg.table.metadata import TableMetadataV2
from pyiceberg.table.sorting import UNSORTED_SORT_ORDER

from gpudb.catalog.tables import Table, TableSnapshot
from gpudb.storage.iceberg.disk_files import DiskFile
from gpudb.storage.iceberg.file_writer import disk_errors, sync, sync_all
from gpudb.storage.iceberg.history import (
    DEFINITION_PROPERTY,
    LOCATIONS_PROPERTY,
    PAST_DEFINITION_PROPERTY,
    SALT_PROPERTY,
    Retention,
    select_kept,
)
from gpudb.storage.iceberg.locations import to_uri
from gpudb.storage.iceberg.schema import Layout, type_properties
from gpudb.storage.iceberg.snapshots import Snapshots
from gpudb.storage.iceberg.table_state import TableState
from gpudb.storage.private_files import make_directory

MAX_PENDING = 8
"""Snapshots that one version of the metadata gets of commits that were written to the log alone."""


@dataclass(frozen=True, slots=True)
class Commit:
    """What the metadata of all tables of one commit share.

    `moment` is its time in microseconds since 1970 UTC. A commit that is `compacting` leaves the rows of its tables as
    they are, so that its snapshots replace those before them. `properties` are added to Iceberg's.
    """

    moment: int
    retention: Retention = field(default_factory=Retention)
    compacting: bool = False
    properties: Mapping[str, str] = field(default_factory=dict)


def stage(
    state: TableState | None,
    folder: Path,
    table: Table,
    definition: str,
    commit: Commit,
    pending: Sequence[TableSnapshot] = (),
) -> TableState:
    """Writes and syncs the metadata files of a table's next version.

    `folder` is the table's own; `state` is None for a new table; `definition` is the table's, encoded. `pending` are
    earlier commits that only appended rows, of which MAX_PENDING become snapshots too. Nothing takes effect yet: the
    caller makes `TableState.location` the table's current one, or removes the new ones among `TableState.files`.
    """
    directory = folder / "metadata"
    make_directory(directory)
    written: list[Path] = []
    try:
        with disk_errors():
            new = _stage(state, directory, folder, table, written, definition, commit, _thin(pending))
            sync_all(written)
    except BaseException:
        for path in written:
            path.unlink(missing_ok=True)
        raise
    sync(directory)
    return new


def _thin(pending: Sequence[TableSnapshot]) -> Sequence[TableSnapshot]:
    """Returns at most MAX_PENDING of some snapshots at even distances, the last one included."""
    count = min(len(pending), MAX_PENDING)
    return [pending[(place + 1) * len(pending) // count - 1] for place in range(count)]


def _stage(
    state: TableState | None,
    directory: Path,
    folder: Path,
    table: Table,
    written: list[Path],
    definition: str,
    commit: Commit,
    pending: Sequence[TableSnapshot],
) -> TableState:
    old = state.metadata if state is not None else None
    number = 0 if state is None else int(state.location.name.partition("-")[0]) + 1
    salt = uuid.uuid4().hex[:12]
    version = f"{number:05d}-{salt}"
    layout = Layout.of(old, table)
    snapshots = Snapshots.of(state)
    # Without a past the last one keeps its own moment, since which the rows are as they are
    for each in pending if commit.retention.keeps_past else pending[-1:]:
        earlier, moment = each.table, each.committed
        snapshots.add(directory, version, layout, earlier, moment, written, compacting=False, number=each.id)
    if snapshots.differ_in_rows(table) or (layout.changed and commit.retention.keeps_past):
        snapshots.add(directory, version, layout, table, commit.moment, written, compacting=commit.compacting)
    elif snapshots.known:
        snapshots.known[-1] = replace(snapshots.known[-1], table=table)
    kept = select_kept(snapshots.known, commit.moment, commit.retention)
    kept_ids = [each.id for each in kept]
    past = _PastMetadata.of(old, {snapshots.listed[each].schema_id for each in kept_ids} - {layout.schema.schema_id})
    previous = [state.location] if state is not None and commit.retention.keeps_past else []
    now = int(time.time() * 1000)
    current = snapshots.current
    metadata = TableMetadataV2.model_validate(
        {
            "location": to_uri(folder),
            "table-uuid": uuid.uuid4() if old is None else old.table_uuid,
            "last-updated-ms": now,
            "last-column-id": table.last_field_id,
            "schemas": [*past.schemas, layout.schema],
            "current-schema-id": layout.schema.schema_id,
            "partition-specs": layout.specs,
            "default-spec-id": layout.spec.spec_id,
            "last-partition-id": 998 + len(layout.specs),
            "properties": {
                **_make_properties(
                    table, definition, past, commit, _list_locations(old, to_uri(folder)) if len(kept) > 1 else []
                ),
                SALT_PROPERTY: salt,
            },
            "current-snapshot-id": None if current is None else current.snapshot_id,
            "snapshots": [snapshots.listed[each] for each in kept_ids],
            "metadata-log": [{"metadata-file": to_uri(path), "timestamp-ms": now} for path in previous],
            "sort-orders": [UNSORTED_SORT_ORDER],
            "default-sort-order-id": 0,
            "last-sequence-number": snapshots.sequence,
            "refs": {} if current is None else {"main": {"snapshot-id": current.snapshot_id, "type": "branch"}},
        }
    )
    file = DiskFile(directory, f"{number:05d}-{{}}.metadata.json", written)
    file.write(metadata.model_dump_json().encode())
    location = file.path
    snapshot_files = {each: snapshots.files[each] for each in kept_ids}
    files = frozenset({location, *previous}.union(*snapshot_files.values()))
    for path in set(written) - files:
        path.unlink()  # of a pending snapshot that is kept no longer
        written.remove(path)
    return TableState(
        metadata,
        location,
        snapshots.manifests,
        snapshots.added,
        files,
        kept,
        snapshot_files,
        snapshots.deletions,
        snapshots.delete_manifests,
    )


def _make_properties(
    table: Table, definition: str, past: _PastMetadata, commit: Commit, locations: Sequence[str]
) -> dict[str, str]:
    """Returns a table's properties; `locations` are the folders where files of its snapshots were written."""
    properties = {
        "owner": table.owner,
        "gpudb.oid": str(table.oid),
        **type_properties(table.columns),
        **past.definitions,
        DEFINITION_PROPERTY: definition,
        **commit.properties,
    }
    if locations:
        properties[LOCATIONS_PROPERTY] = " ".join(locations)
    return properties


@dataclass(frozen=True, slots=True)
class _PastMetadata:
    """What the metadata keeps for snapshots of older schemas: those schemas, and gpudb's definitions as properties."""

    schemas: list[Schema]
    definitions: dict[str, str]

    @classmethod
    def of(cls, old: TableMetadataV2 | None, schema_ids: set[int | None]) -> _PastMetadata:
        """Collects them from the metadata of the version before."""
        definitions: dict[str, str] = {}
        if old is None:
            return cls([], definitions)
        for number in schema_ids:
            name = f"{PAST_DEFINITION_PROPERTY}{number}"
            found = old.properties.get(DEFINITION_PROPERTY if number == old.current_schema_id else name)
            if found is not None:
                definitions[name] = found
        return cls([each for each in old.schemas if each.schema_id in schema_ids], definitions)


def _list_locations(old: TableMetadataV2 | None, current: str) -> list[str]:
    """Returns the URIs of the folders where a table lay before."""
    if old is None:
        return []
    found = old.properties.get(LOCATIONS_PROPERTY, "").split()
    return [each for each in dict.fromkeys([*found, old.location]) if each != current]
