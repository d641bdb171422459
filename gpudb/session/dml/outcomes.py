"""What a change of a table comes to, known before anything is written."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

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


def left_alone(found: pa.Table, file: int, gone: Sequence[pa.Table]) -> pa.Table:
    """The rows of `found`, whose file and row number are two columns from `file` on, that none of `gone` has named.

    A row that two parts of a statement change is changed by the first.
    """
    for earlier in gone:
        for path in pc.unique(earlier["file"]).to_pylist():
            rows = earlier.filter(pc.equal(earlier["file"], path))["row"]
            same = pc.and_(pc.equal(found.column(file), path), pc.is_in(found.column(file + 1), rows.combine_chunks()))
            found = found.filter(pc.invert(pc.fill_null(same, False)))
    return found
