"""EXTRACT and date_part: the fields of dates, times, timestamps and intervals."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from dataclasses import replace

from gpudb.errors import FeatureNotSupported, SqlError
from gpudb.functions.let_binding import let, raises
from gpudb.functions.numeric import quotient
from gpudb.functions.registry import Operands, declare
from gpudb.functions.text_literal import known, quoted
from gpudb.types import CARRIED_SCALE, MAX_DIGITS, SqlType, exact_numeric

_SPELLINGS = {
    "microseconds": "microsecond microseconds microsecon us usec usecs useconds",
    "milliseconds": "millisecond milliseconds millisecon ms msec msecs mseconds",
    "second": "s sec secs second seconds",
    "minute": "m min mins minute minutes",
    "hour": "h hr hrs hour hours",
    "day": "d day days",
    "week": "w week weeks",
    "month": "mon mons month months",
    "quarter": "qtr quarter",
    "year": "y yr yrs year years",
    "decade": "dec decs decade decades",
    "century": "c cent century centuries",
    "millennium": "mil mils millennia millennium",
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


def refusal(text: str, item: SqlType, supported: Container[str]) -> SqlError | None:
    """Returns the error for a missing field: 22023 for an unknown name, 0A000 for one that the type lacks."""
    unit = UNITS.get(text.strip().lower())
    if unit is None:
        return SqlError.of("invalid_parameter_value", f'unit "{text.lower()}" not recognized for type {item.plain}')
    if unit not in supported:
        return FeatureNotSupported(f'unit "{text.lower()}" not supported for type {item.plain}')
    return None


def refused(error: SqlError, value: str, held: str, *, infinite: str | None = None) -> str:
    """Raises an error for values that are not NULL; an infinite value returns `infinite` instead."""
    wrong = raises(error.sqlstate, quoted(error.message), held)
    if infinite is None:
        return f"(CASE WHEN {value} IS NOT NULL THEN {wrong} END)"
    return f"(CASE WHEN isfinite({value}) THEN {wrong} ELSE {infinite} END)"


def by_name(
    operands: Operands,
    units: Container[str],
    made: Callable[[str, str], str],
    item: SqlType,
    held: str,
    *,
    infinite: str | None = None,
    whatever: bool = False,
) -> str:
    """Chooses among all fields if the field's name is not constant: `made` returns each from its name and a value.

    `infinite` is the result of an infinite value for a field that its type lacks; with `whatever` for any name.
    """
    unknown = raises("22023", f"'unit \"' || lower({{0}}) || '\" not recognized for type {item.plain}'", held)
    lacking = raises("0A000", f"'unit \"' || lower({{0}}) || '\" not supported for type {item.plain}'", held)

    def body(name: str, value: str) -> str:
        whens = [f"WHEN NOT isfinite({value}) THEN {value}"] if whatever else []
        for unit, spellings in _SPELLINGS.items():
            listed = ", ".join(map(quoted, spellings.split()))
            if unit in units:
                result = made(unit, value)
            elif infinite is None:
                result = lacking.format(name)
            else:
                result = f"CASE WHEN isfinite({value}) THEN {lacking.format(name)} ELSE {infinite} END"
            whens.append(f"WHEN lower(trim({name})) IN ({listed}) THEN {result}")
        nothing = f"WHEN {name} IS NULL OR {value} IS NULL THEN NULL"
        return f"(CASE {nothing} {' '.join(whens)} ELSE {unknown.format(name)} END)"

    return let(body, *operands.sql[:2])


def _scale(unit: str, item: SqlType) -> int:
    return 0 if item.name == "date" else _MICROSECONDS.get(unit, 0)


_OF_MOMENTS = frozenset({"timestamp", "timestamptz"})
_CARRIED = f"DECIMAL({MAX_DIGITS},{CARRIED_SCALE})"


def _julian_us(value: str, item: SqlType) -> tuple[str, str]:
    """Returns the Julian day of a timestamp and its microseconds since midnight; for a timestamptz on the session's
    clock.
    """
    local = f"CAST({value} AS TIMESTAMP)" if item.name == "timestamptz" else value
    day = f"CAST({local} AS DATE)"
    return f"({day} - DATE '1970-01-01' + 2440588)", f"(epoch_us({local}) - epoch_us(CAST({day} AS TIMESTAMP)))"


def _extracted(unit: str, value: str, item: SqlType, held: str) -> str:
    """Returns one field as a decimal."""
    scale = _scale(unit, item)
    made = _FIELDS[item.name][unit].format(value)
    if scale:
        digits = _INTERVAL_DIGITS if item.name == "interval" else 19
        made = f"(CAST({made} AS DECIMAL({digits},0)) * {'0.' + '0' * (scale - 1) + '1'})"
    made = f"CAST({made} AS {held})"
    if unit in _MONOTONIC and item.name in {"date", *_OF_MOMENTS}:
        wrong = raises("0A000", "'numeric NaN and infinities are not supported'", held)
        return f"(CASE WHEN isinf({value}) THEN {wrong} ELSE {made} END)"
    return made


def _extract(operands: Operands) -> str:
    text, item, held = known(operands, 0), operands.types[1], operands.result.duckdb
    fields = _FIELDS[item.name]
    if text is None:
        infinite = "NULL" if item.name in _OF_MOMENTS else None
        return by_name(
            operands, fields, lambda u, v: _extracted(u, v, item, _CARRIED), item, _CARRIED, infinite=infinite
        )
    value = operands.sql[1]
    if UNITS.get(text.strip().lower()) == "julian" and item.name in _OF_MOMENTS:
        return let(lambda v: _julian(v, item), value)
    if (error := refusal(text, item, fields)) is not None:
        infinite = "NULL" if item.name in _OF_MOMENTS and error.sqlstate == "0A000" else None
        return let(lambda v: refused(error, v, held, infinite=infinite), value)
    unit = UNITS[text.strip().lower()]
    return let(lambda v: _extracted(unit, v, item, held), value)


def _julian(value: str, item: SqlType) -> str:
    """Returns a day and the elapsed share of it, at the scale of PostgreSQL's numeric division."""
    day, clock = _julian_us(value, item)
    share = quotient(f"CAST({clock} AS DECIMAL(18,0))", "CAST(86400000000 AS DECIMAL(18,0))", "0")
    held = f"STRUCT(v {_CARRIED}, s TINYINT)"
    wrong = raises("0A000", "'numeric NaN and infinities are not supported'", held)
    whole = f"struct_pack(v := CAST(pg_q.v + {day} AS {_CARRIED}), s := (pg_q).s)"
    made = f"list_transform([{share}], lambda pg_q: {whole})[1]"
    return f"(CASE WHEN isinf({value}) THEN {wrong} WHEN {value} IS NOT NULL THEN CAST({made} AS {held}) END)"


def _extract_scale(operands: Operands) -> str:
    """Returns the display scale of a field, if its name or value determines it."""
    text, item = known(operands, 0), operands.types[1]
    if text is not None:
        return f"({_extract(operands)}).s"
    fields = _FIELDS[item.name]
    return by_name(
        operands,
        fields,
        lambda unit, value: str(_scale(unit, item)),
        item,
        "INTEGER",
        infinite="0" if item.name in _OF_MOMENTS else None,
    )


def _extract_value(operands: Operands) -> str:
    made = _extract(operands)
    julian = operands.result.is_carried and known(operands, 0) is not None
    return f"({made}).v" if julian else made


def _extract_type(types: Sequence[SqlType], constants: Sequence[object]) -> SqlType:
    text, item = constants[0], types[1]
    if not isinstance(text, str):
        return exact_numeric(MAX_DIGITS, CARRIED_SCALE, varying=True)
    unit = UNITS.get(text.strip().lower())
    if unit == "julian" and item.name in _OF_MOMENTS:
        return exact_numeric(MAX_DIGITS, CARRIED_SCALE, varying=True)
    if unit is None or unit not in _FIELDS[item.name]:
        return exact_numeric(1, 0)
    scale = _scale(unit, item)
    if item.name == "interval" and unit != "epoch":
        return exact_numeric(12 + scale, scale)
    return exact_numeric(_DIGITS.get(unit, 7 if not scale else 8) + (scale if unit == "epoch" else 0), scale)


declare("extract", _extract_value, scale=_extract_scale, result=_extract_type)


def _part(unit: str, value: str, item: SqlType) -> str:
    """Returns one field as a double."""
    if unit == "julian" and item.name in _OF_MOMENTS:
        day, clock = _julian_us(value, item)
        made = f"({day} + {clock} / 86400000000.0::DOUBLE)"
    else:
        scale = _scale(unit, item)
        made = _FIELDS[item.name][unit].format(value)
        made = f"(CAST({made} AS DOUBLE) / {10**scale})" if scale else f"CAST({made} AS DOUBLE)"
    if unit in _MONOTONIC and item.name in _OF_MOMENTS:
        infinite = f"CASE WHEN {value} > TIMESTAMP '1970-01-01' THEN 'Infinity' ELSE '-Infinity' END"
        made = f"(CASE WHEN isinf({value}) THEN CAST({infinite} AS DOUBLE) ELSE {made} END)"
    return made


def _date_part(operands: Operands) -> str:
    item, value, text = operands.types[1], operands.sql[1], known(operands, 0)
    if item.name == "date":  # PostgreSQL uses the fields of the date's midnight
        item, value = SqlType("timestamp"), f"CAST({value} AS TIMESTAMP)"
    fields = {*_FIELDS[item.name], *({"julian"} if item.name in _OF_MOMENTS else ())}
    if text is None:
        moved = replace(operands, sql=(operands.sql[0], value))
        infinite = "NULL" if item.name in _OF_MOMENTS else None
        return by_name(moved, fields, lambda u, v: _part(u, v, item), item, "DOUBLE", infinite=infinite)
    if (error := refusal(text, item, fields)) is not None:
        infinite = "NULL" if item.name in _OF_MOMENTS and error.sqlstate == "0A000" else None
        return let(lambda v: refused(error, v, "DOUBLE", infinite=infinite), value)
    unit = UNITS[text.strip().lower()]
    return let(lambda v: _part(unit, v, item), value)


declare("date_part", _date_part)
