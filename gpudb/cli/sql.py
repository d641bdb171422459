"""`gpudb sql`: a small shell. At a terminal it draws tables; with -c, or from a pipe, it prints in psql's format."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import suppress
from itertools import islice
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

import gpudb.api
from gpudb.api.connection import Connection
from gpudb.api.display import RIGHT_ALIGNED_TYPES
from gpudb.api.rows import Rows
from gpudb.cli import backslash
from gpudb.cli.output import format_duration, format_error, format_notice
from gpudb.cli.split import is_complete, split_pieces
from gpudb.errors import GpudbError, InternalError
from gpudb.sql.parse.parser import parse

HISTORY = Path("~/.gpudb_history")
HISTORY_LINES = 5000
_QUIT = frozenset({"\\q", "\\quit"})
MAX_ROWS = 500
"""Rows drawn at a terminal; further rows are counted only."""


def run(target: str | None, commands: list[str]) -> int:
    """Runs the shell; returns the exit status: 0, or 1 after an error outside a terminal."""
    with gpudb.api.connect(target) as connection:
        if commands:
            return 0 if all(_run_script(connection, text) for text in commands) else 1
        if not sys.stdin.isatty():
            return 0 if _run_script(connection, sys.stdin.read()) else 1
        Shell(connection, target).run()
    return 0


def _run_script(connection: Connection, text: str) -> bool:
    """Runs statements up to the first error; prints results in psql's format."""
    return _try(connection, lambda: run_each(connection, text, _print_rows), text)


def run_each(connection: Connection, text: str, show: Callable[[Rows], None]) -> None:
    """Runs statements and backslash commands one by one, up to \\q."""
    for position, piece in split_pieces(text):
        if piece.rstrip("; ") in _QUIT:
            return
        if piece.startswith("\\"):
            backslash.run(connection, piece, show, run_each)
            continue
        start = position
        try:
            for offset, statement in split_statements(piece):
                start = position + offset
                rows = connection.execute(statement)
                _print_notices(connection)
                show(rows)
        except GpudbError as error:
            if error.position is not None:
                error.position += start
            raise
        finally:
            _print_notices(connection)


def split_statements(text: str) -> list[tuple[int, str]]:
    """Yields each statement of a text as written, with its position.

    The parser's own texts lack clauses outside PostgreSQL's grammar, such as DISTRIBUTE BY.
    """
    starts = [statement.start for statement in parse(text)]
    return [(start, text[start:end]) for start, end in zip(starts, [*starts[1:], len(text)], strict=True)]


def _try(connection: Connection, action: Callable[[], None], text: str) -> bool:
    try:
        action()
    except GpudbError as error:
        sys.stdout.flush()
        sys.stderr.write(format_error(error, text) + "\n")
        return False
    except Exception as error:  # an internal error: the shell continues
        sys.stdout.flush()
        sys.stderr.write(format_error(InternalError(f"{type(error).__name__}: {error}")) + "\n")
        return False
    return True


def _print_notices(connection: Connection) -> None:
    for notice in connection.notices:
        sys.stderr.write(format_notice(notice) + "\n")
    connection.notices = []


def _print_rows(rows: Rows) -> None:
    if rows.gives_rows:
        sys.stdout.write(f"{rows}\n\n")
    elif rows.tag:
        sys.stdout.write(f"{rows.tag}\n")
    sys.stdout.flush()


class Shell:
    """The interactive part: prompts, history, tables."""

    def __init__(self, connection: Connection, target: str | None) -> None:
        self._connection = connection
        self._console = Console(highlight=False)
        self._timing = False
        where = target or "a temporary database in this process"
        self._console.print(f"gpudb on {where}. \\? lists the commands, \\q leaves.", markup=False)

    def run(self) -> None:
        """Reads and runs statements until \\q or the end of input."""
        save = _load_history()
        buffer = ""
        try:
            while True:
                try:
                    line = input(self._make_prompt(buffer))
                except EOFError:
                    self._console.print()
                    return
                except KeyboardInterrupt:
                    self._console.print()
                    buffer = ""
                    continue
                if not buffer and line.strip().startswith("\\"):
                    if line.strip().rstrip("; ") in _QUIT:
                        return
                    self._run_backslash(line.strip())
                    continue
                if not buffer and line.strip().lower() in {"exit", "quit", "exit;", "quit;"}:
                    return
                buffer = f"{buffer}\n{line}" if buffer else line
                if is_complete(buffer):
                    text, buffer = buffer, ""
                    self._run(text)
                elif not buffer.strip():
                    buffer = ""
        finally:
            save()

    def _make_prompt(self, buffer: str) -> str:
        mark = {"I": "", "T": "*", "E": "!"}[self._connection.status]
        return f"gpudb{'-' if buffer else '='}{mark}> "

    def _run_backslash(self, line: str) -> None:
        if line == "\\timing":
            self._timing = not self._timing
            self._console.print(f"Timing is {'on' if self._timing else 'off'}.")
            return
        self._run_guarded(lambda: backslash.run(self._connection, line, self._draw, run_each), line)

    def _run(self, text: str) -> None:
        started = time.perf_counter()
        self._run_guarded(lambda: run_each(self._connection, text, self._draw), text)
        if self._timing:
            self._console.print(f"Time: {format_duration(time.perf_counter() - started)}")

    def _run_guarded(self, action: Callable[[], None], text: str) -> None:
        try:
            _try(self._connection, action, text)
        except KeyboardInterrupt:
            self._connection.cancel()
            self._console.print("\ncancelled")

    def _draw(self, rows: Rows) -> None:
        if not rows.gives_rows:
            if rows.tag:
                self._console.print(rows.tag, markup=False)
            return
        table = Table(header_style="bold")
        for name, kind in zip(rows.columns, rows.types, strict=True):
            table.add_column(
                Text(name), justify="right" if kind.name in RIGHT_ALIGNED_TYPES else "left", overflow="fold"
            )
        for row in islice(rows.texts(), MAX_ROWS):
            table.add_row(*(Text("NULL", style="dim") if value is None else Text(value) for value in row))
        self._console.print(table)
        count = f"{len(rows)} row{'' if len(rows) == 1 else 's'}"
        more = f", the first {MAX_ROWS} shown" if len(rows) > MAX_ROWS else ""
        self._console.print(f"({count}{more})", markup=False)


def _load_history() -> Callable[[], None]:
    """Enables line editing with a persistent history; returns the function that saves it."""
    try:
        import readline
    except ImportError:  # Python was built without it: input still works
        return lambda: None
    path = HISTORY.expanduser()
    with suppress(OSError):
        readline.read_history_file(path)
    readline.set_history_length(HISTORY_LINES)

    def save() -> None:
        with suppress(OSError):
            readline.write_history_file(path)

    return save
