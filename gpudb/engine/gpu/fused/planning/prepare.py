"""Binds a fused part of a plan to packed columns and build sides: its pipeline, arrays and result columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from math import prod
from typing import Any

import numpy as np

from gpudb.engine.gpu.backend.base import ComputedFrame
from gpudb.engine.gpu.fused.codegen.folds import check_folds
from gpudb.engine.gpu.fused.columns.packed_column import Encoding
from gpudb.engine.gpu.fused.ir.pipeline import (
    BOOLEAN,
    KEY_LIMIT,
    Expr,
    Field,
    Filter,
    GroupSink,
    IsNull,
    Key,
    Literal,
    Lookup,
    Pipeline,
    RowSink,
)
from gpudb.engine.gpu.fused.ir.step_order import estimate_few_after, order_steps
from gpudb.engine.gpu.fused.ir.traversal import can_fail
from gpudb.engine.gpu.fused.numpy_backend import executor
from gpudb.engine.gpu.fused.planning.prepared_pipeline import ColumnSource, PreparedPipeline
from gpudb.engine.gpu.fused.planning.top_n import TopN, ascending_rank, needed_rows
from gpudb.engine.gpu.fused.translate import aggregate_states, lookup_tables
from gpudb.engine.gpu.fused.translate.build_sides import BuildSide
from gpudb.engine.gpu.fused.translate.mapping_tables import MappingTables
from gpudb.engine.gpu.fused.translate.result_columns import ResultColumn
from gpudb.engine.gpu.fused.translate.translator import Scope, Translator
from gpudb.engine.gpu.fused.translate.typed_values import SUPPORTED, TEXT, DictionaryRequired, NotFused, TypedValue
from gpudb.plan.tree import nodes
from gpudb.plan.tree.fused_nodes import BuildSideScan, Fused
from gpudb.plan.tree.stage_nodes import Partial
from gpudb.sql import bound
from gpudb.sql.traverse import split_conjuncts
from gpudb.types import SqlType
from gpudb.types.facts import FLOATS

MAX_DENSE_GROUPS = 1 << 24
"""Maximum groups of a dense array, for tables of at least as many rows; else 65,536."""


def prepare(
    fused: Fused, source: ColumnSource, builds: Sequence[ComputedFrame], parameters: Sequence[object]
) -> PreparedPipeline:
    """Binds a fused part; `builds` are its build sides' rows. NotFused where the data do not fit a kernel."""
    try:
        return _Preparation(fused, source, builds, parameters, raw=True).prepare()
    except DictionaryRequired:
        return _Preparation(fused, source, builds, parameters, raw=False).prepare()


class _Preparation:
    def __init__(
        self,
        fused: Fused,
        source: ColumnSource,
        builds: Sequence[ComputedFrame],
        parameters: Sequence[object],
        *,
        raw: bool,
    ) -> None:
        self._allows_raw = raw
        self._raw_fields: list[int] = []
        self._fused, self._source, self._builds, self._parameters = fused, source, builds, parameters
        self._tables = MappingTables()
        self._fields: list[int] = []
        self._steps: list[Filter | Callable[[], Lookup]] = []
        self._selectivities: dict[int, float] = {}
        self._leaving: dict[int, float] = {}
        self._arrays: list[tuple[np.ndarray[Any, Any], ...]] = []
        self._max_rows = source.rows

    def prepare(self) -> PreparedPipeline:
        root = self._fused.root
        sink: GroupSink | RowSink
        top = None
        if isinstance(root, Partial):
            sink, finish = self._group_sink(root.aggregate, self._add_steps(root.input))
        elif isinstance(root, nodes.Sort):
            scope = self._add_steps(root.input)
            sink, finish = self._row_sink(scope, len(root.types))
            if any(map(can_fail, sink.values)):
                raise NotFused("a top-N of values that can fail")
            top = self._top_n(root, scope)
        else:
            sink, finish = self._row_sink(self._add_steps(root), len(root.types))
        segments = self._source.segments(self._fields, self._raw_fields)
        encodings = (
            tuple(column.encoding for column in segments[0].columns) if segments else (Encoding(1),) * len(self._fields)
        )
        made = [step if isinstance(step, Filter) else step() for step in self._steps]
        steps = order_steps(made, self._selectivities, encodings)
        tables = tuple((made.itemsize, valid is not None) for made, valid in self._tables.entries)
        # If many rows are output, writing them dominates the cost.
        few = estimate_few_after(steps, self._leaving, last=isinstance(sink, RowSink) and top is None)
        pipeline = Pipeline(encodings, steps, sink, tables, few)
        fields, arrays, entries = tuple(self._fields), tuple(self._arrays), tuple(self._tables.entries)
        return PreparedPipeline(pipeline, fields, segments, arrays, entries, finish, top, tuple(self._raw_fields))

    def _translator(self, scope: Scope) -> Translator:
        return Translator(scope, self._tables, self._parameters)

    # -------------------------------------------------------------------------------------------- the spine

    def _add_steps(self, node: nodes.Node) -> Scope:
        match node:
            case nodes.Scan():
                scope: Scope = [_defer(self._read_field, index, kind) for index, kind in enumerate(node.types)]
                self._add_filters(node.filter, scope)
                return scope
            case nodes.Filter():
                scope = self._add_steps(node.input)
                self._add_filters(node.condition, scope)
                return scope
            case nodes.Project():
                translator = self._translator(self._add_steps(node.input))
                return [_defer(translator.translate_projected, expr) for expr in node.exprs]
            case nodes.Join():
                return self._add_lookup(node)
        raise NotFused(type(node).__name__)

    def _read_field(self, index: int, kind: SqlType) -> TypedValue:
        if kind.name not in SUPPORTED or kind.is_carried:
            raise NotFused(f"a column of type {kind.plain}")
        facts = self._source.facts(index, raw=self._allows_raw)
        if index not in self._fields:
            self._fields.append(index)
            if facts.raw_ascii is not None:
                self._raw_fields.append(index)
        field = Field(facts.bounds, facts.nullable, self._fields.index(index))
        return TypedValue(kind, field, facts.dictionary, raw_ascii=facts.raw_ascii)

    def _add_filters(self, condition: Any | None, scope: Scope) -> None:
        translator = self._translator(scope)
        for part in split_conjuncts(condition):
            made = translator.translate_condition(part)
            true = isinstance(made, IsNull) and made.negated and not made.arg.nullable
            if not true or can_fail(made):
                self._steps.append(Filter(made))

    def _add_lookup(self, node: nodes.Join) -> Scope:
        build_is_left = isinstance(node.left, BuildSideScan)
        spine, built = (node.right, node.left) if build_is_left else (node.left, node.right)
        assert isinstance(built, BuildSideScan)
        scope = self._add_steps(spine)
        kind: Any = node.kind.lower()
        side = BuildSide(len(self._arrays), self._builds[built.number], built.types, kind)
        probes = [self._translator(scope).translate(pair[1 if build_is_left else 0]) for pair in node.keys]
        own = [_require_column(pair[0 if build_is_left else 1]) for pair in node.keys]
        keys = [self._build_key(side, key, probe) for key, probe in zip(own, probes, strict=True)]
        if node.null_aware and side.rows.rows:
            # A text that the table lacks has no code, but is not NULL.
            if side.rows.null_count(f"c{own[0].index}"):
                self._steps.append(Filter(Literal(BOOLEAN, False, 0)))
            elif probes[0].expr.nullable:
                self._steps.append(Filter(IsNull(BOOLEAN, False, probes[0].expr, True)))
        self._arrays.append(())
        halved = kind in {"semi", "anti"}
        index = lookup_tables.index_keys(keys, distinct=halved and node.condition is None)
        if not halved:
            self._max_rows *= index.most
        other: Scope = [_defer(side.value, index) for index in range(len(built.types))]
        joined = [*other, *scope] if build_is_left else [*scope, *other]
        condition = self._match_condition(node.condition, joined) if halved or kind == "left" else None
        passing = len(index.rows) / max(built.base, len(index.rows), 1)
        self._selectivities[side.number] = 1.0 if kind == "left" else 1 - passing if kind == "anti" else passing
        # Few rows are estimated to remain only where the keys are also few of those that rows can have.
        key_range = prod(high - low + 1 for low, high in (probe.bounds for probe in probes))
        unknown = kind in {"left", "anti"} or (halved and index.table is not None)
        self._leaving[side.number] = 1.0 if unknown else max(passing, len(index.rows) / key_range)

        @cache
        def step() -> Lookup:
            made = lookup_tables.build_lookup_table(index, side.columns, selective=kind == "inner" and passing < 0.5)
            self._arrays[side.number] = made.arrays
            exprs = tuple(probe.expr for probe in probes)
            return Lookup(
                side.number, kind, exprs, made.lows, made.sizes, made.hashed, made.unique,
                made.widths, made.biases, made.bases, made.presence, condition,
            )  # fmt: skip

        self._steps.append(step)
        if halved:
            return scope
        if kind != "left":
            self._add_filters(node.condition, joined)
        return joined

    def _match_condition(self, condition: Any | None, scope: Scope) -> Expr | None:
        """Translates a condition on matches.

        It must not fail, since how many matches it is evaluated for is undefined.
        """
        if condition is None:
            return None
        made = self._translator(scope).translate_condition(condition)
        if can_fail(made):
            raise NotFused("a join condition that can fail")
        return made

    def _build_key(self, side: BuildSide, key: bound.Column, probe: TypedValue) -> lookup_tables.BuildColumn:
        kind = side.types[key.index]
        if kind.name in FLOATS or kind.name not in SUPPORTED or kind.is_carried or probe.type.is_carried:
            raise NotFused(f"a key of type {kind.plain}")
        if probe.scale != (kind.numeric_digits[1] if kind.name == "numeric" else 0):
            raise NotFused("keys of different scales")
        if kind.name in TEXT:
            if probe.dictionary is None:
                raise NotFused("a text key without a dictionary")
            return side.text_column(f"c{key.index}", kind, probe.dictionary)
        return side.column(f"c{key.index}", kind)

    # -------------------------------------------------------------------------------------------- sinks

    def _group_sink(
        self, node: nodes.Aggregate, scope: Scope
    ) -> tuple[GroupSink, Callable[[executor.Outcome], list[ResultColumn]]]:
        translator = self._translator(scope)
        columns = []
        for expr in node.keys:
            value = translator.translate(expr)
            low, high = value.bounds
            if value.type.name in FLOATS or (value.type.is_carried and not isinstance(value.display_scale, int)):
                raise NotFused(f"a grouping key of type {value.type.plain}")
            if max(-low - 1, high) >= 2**63:
                raise NotFused("a grouping key of more than 64 bits")
            columns.append(aggregate_states.KeyColumn(value, low, high - low + 1 + value.expr.nullable))
        accumulators = aggregate_states.Accumulators(self._max_rows)
        calls = [
            aggregate_states.translate_aggregate(call, n, translator, accumulators, self._tables)
            for n, call in enumerate(node.calls)
        ]
        keys = tuple(Key(each.value.expr, each.low, each.size) for each in columns)
        sink = GroupSink(keys, tuple(accumulators.accumulators), "one")
        if keys:
            if any(key.size >= KEY_LIMIT for key in keys):
                raise NotFused("a grouping key of more than 62 bits")
            dense = sink.slots <= max(1 << 16, min(MAX_DENSE_GROUPS, self._source.rows))
            sink = replace(sink, storage="dense" if dense else "hash")
        check_folds(sink)

        def finish(outcome: executor.Outcome) -> list[ResultColumn]:
            assert outcome.grouped is not None
            return aggregate_states.state_columns(outcome.grouped, sink, columns, calls)

        return sink, finish

    def _row_sink(self, scope: Scope, width: int) -> tuple[RowSink, Callable[[executor.Outcome], list[ResultColumn]]]:
        values = [make() for make in scope[:width]]
        if any(value.raw_ascii is not None for value in values):
            raise DictionaryRequired("a text column in the output")
        if any(value.type.is_carried and not isinstance(value.display_scale, int) for value in values):
            raise NotFused("a numeric of varying scale")

        def finish(outcome: executor.Outcome) -> list[ResultColumn]:
            return [
                column
                for n, (value, (numbers, valid)) in enumerate(zip(values, outcome.rows, strict=True))
                for column in aggregate_states.to_result_columns(value, numbers, valid, f"c{n}")
            ]

        return RowSink(tuple(value.expr for value in values)), finish

    def _top_n(self, node: nodes.Sort, scope: Scope) -> TopN:
        value = self._translator(scope).translate(node.keys[0].expr)
        expr = value.expr
        if value.dictionary is not None:
            expr, _ = aggregate_states.rank_codes(expr, value.dictionary, self._tables)
        rank = ascending_rank(expr, descending=node.keys[0].descending, nulls_first=node.keys[0].nulls_first)
        if can_fail(rank):
            raise NotFused("an ordering expression that can fail")
        limit = needed_rows(node, self._parameters)
        if limit is None:
            raise NotFused("a limit that is not constant")
        return TopN(rank, limit)


def _require_column(key: bound.Expr) -> bound.Column:
    """Returns a build side's key, which must be one of its columns."""
    if not isinstance(key, bound.Column):
        raise NotFused("a computed key of a build side")
    return key


def _defer(make: Callable[..., TypedValue], *args: Any) -> Callable[[], TypedValue]:
    found: list[TypedValue] = []

    def value() -> TypedValue:
        if not found:
            found.append(make(*args))
        return found[0]

    return value
