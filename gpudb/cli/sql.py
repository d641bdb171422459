"""`gpudb sql`: a small shell. At a terminal it draws tables; with -c, or from a pipe, it prints in psql's format."""

from __future__ import annotations

import sys

import gpudb.api
from gpudb.cli.screen import Screen
from gpudb.cli.script import Runner, report_errors


def run(target: str | None, commands: list[str]) -> int:
    """Runs the shell; returns the exit status: 0, or 1 after an error outside a terminal."""
    with gpudb.api.connect(target) as connection:
        if not commands and sys.stdin.isatty():
            from gpudb.cli.shell import Shell

            Shell(connection, target).run()
            return 0
        runner = Runner(connection, Screen())
        try:
            for text in commands or [sys.stdin.read()]:
                if not report_errors(lambda text=text: runner.run(text), text):  # type: ignore[misc]
                    return 1
        finally:
            runner.screen.close()
    return 0
