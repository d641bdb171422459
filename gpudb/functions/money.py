"""money: arithmetic and casts, on cents (PostgreSQL's cash.c)."""

from __future__ import annotations

from collections.abc import Callable

from gpudb.functions.let_binding import let, raises
from gpudb.functions.numeric import unscaled
from gpudb.functions.operands import STRINGS
from gpudb.functions.registry import Operands, declare
from gpudb.types import MAX_DIGITS, SqlType

for _name, _symbol in {"eq": "=", "ne": "<>", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}.items():
    declare(f"cash_{_name}", f"({{0}} {_symbol} {{1}})")
declare("cash_cmp", "(CASE WHEN {0} < {1} THEN -1 WHEN {0} > {1} THEN 1 WHEN {0} = {1} THEN 0 END)::INTEGER")


def _held(made: str) -> str:
    """Converts a wider number to cents; 22003 if it does not fit."""
    wrong = raises("22003", "'money out of range'", "BIGINT")
    return let(lambda v: f"coalesce(TRY_CAST({v} AS BIGINT), CASE WHEN {v} IS NOT NULL THEN {wrong} END)", made)


def _whole(symbol: str) -> Callable[[Operands], str]:
    """Returns integer arithmetic in 128 bits."""
    return lambda operands: _held(f"(CAST({operands.sql[0]} AS HUGEINT) {symbol} {operands.sql[1]})")


declare("cash_pl", _whole("+"))
declare("cash_mi", _whole("-"))
declare("cash_mul_int2 cash_mul_int4 cash_mul_int8 int2_mul_cash int4_mul_cash int8_mul_cash", _whole("*"))
declare("cash_div_int2 cash_div_int4 cash_div_int8", _whole("//"))
declare("cashlarger", "(CASE WHEN {0} >= {1} THEN {0} WHEN {0} < {1} THEN {1} END)")
declare("cashsmaller", "(CASE WHEN {0} <= {1} THEN {0} WHEN {0} > {1} THEN {1} END)")
declare("cash_words", "pg_money_words({0})")
declare("sum(money)", lambda o: _held(o.call("sum", *o.sql)))


def _by_float(symbol: str, factor: int = 1) -> Callable[[Operands], str]:
    """Rounds to whole cents, halves to even; `factor` is the float operand's position."""

    def body(cents: str, number: str) -> str:
        zero = f"WHEN {number} = 0 THEN {raises('22012', repr('division by zero'), 'BIGINT')} " if symbol == "/" else ""
        made = _held(f"round_even(CAST({cents} AS DOUBLE) {symbol} CAST({number} AS DOUBLE), 0)")
        return f"(CASE WHEN {cents} IS NULL THEN NULL {zero}WHEN {number} IS NOT NULL THEN {made} END)"

    return lambda operands: let(body, operands.sql[1 - factor], operands.sql[factor])


declare("cash_mul_flt8 cash_mul_flt4", _by_float("*"))
declare("flt8_mul_cash flt4_mul_cash", _by_float("*", 0))
declare("cash_div_flt8 cash_div_flt4", _by_float("/"))


def _ratio(left: str, right: str) -> str:
    zero = raises("22012", "'division by zero'", "DOUBLE")
    made = f"CAST({left} AS DOUBLE) / CAST({right} AS DOUBLE)"
    return f"(CASE WHEN {left} IS NULL THEN NULL WHEN {right} = 0 THEN {zero} ELSE {made} END)"


declare("cash_div_cash", lambda o: let(_ratio, *o.sql))

# ---------------------------------------------------------------------------------------------- casts


def to_money(sql: str, source: SqlType) -> str | None:
    """Converts a value to cents; further digits of a numeric are rounded."""
    if source.name in STRINGS:
        return f"pg_money_in({sql})"
    if source.name in {"int4", "int8"}:
        return f"(CAST({sql} AS BIGINT) * 100)"
    if source.name == "numeric":
        rounded = f"CAST({sql} AS DECIMAL({MAX_DIGITS},2))"
        return f"CAST({unscaled(rounded, SqlType('numeric', -1, (MAX_DIGITS, 2)))} AS BIGINT)"
    return sql if source.name == "money" else None
