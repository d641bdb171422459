"""Scripts of `gpudb sql`: statements and backslash commands, run one by one, with what they share."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable
from typing import TypeVar
from urllib.parse import quote, urlsplit, urlunsplit

from gpudb.api import connect
from gpudb.api.connection import Connection
from gpudb.api.foreground import run_in_foreground
from gpudb.api.messages import format_error, format_notice
from gpudb.api.progress_bar import ProgressBar
from gpudb.api.rows import Rows
from gpudb.cli import backslash
from gpudb.cli.screen import Screen
from gpudb.cli.split import find_command, split_pieces
from gpudb.cli.variables import fill_variables
from gpudb.errors import GpudbError, InternalError, SqlError
from gpudb.sql.parse.parser import parse

_T = TypeVar("_T")
QUIT = frozenset({"\\q", "\\quit"})


class Runner:
    """Runs statements and backslash commands over a connection; results go to a screen.

    `last` is the statement that ran last, for the commands that run it again; `edited` the text that \\e leaves for the
    next prompt.
    """

    def __init__(self, connection: Connection, screen: Screen, target: str | None = None) -> None:
        self.connection = connection
        self.screen = screen
        self.variables: dict[str, str] = {}
        self._target = target
        self.last = ""
        self.edited = ""

    def run(self, text: str) -> None:
        """Runs a script up to its end or \\q."""
        for position, piece in split_pieces(text):
            if piece.rstrip("; ") in QUIT:
                return
            if piece.startswith("\\"):
                backslash.run(self, piece if piece.startswith("\\!") else fill_variables(piece, self.variables))
                continue
            piece = fill_variables(piece, self.variables)
            at = find_command(piece)
            statements, command = (piece, "") if at is None else (piece[:at], piece[at:].strip())
            self._run_statements(statements, position, command)

    def _run_statements(self, text: str, position: int, command: str) -> None:
        """Runs the statements of a text, the last one by the command that follows it."""
        start = position
        try:
            statements = split_statements(text)
            by_command = statements.pop()[1].strip() if command and statements else ""
            for offset, statement in statements:
                start = position + offset
                rows = self.execute(statement)
                self.last = statement.strip()
                self.print_notices()
                self.screen.show(rows)
        except GpudbError as error:
            if error.position is not None:
                error.position += start
            raise
        finally:
            self.print_notices()
        if command:
            self.last = by_command or self.last
            backslash.run(self, command)

    def execute(self, statement: str) -> Rows:
        """Runs one statement; Ctrl-C cancels it, and at a terminal it shows its progress."""
        return self._wait_for(lambda: self.connection.execute(statement))

    def copy_from(self, statement: str, chunks: Iterable[bytes]) -> int:
        """Runs COPY … FROM STDIN as `execute` runs statements; returns the number of rows."""
        return self._wait_for(lambda: self.connection.copy_from(statement, chunks))

    def copy_to(self, statement: str, write: Callable[[bytes], object]) -> int:
        """Runs COPY … TO STDOUT as `execute` runs statements; returns the number of rows."""
        return self._wait_for(lambda: self.connection.copy_to(statement, write))

    def connect(self, target: str) -> None:
        """Connects to a database of the server, or to another server or directory; if it fails, nothing changes."""
        is_address = "://" in target or "/" in target or target.startswith(".")
        if not is_address and target and self._target is not None and "://" in self._target:
            parts = urlsplit(self._target)
            target = urlunsplit(parts._replace(path=f"/{quote(target, safe='')}"))
        elif not is_address and target:
            raise SqlError.of("undefined_database", f'no server has a database "{target}" here', hint="\\c URL|DIR")
        chosen = target or self._target
        connection = connect(chosen)
        self.connection.close()
        self.connection, self._target = connection, chosen

    def describe_target(self) -> str:
        """Returns where the database is, without a password."""
        if self._target is None:
            return "a temporary database in this process"
        parts = urlsplit(self._target)
        if parts.password is None:
            return self._target
        return urlunsplit(parts._replace(netloc=parts.netloc.replace(f":{parts.password}@", "@")))

    def _wait_for(self, action: Callable[[], _T]) -> _T:
        started = time.perf_counter()
        try:
            if not self.screen.is_terminal:
                return action()
            with ProgressBar(self.connection) as bar:
                return run_in_foreground(self.connection, action, bar.update)
        finally:
            self.screen.seconds += time.perf_counter() - started

    def print_notices(self) -> None:
        """Prints the notices of the last statement, once."""
        for notice in self.connection.notices:
            sys.stderr.write(format_notice(notice) + "\n")
        self.connection.notices = []


def split_statements(text: str) -> list[tuple[int, str]]:
    """Yields each statement of a text as written, with its position.

    The parser's own texts lack clauses outside PostgreSQL's grammar, such as DISTRIBUTE BY.
    """
    starts = [statement.start for statement in parse(text)]
    return [(start, text[start:end]) for start, end in zip(starts, [*starts[1:], len(text)], strict=True)]


def report_errors(action: Callable[[], None], text: str) -> bool:
    """Runs an action and prints its error; returns whether it succeeded."""
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
