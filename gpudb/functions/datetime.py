"""Dates, times, timestamps and intervals: arithmetic, rounding and constructors (PostgreSQL's manual, 9.9)."""

from __future__ import annotations

from collections.abc import Callable

from gpudb.errors import FeatureNotSupported, SqlError
from gpudb.functions.fields import UNITS, find_field_error, render_by_name, render_field_error
from gpudb.functions.let_binding import bind_values, make_macro_template, render_error
from gpudb.functions.registry import Operands, declare
from gpudb.functions.text_literal import get_constant_text, quote_literal
from gpudb.types import SqlType
from gpudb.values import zones
from gpudb.values.calendar import DAY
from gpudb.values.interval import Interval

# ---------------------------------------------------------------------------------------------- arithmetic

declare("date_pli", make_macro_template("pg_date_add"))
declare("date_mii", lambda o: bind_values(lambda d, n: f"pg_date_add({d}, -({n}::BIGINT))", *o.sql))
declare("integer_pl_date", lambda o: bind_values(lambda n, d: f"pg_date_add({d}, {n})", *o.sql))
declare("date_mi", make_macro_template("pg_date_difference"))
for _name in ("date", "timestamp"):
    declare(f"{_name}_pl_interval", "({0} + {1})")
    declare(f"{_name}_mi_interval", "({0} - {1})")
    declare(f"interval_pl_{_name}", "({1} + {0})")


def _make_timestamptz_sum(position: int, sign: str) -> Callable[[Operands], str]:
    """Returns timestamptz ± interval: months and days on the session's clock, the rest in elapsed time."""

    def render(operands: Operands) -> str:
        value, span, known_span = operands.sql[position], operands.sql[1 - position], operands.constants[1 - position]
        if isinstance(known_span, Interval):
            if not (known_span.months or known_span.days) and abs(known_span.microseconds) < DAY:
                return f"({value} {sign} {span})"
            if not (known_span.months and known_span.days) and not known_span.microseconds:
                # one way over the clock
                return f"CAST(CAST({value} AS TIMESTAMP) {sign} {span} AS TIMESTAMPTZ)"
        return bind_values(
            lambda v, s: (
                f"pg_move_moment({v}, {sign}pg_interval_months({s}), {sign}pg_interval_days({s}),"
                f" {sign}pg_interval_us({s}))"
            ),
            value,
            span,
        )

    return render


declare("timestamptz_pl_interval date_add(timestamptz,interval)", _make_timestamptz_sum(0, "+"))
declare("timestamptz_mi_interval date_subtract(timestamptz,interval)", _make_timestamptz_sum(0, "-"))
declare("interval_pl_timestamptz", _make_timestamptz_sum(1, "+"))
declare("timestamp_mi", make_macro_template("pg_time_between"))
declare("timestamptz_mi", make_macro_template("pg_elapsed"))
declare("datetime_pl", "({0} + {1})")
declare("timedate_pl", "({1} + {0})")
declare("time_mi_time", "to_microseconds(epoch_us({0}) - epoch_us({1}))")
declare("time_pl_interval", "pg_day_time(epoch_us({0}) + pg_interval_us({1}))")
declare("time_mi_interval", "pg_day_time(epoch_us({0}) - pg_interval_us({1}))")
declare("interval_pl_time", "pg_day_time(epoch_us({1}) + pg_interval_us({0}))")
declare("interval_pl", make_macro_template("pg_interval_plus"))
declare("interval_mi", make_macro_template("pg_interval_minus"))
declare("interval_um", lambda o: bind_values(lambda v: f"pg_interval_minus(INTERVAL 0 DAYS, {v})", o.sql[0]))
_PARTS = "CAST(pg_interval_months({0}) AS INTEGER), CAST(pg_interval_days({0}) AS INTEGER), pg_interval_us({0})"


def _make_interval_product(name: str, interval: int) -> Callable[[Operands], str]:
    def render(operands: Operands) -> str:
        span, factor = operands.sql[interval], operands.sql[1 - interval]
        return bind_values(lambda s, f: f"{name}({_PARTS.format(s)}, {f})", span, factor)

    return render


declare("interval_mul", _make_interval_product("pg_interval_mul", 0))
declare("mul_d_interval", _make_interval_product("pg_interval_mul", 1))
declare("interval_div", _make_interval_product("pg_interval_div", 0))
for _name in ("justify_days", "justify_hours", "justify_interval"):
    declare(_name, lambda o, name=_name: bind_values(lambda v: f"pg_{name}({_PARTS.format(v)})", o.sql[0]))

# ---------------------------------------------------------------------------------------------- age, rounding

declare("age(timestamp,timestamp) age(timestamptz,timestamptz)", make_macro_template("pg_age"))
declare("age(timestamp)", lambda o: bind_values(lambda v: f"pg_age(CAST(current_date AS TIMESTAMP), {v})", o.sql[0]))
declare(
    "age(timestamptz)", lambda o: bind_values(lambda v: f"pg_age(CAST(current_date AS TIMESTAMPTZ), {v})", o.sql[0])
)
_TRUNCATED = frozenset(
    "microseconds milliseconds second minute hour day week month quarter year decade century millennium".split()
)
_READ_ONLY = frozenset("dow doy epoch isodow isoyear julian".split())


def _render_date_trunc(operands: Operands) -> str:
    text, item, duckdb_type = get_constant_text(operands, 0), operands.types[1], operands.result.duckdb
    units = _TRUNCATED - {"week"} if item.name == "interval" else _TRUNCATED
    zone = _get_zone(operands, 2) if len(operands.sql) == 3 else None
    if text is None:
        for_any_name = item.name != "interval"
        return render_by_name(
            operands,
            units,
            lambda u, v: _render_truncation(u, v, item, zone),
            item,
            duckdb_type,
            for_any_name=for_any_name,
        )
    error = find_field_error(text, item, units)
    if error is not None and UNITS.get(text.strip().lower()) in _READ_ONLY:
        message = f'unit "{text.lower()}" not recognized for type {item.plain}'
        error = SqlError.of("invalid_parameter_value", message)
    if error is not None:
        field_error = error
        return bind_values(
            lambda v: render_field_error(field_error, v, duckdb_type, infinite=None if item.name == "interval" else v),
            operands.sql[1],
        )
    return _render_truncation(UNITS[text.strip().lower()], operands.sql[1], item, zone)


def _render_truncation(unit: str, value: str, item: SqlType, zone: zones.Zone | str | None) -> str:
    """Truncates a value to a unit, on a zone's clock if there is one."""
    if item.name == "interval":
        return bind_values(lambda v: f"pg_make_interval({_truncate_interval(unit, v)})", value)
    if item.name == "timestamptz" and unit in _MICROS:
        # when clocks are set back an hour is repeated: the remainder is subtracted from the timestamp itself
        def cut_off(v: str) -> str:
            local = f"CAST({v} AS TIMESTAMP)" if zone is None else _render_local_timestamp(v, zone)
            return f"pg_cut_moment({v}, {local}, date_trunc('{unit}', {local}))"

        return bind_values(cut_off, value)
    if zone is not None:
        where = zone

        def cut(v: str) -> str:
            moved = _render_timestamptz(f"pg_trunc_{unit}({_render_local_timestamp(v, where)})", where)
            return f"(CASE WHEN isfinite({v}) THEN {moved} ELSE {v} END)"

        return bind_values(cut, value)
    if unit in {"decade", "century", "millennium"} and item.name == "timestamptz":
        return bind_values(lambda v: f"CAST(pg_trunc_{unit}(CAST({v} AS TIMESTAMP)) AS TIMESTAMPTZ)", value)
    if unit in {"decade", "century", "millennium"}:
        return bind_values(lambda v: f"pg_trunc_{unit}({v})", value)
    return f"date_trunc('{unit}', {value})"


_MONTHS = {"month": 1, "quarter": 3, "year": 12, "decade": 120, "century": 1200, "millennium": 12000}
_MICROS = {"hour": 3_600_000_000, "minute": 60_000_000, "second": 1_000_000, "milliseconds": 1000, "microseconds": 1}


def _truncate_interval(unit: str, value: str) -> str:
    """Returns months, days and microseconds of an interval, truncated towards zero."""
    months, days, micros = (
        f"pg_interval_months({value})", f"pg_interval_days({value})", f"pg_interval_us({value})",
    )  # fmt: skip
    if unit in _MONTHS:
        return f"{months} // {_MONTHS[unit]} * {_MONTHS[unit]}, 0, 0"
    return f"{months}, {days}, " + ("0" if unit == "day" else f"{micros} // {_MICROS[unit]} * {_MICROS[unit]}")


declare("date_trunc", _render_date_trunc)
declare("date_bin(interval,timestamp,timestamp)", make_macro_template("pg_date_bin"))
declare("date_bin(interval,timestamptz,timestamptz)", make_macro_template("pg_date_bin_tz"))

# ---------------------------------------------------------------------------------------------- constructors

declare("make_date", make_macro_template("pg_make_date"))
declare("make_time", make_macro_template("pg_make_time_of"))


def _render_make_timestamp(operands: Operands) -> str:
    """Returns a timestamp of six numbers; NULL if any is NULL."""

    def body(*parts: str) -> str:
        date, time = ", ".join(parts[:3]), ", ".join(parts[3:])
        known_all = " AND ".join(f"{part} IS NOT NULL" for part in parts)
        return f"(CASE WHEN {known_all} THEN pg_make_date({date}) + pg_make_time_of({time}) END)"

    return bind_values(body, *operands.sql[:6])


declare("make_timestamp", _render_make_timestamp)


def _render_make_timestamptz(operands: Operands) -> str:
    local = _render_make_timestamp(operands)
    if len(operands.sql) == 6:
        return f"CAST({local} AS TIMESTAMPTZ)"
    return bind_values(lambda v: _render_timestamptz(v, f"pg_made_zone({operands.sql[6]})"), local)


declare("make_timestamptz", _render_make_timestamptz)


def _render_make_interval(operands: Operands) -> str:
    years, months, weeks, days, hours, minutes, seconds = (*operands.sql, *["0"] * (7 - len(operands.sql)))
    return (
        f"pg_make_interval({years}::BIGINT * 12 + {months}, {weeks}::BIGINT * 7 + {days},"
        f" {hours}::BIGINT * 3600000000 + {minutes}::BIGINT * 60000000"
        f" + pg_interval_micros(round_even({seconds}::DOUBLE * 1000000, 0)))"
    )


declare("make_interval", _render_make_interval)
declare("to_timestamp(float8)", make_macro_template("pg_to_timestamp"))
declare("isfinite(date) isfinite(timestamp) isfinite(timestamptz)", "isfinite({0})")
declare("isfinite(interval)", "({0} IS NOT NULL OR NULL)")

# ---------------------------------------------------------------------------------------------- time zones


def get_constant_zone(text: str | None) -> zones.Zone:
    """Returns the zone of AT TIME ZONE; 0A000 for a text that is not constant, 22023 for an unknown zone."""
    if text is None:
        raise FeatureNotSupported("a time zone that is not constant is not supported")
    return zones.parse_zone(text)


def _get_zone(operands: Operands, index: int) -> zones.Zone | str:
    """Returns the zone that an operand names; SQL if it is not constant, is not a zone (an error of each value), or is
    one that the engine does not know.
    """
    text = get_constant_text(operands, index)
    if text is None:
        return operands.sql[index]
    try:
        zone = zones.parse_zone(text)
    except SqlError:
        return operands.sql[index]
    return operands.sql[index] if isinstance(zone, zones.AbbreviationZone) else zone


def _get_zone_key(zone: zones.Zone) -> tuple[str | None, int]:
    """An IANA name, or seconds east of Greenwich."""
    name = getattr(zone, "key", None)
    return (name, 0) if name is not None else (None, zones.get_offset(zone, 0))


def _shift(value: str, zone: str, sign: str, which: str, duckdb_type: str) -> str:
    """Shifts a value by a zone's offset at that time; an infinite one is unchanged."""
    body = "timezone('UTC', {0})" if which == "utc" else "{0}"
    return bind_values(
        lambda v, z: (
            f"(CASE WHEN isfinite({v}) THEN {body.format(v)} {sign} to_seconds(pg_zone_{which}({z}, epoch_us({v})))"
            f" WHEN {z} IS NOT NULL THEN CAST({v} AS {duckdb_type}) END)"
        ),
        value,
        zone,
    )


def _render_local_timestamp(value: str, zone: zones.Zone | str) -> str:
    """Converts a timestamptz to the timestamp of a clock in the zone."""
    if isinstance(zone, str):
        return _shift(value, zone, "+", "utc", "TIMESTAMP")
    name, seconds = _get_zone_key(zone)
    if name is not None:
        return f"timezone({quote_literal(name)}, {value})"
    return f"(timezone('UTC', {value}) + to_seconds({seconds}))"


def _render_timestamptz(value: str, zone: zones.Zone | str) -> str:
    """Converts the timestamp of a clock in the zone to a timestamptz."""
    if isinstance(zone, str):
        return f"timezone('UTC', {_shift(value, zone, '-', 'local', 'TIMESTAMP')})"
    name, seconds = _get_zone_key(zone)
    if name is not None:
        return f"timezone({quote_literal(name)}, {value})"
    return f"timezone('UTC', {value} - to_seconds({seconds}))"


declare("timezone(text,timestamptz)", lambda o: _render_local_timestamp(o.sql[1], _get_zone(o, 0)))
declare("timezone(text,timestamp)", lambda o: _render_timestamptz(o.sql[1], _get_zone(o, 0)))


def render_fixed_offset(operands: Operands) -> str:
    """Returns an interval's whole seconds; 22023 if it has months or days, NULL if the value is NULL."""
    message = "'interval time zone \"' || pg_interval_text({0}) || '\" must not include months or days'"
    return bind_values(
        lambda v, t: (
            f"(CASE WHEN {t} IS NULL THEN NULL WHEN pg_interval_months({v}) <> 0 OR pg_interval_days({v}) <> 0"
            f" THEN {render_error('22023', message.format(v), 'INTERVAL')}"
            f" ELSE to_microseconds(pg_interval_us({v}) // 1000000 * 1000000) END)"
        ),
        *operands.sql,
    )


declare("timezone(interval,timestamptz)", lambda o: f"(timezone('UTC', {o.sql[1]}) + {render_fixed_offset(o)})")
declare("timezone(interval,timestamp)", lambda o: f"timezone('UTC', {o.sql[1]} - {render_fixed_offset(o)})")


def _make_sum_in_zone(sign: str) -> Callable[[Operands], str]:
    def render(operands: Operands) -> str:
        zone = _get_zone(operands, 2)

        def step(timestamp: str, months: str, days: str) -> str:
            # the zone is evaluated nevertheless: it may be unknown or NULL
            local = f"({_render_local_timestamp(timestamp, zone)} {sign} pg_make_interval({months}, {days}, 0))"
            zoned = _render_timestamptz(local, zone)
            return f"(CASE WHEN {months} = 0 AND {days} = 0 AND {zoned} IS NOT NULL THEN {timestamp} ELSE {zoned} END)"

        def move(timestamp: str, span: str) -> str:
            # months, then days count on the zone's clock, hours do not
            with_months = step(timestamp, f"pg_interval_months({span})", "0")
            start = bind_values(lambda t, s: step(t, "0", f"pg_interval_days({s})"), with_months, span)
            return f"({start} {sign} to_microseconds(pg_interval_us({span})))"

        return bind_values(move, *operands.sql[:2])

    return render


declare("date_add(timestamptz,interval,text)", _make_sum_in_zone("+"))
declare("date_subtract(timestamptz,interval,text)", _make_sum_in_zone("-"))

# ---------------------------------------------------------------------------------------------- overlaps, series


def _render_overlaps(operands: Operands) -> str:
    ends = []
    for at in (0, 2):
        start, end = operands.sql[at : at + 2]
        if operands.types[at + 1].name == "interval":
            end = (
                f"({start} + {end})"
                if operands.types[at].name != "time"
                else (f"pg_day_time(epoch_us({start}) + pg_interval_us({end}))")
            )
        ends += [start, end]
    return f"pg_overlaps({', '.join(ends)})"


declare("overlaps", _render_overlaps)


def _render_series(operands: Operands) -> str:
    first, last, step = operands.sql
    span = operands.constants[2]
    if operands.types[0].name == "timestamptz":
        if isinstance(span, Interval) and span.microseconds and not (span.months or span.days):
            series = f"pg_time_series(timezone('UTC', {first}), timezone('UTC', {last}), {step})"
            return f"list_transform({series}, lambda pg_e: timezone('UTC', pg_e))"
        return bind_values(
            lambda a, b, s: f"pg_zoned_series({a}, {b}, {s}, current_setting('TimeZone'))", first, last, step
        )
    return f"pg_time_series({first}, {last}, {step})"


def _render_series_in_zone(operands: Operands) -> str:
    """Steps of days and months follow the zone's clock."""
    return bind_values(lambda a, b, s, z: f"pg_zoned_series({a}, {b}, {s}, {z})", *operands.sql)


declare("generate_series(timestamptz,timestamptz,interval,text)", _render_series_in_zone)
declare(
    "generate_series(timestamp,timestamp,interval) generate_series(timestamptz,timestamptz,interval)", _render_series
)
