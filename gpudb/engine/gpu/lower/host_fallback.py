"""Host functions: expressions that no lane holds an operation for, computed by the embedded engine's functions.

The columns that such an expression reads go to DuckDB in slices, and its values come back as lanes: a step between two
lazy frames. So a function is written once, and a worker on a GPU takes it from the host in the same way. An expression
goes as a whole, so that CASE and AND keep their parts from failing where no row gets to them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from gpudb.duckdb.errors import translated
from gpudb.duckdb.expressions import Expressions as Rendering
from gpudb.duckdb.output_casts import leaving, outside
from gpudb.engine.cpu.engine import ENGINE_ERRORS
from gpudb.engine.cpu.instance import Instance
from gpudb.engine.cpu.system_catalog import SystemCatalog
from gpudb.engine.gpu.backend.base import Frames, Held
from gpudb.engine.gpu.lower.arrow import column, to_lanes
from gpudb.engine.gpu.lower.sort_keys import sort_key
from gpudb.engine.gpu.lower.values import is_keyed, lanes
from gpudb.errors import FeatureNotSupported
from gpudb.plan.errors import NotCarried
from gpudb.sql import bound
from gpudb.sql.traverse import walk
from gpudb.storage.iceberg.column_layout import restored, stored_duckdb
from gpudb.types import INT8, SqlType

SLICE = 1 << 18
"""Rows that go to the host at a time."""
_MEMORY = "1GiB"
_UTC = {"UTC", "ETC/UTC", "GMT", "ETC/GMT"}
_ELSEWHERE = (
    bound.Aggregate, bound.Window, bound.Grouping, bound.SetReturning, bound.ScalarSubquery, bound.ArraySubquery,
    bound.Exists, bound.AnySubquery, bound.Default,
)  # fmt: skip


@dataclass
class Host:
    """The host side of a statement: its parameters and its session's time zone. `used` names what went there.

    A `dry` one is asked only whether it could: nothing is computed of its groups.
    """

    parameters: Sequence[object] = ()
    timezone: str = "UTC"
    dry: bool = False
    used: list[str] = field(default_factory=list)

    @property
    def utc(self) -> bool:
        """Whether the session's time zone is UTC."""
        return self.timezone.upper() in _UTC

    def step(self, name: str, expr: Any) -> HostStep:
        """The step that makes an expression's value the lanes under a name.

        NotCarried for what belongs to no single row, or draws another value each time.
        """
        columns = _read((expr,), _ELSEWHERE)
        return HostStep(name, expr.type, self._rendered(expr, expr.type), columns, self.timezone)

    def calls(self, calls: Sequence[bound.Aggregate] | Sequence[bound.Window]) -> HostCalls:
        """The step that computes aggregates of groups, or window functions; NotCarried as for `step`."""
        columns = _read(calls, _ELSEWHERE[2:])
        sql = tuple(self._rendered(call, call.type) for call in calls)
        grouped = isinstance(calls[0], bound.Aggregate)
        return HostCalls(tuple(call.type for call in calls), sql, columns, self.timezone, grouped)

    def rows(self, call: bound.SetReturning) -> HostRows:
        """The step that computes a set-returning function's rows; NotCarried as for `step`."""
        columns = _read(call.args, _ELSEWHERE)
        return HostRows(call.type, self._rendered(call, call.type), columns, self.timezone)

    def _rendered(self, expr: Any, kind: SqlType) -> str:
        """An expression's SQL over `f`, one value of `SqlType.duckdb`."""
        lanes(kind)
        rendering = Rendering(lambda each: f"f.c{each.index}", _no_query, self.parameters)
        try:
            sql = rendering.whole(expr)
        except FeatureNotSupported as error:
            raise NotCarried(error.message) from error
        if SystemCatalog.needed(leaving(sql, kind)):
            raise NotCarried("the system catalog")
        return sql


Columns = tuple[tuple[int, SqlType], ...]
"""Columns of a frame, by index and type."""


def _read(exprs: Sequence[Any], elsewhere: tuple[type, ...]) -> Columns:
    """The columns that expressions read; NotCarried where they are not computed of these alone."""
    columns: dict[int, SqlType] = {}
    nodes = [node for expr in exprs for node in walk(expr)]
    inside = {node.rel for node in nodes if isinstance(node, bound.Let | bound.Fold)}
    inside |= {node.item for node in nodes if isinstance(node, bound.Fold)}
    for node in nodes:
        if isinstance(node, elsewhere):
            raise NotCarried(type(node).__name__)
        if isinstance(node, bound.Call) and node.function.volatile:
            raise NotCarried(f"function {node.function}, whose value changes from row to row")
        if isinstance(node, bound.Column) and node.rel not in inside:
            if node.rel < 0:
                raise NotCarried("a value of an expression around")
            columns[node.index] = node.type
    return tuple(columns.items())


def _given(frame: pl.DataFrame, columns: Columns) -> tuple[pa.Table, str]:
    """Columns of a frame as an Arrow table, and the SQL that reads them from `held` as types that DuckDB holds."""
    arrays = {f"c{index}": column(frame, f"c{index}", kind) for index, kind in columns}
    arrays |= {f"c{index}": _copied(arrays[f"c{index}"]) for index, kind in columns if is_keyed(kind)}
    selected = [
        f"c{index}" if outside(kind) == kind.duckdb else f"CAST(c{index} AS {kind.duckdb}) AS c{index}"
        for index, kind in columns
    ]
    # A frame's rows are counted by what is in it.
    return pa.table(arrays or {"c": pa.nulls(frame.height)}), ", ".join(selected or ["c"])


@dataclass(frozen=True, slots=True)
class HostStep:
    """An expression's SQL over `f`, whose columns c0, c1, … are those of the frame, by index and type."""

    name: str
    kind: SqlType
    sql: str
    columns: Columns
    timezone: str

    @property
    def lanes(self) -> tuple[str, ...]:
        """The columns that it adds to a frame."""
        return tuple(self.name + suffix for suffix in lanes(self.kind))

    def added(self, made: Held, frames: Frames) -> Held:
        """The frame with the expression's lanes; what its rows raise is raised here."""
        read = [f"c{index}{suffix}" for index, kind in self.columns for suffix in lanes(kind)]
        # A frame's rows are counted by what is in it.
        frame = frames.fetched(made.lazy.select(read or pl.first()), "functions")
        parts = [self.of(frame.slice(start, SLICE)) for start in range(0, frame.height, SLICE)]
        held = pl.concat(parts) if parts else pl.DataFrame(schema=lanes(self.kind))
        return made.beside(held.rename({suffix: self.name + suffix for suffix in held.columns}))

    def of(self, frame: pl.DataFrame) -> pl.DataFrame:
        """The expression's lanes over a few rows."""
        table, selected = _given(frame, self.columns)
        values = f"SELECT {self.sql} AS v0 FROM (SELECT {selected} FROM held) AS f"
        return _computed(values, table, (self.kind,), self.timezone)[0]


@dataclass(frozen=True, slots=True)
class HostCalls:
    """The SQL of aggregates (`grouped`) or window functions over `f`, whose rows are those of a frame."""

    kinds: tuple[SqlType, ...]
    sql: tuple[str, ...]
    columns: Columns
    timezone: str
    grouped: bool

    def of(self, frame: pl.DataFrame, groups: pl.Series | None) -> list[pl.DataFrame]:
        """Each call's lanes, in the order of the groups' numbers: a row for each group, or for each of a window's rows.

        One row without groups.
        """
        table, selected = _given(frame, self.columns)
        outputs = [f"{sql} AS v{number}" for number, sql in enumerate(self.sql)]
        if groups is None:
            values = f"SELECT {', '.join(outputs)} FROM (SELECT {selected} FROM held) AS f"
            return _computed(values, table, self.kinds, self.timezone)
        table = table.append_column("g", groups.to_arrow())
        values = f"SELECT f.g, {', '.join(outputs)} FROM (SELECT g, {selected} FROM held) AS f"
        values += " GROUP BY f.g" if self.grouped else ""
        return _computed(values, table, self.kinds, self.timezone, " ORDER BY q.g")

    def nothing(self, rows: int) -> list[pl.DataFrame]:
        """NULLs in the place of the calls."""
        return [to_lanes(pa.nulls(rows), kind) for kind in self.kinds]


@dataclass(frozen=True, slots=True)
class HostRows:
    """The SQL of a set-returning function over `f`, whose rows are those of a frame."""

    kind: SqlType
    sql: str
    columns: Columns
    timezone: str

    def of(self, frame: pl.DataFrame) -> tuple[pl.Series, pl.DataFrame]:
        """How many rows there are for each of the frame's, and all of them, in that order, as lanes."""
        counts = [pl.Series(dtype=pl.Int64)]
        held = [pl.DataFrame(schema=lanes(self.kind))]
        for start in range(0, frame.height, SLICE):
            part = frame.slice(start, SLICE)
            table, selected = _given(part, self.columns)
            table = table.append_column("g", pa.array(np.arange(part.height)))
            values = f"SELECT f.g AS v0, {self.sql} AS v1 FROM (SELECT g, {selected} FROM held) AS f"
            places, rows = _computed(values, table, (INT8, self.kind), self.timezone)
            counts.append(pl.Series(np.bincount(places[""].to_numpy(), minlength=part.height)))
            held.append(rows)
        return pl.concat(counts), pl.concat(held)


def restored_lanes(array: pa.ChunkedArray, kind: SqlType) -> pl.DataFrame:
    """A column in its stored form (`storage.stored`) as lanes."""
    parts = [pl.DataFrame(schema=lanes(kind))]
    for start in range(0, len(array), SLICE):
        table = pa.table({"c": _copied(array.slice(start, SLICE))})
        parts += _computed(f"SELECT {restored(kind, 'c')} AS v0 FROM held", table, (kind,), "UTC")
    return pl.concat(parts)


def lanes_of_text(text: str, kind: SqlType, rows: int) -> pl.DataFrame:
    """So many times the value that DuckDB casts from a text to the stored form of a type, as lanes."""
    quoted = text.replace("'", "''")
    value = restored(kind, f"CAST('{quoted}' AS {stored_duckdb(kind)})")
    return _computed(f"SELECT {value} AS v0 FROM held", pa.table({"c": pa.nulls(rows)}), (kind,), "UTC")[0]


def _copied(array: Any) -> Any:
    """An array of its own: DuckDB takes no structs below an offset."""
    return array.take(np.arange(len(array)))


def _computed(
    values: str, held: pa.Table, kinds: Sequence[SqlType], timezone: str, order: str = ""
) -> list[pl.DataFrame]:
    """The lanes of a SELECT's columns v0, v1, …, each of `SqlType.duckdb`, over an Arrow table."""
    outputs: list[str] = []
    for number, kind in enumerate(kinds):
        outputs.append(f"{leaving(f'q.v{number}', kind)} AS v{number}")
        if is_keyed(kind):
            value = f"(q.v{number}).v" if kind.carried else f"q.v{number}"
            outputs.append(f"(CASE WHEN {value} IS NOT NULL THEN {sort_key(value, kind)} END) AS k{number}")
    instance = _instance()
    cursor = instance.cursors.take(timezone)
    try:
        cursor.register("held", held)
        made = cursor.sql(f"SELECT {', '.join(outputs)} FROM ({values}) AS q{order}").to_arrow_table()
    except ENGINE_ERRORS as error:
        raise translated(error) from error
    finally:
        cursor.unregister("held")
        instance.cursors.give(timezone, cursor)

    def whole(name: str) -> pa.Array:
        return made.column(name).combine_chunks()

    lanes_of: list[pl.DataFrame] = []
    for number, kind in enumerate(kinds):
        value = whole(f"v{number}")
        value = value if value.type == kind.arrow else value.cast(kind.arrow)
        lanes_of.append(to_lanes(value, kind, whole(f"k{number}") if is_keyed(kind) else None))
    return lanes_of


@cache
def _instance() -> Instance:
    """This process's own DuckDB, which holds functions and no tables."""
    threads = pl.thread_pool_size()
    return Instance({"python_enable_replacements": False, "memory_limit": _MEMORY, "threads": threads})


def _no_query(query: bound.Query) -> str:
    raise NotCarried("a subquery inside an expression")
