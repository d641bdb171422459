"""Dynamic filters: narrows scans by the keys of received rows before a stage is lowered.

`plan.optimize.dynamic_filters` chooses the scans.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import polars as pl

from gpudb.engine.figures import NarrowedScan
from gpudb.engine.gpu.backend.base import Backend, ComputedFrame
from gpudb.engine.gpu.cache.host_columns import pruned_files
from gpudb.engine.gpu.cache.partition import Partition, scan_partition
from gpudb.plan.cost.profile import ColumnProfile, profile_table, to_number
from gpudb.plan.optimize.dynamic_filters import EXACT_TYPES
from gpudb.plan.tree.functions import find_function
from gpudb.plan.tree.nodes import Node, Scan, column
from gpudb.plan.tree.stages import DynamicFilter, Stage
from gpudb.plan.tree.traversal import rebuild, walk_nodes
from gpudb.sql import bound
from gpudb.sql.traverse import join_conjuncts
from gpudb.types import BOOL, SqlType
from gpudb.types.facts import INTEGER_LIMITS

MAX_ROWS = 1_000_000
"""Limit of received rows whose keys are inspected."""
MAX_VALUES = 256
"""Limit of distinct keys that are filtered by value; above it, by their range."""
MAX_FRACTION = 0.5
"""Limit of the estimated fraction of rows that remain: above it rows are not compared, but files are still skipped."""
_NEARLY_ALL = 0.9
"""Fraction of a column's range: if every file covers more than it, no file can be skipped."""


def narrow_scans(
    stage: Stage,
    partition: Partition,
    parameters: Sequence[object],
    received: Mapping[int, Sequence[ComputedFrame]],
    backend: Backend,
) -> tuple[Node, list[NarrowedScan]]:
    """Returns the stage's root with narrowed scans, and a description of each."""
    scans = [node for node in walk_nodes(stage.root) if isinstance(node, Scan)]
    made = dict(enumerate(scans))
    narrowed: list[NarrowedScan] = []
    for each in stage.dynamic_filters:
        before, compares = made[each.scan], each.grouped or backend.prefilters_joins
        if each.stage not in received or not (compares or _has_narrow_files(before, each.column)):
            continue
        keys = _collect_keys(each, received[each.stage], backend)
        if keys is None:
            continue
        scan = _narrow_scan(before, each.column, keys, compares)
        if scan is before:
            continue
        made[each.scan] = scan
        narrowed.append(_describe(each, keys, before, scan, partition, parameters))
    changed = {id(scan): made[place] for place, scan in enumerate(scans)}
    return rebuild(stage.root, lambda node: changed.get(id(node), node)), narrowed


@dataclass(frozen=True, slots=True)
class _Keys:
    """A column's least and greatest value in its lane (None if empty), and all values if they are few."""

    name: str
    least: Any
    greatest: Any
    values: tuple[Any, ...] | None


def _collect_keys(narrowing: DynamicFilter, received: Sequence[ComputedFrame], backend: Backend) -> _Keys | None:
    """Returns the keys; None if they are too many, or datetimes beyond Python's calendar."""
    if sum(each.rows for each in received) > MAX_ROWS:
        return None
    name = f"c{narrowing.key}"
    own = pl.col(name)
    many = False
    found: list[pl.Series] = []
    for each in received:
        differing = backend.compute(each.lazy.select(own.unique())) if each.rows else None
        if differing is None:
            continue
        if differing.rows > MAX_VALUES:
            # The backend finds the range; copying all keys to the host takes longer.
            ends = backend.compute(differing.lazy.select(least=own.min(), greatest=own.max())).to_polars()
            many, found = True, [*found, *(each.alias(name) for each in ends.get_columns())]
        else:
            found.append(differing.column(name))
    series = pl.concat(found).unique().drop_nulls() if found else pl.Series(name, [])
    try:
        least, greatest = series.min(), series.max()
    except ValueError:
        return None
    values = tuple(series.sort()) if not many and len(series) <= MAX_VALUES else None
    return _Keys(name, least, greatest, values)


def _has_narrow_files(scan: Scan, index: int) -> bool:
    """Returns whether some file of a scan's table lacks a large part of a column's range, so that files
    can be skipped.
    """
    field = scan.table.columns[scan.columns[index]].field_id
    ends = {(file.minimums.get(field), file.maximums.get(field)) for file in scan.table.files}
    numbers = [(to_number(low), to_number(high)) for low, high in ends]
    known = [(low, high) for low, high in numbers if low is not None and high is not None]
    if len(known) < len(ends):
        return len(ends) > 1
    whole = max((high for _, high in known), default=0.0) - min((low for low, _ in known), default=0.0)
    return any(high - low < _NEARLY_ALL * whole for low, high in known)


def _narrow_scan(scan: Scan, index: int, keys: _Keys, compares: bool) -> Scan:
    """Returns the scan with a narrower filter; the same scan if that keeps nearly all rows.

    With `compares` rows are compared too.
    """
    kind = scan.types[index]
    values = None
    if keys.values is not None:
        values = [each for value in keys.values if (each := _to_constant(value, kind)) is not None]
    if keys.least is None or values == []:
        return replace(scan, filter=bound.Constant(False, BOOL))
    known = profile_table(scan.table, (scan.columns[index],)).columns[0]
    own = column(index, kind, scan.names[index])
    if values is not None:
        condition: Any = bound.InList(own, tuple(bound.Constant(each, kind) for each in values), False)
        fraction = len(values) / max(known.distinct, 1.0)
    elif kind.name in EXACT_TYPES:
        return scan
    else:
        least, greatest = _to_constant(keys.least, kind, within=True), _to_constant(keys.greatest, kind, within=True)
        bounds = (("ge", least), ("le", greatest))
        tests = (bound.Call(_comparison(kind, how), (own, bound.Constant(each, kind)), BOOL) for how, each in bounds)
        condition = join_conjuncts(tuple(tests))
        fraction = _covered_fraction(known, to_number(least), to_number(greatest))
    if fraction > MAX_FRACTION or not compares:
        return replace(scan, optional_filter=_and(scan.optional_filter, condition)) if fraction < 1 else scan
    return replace(scan, filter=_and(scan.filter, condition))


def _covered_fraction(known: ColumnProfile, least: float | None, greatest: float | None) -> float:
    """Returns the fraction of a column's range between two values."""
    if known.low is None or known.high is None or least is None or greatest is None:
        return 1.0
    within = min(greatest, known.high) - max(least, known.low)
    return max(within, 0.0) / (known.high - known.low) if known.high > known.low else 1.0


def _to_constant(held: Any, kind: SqlType, *, within: bool = False) -> Any:
    """Converts a lane's value to a constant; an integer out of range gives None, or with `within` the nearest value."""
    if kind.name in INTEGER_LIMITS:
        low, high = INTEGER_LIMITS[kind.name]
        return held if low <= held <= high else min(max(held, low), high) if within else None
    if kind.name == "numeric":
        return Decimal(held).scaleb(-kind.numeric_digits[1])
    return held.replace(tzinfo=dt.UTC) if kind.name == "timestamptz" else held


def _comparison(kind: SqlType, how: str) -> Any:
    name = f"{kind.name}{how}" if kind.name in INTEGER_LIMITS else f"{kind.name}_{how}"
    return find_function(name, kind.plain, kind.plain)


def _and(one: Any | None, other: Any) -> Any:
    return join_conjuncts(tuple(each for each in (one, other) if each is not None))


def _describe(
    narrowing: DynamicFilter, keys: _Keys, before: Scan, after: Scan, partition: Partition, parameters: Sequence[object]
) -> NarrowedScan:
    before_files, after_files = pruned_files(before, parameters), pruned_files(after, parameters)
    kept = {file.id for file in after_files}
    own = scan_partition(before, partition)
    owned = own.row_ranges(before.table)
    rows = sum(len(range(*owned[file.id])) for file in before_files if file.id not in kept)
    count = f" ({len(keys.values)} values)" if keys.values is not None else ""
    name = before.names[narrowing.column]
    words = f"{name} from {keys.least} to {keys.greatest}{count}" if keys.least is not None else f"{name}: none"
    return NarrowedScan(
        narrowing.scan,
        words,
        len(after_files),
        len(before_files) - len(after_files),
        rows,
        after.filter is not before.filter,
    )
