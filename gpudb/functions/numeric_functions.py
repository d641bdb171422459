"""Functions of numeric: exact, with PostgreSQL's display scale for each result."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gpudb.errors import NUMERIC_OVERFLOW
from gpudb.functions.carried import carried_numeric, carried_scale, demand_wide_layout
from gpudb.functions.let_binding import bind_values, render_error
from gpudb.functions.numeric import call_unscaled, convert_digits, exceeds_int128, to_unscaled
from gpudb.functions.registry import Operands, declare
from gpudb.types import MAX_DIGITS, SqlType, exact_numeric

Types = Sequence[SqlType]
Constants = Sequence[object]


def _get_carried_type(types: Types, constants: Constants) -> SqlType:
    return carried_numeric()


def _get_integral_type(types: Types, constants: Constants) -> SqlType:
    precision, scale = types[0].numeric_digits
    return exact_numeric(precision - scale + 1, 0)


# ---------------------------------------------------------------------------------------------- rounding


def _make_rounding(name: str) -> Callable[[Operands], str]:
    return lambda o: f"CAST({name}({o.sql[0]}) AS {o.result.duckdb})"


declare("ceil(numeric) ceiling(numeric)", _make_rounding("ceil"), result=_get_integral_type)
declare("floor(numeric)", _make_rounding("floor"), result=_get_integral_type)
declare("round(numeric)", lambda o: f"CAST({o.sql[0]} AS {o.result.duckdb})", result=_get_integral_type)
declare("trunc(numeric)", _make_rounding("trunc"), result=_get_integral_type)
declare("sign(numeric)", "CAST(sign({0}) AS DECIMAL(1,0))", result=lambda types, constants: exact_numeric(1, 0))


def _get_shown_scale(digits: int) -> int:
    if digits > MAX_DIGITS:
        demand_wide_layout()
    return max(0, min(digits, MAX_DIGITS))


def _get_rounded_type(types: Types, constants: Constants) -> SqlType:
    digits = constants[1]
    if not isinstance(digits, int):
        return exact_numeric(MAX_DIGITS, max(carried_scale(), types[0].numeric_digits[1]), varying=True)
    precision, scale = types[0].numeric_digits
    new_scale = _get_shown_scale(digits)
    return exact_numeric(precision - scale + 1 + new_scale, new_scale)


def _round_to_places(value: str, operands: Operands, *, trunc: bool) -> str:
    """Rounds a value to decimals that are no constant; to tens, hundreds and so on for negative ones."""
    precision, scale = operands.result.numeric_digits
    item, held = operands.result.duckdb_value, convert_digits(value, operands.types[0], operands.result)
    overflow = render_error("22003", f"'{NUMERIC_OVERFLOW}'", item)

    def body(v: str, n: str, unit: str) -> str:
        rest = f"{v} % {unit}"
        # Beyond the largest unit every value is 0, unless it is half of the next one
        beyond = f"CAST(0 AS {item})"
        if not trunc:
            half = f"CAST('5e{precision - scale - 1}' AS {item})"
            beyond = f"CASE WHEN {n} = {scale - precision} AND abs({v}) >= {half} THEN {overflow} ELSE {beyond} END"
        whole = f"CAST({v} - {rest} AS {item})"
        if not trunc:
            up = f"CASE WHEN abs({rest}) < {unit} - abs({rest}) THEN 0 ELSE sign({v}) END"
            whole = f"CASE {up} WHEN 1 THEN {whole} + {unit} WHEN -1 THEN {whole} - {unit} ELSE {whole} END"
        return (
            f"(CASE WHEN {n} >= {scale} THEN {v} WHEN {v} IS NULL OR {n} IS NULL THEN NULL"
            f" WHEN {unit} IS NULL THEN {beyond} ELSE CAST({whole} AS {item}) END)"
        )

    places = operands.sql[1]
    exponent = f"'1e' || CAST(-greatest({places}, {-MAX_DIGITS - 1}) AS VARCHAR)"
    return bind_values(body, held, places, f"TRY_CAST({exponent} AS {item})")


def _render_round(operands: Operands) -> str:
    digits, value = operands.constants[1], operands.sql[0]
    if operands.result.is_carried or not isinstance(digits, int):
        return _round_to_places(value, operands, trunc=False)
    if digits >= 0:
        return f"CAST({value} AS {operands.result.duckdb})"
    precision, scale = operands.types[0].numeric_digits
    if -digits > precision - scale:
        return f"CAST({value} * 0 AS {operands.result.duckdb})"
    return f"CAST(round({value}, {digits}) AS {operands.result.duckdb})"


def _render_display_digits(operands: Operands) -> str:
    return f"greatest(0, least({operands.sql[1]}, {MAX_DIGITS}))"


declare("round(numeric,int4)", _render_round, scale=_render_display_digits, result=_get_rounded_type)


def _get_truncated_type(types: Types, constants: Constants) -> SqlType:
    digits = constants[1]
    if not isinstance(digits, int):
        return exact_numeric(MAX_DIGITS, max(carried_scale(), types[0].numeric_digits[1]), varying=True)
    precision, scale = types[0].numeric_digits
    new_scale = _get_shown_scale(digits)
    return exact_numeric(precision - scale + new_scale, new_scale)


def _render_trunc(operands: Operands) -> str:
    digits, value = operands.constants[1], operands.sql[0]
    if operands.result.is_carried or not isinstance(digits, int):
        return _round_to_places(value, operands, trunc=True)
    precision, scale = operands.types[0].numeric_digits
    if digits >= scale:
        return f"CAST({value} AS {operands.result.duckdb})"
    if -digits > precision - scale:
        return f"CAST({value} * 0 AS {operands.result.duckdb})"
    unit = f"1{'0' * -digits}" if digits <= 0 else f"0.{'0' * (digits - 1)}1"
    # a scale that does not fit truncates nothing
    item = f"DECIMAL({max(precision, scale + 1 - min(digits, 0))},{scale})"
    return bind_values(lambda v: f"CAST({v} - {v} % CAST({unit} AS {item}) AS {operands.result.duckdb})", value)


declare("trunc(numeric,int4)", _render_trunc, scale=_render_display_digits, result=_get_truncated_type)


# ---------------------------------------------------------------------------------------------- division


def _render_div(operands: Operands) -> str:
    """div(): truncates towards zero."""
    (left, right), (first, second) = operands.sql, operands.types
    up, down = second.numeric_digits[1], first.numeric_digits[1]
    a, b = to_unscaled(left, first), to_unscaled(right, second)
    if exceeds_int128(operands.types):
        return call_unscaled("pg_whole_quotient", operands)
    zero = render_error("22012", "'division by zero'", operands.result.duckdb)
    common = min(up, down)
    return bind_values(
        lambda x, y: (
            f"(CASE WHEN {x} IS NULL OR {y} IS NULL THEN NULL WHEN {y} = 0 THEN {zero} ELSE"
            f" CAST(({x} * pg_ten_to({up - common})) // ({y} * pg_ten_to({down - common}))"
            f" AS {operands.result.duckdb}) END)"
        ),
        a,
        b,
    )


declare("div(numeric,numeric) numeric_div_trunc", _render_div, result=lambda t, c: exact_numeric(MAX_DIGITS, 0))

# ---------------------------------------------------------------------------------------------- roots, logarithms


def _format_operands(operands: Operands) -> str:
    """Returns each operand's digits at its display scale."""
    from gpudb.functions.to_text import to_text

    return ", ".join(
        to_text(value, scale, item)
        for value, scale, item in zip(operands.sql, operands.scales, operands.types, strict=True)
    )


def _declare_in_python(names: str, name: str) -> None:
    def digits(operands: Operands) -> str:
        return f"{name}({_format_operands(operands)}, {operands.result.numeric_digits[1]})"

    declare(
        names,
        lambda o: f"CAST({digits(o)} AS {o.result.duckdb_value})",
        scale=lambda o: f"pg_decimals({digits(o)})",
        result=_get_carried_type,
    )


_declare_in_python("sqrt(numeric)", "pg_numeric_sqrt")
_declare_in_python("exp(numeric)", "pg_numeric_exp")
_declare_in_python("ln(numeric)", "pg_numeric_ln")
_declare_in_python("log(numeric) log10(numeric)", "pg_numeric_log10")
_declare_in_python("log(numeric,numeric)", "pg_numeric_log")
_declare_in_python("power(numeric,numeric) pow(numeric,numeric) numeric_power", "pg_numeric_power")
_declare_in_python("gcd(numeric,numeric)", "pg_numeric_gcd")
_declare_in_python("lcm(numeric,numeric)", "pg_numeric_lcm")
declare(
    "trim_scale(numeric)",
    lambda o: o.sql[0],
    scale=lambda o: f"pg_decimals(pg_numeric_trim({_format_operands(o)}))",
    result=lambda types, constants: exact_numeric(*types[0].numeric_digits, varying=True),
)
declare("scale(numeric)", "CAST({s[0]} + 0 * CAST({0} * 0 AS INTEGER) AS INTEGER)")
declare("min_scale(numeric)", lambda o: f"pg_decimals(pg_numeric_trim({_format_operands(o)}))")


def _render_factorial(operands: Operands) -> str:
    error = render_error("22003", "'factorial of a negative number is undefined'", operands.result.duckdb)
    overflow = render_error("22003", f"'{NUMERIC_OVERFLOW}'", operands.result.duckdb)
    return bind_values(
        lambda v: (
            f"(CASE WHEN {v} < 0 THEN {error} ELSE"
            f" CASE WHEN {v} > 33 THEN {overflow} ELSE CAST(factorial(CAST({v} AS INTEGER))"
            f" AS {operands.result.duckdb}) END END)"
        ),
        operands.sql[0],
    )


declare("factorial", _render_factorial, result=lambda types, constants: exact_numeric(MAX_DIGITS, 0))


def _render_width_bucket(operands: Operands) -> str:
    """width_bucket: the exact bucket, of `count` between two bounds."""
    scale = max(item.numeric_digits[1] for item in operands.types[:3])
    common = SqlType("numeric", -1, (MAX_DIGITS, scale))
    parts = [
        to_unscaled(convert_digits(value, item, common), common)
        for value, item in zip(operands.sql[:3], operands.types[:3], strict=True)
    ]
    return bind_values(lambda *names: f"pg_exact_bucket({', '.join(names)})", *parts, operands.sql[3])


declare("width_bucket(numeric,numeric,numeric,int4)", _render_width_bucket)
