"""Translates aggregate calls to accumulators, and groups to the partial states that the general engine merges.

The columns are those of `lower.groups.aggregates`: k0, k1, … (with the suffix "s" a numeric key's display scale), a0,
a0n, … by call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from gpudb.engine.gpu.fused.ir.pipeline import (
    BOOLEAN,
    Accumulator,
    Arithmetic,
    CaseWhen,
    Compare,
    Expr,
    FloatSortKey,
    FoldInput,
    GroupSink,
    IsNull,
    Limb,
    Literal,
    Logic,
    TableEntry,
)
from gpudb.engine.gpu.fused.ir.traversal import can_fail
from gpudb.engine.gpu.fused.numpy_backend.bodies import from_words
from gpudb.engine.gpu.fused.numpy_backend.executor import GroupedRows
from gpudb.engine.gpu.fused.numpy_backend.row_block import MAX, MIN
from gpudb.engine.gpu.fused.translate.functions import cast_value
from gpudb.engine.gpu.fused.translate.mapping_tables import MappingTables
from gpudb.engine.gpu.fused.translate.result_columns import ResultColumn, array_module
from gpudb.engine.gpu.fused.translate.translator import Translator
from gpudb.engine.gpu.fused.translate.typed_values import TEXT, Dictionary, NotFused, TypedValue
from gpudb.engine.gpu.lower.error_codes import BODY_ERRORS
from gpudb.engine.gpu.lower.groups import co_moments
from gpudb.engine.gpu.lower.groups.aggregates import MAX_PARTIAL_SUM, has_wide_squares, is_exact_deviation
from gpudb.engine.gpu.lower.values import physical_columns
from gpudb.plcuda.aggregates import CudaAggregate
from gpudb.plcuda.source import MAX_ERRORS
from gpudb.sql import bound
from gpudb.types import SqlType
from gpudb.types.facts import FLOATS, INTEGERS

Array = np.ndarray[Any, Any]
Words = Sequence[Array]
StateColumns = Callable[[Words], list[ResultColumn]]
_ONE = Literal((1, 1), False, 1)


class Accumulators:
    """The accumulators of a sink, without duplicates. `rows` is the maximum number of rows in a group."""

    def __init__(self, rows: int) -> None:
        self.rows = max(rows, 1)
        self.accumulators: list[Accumulator] = [Accumulator("add", _ONE)]

    def _add(self, op: Any, value: Expr) -> int:
        accumulator = Accumulator(op, value)
        if accumulator not in self.accumulators:
            self.accumulators.append(accumulator)
        return self.accumulators.index(accumulator)

    def add_count(self, value: Expr | None) -> int:
        """Adds a count of values that are not NULL, or of rows without a value; returns its index."""
        if value is None or not value.nullable:
            return 0
        return self._add("add", IsNull(BOOLEAN, False, value, True))

    def add_sum(self, value: Expr, limit: int = MAX_PARTIAL_SUM) -> list[int]:
        """Adds a sum below a limit: one word where bounds prove that it suffices, else a word per 32 bits."""
        assert value.bounds is not None
        size = max(-value.bounds[0], value.bounds[1])
        if size * self.rows >= limit:
            raise NotFused("a sum that may exceed 128 bits")
        if size * self.rows < 2**63:
            return [self._add("add", value)]
        limbs = 2 if size < 2**63 else 4
        found = []
        for number in range(limbs):
            last = number == limbs - 1
            low, high = value.bounds
            bounds = (low >> 32 * number, high >> 32 * number) if last else (0, 2**32 - 1)
            found.append(self._add("add", Limb(bounds, value.nullable, value, number, last)))
        return found

    def fits_word(self, value: Expr, offset: int) -> bool:
        """Returns whether one word holds every sum of value + offset, and both its terms."""
        assert value.bounds is not None
        return (max(-value.bounds[0], value.bounds[1]) + abs(offset)) * self.rows < 2**63

    def add_fold(self, value: FoldInput) -> int:
        """Adds the words of a fold; returns the index of the first."""
        first = Accumulator("fold", value)
        if first not in self.accumulators:
            words = 1 + len(value.aggregate.fields)
            self.accumulators += [Accumulator("fold", value, word) for word in range(words)]
        return self.accumulators.index(first)

    def add(self, op: Any, value: Expr) -> int:
        """Adds an accumulator of one word; returns its index."""
        return self._add(op, value)


def _fold(
    name: str,
    call: bound.Aggregate,
    fold: CudaAggregate,
    translator: Translator,
    made: Accumulators,
    tables: MappingTables,
) -> StateColumns:
    if fold.combine is None or call.order_by:
        raise NotFused(f"aggregate {call.function} without a combine function, or ordered")
    pairs = zip(call.args, fold.arguments, strict=True)
    args = tuple(cast_value(translator.translate(arg), item).expr for arg, item in pairs)
    keep = None if call.filter is None else translator.translate_condition(call.filter)
    codes = [BODY_ERRORS + MAX_ERRORS * tables.number_function(each) for each in (fold.transition, fold.combine)]
    first = made.add_fold(FoldInput(BOOLEAN, False, fold, args, keep, *codes))

    def columns(words: Words) -> list[ResultColumn]:
        held = [
            each if isinstance(each, np.ndarray) else each.get() for each in words[first : first + 1 + len(fold.fields)]
        ]
        fields, has = from_words(fold, held)
        shown = [ResultColumn(name + "h", pl.Int8(), (has.astype(np.int64),))]
        for number, (each, item) in enumerate(zip(fields, fold.fields, strict=True)):
            wide = each.astype(np.float64 if each.dtype.kind == "f" else np.int64)
            shown.append(ResultColumn(f"{name}f{number}", physical_columns(item)[""], (wide,)))
        return shown

    return columns


def translate_aggregate(
    call: bound.Aggregate, number: int, translator: Translator, made: Accumulators, tables: MappingTables
) -> StateColumns:
    """Adds a call's accumulators, and returns the function that turns their words into the columns of its state."""
    name = f"a{number}"
    if call.distinct and call.function.name not in {"min", "max"}:
        raise NotFused(f"{call.function.name}(DISTINCT …)")
    if co_moments.is_co_moment(call):
        return _co_moments(name, call, translator, made)
    if call.function.fold is not None:
        return _fold(name, call, call.function.fold, translator, made, tables)
    if call.within_group or len(call.args) > 1:
        raise NotFused(f"aggregate {call.function}")
    value = translator.translate(call.args[0]) if call.args else None
    if call.filter is not None:
        value = _apply_filter(translator.translate_condition(call.filter), value)
    match call.function.name:
        case "count":
            argument = None if value is None else value.expr
            # An argument that can fail is evaluated even if it is never NULL.
            if argument is not None and can_fail(argument):
                position = made.add("add", IsNull(BOOLEAN, False, argument, True))
            else:
                position = made.add_count(argument)
            return lambda words: [ResultColumn(name, pl.Int64(), (words[position],))]
        case "sum" | "avg" if value is not None and value.type.name in FLOATS:
            return _float_sum(name, value, made)
        case "sum" | "avg" if value is not None and value.type.name in INTEGERS | {"numeric"}:
            return _exact_sum(name, value, made)
        case _ if value is not None and is_exact_deviation(call):
            return _exact_deviation(name, value, made)
        case "min" | "max" | "any_value" | "bool_and" | "every" | "bool_or" if value is not None:
            return _min_or_max(name, call, value, made, tables)
    raise NotFused(f"aggregate {call.function}")


def _exact_sum(name: str, value: TypedValue, made: Accumulators) -> StateColumns:
    base, offset = _split_offset(value.expr)
    if offset and not made.fits_word(base, offset):
        base, offset = value.expr, 0
    positions, count = made.add_sum(base), made.add_count(base)
    display_scale = value.display_scale
    if value.type.is_carried and display_scale is None:
        raise NotFused("a sum of numerics of varying scale")
    most = made.add("max", display_scale) if isinstance(display_scale, Expr) and value.type.is_carried else None

    def column(words: Words) -> list[ResultColumn]:
        parts = tuple(words[position] for position in positions)
        found = [
            ResultColumn(name, pl.Int128(), (parts[0] + offset * words[count],) if offset else parts),
            ResultColumn(name + "n", pl.Int64(), (words[count],)),
        ]
        if value.type.is_carried:
            xp = array_module(words[0])
            # Without a value the sum is NULL, and has no display scale.
            decimals = (
                xp.full(len(words[0]), display_scale) if most is None else xp.where(words[count] > 0, words[most], 0)
            )
            found.append(ResultColumn(name + "s", pl.Int8(), (decimals,)))
        return found

    return column


def _split_offset(expr: Expr) -> tuple[Expr, int]:
    """Splits x + constant, which cannot fail, into x and the constant: sums of several such expressions share x's."""
    if isinstance(expr, Arithmetic) and expr.op in "+-" and not expr.code:
        left, right = expr.left, expr.right
        if isinstance(right, Literal) and isinstance(right.value, int):
            return left, right.value if expr.op == "+" else -right.value
        if expr.op == "+" and isinstance(left, Literal) and isinstance(left.value, int):
            return right, left.value
    return expr, 0


def _co_moments(name: str, call: bound.Aggregate, translator: Translator, made: Accumulators) -> StateColumns:
    """Adds the sums that a correlation or regression needs, over rows in which both values are there."""
    values = [translator.translate(arg).expr for arg in call.args]
    if call.filter is not None:
        condition = translator.translate_condition(call.filter)
        values = [_keep_where(condition, value) for value in values]
    y, x = (_keep_where(_is_there(other), value) for value, other in zip(values, reversed(values), strict=True))
    factors = {"y": y, "x": x}
    sums = {
        each: made.add_sum(factors[each] if len(each) == 1 else _multiply(*(factors[letter] for letter in each)))
        for each in co_moments.sums_of(call)
    }
    count = made.add_count(y)

    def column(words: Words) -> list[ResultColumn]:
        wide = [
            ResultColumn(name + each, pl.Int128(), tuple(words[position] for position in positions))
            for each, positions in sums.items()
        ]
        return [ResultColumn(name + "n", pl.Int64(), (words[count],)), *wide]

    return column


def _is_there(value: Expr) -> Expr | None:
    """Returns the condition that a value is not NULL; None if it never is."""
    return IsNull(BOOLEAN, False, value, True) if value.nullable else None


def _keep_where(condition: Expr | None, value: Expr) -> Expr:
    """Returns a value that is NULL where a condition is not true."""
    if condition is None:
        return value
    return CaseWhen(value.bounds, True, ((condition, value),), Literal(value.bounds, True, None))


def _multiply(left: Expr, right: Expr) -> Expr:
    """Returns the product of two integers; raises NotFused beyond 127 bits."""
    assert left.bounds is not None
    assert right.bounds is not None
    ends = [one * other for one in left.bounds for other in right.bounds]
    if max(-min(ends), max(ends)) >= 2**126:
        raise NotFused("a product of more than 127 bits")
    return Arithmetic((min(ends), max(ends)), left.nullable or right.nullable, "*", left, right)


def _exact_deviation(name: str, value: TypedValue, made: Accumulators) -> StateColumns:
    total = _exact_sum(name, value, made)
    wide = has_wide_squares(value.type)
    positions = made.add_sum(_multiply(value.expr, value.expr), limit=2**126 * made.rows if wide else MAX_PARTIAL_SUM)

    def column(words: Words) -> list[ResultColumn]:
        parts = tuple(words[position] for position in positions)
        found = [*total(words), ResultColumn(name + "q", pl.Int128(), parts[:2] if wide else parts)]
        if wide:
            # A square is low + high × 2⁶⁴: its limbs are two of either.
            high = parts[2:] or (array_module(parts[0]).zeros_like(parts[0]),)
            found.append(ResultColumn(name + "r", pl.Int128(), high))
        return found

    return column


def _apply_filter(condition: Expr, value: TypedValue | None) -> TypedValue:
    """Returns a value that is NULL where FILTER is not true."""
    if value is None:
        nothing = Literal((1, 1), True, None)
        return TypedValue(SqlType("int4"), CaseWhen((1, 1), True, ((condition, _ONE),), nothing))
    display_scale = value.display_scale
    if isinstance(display_scale, Expr):
        display_scale = _keep_where(condition, display_scale)
    return TypedValue(value.type, _keep_where(condition, value.expr), value.dictionary, display_scale)


def _float_sum(name: str, value: TypedValue, made: Accumulators) -> StateColumns:
    # An infinite value is no overflow: infinite values are counted.
    ends = (Literal(None, False, float("inf")), Literal(None, False, float("-inf")))
    same = tuple(Compare(BOOLEAN, value.expr.nullable, "==", value.expr, end) for end in ends)
    infinite = Logic(BOOLEAN, value.expr.nullable, "OR", same)
    positions = [made.add("fadd", value.expr), made.add_count(value.expr), made.add("add", infinite)]

    def column(words: Words) -> list[ResultColumn]:
        return [
            ResultColumn(name, pl.Float64(), (words[positions[0]],)),
            ResultColumn(name + "n", pl.Int64(), (words[positions[1]],)),
            ResultColumn(name + "i", pl.Int8(), ((words[positions[2]] > 0).astype(np.int8),)),
        ]

    return column


def _decode_floats(ordered: Array) -> Array:
    """Decodes floats from the integers that sort as they do."""
    made: Array = array_module(ordered).where(ordered < 0, ordered ^ np.int64(MAX), ordered)
    return made.view(np.float64)


def _min_or_max(
    name: str, call: bound.Aggregate, value: TypedValue, made: Accumulators, tables: MappingTables
) -> StateColumns:
    op = "max" if call.function.name in {"max", "bool_or"} else "min"
    held = physical_columns(call.type)[""]
    expr, dictionary = value.expr, value.dictionary
    if value.type.is_carried or (expr.bounds is not None and max(-expr.bounds[0] - 1, expr.bounds[1]) >= 2**63):
        raise NotFused(f"{call.function.name} of {value.type.plain}")
    order: Array | None = None
    if dictionary is not None:
        expr, order = rank_codes(expr, dictionary, tables)
    real = expr.bounds is None
    if real:
        expr = FloatSortKey((-(2**63), MAX), expr.nullable, expr, signed=True)
    position, count = made.add(op, expr), made.add_count(expr)

    def column(words: Words) -> list[ResultColumn]:
        xp = array_module(words[0])
        has_value = words[count] > 0
        found = xp.where(has_value, words[position], 0)
        if order is not None and dictionary is not None:
            return [
                ResultColumn(name, held, (xp.asarray(order)[found] if len(order) else found,), has_value, dictionary)
            ]
        return [
            ResultColumn(
                name, held, (_decode_floats(found) if real else found,), None if bool(has_value.all()) else has_value
            )
        ]

    return column


def rank_codes(expr: Expr, dictionary: Dictionary, tables: MappingTables) -> tuple[Expr, Array]:
    """Maps codes to the ranks of their texts; returns the code of each rank, too."""
    order = dictionary.values.arg_sort().to_numpy().astype(np.int64)
    ranks = np.zeros(len(order) + 1, np.int64)
    ranks[order] = np.arange(len(order))
    # NULL stays NULL: it must not become the rank after the dictionary's last.
    valid = np.ones(len(order) + 1, bool)
    valid[-1] = False
    number = tables.add(ranks, valid)
    return TableEntry((0, max(len(order) - 1, 0)), expr.nullable, expr, number, len(order)), order


@dataclass(frozen=True, slots=True)
class KeyColumn:
    """Turns the distances of a key into its columns."""

    value: TypedValue
    low: int
    size: int

    def columns(self, name: str, distances: Array) -> list[ResultColumn]:
        """Returns the key's columns, from its distances from `low`."""
        if not self.value.expr.nullable:
            return to_result_columns(self.value, distances + self.low, None, name)
        null = distances == self.size - 1
        valid = ~null if bool(null.any()) else None
        return to_result_columns(self.value, array_module(distances).where(null, 0, distances) + self.low, valid, name)


def to_result_columns(value: TypedValue, numbers: Array, valid: Array | None, name: str) -> list[ResultColumn]:
    """Returns values that a pipeline computed as the physical columns of their SQL type."""
    held = physical_columns(value.type)
    if value.dictionary is not None:
        assert value.type.name in TEXT
        return [ResultColumn(name, held[""], (numbers,), valid, value.dictionary)]
    made = ResultColumn(name, held[""], (numbers,), valid)
    if "s" not in held:
        return [made]
    if not isinstance(value.display_scale, int):
        raise NotFused("a numeric of varying scale")
    return [
        made,
        ResultColumn(name + "s", pl.Int8(), (array_module(numbers).full(len(numbers), value.display_scale, np.int8),)),
    ]


def state_columns(
    grouped: GroupedRows, sink: GroupSink, columns: Sequence[KeyColumn], calls: Sequence[StateColumns]
) -> list[ResultColumn]:
    """Returns groups as the columns of a partial aggregate; without keys there is always one group."""
    words = grouped.words
    if not sink.keys and not grouped.groups.shape[1]:
        starts = {"fold": 0, "add": 0, "fadd": 0.0, "min": MAX, "max": MIN}
        words = tuple(np.array([starts[each.op]]) for each in sink.accumulators)
    made: list[ResultColumn] = []
    distances: list[Array] = []
    for rest, keys in zip(grouped.groups, sink.key_words, strict=False):
        found = []
        for key in reversed(keys):
            found.append(rest % key.size)
            rest = rest // key.size
        distances += reversed(found)
    for number, (column, distance) in enumerate(zip(columns, distances, strict=True)):
        made += column.columns(f"k{number}", distance)
    for call in calls:
        made += call(words)
    return made or [ResultColumn("_", pl.Int64(), (words[0],))]
