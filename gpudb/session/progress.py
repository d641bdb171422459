"""Progress of a session's COPY: COPY and load_data write it, pg_stat_progress_copy and clients' bars read it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


class RowCounts(Protocol):
    """Rows that a COPY has stored or sent, that its WHERE excluded, and that it skipped for their errors."""

    @property
    def rows(self) -> int:
        """Rows that are stored or sent."""

    @property
    def excluded(self) -> int:
        """Rows that WHERE excluded."""

    @property
    def skipped(self) -> int:
        """Rows that were skipped for their errors."""


@dataclass(slots=True)
class CopyProgress:
    """COPY or load_data: bytes of the data so far and in total (0 if it is unknown), and rows so far.

    `relation` is the OID of the table, 0 for COPY of a query; `source` is FILE or PIPE, COPY TO's destination too. One
    thread writes it, any thread reads it.
    """

    relation: int
    source: str
    counts: RowCounts | None = None
    bytes_processed: int = 0
    bytes_total: int = 0
    is_copy_to: bool = False

    @property
    def rows(self) -> int:
        """Rows that are stored or sent."""
        return 0 if self.counts is None else self.counts.rows

    @property
    def excluded(self) -> int:
        """Rows that WHERE excluded."""
        return 0 if self.counts is None else self.counts.excluded

    @property
    def skipped(self) -> int:
        """Rows that were skipped for their errors."""
        return 0 if self.counts is None else self.counts.skipped


@dataclass(slots=True)
class SentRows:
    """Rows that COPY TO has sent; none are excluded or skipped."""

    rows: int = 0
    excluded: int = 0
    skipped: int = 0
