"""money: arithmetic and casts, on cents (PostgreSQL's cash.c)."""

from __future__ import annotations

from collections.abc import Callable

from gpudb.functions.let_binding import bind_values, render_error
from gpudb.functions.numeric import to_unscaled
from gpudb.functions.registry import Operands, declare
from gpudb.functions.wide_casts import to_wide_struct
from gpudb.types import MAX_DIGITS, SqlType
from gpudb.types.facts import STRINGS

for _name, _symbol in {"eq": "=", "ne": "<>", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}.items():
    declare(f"cash_{_name}", f"({{0}} {_symbol} {{1}})")
declare("cash_cmp", "(CASE WHEN {0} < {1} THEN -1 WHEN {0} > {1} THEN 1 WHEN {0} = {1} THEN 0 END)::INTEGER")


def _to_cents(number: str) -> str:
    """Converts a wider number to cents; 22003 if it does not fit."""
    error = render_error("22003", "'money out of range'", "BIGINT")
    return bind_values(
        lambda v: f"coalesce(TRY_CAST({v} AS BIGINT), CASE WHEN {v} IS NOT NULL THEN {error} END)", number
    )


def _make_integer_operation(symbol: str) -> Callable[[Operands], str]:
    """Returns integer arithmetic in 128 bits."""
    return lambda operands: _to_cents(f"(CAST({operands.sql[0]} AS HUGEINT) {symbol} {operands.sql[1]})")


declare("cash_pl", _make_integer_operation("+"))
declare("cash_mi", _make_integer_operation("-"))
declare(
    "cash_mul_int2 cash_mul_int4 cash_mul_int8 int2_mul_cash int4_mul_cash int8_mul_cash", _make_integer_operation("*")
)
declare("cash_div_int2 cash_div_int4 cash_div_int8", _make_integer_operation("//"))
declare("cashlarger", "(CASE WHEN {0} >= {1} THEN {0} WHEN {0} < {1} THEN {1} END)")
declare("cashsmaller", "(CASE WHEN {0} <= {1} THEN {0} WHEN {0} > {1} THEN {1} END)")
declare("cash_words", "pg_money_words({0})")
declare("sum(money)", lambda o: _to_cents(o.call("sum", *o.sql)))


def _make_float_operation(symbol: str, factor: int = 1) -> Callable[[Operands], str]:
    """Rounds to whole cents, halves to even; `factor` is the float operand's position."""

    def body(cents: str, number: str) -> str:
        zero = (
            f"WHEN {number} = 0 THEN {render_error('22012', repr('division by zero'), 'BIGINT')} "
            if symbol == "/"
            else ""
        )
        cents_sql = _to_cents(f"round_even(CAST({cents} AS DOUBLE) {symbol} CAST({number} AS DOUBLE), 0)")
        return f"(CASE WHEN {cents} IS NULL THEN NULL {zero}WHEN {number} IS NOT NULL THEN {cents_sql} END)"

    return lambda operands: bind_values(body, operands.sql[1 - factor], operands.sql[factor])


declare("cash_mul_flt8 cash_mul_flt4", _make_float_operation("*"))
declare("flt8_mul_cash flt4_mul_cash", _make_float_operation("*", 0))
declare("cash_div_flt8 cash_div_flt4", _make_float_operation("/"))


def _render_ratio(left: str, right: str) -> str:
    zero = render_error("22012", "'division by zero'", "DOUBLE")
    quotient = f"CAST({left} AS DOUBLE) / CAST({right} AS DOUBLE)"
    return f"(CASE WHEN {left} IS NULL THEN NULL WHEN {right} = 0 THEN {zero} ELSE {quotient} END)"


declare("cash_div_cash", lambda o: bind_values(_render_ratio, *o.sql))

# ---------------------------------------------------------------------------------------------- casts


def to_money(sql: str, source: SqlType) -> str | None:
    """Converts a value to cents; further digits of a numeric are rounded."""
    if source.name in STRINGS:
        return f"pg_money_in({sql})"
    if source.name in {"int4", "int8"}:
        return f"(CAST({sql} AS BIGINT) * 100)"
    if source.name == "numeric" and source.wide:
        return f"pg_wide_money({to_wide_struct(sql, None, source)})"
    if source.name == "numeric":
        rounded = f"CAST({sql} AS DECIMAL({MAX_DIGITS},2))"
        return f"CAST({to_unscaled(rounded, SqlType('numeric', -1, (MAX_DIGITS, 2)))} AS BIGINT)"
    return sql if source.name == "money" else None
