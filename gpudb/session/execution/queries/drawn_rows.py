"""Rows of a SELECT whose targets contain session calls: the engine computes the rest, the session the calls."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from gpudb.catalog.model import FIRST_USER_OID, Catalog
from gpudb.errors import FeatureNotSupported
from gpudb.session.context import Context
from gpudb.session.execution import sequence_values
from gpudb.session.execution.requests.requests import fetch_from_engine, run_on_engine
from gpudb.session.execution.routines.model_calls import call_columns
from gpudb.session.execution.routines.routine_calls import call_function, literal
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
    Call,
    Cast,
    Column,
    Constant,
    Constrained,
    Expr,
    FrameScan,
    Let,
    OutputColumn,
    Select,
    SetReturning,
    Window,
)
from gpudb.sql.traverse import has_volatile, replace_nodes
from gpudb.types import INT8, SqlType

_NEXTVAL = 1574
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
        self._inner: list[Expr] = []
        self._calls: list[tuple[Call, tuple[Expr, ...]]] = []
        targets = [replace_nodes(target, self._split) for target in query.targets]
        width = len(self._inner)
        # The columns of the calls follow those of the engine.
        self._targets = tuple(replace_nodes(target, lambda node: self._place_call(node, width)) for target in targets)
        self._calls = [(call, tuple(self._place_call(arg, width) or arg for arg in args)) for call, args in self._calls]
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

    def _split(self, node: Any) -> Any:
        """Replaces a part without calls by a column of the engine, and a call by a column numbered from -1 down."""
        if isinstance(node, Constant):
            return node
        check_always_evaluated(node)
        if is_session_call(node):
            args = tuple(
                replace_nodes(engine_argument(arg), self._split) if constant_argument(arg) is None else arg
                for arg in node.args
            )
            self._calls.append((node, args))
            return Column(self._rel, -len(self._calls), node.type, node.function.name)
        if not has_session_calls(node):
            self._inner.append(node)
            return Column(self._rel, len(self._inner) - 1, node.type)
        if isinstance(node, Constrained) and any(has_session_calls(check) for _, check in node.checks):
            if has_volatile(node.arg) or has_session_calls(node.arg):
                message = (
                    "checks of domains that call functions in PL/pgSQL over values that are drawn are not supported"
                )
                raise FeatureNotSupported(message)
            checks = ((name, put_checked_value(check, node.arg)) for name, check in node.checks)
            checked = tuple((name, replace_nodes(check, self._split)) for name, check in checks)
            return replace(node, arg=replace_nodes(node.arg, self._split), checks=checked)
        if isinstance(node, Let) and not has_session_calls(node.body):
            # The body reads what the Let binds, so the engine computes both.
            return replace(node, values=tuple(replace_nodes(value, self._split) for value in node.values))
        if isinstance(node, Aggregate | Window | SetReturning) or not isinstance(node, Expr.__args__):
            raise FeatureNotSupported("a sequence function is not supported here")
        return None

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
        if all(call.function.by_columns for call, _ in self._calls):
            return self._call_by_columns(batch)
        return self._call_by_row(batch)

    def _call_by_columns(self, batch: pa.RecordBatch) -> list[pa.Array]:
        values: list[pa.Array] = batch.columns[: self._engine_columns]
        for call, args in self._calls:
            columns = [self._column(arg, values, batch.num_rows) for arg in args]
            values.append(call_columns(self._context, call.function, columns))
        return values[self._engine_columns :]

    def _column(self, arg: Expr, values: list[pa.Array], rows: int) -> pa.Array:
        """An argument for each row."""
        if isinstance(arg, Column) and arg.rel == self._rel:
            return values[arg.index]
        if not isinstance(arg, Constant):
            raise FeatureNotSupported("this argument of a function that is called by columns is not supported")
        query = Select((OutputColumn("k1", arg.type),), (arg,))
        return pa.repeat(fetch_from_engine(self._context, query).column(0)[0], rows)

    def _draw_block(self, sequence: Any, count: int) -> pa.Array:
        parts = sequence_values.draw(self._context, sequence, count)
        # A range's end may exceed int64 although its last value does not.
        values = [np.int64(part[0]) + np.int64(part.step) * np.arange(len(part), dtype=np.int64) for part in parts]
        return pa.array(np.concatenate(values))

    def _call_by_row(self, batch: pa.RecordBatch) -> list[pa.Array]:
        results: list[list[pa.Array]] = [[] for _ in self._calls]
        for row in range(batch.num_rows):
            values = [column.slice(row, 1) for column in batch.columns[: self._engine_columns]]
            for (call, args), column in zip(self._calls, results, strict=True):
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
            for column, (call, _) in zip(results, self._calls, strict=True)
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


def _narrows(source: SqlType, target: SqlType) -> bool:
    return source == INT8 and target.name in _NARROWER
