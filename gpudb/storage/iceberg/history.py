"""Which snapshots of a table are kept, and what its metadata says of them beside Iceberg's own fields."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from gpudb.catalog.tables import TableSnapshot

DEFINITION_PROPERTY = "gpudb.definition"
"""Property of a table's metadata: its encoded definition, from which a lost catalog is rebuilt."""
PAST_DEFINITION_PROPERTY = "gpudb.definition."
"""Property of a table's metadata, with a schema's number: the definition of the kept snapshots with that schema."""
LOCATIONS_PROPERTY = "gpudb.former-locations"
"""Property of a table's metadata: URIs, separated by spaces, of folders where older manifests were written."""
SALT_PROPERTY = "gpudb.salt"
"""Property of a table's metadata: random digits, so that no two files have the same content and name."""
COMMITTED_SUMMARY = "gpudb.committed-us"
"""Key of a snapshot's summary: the time of its commit in microseconds since 1970 UTC."""


@dataclass(frozen=True, slots=True)
class Retention:
    """A snapshot is kept for `seconds` after the commit that replaced it, and is one of the last `count`."""

    seconds: float = 0.0
    count: int = 100

    @property
    def keeps_past(self) -> bool:
        """Whether anything but the committed state is kept."""
        return self.seconds > 0 and self.count > 1


def select_kept(snapshots: Sequence[TableSnapshot], now: int, retention: Retention) -> tuple[TableSnapshot, ...]:
    """Returns the snapshots that are kept at a time, in microseconds since 1970 UTC; the last one always is.

    `snapshots` are those of one table, oldest first.
    """
    if not snapshots or not retention.keeps_past:
        return tuple(snapshots[-1:])
    since = now - round(retention.seconds * 1_000_000)
    past = [each for each, later in pairwise(snapshots) if later.committed > since]
    return (*past[-(retention.count - 1) :], snapshots[-1])


def list_data_files(snapshots: Iterable[TableSnapshot]) -> set[str]:
    """Returns the paths of all data files of the snapshots that can be read."""
    return {file.path for each in snapshots if each.table.is_readable for file in each.table.files}
