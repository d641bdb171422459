"""SQL types of columns in files, by the DuckDB type that a reader gives, and the SQL that converts their values."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gpudb.errors import FeatureNotSupported
from gpudb.types import (
    BOOL,
    BYTEA,
    DATE,
    FLOAT4,
    FLOAT8,
    INT2,
    INT4,
    INT8,
    INTERVAL,
    JSON,
    MAX_DIGITS,
    TEXT,
    TIME,
    TIMESTAMP,
    TIMESTAMPTZ,
    UUID,
    SqlType,
    numeric,
)

_TYPES: dict[str, SqlType] = {
    "BOOLEAN": BOOL,
    "TINYINT": INT2,
    "UTINYINT": INT2,
    "SMALLINT": INT2,
    "USMALLINT": INT4,
    "INTEGER": INT4,
    "UINTEGER": INT8,
    "BIGINT": INT8,
    "UBIGINT": numeric(20, 0),
    "HUGEINT": numeric(38, 0),
    "UHUGEINT": numeric(38, 0),
    "FLOAT": FLOAT4,
    "DOUBLE": FLOAT8,
    "VARCHAR": TEXT,
    '"NULL"': TEXT,
    "BLOB": BYTEA,
    "DATE": DATE,
    "TIME": TIME,
    "TIME_NS": TIME,
    "TIMESTAMP": TIMESTAMP,
    "TIMESTAMP_S": TIMESTAMP,
    "TIMESTAMP_MS": TIMESTAMP,
    "TIMESTAMP_NS": TIMESTAMP,
    "TIMESTAMP WITH TIME ZONE": TIMESTAMPTZ,
    "TIMESTAMPTZ_NS": TIMESTAMPTZ,
    "INTERVAL": INTERVAL,
    "UUID": UUID,
    "JSON": JSON,
}
_DECIMAL = re.compile(r"DECIMAL\((\d+),(\d+)\)")
UNTYPED = '"NULL"'
"""The type of a column that has NULL in all rows of a file."""
_FINE = {"TIMESTAMP_NS": TIMESTAMP, "TIMESTAMPTZ_NS": TIMESTAMPTZ}
_WIDER: tuple[tuple[SqlType, ...], ...] = ((INT2, INT4, INT8), (FLOAT4, FLOAT8))


def find_type(held: str, column: str) -> SqlType:
    """Returns the SQL type of a column of a DuckDB type; 0A000 naming the column if there is none.

    Unsigned integers are widened, structs and maps are json, lists of plain values are arrays.
    """
    if (known := _TYPES.get(held)) is not None:
        return known
    if (digits := _DECIMAL.fullmatch(held)) is not None and int(digits[1]) <= MAX_DIGITS:
        return numeric(int(digits[1]), int(digits[2]))
    if held.startswith("ENUM("):
        return TEXT
    if (element := _list_element(held)) is not None:
        plain = _TYPES.get(element) or (find_type(element, column) if _DECIMAL.fullmatch(element) else None)
        return JSON if plain is None or plain == JSON else plain.array
    if held.startswith(("STRUCT(", "MAP(", "UNION(")):
        return JSON
    raise FeatureNotSupported(f'column "{column}" has the type {held.lower()}, which no SQL type holds')


def _list_element(held: str) -> str | None:
    match = re.fullmatch(r"(.*)\[\d*\]", held, re.S)
    return None if match is None else match[1]


def render_value(expression: str, held: str, type: SqlType) -> str:
    """Returns DuckDB SQL that converts a value of a reader's type, or of `SqlType.arrow` (''), to `SqlType.duckdb`."""
    kind = held.removesuffix("[]")
    if kind in _FINE and type == (_FINE[kind].array if held != kind else _FINE[kind]):
        if held == kind:
            return _round_nanoseconds(expression, _FINE[kind])
        return f"list_transform({expression}, lambda e: {_round_nanoseconds('e', _FINE[kind])})"
    if type == JSON and held not in ("", "JSON"):
        return f"CAST(to_json({expression}) AS {JSON.duckdb})"
    return expression if held == type.duckdb else f"CAST({expression} AS {type.duckdb})"


def _round_nanoseconds(expression: str, type: SqlType) -> str:
    # `//` rounds towards zero, and times before 1970 are negative
    nanoseconds = f"epoch_ns(CAST({expression} AS TIMESTAMP_NS)) + 500"
    return f"make_{type.name}(({nanoseconds} - (({nanoseconds}) % 1000 + 1000) % 1000) // 1000)"


def find_common_type(types: Sequence[SqlType]) -> SqlType | None:
    """Returns the type that holds the values of all types exactly; None if there is none."""
    first = types[0]
    if all(each == first for each in types):
        return first
    for family in _WIDER:
        if all(each in family for each in types):
            return max(types, key=family.index)
    if all(each.name == "numeric" or each in _WIDER[0] for each in types):
        digits = [each.numeric_digits if each.name == "numeric" else (19, 0) for each in types]
        scale = max(scale for _, scale in digits)
        whole = max(precision - scale for precision, scale in digits)
        return numeric(whole + scale, scale) if whole + scale <= 38 else None
    return None
