"""Which functions the workers run, by PostgreSQL's name or signature; the topic files beside this one declare them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module

from gpudb.engine.gpu.lower.values import Value
from gpudb.functions.library import Function
from gpudb.plan.errors import NotCarried
from gpudb.types import SqlType

Lowering = Callable[[tuple[Value, ...], SqlType], Value]
"""From the operands and the call's type to its value. Operands' errors are added by the caller."""

_LOWERED: dict[str, Lowering] = {}
TOPICS = ("arithmetic", "numeric", "comparison", "text", "dates", "limits")


def lowers(names: str) -> Callable[[Lowering], Lowering]:
    """Declares how the functions named in `names` (separated by blanks) are lowered."""

    def add(made: Lowering) -> Lowering:
        for name in names.split():
            if name in _LOWERED:
                raise ValueError(f"{name} is lowered twice")
            _LOWERED[name] = made
        return made

    return add


def lowering(function: Function) -> Lowering:
    """How a function is lowered; NotCarried for one that runs on the embedded engine alone."""
    _load()
    found = _LOWERED.get(function.signature) or _LOWERED.get(function.name)
    if found is None:
        raise NotCarried(f"function {function}")
    return found


def lowered_names() -> tuple[str, ...]:
    """Every name and signature that is lowered."""
    _load()
    return tuple(sorted(_LOWERED))


@cache
def _load() -> None:
    for topic in TOPICS:
        import_module(f"gpudb.engine.gpu.lower.{topic}")
