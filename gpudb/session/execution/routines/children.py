"""The child processes of a session that run bodies of its routines."""

from __future__ import annotations

from gpudb.processes.child import ChildProcess
from gpudb.session.context import Context

_MEGABYTE = 1 << 20


def get_child(context: Context, module: str) -> ChildProcess:
    """Returns the session's child that serves a module; one that starts has `get_memory_limit` for its data."""
    return context.session.processes.get(module, get_memory_limit(context))


def get_memory_limit(context: Context) -> int:
    """Returns `gpudb.function_memory` in bytes."""
    return int(context.session.settings["gpudb.function_memory"]) * _MEGABYTE
