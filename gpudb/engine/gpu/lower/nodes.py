"""Lowers the nodes of a stage to one lazy frame with the physical columns of c0, c1, …

What can fail is collected and checked where it is evaluated, so that no join or filter above it loses an error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import isqrt
from typing import Any

import numpy as np
import polars as pl

from gpudb.engine.gpu.backend.base import Backend, ComputedFrame, SortOrder, held_rows
from gpudb.engine.gpu.backend.dictionary import Dictionary
from gpudb.engine.gpu.backend.host import HostBackend, HostFrame
from gpudb.engine.gpu.limits import FEW_ROWS
from gpudb.engine.gpu.lower.error_codes import Error, first_error
from gpudb.engine.gpu.lower.expressions.constants import comparison_key
from gpudb.engine.gpu.lower.expressions.deferred import DeferredSteps
from gpudb.engine.gpu.lower.expressions.expressions import ExpressionLowering
from gpudb.engine.gpu.lower.expressions.host_fallback import HostFallback
from gpudb.engine.gpu.lower.expressions.lowered_frame import NO_COLUMNS, Frame, LoweringContext, drop_deferred
from gpudb.engine.gpu.lower.expressions.text_codes import (
    NOTHING,
    is_coded,
    null_codes,
    rank_of,
    use_codes,
)
from gpudb.engine.gpu.lower.groups.groups import Aggregation, has_folds, has_sketches
from gpudb.engine.gpu.lower.nearest_rows import (
    NearestSource,
    find_nearest_scan,
    find_reader,
    iter_candidates,
    merge,
)
from gpudb.engine.gpu.lower.pieces import lower_in_pieces
from gpudb.engine.gpu.lower.relations import set_functions
from gpudb.engine.gpu.lower.relations.asof_joins import lower_asof_join
from gpudb.engine.gpu.lower.relations.join_sides import lower_sides
from gpudb.engine.gpu.lower.relations.recursion import run_recursion
from gpudb.engine.gpu.lower.relations.set_operations import combine
from gpudb.engine.gpu.lower.texts import late_materialization
from gpudb.engine.gpu.lower.texts.coded_keys import group_codes
from gpudb.engine.gpu.lower.values import Value, column_value, physical_columns, read_bytes, type_bounds
from gpudb.engine.gpu.lower.windows import windows
from gpudb.errors import SqlError
from gpudb.plan.errors import NotSupportedOnWorkers
from gpudb.plan.tree import nodes
from gpudb.plan.tree.fused_nodes import BuildSideScan, Fused
from gpudb.plan.tree.stage_nodes import Defer, Fetch, Final, Partial, Receive, RecursionShared, Sample
from gpudb.plan.tree.traversal import walk_nodes
from gpudb.sql import bound
from gpudb.sql.traverse import split_conjuncts
from gpudb.type_dispatch import dispatch_on_type
from gpudb.types import INT4, INT8, SqlType

_HOST = HostBackend()
_LARGE_ROWS = 50_000
"""Row count of a table from which the first rows are searched for before sorting."""
_MAX_FIRST_ROWS = 10_000
"""Maximal number of first rows for that search."""


class StageLowering:
    """Lowers one stage on one worker.

    `source` returns the frame of a Scan's columns, of a Receive's input, or of a fused part. `frames` computes lazy
    frames, `host` what has no lowering; `worker` is this worker's number. `on_frame` receives each node's frame, and
    returns the one to continue with. `nearest` has the indexes of vectors.
    """

    def __init__(
        self,
        source: Callable[[nodes.Node, StageLowering], Frame],
        frames: Backend,
        host: HostFallback,
        worker: int = 0,
        on_frame: Callable[[nodes.Node, Frame], Frame] | None = None,
        nearest: NearestSource | None = None,
    ) -> None:
        self._source = source
        self._on_frame = on_frame
        self._nearest = nearest
        self._frames = frames
        self._host = host
        self.context = LoweringContext(frames, host)
        self.aggregation = Aggregation(self.context)
        self._worker = worker
        self._recursion_rows: dict[int, Frame] = {}
        self._shared: dict[int, Frame] = {}
        # Frames of nodes by their ids, while what stands above them is computed piece by piece.
        self.held: dict[int, Frame] = {}
        self._may_cut: bool | None = None
        # Rows of scans whose strings are fetched later, by the Defer's number.
        self._deferred: dict[int, pl.LazyFrame] = {}

    def frame(self, node: nodes.Node) -> Frame:
        """Returns the frame of a node."""
        return self.context.decode(self.coded_frame(node))

    def coded_frame(self, node: nodes.Node) -> Frame:
        """Returns the frame of a node, of which some text columns may be coded."""
        held = self.held.get(id(node))
        if held is not None:
            return held
        result: Frame = self._lower_in_pieces(node) or self._frame(node)
        return result if self._on_frame is None else self._on_frame(node, result)

    def _lower_in_pieces(self, node: nodes.Node) -> Frame | None:
        if self._may_cut is None:
            # Each operator that is measured is computed whole. The first node is the root.
            self._may_cut = self._on_frame is None and any(isinstance(each, nodes.Join) for each in walk_nodes(node))
        return lower_in_pieces(node, self) if self._may_cut else None

    def lower_node(self, node: nodes.Node) -> Frame:
        """Returns the frame of a node, which is not computed in pieces."""
        made: Frame = self._frame(node)
        return made

    @dispatch_on_type
    def _frame(self, node: Any) -> Frame:
        raise NotSupportedOnWorkers(type(node).__name__)

    # -------------------------------------------------------------------------------------------- rows

    @_frame.register
    def _(self, node: nodes.Scan) -> Frame:
        frame = self._source(node, self)
        if node.filter is None:
            return frame
        return self._filter(frame, node.filter)

    @_frame.register
    def _(self, node: Defer) -> Frame:
        frame = self.context.decode(self._source(node.input, self))
        self._deferred[node.number] = frame.lazy
        rows, condition = late_materialization.add_positions(frame), node.input.filter
        return late_materialization.defer_strings(rows if condition is None else self._filter(rows, condition), node)

    @_frame.register
    def _(self, node: Fetch) -> Frame:
        return late_materialization.gather_strings(
            self.frame(node.input), node, self._deferred[node.number], self._frames
        )

    @_frame.register
    def _(self, node: Receive | Fused | BuildSideScan) -> Frame:
        return self._source(node, self)

    @_frame.register
    def _(self, node: nodes.Values) -> Frame:
        one = pl.LazyFrame({NO_COLUMNS: [True]})
        if not node.columns:
            return Frame(pl.concat([one] * len(node.rows)) if node.rows else one.head(0), ())
        rows = [self._project(Frame(one, ()), row, node.columns) for row in node.rows]
        parts = [self.context.decode(row).lazy for row in rows]
        return Frame(pl.concat(parts), tuple(map(type_bounds, node.columns)))

    @_frame.register
    def _(self, node: nodes.Filter) -> Frame:
        return self._filter(self.coded_frame(node.input), node.condition)

    def _filter(self, frame: Frame, condition: Any) -> Frame:
        expressions = self.context.expressions(frame)
        expr, error = expressions.condition(condition)
        if expressions.deferred.steps and len(parts := split_conjuncts(condition)) > 1:
            # A deferred step evaluates every row of its frame: filters without one run first.
            for part in sorted(parts, key=lambda part: self._may_fail(frame, part)):
                frame = self._filter(frame, part)
            return frame
        lazy = self.context.check_errors(frame.lazy, error, expressions.deferred).filter(expr)
        return Frame(drop_deferred(lazy, expressions.deferred), frame.bounds, texts=frame.texts)

    def _may_fail(self, frame: Frame, condition: Any) -> bool:
        expressions = self.context.expressions(frame)
        _, error = expressions.condition(condition)
        return error is not None or bool(expressions.deferred.steps)

    @_frame.register
    def _(self, node: nodes.Project) -> Frame:
        return self._project(self.coded_frame(node.input), node.exprs, node.types)

    def _project(self, frame: Frame, exprs: Sequence[Any], types: Sequence[SqlType]) -> Frame:
        expressions = self.context.expressions(frame)
        values: list[Value] = []
        texts: dict[int, Dictionary] = {}
        for place, expr in enumerate(exprs):
            nulls = null_codes(expr)
            coded = (nulls, NOTHING) if nulls is not None else expressions.coded_value(expr)
            if coded is None:
                values.append(expressions.value(expr))
            else:
                values.append(coded[0])
                texts[place] = coded[1]
        if not values:
            return Frame(frame.lazy.select(pl.first().is_null().alias(NO_COLUMNS)), ())
        result = self.context.select_values(frame.lazy, values, expressions.deferred)
        return Frame(result, tuple(value.bounds for value in values), texts=texts)

    # -------------------------------------------------------------------------------------------- joins

    @_frame.register
    def _(self, node: nodes.Join) -> Frame:
        left, right = self.coded_frame(node.left), self.coded_frame(node.right)
        return lower_sides(node, left, right, self.context).join(self.context)

    @_frame.register
    def _(self, node: nodes.AsofJoin) -> Frame:
        return lower_asof_join(node, self.frame(node.left), self.frame(node.right), self.context)

    def first_rows(self, node: nodes.Sort) -> int | None:
        """Returns how many first rows a sort keeps; None for all."""
        limit = self._row_count(node.limit, "LIMIT")
        return None if limit is None else limit + (self._row_count(node.offset, "OFFSET") or 0)

    # -------------------------------------------------------------------------------------------- groups

    @_frame.register
    def _(self, node: nodes.Aggregate) -> Frame:
        """Aggregates on one worker: partial and final."""
        frame, grouped, texts = self.grouped(self.coded_frame(node.input), node)
        partial = self.aggregation.partial(frame, grouped)
        if has_sketches(grouped):
            partial = self.aggregation.merge_sketches(partial, grouped, merged=True)
        result = self.aggregation.final(Frame(partial, ()), grouped)
        return Frame(result.lazy, result.bounds, result.computed, texts) if texts else result

    @_frame.register
    def _(self, node: Partial) -> Frame:
        frame, grouped, texts = self.grouped(self.coded_frame(node.input), node.aggregate)
        lazy = self.aggregation.partial(frame, grouped)
        if texts:
            # The states of other workers have other codes.
            lazy = self._frames.decode_texts(lazy, {f"k{number}": each for number, each in texts.items()})
        return Frame(lazy, ())

    @_frame.register
    def _(self, node: Final) -> Frame:
        frame = self.frame(node.input)
        if has_sketches(node.aggregate):
            frame = Frame(self.aggregation.merge_sketches(frame.lazy, node.aggregate, merged=node.whole), ())
        elif has_folds(node.aggregate) and not node.whole:
            frame = Frame(self.aggregation.merge_folds(frame.lazy, node.aggregate), ())
        elif not node.whole:
            frame = Frame(self.aggregation.merge(frame.lazy, node.aggregate), ())
        return self.aggregation.final(frame, node.aggregate)

    def grouped(self, frame: Frame, node: nodes.Aggregate) -> tuple[Frame, nodes.Aggregate, dict[int, Dictionary]]:
        """Returns an aggregate's input and the aggregate over its codes, with the dictionaries of its coded keys."""
        return group_codes(frame, node, self.context) if frame.texts else (frame, node, {})

    # -------------------------------------------------------------------------------------------- order and sets

    @_frame.register
    def _(self, node: nodes.Sort) -> Frame:
        limit, offset = self._row_count(node.limit, "LIMIT"), self._row_count(node.offset, "OFFSET")
        frame = self._nearest_frame(node, (limit or 0) + (offset or 0)) or self.coded_frame(node.input)
        first = limit + (offset or 0) if limit is not None and _is_large(node.input) else 0
        lazy = self._sort(frame, node.keys, first, again=_is_scan(node.input)) if node.keys else frame.lazy
        if limit is not None or offset:
            few = _few_on_host(lazy)
            lazy = lazy.slice(offset or 0, limit) if few is None else HostFrame(few.slice(offset or 0, limit)).lazy
        return Frame(lazy, frame.bounds, texts=frame.texts)

    def _nearest_frame(self, sort: nodes.Sort, wanted: int) -> Frame | None:
        """Returns rows of a sort's input among which are the first `wanted`, found by an index; None without one."""
        source = self._nearest
        found = find_nearest_scan(sort) if source is not None and self._on_frame is None else None
        if source is None or found is None:
            return None
        query = read_bytes(ExpressionLowering((), self._host).value(found.to))
        if query is None:
            return None
        reader = find_reader(sort, found.scan)
        scanned = self._source(found.scan, self)

        def compute(places: Any) -> Frame:
            rows = self._frames.take_rows(scanned.lazy, places)
            part = Frame(rows.lazy, scanned.bounds, rows, scanned.texts)
            self.held[id(found.scan)] = part if found.scan.filter is None else self._filter(part, found.scan.filter)
            if reader is not found.scan:
                assert isinstance(reader, Fused)
                self.held[id(reader)] = self.coded_frame(reader.root)
            made = self.coded_frame(sort.input)
            held = self._frames.compute(made.lazy)
            return Frame(held.lazy, made.bounds, held, made.texts)

        try:
            for places, others in iter_candidates(found, source, query, wanted):
                made = compute(places)
                if made.computed is not None and made.computed.rows >= wanted:
                    return made if not len(others) else compute(merge(places, others))
            return None
        finally:
            for node in (found.scan, reader):
                self.held.pop(id(node), None)

    def _sort(
        self, frame: Frame, keys: Sequence[bound.SortKey], first: int = 0, *, again: bool = False
    ) -> pl.LazyFrame:
        """Sorts the rows; with `first` at least that many of the first rows are kept."""
        expressions = self.context.expressions(frame)
        values = [
            rank_of(key.expr, frame.texts) if is_coded(key.expr, frame.texts) else expressions.value(key.expr)
            for key in keys
        ]
        lazy = self.context.check_errors(
            frame.lazy, first_error(*(value.error for value in values)), expressions.deferred
        )
        # A constant sorts nothing, and its column lacks the frame's length.
        sort_keys = [(value.expr, key) for value, key in zip(values, keys, strict=True) if not value.constant]
        if not sort_keys:
            return drop_deferred(lazy, expressions.deferred)
        if 0 < first <= _MAX_FIRST_ROWS:
            expr, key = sort_keys[0]
            lazy = self._frames.prefilter_top(
                lazy, expr, SortOrder(key.descending, key.nulls_first), first, again=again
            )
        result = lazy.sort(
            [expr for expr, _ in sort_keys],
            descending=[key.descending for _, key in sort_keys],
            nulls_last=[not key.nulls_first for _, key in sort_keys],
            maintain_order=True,
        )
        result = drop_deferred(result, expressions.deferred)
        return result if not first or _few_on_host(lazy) is None else _HOST.compute(result).lazy

    def _row_count(self, expr: bound.Expr | None, clause: str) -> int | None:
        count = self._evaluate_count(expr, clause) if expr is not None else None
        if count is not None and count < 0:
            raise SqlError.of(_COUNTS[clause], f"{clause} must not be negative")
        return count

    def _evaluate_count(self, expr: bound.Expr, clause: str) -> int | None:
        """Evaluates a row count that depends on no row."""
        if isinstance(expr, bound.Constant) and isinstance(expr.value, int):
            return expr.value  # Polars needs a millisecond for this
        expressions = ExpressionLowering((), self._host)
        value = expressions.value(expr)
        if expressions.deferred.steps:
            raise NotSupportedOnWorkers(f"{clause} of an expression")
        count = pl.select(value.expr).item()
        return None if count is None else int(count)

    @_frame.register
    def _(self, node: nodes.Window) -> Frame:
        frame = self.coded_frame(node.input)
        try:
            return self._windows(frame, node)
        except NotSupportedOnWorkers as reason:
            self._host.used.append(reason.construct)
            return self._host_windows(self.context.decode(frame), node)

    def _host_windows(self, frame: Frame, node: nodes.Window) -> Frame:
        """Evaluates window functions on the host."""
        step = self._host.calls_step(node.calls)
        computed = self._frames.compute(frame.lazy)
        table = self._frames.compute_on_host(computed.lazy, "window functions")
        numbers = pl.Series(np.arange(table.height))
        result = step.evaluate(table, numbers) if table.height else step.nulls(0)
        first = len(node.input.types)
        for number, each in enumerate(result, first):
            computed = computed.add_columns(each.rename({suffix: f"c{number}{suffix}" for suffix in each.columns}))
        return Frame(computed.lazy, (*frame.bounds, *(type_bounds(call.type) for call in node.calls)))

    def _windows(self, frame: Frame, node: nodes.Window) -> Frame:
        expressions = self.context.expressions(frame)
        parted = [replace(each, partition_by=use_codes(each.partition_by, frame.texts)[0]) for each in node.calls]
        rows, errors = windows.prepare(parted, expressions)
        lazy = self.context.check_errors(frame.lazy, first_error(*errors), expressions.deferred).with_columns(rows)
        result, deferred = windows.compute(lazy, node.calls, self.context)
        width = len(node.input.types)
        inputs = [
            column_value(n, INT4 if n in frame.texts else kind, bounds)
            for n, (kind, bounds) in enumerate(zip(node.input.types, frame.bounds))
        ]
        values = [*inputs, *(windows.final_value(number, call, deferred) for number, call in enumerate(node.calls))]
        assert len(values) == width + len(node.calls)
        selected = self.context.select_values(result, values, deferred)
        return Frame(selected, tuple(each.bounds for each in values), texts=frame.texts)

    @_frame.register
    def _(self, node: nodes.AssignUniqueId) -> Frame:
        frame = self.coded_frame(node.input)
        first = self._worker << 48
        number = pl.int_range(first, pl.len() + first, dtype=pl.Int64).alias(f"c{len(node.input.types)}")
        return Frame(frame.lazy.with_columns(number), (*frame.bounds, type_bounds(INT8)), texts=frame.texts)

    @_frame.register
    def _(self, node: nodes.ProjectSet) -> Frame:
        frame = self.frame(node.input)
        items = set_functions.explodable_items(node.calls)
        if items is not None:
            return self._unnest(frame, node, items)
        expressions = self.context.expressions(frame)
        found, errors = self._lower_sets(node, expressions)
        lazy = self.context.check_errors(frame.lazy, first_error(*errors), expressions.deferred).with_columns(
            set_functions.count_columns(found)
        )
        if all(isinstance(each, set_functions.Set) for each in found):
            result = set_functions.expand_on_device(lazy, len(found), self._frames, "i")
        else:
            fetched = self._frames.compute_on_host(lazy, "set-returning functions")
            result = self._frames.from_host(set_functions.expand_on_host(fetched, found, "i"))
        place = pl.col("i")
        values = [column_value(n, kind, bounds) for n, (kind, bounds) in enumerate(zip(node.input.types, frame.bounds))]
        for n, each in enumerate(found):
            item = (each.set if isinstance(each, set_functions.HostSet) else each).item(place)
            # Beyond its own rows a shorter set is NULL.
            in_set = pl.when(place < pl.col(f"t{n}"))
            rest = tuple((suffix, in_set.then(expr).otherwise(None)) for suffix, expr in item.others)
            values.append(Value(item.type, in_set.then(item.expr).otherwise(None), item.error, item.bounds, rest))
        if node.numbered:
            values.append(Value(INT8, place + 1, None, (1, 2**62)))
        return Frame(
            self.context.select_values(result.lazy, values, DeferredSteps()), tuple(each.bounds for each in values)
        )

    def _unnest(self, frame: Frame, node: nodes.ProjectSet, items: set_functions.Items) -> Frame:
        """Unnests a column's arrays, each element beside its row."""
        empty = comparison_key(bound.Constant([], items.column.type), self._host).expr
        result = set_functions.explode(frame.lazy, items, empty, self._frames, numbered=node.numbered)
        values = [column_value(n, kind, bounds) for n, (kind, bounds) in enumerate(zip(node.input.types, frame.bounds))]
        values.append(Value(items.kind, pl.col("item"), None, type_bounds(items.kind)))
        if node.numbered:
            values.append(Value(INT8, pl.col("i") + 1, None, (1, 2**62)))
        return Frame(self.context.select_values(result, values, DeferredSteps()), tuple(each.bounds for each in values))

    def _lower_sets(
        self, node: nodes.ProjectSet, expressions: ExpressionLowering
    ) -> tuple[list[set_functions.Set | set_functions.HostSet], list[Error]]:
        """Returns the calls' sets, and the errors of those that are not evaluated on the host."""
        found: list[set_functions.Set | set_functions.HostSet] = []
        errors: list[Error] = []
        for number, call in enumerate(node.calls):
            items = set_functions.unnest_items(call)
            if items is not None:
                found.append(set_functions.HostSet(number, items))
                continue
            step_count = len(expressions.deferred.steps)
            try:
                args = [expressions.value(arg) for arg in call.args]
                result = set_functions.lower_set(call, args)
            except NotSupportedOnWorkers as reason:
                expressions.deferred.roll_back(step_count)
                found.append(set_functions.HostSet(number, self._host.rows_step(call)))
                self._host.used.append(reason.construct)
                continue
            found.append(result)
            errors += [*(arg.error for arg in args), result.error]
        return found, errors

    @_frame.register
    def _(self, node: nodes.DistinctOn) -> Frame:
        frame = self.frame(node.input)
        expressions = self.context.expressions(frame)
        keys = [expressions.value(key) for key in node.keys]
        lazy = self._sort(frame, node.order) if node.order else frame.lazy
        names = [f"k{n}" for n in range(len(keys))]
        result = self.context.check_errors(lazy, first_error(*(key.error for key in keys)), expressions.deferred)
        result = result.with_columns(key.expr.alias(name) for key, name in zip(keys, names, strict=True))
        return Frame(result.unique(names, keep="first", maintain_order=True).drop(names), frame.bounds)

    @_frame.register
    def _(self, node: nodes.SetOperation) -> Frame:
        return combine(self.coded_frame(node.left), self.coded_frame(node.right), node, self.context)

    @_frame.register
    def _(self, node: nodes.Recursive) -> Frame:
        names = [f"c{n}{s}" for n, kind in enumerate(node.types) for s in physical_columns(kind)]
        bounds = tuple(map(type_bounds, node.types))

        def step(rows: ComputedFrame) -> ComputedFrame:
            self._recursion_rows[node.number] = Frame(rows.lazy, bounds)
            self._shared.clear()
            return self._frames.compute(self.frame(node.right).lazy.select(names))

        first = self._frames.compute(self.frame(node.left).lazy.select(names))
        keys = [f"c{n}" for n in range(len(node.types))]
        return Frame(run_recursion(first, step, keys, self._frames, distinct=node.distinct), bounds)

    @_frame.register
    def _(self, node: nodes.WorkTableScan) -> Frame:
        return self._recursion_rows[node.number]

    @_frame.register
    def _(self, node: RecursionShared) -> Frame:
        if node.number not in self._shared:
            frame = self.frame(node.input)
            self._shared[node.number] = Frame(self._frames.compute(frame.lazy).lazy, frame.bounds)
        return self._shared[node.number]

    @_frame.register
    def _(self, node: Sample) -> Frame:
        frame = self.frame(node.input)
        found = self._frames.compute(frame.lazy)
        step = _prime(max(found.rows // node.rows, 1))
        return Frame(found.lazy.gather_every(step, step // 2), frame.bounds)


_COUNTS = {"LIMIT": "invalid_row_count_in_limit_clause", "OFFSET": "invalid_row_count_in_result_offset_clause"}


def _prime(least: int) -> int:
    """Returns the first odd prime from a number on, 1 for 1.

    Rows at such a distance have nothing in common in periodic data, such as the remainders of a number.
    """
    while least > 1 and (least == 2 or any(least % factor == 0 for factor in range(2, isqrt(least) + 1))):
        least += 1
    return least


def _few_on_host(lazy: pl.LazyFrame) -> pl.DataFrame | None:
    """Returns the rows of a lazy frame that has a few on the host, and leaves nothing to compute; None for others.

    They are computed further right there: where a GPU's operators run is found out only by a translation of the plan.
    """
    rows = held_rows(lazy)
    return rows.table if isinstance(rows, HostFrame) and rows.rows <= FEW_ROWS else None


def _is_large(node: nodes.Node) -> bool:
    """Returns whether rows come from a large table."""
    return any(isinstance(each, nodes.Scan) and each.table.rows >= _LARGE_ROWS for each in walk_nodes(node))


def _is_scan(node: nodes.Node) -> bool:
    """Returns whether rows are a subset of a table's, with expressions over them."""
    while isinstance(node, nodes.Filter | nodes.Project):
        node = node.input
    return isinstance(node, nodes.Scan)
