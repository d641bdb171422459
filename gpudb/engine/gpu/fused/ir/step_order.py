"""Orders a pipeline's steps by selectivity per cost, subject to their dependencies, and estimates where few rows
remain.

Filters precede lookups. Where a step can raise an error, the order is kept: nothing is evaluated for a row that an
earlier step has dropped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from gpudb.engine.gpu.fused.columns.packed_column import Encoding
from gpudb.engine.gpu.fused.ir.pipeline import Compare, Expr, Filter, IsNull, Logic, Lookup, Payload, TableEntry
from gpudb.engine.gpu.fused.ir.traversal import can_fail, children, columns_read, is_expensive, step_exprs

_SHARED, _NEAR = 64 * 1024, 256 * 1024
"""Bytes of a lookup's first array that fit into shared memory, and into a multiprocessor's L1 cache."""
_COSTS = (0.5, 1.5, 3.5)
"""Cost of a random read there, from the L1 cache, and from L2: milliseconds for 600 million rows on an H200."""
_BYTE = 0.14
"""Cost of reading one byte of a column for each of these rows."""
_TEXT = 15.0
"""Cost of scanning their raw text."""
_FEW = 0.1
"""At this selectivity a warp's 256 rows leave each thread one or two, which are processed one after the other."""
_HALF, _EQUAL, _SOME = 0.5, 0.125, 0.25
"""Estimated selectivities of an inequality, of an equality, and of a test of text or for NULL.

They do not depend on constants, so that the kernel is the same for other constants.
"""


def order_steps(
    steps: Sequence[Filter | Lookup], passing: Mapping[int, float], encodings: Sequence[Encoding]
) -> tuple[Filter | Lookup, ...]:
    """Returns the steps reordered; `passing` is a lookup's estimated selectivity, by its number."""
    if any(can_fail(each) for step in steps for each in step_exprs(step)):
        return tuple(steps)
    remaining, made = list(steps), []
    found: set[int] = set()
    loaded: set[int] = set()
    while remaining:
        ready = [step for step in remaining if _required_lookups(step) <= found]
        best = min(ready, key=lambda step: (_sort_key(step, passing, encodings, loaded), remaining.index(step)))
        remaining.remove(best)
        made.append(best)
        loaded |= {column for each in step_exprs(best) for column in columns_read(each)}
        if isinstance(best, Lookup):
            found.add(best.number)
    return tuple(made)


def estimate_few_after(steps: Sequence[Filter | Lookup], leaving: Mapping[int, float], *, last: bool) -> int | None:
    """Returns after how many steps few rows are estimated to remain; None: never. Consecutive filters count together.

    `leaving` is the share of rows that a lookup leaves, by its number; with `last`, few rows remain after all steps
    anyway.
    """
    share = 1.0
    for position, step in enumerate(steps):
        share *= leaving.get(step.number, 1.0) if isinstance(step, Lookup) else _selectivity(step.condition)
        if share <= _FEW and not any(isinstance(each, Filter) for each in steps[position + 1 : position + 2]):
            return position + 1
    return len(steps) if steps and last else None


def _selectivity(condition: Expr) -> float:
    """Estimates the selectivity of a condition."""
    match condition:
        case Logic(op="AND", args=args):
            return prod(map(_selectivity, args))
        case Logic(op="OR", args=args):
            return min(sum(map(_selectivity, args)), 1.0)
        case Logic(args=(arg,)):
            return 1 - _selectivity(arg)
        case Compare(op="=="):
            return _EQUAL
        case Compare(op="!=") | IsNull(negated=True):
            return 1.0
        case IsNull() | TableEntry():
            return _SOME
    return _HALF


def _required_lookups(step: Filter | Lookup) -> set[int]:
    """Returns the earlier lookups whose payloads a step reads."""
    found: set[int] = set()
    waiting = list(step_exprs(step))
    while waiting:
        each = waiting.pop()
        if isinstance(each, Payload):
            found.add(each.lookup)
        waiting += children(each)
    return found - {step.number} if isinstance(step, Lookup) else found


def _sort_key(
    step: Filter | Lookup, passing: Mapping[int, float], encodings: Sequence[Encoding], loaded: set[int]
) -> tuple[int, float]:
    if isinstance(step, Filter):
        # Filters of raw text follow lookups that drop more rows at less cost.
        return (1, _TEXT) if is_expensive(step.condition) else (0, 0.0)
    columns = {column for each in step.keys for column in columns_read(each)} - loaded
    cost = _BYTE * sum(encodings[column].width for column in columns)
    size = 1.0
    for each in step.sizes:
        size *= each
    if step.hashed:
        size *= 64
    elif step.presence:
        size /= 8
    elif step.payloads:
        size *= step.payloads[0] or 8
    cost += _COSTS[0 if size <= _SHARED and step.presence else 1 if size <= _NEAR else 2]
    # Repeated keys multiply rows: last.
    drops = 1 - passing.get(step.number, 1.0)
    one = step.unique and step.condition is None
    return (1, cost / drops) if drops > 0.001 and one else (2 if one else 3, cost)
