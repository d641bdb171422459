"""Exact numeric arithmetic: digits of results, and PostgreSQL's display scale of each value.

The scales of sums, differences and products follow from their operands'. A quotient's scale depends on its value
(PostgreSQL's select_div_scale), so it is carried: DuckDB macros compute value and scale (`duckdb/macros.sql`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar

from gpudb.functions.registry import Operands, declare
from gpudb.types import CARRIED_SCALE, MAX_DIGITS, SqlType, exact_numeric

Types = Sequence[SqlType]
Constants = Sequence[object]


def held(value: str, source: SqlType, target: SqlType) -> str:
    """Converts a decimal to the digits of `target`; unchanged if they are the same."""
    if source.numeric_digits == target.numeric_digits:
        return value
    return "CAST({} AS DECIMAL({},{}))".format(value, *target.numeric_digits)


def _widest(types: Types) -> tuple[int, int]:
    whole = max(each.numeric_digits[0] - each.numeric_digits[1] for each in types)
    return whole, max(each.numeric_digits[1] for each in types)


def _sum_type(types: Types, _: Constants) -> SqlType:
    whole, scale = _widest(types)
    return exact_numeric(whole + scale + 1, scale, varying=any(each.is_carried for each in types))


# Minimum scale of a product that exceeds 38 digits; PostgreSQL keeps all of them.
PRODUCT_SCALE = 24


def _product_scale(types: Types) -> int:
    (left, left_scale), (right, right_scale) = (each.numeric_digits for each in types)
    wanted = left_scale + right_scale
    whole = left - left_scale + right - right_scale
    if any(each.is_carried for each in types):
        return min(wanted, max(PRODUCT_SCALE, MAX_DIGITS - whole))
    return wanted if wanted <= PRODUCT_SCALE else min(wanted, max(PRODUCT_SCALE, MAX_DIGITS - whole))


def _product_type(types: Types, _: Constants) -> SqlType:
    digits = sum(each.numeric_digits[0] - each.numeric_digits[1] for each in types)
    scale = _product_scale(types)
    return exact_numeric(digits + scale, scale, varying=any(each.is_carried for each in types))


def unscaled(value: str, item: SqlType) -> str:
    """Returns a decimal's unscaled value as a HUGEINT."""
    precision, scale = item.numeric_digits
    if scale == 0:
        return f"CAST({value} AS HUGEINT)"
    if precision + scale + 1 <= MAX_DIGITS:
        if precision <= _NARROW_DIGITS < precision + scale + 1:
            value = _widened(value, item)
        return f"CAST({value} * CAST(1{'0' * scale} AS DECIMAL({scale + 1},0)) AS HUGEINT)"
    return f"pg_unscaled({value}, {scale})"


# DuckDB multiplies decimals of up to 18 digits in 64 bits, three times as fast as in 128, and raises if the product
# needs more. An engine that can run a statement again sets this: only the second run then multiplies in 128 bits.
NARROW: ContextVar[bool] = ContextVar("NARROW", default=False)
_NARROW_DIGITS = 18


def _widened(value: str, item: SqlType) -> str:
    """Returns a decimal in 128 bits."""
    return f"CAST({value} AS DECIMAL({_NARROW_DIGITS + 1},{item.numeric_digits[1]}))"


def _sum(sign: str) -> Callable[[Operands], str]:
    def render(operands: Operands) -> str:
        left, right = operands.sql
        precisions = [each.numeric_digits[0] for each in operands.types]
        if operands.result.numeric_digits[0] == MAX_DIGITS:
            left, right = (
                held(value, source, operands.result) for value, source in zip(operands.sql, operands.types, strict=True)
            )
        elif max(precisions) <= _NARROW_DIGITS < operands.result.numeric_digits[0]:
            left = held(left, operands.types[0], operands.result)
        return f"({left} {sign} {right})"

    return render


def _product(operands: Operands) -> str:
    """Uses DuckDB's function if it keeps all decimals (and raises beyond 38 digits); Python's if some are dropped."""
    (left, right), (first, second) = operands.sql, operands.types
    (p, s), (q, r) = first.numeric_digits, second.numeric_digits
    scale = operands.result.numeric_digits[1]
    target = _decimal(operands.result)
    if scale == s + r:
        if max(p, q) <= _NARROW_DIGITS < p + q and not NARROW.get():
            left = _widened(left, first)
        return f"({left} * {right})"
    return f"CAST(pg_numeric_product({left}, {right}, {scale}) AS {target})"


def _decimal(item: SqlType) -> str:
    return "DECIMAL({},{})".format(*item.numeric_digits)


_LARGER_SCALE = "greatest({s[0]}, {s[1]})"

declare("numeric_add", _sum("+"), scale=_LARGER_SCALE, result=_sum_type)
declare("numeric_sub", _sum("-"), scale=_LARGER_SCALE, result=_sum_type)
declare(
    "numeric_mul",
    _product,
    scale=lambda o: f"least({o.scales[0]} + {o.scales[1]}, {_product_scale(o.types)})",
    result=_product_type,
)


def _like_operand(types: Types, _: Constants) -> SqlType:
    item = types[0]
    return exact_numeric(*item.numeric_digits, varying=item.is_carried)


declare("numeric_uminus", "(-{0})", scale="{s[0]}", result=_like_operand)
declare("numeric_uplus", "({0})", scale="{s[0]}", result=_like_operand)
declare("numeric_abs abs(numeric)", "abs({0})", scale="{s[0]}", result=_like_operand)


def quotient(dividend: str, divisor: str, shown: str) -> str:
    """Returns a carried quotient of two exact numbers; `shown` is the larger of their display scales."""
    return f"pg_quotient({dividend}, {divisor}, CAST({shown} AS INTEGER))"


def quotient_type(types: Types, _: Constants) -> SqlType:
    """Returns the type of quotients and averages of exact numbers."""
    return exact_numeric(MAX_DIGITS, CARRIED_SCALE, varying=True)


def _shown(operands: Operands) -> str:
    first, second = operands.scales
    return str(max(int(first), int(second))) if first.isdigit() and second.isdigit() else f"greatest({first}, {second})"


declare("numeric_div", lambda o: quotient(o.sql[0], o.sql[1], _shown(o)), result=quotient_type)


def beyond(types: Types) -> bool:
    """Whether 128 bits cannot represent both operands at a common scale."""
    return sum(_widest(types)) > MAX_DIGITS


def exactly(name: str, operands: Operands) -> str:
    """Returns a function of unscaled values of any size; 22003 for a result that cannot be represented."""
    from gpudb.functions.to_text import text_of

    left, right = (text_of(v, s, t) for v, s, t in zip(operands.sql, operands.scales, operands.types, strict=True))
    digits, scale = operands.result.numeric_digits
    return f"CAST({name}({left}, {right}, {scale}) AS DECIMAL({digits},{scale}))"


def _remainder(operands: Operands) -> str:
    target = operands.result
    if beyond(operands.types):
        return exactly("pg_remainder", operands)
    # the digits of both operands, which may exceed the remainder's
    whole = max(each.numeric_digits[0] - each.numeric_digits[1] for each in operands.types)
    common = exact_numeric(whole + target.numeric_digits[1], target.numeric_digits[1])
    left, right = (held(v, t, common) for v, t in zip(operands.sql, operands.types, strict=True))
    return held(f"({left} % {right})", common, target)


declare(
    "numeric_mod mod(numeric,numeric)",
    _remainder,
    scale=_LARGER_SCALE,
    result=lambda types, _: exact_numeric(
        sum(_widest(types)), _widest(types)[1], varying=any(t.is_carried for t in types)
    ),
)
