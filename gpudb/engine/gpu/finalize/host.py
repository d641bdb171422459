"""Runs a statement's last stage on the host with NumPy, over merged groups or other rows; frames would take longer.

It supports the common aggregates, reordered columns, sorting by columns and LIMIT, over types whose values NumPy or
Python represents. Everything else, and every error, is left to the lowering.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from gpudb.engine.gpu.backend.dictionary import Dictionary
from gpudb.engine.gpu.backend.stopping import check_stop
from gpudb.engine.gpu.exchange.result_codec import result_schema
from gpudb.engine.gpu.finalize.merge import (
    MAX_MERGED_ROWS,
    FrameStates,
    KernelStates,
    MergedGroups,
    MergeFunction,
    NotMergeable,
    StateColumn,
    States,
    to_numpy,
)
from gpudb.engine.gpu.fused.planning.top_n import constant_count
from gpudb.engine.gpu.lower.expressions.arrow import to_numerics
from gpudb.engine.gpu.lower.groups.aggregates import (
    DEVIATIONS,
    deviation_options,
    find_fold,
    has_wide_squares,
    is_exact_deviation,
)
from gpudb.engine.gpu.lower.groups.folds import state_names
from gpudb.engine.gpu.lower.groups.groups import Aggregation
from gpudb.errors import GpudbError
from gpudb.exact import words
from gpudb.exact.arrow import to_decimals
from gpudb.exact.deviations import deviations
from gpudb.exact.numerics import Numerics
from gpudb.exact.quotients import divide
from gpudb.lru import IdentityKey, LruCache
from gpudb.plan.tree.nodes import Aggregate, Node, Project, Sort
from gpudb.plan.tree.stage_nodes import Final, Receive
from gpudb.plcuda.aggregates import CudaAggregate
from gpudb.plcuda.calls import call_aggregate
from gpudb.sql import bound
from gpudb.types import MAX_DIGITS, SqlType
from gpudb.types.facts import EXACT_NUMBERS, INTEGER_LIMITS

MAX_GROUPS = 1 << 16
"""Limit of groups."""
MAX_PLAIN_ROWS = 2048
"""Limit of rows that are not groups; `MAX_MERGED_ROWS` if all their texts are cached."""
_ORDERED = frozenset({"bool", "float8", "text", "varchar", "date", "timestamp", "timestamptz"}) | EXACT_NUMBERS
_TEXT = frozenset({"text", "varchar", "bpchar"})
_SUPPORTED = _ORDERED | {"bpchar"}
_LIMIT = 10**MAX_DIGITS
_WORD = 1 << 62
_NAN = np.iinfo(np.int64).max

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class OutputColumn:
    """A column's values (see `merge.StateColumn`); `shown` is the display scale of each numeric that carries one."""

    values: Array
    valid: Array | None = None
    texts: Dictionary | None = None
    shown: Array | None = None

    def at(self, rows: Array | None) -> OutputColumn:
        """Returns some of the rows; None selects all."""
        if rows is None:
            return self
        valid = None if self.valid is None else self.valid[rows]
        return OutputColumn(self.values[rows], valid, self.texts, None if self.shown is None else self.shown[rows])


Maker = Callable[[MergedGroups], OutputColumn]


_COMPILED: LruCache[IdentityKey[Node], tuple[FinalStage, ...]] = LruCache(1024)
"""Compiled stages; none for those that need the lowering."""


class _Unsupported(Exception):
    """The stage needs the lowering."""


@dataclass(frozen=True, slots=True)
class FinalResult:
    """A result's rows."""

    batch: pa.RecordBatch

    @property
    def rows(self) -> int:
        """The number of rows."""
        return int(self.batch.num_rows)

    @property
    def bytes(self) -> int:
        """The size of the rows, in bytes."""
        return int(self.batch.nbytes)


def compile_final_stage(root: Node) -> FinalStage | None:
    """Compiles a stage over rows or states of groups, once for each; None if it needs the lowering."""
    key = IdentityKey(root)
    found = _COMPILED.get(key)
    if found is None:
        try:
            found = (FinalStage(root),)
        except _Unsupported:
            found = ()
        _COMPILED.put(key, found)
    return found[0] if found else None


class FinalStage:
    """A stage's nodes above its groups, or above other rows if there is no `aggregate`: a maker for each column, and
    the sorts.
    """

    aggregate: Aggregate | None = None

    def __init__(self, root: Node) -> None:
        self._kinds: list[SqlType] = []
        self._makers: list[Maker] = []
        self._sorts: list[tuple[list[tuple[int, bound.SortKey]], Sort]] = []
        self._places = self._compile(root)
        self._schema = result_schema(tuple(self._kinds[place] for place in self._places))

    def _compile(self, node: Node) -> list[int]:
        """Returns the indices of a node's columns among the groups' columns."""
        match node:
            case Final(input=Receive(), aggregate=aggregate):
                self._add_groups(aggregate)
                return list(range(len(self._kinds)))
            case Receive():
                for number, (_, kind) in enumerate(node.columns):
                    self._add(kind, _key_maker(f"c{number}", kind))
                return list(range(len(self._kinds)))
            case Project(exprs=exprs):
                below = self._compile(node.input)
                return [below[_column_index(expr)] for expr in exprs]
            case Sort():
                below = self._compile(node.input)
                keys = [(below[_column_index(key.expr)], key) for key in node.keys]
                if not all(self._kinds[place].name in _ORDERED for place, _ in keys):
                    raise _Unsupported
                self._sorts.append((keys, node))
                return below
        raise _Unsupported

    def _add_groups(self, node: Aggregate) -> None:
        self.aggregate = node
        for number, key in enumerate(node.keys):
            self._add(key.type, _key_maker(f"k{number}", key.type))
        for number, call in enumerate(node.calls):
            fold = find_fold(call)
            if fold is not None:
                self._add(call.type, _fold_maker(f"a{number}", fold))
                continue
            maker = _CALLS.get(call.function.name)
            if maker is None or any(arg.type.name not in _SUPPORTED for arg in call.args):
                raise _Unsupported
            self._add(call.type, maker(f"a{number}", call))

    def _add(self, kind: SqlType, maker: Maker) -> None:
        if kind.name not in _SUPPORTED:
            raise _Unsupported
        self._kinds.append(kind)
        self._makers.append(maker)

    def finalize(self, states: Sequence[States], parameters: Sequence[object]) -> FinalResult | None:
        """Returns the result from the rows or the states of each worker, of which none has a group twice.

        None if the stage needs the lowering.
        """
        aggregate = self.aggregate
        if sum(each.height for each in states) > (_max_rows(states) if aggregate is None else MAX_GROUPS):
            return None
        keys = None if aggregate is None else len(aggregate.keys)
        try:
            try:
                return FinalResult(self._make_batch(MergedGroups(states, keys), parameters))
            except NotMergeable:
                assert aggregate is not None
                merged = Aggregation.merge(pl.concat([each.frame for each in states]).lazy(), aggregate).collect()
                return FinalResult(self._make_batch(MergedGroups([FrameStates(merged)], keys), parameters))
        except (_Unsupported, GpudbError):
            return None

    def _make_batch(self, states: MergedGroups, parameters: Sequence[object]) -> pa.RecordBatch:
        made = [maker(states) for maker in self._makers]
        rows: Array | None = None
        for keys, node in self._sorts:
            limit, offset = (constant_count(each, parameters) for each in (node.limit, node.offset))
            if -1 in {limit, offset}:
                raise _Unsupported
            first = offset or 0
            ranks = [rank for place, key in keys for rank in _rank_key(made[place].at(rows), key)]
            order = _sort(ranks, states.height if rows is None else len(rows))
            order = order[first : None if limit is None else first + limit]
            rows = order if rows is None else rows[order]
        arrays = [_to_arrow(self._kinds[place], made[place].at(rows)) for place in self._places]
        return pa.RecordBatch.from_arrays(arrays, schema=self._schema)


def _max_rows(states: Sequence[States]) -> int:
    """Returns the row limit below which rows that are not groups take less time here than as frames."""
    return (
        MAX_MERGED_ROWS if all(isinstance(each, KernelStates) and each.is_plain for each in states) else MAX_PLAIN_ROWS
    )


def _column_index(expr: bound.Expr) -> int:
    if not isinstance(expr, bound.Column):
        raise _Unsupported
    return expr.index


# ---------------------------------------------------------------------------------------------- sort order


def _rank_key(column: OutputColumn, key: bound.SortKey) -> list[Array]:
    """Returns integers that sort as rows do by a key: the position of NULLs, and the values, inverted for DESC."""
    ranks = _rank_ascending(column)
    if key.descending:
        ranks = ~ranks
    if column.valid is None:
        return [ranks]
    return [column.valid if key.nulls_first else ~column.valid, np.where(column.valid, ranks, 0)]


def _rank_ascending(column: OutputColumn) -> Array:
    """Returns integers that sort as values do: NaN sorts above all floats, and zeros are equal."""
    values = column.values
    if column.texts is not None:
        return column.texts.rank(values)
    if words.is_wide(values):
        return words.rank(values)
    if values.dtype.kind != "f":
        return values.astype(np.int64, copy=False)
    bits = (values + 0.0).view(np.int64)
    return np.where(np.isnan(values), _NAN, np.where(bits < 0, bits ^ _NAN, bits))


def _sort(ranks: Sequence[Array], count: int) -> Array:
    """Returns the order of rows by ranks, the first of which is most significant; stable.

    Ranks that fit in one word sort several times as fast.
    """
    number: Array | None = None
    room = max(count, 1)
    for each in ranks:
        low, high = (int(each.min()), int(each.max())) if count else (0, 0)
        size = high - low + 1
        room *= size
        if room >= _WORD:
            return np.lexsort(ranks[::-1])
        digits = each.astype(np.int64, copy=False) - low
        number = digits if number is None else number * size + digits
    if number is None or not count:
        return np.arange(count)
    return np.sort(number * count + np.arange(count)) % count


# ---------------------------------------------------------------------------------------------- to Arrow


def _to_arrow(kind: SqlType, column: OutputColumn) -> pa.Array:
    """Converts values to a column of `SqlType.arrow`."""
    values = column.values
    if column.texts is not None:
        texts = column.texts.decode_to_arrow(values, column.valid)
        return texts if texts.type == kind.arrow else texts.cast(kind.arrow)
    mask = None if column.valid is None else ~column.valid
    if kind.name == "numeric":
        return to_numerics(
            _to_decimals(values, mask), None if column.shown is None else pa.array(column.shown, pa.int8()), kind
        )
    if kind.name in {"date", "timestamp", "timestamptz"}:
        return pa.array(values.astype(np.int32 if kind.name == "date" else np.int64), mask=mask).view(kind.arrow)
    return pa.array(values.astype(kind.arrow.to_pandas_dtype(), copy=False), mask=mask)


def _to_decimals(values: Array, mask: Array | None) -> pa.Array:
    """Converts unscaled integers to decimals of scale 0."""
    return to_decimals(words.widen(values), None if mask is None else ~mask, 0)


# ---------------------------------------------------------------------------------------------- columns of groups


def _key_maker(name: str, kind: SqlType) -> Maker:
    """Returns the maker of a key column."""

    def make(states: MergedGroups) -> OutputColumn:
        return _to_output(states.key(name), states.key(name + "s").values if kind.is_carried else None)

    return make


def _to_output(column: StateColumn, shown: Array | None = None) -> OutputColumn:
    return OutputColumn(column.values, column.valid, column.texts, shown)


def _pick_maker(how: MergeFunction, name: str, call: bound.Aggregate) -> Maker:
    """Returns the maker for a state that is the result: a count, or the least or greatest value."""
    kind, held = call.type, _key_maker(name, call.type)

    def make(states: MergedGroups) -> OutputColumn:
        if kind.name not in _TEXT and not kind.is_carried:
            return _to_output(states.values(name, how))
        if states.several:
            raise NotMergeable  # the order of texts, and the display form of equal values
        return held(states)

    return make


def _sum_totals(name: str, states: MergedGroups) -> tuple[Array, Array | None, Array]:
    """Returns sums, their validity, and the counts of their values."""
    values = states.values(name, "sum").values
    counts = states.values(name + "n", "sum").values
    valid = counts > 0
    return values, None if valid.all() else valid, counts


def _sum_maker(name: str, call: bound.Aggregate) -> Maker:
    kind = call.args[0].type
    if kind.name == "float8":
        return _float_maker(name, average=False)
    if kind.name not in EXACT_NUMBERS or call.type.name not in EXACT_NUMBERS:
        raise _Unsupported
    _, high = INTEGER_LIMITS.get(call.type.name, (1 - _LIMIT, _LIMIT - 1))

    def make(states: MergedGroups) -> OutputColumn:
        totals, valid, _ = _sum_totals(name, states)
        if words.is_wide(totals) and words.magnitude_at_least(totals, high + 1).any():
            raise _Unsupported
        return OutputColumn(
            totals, valid, None, states.values(name + "s", "max").values if call.type.is_carried else None
        )

    return make


def _average_maker(name: str, call: bound.Aggregate) -> Maker:
    kind = call.args[0].type
    if kind.name == "float8":
        return _float_maker(name, average=True)
    if kind.name not in EXACT_NUMBERS or not call.type.is_carried:
        raise _Unsupported
    scale, carried = kind.numeric_digits[1] if kind.name == "numeric" else 0, call.type.numeric_digits[1]

    def make(states: MergedGroups) -> OutputColumn:
        totals, valid, counts = _sum_totals(name, states)
        shown = states.values(name + "s", "max").values if kind.is_carried else np.full(states.height, scale)
        made = divide(words.widen(totals), scale, words.widen(counts), 0, shown, carried=carried)
        return _numeric_output(made, valid)

    return make


def _deviation_maker(name: str, call: bound.Aggregate) -> Maker:
    if not is_exact_deviation(call):
        raise _Unsupported
    scale, sample, root = deviation_options(call)
    wide, carried = has_wide_squares(call.args[0].type), call.type.numeric_digits[1]

    def make(states: MergedGroups) -> OutputColumn:
        totals, _, counts = _sum_totals(name, states)
        squares = states.values(name + "q", "sum").values
        high = words.widen(states.values(name + "r", "sum").values) if wide else None
        valid = counts > int(sample)
        sums = words.widen(totals), words.widen(squares)
        made = deviations(counts, *sums, high, scale, sample=sample, root=root, carried=carried)
        return _numeric_output(made, None if valid.all() else valid)

    return make


def _numeric_output(made: Numerics, valid: Array | None) -> OutputColumn:
    made.check()
    return OutputColumn(made.values, valid, None, made.shown)


def _float_maker(name: str, *, average: bool) -> Maker:
    def make(states: MergedGroups) -> OutputColumn:
        totals, valid, counts = _sum_totals(name, states)
        if np.isinf(totals).any():
            raise _Unsupported
        return OutputColumn(totals / np.maximum(counts, 1) if average else totals, valid)

    return make


def _fold_maker(name: str, fold: CudaAggregate) -> Maker:
    """Returns the maker for a PL/CUDA aggregate, whose states of several workers only the lowering merges."""
    names = state_names(fold, name)

    def make(states: MergedGroups) -> OutputColumn:
        if states.several:
            raise _Unsupported
        has, *fields = (states.key(each).values for each in names)
        found = call_aggregate("finish_states", fold, (fields, has), check_stop)
        return OutputColumn(*to_numpy(pl.Series(pl.from_arrow(found))))

    return make


_CALLS: Mapping[str, Callable[[str, bound.Aggregate], Maker]] = {
    "count": partial(_pick_maker, "sum"),
    "sum": _sum_maker,
    "avg": _average_maker,
    **dict.fromkeys(DEVIATIONS, _deviation_maker),
    **dict.fromkeys(("min", "bool_and", "every"), partial(_pick_maker, "min")),
    **dict.fromkeys(("max", "bool_or"), partial(_pick_maker, "max")),
    "any_value": partial(_pick_maker, "any"),
}
