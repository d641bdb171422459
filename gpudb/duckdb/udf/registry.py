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
from gpudb.functions.let_binding import CONTEXT, DETAIL, HINT
from gpudb.values.array import MAX_DIMENSIONS

Value = Any
_ARROW: dict[str, pa.DataType] = {
    "BOOLEAN": pa.bool_(),
    "SMALLINT": pa.int16(),
    "INTEGER": pa.int32(),
    "BIGINT": pa.int64(),
    "FLOAT": pa.float32(),
    "DOUBLE": pa.float64(),
    "VARCHAR": pa.string(),
    "STRUCT(key VARCHAR, value VARCHAR)[]": pa.list_(pa.struct([("key", pa.string()), ("value", pa.string())])),
    "STRUCT(lexeme VARCHAR, positions SMALLINT[], weights VARCHAR[])[]": pa.list_(
        pa.struct([("lexeme", pa.string()), ("positions", pa.list_(pa.int16())), ("weights", pa.list_(pa.string()))])
    ),
    "STRUCT(tokid INTEGER, token VARCHAR)[]": pa.list_(pa.struct([("tokid", pa.int32()), ("token", pa.string())])),
    "STRUCT(tokid INTEGER, alias VARCHAR, description VARCHAR)[]": pa.list_(
        pa.struct([("tokid", pa.int32()), ("alias", pa.string()), ("description", pa.string())])
    ),
    "STRUCT(alias VARCHAR, description VARCHAR, token VARCHAR, dictionaries BIGINT[], dictionary BIGINT,"
    " lexemes VARCHAR[])[]": pa.list_(
        pa.struct(
            [
                ("alias", pa.string()),
                ("description", pa.string()),
                ("token", pa.string()),
                ("dictionaries", pa.list_(pa.int64())),
                ("dictionary", pa.int64()),
                ("lexemes", pa.list_(pa.string())),
            ]
        )
    ),
    "BLOB": pa.binary(),
    "DATE": pa.date32(),
    "TIME": pa.time64("us"),
    "TIMESTAMP": pa.timestamp("us"),
    "TIMESTAMPTZ": pa.timestamp("us", "UTC"),
    "INTERVAL": pa.month_day_nano_interval(),
}
_items: pa.DataType = pa.string()
for _dims in range(1, MAX_DIMENSIONS + 1):
    _items = pa.list_(_items)
    _ARROW["VARCHAR" + "[]" * _dims] = _items
_INTEGER_TYPES = {"DATE": pa.int32(), "TIME": pa.int64(), "TIMESTAMP": pa.int64(), "TIMESTAMPTZ": pa.int64()}

MODULES = tuple(
    "text_forms quotient deviation numeric regex strings intervals mathematics degrees json json_records"
    " jsonb_assign jsonb_order time_series to_char to_date to_char_numbers to_number ranges inet"
    " jsonpath sql_json input_checks sketches hashes vectors half_vectors sparse_vectors matrices memory"
    " device_code matrix_clusters text_search geometry binary_forms wide_numerics".split()
)


class FunctionRegistry:
    """Adds Python functions to a database; each module of this package registers its own."""

    def __init__(self, database: duckdb.DuckDBPyConnection) -> None:
        self._database = database

    def add_columnar(self, name: str, parameters: str | None, result: str, function: Callable[..., pa.Array]) -> None:
        """Adds a function over Arrow arrays; `parameters` and `result` are DuckDB types, separated by blanks.

        Without parameters it takes any number of operands of any types.
        """

        def translate_errors(arrays: Sequence[pa.ChunkedArray]) -> pa.Array:
            try:
                return function(*(_combine(each) for each in arrays))
            except GpudbError as error:
                raise _mark(error) from None

        self._add(name, None if parameters is None else parameters.split(), result, translate_errors)

    def add_scalar(
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
        integer_type = _INTEGER_TYPES.get(result)

        # lists cannot be hashed, and 0.0 equals -0.0
        deduplicate = not volatile and not any(word in parameters for word in ("[", "DOUBLE", "FLOAT"))

        def by_row(arrays: Sequence[pa.ChunkedArray]) -> pa.Array:
            rows = zip(*(_combine(each).to_pylist() for each in arrays), strict=True)
            try:
                values = (
                    _call_distinct(function, rows) if deduplicate else [_call_strict(function, row) for row in rows]
                )
            except GpudbError as error:
                raise _mark(error) from None
            return pa.array(values, integer_type).view(arrow) if integer_type is not None else pa.array(values, arrow)

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
        wrapper: Callable[..., pa.Array] = eval(f"lambda {names}: function({listed})", {"function": function})
        self._database.create_function(
            name,
            wrapper,
            None if parameters is None else list(parameters),
            result,
            type=duckdb.func.PythonUDFType.ARROW,
            null_handling=duckdb.func.FunctionNullHandling.SPECIAL,
            side_effects=volatile,
        )


def _mark(error: GpudbError) -> ValueError:
    detail = "" if error.detail is None else DETAIL + error.detail
    hint = "" if error.hint is None else HINT + error.hint
    where = "" if error.where is None else CONTEXT + error.where
    return ValueError(f"[{error.sqlstate}] {error.message}{detail}{hint}{where}")


def _call_strict(function: Callable[..., Value], row: tuple[Value, ...]) -> Value:
    return None if None in row else function(*row)


def _call_distinct(function: Callable[..., Value], rows: Iterable[tuple[Value, ...]]) -> list[Value]:
    """Evaluates each distinct row once: grouped and joined inputs repeat themselves."""
    known: dict[tuple[Value, ...], Value] = {}
    values = []
    for row in rows:
        if row not in known:
            known[row] = _call_strict(function, row)
        values.append(known[row])
    return values


def _combine(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def register(connection: duckdb.DuckDBPyConnection) -> None:
    """Adds every Python function to a database."""
    from importlib import import_module

    registry = FunctionRegistry(connection)
    for module in MODULES:
        import_module(f"gpudb.duckdb.udf.{module}").register(registry)
