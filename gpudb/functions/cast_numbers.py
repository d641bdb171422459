"""Conversions to booleans, integers, floats and numerics."""

from __future__ import annotations

from collections.abc import Iterator

from gpudb.errors import LOST_DECIMALS, NUMERIC_OVERFLOW, FeatureNotSupported
from gpudb.functions.float_trees import Operand, Step, apply_plain, apply_step
from gpudb.functions.let_binding import bind_values, render_error
from gpudb.functions.operands import ScaledSql
from gpudb.functions.resolve import to_numeric_type
from gpudb.functions.wide_casts import convert_wide, to_wide_struct
from gpudb.types import MAX_DIGITS, SqlType
from gpudb.types.facts import FLOATS, INTEGER_DIGITS, INTEGERS, OIDS, STRINGS
from gpudb.values.wide_numerics import describe_field_overflow

_FLOAT_DIGITS = {"float4": 6, "float8": 15}


def to_integer(sql: str, scale: str, source: SqlType, target: SqlType) -> str | None:
    if source.name == target.name:
        return sql
    if source.name in STRINGS - {"char"}:
        return f"pg_{target.name}_in({sql})"
    if source.name in INTEGERS | FLOATS:
        return f"CAST({sql} AS {target.duckdb})"
    if source.name == "numeric" and source.wide:
        return f"pg_wide_{target.name}({to_wide_struct(sql, scale, source)})"
    if source.name == "numeric":
        # With one digit fewer than the limits every value fits; rounding may add that digit.
        if source.numeric_digits[0] - source.numeric_digits[1] < INTEGER_DIGITS[target.name] - 1:
            return f"CAST({sql} AS {target.duckdb})"
        error = render_error("22003", f"'{target} out of range'", target.duckdb)
        return bind_values(
            lambda v: f"coalesce(TRY_CAST({v} AS {target.duckdb}), CASE WHEN {v} IS NOT NULL THEN {error} END)", sql
        )
    if source.name == "char" and target.name == "int4":
        return f"CAST(ascii({sql}) AS INTEGER)"
    if source.name == "bool" and target.name == "int4":
        return f"CAST({sql} AS INTEGER)"
    if source.name == "jsonb":
        error = render_error("22003", f"'{target} out of range'", target.duckdb)
        narrowed = f"TRY_CAST(TRY_CAST({{0}} AS DECIMAL({MAX_DIGITS},0)) AS {target.duckdb})"
        return bind_values(
            lambda v: f"coalesce({narrowed.format(v)}, CASE WHEN {v} IS NOT NULL THEN {error} END)",
            _parse_json_number(sql, target),
        )
    if source.name in OIDS or source.name.startswith("reg"):
        if target.name == "int4":
            return bind_values(
                lambda v: f"CAST(CASE WHEN {v} > 2147483647 THEN {v} - 4294967296 ELSE {v} END AS INTEGER)", sql
            )
        return sql if target.name == "int8" else None
    return None


def _parse_json_number(sql: str, target: SqlType) -> str:
    return f"pg_jsonb_scalar({sql}, 'numeric', '{target.plain}')"


def _list_narrowing_errors(_: str, operand: Operand) -> Iterator[tuple[str, str]]:
    v = operand.sql
    over, under = (
        render_error("22003", f"'value out of range: {word}'", "FLOAT") for word in ("overflow", "underflow")
    )
    yield f"isfinite({v}) AND abs({v}) > {_FLOAT4_LIMIT}", over
    yield f"{v} <> 0 AND abs({v}) <= 7.006492321624085e-46", under


_FLOAT4_LIMIT = "3.4028235677973366e38"
_NARROW = Step(
    lambda v: f"CAST(CASE WHEN isfinite({v}) AND abs({v}) > {_FLOAT4_LIMIT} THEN 'NaN'::DOUBLE ELSE {v} END AS FLOAT)",
    _list_narrowing_errors,
    lambda result, operand: f"({result} <> 0 OR {operand.sql} = 0)",
)
"""float8 as float4."""


def to_float(sql: str, scale: str, source: SqlType, target: SqlType) -> str | None:
    if source.name == target.name:
        return sql
    if source.name in STRINGS:
        return f"pg_{target.name}_in({sql})"
    if source.name == "float8":
        return apply_step(_NARROW, sql)
    if source.name == "numeric" and source.wide:
        return f"pg_wide_{target.name}({to_wide_struct(sql, scale, source)})"
    if source.name == "numeric":
        # through text: DuckDB divides the digits by a power of ten, which can miss the nearest double by one
        return (
            f"CAST(CAST({sql} AS VARCHAR) AS {target.duckdb})" if source.numeric_digits[0] > 15 else _cast(sql, target)
        )
    if source.name == "float4":
        return apply_plain("CAST({0} AS DOUBLE)", sql)
    if source.name in INTEGERS:
        return _cast(sql, target)
    if source.name == "jsonb":
        return f"CAST({_parse_json_number(sql, target)} AS {target.duckdb})"
    return None


def _cast(sql: str, target: SqlType) -> str:
    return f"CAST({sql} AS {target.duckdb})"


def to_numeric(sql: str, scale: str, source: SqlType, target: SqlType) -> ScaledSql:
    """Returns the value in the target's digits; its display scale is constant, or that of the source's value."""
    if target.wide or source.wide:
        return convert_wide(sql, scale, source, target)
    precision, decimals = target.numeric_digits
    decimal_type = f"DECIMAL({precision},{decimals})"
    scale_sql = str(decimals)
    if source.name == "numeric":
        if source.numeric_digits == target.numeric_digits:
            return sql, scale if target.is_carried else scale_sql
        return _fit_decimal(sql, source, target), scale if target.is_carried else scale_sql
    if source.name in INTEGERS:
        digits = to_numeric_type(source)
        return _fit_decimal(sql, digits, target), "0" if target.is_carried else scale_sql
    if source.name == "money":
        digits = to_numeric_type(source)
        cents = f"(CAST({sql} AS DECIMAL(19,0)) * 0.01)"
        return to_numeric(cents, str(digits.numeric_digits[1]), digits, target)
    if source.name in FLOATS:
        float_digits = _FLOAT_DIGITS[source.name]
        text = f"pg_float_digits({sql}, {float_digits})"
        if target.modifier != -1:
            return bind_values(
                lambda v: _convert_float_to_declared(v, float_digits, decimal_type, target), sql
            ), scale_sql
        shown = f"pg_float_decimals({sql}, {float_digits})"
        return parse_digits(text, decimal_type, target, shown), shown if target.is_carried else scale_sql
    if source.name in STRINGS:
        text = f"pg_numeric_in({sql})"
        return parse_digits(text, decimal_type, target), f"pg_decimals({text})" if target.is_carried else scale_sql
    if source.name == "jsonb":
        text = f"pg_numeric_in({_parse_json_number(sql, target)})"
        return parse_digits(text, decimal_type, target), f"pg_decimals({text})" if target.is_carried else scale_sql
    raise FeatureNotSupported(f"cast from {source.plain} to {target.plain} is not supported")


def _overflow_error(decimal_type: str, target: SqlType) -> str:
    if target.modifier == -1:
        return render_error("22003", "'value overflows numeric format'", decimal_type)
    return render_error(
        "22003", "'numeric field overflow'", decimal_type, detail=describe_field_overflow(*target.numeric_digits)
    )


def _convert_float_to_declared(value: str, digits: int, decimal_type: str, target: SqlType) -> str:
    """Converts a float to declared digits; infinity does not fit."""
    number = parse_digits(f"pg_float_digits({value}, {digits})", decimal_type, target)
    return f"(CASE WHEN isinf({value}) THEN {_overflow_error(decimal_type, target)} ELSE {number} END)"


def parse_digits(text: str, decimal_type: str, target: SqlType, shown: str | None = None) -> str:
    """Returns a number's text as a decimal; 22003 for one without room, for decimals that it shows too.

    `shown` is how many those are, if the text is not plain.
    """
    error = _overflow_error(decimal_type, target)

    def parse(value: str) -> str:
        number = f"coalesce(TRY_CAST({value} AS {decimal_type}), CASE WHEN {value} IS NOT NULL THEN {error} END)"
        if not target.is_carried:
            return number
        decimals = f"pg_decimals({value})" if shown is None else shown
        lost = render_error("22003", f"'{NUMERIC_OVERFLOW}'", decimal_type, detail=LOST_DECIMALS)
        return f"(CASE WHEN {decimals} > {target.numeric_digits[1]} THEN {lost} ELSE {number} END)"

    return bind_values(parse, text)


def _fit_decimal(sql: str, source: SqlType, target: SqlType) -> str:
    """Converts a decimal or integer to the target's digits, rounded half away from zero; 22003 if it does not fit."""
    precision, decimals = target.numeric_digits
    decimal_type = f"DECIMAL({precision},{decimals})"
    digits, source_decimals = source.numeric_digits
    if target.is_carried and decimals < source_decimals:
        return _fit_carried(sql, source, target)
    carry = 1 if decimals < source_decimals else 0
    if digits - source_decimals + carry <= precision - decimals:
        return f"CAST({sql} AS {decimal_type})"
    error = _overflow_error(decimal_type, target)
    return bind_values(
        lambda v: f"coalesce(TRY_CAST({v} AS {decimal_type}), CASE WHEN {v} IS NOT NULL THEN {error} END)", sql
    )


def _fit_carried(sql: str, source: SqlType, target: SqlType) -> str:
    """Converts a decimal to fewer decimals, of which it has no more; 22003 if it has, or does not fit."""
    held, narrow = ("DECIMAL({},{})".format(*item.numeric_digits) for item in (source, target))
    overflow = _overflow_error(narrow, target)
    lost = render_error("22003", f"'{NUMERIC_OVERFLOW}'", narrow, detail=LOST_DECIMALS)

    def fit(value: str) -> str:
        made = f"TRY_CAST({value} AS {narrow})"
        kept = f"TRY_CAST({made} AS {held}) IS NOT DISTINCT FROM {value}"
        return f"(CASE WHEN {kept} THEN {made} WHEN {made} IS NULL THEN {overflow} ELSE {lost} END)"

    return bind_values(fit, sql)


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
