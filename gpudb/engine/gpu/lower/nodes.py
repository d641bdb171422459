"""The nodes of a stage as one lazy frame, whose columns are the lanes of c0, c1, …

What can fail is collected and checked where it is computed, so that no join and no filter above loses an error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import singledispatchmethod
from typing import Any

import numpy as np
import polars as pl

from gpudb.engine.gpu.frames import Frames, Order
from gpudb.engine.gpu.lower import sets, windows
from gpudb.engine.gpu.lower.aggregates import State, is_mergeable, lacking, skips_nulls, state_of
from gpudb.engine.gpu.lower.expressions import Expressions
from gpudb.engine.gpu.lower.faults import Error, masked, raised, worst
from gpudb.engine.gpu.lower.host import Host
from gpudb.engine.gpu.lower.joins import joined, not_in
from gpudb.engine.gpu.lower.put_off import PutOff
from gpudb.engine.gpu.lower.recursion import recursive
from gpudb.engine.gpu.lower.values import Bounds, Value, column, lanes, type_bounds
from gpudb.errors import SqlError
from gpudb.plan import nodes
from gpudb.plan.errors import NotCarried
from gpudb.plan.fused import Built, Fused
from gpudb.plan.physical import Final, Kept, Partial, Receive, Sample
from gpudb.plan.traversal import conjuncts, walk_nodes
from gpudb.sql import bound
from gpudb.types import BOOL, INT8, SqlType

_LARGE = 50_000
"""A table's rows from which on the first few are looked for before any are sorted."""
_FIRST = 10_000
"""So many at most."""
NOTHING = "_"
"""The column of a frame of no columns: a frame's rows are counted by what is in it."""


@dataclass(frozen=True, slots=True)
class Frame:
    """A lazy frame, and what is known of each of its logical columns."""

    lazy: pl.LazyFrame
    bounds: tuple[Bounds, ...]


class Lowering:
    """Lowers one stage on one worker.

    `source` gives the frame of a Scan's columns, of what a Receive gets, or of a fused part; `frames` computes lazy
    frames, `host` what has no lanes' operation; `worker` is which of the workers this is.
    """

    def __init__(
        self,
        source: Callable[[nodes.Node], Frame],
        frames: Frames,
        host: Host,
        worker: int = 0,
    ) -> None:
        self._source = source
        self._frames = frames
        self._host = host
        self._worker = worker
        self._working: dict[int, Frame] = {}
        self._kept: dict[int, Frame] = {}

    @singledispatchmethod
    def frame(self, node: Any) -> Frame:
        """The frame of a node."""
        raise NotCarried(type(node).__name__)

    def _over(self, frame: Frame) -> Expressions:
        return Expressions(frame.bounds, self._host)

    def _checked(self, lazy: pl.LazyFrame, error: Error, put_off: PutOff | None = None) -> pl.LazyFrame:
        """The frame, with what its expressions have put off, once no row of it has an error."""
        if put_off is not None and put_off.steps:
            lazy = put_off.computed(lazy, self._frames).lazy
        if error is None:
            return lazy
        found = self._frames.held(lazy.with_columns(error.alias("e")))
        code = found.largest("e")
        if code:
            raise raised(code)
        return found.lazy.drop("e")

    # -------------------------------------------------------------------------------------------- rows

    @frame.register
    def _(self, node: nodes.Scan) -> Frame:
        frame = self._source(node)
        if node.filter is None:
            return frame
        return self._filtered(frame, node.filter)

    @frame.register(Receive)
    @frame.register(Fused)
    @frame.register(Built)
    def _(self, node: nodes.Node) -> Frame:
        return self._source(node)

    @frame.register
    def _(self, node: nodes.Values) -> Frame:
        one = pl.LazyFrame({NOTHING: [True]})
        if not node.columns:
            return Frame(pl.concat([one] * len(node.rows)) if node.rows else one.head(0), ())
        parts = [self._project(Frame(one, ()), row, node.columns).lazy for row in node.rows]
        return Frame(pl.concat(parts), tuple(map(type_bounds, node.columns)))

    @frame.register
    def _(self, node: nodes.Filter) -> Frame:
        return self._filtered(self.frame(node.input), node.condition)

    def _filtered(self, frame: Frame, condition: Any) -> Frame:
        over = self._over(frame)
        parts = conjuncts(condition)
        expr, error = over.condition(condition)
        if over.put_off.steps and len(parts) > 1:
            # A step computes every row of its frame: what else leaves rows out comes first.
            for part in sorted(parts, key=lambda part: self._may_fail(frame, part)):
                frame = self._filtered(frame, part)
            return frame
        lazy = self._checked(frame.lazy, error, over.put_off).filter(expr)
        return Frame(_without(lazy, over.put_off), frame.bounds)

    def _may_fail(self, frame: Frame, condition: Any) -> bool:
        over = self._over(frame)
        _, error = over.condition(condition)
        return error is not None or bool(over.put_off.steps)

    @frame.register
    def _(self, node: nodes.Project) -> Frame:
        return self._project(self.frame(node.input), node.exprs, node.types)

    def _project(self, frame: Frame, exprs: Sequence[Any], types: Sequence[SqlType]) -> Frame:
        over = self._over(frame)
        values = [over.value(expr) for expr in exprs]
        if not values:
            return Frame(frame.lazy.select(pl.first().is_null().alias(NOTHING)), ())
        made = self._named(frame.lazy, values, over.put_off)
        return Frame(made, tuple(value.bounds for value in values))

    def _named(self, lazy: pl.LazyFrame, values: Sequence[Value], put_off: PutOff) -> pl.LazyFrame:
        """Only the lanes of some values, as c0, c1, …; constants are as long as the frame."""
        columns = [expr for n, value in enumerate(values) for expr in value.columns(f"p{n}")]
        names = [expr.meta.output_name() for expr in columns]
        checked = self._checked(lazy, worst(*(value.error for value in values)), put_off)
        return checked.with_columns(columns).select(pl.col(name).alias("c" + name[1:]) for name in names)

    # -------------------------------------------------------------------------------------------- joins

    @frame.register
    def _(self, node: nodes.Join) -> Frame:
        left, right = self.frame(node.left), self.frame(node.right)
        width = len(node.left.types)
        first, second = self._over(left), self._over(right)
        keys = [(first.value(a), second.value(b)) for a, b in node.keys]
        one = self._keyed(left.lazy, [a for a, _ in keys], "k", first)
        other = self._keyed(right.lazy, [b for _, b in keys], "q", second)
        moved = [f"c{n}{s}" for n, kind in enumerate(node.right.types) for s in lanes(kind)]
        # A side without columns has its rows all the same: that column goes by another name.
        names = {name: _shifted(name, width) for name in moved} or {NOTHING: NOTHING + "2"}
        other = other.rename(names, strict=False)
        bounds = left.bounds + right.bounds
        if node.null_aware:
            made = not_in(one, other, self._frames)
        else:
            condition = None
            if node.condition is not None:
                both = Expressions(bounds, self._host)
                expr, error = both.condition(node.condition)

                def condition(pairs: pl.LazyFrame) -> pl.LazyFrame:
                    return self._checked(pairs, error, both.put_off).filter(expr)

            made = joined(node.kind, one, other, len(keys), condition, self._frames)
        kept = [f"c{n}{s}" for n, kind in enumerate(node.types) for s in lanes(kind)]
        if not kept:
            return Frame(made.select(pl.first().is_null().alias(NOTHING)), ())
        return Frame(made.select(kept), bounds if node.kind not in {"SEMI", "ANTI"} else left.bounds)

    def _keyed(self, lazy: pl.LazyFrame, keys: Sequence[Value], prefix: str, over: Expressions) -> pl.LazyFrame:
        if not keys:
            return lazy
        made = [key.expr.cast(lanes(key.type)[""]).alias(f"{prefix}{n}") for n, key in enumerate(keys)]
        checked = self._checked(lazy, worst(*(key.error for key in keys)), over.put_off)
        return _without(checked.with_columns(made), over.put_off)

    # -------------------------------------------------------------------------------------------- groups

    @frame.register
    def _(self, node: nodes.Aggregate) -> Frame:
        """All of it on one worker: a partial aggregate and its end."""
        partial = self._partial(self.frame(node.input), node)
        return self._final(partial, node)

    @frame.register
    def _(self, node: Partial) -> Frame:
        return Frame(self._partial(self.frame(node.input), node.aggregate), ())

    @frame.register
    def _(self, node: Final) -> Frame:
        merged = self._merged(self.frame(node.input).lazy, node.aggregate)
        return self._final(merged, node.aggregate)

    def _partial(self, frame: Frame, node: nodes.Aggregate) -> pl.LazyFrame:
        over = self._over(frame)
        keys = [over.value(key) for key in node.keys]
        columns = [expr for n, key in enumerate(keys) for expr in key.columns(f"k{n}")]
        errors = [key.error for key in keys]
        calls: list[pl.Expr] = []
        hosted: list[tuple[int, bound.Aggregate]] = []
        for number, call in enumerate(node.calls):
            reason = lacking(call)
            if reason is not None:
                hosted.append((number, call))
                self._host.used.append(reason)
                continue
            args, error = self._arguments(over, call, number)
            errors.append(error)
            made, named = self._argument_columns(args, call, over, number)
            columns += made
            calls += state_of(call).partial(named, f"a{number}")
        lazy = self._checked(frame.lazy, worst(*errors), over.put_off)
        lazy = lazy.with_columns(columns) if columns else lazy
        if hosted:
            return self._with_hosted(lazy, [key.type for key in keys], calls, hosted)
        if not keys:
            return lazy.select(calls or [pl.len().alias(NOTHING)])
        # A key is its first lane; the others are those of one of its rows.
        shown = [pl.col(f"k{n}{s}").first() for n, key in enumerate(keys) for s in lanes(key.type) if s]
        names = [f"k{n}" for n in range(len(keys))]
        if not calls and not shown:
            return lazy.select(names).unique()
        return lazy.group_by(names).agg([*shown, *calls])

    def _with_hosted(
        self, lazy: pl.LazyFrame, keys: Sequence[SqlType], calls: list[pl.Expr], hosted: list[tuple[int, Any]]
    ) -> pl.LazyFrame:
        """Groups whose rows are all here, some of their aggregates computed by the host's functions."""
        step = self._host.calls([call for _, call in hosted])
        table = self._frames.fetched(lazy, "aggregates")
        if keys:
            names = [f"k{n}" for n in range(len(keys))]
            shown = [pl.col(f"k{n}{s}").first() for n, key in enumerate(keys) for s in lanes(key) if s]
            groups = table.group_by(names, maintain_order=True).agg([*shown, *calls]).with_row_index("g")
            places = table.select(names).join(
                groups.select(*names, "g"), on=names, how="left", nulls_equal=True, maintain_order="left"
            )["g"]
        else:
            groups, places = table.select(calls or [pl.len().alias(NOTHING)]), None
        if self._host.dry or (places is not None and not groups.height):
            made = step.nothing(groups.height)
        else:
            made = step.of(table, places)
        for (number, _), held in zip(hosted, made, strict=True):
            groups = groups.with_columns(held[suffix].alias(f"a{number}{suffix}") for suffix in held.columns)
        return self._frames.given(groups.drop("g", strict=False)).lazy

    def _arguments(self, over: Expressions, call: bound.Aggregate, number: int) -> tuple[list[Value], Error]:
        # The order of a sum's rows changes nothing.
        ordered = call.order_by if not is_mergeable(call) else ()
        mark = over.put_off.mark()
        args = [over.value(arg) for arg in call.args]
        if call.filter is not None and over.put_off.mark()[1] > mark[1]:
            # The host's step computes every row: of those left out it may not fail.
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
        """The arguments as columns of the frame, and as values over those, FILTER's rows gone."""
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
            # count(*) FILTER (…) counts the rows that are left.
            made.append(pl.when(left).then(True).otherwise(None).alias(f"f{number}"))
            named.append(Value(BOOL, pl.col(f"f{number}")))
        return made, named

    def _merged(self, lazy: pl.LazyFrame, node: nodes.Aggregate) -> pl.LazyFrame:
        calls = [expr for n, call in enumerate(node.calls) for expr in state_of(call).merge(f"a{n}")]
        if not node.keys:
            return lazy.select(calls or [pl.len().alias(NOTHING)])
        shown = [pl.col(f"k{n}{s}").first() for n, key in enumerate(node.keys) for s in lanes(key.type) if s]
        names = [f"k{n}" for n in range(len(node.keys))]
        if not calls and not shown:
            return lazy.select(names).unique()
        return lazy.group_by(names).agg([*shown, *calls])

    def _final(self, lazy: pl.LazyFrame, node: nodes.Aggregate) -> Frame:
        values: list[Value] = []
        for n, key in enumerate(node.keys):
            others = tuple((suffix, pl.col(f"k{n}{suffix}")) for suffix in lanes(key.type) if suffix)
            values.append(Value(key.type, pl.col(f"k{n}"), None, type_bounds(key.type), others))
        states: list[State] = [state_of(call) for call in node.calls]
        put_off = PutOff()
        values += [state.final(f"a{n}", put_off) for n, state in enumerate(states)]
        if not values:
            return Frame(lazy.select(pl.first().is_null().alias(NOTHING)), ())
        return Frame(self._named(lazy, values, put_off), tuple(value.bounds for value in values))

    # -------------------------------------------------------------------------------------------- order and sets

    @frame.register
    def _(self, node: nodes.Sort) -> Frame:
        frame = self.frame(node.input)
        limit, offset = self._count(node.limit, "LIMIT"), self._count(node.offset, "OFFSET")
        first = limit + (offset or 0) if limit is not None and _is_large(node.input) else 0
        lazy = self._sorted(frame, node.keys, first, again=_is_scan(node.input)) if node.keys else frame.lazy
        if limit is not None or offset:
            lazy = lazy.slice(offset or 0, limit)
        return Frame(lazy, frame.bounds)

    def _sorted(
        self, frame: Frame, keys: Sequence[bound.SortKey], first: int = 0, *, again: bool = False
    ) -> pl.LazyFrame:
        """The rows in order; with `first` so many of them at least."""
        over = self._over(frame)
        values = [over.value(key.expr) for key in keys]
        lazy = self._checked(frame.lazy, worst(*(value.error for value in values)), over.put_off)
        if 0 < first <= _FIRST:
            order = Order(keys[0].descending, keys[0].nulls_first)
            lazy = self._frames.first(lazy, values[0].expr, order, first, again=again)
        made = lazy.sort(
            [value.expr for value in values],
            descending=[key.descending for key in keys],
            nulls_last=[not key.nulls_first for key in keys],
            maintain_order=True,
        )
        return _without(made, over.put_off)

    def _count(self, expr: Any | None, clause: str) -> int | None:
        if expr is None:
            return None
        over = Expressions((), self._host)
        value = over.value(expr)
        if over.put_off.steps:
            raise NotCarried(f"{clause} of an expression")
        count = pl.select(value.expr).item()
        if count is None:
            return None
        if count < 0:
            raise SqlError.of(_COUNTS[clause], f"{clause} must not be negative")
        return int(count)

    @frame.register
    def _(self, node: nodes.Window) -> Frame:
        frame = self.frame(node.input)
        try:
            return self._windows(frame, node)
        except NotCarried as reason:
            self._host.used.append(reason.construct)
            return self._hosted_windows(frame, node)

    def _hosted_windows(self, frame: Frame, node: nodes.Window) -> Frame:
        """Window functions, computed by the host's functions."""
        step = self._host.calls(node.calls)
        held = self._frames.held(frame.lazy)
        table = self._frames.fetched(held.lazy, "window functions")
        numbers = pl.Series(np.arange(table.height))
        made = step.of(table, numbers) if table.height else step.nothing(0)
        first = len(node.input.types)
        for number, each in enumerate(made, first):
            held = held.beside(each.rename({suffix: f"c{number}{suffix}" for suffix in each.columns}))
        return Frame(held.lazy, (*frame.bounds, *(type_bounds(call.type) for call in node.calls)))

    def _windows(self, frame: Frame, node: nodes.Window) -> Frame:
        over = self._over(frame)
        rows, errors = windows.prepared(node.calls, over)
        lazy = self._checked(frame.lazy, worst(*errors), over.put_off).with_columns(rows)
        made, put_off = windows.computed(self._frames.fetched(lazy, "window functions"), node.calls)
        width = len(node.input.types)
        held = [column(n, kind, bounds) for n, (kind, bounds) in enumerate(zip(node.input.types, frame.bounds))]
        values = [*held, *(windows.value(number, call, put_off) for number, call in enumerate(node.calls))]
        assert len(values) == width + len(node.calls)
        return Frame(self._named(self._frames.given(made).lazy, values, put_off), tuple(each.bounds for each in values))

    @frame.register
    def _(self, node: nodes.Numbered) -> Frame:
        frame = self.frame(node.input)
        first = self._worker << 48
        number = pl.int_range(first, pl.len() + first, dtype=pl.Int64).alias(f"c{len(node.input.types)}")
        return Frame(frame.lazy.with_columns(number), (*frame.bounds, type_bounds(INT8)))

    @frame.register
    def _(self, node: nodes.ProjectSet) -> Frame:
        frame = self.frame(node.input)
        over = self._over(frame)
        found, errors = self._sets(node, over)
        lazy = self._checked(frame.lazy, worst(*errors), over.put_off).with_columns(sets.counts(found))
        made = sets.expanded(self._frames.fetched(lazy, "set-returning functions"), found, "i")
        place = pl.col("i")
        values = [column(n, kind, bounds) for n, (kind, bounds) in enumerate(zip(node.input.types, frame.bounds))]
        for n, each in enumerate(found):
            item = (each.set if isinstance(each, sets.HostSet) else each).item(place)
            # Beyond its own rows a shorter set is NULL.
            there = pl.when(place < pl.col(f"t{n}"))
            rest = tuple((suffix, there.then(expr).otherwise(None)) for suffix, expr in item.others)
            values.append(Value(item.type, there.then(item.expr).otherwise(None), item.error, item.bounds, rest))
        if node.numbered:
            values.append(Value(INT8, place + 1, None, (1, 2**62)))
        return Frame(
            self._named(self._frames.given(made).lazy, values, PutOff()), tuple(each.bounds for each in values)
        )

    def _sets(self, node: nodes.ProjectSet, over: Expressions) -> tuple[list[sets.Set | sets.HostSet], list[Error]]:
        """The calls' sets, and the errors of those that are not the host's."""
        found: list[sets.Set | sets.HostSet] = []
        errors: list[Error] = []
        for number, call in enumerate(node.calls):
            items = sets.items_of(call)
            if items is not None:
                found.append(sets.HostSet(number, items))
                continue
            mark = over.put_off.mark()
            try:
                args = [over.value(arg) for arg in call.args]
                made = sets.set_of(call, args)
            except NotCarried as reason:
                over.put_off.back_to(mark)
                found.append(sets.HostSet(number, self._host.rows(call)))
                self._host.used.append(reason.construct)
                continue
            found.append(made)
            errors += [*(arg.error for arg in args), made.error]
        return found, errors

    @frame.register
    def _(self, node: nodes.DistinctOn) -> Frame:
        frame = self.frame(node.input)
        over = self._over(frame)
        keys = [over.value(key) for key in node.keys]
        lazy = self._sorted(frame, node.order) if node.order else frame.lazy
        names = [f"k{n}" for n in range(len(keys))]
        made = self._checked(lazy, worst(*(key.error for key in keys)), over.put_off)
        made = made.with_columns(key.expr.alias(name) for key, name in zip(keys, names, strict=True))
        return Frame(made.unique(names, keep="first", maintain_order=True).drop(names), frame.bounds)

    @frame.register
    def _(self, node: nodes.SetOperation) -> Frame:
        left, right = self.frame(node.left), self.frame(node.right)
        names = [f"c{n}{s}" for n, kind in enumerate(node.types) for s in lanes(kind)] or [NOTHING]
        one, other = left.lazy.select(names), right.lazy.select(names)
        bounds = tuple(
            None if a is None or b is None else (min(a[0], b[0]), max(a[1], b[1]))
            for a, b in zip(left.bounds, right.bounds, strict=True)
        )
        if node.op == "UNION":
            return Frame(pl.concat([one, other]), bounds)
        counts = pl.concat(
            [
                one.with_columns(pl.lit(1, pl.Int64).alias("l"), pl.lit(0, pl.Int64).alias("r")),
                other.with_columns(pl.lit(0, pl.Int64).alias("l"), pl.lit(1, pl.Int64).alias("r")),
            ]
        )
        keys = [f"c{n}" for n in range(len(node.types))] or [NOTHING]
        # Of rows that are equal the left one's other lanes are kept.
        rest = [pl.col(name).first() for name in names if name not in keys]
        groups = counts.group_by(keys, maintain_order=bool(rest)).agg(*rest, pl.col("l").sum(), pl.col("r").sum())
        if node.op == "INTERSECT":
            times = pl.min_horizontal("l", "r") if node.all else ((pl.col("l") > 0) & (pl.col("r") > 0)).cast(pl.Int64)
        elif node.all:
            times = pl.max_horizontal(pl.col("l") - pl.col("r"), pl.lit(0, pl.Int64))
        else:
            times = ((pl.col("l") > 0) & (pl.col("r") == 0)).cast(pl.Int64)
        kept = groups.with_columns(times.alias("t")).filter(pl.col("t") > 0)
        return Frame(
            kept.select(pl.col(names).repeat_by("t").explode(empty_as_null=True)) if node.all else kept.select(names),
            left.bounds,
        )

    @frame.register
    def _(self, node: nodes.Recursive) -> Frame:
        names = [f"c{n}{s}" for n, kind in enumerate(node.types) for s in lanes(kind)]
        bounds = tuple(map(type_bounds, node.types))

        def step(rows: pl.DataFrame) -> pl.DataFrame:
            self._working[node.number] = Frame(self._frames.given(rows).lazy, bounds)
            self._kept.clear()
            return self._frames.fetched(self.frame(node.right).lazy.select(names), "recursion")

        first = self._frames.fetched(self.frame(node.left).lazy.select(names), "recursion")
        keys = [f"c{n}" for n in range(len(node.types))]
        made = recursive(first, step, keys, distinct=node.distinct)
        return Frame(self._frames.given(made).lazy, bounds)

    @frame.register
    def _(self, node: nodes.Working) -> Frame:
        return self._working[node.number]

    @frame.register
    def _(self, node: Kept) -> Frame:
        if node.number not in self._kept:
            frame = self.frame(node.input)
            self._kept[node.number] = Frame(self._frames.held(frame.lazy).lazy, frame.bounds)
        return self._kept[node.number]

    @frame.register
    def _(self, node: Sample) -> Frame:
        frame = self.frame(node.input)
        found = self._frames.held(frame.lazy)
        step = max(found.rows // node.rows, 1)
        return Frame(found.lazy.gather_every(step, step // 2), frame.bounds)


_COUNTS = {"LIMIT": "invalid_row_count_in_limit_clause", "OFFSET": "invalid_row_count_in_result_offset_clause"}


def _is_large(node: nodes.Node) -> bool:
    """Whether rows come from a table that is large."""
    return any(isinstance(each, nodes.Scan) and each.table.rows >= _LARGE for each in walk_nodes(node))


def _is_scan(node: nodes.Node) -> bool:
    """Whether rows are a table's own, some of them and what is computed of them."""
    while isinstance(node, nodes.Filter | nodes.Project):
        node = node.input
    return isinstance(node, nodes.Scan)


def _without(lazy: pl.LazyFrame, put_off: PutOff) -> pl.LazyFrame:
    return lazy.drop(put_off.columns) if put_off.steps else lazy


def _shifted(name: str, width: int) -> str:
    digits = name[1:].rstrip("msduv")
    return f"c{int(digits) + width}{name[1 + len(digits) :]}"
