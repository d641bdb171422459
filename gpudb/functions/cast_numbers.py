"""Conversions to booleans, integers, floats and numerics."""

from __future__ import annotations

from gpudb.errors import FeatureNotSupported
from gpudb.functions.let_binding import let, raises
from gpudb.functions.operands import FLOATS, INTEGERS, OIDS, STRINGS, ScaledSql
from gpudb.functions.resolve import as_numeric
from gpudb.types import MAX_DIGITS, SqlType
from gpudb.values.numbers import describe_field_overflow

_FLOAT_DIGITS = {"float4": 6, "float8": 15}


def to_integer(sql: str, scale: str, source: SqlType, target: SqlType) -> str | None:
    if source.name == target.name:
        return sql
    if source.name in STRINGS - {"char"}:
        return f"pg_{target.name}_in({sql})"
    if source.name in INTEGERS | FLOATS:
        return f"CAST({sql} AS {target.duckdb})"
    if source.name == "numeric":
        if source.numeric_digits[0] - source.numeric_digits[1] < _SURE_DIGITS[target.name]:
            return f"CAST({sql} AS {target.duckdb})"
        wrong = raises("22003", f"'{target} out of range'", target.duckdb)
        return let(
            lambda v: f"coalesce(TRY_CAST({v} AS {target.duckdb}), CASE WHEN {v} IS NOT NULL THEN {wrong} END)", sql
        )
    if source.name == "char" and target.name == "int4":
        return f"CAST(ascii({sql}) AS INTEGER)"
    if source.name == "bool" and target.name == "int4":
        return f"CAST({sql} AS INTEGER)"
    if source.name == "jsonb":
        wrong = raises("22003", f"'{target} out of range'", target.duckdb)
        whole = f"TRY_CAST(TRY_CAST({{0}} AS DECIMAL({MAX_DIGITS},0)) AS {target.duckdb})"
        return let(
            lambda v: f"coalesce({whole.format(v)}, CASE WHEN {v} IS NOT NULL THEN {wrong} END)",
            _json_number(sql, target),
        )
    if source.name in OIDS or source.name.startswith("reg"):
        if target.name == "int4":
            return let(lambda v: f"CAST(CASE WHEN {v} > 2147483647 THEN {v} - 4294967296 ELSE {v} END AS INTEGER)", sql)
        return sql if target.name == "int8" else None
    return None


_SURE_DIGITS = {"int2": 4, "int4": 9, "int8": 18}


def _json_number(sql: str, target: SqlType) -> str:
    return f"pg_jsonb_scalar({sql}, 'numeric', '{target.plain}')"


def to_float(sql: str, scale: str, source: SqlType, target: SqlType) -> str | None:
    if source.name == target.name:
        return sql
    if source.name in STRINGS:
        return f"pg_{target.name}_in({sql})"
    if source.name == "float8":
        over = raises("22003", "'value out of range: overflow'", "FLOAT")
        under = raises("22003", "'value out of range: underflow'", "FLOAT")
        return let(
            lambda v: (
                f"(CASE WHEN isfinite({v}) AND abs({v}) > 3.4028235677973366e38 THEN {over}"
                f" WHEN {v} <> 0 AND abs({v}) <= 7.006492321624085e-46 THEN {under} ELSE CAST({v} AS FLOAT) END)"
            ),
            sql,
        )
    if source.name == "numeric":
        # through text: DuckDB divides the digits by a power of ten, which can miss the nearest double by one
        return (
            f"CAST(CAST({sql} AS VARCHAR) AS {target.duckdb})" if source.numeric_digits[0] > 15 else _plain(sql, target)
        )
    if source.name in INTEGERS | FLOATS:
        return _plain(sql, target)
    if source.name == "jsonb":
        return f"CAST({_json_number(sql, target)} AS {target.duckdb})"
    return None


def _plain(sql: str, target: SqlType) -> str:
    return f"CAST({sql} AS {target.duckdb})"


def to_numeric(sql: str, scale: str, source: SqlType, target: SqlType) -> ScaledSql:
    """Returns the value in the target's digits; its display scale is constant, or that of the source's value."""
    precision, decimals = target.numeric_digits
    held = f"DECIMAL({precision},{decimals})"
    shown = str(decimals)
    if source.name == "numeric":
        if source.numeric_digits == target.numeric_digits:
            return sql, scale if target.is_carried else shown
        return _fitted(sql, source, target), scale if target.is_carried else shown
    if source.name in INTEGERS:
        digits = as_numeric(source)
        return _fitted(sql, digits, target), "0" if target.is_carried else shown
    if source.name == "money":
        digits = as_numeric(source)
        cents = f"(CAST({sql} AS DECIMAL(19,0)) * 0.01)"
        return to_numeric(cents, str(digits.numeric_digits[1]), digits, target)
    if source.name in FLOATS:
        wanted = _FLOAT_DIGITS[source.name]
        text = f"pg_float_digits({sql}, {wanted})"
        if target.modifier != -1:
            return let(lambda v: _declared(v, wanted, held, target), sql), shown
        return _from_digits(text, held, target), (
            f"least(pg_float_decimals({sql}, {wanted}), {decimals})" if target.is_carried else shown
        )
    if source.name in STRINGS:
        text = f"pg_numeric_in({sql})"
        return _from_digits(text, held, target), (
            f"least(pg_decimals({text}), {decimals})" if target.is_carried else shown
        )
    if source.name == "jsonb":
        text = f"pg_numeric_in({_json_number(sql, target)})"
        return _from_digits(text, held, target), (
            f"least(pg_decimals({text}), {decimals})" if target.is_carried else shown
        )
    raise FeatureNotSupported(f"cast from {source.plain} to {target.plain} is not supported")


def _overflow(held: str, target: SqlType) -> str:
    if target.modifier == -1:
        return raises("22003", "'value overflows numeric format'", held)
    return raises("22003", "'numeric field overflow'", held, detail=describe_field_overflow(*target.numeric_digits))


def _declared(value: str, digits: int, held: str, target: SqlType) -> str:
    """Converts a float to declared digits; infinity does not fit."""
    made = _from_digits(f"pg_float_digits({value}, {digits})", held, target)
    return f"(CASE WHEN isinf({value}) THEN {_overflow(held, target)} ELSE {made} END)"


def _from_digits(text: str, held: str, target: SqlType) -> str:
    wrong = _overflow(held, target)
    return let(lambda t: f"coalesce(TRY_CAST({t} AS {held}), CASE WHEN {t} IS NOT NULL THEN {wrong} END)", text)


def _fitted(sql: str, source: SqlType, target: SqlType) -> str:
    """Converts a decimal or integer to the target's digits, rounded half away from zero; 22003 if it does not fit."""
    precision, decimals = target.numeric_digits
    held = f"DECIMAL({precision},{decimals})"
    digits, given = source.numeric_digits
    rounds = 1 if decimals < given else 0
    if digits - given + rounds <= precision - decimals:
        return f"CAST({sql} AS {held})"
    wrong = _overflow(held, target)
    return let(lambda v: f"coalesce(TRY_CAST({v} AS {held}), CASE WHEN {v} IS NOT NULL THEN {wrong} END)", sql)


def to_bool(sql: str, scale: str, source: SqlType, target: SqlType) -> str | None:
    if source.name == "bool":
        return sql
    if source.name in STRINGS:
        return f"pg_bool_in({sql})"
    if source.name == "int4":
        return f"CAST({sql} AS BOOLEAN)"
    if source.name == "jsonb":
        return f"CAST(pg_jsonb_scalar({sql}, 'boolean', 'boolean') AS BOOLEAN)"
    return None
