"""Rows of a SELECT whose targets contain session calls: the engine computes the rest, the session the calls."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby
from typing import Any

import numpy as np
import pyarrow as pa

from gpudb.catalog.model import FIRST_USER_OID, Catalog
from gpudb.errors import FeatureNotSupported
from gpudb.session.context import Context
from gpudb.session.execution import sequence_values
from gpudb.session.execution.requests.requests import run_on_engine
from gpudb.session.execution.routines.literals import get_literal_value, literal, make_table
from gpudb.session.execution.routines.routine_calls import call_columns, call_function, takes_columns
from gpudb.session.execution.session_calls import (
    call_session_function,
    check_always_evaluated,
    constant_argument,
    engine_argument,
    has_session_calls,
    is_session_call,
    put_checked_value,
)
from gpudb.sql.bound import (
    Aggregate,
    BoolOp,
    Call,
    Case,
    Cast,
    Choice,
    Column,
    Constant,
    Constrained,
    Expr,
    FrameScan,
    Let,
    OutputColumn,
    Query,
    Select,
    SetReturning,
    Window,
)
from gpudb.sql.fallibility import may_fail
from gpudb.sql.traverse import has_volatile, replace_nodes, walk
from gpudb.types import INT8, SqlType

_NEXTVAL = 1574
_ROWS = 1 << 16
"""The rows that a language is handed at once."""
_WHOLE = (Aggregate, Window, SetReturning, *Query.__args__)
_NARROWER = frozenset({"int2", "int4"})


class DrawnRows:
    """Stream of the rows of a Select whose targets contain session calls.

    The engine computes the parts of the targets without calls. The results of the calls are added to each batch as
    further columns, and the targets are computed over it: by the engine, unless each is a column or a narrower integer.
    """

    def __init__(
        self, context: Context, query: Select, frames: Mapping[str, pa.Table], rel: int, snapshot: Catalog
    ) -> None:
        self._context = context
        self._frames = frames
        self._name = f"gpudb drawn rows {rel}"
        self._rel = rel
        self._grouped = query.grouped
        self._inner: list[Expr] = []
        self._calls: list[tuple[Call, tuple[Expr, ...]]] = []
        targets = [replace_nodes(target, self._split) for target in query.targets]
        width = len(self._inner)
        # The columns of the calls follow those of the engine.
        self._targets = tuple(replace_nodes(target, lambda node: self._place_call(node, width)) for target in targets)
        self._calls = [(call, tuple(self._place_call(arg, width) or arg for arg in args)) for call, args in self._calls]
        routines = {call.function for call, _ in self._calls if call.function.oid >= FIRST_USER_OID}
        self._whole = {each for each in routines if takes_columns(context, each)}
        inner = self._inner or [Constant(1, INT8)]
        types = [expr.type for expr in inner]
        outputs = tuple(OutputColumn(f"k{n}", type_) for n, type_ in enumerate(types, 1))
        self._engine_columns = len(inner) if self._inner else 0
        engine_query = replace(query, columns=outputs, targets=tuple(inner))
        types = [*types[: self._engine_columns], *(call.type for call, _ in self._calls)]
        self._columns = tuple(OutputColumn(f"k{n}", type_) for n, type_ in enumerate(types, 1))
        self._outputs = query.columns
        self._stream = run_on_engine(context, engine_query, frames, snapshot)
        self.schema = pa.schema([pa.field(f"c{n}", c.type.arrow) for n, c in enumerate(query.columns, 1)])

    def _split(self, node: Any, *, always: bool = True) -> Any:
        """Replaces a part without calls by a column of the engine, and a call by a column numbered from -1 down.

        Of what may be left out (not `always`) the engine computes no part in advance that may fail.
        """
        if isinstance(node, Constant) or (isinstance(node, Column) and node.rel == self._rel):
            return node
        check_always_evaluated(node)
        split = partial(self._split, always=always)
        if is_session_call(node):
            # Calls are for all rows
            args = tuple(
                replace_nodes(engine_argument(arg), self._split) if constant_argument(arg) is None else arg
                for arg in node.args
            )
            self._calls.append((node, args))
            return Column(self._rel, -len(self._calls), node.type, node.function.name)
        if not has_session_calls(node) and not self._reads_results(node):
            if not always and self._has_parts(node) and may_fail(node):
                return None
            self._inner.append(node)
            return Column(self._rel, len(self._inner) - 1, node.type)
        if isinstance(node, Constrained) and any(has_session_calls(check) for _, check in node.checks):
            if has_volatile(node.arg) or has_session_calls(node.arg):
                message = (
                    "checks of domains that call functions in PL/pgSQL over values that are drawn are not supported"
                )
                raise FeatureNotSupported(message)
            checks = ((name, put_checked_value(check, node.arg)) for name, check in node.checks)
            checked = tuple((name, replace_nodes(check, split)) for name, check in checks)
            return replace(node, arg=replace_nodes(node.arg, split), checks=checked)
        if isinstance(node, Let):
            # What it binds has become expressions over columns, which have one value wherever the body reads them
            values = [replace_nodes(value, split) for value in node.values]
            return replace_nodes(replace_nodes(node.body, partial(_put_values, node.rel, values)), split)
        if isinstance(node, Aggregate | Window | SetReturning) or not isinstance(node, Expr.__args__):
            raise FeatureNotSupported("a sequence function is not supported here")
        if isinstance(node, Case | Choice | BoolOp) and always:
            return replace_nodes(node, lambda each: None if each is node else self._split(each, always=False))
        return None

    def _reads_results(self, node: Any) -> bool:
        """Whether a part reads columns of the engine or of calls."""
        return any(isinstance(each, Column) and each.rel == self._rel for each in walk(node))

    def _has_parts(self, node: Any) -> bool:
        """Whether the session may take a part of the engine's query apart: not what its groups or queries make."""
        return not self._grouped and not any(isinstance(each, _WHOLE) for each in walk(node))

    def _place_call(self, node: Any, width: int) -> Any:
        if isinstance(node, Column) and node.rel == self._rel and node.index < 0:
            return replace(node, index=width - node.index - 1)
        return None

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        for batch in self._stream:
            arrays = [*batch.columns[: self._engine_columns], *self._call_results(batch)]
            yield from self._project(pa.Table.from_arrays(arrays, names=[column.name for column in self._columns]))

    def _call_results(self, batch: pa.RecordBatch) -> list[pa.Array]:
        references = [
            constant_argument(args[0]) if call.function.oid == _NEXTVAL else None for call, args in self._calls
        ]
        if None not in references:
            sequences = [sequence_values.named_sequence(self._context, reference) for reference in references]
            if len({sequence.oid for sequence in sequences}) == len(sequences):
                return [self._draw_block(sequence, batch.num_rows) for sequence in sequences]
        columns = list(batch.columns[: self._engine_columns])
        for is_whole, group in groupby(self._calls, lambda each: each[0].function in self._whole):
            calls = list(group)
            if is_whole:
                for call, args in calls:
                    columns.append(self._call_whole(call, args, columns, batch.num_rows))
            else:
                columns += self._call_by_row(calls, columns, batch.num_rows)
        return columns[self._engine_columns :]

    def _call_whole(self, call: Call, args: Sequence[Expr], columns: Sequence[pa.Array], count: int) -> pa.Array:
        """Calls a function whose language takes columns, for a slice of rows after the other."""
        results = []
        for start in range(0, count, _ROWS):
            self._context.cancel.check()
            size = min(_ROWS, count - start)
            arguments = [self._column(arg, columns, start, size) for arg in args]
            results.append(call_columns(self._context, call.function, arguments, size))
        return pa.concat_arrays(results) if results else pa.nulls(0, call.type.arrow)

    def _column(self, arg: Expr, columns: Sequence[pa.Array], start: int, size: int) -> pa.Array:
        if isinstance(arg, Column) and arg.rel == self._rel:
            return columns[arg.index].slice(start, size)
        value = make_table([arg.type], [(get_literal_value(self._context, arg),)]).column(0).combine_chunks()
        return value.take(pa.array(np.zeros(size, np.int64)))

    def _draw_block(self, sequence: Any, count: int) -> pa.Array:
        parts = sequence_values.draw(self._context, sequence, count)
        # A range's end may exceed int64 although its last value does not.
        values = [np.int64(part[0]) + np.int64(part.step) * np.arange(len(part), dtype=np.int64) for part in parts]
        return pa.array(np.concatenate(values))

    def _call_by_row(
        self, calls: Sequence[tuple[Call, tuple[Expr, ...]]], columns: Sequence[pa.Array], count: int
    ) -> list[pa.Array]:
        results: list[list[pa.Array]] = [[] for _ in calls]
        for row in range(count):
            values = [column.slice(row, 1) for column in columns]
            for (call, args), column in zip(calls, results, strict=True):
                if call.function.oid >= FIRST_USER_OID:
                    literals = [self._literal(arg, values) for arg in args]
                    value = call_function(self._context, call.function, literals).column(0).combine_chunks()
                else:
                    known = [self._argument(arg, values) for arg in args]
                    value = pa.array([call_session_function(self._context, call.function.name, known)], call.type.arrow)
                column.append(value)
                values.append(value)
        return [
            pa.concat_arrays(column) if column else pa.nulls(0, call.type.arrow)
            for column, (call, _) in zip(results, calls, strict=True)
        ]

    def _literal(self, arg: Expr, values: list[pa.Array]) -> Expr:
        if isinstance(arg, Column) and arg.rel == self._rel:
            return literal(self._context, arg.type, values[arg.index])
        if not isinstance(arg, Constant):
            raise FeatureNotSupported("this argument of a function whose statements are carried out is not supported")
        return arg

    def _argument(self, arg: Expr, values: list[pa.Array]) -> object:
        if isinstance(arg, Column) and arg.rel == self._rel:
            return values[arg.index][0].as_py()
        found = constant_argument(arg)
        if found is None and not (isinstance(arg, Constant) and arg.value is None):
            raise FeatureNotSupported("this argument of a sequence function is not supported")
        return found

    def _project(self, rows: pa.Table) -> Iterator[pa.RecordBatch]:
        """The targets over the columns of the engine and of the calls."""
        columns = [self._simple_target(rows, target) for target in self._targets]
        if all(column is not None for column in columns):
            yield from pa.Table.from_arrays(columns, schema=self.schema).to_batches()
            return
        query = Select(self._outputs, self._targets, FrameScan(self._rel, self._name, self._columns))
        stream = run_on_engine(self._context, query, {**self._frames, self._name: rows})
        try:
            yield from stream
        finally:
            stream.close()

    def _simple_target(self, rows: pa.Table, target: Expr) -> pa.ChunkedArray | None:
        """A target that is a column, or an integer column cast to a narrower type; None for any other."""
        if isinstance(target, Column):
            return rows.column(target.index)
        if isinstance(target, Cast) and isinstance(target.arg, Column) and _narrows(target.arg.type, target.type):
            try:
                return rows.column(target.arg.index).cast(target.type.arrow)
            except pa.ArrowInvalid:
                return None  # the engine raises the SQL error
        return None

    def close(self) -> None:
        """Ends the engine's query."""
        self._stream.close()


def _put_values(rel: int, values: Sequence[Expr], node: Any) -> Any:
    """Returns the value of a column of a Let; None for any other node."""
    return values[node.index] if isinstance(node, Column) and node.rel == rel else None


def _narrows(source: SqlType, target: SqlType) -> bool:
    return source == INT8 and target.name in _NARROWER
