"""Aggregation of groups: partial states, merged states, and final values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from gpudb.engine.gpu.lower.aggregates import (
    State,
    checked_sums,
    is_mergeable,
    lacking,
    may_wrap,
    skips_nulls,
    state_of,
)
from gpudb.engine.gpu.lower.count_rows import counted_row, firsts
from gpudb.engine.gpu.lower.deferred import PutOff
from gpudb.engine.gpu.lower.error_codes import Error, masked, worst
from gpudb.engine.gpu.lower.expressions import Expressions
from gpudb.engine.gpu.lower.joins import key_columns
from gpudb.engine.gpu.lower.lowered_frame import NOTHING, Frame, Steps
from gpudb.engine.gpu.lower.percentiles import grouped, is_placed
from gpudb.engine.gpu.lower.values import Value, lanes, type_bounds
from gpudb.plan.tree import nodes
from gpudb.sql import bound
from gpudb.types import BOOL, SqlType


class Groups:
    """Aggregates over frames; keys are k0, k1, … and states a0, a1, …, each with its physical columns."""

    def __init__(self, steps: Steps) -> None:
        self._steps = steps

    def partial(self, frame: Frame, node: nodes.Aggregate) -> pl.LazyFrame:
        """Returns the states of the groups of a frame's rows."""
        over = self._steps.over(frame)
        keys = [over.value(key) for key in node.keys]
        columns = [expr for n, key in enumerate(keys) for expr in key.columns(f"k{n}")]
        errors = [key.error for key in keys]
        calls: list[pl.Expr] = []
        large: list[str] = []
        hosted: list[tuple[int, bound.Aggregate]] = []
        placed: list[tuple[int, bound.Aggregate]] = []
        rows: list[tuple[int, list[str]]] = []
        by_place = all(is_placed(call) or lacking(call) is None for call in node.calls)
        for number, call in enumerate(node.calls):
            if by_place and is_placed(call):
                value, error = self._placed_value(over, call)
                columns.append(value.alias(f"y{number}"))
                errors.append(error)
                placed.append((number, call))
                continue
            row = counted_row(call)
            if row is not None and (found := self._counted(over, call, row, number)) is not None:
                made, error = found
                columns += made
                errors.append(error)
                rows += [(number, [each.meta.output_name() for each in made[1:]])] if call.distinct else []
                name = f"u{number}" if call.distinct else f"y{number}"
                calls.append(pl.col(name).count().cast(pl.Int64).alias(f"a{number}"))
                continue
            reason = lacking(call)
            if reason is not None:
                hosted.append((number, call))
                self._steps.host.used.append(reason)
                continue
            args, error = self._arguments(over, call, number)
            errors.append(error)
            made, named = self._argument_columns(args, call, over, number)
            columns += made
            calls += state_of(call).partial(named, f"a{number}")
            large += [f"x{number}_0"] if named and may_wrap(call, named[0]) else []
        lazy = self._steps.checked(frame.lazy, worst(*errors), over.put_off)
        lazy = lazy.with_columns(columns) if columns else lazy
        if large:
            held = self._steps.frames.held(lazy)
            checked_sums(held, large)
            lazy = held.lazy
        for number, fields in rows:
            first = [f"k{n}" for n in range(len(keys))]
            lazy = firsts(lazy, first, fields, f"y{number}", f"u{number}", self._steps.frames)
        if hosted:
            return self._with_hosted(lazy, [key.type for key in keys], calls, hosted)
        # A group is keyed by a key's first physical column; the others are those of one of its rows.
        shown = [pl.col(f"k{n}{s}").first() for n, key in enumerate(keys) for s in lanes(key.type) if s]
        names = [f"k{n}" for n in range(len(keys))]
        if placed:
            return grouped(lazy, names, shown, calls, placed, self._steps.frames)
        if not keys:
            return lazy.select(calls or [pl.len().alias(NOTHING)])
        if not calls and not shown:
            return lazy.select(names).unique()
        return lazy.group_by(names).agg([*shown, *calls])

    def _with_hosted(
        self, lazy: pl.LazyFrame, keys: Sequence[SqlType], calls: list[pl.Expr], hosted: list[tuple[int, Any]]
    ) -> pl.LazyFrame:
        """Aggregates groups whose rows are all on this worker, with some aggregates evaluated on the host."""
        step = self._steps.host.calls([call for _, call in hosted])
        table = self._steps.frames.fetched(lazy, "aggregates")
        if keys:
            names = [f"k{n}" for n in range(len(keys))]
            shown = [pl.col(f"k{n}{s}").first() for n, key in enumerate(keys) for s in lanes(key) if s]
            groups = table.group_by(names, maintain_order=True).agg([*shown, *calls]).with_row_index("g")
            by = key_columns([pl.col(name) for name in names], [lanes(key)[""] for key in keys], "q")
            on = [f"q{n}" for n in range(len(by))]
            places = table.select(by).join(
                groups.select(*by, "g"), on=on, how="left", nulls_equal=True, maintain_order="left"
            )["g"]
        else:
            groups, places = table.select(calls or [pl.len().alias(NOTHING)]), None
        if self._steps.host.dry or (places is not None and not groups.height):
            made = step.nothing(groups.height)
        else:
            made = step.of(table, places)
        for (number, _), held in zip(hosted, made, strict=True):
            groups = groups.with_columns(held[suffix].alias(f"a{number}{suffix}") for suffix in held.columns)
        return self._steps.frames.given(groups.drop("g", strict=False)).lazy

    @staticmethod
    def _counted(
        over: Expressions, call: bound.Aggregate, row: bound.Row, number: int
    ) -> tuple[list[pl.Expr], Error] | None:
        """Returns columns: whether a row counts, and for DISTINCT its fields; None for FILTER over host steps."""
        mark = over.put_off.mark()
        fields = [over.value(item) for item in row.items]
        error = worst(*(each.error for each in fields))
        there = pl.lit(True)
        if call.filter is not None:
            if over.put_off.mark()[1] > mark[1]:
                over.put_off.back_to(mark)
                return None
            condition, other = over.condition(call.filter)
            there = pl.when(condition).then(True).otherwise(None)
            error = worst(other, masked(error, condition.eq_missing(True)))
        made = [there.alias(f"y{number}")]
        if call.distinct:
            held = (each.expr.cast(lanes(each.type)[""]) for each in fields)
            made += [expr.alias(f"d{number}_{place}") for place, expr in enumerate(held)]
        return made, error

    @staticmethod
    def _placed_value(over: Expressions, call: bound.Aggregate) -> tuple[pl.Expr, Error]:
        """Returns the values that a percentile sorts, NULL in rows that FILTER excludes."""
        expr = call.within_group[0].expr
        mark = over.put_off.mark()
        value = over.value(expr)
        if call.filter is not None and over.put_off.mark()[1] > mark[1]:
            # As for other arguments: the host's step must not fail for excluded rows.
            over.put_off.back_to(mark)
            value = over.value(bound.Case(((call.filter, expr),), bound.Constant(None, expr.type), expr.type))
        held = value.expr.cast(lanes(value.type)[""])
        if call.filter is None:
            return held, value.error
        condition, error = over.condition(call.filter)
        return pl.when(condition).then(held).otherwise(None), worst(
            error, masked(value.error, condition.eq_missing(True))
        )

    def _arguments(self, over: Expressions, call: bound.Aggregate, number: int) -> tuple[list[Value], Error]:
        # The order of a sum's rows is irrelevant.
        ordered = call.order_by if not is_mergeable(call) else ()
        mark = over.put_off.mark()
        args = [over.value(arg) for arg in call.args]
        if call.filter is not None and over.put_off.mark()[1] > mark[1]:
            # The host's step evaluates every row: it must not fail for excluded rows.
            over.put_off.back_to(mark)
            nothing = [bound.Constant(None, arg.type) for arg in call.args]
            pairs = zip(call.args, nothing, strict=True)
            args = [over.value(bound.Case(((call.filter, arg),), none, arg.type)) for arg, none in pairs]
        args += [over.value(key.expr) for key in ordered]
        error = worst(*(arg.error for arg in args))
        if call.filter is not None:
            condition, other = over.condition(call.filter)
            error = worst(other, masked(error, condition.eq_missing(True)))
        return args, error

    def _argument_columns(
        self, args: Sequence[Value], call: bound.Aggregate, over: Expressions, number: int
    ) -> tuple[list[pl.Expr], list[Value]]:
        """Returns the arguments as columns of the frame, and as values over those without FILTER's excluded rows."""
        made: list[pl.Expr] = []
        named: list[Value] = []
        kept = left = None
        if call.filter is not None and skips_nulls(call):
            left = over.value(call.filter).expr
        elif call.filter is not None:
            kept = pl.col(f"f{number}").eq_missing(True)
            made.append(over.value(call.filter).expr.alias(f"f{number}"))
        for place, arg in enumerate(args):
            name = f"x{number}_{place}"
            if arg.constant and place:
                named.append(arg)
                continue
            parts = [(name, arg.expr), *((name + suffix, expr) for suffix, expr in arg.others)]
            if left is not None:
                parts = [(at, pl.when(left).then(expr).otherwise(None)) for at, expr in parts]
            made += [expr.alias(at) for at, expr in parts]
            value = pl.col(name) if kept is None else pl.col(name).filter(kept)
            others = tuple(
                (suffix, pl.col(name + suffix) if kept is None else pl.col(name + suffix).filter(kept))
                for suffix, _ in arg.others
            )
            named.append(Value(arg.type, value, None, arg.bounds, others))
        if not args and left is not None:
            # count(*) FILTER (…) counts the rows that pass.
            made.append(pl.when(left).then(True).otherwise(None).alias(f"f{number}"))
            named.append(Value(BOOL, pl.col(f"f{number}")))
        return made, named

    @staticmethod
    def merged(lazy: pl.LazyFrame, node: nodes.Aggregate) -> pl.LazyFrame:
        """Merges each group's states from several workers."""
        calls = [expr for n, call in enumerate(node.calls) for expr in state_of(call).merge(f"a{n}")]
        if not node.keys:
            return lazy.select(calls or [pl.len().alias(NOTHING)])
        shown = [pl.col(f"k{n}{s}").first() for n, key in enumerate(node.keys) for s in lanes(key.type) if s]
        names = [f"k{n}" for n in range(len(node.keys))]
        if not calls and not shown:
            return lazy.select(names).unique()
        return lazy.group_by(names).agg([*shown, *calls])

    def final(self, frame: Frame, node: nodes.Aggregate) -> Frame:
        """Returns the groups' keys and final aggregates.

        Sums are checked all at once, which is much faster than a check for each group: usually 64 bits hold all of
        them, and nothing can fail.
        """
        values: list[Value] = []
        for n, key in enumerate(node.keys):
            others = tuple((suffix, pl.col(f"k{n}{suffix}")) for suffix in lanes(key.type) if suffix)
            values.append(Value(key.type, pl.col(f"k{n}"), None, type_bounds(key.type), others))
        states: list[State] = [state_of(call) for call in node.calls]
        lazy, held = frame.lazy, frame.held
        if any(state.narrow is not None for state in states):
            held = held or self._steps.frames.held(lazy)
            lazy = held.lazy
        put_off = PutOff()
        for n, state in enumerate(states):
            found = None if state.narrow is None or held is None else state.narrow(f"a{n}", held)
            values.append(state.final(f"a{n}", put_off) if found is None else found)
        if not values:
            return Frame(lazy.select(pl.first().is_null().alias(NOTHING)), ())
        return Frame(self._steps.named(lazy, values, put_off), tuple(value.bounds for value in values))
