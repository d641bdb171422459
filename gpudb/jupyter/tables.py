"""Rows as text, where a notebook shows no HTML: in psql's format."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpudb.api.display import format_aligned
from gpudb.api.rows import SHOWN_ROWS, Rows

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell


def register_formatter(shell: InteractiveShell) -> None:
    """Registers the form with IPython."""
    assert shell.display_formatter is not None
    formatter = shell.display_formatter.formatters["text/plain"]
    formatter.for_type(Rows, lambda rows, printer, cycle: printer.text(format_text(rows)))


def format_text(rows: Rows) -> str:
    """Returns the first rows in psql's format, or the command tag of a statement without rows."""
    if not rows.gives_rows:
        return rows.tag
    shown = rows.head(SHOWN_ROWS)
    return format_aligned(shown.fields, shown.texts(), more=len(rows) > len(shown))
