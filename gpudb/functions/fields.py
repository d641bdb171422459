"""EXTRACT and date_part: the fields of dates, times, timestamps and intervals."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from dataclasses import replace

from gpudb.errors import NOT_FINITE, NUMERIC_OVERFLOW, FeatureNotSupported, SqlError
from gpudb.functions.carried import carried_numeric, use_layout
from gpudb.functions.let_binding import bind_values, render_error
from gpudb.functions.numeric import render_quotient
from gpudb.functions.registry import Operands, declare, declare_wide
from gpudb.functions.text_literal import get_constant_text, quote_literal
from gpudb.functions.wide_casts import to_wide_struct
from gpudb.types import SqlType, exact_numeric
from gpudb.values.interval import UNIT_SPELLINGS

_FRACTIONS = {"microsecond": "microseconds", "millisecond": "milliseconds"}
"""Units whose fields have names in the plural."""
_SPELLINGS = {
    **{_FRACTIONS.get(unit, unit): spellings for unit, spellings in UNIT_SPELLINGS.items()},
    "quarter": "qtr quarter",
    "dow": "dow",
    "isodow": "isodow",
    "doy": "doy",
    "isoyear": "isoyear",
    "julian": "jd julian j",
    "epoch": "epoch",
    "timezone": "timezone",
    "timezone_hour": "timezone_h timezone_hour",
    "timezone_minute": "timezone_m timezone_minute",
}
UNITS = {name: unit for unit, names in _SPELLINGS.items() for name in names.split()}
"""Field name of each spelling."""

_CLOCK = {
    "microseconds": "microsecond({0})",
    "milliseconds": "microsecond({0})",
    "second": "microsecond({0})",
    "minute": "minute({0})",
    "hour": "hour({0})",
}
_CALENDAR = {
    "day": "day({0})",
    "week": "week({0})",
    "month": "month({0})",
    "quarter": "quarter({0})",
    # there is no year 0: DuckDB counts 1 BC as year 0
    "year": "(year({0}) - CAST(year({0}) <= 0 AS INTEGER))",
    "decade": "CAST(floor(year({0}) / 10) AS BIGINT)",
    "century": "century({0})",
    "millennium": "millennium({0})",
    "dow": "dayofweek({0})",
    "isodow": "isodow({0})",
    "doy": "dayofyear({0})",
    "isoyear": "(isoyear({0}) - CAST(isoyear({0}) <= 0 AS INTEGER))",
}
_MONOTONIC = frozenset({"year", "decade", "century", "millennium", "isoyear", "julian", "epoch"})
_ZONE = {
    "timezone": "datepart('timezone', {0})",
    "timezone_hour": "datepart('timezone_hour', {0})",
    "timezone_minute": "datepart('timezone_minute', {0})",
}
_EPOCH = {"epoch": "epoch_us({0})"}
_FIELDS: dict[str, dict[str, str]] = {
    "timestamp": {**_CLOCK, **_CALENDAR, **_EPOCH},
    # only the session's clock counts years BC
    "timestamptz": {
        **_CLOCK,
        **{unit: made.replace("{0}", "CAST({0} AS TIMESTAMP)") for unit, made in _CALENDAR.items()},
        **_EPOCH,
        **_ZONE,
    },
    "date": {
        **_CALENDAR,
        "epoch": "(({0} - DATE '1970-01-01') * 86400)",
        "julian": "(({0} - DATE '1970-01-01') + 2440588)",
    },
    "time": {**_CLOCK, "epoch": "epoch_us({0})"},
    "timetz": {
        **{unit: made.format("pg_make_time(pg_timetz_us({0}))") for unit, made in _CLOCK.items()},
        "epoch": "pg_timetz_utc({0})",
        "timezone": "(-pg_timetz_west({0}))",
        "timezone_hour": "(-pg_timetz_west({0}) // 3600)",
        "timezone_minute": "(-pg_timetz_west({0}) // 60 % 60)",
    },
    "interval": {
        **_CLOCK,
        "day": "pg_interval_days({0})",
        "month": "datepart('month', {0})",
        "quarter": "(datepart('month', {0}) // 3 + 1)",
        "year": "datepart('year', {0})",
        "decade": "(datepart('year', {0}) // 10)",
        "century": "(datepart('year', {0}) // 100)",
        "millennium": "(datepart('year', {0}) // 1000)",
        # a year counts 365.25 days, a month 30
        "epoch": "((CAST(datepart('year', {0}) AS HUGEINT) * 1461 + datepart('month', {0}) * 120"
        " + pg_interval_days({0}) * 4) * 21600000000 + pg_interval_us({0}))",
    },
}
_MICROSECONDS = {"second": 6, "milliseconds": 3, "epoch": 6}
_DIGITS = {"epoch": 19, "microseconds": 8, "julian": 10, "hour": 10}
_INTERVAL_DIGITS = 22
"""All microseconds of an interval, which may exceed 64 bits."""


def find_field_error(text: str, item: SqlType, supported: Container[str]) -> SqlError | None:
    """Returns the error for a missing field: 22023 for an unknown name, 0A000 for one that the type lacks."""
    unit = UNITS.get(text.strip().lower())
    if unit is None:
        return SqlError.of("invalid_parameter_value", f'unit "{text.lower()}" not recognized for type {item.plain}')
    if unit not in supported:
        return FeatureNotSupported(f'unit "{text.lower()}" not supported for type {item.plain}')
    return None


def render_field_error(error: SqlError, value: str, duckdb_type: str, *, infinite: str | None = None) -> str:
    """Raises an error for values that are not NULL; an infinite value returns `infinite` instead."""
    raised = render_error(error.sqlstate, quote_literal(error.message), duckdb_type)
    if infinite is None:
        return f"(CASE WHEN {value} IS NOT NULL THEN {raised} END)"
    return f"(CASE WHEN isfinite({value}) THEN {raised} ELSE {infinite} END)"


def render_by_name(
    operands: Operands,
    units: Container[str],
    render_field: Callable[[str, str], str],
    item: SqlType,
    duckdb_type: str,
    *,
    infinite: str | None = None,
    for_any_name: bool = False,
) -> str:
    """Chooses among all fields if the field's name is not constant: `render_field` returns each from its name and a
    value.

    `infinite` is the result of an infinite value for a field that its type lacks; with `for_any_name` for any name.
    """
    unknown = render_error(
        "22023", f"'unit \"' || lower({{0}}) || '\" not recognized for type {item.plain}'", duckdb_type
    )
    lacking = render_error(
        "0A000", f"'unit \"' || lower({{0}}) || '\" not supported for type {item.plain}'", duckdb_type
    )

    def body(name: str, value: str) -> str:
        whens = [f"WHEN NOT isfinite({value}) THEN {value}"] if for_any_name else []
        for unit, spellings in _SPELLINGS.items():
            spelling_list = ", ".join(map(quote_literal, spellings.split()))
            if unit in units:
                result = render_field(unit, value)
            elif infinite is None:
                result = lacking.format(name)
            else:
                result = f"CASE WHEN isfinite({value}) THEN {lacking.format(name)} ELSE {infinite} END"
            whens.append(f"WHEN lower(trim({name})) IN ({spelling_list}) THEN {result}")
        null = f"WHEN {name} IS NULL OR {value} IS NULL THEN NULL"
        return f"(CASE {null} {' '.join(whens)} ELSE {unknown.format(name)} END)"

    return bind_values(body, *operands.sql[:2])


def _get_scale(unit: str, item: SqlType) -> int:
    return 0 if item.name == "date" else _MICROSECONDS.get(unit, 0)


_TIMESTAMP_FIELDS = frozenset({"timestamp", "timestamptz"})


def _split_julian(value: str, item: SqlType) -> tuple[str, str]:
    """Returns the Julian day of a timestamp and its microseconds since midnight; for a timestamptz on the session's
    clock.
    """
    local = f"CAST({value} AS TIMESTAMP)" if item.name == "timestamptz" else value
    day = f"CAST({local} AS DATE)"
    return f"({day} - DATE '1970-01-01' + 2440588)", f"(epoch_us({local}) - epoch_us(CAST({day} AS TIMESTAMP)))"


_ENDLESS = frozenset({"date", *_TIMESTAMP_FIELDS})
"""Types of moments that may be infinite."""


def _render_field(unit: str, value: str, item: SqlType, duckdb_type: str) -> str:
    """Returns one field as a decimal."""
    scale = _get_scale(unit, item)
    field = _FIELDS[item.name][unit].format(value)
    if scale:
        digits = _INTERVAL_DIGITS if item.name == "interval" else 19
        field = f"(CAST({field} AS DECIMAL({digits},0)) * {'0.' + '0' * (scale - 1) + '1'})"
    field = f"CAST({field} AS {duckdb_type})"
    if unit in _MONOTONIC and item.name in _ENDLESS:
        error = render_error("22003", f"'{NUMERIC_OVERFLOW}'", duckdb_type, detail=NOT_FINITE)
        return f"(CASE WHEN isinf({value}) THEN {error} ELSE {field} END)"
    return field


def _render_extract(operands: Operands) -> str:
    text, item, duckdb_type = get_constant_text(operands, 0), operands.types[1], operands.result.duckdb
    value_type = operands.result.duckdb_value
    fields = _FIELDS[item.name]
    if text is None:
        infinite = "NULL" if item.name in _TIMESTAMP_FIELDS else None
        return render_by_name(
            operands, fields, lambda u, v: _render_field(u, v, item, value_type), item, value_type, infinite=infinite
        )
    value = operands.sql[1]
    if UNITS.get(text.strip().lower()) == "julian" and item.name in _TIMESTAMP_FIELDS:
        return bind_values(lambda v: _render_julian(v, item, operands.result), value)
    if (error := find_field_error(text, item, fields)) is not None:
        infinite = "NULL" if item.name in _TIMESTAMP_FIELDS and error.sqlstate == "0A000" else None
        return bind_values(lambda v: render_field_error(error, v, duckdb_type, infinite=infinite), value)
    unit = UNITS[text.strip().lower()]
    return bind_values(lambda v: _render_field(unit, v, item, duckdb_type), value)


def _render_julian(value: str, item: SqlType, result: SqlType) -> str:
    """Returns a day and the elapsed share of it, at the scale of PostgreSQL's numeric division."""
    day, clock = _split_julian(value, item)
    share = render_quotient(f"CAST({clock} AS DECIMAL(18,0))", "CAST(86400000000 AS DECIMAL(18,0))", "0", result)
    duckdb_type = result.duckdb
    error = render_error("22003", f"'{NUMERIC_OVERFLOW}'", duckdb_type, detail=NOT_FINITE)
    day_sum = f"struct_pack(v := CAST(pg_q.v + {day} AS {result.duckdb_value}), s := (pg_q).s)"
    sum_sql = f"list_transform([{share}], lambda pg_q: {day_sum})[1]"
    return f"(CASE WHEN isinf({value}) THEN {error} WHEN {value} IS NOT NULL THEN CAST({sum_sql} AS {duckdb_type}) END)"


def _render_extract_scale(operands: Operands) -> str:
    """Returns the display scale of a field, if its name or value determines it."""
    text, item = get_constant_text(operands, 0), operands.types[1]
    if text is not None:
        return f"({_render_extract(operands)}).s"
    fields = _FIELDS[item.name]
    return render_by_name(
        operands,
        fields,
        lambda unit, value: str(_get_scale(unit, item)),
        item,
        "INTEGER",
        infinite="0" if item.name in _TIMESTAMP_FIELDS else None,
    )


def _render_extract_value(operands: Operands) -> str:
    value = _render_extract(operands)
    julian = operands.result.is_carried and get_constant_text(operands, 0) is not None
    return f"({value}).v" if julian else value


def _get_extract_type(types: Sequence[SqlType], constants: Sequence[object]) -> SqlType:
    text, item = constants[0], types[1]
    if item.name in _ENDLESS:
        use_layout()  # a moment may be infinite
    if not isinstance(text, str):
        return carried_numeric()
    unit = UNITS.get(text.strip().lower())
    if unit == "julian" and item.name in _TIMESTAMP_FIELDS:
        return carried_numeric()
    if unit is None or unit not in _FIELDS[item.name]:
        return exact_numeric(1, 0)
    scale = _get_scale(unit, item)
    if item.name == "interval" and unit != "epoch":
        return exact_numeric(12 + scale, scale)
    return exact_numeric(_DIGITS.get(unit, 7 if not scale else 8) + (scale if unit == "epoch" else 0), scale)


declare("extract", _render_extract_value, scale=_render_extract_scale, result=_get_extract_type)


def _render_wide_extract(operands: Operands) -> str:
    """Returns a field as a wide numeric: that of an infinite moment is infinite if it grows with time, else NULL."""
    plain = replace(operands, result=_get_extract_type(operands.types, operands.constants))
    text, item, value = get_constant_text(operands, 0), operands.types[1], operands.sql[1]
    scale = _render_extract_scale(plain) if plain.result.is_carried else str(plain.result.numeric_digits[1])
    finite = to_wide_struct(_render_extract_value(plain), scale, plain.result)
    if text is None or item.name not in _ENDLESS or UNITS.get(text.strip().lower()) not in _MONOTONIC:
        return finite
    infinity = f"pg_wide_in(CASE WHEN {value} > TIMESTAMP '1970-01-01' THEN 'Infinity' ELSE '-Infinity' END)"
    return f"(CASE WHEN isinf({value}) THEN {infinity} ELSE {finite} END)"


declare_wide("extract", _render_wide_extract)


def _render_part(unit: str, value: str, item: SqlType) -> str:
    """Returns one field as a double."""
    if unit == "julian" and item.name in _TIMESTAMP_FIELDS:
        day, clock = _split_julian(value, item)
        part = f"({day} + {clock} / 86400000000.0::DOUBLE)"
    else:
        scale = _get_scale(unit, item)
        part = _FIELDS[item.name][unit].format(value)
        part = f"(CAST({part} AS DOUBLE) / {10**scale})" if scale else f"CAST({part} AS DOUBLE)"
    if unit in _MONOTONIC and item.name in _TIMESTAMP_FIELDS:
        infinite = f"CASE WHEN {value} > TIMESTAMP '1970-01-01' THEN 'Infinity' ELSE '-Infinity' END"
        part = f"(CASE WHEN isinf({value}) THEN CAST({infinite} AS DOUBLE) ELSE {part} END)"
    return part


def _render_date_part(operands: Operands) -> str:
    item, value, text = operands.types[1], operands.sql[1], get_constant_text(operands, 0)
    if item.name == "date":  # PostgreSQL uses the fields of the date's midnight
        item, value = SqlType("timestamp"), f"CAST({value} AS TIMESTAMP)"
    fields = {*_FIELDS[item.name], *({"julian"} if item.name in _TIMESTAMP_FIELDS else ())}
    if text is None:
        moved = replace(operands, sql=(operands.sql[0], value))
        infinite = "NULL" if item.name in _TIMESTAMP_FIELDS else None
        return render_by_name(moved, fields, lambda u, v: _render_part(u, v, item), item, "DOUBLE", infinite=infinite)
    if (error := find_field_error(text, item, fields)) is not None:
        infinite = "NULL" if item.name in _TIMESTAMP_FIELDS and error.sqlstate == "0A000" else None
        return bind_values(lambda v: render_field_error(error, v, "DOUBLE", infinite=infinite), value)
    unit = UNITS[text.strip().lower()]
    return bind_values(lambda v: _render_part(unit, v, item), value)


declare("date_part", _render_date_part)
