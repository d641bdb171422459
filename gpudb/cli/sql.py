"""`gpudb sql`: a small shell. At a terminal it draws tables; with -c, or from a pipe, it prints in psql's format."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import gpudb.api
from gpudb.cli.screen import Screen
from gpudb.cli.script import Runner, report_errors

if TYPE_CHECKING:
    from rich.console import Console


def run(target: str | None, commands: list[str], form: str = "aligned") -> int:
    """Runs the shell, which writes results in a format; returns the exit status: 0, or 1 after an error outside a
    terminal.
    """
    is_shell = not commands and sys.stdin.isatty()
    screen = Screen(_open_console() if is_shell else None)
    screen.set_format(form)
    runner = Runner(gpudb.api.connect(target), screen, target)
    try:
        if is_shell:
            from gpudb.cli.shell import Shell

            Shell(runner).run()
            return 0
        for text in commands or [sys.stdin.read()]:
            if not report_errors(lambda text=text: runner.run(text), text):  # type: ignore[misc]
                return 1
    finally:
        screen.close()
        runner.connection.close()
    return 0


def _open_console() -> Console:
    from rich.console import Console

    return Console(highlight=False)
