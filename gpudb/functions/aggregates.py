"""Aggregates. Sums of integers widen as in PostgreSQL; averages of exact numbers are exact quotients."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gpudb.functions.let_binding import render_error
from gpudb.functions.numeric import HALF, get_quotient_type, render_quotient, to_unscaled
from gpudb.functions.registry import Operands, declare
from gpudb.types import CARRIED_SCALE, MAX_DIGITS, SqlType, exact_numeric

_SUMMED = 28
"""Digits of values of which any number has a sum of 38 digits at most."""
Types = Sequence[SqlType]
Constants = Sequence[object]

declare("count()", lambda o: o.call("count", "*"))
declare("count(any)", lambda o: o.call("count", *o.sql))

# Integers: DuckDB sums into HUGEINT; PostgreSQL gives bigint for int2 and int4 (22003 beyond), numeric for int8.
declare("sum(int2) sum(int4)", lambda o: f"CAST({o.call('sum', *o.sql)} AS BIGINT)")
declare(
    "sum(int8)",
    lambda o: f"CAST({o.call('sum', *o.sql)} AS DECIMAL(38,0))",
    result=lambda t, c: exact_numeric(MAX_DIGITS, 0),
)


def _make_finite_aggregate(name: str) -> Callable[[Operands], str]:
    """Returns a float aggregate that raises 22003 if finite values yield infinity."""

    def render(operands: Operands) -> str:
        value, duckdb_type = operands.sql[0], operands.result.duckdb
        total = operands.call(name, f"CAST({value} AS DOUBLE)" if operands.types[0].name == "float4" else value)
        infinite = operands.call("bool_or", f"isinf({value})")
        error = render_error("22003", "'value out of range: overflow'", duckdb_type)
        if duckdb_type == "FLOAT":
            # NaN is the greatest value.
            overflows = f"abs({total}) > 3.4028235677973366e38 AND NOT isnan({total})"
            return f"(CASE WHEN {overflows} AND NOT {infinite} THEN {error} ELSE {total}::FLOAT END)"
        return f"(CASE WHEN isinf({total}) AND NOT {infinite} THEN {error} ELSE {total} END)"

    return render


declare("sum(float4) sum(float8)", _make_finite_aggregate("sum"))


def _sum_intervals(operands: Operands) -> str:
    """Sums months, days and microseconds separately, since DuckDB does not sum intervals."""
    value = operands.sql[0]
    return ", ".join(
        template.format(operands.call("sum", f"pg_interval_{part}({value})"))
        for part, template in (
            ("months", "pg_interval_part({})"),
            ("days", "pg_interval_part({})"),
            ("us", "pg_interval_micros({})"),
        )
    )


declare("sum(interval)", lambda o: f"pg_make_interval({_sum_intervals(o)})")


def get_display_scale(operands: Operands) -> str:
    """Returns a value's display scale; a NULL has none, whatever its scale column contains."""
    value, scale = operands.sql[0], operands.scales[0]
    return f"CASE WHEN {value} IS NOT NULL THEN {scale} END" if operands.types[0].is_carried else scale


def _render_numeric_sum(operands: Operands) -> str:
    return operands.call("sum", operands.sql[0])


def _sum_type(types: Types, _: Constants) -> SqlType:
    return exact_numeric(MAX_DIGITS, types[0].numeric_digits[1], varying=types[0].is_carried)


declare("sum(numeric)", _render_numeric_sum, scale=lambda o: o.call("max", get_display_scale(o)), result=_sum_type)


def _render_average(operands: Operands) -> str:
    """Returns sum / count: NULL for no values."""
    item = operands.types[0]
    scale = item.numeric_digits[1] if item.name == "numeric" else 0
    scale_sql = operands.call("max", get_display_scale(operands)) if item.is_carried else str(scale)
    total, count = (operands.call(name, operands.sql[0]) for name in ("sum", "count"))
    decimals = operands.result.numeric_digits[1]
    if decimals != CARRIED_SCALE and item.name == "numeric" and item.numeric_digits[0] > _SUMMED:
        # Averages that the usual layout has no room for may have sums of more than 38 digits
        digits = to_unscaled(operands.sql[0], item)
        parts = (operands.call("sum", f"{digits} {sign} {HALF}::HUGEINT") for sign in ("//", "%"))
        high, low = (f"CAST({part} AS DECIMAL({MAX_DIGITS},0))" for part in parts)
        return f"pg_average_{decimals}({high}, {low}, {count}, {scale}, CAST({scale_sql} AS INTEGER))"
    return render_quotient(total, count, scale_sql, operands.result)


declare("avg(int2) avg(int4) avg(int8) avg(numeric)", _render_average, result=get_quotient_type)
declare("avg(float4) avg(float8)", _make_finite_aggregate("avg"))
declare(
    "avg(interval)",
    lambda o: f"pg_interval_div({_sum_intervals(o)}, CAST(nullif({o.call('count', *o.sql)}, 0) AS DOUBLE))",
)


def _keep_type(types: Types, _: Constants) -> SqlType:
    if types[0].name != "numeric":
        return types[0].without_modifier
    return exact_numeric(*types[0].numeric_digits, varying=types[0].is_carried)


def _render_extreme(operands: Operands, name: str) -> str:
    """DuckDB's list aggregate cannot contain a subquery, which it would copy."""
    value = operands.sql[0]
    if operands.types[0].element is not None:
        return operands.call(f"arg_{name}", value, value)
    return operands.call(name, *operands.sql)


for _name in ("min", "max"):
    declare(
        _name,
        lambda o, name=_name: _render_extreme(o, name),
        scale=lambda o, name=_name: o.call(f"arg_{name}", o.scales[0], o.sql[0]),
        result=_keep_type,
    )
for _name in ("arg_max", "arg_min"):
    # The value where the second argument is extreme, among rows in which neither is NULL; of several any
    declare(
        _name,
        lambda o, name=_name: o.call(name, *o.sql),
        scale=lambda o, name=_name: o.call(name, get_display_scale(o), o.sql[1]),
        result=_keep_type,
    )
declare("bool_and every", lambda o: o.call("bool_and", *o.sql))
declare(
    "any_value",
    lambda o: o.call("any_value", o.sql[0]),
    scale=lambda o: o.call("any_value", get_display_scale(o)),
    result=_keep_type,
)
declare("bool_or", lambda o: o.call("bool_or", *o.sql))
for _name in ("bit_and", "bit_or", "bit_xor"):
    declare(_name, lambda o, name=_name: o.call(name, *o.sql))
