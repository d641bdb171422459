"""Registry of the Python functions that DuckDB calls: `register` adds all of them to a database.

Each is an Arrow function over whole vectors. Errors are raised as `[SQLSTATE] message`, which `duckdb.errors` parses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import duckdb
import duckdb.func
import pyarrow as pa

from gpudb.errors import GpudbError

Value = Any
_ARROW: dict[str, pa.DataType] = {
    "BOOLEAN": pa.bool_(),
    "SMALLINT": pa.int16(),
    "INTEGER": pa.int32(),
    "BIGINT": pa.int64(),
    "FLOAT": pa.float32(),
    "DOUBLE": pa.float64(),
    "VARCHAR": pa.string(),
    "VARCHAR[]": pa.list_(pa.string()),
    "VARCHAR[][]": pa.list_(pa.list_(pa.string())),
    "STRUCT(key VARCHAR, value VARCHAR)[]": pa.list_(pa.struct([("key", pa.string()), ("value", pa.string())])),
    "BLOB": pa.binary(),
    "DATE": pa.date32(),
    "TIME": pa.time64("us"),
    "TIMESTAMP": pa.timestamp("us"),
    "TIMESTAMPTZ": pa.timestamp("us", "UTC"),
    "INTERVAL": pa.month_day_nano_interval(),
}
_COUNTED = {"DATE": pa.int32(), "TIME": pa.int64(), "TIMESTAMP": pa.int64(), "TIMESTAMPTZ": pa.int64()}

MODULES = tuple(
    "text_forms quotient numeric regex strings intervals mathematics json json_records"
    " jsonb_assign jsonb_order to_char to_date to_char_numbers to_number ranges inet"
    " jsonpath sql_json input_checks".split()
)


class Registry:
    """Adds Python functions to a database; each module of this package registers its own."""

    def __init__(self, database: duckdb.DuckDBPyConnection) -> None:
        self._database = database

    def columns(self, name: str, parameters: str | None, result: str, function: Callable[..., pa.Array]) -> None:
        """Adds a function over Arrow arrays; `parameters` and `result` are DuckDB types, separated by blanks.

        Without parameters it takes any number of operands of any types.
        """

        def guarded(arrays: Sequence[pa.ChunkedArray]) -> pa.Array:
            try:
                return function(*(_whole(each) for each in arrays))
            except GpudbError as error:
                raise ValueError(f"[{error.sqlstate}] {error.message}") from None

        self._add(name, None if parameters is None else parameters.split(), result, guarded)

    def scalar(
        self,
        name: str,
        parameters: str,
        result: str,
        function: Callable[..., Value],
        *,
        volatile: bool = False,
    ) -> None:
        """Adds a function of Python values, which is NULL if an operand is NULL.

        A date or time is returned as an integer: days or microseconds since 1970, or microseconds since midnight.
        """
        arrow = _ARROW[result]
        counted = _COUNTED.get(result)

        # lists cannot be hashed, and 0.0 equals -0.0
        once = not volatile and not any(word in parameters for word in ("[", "DOUBLE", "FLOAT"))

        def by_row(arrays: Sequence[pa.ChunkedArray]) -> pa.Array:
            rows = zip(*(_whole(each).to_pylist() for each in arrays), strict=True)
            try:
                made = _each_once(function, rows) if once else [_strictly(function, row) for row in rows]
            except GpudbError as error:
                raise ValueError(f"[{error.sqlstate}] {error.message}") from None
            return pa.array(made, counted).view(arrow) if counted is not None else pa.array(made, arrow)

        self._add(name, parameters.split(), result, by_row, volatile=volatile)

    def _add(
        self,
        name: str,
        parameters: Sequence[str] | None,
        result: str,
        function: Callable[[Sequence[pa.ChunkedArray]], pa.Array],
        *,
        volatile: bool = False,
    ) -> None:
        # DuckDB inspects the signature: one parameter for each operand
        names = "*operands" if parameters is None else ", ".join(f"a{n}" for n in range(len(parameters)))
        listed = "operands" if parameters is None else f"[{names}]"
        made: Callable[..., pa.Array] = eval(f"lambda {names}: function({listed})", {"function": function})
        self._database.create_function(
            name, made, None if parameters is None else list(parameters), result, type=duckdb.func.PythonUDFType.ARROW,
            null_handling=duckdb.func.FunctionNullHandling.SPECIAL, side_effects=volatile,
        )  # fmt: skip


def _strictly(function: Callable[..., Value], row: tuple[Value, ...]) -> Value:
    return None if None in row else function(*row)


def _each_once(function: Callable[..., Value], rows: Iterable[tuple[Value, ...]]) -> list[Value]:
    """Evaluates each distinct row once: grouped and joined inputs repeat themselves."""
    known: dict[tuple[Value, ...], Value] = {}
    made = []
    for row in rows:
        if row not in known:
            known[row] = _strictly(function, row)
        made.append(known[row])
    return made


def _whole(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def register(connection: duckdb.DuckDBPyConnection) -> None:
    """Adds every Python function to a database."""
    from importlib import import_module

    registry = Registry(connection)
    for module in MODULES:
        import_module(f"gpudb.duckdb.udf.{module}").register(registry)
