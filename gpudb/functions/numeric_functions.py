"""Functions of numeric: exact, with PostgreSQL's display scale for each result."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gpudb.functions.let_binding import let, raises
from gpudb.functions.numeric import beyond, exactly, held, unscaled
from gpudb.functions.registry import Operands, declare
from gpudb.types import CARRIED_SCALE, MAX_DIGITS, SqlType, exact_numeric

Types = Sequence[SqlType]
Constants = Sequence[object]

_CARRIED = f"DECIMAL({MAX_DIGITS},{CARRIED_SCALE})"


def _carried(types: Types, constants: Constants) -> SqlType:
    return exact_numeric(MAX_DIGITS, CARRIED_SCALE, varying=True)


def _integral(types: Types, constants: Constants) -> SqlType:
    precision, scale = types[0].numeric_digits
    return exact_numeric(precision - scale + 1, 0)


# ---------------------------------------------------------------------------------------------- rounding


def _to_integer(name: str) -> Callable[[Operands], str]:
    return lambda o: f"CAST({name}({o.sql[0]}) AS {o.result.duckdb})"


declare("ceil(numeric) ceiling(numeric)", _to_integer("ceil"), result=_integral)
declare("floor(numeric)", _to_integer("floor"), result=_integral)
declare("round(numeric)", lambda o: f"CAST({o.sql[0]} AS {o.result.duckdb})", result=_integral)
declare("trunc(numeric)", _to_integer("trunc"), result=_integral)
declare("sign(numeric)", "CAST(sign({0}) AS DECIMAL(1,0))", result=lambda types, constants: exact_numeric(1, 0))


def _rounded_type(types: Types, constants: Constants) -> SqlType:
    digits = constants[1]
    if not isinstance(digits, int):
        return _carried(types, constants)
    precision, scale = types[0].numeric_digits
    wanted = max(0, min(digits, MAX_DIGITS))
    return exact_numeric(precision - scale + 1 + wanted, wanted)


def _round(operands: Operands) -> str:
    digits, value = operands.constants[1], operands.sql[0]
    if not isinstance(digits, int):
        return f"pg_round_to(CAST({value} AS {_CARRIED}), {operands.sql[1]})"
    if digits >= 0:
        return f"CAST({value} AS {operands.result.duckdb})"
    precision, scale = operands.types[0].numeric_digits
    if -digits > precision - scale:
        return f"CAST({value} * 0 AS {operands.result.duckdb})"
    return f"CAST(round({value}, {digits}) AS {operands.result.duckdb})"


_SHOWN_DIGITS = f"greatest(0, least({{1}}, {CARRIED_SCALE}))"
declare("round(numeric,int4)", _round, scale=_SHOWN_DIGITS, result=_rounded_type)


def _truncated_type(types: Types, constants: Constants) -> SqlType:
    digits = constants[1]
    if not isinstance(digits, int):
        return _carried(types, constants)
    precision, scale = types[0].numeric_digits
    wanted = max(0, min(digits, MAX_DIGITS))
    return exact_numeric(precision - scale + wanted, wanted)


def _truncate(operands: Operands) -> str:
    digits, value = operands.constants[1], operands.sql[0]
    if not isinstance(digits, int):
        return f"pg_trunc_to(CAST({value} AS {_CARRIED}), {operands.sql[1]})"
    precision, scale = operands.types[0].numeric_digits
    if digits >= scale:
        return f"CAST({value} AS {operands.result.duckdb})"
    if -digits > precision - scale:
        return f"CAST({value} * 0 AS {operands.result.duckdb})"
    unit = f"1{'0' * -digits}" if digits <= 0 else f"0.{'0' * (digits - 1)}1"
    # a scale that does not fit truncates nothing
    item = f"DECIMAL({max(precision, scale + 1 - min(digits, 0))},{scale})"
    return let(lambda v: f"CAST({v} - {v} % CAST({unit} AS {item}) AS {operands.result.duckdb})", value)


declare("trunc(numeric,int4)", _truncate, scale=_SHOWN_DIGITS, result=_truncated_type)


# ---------------------------------------------------------------------------------------------- division


def _whole_quotient(operands: Operands) -> str:
    """div(): truncates towards zero."""
    (left, right), (first, second) = operands.sql, operands.types
    up, down = second.numeric_digits[1], first.numeric_digits[1]
    a, b = unscaled(left, first), unscaled(right, second)
    if beyond(operands.types):
        return exactly("pg_whole_quotient", operands)
    zero = raises("22012", "'division by zero'", operands.result.duckdb)
    common = min(up, down)
    return let(
        lambda x, y: (
            f"(CASE WHEN {x} IS NULL OR {y} IS NULL THEN NULL WHEN {y} = 0 THEN {zero} ELSE"
            f" CAST(({x} * pg_ten_to({up - common})) // ({y} * pg_ten_to({down - common}))"
            f" AS {operands.result.duckdb}) END)"
        ),
        a,
        b,
    )


declare("div(numeric,numeric) numeric_div_trunc", _whole_quotient, result=lambda t, c: exact_numeric(MAX_DIGITS, 0))

# ---------------------------------------------------------------------------------------------- roots, logarithms


def _shown(operands: Operands) -> str:
    """Returns each operand's digits at its display scale."""
    from gpudb.functions.to_text import text_of

    return ", ".join(
        text_of(value, scale, item)
        for value, scale, item in zip(operands.sql, operands.scales, operands.types, strict=True)
    )


def _by_python(names: str, name: str) -> None:
    def value(operands: Operands) -> str:
        return f"CAST({name}({_shown(operands)}) AS {_CARRIED})"

    def scale(operands: Operands) -> str:
        return f"least({CARRIED_SCALE}, pg_decimals({name}({_shown(operands)})))"

    declare(names, value, scale=scale, result=_carried)


_by_python("sqrt(numeric)", "pg_numeric_sqrt")
_by_python("exp(numeric)", "pg_numeric_exp")
_by_python("ln(numeric)", "pg_numeric_ln")
_by_python("log(numeric) log10(numeric)", "pg_numeric_log10")
_by_python("log(numeric,numeric)", "pg_numeric_log")
_by_python("power(numeric,numeric) pow(numeric,numeric) numeric_power", "pg_numeric_power")
_by_python("gcd(numeric,numeric)", "pg_numeric_gcd")
_by_python("lcm(numeric,numeric)", "pg_numeric_lcm")
_by_python("trim_scale(numeric)", "pg_numeric_trim")
declare("scale(numeric)", "CAST({s[0]} + 0 * CAST({0} * 0 AS INTEGER) AS INTEGER)")
declare("min_scale(numeric)", lambda o: f"pg_decimals(pg_numeric_trim({_shown(o)}))")


def _factorial(operands: Operands) -> str:
    wrong = raises("22003", "'factorial of a negative number is undefined'", operands.result.duckdb)
    return let(
        lambda v: (
            f"(CASE WHEN {v} < 0 THEN {wrong} ELSE"
            f" CAST(factorial(CAST(CASE WHEN {v} > 34 THEN 34 ELSE {v} END AS INTEGER))"
            f" AS {operands.result.duckdb}) END)"
        ),
        operands.sql[0],
    )


declare("factorial", _factorial, result=lambda types, constants: exact_numeric(MAX_DIGITS, 0))


def _bucket(operands: Operands) -> str:
    """width_bucket: the exact bucket, of `count` between two bounds."""
    scale = max(item.numeric_digits[1] for item in operands.types[:3])
    whole = SqlType("numeric", -1, (MAX_DIGITS, scale))
    parts = [
        unscaled(held(value, item, whole), whole)
        for value, item in zip(operands.sql[:3], operands.types[:3], strict=True)
    ]
    return f"pg_exact_bucket({', '.join(parts)}, {operands.sql[3]})"


declare("width_bucket(numeric,numeric,numeric,int4)", _bucket)
