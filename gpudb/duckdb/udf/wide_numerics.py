"""Wide numerics over DuckDB's vectors: casts, arithmetic, functions and aggregates (see `values.wide_numerics`).

A value is a struct of its key and its display scale; an aggregate's operand is the list of all values.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gpudb.errors import NARROW_COLUMN, NUMERIC_OVERFLOW, NumericOutOfRange, SqlError
from gpudb.types import NUMERIC, WIDE_NUMERIC, SqlType, numeric
from gpudb.values import wide_arithmetic as wide
from gpudb.values.numbers import parse_float, parse_wide_numeric
from gpudb.values.wide_numerics import (
    apply_modifier,
    decode_column,
    decode_numeric,
    encode_column,
    fits_narrow,
    format_column,
    narrow_decimal,
    normalize,
    scale_of,
)

if TYPE_CHECKING:
    from gpudb.duckdb.udf.registry import FunctionRegistry

Value = Any
_ONE: dict[str, Callable[[Decimal], Decimal]] = {
    "neg": wide.negate,
    "abs": wide.absolute,
    "sign": wide.sign,
    "ceil": wide.ceiling,
    "floor": wide.floor,
    "sqrt": wide.square_root,
    "exp": wide.exponential,
    "ln": wide.logarithm,
    "log10": wide.decimal_logarithm,
    "trim": wide.trim_scale,
}
_TWO: dict[str, Callable[[Decimal, Decimal], Decimal]] = {
    "add": wide.add,
    "sub": wide.subtract,
    "mul": wide.multiply,
    "quotient": wide.divide,
    "mod": wide.remainder,
    "div": wide.whole_quotient,
    "power": wide.power,
    "log": wide.logarithm_to_base,
    "gcd": wide.greatest_divisor,
    "lcm": wide.least_multiple,
}
_PLACES: dict[str, Callable[[Decimal, int], Decimal]] = {"round": wide.round_places, "trunc": wide.truncate_places}
_SCALES: dict[str, Callable[[Decimal], int | None]] = {"scale": wide.shown_scale, "min_scale": wide.min_scale}
_DEVIATIONS = {
    "var_pop": (False, False),
    "var_samp": (True, False),
    "stddev_pop": (False, True),
    "stddev_samp": (True, True),
}
"""Whether of a sample, and whether the root."""
_INTEGERS = {"int2": pa.int16(), "int4": pa.int32(), "int8": pa.int64()}
_FLOATS = {"float4": pa.float32(), "float8": pa.float64()}


def register(registry: FunctionRegistry) -> None:
    """Registers the functions."""
    result = WIDE_NUMERIC.duckdb

    def add(name: str, returned: str, function: Callable[..., pa.Array]) -> None:
        registry.add_columnar(f"pg_wide_{name}", None, returned, function)

    for names in (_ONE, _TWO, _PLACES):
        for name, function in names.items():
            add(name, result, partial(_map_numerics, function))
    for name, measure in _SCALES.items():
        add(name, "INTEGER", partial(_map, measure, pa.int32()))
    add("factorial", result, partial(_map_numerics, wide.factorial))
    add("bucket", "INTEGER", partial(_map, wide.bucket, pa.int32()))
    add("in", result, partial(_map_numerics, _read))
    add("of_float", result, partial(_map_numerics, _from_float))
    add("of_money", result, partial(_map_numerics, lambda cents: Decimal(cents).scaleb(-2)))
    add("of_decimal", result, partial(_map_numerics, _from_decimal))
    add("fit", result, partial(_map_numerics, _fit))
    add("text", "VARCHAR", format_column)
    add("narrow", "VARCHAR", partial(_map, narrow_decimal, pa.string()))
    add("narrow_for", "VARCHAR", partial(_map, _narrow_for, pa.string()))
    for name, arrow in _INTEGERS.items():
        convert = partial(wide.to_integer, type_=SqlType(name))
        add(name, {"int2": "SMALLINT", "int4": "INTEGER", "int8": "BIGINT"}[name], partial(_map, convert, arrow))
    add("series", result + "[]", _list_series)
    add("money", "BIGINT", partial(_map, _to_cents, pa.int64()))
    for name, arrow in _FLOATS.items():
        to_float = partial(_to_float, SqlType(name))
        add(name, "FLOAT" if name == "float4" else "DOUBLE", partial(_map, to_float, arrow))
    add("sum", result, partial(_aggregate, wide.total))
    add("avg", result, partial(_aggregate, lambda values: wide.average(list(values))))
    for name, (sample, root) in _DEVIATIONS.items():
        add(name, result, partial(_aggregate, partial(_deviate, sample, root)))


def _deviate(sample: bool, root: bool, values: Iterator[Decimal]) -> Decimal | None:
    return wide.deviation(list(values), sample=sample, root=root)


def _read_operand(column: pa.Array) -> list[Value]:
    return decode_column(column) if pa.types.is_struct(column.type) else column.to_pylist()


def _rows(function: Callable[..., Value], columns: tuple[pa.Array, ...]) -> Iterator[Value]:
    for row in zip(*map(_read_operand, columns), strict=True):
        yield None if None in row else function(*row)


def _map_numerics(function: Callable[..., Decimal], *columns: pa.Array) -> pa.Array:
    return encode_column(_rows(function, columns))


def _map(function: Callable[..., Value], kind: pa.DataType, *columns: pa.Array) -> pa.Array:
    return pa.array(_rows(function, columns), kind)


def _read(text: str) -> Decimal:
    return parse_wide_numeric(NUMERIC, text)


def _from_decimal(text: str, scale: int) -> Decimal:
    """Returns the value of a decimal's digits, of which `scale` decimals are shown."""
    value = Decimal(text)
    return normalize(wide.round_places(value, scale)) if scale_of(value) != scale else normalize(value)


def _from_float(value: float, digits: int) -> Decimal:
    if not math.isfinite(value):
        return normalize(Decimal(value))
    return normalize(Decimal(f"{value:.{digits}g}"))


def _fit(value: Decimal, precision: int, scale: int) -> Decimal:
    return apply_modifier(value, numeric(precision, scale))


def _list_series(*columns: pa.Array) -> pa.Array:
    """Returns the lists of series from a number to another, by a step or by 1; NULL for a NULL."""
    lists = list(_rows(wide.series, columns))
    offsets = np.cumsum([0, *(len(each or ()) for each in lists)])
    if offsets[-1] > wide.MOST_IN_SERIES:
        raise SqlError.of("program_limit_exceeded", f"series of more than {wide.MOST_IN_SERIES} numerics")
    items = encode_column(value for each in lists for value in each or ())
    mask = pa.array([each is None for each in lists], pa.bool_())
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), items, mask=mask)


def _to_cents(value: Decimal) -> int:
    return wide.to_integer(wide.multiply(value, Decimal(100)), SqlType("int8"))


def _narrow_for(value: Decimal, precision: int, scale: int, column: str) -> str:
    if not fits_narrow(value, precision, scale):
        raise NumericOutOfRange(NUMERIC_OVERFLOW, detail=NARROW_COLUMN + column)
    return narrow_decimal(value, precision, scale)


def _to_float(type_: SqlType, value: Decimal) -> float:
    return parse_float(type_, f"{value:f}") if value.is_finite() else float(value)


def _aggregate(function: Callable[[Iterator[Decimal]], Decimal | None], lists: pa.Array) -> pa.Array:
    """Applies a function to the values of each list; NULL for no list."""
    values = lists.flatten()
    keys, scales = pc.struct_field(values, [0]).to_pylist(), pc.struct_field(values, [1]).to_pylist()
    made: list[Decimal | None] = []
    start = 0
    for length in pc.fill_null(pc.list_value_length(lists), 0).to_pylist():
        pairs = zip(keys[start : start + length], scales[start : start + length], strict=True)
        made.append(function(decode_numeric(key, scale) for key, scale in pairs if key is not None))
        start += length
    return encode_column(made)
