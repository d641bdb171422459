"""Where `gpudb sql` shows results, and how: tables at a terminal, psql's format elsewhere, a pager for large ones."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from gpudb.api.display import RIGHT_ALIGNED_TYPES, format_aligned, format_expanded, get_display_width
from gpudb.api.files import BINARY
from gpudb.api.rows import Rows
from gpudb.cli.formats import FORMATS
from gpudb.errors import SqlError

if TYPE_CHECKING:
    from rich.console import Console  # for terminals alone

MAX_ROWS = 500
"""Rows drawn at a terminal; further rows are counted only."""
_WIDEST = 1 << 20


class Screen:
    """The destination of results, and the settings of \\x, \\timing, \\o and \\pset.

    `expanded` is "off", "on", or "auto": each column in a line of its own never, always, or for rows wider than the
    terminal. `format` is aligned, or one of `formats.FORMATS` and `files.BINARY`, `null` the text of NULL; without
    `has_heading` results have no names and no count. `seconds` is the time of the statements since it was last set
    to 0.
    """

    def __init__(self, console: Console | None = None) -> None:
        self._console = console
        self._file: TextIO | None = None
        self.expanded = "off"
        self.has_timing = False
        self.has_pager = True
        self.format = "aligned"
        self.null = ""
        self.has_heading = True
        self.seconds = 0.0

    @property
    def is_terminal(self) -> bool:
        """Whether results are drawn for a terminal."""
        return self._console is not None

    def print(self, text: str) -> None:
        """Prints a line that is no result."""
        sys.stdout.write(text + "\n")
        sys.stdout.flush()

    def open_output(self, name: str) -> None:
        """Sends results to a file, or with an empty name to the screen again; 58P01, 42501 if it cannot be written."""
        if self._file is not None:
            self._file.close()
            self._file = None
        if name:
            path = Path(name).expanduser()
            try:
                self._file = path.open("w", encoding="utf-8")
            except OSError as error:
                condition = "insufficient_privilege" if isinstance(error, PermissionError) else "undefined_file"
                raise SqlError.of(condition, f'cannot write "{path}": {error.strerror}') from None

    @contextmanager
    def redirecting(self, name: str) -> Iterator[None]:
        """Sends results to a file meanwhile, if one is named."""
        if not name:
            yield
            return
        outer, self._file = self._file, None
        try:
            self.open_output(name)
            yield
        finally:
            self.open_output("")
            self._file = outer

    def set_format(self, name: str) -> None:
        """Chooses how results are written. 22023 for an unknown format."""
        if name != "aligned" and name not in FORMATS and name not in BINARY:
            hint = f"It is aligned, {', '.join([*FORMATS, *BINARY])}."
            raise SqlError.of("invalid_parameter_value", f'"{name}" is no format of results', hint=hint)
        self.format = name

    def close(self) -> None:
        """Closes the file of \\o."""
        self.open_output("")

    @contextmanager
    def expanding(self) -> Iterator[None]:
        """Shows results in expanded form meanwhile."""
        before, self.expanded = self.expanded, "on"
        try:
            yield
        finally:
            self.expanded = before

    def show(self, rows: Rows) -> None:
        """Shows the rows of a statement, or its command tag."""
        if self._file is not None or self._console is None or self.format != "aligned" or not self.has_heading:
            self._write(rows, self._file or sys.stdout)
        elif not rows.gives_rows:
            if rows.tag:
                self.print(rows.tag)
        else:
            self._draw(rows, self._console)

    def _write(self, rows: Rows, file: TextIO) -> None:
        if not rows.gives_rows:
            file.write(f"{rows.tag}\n" if rows.tag else "")
        elif self.format in BINARY:
            _write_binary(rows, self.format, file)
        elif self.format != "aligned":
            file.write(FORMATS[self.format](rows, self.null, headed=self.has_heading))
        elif self.expanded == "on":
            file.write(format_expanded(rows.fields, self._list_texts(rows)) + "\n\n")
        else:
            lines = format_aligned(rows.fields, self._list_texts(rows))
            file.write(f"{lines if self.has_heading else _drop_heading(rows, lines)}\n\n")
        file.flush()

    def _list_texts(self, rows: Rows) -> Iterable[tuple[str | None, ...]]:
        """The rows' texts, with the text of NULL where one is set."""
        if not self.null:
            return rows.texts()
        return (tuple(self.null if value is None else value for value in row) for row in rows.texts())

    def _draw(self, rows: Rows, console: Console) -> None:
        shown = list(islice(self._list_texts(rows), MAX_ROWS))
        count = f"({len(rows)} row{'' if len(rows) == 1 else 's'}"
        count += f", the first {MAX_ROWS} shown)" if len(rows) > MAX_ROWS else ")"
        text = "" if self.expanded == "on" else _draw_table(rows, shown, console)
        if not text or (self.expanded == "auto" and _get_width(rows, shown) > console.width):
            text = format_expanded(rows.fields, shown) + "\n"
        is_wide = _get_width(rows, shown) > console.width and self.expanded == "off"
        if self.has_pager and (is_wide or text.count("\n") + 2 > console.height) and _page(text + count + "\n"):
            return
        if is_wide:  # a terminal's broken lines are no table
            text = format_expanded(rows.fields, shown) + "\n"
        sys.stdout.write(text)
        self.print(count)


def _write_binary(rows: Rows, form: str, file: TextIO) -> None:
    """Writes rows in a format that is no text; 55000 at a terminal, which cannot show it."""
    if file.isatty():
        message = f"the format {form} is not for a terminal"
        raise SqlError.of("object_not_in_prerequisite_state", message, hint="Send it to a file: > FILE, or \\o FILE.")
    file.flush()
    file.buffer.writelines(BINARY[form](rows))
    file.buffer.flush()


def _drop_heading(rows: Rows, text: str) -> str:
    """Returns a table of `format_aligned` without the names, the line below them and the count."""
    heading = max((name.count("\n") for name in rows.columns), default=0) + 2
    return "\n".join(text.split("\n")[heading:-1])


def _draw_table(rows: Rows, shown: list[tuple[str | None, ...]], console: Console) -> str:
    """Returns the table at its full width, with the terminal's colours."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(header_style="bold")
    for name, kind in zip(rows.columns, rows.types, strict=True):
        table.add_column(Text(name), justify="right" if kind.name in RIGHT_ALIGNED_TYPES else "left", no_wrap=True)
    for row in shown:
        table.add_row(*(Text("NULL", style="dim") if value is None else Text(value) for value in row))
    target = io.StringIO()
    colors = {"force_terminal": True} if console.color_system is not None else {"color_system": None}
    Console(file=target, width=_WIDEST, highlight=False, **colors).print(table)
    return "".join(line.rstrip(" ") + "\n" for line in target.getvalue().splitlines())


def _get_width(rows: Rows, shown: list[tuple[str | None, ...]]) -> int:
    """The width of the table: each column between two blanks and lines."""
    widths = [
        max(
            get_display_width(line)
            for text in [name, *("NULL" if row[index] is None else row[index] or "" for row in shown)]
            for line in text.split("\n")
        )
        for index, name in enumerate(rows.columns)
    ]
    return sum(width + 3 for width in widths) + 1


def _page(text: str) -> bool:
    """Shows a text in $PSQL_PAGER, $PAGER or less, which scrolls to the right; False if there is none."""
    command = os.environ.get("PSQL_PAGER") or os.environ.get("PAGER") or "less"
    if shutil.which(command.split()[0]) is None:
        return False
    environment = {"LESS": "-FRSX", **os.environ}
    pager = subprocess.Popen(command, shell=True, stdin=subprocess.PIPE, env=environment, text=True)
    try:
        pager.communicate(text)
    except (BrokenPipeError, KeyboardInterrupt):
        pager.wait()
    return True
