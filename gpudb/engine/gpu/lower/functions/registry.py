"""Registry of the functions that workers run, by PostgreSQL's name or signature; the modules in TOPICS add them."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, lru_cache
from importlib import import_module

from gpudb.engine.gpu.lower.values import Value
from gpudb.functions.library import Function
from gpudb.plan.errors import NotSupportedOnWorkers
from gpudb.types import SqlType

FunctionLowering = Callable[[tuple[Value, ...], SqlType], Value]
"""From the operands and the call's type to its value. The caller adds the operands' errors."""

_BOTH = re.compile(r"^timestamp_(\w+)_timestamp$")
_LOWERED: dict[str, FunctionLowering] = {}
TOPICS = (
    "arithmetic",
    "numeric",
    "rounding",
    "mathematics",
    "comparison",
    "text",
    "dates",
    "intervals",
    "limits",
    "distinct_bits",
)


def lowers(names: str) -> Callable[[FunctionLowering], FunctionLowering]:
    """Registers a lowering of the functions named in `names` (separated by blanks)."""

    def add(result: FunctionLowering) -> FunctionLowering:
        for name in names.split():
            if name in _LOWERED:
                raise ValueError(f"{name} is lowered twice")
            _LOWERED[name] = result
        return result

    return add


@lru_cache(4096)
def find_lowering(function: Function, *, utc: bool = False) -> FunctionLowering:
    """Returns the lowering of a function; NotSupportedOnWorkers if only the embedded engine runs it.

    If the session's time zone is UTC, timestamptz is lowered as timestamp.
    """
    _load()
    names = [function.signature, function.name]
    if utc:
        plain = [each.replace("timestamptz", "timestamp") for each in names if "timestamptz" in each]
        names += [_BOTH.sub(r"timestamp_\1", each) for each in plain]
    found = next((_LOWERED[each] for each in names if each in _LOWERED), None)
    if found is None:
        raise NotSupportedOnWorkers(f"function {function}")
    return found


@cache
def _load() -> None:
    for topic in TOPICS:
        import_module(f"gpudb.engine.gpu.lower.functions.{topic}")
