"""Aggregation of groups: partial states, merged states, and final values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from gpudb.engine.gpu.backend.base import Backend
from gpudb.engine.gpu.lower.error_codes import Error, first_error, mask_error
from gpudb.engine.gpu.lower.expressions.deferred import DeferredSteps
from gpudb.engine.gpu.lower.expressions.expressions import ExpressionLowering
from gpudb.engine.gpu.lower.expressions.lowered_frame import NO_COLUMNS, Frame, LoweringContext
from gpudb.engine.gpu.lower.groups import folds, sketches
from gpudb.engine.gpu.lower.groups.aggregates import (
    SKETCHES,
    State,
    aggregate_state,
    check_sums,
    find_fold,
    is_mergeable,
    may_overflow,
    skips_nulls,
    unsupported_reason,
)
from gpudb.engine.gpu.lower.groups.percentiles import group_with_percentiles, is_lowered
from gpudb.engine.gpu.lower.relations.joins import key_columns
from gpudb.engine.gpu.lower.values import Value, physical_columns, type_bounds
from gpudb.plan.errors import NotSupportedOnWorkers
from gpudb.plan.tree import nodes
from gpudb.plcuda.aggregates import CudaAggregate
from gpudb.sql import bound
from gpudb.sql.traverse import reads_columns
from gpudb.types import BOOL, SqlType


@dataclass(frozen=True, slots=True)
class _FoldCall:
    """A PL/CUDA aggregate, by its call's number: columns of its arguments, and of the rows that count (None: all)."""

    number: int
    fold: CudaAggregate
    args: tuple[str, ...]
    kept: str | None


@dataclass(slots=True)
class _CallParts:
    """What an aggregation's calls need of its rows, and how their states are computed."""

    columns: list[pl.Expr]
    errors: list[Error]
    states: list[pl.Expr] = field(default_factory=list)
    large: list[tuple[str, bound.Aggregate]] = field(default_factory=list)
    """Columns of sums that may overflow, which are checked first."""
    hosted: list[tuple[int, bound.Aggregate]] = field(default_factory=list)
    """Calls, by number, that are evaluated on the host."""
    percentiles: list[tuple[int, bound.Aggregate]] = field(default_factory=list)
    folds: list[_FoldCall] = field(default_factory=list)
    rows: list[tuple[int, list[str]]] = field(default_factory=list)
    """The fields of rows whose distinct values a call counts."""


class Aggregation:
    """Aggregates over frames; keys are k0, k1, … and states a0, a1, …, each with its physical columns."""

    def __init__(self, steps: LoweringContext) -> None:
        self._context = steps

    def partial(self, frame: Frame, node: nodes.Aggregate) -> pl.LazyFrame:
        """Returns the states of the groups of a frame's rows."""
        expressions = self._context.expressions(frame)
        keys = [expressions.value(key) for key in node.keys]
        types = [key.type for key in keys]
        columns = [expr for n, key in enumerate(keys) for expr in key.as_columns(f"k{n}")]
        parts = _CallParts(columns, [key.error for key in keys])
        found_sketches = _find_sketches(node)
        for number, sketch in enumerate(found_sketches):
            value, error = self._filtered_value(expressions, sketch.summarised, sketch.filter)
            parts.columns.append(value.alias(f"s{number}"))
            parts.errors.append(error)
        by_place = not any(map(find_fold, node.calls)) and all(
            (call.within_group and is_lowered(call)) or unsupported_reason(call) is None for call in node.calls
        )
        for number, call in enumerate(node.calls):
            if call.function.name not in SKETCHES:
                self._add_call(parts, expressions, call, number, by_place=by_place)
        lazy = self._context.check_errors(frame.lazy, first_error(*parts.errors), expressions.deferred)
        lazy = lazy.with_columns(parts.columns) if parts.columns else lazy
        if parts.large:
            computed = self._context.frames.compute(lazy)
            check_sums(computed, parts.large)
            lazy = computed.lazy
        for number, fields in parts.rows:
            first = [f"k{n}" for n in range(len(keys))]
            lazy = _mark_first_rows(lazy, first, fields, f"y{number}", f"u{number}", self._context.frames)
        if has_sketches(node):
            lazy = self._context.frames.compute(lazy).lazy
        if parts.hosted or parts.folds:
            groups = self._with_hosted(lazy, types, parts)
        else:
            groups = self._group(lazy, types, parts.states, parts.percentiles)
        if not has_sketches(node):
            return groups
        return sketches.append_rows(groups, lazy, node, found_sketches, self._context.frames)

    def _add_call(
        self,
        parts: _CallParts,
        expressions: ExpressionLowering,
        call: bound.Aggregate,
        number: int,
        *,
        by_place: bool,
    ) -> None:
        """Adds what a call needs of the rows, and how its state is computed."""
        if by_place and call.within_group and is_lowered(call):
            value, error = self._filtered_value(expressions, call.within_group[0].expr, call.filter)
            parts.columns.append(value.alias(f"y{number}"))
            parts.errors.append(error)
            parts.percentiles.append((number, call))
            return
        row = _counted_row(call)
        if row is not None and (counted := self._row_columns(expressions, call, row, number)) is not None:
            result, error = counted
            parts.columns += result
            parts.errors.append(error)
            if call.distinct:
                parts.rows.append((number, [each.meta.output_name() for each in result[1:]]))
            name = f"u{number}" if call.distinct else f"y{number}"
            parts.states.append(pl.col(name).count().cast(pl.Int64).alias(f"a{number}"))
            return
        fold = find_fold(call)
        if fold is not None:
            self._add_fold(parts, expressions, call, number, fold)
            return
        reason = unsupported_reason(call)
        if reason is not None:
            if call.within_group and any(map(reads_columns, call.args)):
                # over groups, of which the host would see the rows alone
                raise NotSupportedOnWorkers("a percentile's fraction that is read from rows")
            parts.hosted.append((number, call))
            self._context.host.used.append(reason)
            return
        args, error = self._arguments(expressions, call, number)
        parts.errors.append(error)
        result, named = self._argument_columns(args, call, expressions, number)
        parts.columns += result
        parts.states += aggregate_state(call).partial(named, f"a{number}")
        parts.large += [(f"x{number}_{n}", call) for n, arg in enumerate(named) if may_overflow(call, arg)]

    def _add_fold(
        self,
        parts: _CallParts,
        expressions: ExpressionLowering,
        call: bound.Aggregate,
        number: int,
        fold: CudaAggregate,
    ) -> None:
        self._context.host.used.append(f"aggregate {call.function}")
        args, error = self._arguments(expressions, call, number)
        parts.errors.append(error)
        names = tuple(f"x{number}_{place}" for place in range(len(args)))
        for name, arg, item in zip(names, args, fold.arguments, strict=True):
            parts.columns.append(arg.expr.cast(physical_columns(item)[""]).alias(name))
        kept = None if call.filter is None else f"f{number}"
        if call.filter is not None:
            parts.columns.append(expressions.value(call.filter).expr.alias(f"f{number}"))
        parts.folds.append(_FoldCall(number, fold, names, kept))

    def _group(
        self,
        lazy: pl.LazyFrame,
        keys: Sequence[SqlType],
        calls: list[pl.Expr],
        percentiles: list[tuple[int, bound.Aggregate]],
    ) -> pl.LazyFrame:
        """Aggregates groups; percentiles need all rows of a group on this worker."""
        # A group is keyed by a key's first physical column; the others are those of one of its rows.
        shown = [pl.col(f"k{n}{s}").first() for n, key in enumerate(keys) for s in physical_columns(key) if s]
        names = [f"k{n}" for n in range(len(keys))]
        if percentiles:
            return group_with_percentiles(lazy, names, shown, calls, percentiles, self._context.frames)
        if not keys:
            return lazy.select(calls or [pl.len().alias(NO_COLUMNS)])
        if not calls and not shown:
            return lazy.select(names).unique()
        return lazy.group_by(names).agg([*shown, *calls])

    def _with_hosted(self, lazy: pl.LazyFrame, keys: Sequence[SqlType], parts: _CallParts) -> pl.LazyFrame:
        """Aggregates groups with some aggregates evaluated on the host, over whole groups or into states."""
        table = self._context.frames.compute_on_host(lazy, "aggregates")
        groups, places = _group_on_host(table, keys, parts.states)
        is_dry = self._context.host.dry
        if parts.hosted:
            step = self._context.host.calls_step([call for _, call in parts.hosted])
            is_empty = is_dry or (places is not None and not groups.height)
            result = step.nulls(groups.height) if is_empty else step.evaluate(table, places)
            for (number, _), columns in zip(parts.hosted, result, strict=True):
                groups = groups.with_columns(columns[suffix].alias(f"a{number}{suffix}") for suffix in columns.columns)
        for each in parts.folds:
            if is_dry or not table.height:
                states = folds.empty_states(each.fold, groups.height)
            else:
                at = np.zeros(table.height, np.int64) if places is None else places.to_numpy()
                states = folds.fold_frame(each.fold, table, each.args, each.kept, at, groups.height)
            groups = groups.with_columns(_name_states(each.fold, f"a{each.number}", states))
        return self._context.frames.from_host(groups.drop("g", strict=False)).lazy

    def merge_folds(self, lazy: pl.LazyFrame, node: nodes.Aggregate) -> pl.LazyFrame:
        """Merges each group's states from several workers, those of PL/CUDA aggregates among them."""
        found = [(n, fold) for n, call in enumerate(node.calls) if (fold := find_fold(call)) is not None]
        plain = [(n, call) for n, call in enumerate(node.calls) if find_fold(call) is None]
        kept = [(n, call) for n, call in plain if call.function.name not in SKETCHES]
        others = [expr for n, call in kept for expr in aggregate_state(call).merge(f"a{n}")]
        table = self._context.frames.compute_on_host(lazy, "aggregates")
        groups, places = _group_on_host(table, [key.type for key in node.keys], others)
        for number, fold in found:
            if self._context.host.dry or not table.height:
                states = folds.empty_states(fold, groups.height)
            else:
                at = np.zeros(table.height, np.int64) if places is None else places.to_numpy()
                states = folds.merge_frame(fold, table, f"a{number}", at, groups.height)
            groups = groups.with_columns(_name_states(fold, f"a{number}", states))
        return self._context.frames.from_host(groups.drop("g", strict=False)).lazy

    @staticmethod
    def _row_columns(
        expressions: ExpressionLowering, call: bound.Aggregate, row: bound.Row, number: int
    ) -> tuple[list[pl.Expr], Error] | None:
        """Returns columns: whether a row counts, and for DISTINCT its fields; None for FILTER over host steps."""
        step_count = len(expressions.deferred.steps)
        fields = [expressions.value(item) for item in row.items]
        error = first_error(*(each.error for each in fields))
        counts = pl.lit(True)
        if call.filter is not None:
            if expressions.deferred.has_host_steps(step_count):
                expressions.deferred.roll_back(step_count)
                return None
            condition, other = expressions.condition(call.filter)
            counts = pl.when(condition).then(True).otherwise(None)
            error = first_error(other, mask_error(error, condition.eq_missing(True)))
        result = [counts.alias(f"y{number}")]
        if call.distinct:
            casts = (each.expr.cast(physical_columns(each.type)[""]) for each in fields)
            result += [expr.alias(f"d{number}_{place}") for place, expr in enumerate(casts)]
        return result, error

    @staticmethod
    def _filtered_value(
        expressions: ExpressionLowering, expr: bound.Expr, chosen: bound.Expr | None
    ) -> tuple[pl.Expr, Error]:
        """Returns the values that a percentile sorts or a sketch summarises, NULL in rows that FILTER excludes."""
        step_count = len(expressions.deferred.steps)
        value = expressions.value(expr)
        if chosen is not None and expressions.deferred.has_host_steps(step_count):
            # As for other arguments: the host's step must not fail for excluded rows.
            expressions.deferred.roll_back(step_count)
            value = expressions.value(bound.Case(((chosen, expr),), bound.Constant(None, expr.type), expr.type))
        values = value.expr.cast(physical_columns(value.type)[""])
        if chosen is None:
            return values, value.error
        condition, error = expressions.condition(chosen)
        return pl.when(condition).then(values).otherwise(None), first_error(
            error, mask_error(value.error, condition.eq_missing(True))
        )

    def _arguments(
        self, expressions: ExpressionLowering, call: bound.Aggregate, number: int
    ) -> tuple[list[Value], Error]:
        # The order of a sum's rows is irrelevant.
        ordered = call.order_by if not is_mergeable(call) else ()
        step_count = len(expressions.deferred.steps)
        args = [expressions.value(arg) for arg in call.args]
        if call.filter is not None and expressions.deferred.has_host_steps(step_count):
            # The host's step evaluates every row: it must not fail for excluded rows.
            expressions.deferred.roll_back(step_count)
            nothing = [bound.Constant(None, arg.type) for arg in call.args]
            pairs = zip(call.args, nothing, strict=True)
            args = [expressions.value(bound.Case(((call.filter, arg),), none, arg.type)) for arg, none in pairs]
        args += [expressions.value(key.expr) for key in ordered]
        error = first_error(*(arg.error for arg in args))
        if call.filter is not None:
            condition, other = expressions.condition(call.filter)
            error = first_error(other, mask_error(error, condition.eq_missing(True)))
        return args, error

    def _argument_columns(
        self, args: Sequence[Value], call: bound.Aggregate, expressions: ExpressionLowering, number: int
    ) -> tuple[list[pl.Expr], list[Value]]:
        """Returns the arguments as columns of the frame, and as values over those without FILTER's excluded rows."""
        result: list[pl.Expr] = []
        named: list[Value] = []
        kept = left = None
        if call.filter is not None and skips_nulls(call):
            left = expressions.value(call.filter).expr
        elif call.filter is not None:
            kept = pl.col(f"f{number}").eq_missing(True)
            result.append(expressions.value(call.filter).expr.alias(f"f{number}"))
        for place, arg in enumerate(args):
            name = f"x{number}_{place}"
            if arg.constant and place:
                named.append(arg)
                continue
            parts = [(name, arg.expr), *((name + suffix, expr) for suffix, expr in arg.others)]
            if left is not None:
                parts = [(at, pl.when(left).then(expr).otherwise(None)) for at, expr in parts]
            result += [expr.alias(at) for at, expr in parts]
            value = pl.col(name) if kept is None else pl.col(name).filter(kept)
            others = tuple(
                (suffix, pl.col(name + suffix) if kept is None else pl.col(name + suffix).filter(kept))
                for suffix, _ in arg.others
            )
            named.append(Value(arg.type, value, None, arg.bounds, others))
        if not args and left is not None:
            # count(*) FILTER (…) counts the rows that pass.
            result.append(pl.when(left).then(True).otherwise(None).alias(f"f{number}"))
            named.append(Value(BOOL, pl.col(f"f{number}")))
        return result, named

    @staticmethod
    def merge(lazy: pl.LazyFrame, node: nodes.Aggregate) -> pl.LazyFrame:
        """Merges each group's states from several workers, without their sketches."""
        merged = [(n, call) for n, call in enumerate(node.calls) if call.function.name not in SKETCHES]
        calls = [expr for n, call in merged for expr in aggregate_state(call).merge(f"a{n}")]
        if not node.keys:
            return lazy.select(calls or [pl.len().alias(NO_COLUMNS)])
        shown = [pl.col(f"k{n}{s}").first() for n, key in enumerate(node.keys) for s in physical_columns(key.type) if s]
        names = [f"k{n}" for n in range(len(node.keys))]
        if not calls and not shown:
            return lazy.select(names).unique()
        return lazy.group_by(names).agg([*shown, *calls])

    def merge_sketches(self, lazy: pl.LazyFrame, node: nodes.Aggregate, *, merged: bool) -> pl.LazyFrame:
        """Merges each group's states and sketches from several workers; `merged` says that each group has one state."""
        lazy = self._context.frames.compute(lazy).lazy
        groups = lazy.filter(pl.col("sketch").is_null()).drop(list(sketches.COLUMNS))
        merge = self.merge_folds if has_folds(node) else self.merge
        groups = groups if merged else merge(groups, node)
        return sketches.merge_rows(groups, lazy, node, _find_sketches(node), self._context.frames)

    def final(self, frame: Frame, node: nodes.Aggregate) -> Frame:
        """Returns the groups' keys and final aggregates.

        Sums are checked all at once, which is much faster than a check for each group: usually 64 bits hold all of
        them, and nothing can fail.
        """
        values: list[Value] = []
        for n, key in enumerate(node.keys):
            others = tuple((suffix, pl.col(f"k{n}{suffix}")) for suffix in physical_columns(key.type) if suffix)
            values.append(Value(key.type, pl.col(f"k{n}"), None, type_bounds(key.type), others))
        states: list[State] = [aggregate_state(call) for call in node.calls]
        lazy, computed = frame.lazy, frame.computed
        if any(state.narrow is not None for state in states):
            computed = computed or self._context.frames.compute(lazy)
            lazy = computed.lazy
        deferred = DeferredSteps()
        for n, state in enumerate(states):
            found = None if state.narrow is None or computed is None else state.narrow(f"a{n}", computed)
            values.append(state.final(f"a{n}", deferred) if found is None else found)
        if not values:
            return Frame(lazy.select(pl.first().is_null().alias(NO_COLUMNS)), ())
        return Frame(self._context.select_values(lazy, values, deferred), tuple(value.bounds for value in values))


def _group_on_host(
    table: pl.DataFrame, keys: Sequence[SqlType], calls: list[pl.Expr]
) -> tuple[pl.DataFrame, pl.Series | None]:
    """Returns the groups of a frame, numbered by the column g, and the number of each row's; None without keys."""
    if not keys:
        return table.select(calls or [pl.len().alias(NO_COLUMNS)]), None
    names = [f"k{n}" for n in range(len(keys))]
    shown = [pl.col(f"k{n}{s}").first() for n, key in enumerate(keys) for s in physical_columns(key) if s]
    groups = table.group_by(names, maintain_order=True).agg([*shown, *calls]).with_row_index("g")
    by = key_columns([pl.col(name) for name in names], [physical_columns(key)[""] for key in keys], "q")
    on = [f"q{n}" for n in range(len(by))]
    places = table.select(by).join(groups.select(*by, "g"), on=on, how="left", nulls_equal=True, maintain_order="left")
    return groups, places["g"]


def _name_states(fold: CudaAggregate, name: str, states: Sequence[pl.Series]) -> list[pl.Series]:
    return [each.alias(at) for each, at in zip(states, folds.state_names(fold, name), strict=True)]


def has_folds(node: nodes.Aggregate) -> bool:
    """Returns whether states are merged on the host: those of PL/CUDA aggregates."""
    return any(find_fold(call) is not None for call in node.calls)


def has_sketches(node: nodes.Aggregate) -> bool:
    """Returns whether a state consists of more rows than its groups."""
    return any(call.function.name in SKETCHES for call in node.calls)


def _find_sketches(node: nodes.Aggregate) -> list[sketches.Sketch]:
    chosen = [n for n, call in enumerate(node.calls) if call.function.name in SKETCHES]
    return sketches.find_sketches(node.calls, chosen) if chosen else []


def _counted_row(call: bound.Aggregate) -> bound.Row | None:
    """Returns the row that a call counts; None for any other call."""
    if call.function.name != "count" or len(call.args) != 1:
        return None
    (arg,) = call.args
    return arg if isinstance(arg, bound.Row) and arg.items else None


def _mark_first_rows(
    lazy: pl.LazyFrame, keys: Sequence[str], fields: Sequence[str], counted: str, result: str, frames: Backend
) -> pl.LazyFrame:
    """Adds a column `result` that is true in the first of each group's rows with equal `fields`, and NULL elsewhere.

    Only rows whose column `counted` is true count.
    """
    computed = frames.compute(lazy.with_columns(pl.int_range(pl.len(), dtype=pl.Int64).alias("row"))).lazy
    first = computed.filter(pl.col(counted)).group_by([*keys, *fields]).agg(pl.col("row").min())
    return computed.join(first.select("row", pl.lit(True).alias(result)), on="row", how="left").drop("row")
