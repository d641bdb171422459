"""Runs gpudb's commands in a process of their own, or in this one, which is faster."""

from __future__ import annotations

import contextlib
import io
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpudb.cli.main import main
from tests.support.forked.process import run


def run_command(
    *arguments: str | Path, stdin: str = "", timeout: float = 100, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Runs a command in a process of its own and returns it finished; input and output are text."""
    return run("gpudb.cli", *arguments, stdin=stdin, timeout=timeout, env=env)


@contextlib.contextmanager
def _restored() -> Iterator[None]:
    """Restores what `serve` changes of its process: the umask, and the handlers of signals."""
    umask = os.umask(0o077)
    os.umask(umask)
    handlers = {
        number: signal.getsignal(number) for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM)
    }
    try:
        yield
    finally:
        os.umask(umask)
        for number, handler in handlers.items():
            if handler is not None:
                signal.signal(number, handler)


def run_in_process(*arguments: str | Path, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """Runs a command in this process."""
    out, err = io.StringIO(), io.StringIO()
    status = 0
    with (
        _restored(),
        pytest.MonkeyPatch.context() as patch,
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        patch.setattr(sys, "argv", ["gpudb", *map(str, arguments)])
        patch.setattr(sys, "stdin", io.StringIO(stdin))
        try:
            main()
        except SystemExit as end:
            status = int(end.code or 0)
    return subprocess.CompletedProcess(arguments, status, out.getvalue(), err.getvalue())
