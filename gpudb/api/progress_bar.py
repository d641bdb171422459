"""A bar for a statement that takes over a second: drawn by rich in terminals, as HTML in notebooks."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Any, Protocol

from gpudb.storage.load.progress import Progress

AFTER_S = 1.0
"""Statements that end earlier show no bar."""
_POLL_S = 0.25


class Drawing(Protocol):
    """A bar on the screen."""

    def draw(self, progress: Progress, text: str) -> None:
        """Draws a state; a bar without a total pulses."""

    def remove(self) -> None:
        """Removes the bar."""


class Reporting(Protocol):
    """What knows how far a statement is: a `Connection`."""

    def progress(self) -> Progress:
        """Returns how far the running statement is."""


class ProgressBar:
    """The bar of one statement. `update` is called while it runs; leaving the context removes the bar."""

    def __init__(self, connection: Reporting) -> None:
        self._connection = connection
        self._started = self._polled = time.monotonic()
        self._drawing: Drawing | None = None
        self._is_shown = True

    def update(self) -> None:
        """Draws the bar anew, a few times a second once it is due; only where someone looks at the output."""
        now = time.monotonic()
        if not self._is_shown or now - self._started < AFTER_S or now - self._polled < _POLL_S:
            return
        self._polled = now
        if self._drawing is None:
            self._drawing = open_drawing()
        if self._drawing is None:
            self._is_shown = False
            return
        progress = self._connection.progress()
        self._drawing.draw(progress, format_progress(progress, now - self._started))

    def __enter__(self) -> ProgressBar:
        """Returns the bar, which is not drawn yet."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Removes the bar."""
        if self._drawing is not None:
            self._drawing.remove()


def open_drawing() -> Drawing | None:
    """Begins a bar; None where nobody looks at the output."""
    from rich.console import Console

    console = Console()
    if console.is_jupyter:
        return _Element()
    return _Line(console) if console.is_terminal else None


class _Line:
    """A bar in a terminal's last line."""

    def __init__(self, console: Any) -> None:
        from rich.progress import BarColumn, TextColumn
        from rich.progress import Progress as Bar

        columns = BarColumn(), TextColumn("{task.fields[text]}", markup=False)
        self._bar = Bar(*columns, console=console, transient=True, auto_refresh=False)
        self._task = self._bar.add_task("", total=None, text="")
        self._bar.start()

    def draw(self, progress: Progress, text: str) -> None:
        part = measure_part(progress)
        total = None if part is None else 1.0
        self._bar.update(self._task, completed=part or 0.0, total=total, text=text, refresh=True)

    def remove(self) -> None:
        self._bar.stop()


class _Element:
    """A bar in the output of a notebook's cell: an element of HTML, of which nothing stays."""

    def __init__(self) -> None:
        from IPython.display import HTML, display

        self._html: Any = HTML
        self._handle: Any = display(HTML(""), display_id=True)  # type: ignore[no-untyped-call]

    def draw(self, progress: Progress, text: str) -> None:
        part = measure_part(progress)
        value = "" if part is None else f' value="{part:.4f}"'
        self._handle.update(self._html(f"<progress{value}></progress> <small>{text}</small>"))

    def remove(self) -> None:
        self._handle.update(self._html(""))


def measure_part(progress: Progress) -> float | None:
    """Returns the fraction of a load's bytes or of a query that is done; None if it is unknown."""
    return progress.done / progress.total if progress.total else progress.fraction


def format_progress(progress: Progress, seconds: float) -> str:
    """Returns a progress in words: `1,200,000 rows, 34.1 of 90.0 MB, 12 s` or `43%, 5 s`."""
    parts = [f"{progress.fraction:.0%}"] if progress.fraction is not None else []
    parts += [f"{progress.rows:,} row{'' if progress.rows == 1 else 's'}"] if progress.rows else []
    if progress.total:
        parts.append(f"{progress.done / 1e6:,.1f} of {progress.total / 1e6:,.1f} MB")
    elif progress.done:
        parts.append(f"{progress.done / 1e6:,.1f} MB")
    return ", ".join([*parts, f"{seconds:.0f} s"])
