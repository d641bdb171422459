"""Calls of `regex_matching` that take long: child processes evaluate them, and end with their statement."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from gpudb.duckdb import running
from gpudb.errors import QueryCanceled, SqlError
from gpudb.processes.child import Wanted
from gpudb.processes.pool import ProcessPool

LIMIT_S = 30.0
"""How long a call may take whose statement is not known."""

_pool = ProcessPool("gpudb.functions.regex_matching")


def call(name: str, arguments: Sequence[Any], statement: int) -> Any:
    """Calls a function of `regex_matching` in a child process and returns its result, or raises its error.

    57014 if the statement is cancelled, 54000 for one that is not known after LIMIT_S, 53200 if the process has ended.
    """
    return _pool.call(name, arguments, _make_wanted(statement))


def _make_wanted(statement: int) -> Wanted:
    """Returns what raises once a statement has ended, or, if it is not known, LIMIT_S are over: 57014, 54000."""
    cancel, ends = running.find(statement), time.monotonic() + LIMIT_S

    def wanted() -> None:
        if cancel is None:
            if time.monotonic() > ends:
                raise SqlError.of("program_limit_exceeded", f"a pattern took more than {LIMIT_S:g} seconds to match")
        elif not running.is_wanted(statement, cancel):
            raise QueryCanceled("canceling statement due to user request")

    return wanted
