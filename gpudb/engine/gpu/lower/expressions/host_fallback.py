"""Evaluation on the host, by DuckDB's functions, of expressions that have no lowering.

The columns that such an expression reads go to DuckDB in slices, several at a time, and its values come back as
physical columns: a step between two lazy frames. So a function is implemented once, and a worker on a GPU uses the
host's implementation. An expression is sent as a whole, so that CASE and AND guard their parts against errors in rows
that do not reach them.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeVar

import numpy as np
import polars as pl
import pyarrow as pa

from gpudb.duckdb.errors import ENGINE_ERRORS, translate_error
from gpudb.duckdb.expressions.renderer import ExpressionRenderer
from gpudb.duckdb.instance import Instance
from gpudb.duckdb.output_casts import cast_output, output_type
from gpudb.duckdb.system_relations import reads_system_catalog
from gpudb.engine.gpu.backend.base import Backend, ComputedFrame
from gpudb.engine.gpu.backend.dictionary import Dictionary, take
from gpudb.engine.gpu.backend.stopping import check_stop
from gpudb.engine.gpu.lower.expressions.arrow import to_arrow, to_physical_columns
from gpudb.engine.gpu.lower.expressions.sort_keys import sort_key
from gpudb.engine.gpu.lower.expressions.text_codes import NO_TEXTS, TEXTS, CodedTexts
from gpudb.engine.gpu.lower.values import is_keyed, physical_columns
from gpudb.errors import FeatureNotSupported
from gpudb.plan.errors import NotSupportedOnWorkers
from gpudb.sql import bound
from gpudb.sql.traverse import is_volatile, walk
from gpudb.storage.iceberg.column_layout import render_restored, stored_duckdb_type
from gpudb.types import INT8, SqlType

_T = TypeVar("_T")
SLICE_ROWS = 1 << 18
"""Rows of a slice sent to the host."""
REPEATED_ROWS = 1 << 10
"""Least rows of a frame of which equal ones are evaluated once."""
THREADS_VARIABLE = "GPUDB_FUNCTION_THREADS"
"""The environment variable with the number of slices that a worker evaluates at a time; Polars' threads without it."""
_UTC = {"UTC", "ETC/UTC", "GMT", "ETC/GMT"}
_NOT_PER_ROW = (
    bound.Aggregate, bound.Window, bound.Grouping, bound.SetReturning, bound.ScalarSubquery, bound.ArraySubquery,
    bound.Exists, bound.AnySubquery, bound.Default,
)  # fmt: skip


@dataclass
class HostFallback:
    """The host side of a statement: its parameters and time zone. `used` names the constructs that fell back.

    If `dry`, nothing is computed: only whether the host supports the expressions is checked.
    """

    parameters: Sequence[object] = ()
    timezone: str = "UTC"
    dry: bool = False
    used: list[str] = field(default_factory=list)

    @property
    def utc(self) -> bool:
        """Whether the session's time zone is UTC."""
        return self.timezone.upper() in _UTC

    def expression_step(self, name: str, expr: Any, texts: CodedTexts = NO_TEXTS) -> HostStep:
        """Returns the step that evaluates an expression into the physical columns under a name; `texts` are coded.

        NotSupportedOnWorkers if the value depends on more than one row, or the expression is volatile.
        """
        columns = _read_columns((expr,), _NOT_PER_ROW)
        coded = tuple((index, texts[index]) for index, kind in columns if index in texts and kind.name in TEXTS)
        return HostStep(name, expr.type, self._render(expr, expr.type), columns, self.timezone, coded)

    def calls_step(self, calls: Sequence[bound.Aggregate] | Sequence[bound.Window]) -> HostCalls:
        """Returns the step that evaluates aggregates of groups, or window functions; NotSupportedOnWorkers as above."""
        columns = _read_columns(calls, _NOT_PER_ROW[2:])
        sql = tuple(self._render(call, call.type) for call in calls)
        grouped = isinstance(calls[0], bound.Aggregate)
        return HostCalls(tuple(call.type for call in calls), sql, columns, self.timezone, grouped)

    def rows_step(self, call: bound.SetReturning) -> HostRows:
        """Returns the step that evaluates a set-returning function; NotSupportedOnWorkers as for `expression_step`."""
        columns = _read_columns(call.args, _NOT_PER_ROW)
        return HostRows(call.type, self._render(call, call.type), columns, self.timezone)

    def _render(self, expr: Any, kind: SqlType) -> str:
        """Renders an expression over `f` as SQL, with one value of `SqlType.duckdb`."""
        physical_columns(kind)
        renderer = ExpressionRenderer(lambda each: f"f.c{each.index}", _no_query, self.parameters)
        try:
            sql = renderer.render_packed(expr)
        except FeatureNotSupported as error:
            raise NotSupportedOnWorkers(error.message) from error
        if reads_system_catalog(cast_output(sql, kind)):
            raise NotSupportedOnWorkers("the system catalog")
        return sql


def _is_exactly_equal(kind: SqlType) -> bool:
    """Whether equal physical columns of a type are the same value: -0 and 0 are not, and keyed types have no equality
    of columns.
    """
    return not is_keyed(kind) and kind.name not in {"float4", "float8"}


Columns = tuple[tuple[int, SqlType], ...]
"""Columns of a frame, by index and type."""


def _read_columns(exprs: Sequence[Any], excluded: tuple[type, ...]) -> Columns:
    """Returns the columns that expressions read; NotSupportedOnWorkers if the expressions depend on anything else."""
    columns: dict[int, SqlType] = {}
    nodes = [node for expr in exprs for node in walk(expr)]
    inside = {node.rel for node in nodes if isinstance(node, bound.Let | bound.Fold)}
    inside |= {node.item for node in nodes if isinstance(node, bound.Fold)}
    for node in nodes:
        if isinstance(node, excluded):
            raise NotSupportedOnWorkers(type(node).__name__)
        if is_volatile(node):
            raise NotSupportedOnWorkers(f"volatile function {node.function}")
        if isinstance(node, bound.Column) and node.rel not in inside:
            if node.rel < 0:
                raise NotSupportedOnWorkers("a value of an enclosing expression")
            columns[node.index] = node.type
    return tuple(columns.items())


def _input_table(frame: pl.DataFrame, columns: Columns) -> tuple[pa.Table, str]:
    """Returns a frame's columns as an Arrow table, and the SQL that reads them from `input_rows` as DuckDB types."""
    arrays = {f"c{index}": to_arrow(frame, f"c{index}", kind) for index, kind in columns}
    arrays |= {f"c{index}": _copy(arrays[f"c{index}"]) for index, kind in columns if is_keyed(kind)}
    selected = [
        f"c{index}" if output_type(kind) == kind.duckdb else f"CAST(c{index} AS {kind.duckdb}) AS c{index}"
        for index, kind in columns
    ]
    # A table needs a column to have a row count.
    return pa.table(arrays or {"c": pa.nulls(frame.height)}), ", ".join(selected or ["c"])


@dataclass(frozen=True, slots=True)
class HostStep:
    """An expression's SQL over `f`, whose columns c0, c1, … are the frame's, by index and type; `texts` are coded."""

    name: str
    kind: SqlType
    sql: str
    columns: Columns
    timezone: str
    texts: tuple[tuple[int, Dictionary], ...] = ()

    @property
    def output_names(self) -> tuple[str, ...]:
        """The columns that it adds to a frame."""
        return tuple(self.name + suffix for suffix in physical_columns(self.kind))

    def add_to(self, result: ComputedFrame, frames: Backend) -> ComputedFrame:
        """Adds the expression's physical columns to the frame; raises the errors of its rows.

        Rows that agree in all columns that the expression reads are evaluated once.
        """
        read = [f"c{index}{suffix}" for index, kind in self.columns for suffix in physical_columns(kind)]
        if read and result.rows >= REPEATED_ROWS and all(_is_exactly_equal(kind) for _, kind in self.columns):
            return result.add_columns(frames.map_distinct(result, read, self.evaluate, "functions"))
        # A table needs a column to have a row count.
        return result.add_columns(
            self.evaluate(frames.compute_on_host(result.lazy.select(read or pl.first()), "functions"))
        )

    def evaluate(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Returns the expression's physical columns over the rows of a frame."""
        if len(self.columns) == len(self.texts) == 1:
            ((index, texts),) = self.texts
            key = self.sql, self.timezone
            known = texts.memo.get(key)
            if known is None:
                known = _KnownResults(texts.padded)
                texts.memo.put(key, known)
            columns = known.take(frame[f"c{index}"], f"c{index}", self._evaluate_slices)
        else:
            taken = [take(texts.padded, pl.col(f"c{index}")).alias(f"c{index}") for index, texts in self.texts]
            columns = self._evaluate_slices(frame.with_columns(taken))
        return columns.rename({suffix: self.name + suffix for suffix in columns.columns})

    def _evaluate_slices(self, frame: pl.DataFrame) -> pl.DataFrame:
        parts = _map_slices(frame.height, lambda start: self._evaluate_slice(frame.slice(start, SLICE_ROWS)))
        return pl.concat(parts) if parts else pl.DataFrame(schema=physical_columns(self.kind))

    def _evaluate_slice(self, frame: pl.DataFrame) -> pl.DataFrame:
        table, selected = _input_table(frame, self.columns)
        values = f"SELECT {self.sql} AS v0 FROM (SELECT {selected} FROM input_rows) AS f"
        return _evaluate(values, table, (self.kind,), self.timezone)[0]


class _KnownResults:
    """The results of an expression for those texts of a dictionary for which it has been evaluated. Thread-safe."""

    def __init__(self, texts: pl.Series) -> None:
        self._texts = texts
        self._places = np.full(len(texts), -1, np.int64)
        self._results: pl.DataFrame | None = None
        self._lock = threading.Lock()

    def take(self, codes: pl.Series, name: str, evaluate: Callable[[pl.DataFrame], pl.DataFrame]) -> pl.DataFrame:
        """Returns the results of codes; new texts are evaluated, in a frame of one column of a name."""
        numbers = codes.fill_null(len(self._texts) - 1).to_numpy()
        with self._lock:
            new = np.unique(numbers[self._places[numbers] < 0])
            if len(new) or self._results is None:
                made = evaluate(self._texts[new].alias(name).to_frame())
                before = 0 if self._results is None else self._results.height
                self._results = made if self._results is None else pl.concat([self._results, made])
                self._places[new] = np.arange(before, before + len(new))
            found: pl.DataFrame = self._results[self._places[numbers]]
            return found


@dataclass(frozen=True, slots=True)
class HostCalls:
    """The SQL of aggregates (`grouped`) or window functions over the rows `f` of a frame."""

    kinds: tuple[SqlType, ...]
    sql: tuple[str, ...]
    columns: Columns
    timezone: str
    grouped: bool

    def evaluate(self, frame: pl.DataFrame, groups: pl.Series | None) -> list[pl.DataFrame]:
        """Evaluates the calls, in the order of the groups' numbers.

        A call has a row for each group, or for each of a window's rows. Without groups the result is one row.
        """
        table, selected = _input_table(frame, self.columns)
        outputs = [f"{sql} AS v{number}" for number, sql in enumerate(self.sql)]
        if groups is None:
            values = f"SELECT {', '.join(outputs)} FROM (SELECT {selected} FROM input_rows) AS f"
            return _evaluate(values, table, self.kinds, self.timezone)
        table = table.append_column("g", groups.to_arrow())
        values = f"SELECT f.g, {', '.join(outputs)} FROM (SELECT g, {selected} FROM input_rows) AS f"
        values += " GROUP BY f.g" if self.grouped else ""
        return _evaluate(values, table, self.kinds, self.timezone, " ORDER BY q.g")

    def nulls(self, rows: int) -> list[pl.DataFrame]:
        """Returns NULLs as the results of the calls."""
        return [to_physical_columns(pa.nulls(rows), kind) for kind in self.kinds]


@dataclass(frozen=True, slots=True)
class HostRows:
    """The SQL of a set-returning function over the rows `f` of a frame."""

    kind: SqlType
    sql: str
    columns: Columns
    timezone: str

    def evaluate(self, frame: pl.DataFrame) -> tuple[pl.Series, pl.DataFrame]:
        """Returns the number of result rows for each of the frame's rows, and all result rows in that order."""
        counts = [pl.Series(dtype=pl.Int64)]
        parts = [pl.DataFrame(schema=physical_columns(self.kind))]
        made = _map_slices(frame.height, lambda start: self._evaluate_slice(frame.slice(start, SLICE_ROWS)))
        for count, rows in made:
            counts.append(count)
            parts.append(rows)
        return pl.concat(counts), pl.concat(parts)

    def _evaluate_slice(self, frame: pl.DataFrame) -> tuple[pl.Series, pl.DataFrame]:
        table, selected = _input_table(frame, self.columns)
        table = table.append_column("g", pa.array(np.arange(frame.height)))
        values = f"SELECT f.g AS v0, {self.sql} AS v1 FROM (SELECT g, {selected} FROM input_rows) AS f"
        places, rows = _evaluate(values, table, (INT8, self.kind), self.timezone)
        return pl.Series(np.bincount(places[""].to_numpy(), minlength=frame.height)), rows


def restore_columns(array: pa.ChunkedArray, kind: SqlType) -> pl.DataFrame:
    """Converts a column in its storage representation (`storage.iceberg.column_layout`) to physical columns."""
    values = f"SELECT {render_restored(kind, 'c')} AS v0 FROM input_rows"

    def restore_slice(start: int) -> pl.DataFrame:
        table = pa.table({"c": _copy(array.slice(start, SLICE_ROWS))})
        return _evaluate(values, table, (kind,), "UTC")[0]

    return pl.concat([pl.DataFrame(schema=physical_columns(kind)), *_map_slices(len(array), restore_slice)])


def repeat_text_value(text: str, kind: SqlType, rows: int) -> pl.DataFrame:
    """Repeats the value that DuckDB casts from a text to a type's storage representation, as physical columns."""
    quoted = text.replace("'", "''")
    value = render_restored(kind, f"CAST('{quoted}' AS {stored_duckdb_type(kind)})")
    return _evaluate(f"SELECT {value} AS v0 FROM input_rows", pa.table({"c": pa.nulls(rows)}), (kind,), "UTC")[0]


def _map_slices(rows: int, evaluate: Callable[[int], _T]) -> list[_T]:
    """Evaluates every slice, given its first row, on all of this process's threads for functions.

    Raises the error of the first slice that has one, and StatementEnded once the statement has ended.
    """
    starts = range(0, rows, SLICE_ROWS)

    def evaluate_unless_ended(start: int) -> _T:
        check_stop()
        return evaluate(start)

    if len(starts) <= 1:
        return [evaluate_unless_ended(start) for start in starts]
    context = copy_context()
    running = [_threads().submit(context.copy().run, evaluate_unless_ended, start) for start in starts]
    try:
        return [each.result() for each in running]
    finally:
        for each in running:
            each.cancel()


@cache
def _count_threads() -> int:
    return int(os.environ.get(THREADS_VARIABLE, 0)) or pl.thread_pool_size()


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_count_threads(), thread_name_prefix="functions")


def _copy(array: Any) -> Any:
    """Copies an array: DuckDB cannot read structs at an offset."""
    return array.take(np.arange(len(array)))


def _evaluate(
    values: str, table: pa.Table, kinds: Sequence[SqlType], timezone: str, order: str = ""
) -> list[pl.DataFrame]:
    """Evaluates a SELECT of columns v0, v1, …, each of `SqlType.duckdb`, as physical columns; `table` is its input."""
    outputs: list[str] = []
    for number, kind in enumerate(kinds):
        outputs.append(f"{cast_output(f'q.v{number}', kind)} AS v{number}")
        if is_keyed(kind):
            value = f"(q.v{number}).v" if kind.is_carried else f"q.v{number}"
            outputs.append(f"(CASE WHEN {value} IS NOT NULL THEN {sort_key(value, kind)} END) AS k{number}")
    instance = _instance()
    cursor = instance.cursors.acquire(timezone)
    try:
        cursor.register("input_rows", table)
        result = cursor.sql(f"SELECT {', '.join(outputs)} FROM ({values}) AS q{order}").to_arrow_table()
    except ENGINE_ERRORS as error:
        raise translate_error(error) from error
    finally:
        cursor.unregister("input_rows")
        instance.cursors.release(timezone, cursor)

    def column_array(name: str) -> pa.Array:
        return result.column(name).combine_chunks()

    results: list[pl.DataFrame] = []
    for number, kind in enumerate(kinds):
        value = column_array(f"v{number}")
        value = value if value.type == kind.arrow else value.cast(kind.arrow)
        results.append(to_physical_columns(value, kind, column_array(f"k{number}") if is_keyed(kind) else None))
    return results


@cache
def _instance() -> Instance:
    """Returns this process's DuckDB for functions, without tables."""
    threads = _count_threads()  # each has a slice and its values
    instance = Instance({"python_enable_replacements": False, "memory_limit": f"{threads}GiB", "threads": threads})
    instance.define()
    return instance


def _no_query(query: bound.Query) -> str:
    raise NotSupportedOnWorkers("a subquery inside an expression")
