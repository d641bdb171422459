"""Progress of a load or a query, for a progress bar."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Progress:
    """State of a load: bytes read of the files (as on disk), bytes in total, and rows stored; of a COPY also those that
    WHERE excluded, and that were skipped for their errors.

    `rows` lags behind `done`, since blocks are still being parsed; it is exact at the end. Of a query, `fraction` is
    the part that its engine has done, and `rows` are those of the result that were read.
    """

    done: int
    total: int
    rows: int
    excluded: int = 0
    skipped: int = 0
    fraction: float | None = None


ReportProgress = Callable[[Progress], None]


def ignore_progress(progress: Progress) -> None:
    """Reports nothing."""


class Meter:
    """Sums the bytes of several files and reports each step."""

    def __init__(self, total: int, report: ReportProgress, rows: Callable[[], int]) -> None:
        self._total = total
        self._report = report
        self._rows = rows
        self._finished = 0

    def report_position(self, position: int) -> None:
        """Reports that the current file is read up to `position`."""
        self._report(Progress(min(self._finished + position, self._total), self._total, self._rows()))

    def finish_file(self, size: int) -> None:
        """Reports that the current file is read to its end."""
        self._finished += size
        self.report_position(0)
