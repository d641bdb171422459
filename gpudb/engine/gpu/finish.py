"""The last stage of a statement over a few groups that are whole already, in Python: frames would take longer to make.

It knows the usual aggregates, columns in another order, sorting by columns and LIMIT, over types whose values Python
has; what else there is, and what fails, is the lowering's.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl
import pyarrow as pa

from gpudb.engine.cpu.udf_quotient import quotient_of
from gpudb.engine.gpu.fused.top import count_of
from gpudb.engine.gpu.lower.arrow import numerics
from gpudb.engine.gpu.lower.values import RANGES
from gpudb.engine.gpu.outcome import schema_of
from gpudb.errors import GpudbError
from gpudb.plan.nodes import Aggregate, Node, Project, Sort
from gpudb.plan.physical import Final, Receive
from gpudb.sql import bound
from gpudb.types import MAX_DIGITS, SqlType

FEW = 1024
"""So many groups at most."""
_NUMBERS = frozenset({"int2", "int4", "int8", "numeric"})
_ORDERED = frozenset({"bool", "float8", "text", "varchar", "date", "timestamp", "timestamptz"}) | _NUMBERS
_MOMENTS = frozenset({"timestamp", "timestamptz"})
_HELD = _ORDERED | {"bpchar"}
_LIMIT = 10**MAX_DIGITS

Lane = list[Any]
Values = tuple[Lane, Lane | None]
"""A column's values, and of a numeric that carries it the decimals that each shows."""
Maker = Callable[[pl.DataFrame], Values]


class _Other(Exception):
    """What the lowering computes."""


@dataclass(frozen=True, slots=True)
class Finished:
    """A result's rows."""

    batch: pa.RecordBatch

    @property
    def rows(self) -> int:
        """How many there are."""
        return int(self.batch.num_rows)

    @property
    def bytes(self) -> int:
        """Their size, in bytes."""
        return int(self.batch.nbytes)


def rows_of(root: Node, states: pl.DataFrame, parameters: Sequence[object]) -> Finished | None:
    """The rows of a stage over the states of groups, each of which is there once; None where the lowering is wanted."""
    if states.height > FEW:
        return None
    try:
        tail = _Tail(parameters)
        places = tail.over(root)
        return Finished(tail.batch(states, places))
    except (_Other, GpudbError):
        return None


class _Tail:
    """A stage's nodes above its groups: how the groups' columns are made, and the sorts that rows go through."""

    def __init__(self, parameters: Sequence[object]) -> None:
        self._parameters = parameters
        self._kinds: list[SqlType] = []
        self._makers: list[Maker] = []
        self._sorts: list[tuple[list[tuple[int, bound.SortKey]], int, int | None]] = []

    def over(self, node: Node) -> list[int]:
        """Which of the groups' columns a node's are."""
        match node:
            case Final(input=Receive(), aggregate=aggregate):
                self._groups(aggregate)
                return list(range(len(self._kinds)))
            case Project(exprs=exprs):
                below = self.over(node.input)
                return [below[_place(expr)] for expr in exprs]
            case Sort(with_ties=False):
                below = self.over(node.input)
                keys = [(below[_place(key.expr)], key) for key in node.keys]
                if not all(self._kinds[place].name in _ORDERED for place, _ in keys):
                    raise _Other
                limit, offset = (count_of(each, self._parameters) for each in (node.limit, node.offset))
                if -1 in {limit, offset}:
                    raise _Other
                self._sorts.append((keys, offset or 0, limit))
                return below
        raise _Other

    def _groups(self, node: Aggregate) -> None:
        for number, key in enumerate(node.keys):
            self._add(key.type, _held(f"k{number}", key.type))
        for number, call in enumerate(node.calls):
            maker = _CALLS.get(call.function.name)
            if maker is None or any(arg.type.name not in _HELD for arg in call.args):
                raise _Other
            self._add(call.type, maker(f"a{number}", call))

    def _add(self, kind: SqlType, maker: Maker) -> None:
        if kind.name not in _HELD:
            raise _Other
        self._kinds.append(kind)
        self._makers.append(maker)

    def batch(self, states: pl.DataFrame, places: Sequence[int]) -> pa.RecordBatch:
        """The rows that come of groups' states."""
        made = [maker(states) for maker in self._makers]
        rows = list(range(states.height))
        for keys, offset, limit in self._sorts:
            for place, key in reversed(keys):
                rows.sort(key=_sort_key(made[place][0], key, self._kinds[place]), reverse=key.descending)
            rows = rows[offset : None if limit is None else offset + limit]
        kinds = tuple(self._kinds[place] for place in places)
        arrays = []
        for place, kind in zip(places, kinds, strict=True):
            values, shown = made[place]
            shown = None if shown is None else [shown[row] for row in rows]
            arrays.append(_array(kind, [values[row] for row in rows], shown))
        return pa.RecordBatch.from_arrays(arrays, schema=schema_of(kinds))


def _place(expr: bound.Expr) -> int:
    if not isinstance(expr, bound.Column):
        raise _Other
    return expr.index


def _sort_key(values: Lane, key: bound.SortKey, kind: SqlType) -> Callable[[int], Any]:
    """By what rows are sorted, upside down where the order descends: NaN is above all, NULL where the key says."""
    null = -1 if key.nulls_first != key.descending else 2
    if kind.name == "float8":
        return lambda row: (null, 0.0) if (v := values[row]) is None else (1, 0.0) if v != v else (0, v)
    return lambda row: (null,) if (v := values[row]) is None else (0, v)


def _array(kind: SqlType, values: Lane, shown: Lane | None) -> pa.Array:
    """Values as a column of `SqlType.arrow`."""
    if kind.name == "numeric":
        return numerics(pa.array(values, pa.decimal128(MAX_DIGITS, 0)), shown, kind)
    return pa.array(values, kind.arrow)


# ---------------------------------------------------------------------------------------------- columns of groups


def _held(name: str, kind: SqlType) -> Maker:
    """A column as it is; of dates and timestamps the numbers that they are."""
    held = pl.Int32() if kind.name == "date" else pl.Int64() if kind.name in _MOMENTS else None

    def values(states: pl.DataFrame) -> Values:
        shown = states[name + "s"].to_list() if kind.carried else None
        lane = states[name] if held is None else states[name].cast(held)
        return lane.to_list(), shown

    return values


def _counted(name: str, call: bound.Aggregate) -> Maker:
    return _held(name, call.type)


def _totals(name: str, states: pl.DataFrame) -> Lane:
    return [total if n else None for total, n in zip(states[name].to_list(), states[name + "n"].to_list(), strict=True)]


def _summed(name: str, call: bound.Aggregate) -> Maker:
    kind = call.args[0].type
    if kind.name == "float8":
        return _real(name, average=False)
    if kind.name not in _NUMBERS or call.type.name not in _NUMBERS:
        raise _Other
    low, high = RANGES.get(call.type.name, (1 - _LIMIT, _LIMIT - 1))

    def values(states: pl.DataFrame) -> Values:
        totals = _totals(name, states)
        if any(total is not None and not low <= total <= high for total in totals):
            raise _Other
        return totals, states[name + "s"].to_list() if call.type.carried else None

    return values


def _averaged(name: str, call: bound.Aggregate) -> Maker:
    kind = call.args[0].type
    if kind.name == "float8":
        return _real(name, average=True)
    if kind.name not in _NUMBERS or not call.type.carried:
        raise _Other
    scale = kind.numeric_digits[1] if kind.name == "numeric" else 0

    def values(states: pl.DataFrame) -> Values:
        decimals = states[name + "s"].to_list() if kind.carried else [scale] * states.height
        found: Lane = []
        shown: Lane = []
        for total, n, show in zip(states[name].to_list(), states[name + "n"].to_list(), decimals, strict=True):
            value, show = quotient_of(total, scale, n, 0, show) if n else (None, 0)
            found.append(value)
            shown.append(show)
        return found, shown

    return values


def _real(name: str, *, average: bool) -> Maker:
    def values(states: pl.DataFrame) -> Values:
        totals = _totals(name, states)
        if any(total is not None and math.isinf(total) for total in totals):
            raise _Other
        if average:
            totals = [t if t is None else t / n for t, n in zip(totals, states[name + "n"].to_list(), strict=True)]
        return totals, None

    return values


_CALLS: Mapping[str, Callable[[str, bound.Aggregate], Maker]] = {
    "count": _counted,
    "sum": _summed,
    "avg": _averaged,
    **dict.fromkeys(("min", "max", "bool_and", "bool_or", "every", "any_value"), _counted),
}
