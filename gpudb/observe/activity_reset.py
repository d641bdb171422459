"""What the views of activity start from: counts at the last reset, which are subtracted. Metrics go on counting."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, field

Counts = Mapping[str, float]


@dataclass(slots=True)
class ActivityReset:
    """When and at which counts views were reset last: of databases and tables by OID, of input and output.

    pg_stat_reset resets the first two, pg_stat_reset_single_table_counters a table, pg_stat_reset_shared the last.
    """

    io_at: dt.datetime
    databases_at: dict[int, dt.datetime] = field(default_factory=dict)
    databases: dict[int, Counts] = field(default_factory=dict)
    tables: dict[int, Counts] = field(default_factory=dict)
    database_tables: dict[int, Counts] = field(default_factory=dict)
    """What a database's sums over its tables start from: a reset of one table leaves them."""
    io: Mapping[str, Counts] = field(default_factory=dict)
    shared_at: dict[str, dt.datetime] = field(default_factory=dict)
    """When others of the whole server's statistics were reset, which gpudb does not count; since its start if never."""


def subtract(counts: Counts, start: Counts) -> dict[str, float]:
    """Returns what was counted since the start."""
    return {name: value - start.get(name, 0) for name, value in counts.items()}
