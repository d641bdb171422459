"""What a change of a table comes to, known before anything is written."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import pyarrow as pa

Batches = list[pa.RecordBatch]


@dataclass(slots=True)
class Outcome:
    """A change computed: `count` rows, which RETURNING sees as `rows`.

    `gone` names the rows that leave (file, row), of which `removed` do not come back; `fresh` come back in the place of
    others, which `changed` names in their order; `added` are new. `assigned` are the columns that a fresh row may have
    otherwise than its old one, None for all. Rows are batches of the table's columns.
    """

    count: int
    rows: Batches
    gone: pa.Table | None = None
    fresh: Batches = field(default_factory=list)
    added: Batches = field(default_factory=list)
    removed: pa.Table | None = None
    assigned: frozenset[str] | None = None
    changed: pa.Table | None = None

    def changes(self, columns: Iterable[str]) -> bool:
        """Whether rows may come back with other values in one of these columns."""
        return bool(self.fresh) and (self.assigned is None or not self.assigned.isdisjoint(columns))
