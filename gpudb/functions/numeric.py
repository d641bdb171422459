"""Exact numeric arithmetic: digits of results, and the scale that PostgreSQL shows for each value.

Sums, differences and products have scales that are known from their operands'. A quotient's scale depends on its value
(PostgreSQL's select_div_scale), so it is carried: DuckDB macros compute value and scale (`engine/cpu/macros.sql`).
"""

from __future__ import annotations

from collections.abc import Sequence

from gpudb.functions.registry import Operands, declare
from gpudb.types import CARRIED_SCALE, MAX_DIGITS, SqlType, exact

Types = Sequence[SqlType]
Constants = Sequence[object]


def held(value: str, source: SqlType, target: SqlType) -> str:
    """A decimal converted to the digits that hold `target`; unchanged where they are the same."""
    if source.numeric_digits == target.numeric_digits:
        return value
    return "CAST({} AS DECIMAL({},{}))".format(value, *target.numeric_digits)


def _widest(types: Types) -> tuple[int, int]:
    whole = max(each.numeric_digits[0] - each.numeric_digits[1] for each in types)
    return whole, max(each.numeric_digits[1] for each in types)


def _sum_type(types: Types, _: Constants) -> SqlType:
    whole, scale = _widest(types)
    return exact(whole + scale + 1, scale, varying=any(each.carried for each in types))


def _product_type(types: Types, _: Constants) -> SqlType:
    (left, left_scale), (right, right_scale) = (each.numeric_digits for each in types)
    return exact(left + right, left_scale + right_scale, varying=any(each.carried for each in types))




def _sum(sign: str) -> object:
    def render(operands: Operands) -> str:
        left, right = operands.sql
        if operands.result.numeric_digits[0] == MAX_DIGITS:
            left, right = (
                held(value, source, operands.result) for value, source in zip(operands.sql, operands.types, strict=True)
            )
        return f"({left} {sign} {right})"

    return render


def _product(operands: Operands) -> str:
    (left, right), (first, second) = operands.sql, operands.types
    wanted = first.numeric_digits[1] + second.numeric_digits[1]
    if wanted <= MAX_DIGITS and operands.result.numeric_digits[1] == wanted and wanted <= CARRIED_SCALE + 10:
        return f"({left} * {right})"
    return "pg_numeric_product({}, {}, {}, {})::{}".format(
        left, right, first.numeric_digits[1], second.numeric_digits[1], _decimal(operands.result)
    )


def _decimal(item: SqlType) -> str:
    return "DECIMAL({},{})".format(*item.numeric_digits)


_LARGER_SCALE = "greatest({s[0]}, {s[1]})"

declare("numeric_add", _sum("+"), scale=_LARGER_SCALE, result=_sum_type)  # type: ignore[arg-type]
declare("numeric_sub", _sum("-"), scale=_LARGER_SCALE, result=_sum_type)  # type: ignore[arg-type]
declare("numeric_mul", _product, scale="({s[0]} + {s[1]})", result=_product_type)


def _like_operand(types: Types, _: Constants) -> SqlType:
    item = types[0]
    return exact(*item.numeric_digits, varying=item.carried)


declare("numeric_uminus", "(-{0})", scale="{s[0]}", result=_like_operand)
declare("numeric_uplus", "({0})", scale="{s[0]}", result=_like_operand)
declare("numeric_abs abs(numeric)", "abs({0})", scale="{s[0]}", result=_like_operand)


def quotient_operands(operands: Operands) -> str:
    """Value and unscaled form of both operands of a quotient, as its macros take them."""
    parts = []
    for value, scale, item in zip(operands.sql, operands.scales, operands.types, strict=True):
        parts += [f"pg_unscaled({value}, {item.numeric_digits[1]})", str(item.numeric_digits[1]), scale]
    return ", ".join(parts)


def _quotient_type(types: Types, _: Constants) -> SqlType:
    return exact(MAX_DIGITS, CARRIED_SCALE, varying=True)


declare(
    "numeric_div",
    lambda operands: f"pg_quotient({quotient_operands(operands)})",
    scale=lambda operands: f"pg_quotient_scale({quotient_operands(operands)})",
    result=_quotient_type,
)


def _remainder(operands: Operands) -> str:
    target = operands.result
    left, right = (held(v, t, target) for v, t in zip(operands.sql, operands.types, strict=True))
    return f"({left} % {right})"


declare(
    "numeric_mod mod(numeric,numeric)",
    _remainder,
    scale=_LARGER_SCALE,
    result=lambda types, _: exact(sum(_widest(types)), _widest(types)[1], varying=any(t.carried for t in types)),
)
