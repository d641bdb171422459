"""Exact numeric arithmetic: digits of results, and PostgreSQL's display scale of each value.

The scales of sums, differences and products follow from their operands'. A quotient's scale depends on its value
(PostgreSQL's select_div_scale), so it is carried: DuckDB macros compute value and scale (`duckdb/macros.sql`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar

from gpudb.functions.carried import carried_numeric, carried_scale
from gpudb.functions.registry import Operands, declare
from gpudb.types import MAX_DIGITS, SqlType, exact_numeric

HALF = 10**19
"""The unit of the high part of a sum in two parts (see `exact.quotients.average`)."""
Types = Sequence[SqlType]
Constants = Sequence[object]


def convert_digits(value: str, source: SqlType, target: SqlType) -> str:
    """Converts a decimal to the digits of `target`; unchanged if they are the same."""
    if source.numeric_digits == target.numeric_digits:
        return value
    return "CAST({} AS DECIMAL({},{}))".format(value, *target.numeric_digits)


def _get_widest(types: Types) -> tuple[int, int]:
    integer_digits = max(item.numeric_digits[0] - item.numeric_digits[1] for item in types)
    return integer_digits, max(item.numeric_digits[1] for item in types)


def _get_sum_type(types: Types, _: Constants) -> SqlType:
    integer_digits, scale = _get_widest(types)
    return exact_numeric(integer_digits + scale + 1, scale, varying=any(item.is_carried for item in types))


_SURE_SCALE = 24
"""Decimals up to which a product keeps those of both operands, whatever the digits before the point."""
_FIXED_MARGIN, _CARRIED_MARGIN = 16, 4
"""How many decimals more than the statement's carried numerics a product may have: one beyond 38 digits is first
tried with all its decimals, and in other layouts where it has no room for a value (see `carried`).
"""


def _get_product_scale(types: Types) -> int:
    exact_scale = sum(item.numeric_digits[1] for item in types)
    digits = sum(item.numeric_digits[0] for item in types)
    if any(item.is_carried for item in types):
        return exact_scale if digits <= MAX_DIGITS else min(exact_scale, carried_scale() + _CARRIED_MARGIN)
    if digits <= MAX_DIGITS or exact_scale <= _SURE_SCALE:
        return exact_scale
    return min(exact_scale, carried_scale() + _FIXED_MARGIN, MAX_DIGITS)


def _get_product_type(types: Types, _: Constants) -> SqlType:
    digits = sum(item.numeric_digits[0] - item.numeric_digits[1] for item in types)
    scale = _get_product_scale(types)
    return exact_numeric(digits + scale, scale, varying=any(item.is_carried for item in types))


def to_unscaled(value: str, item: SqlType) -> str:
    """Returns a decimal's unscaled value as a HUGEINT."""
    precision, scale = item.numeric_digits
    if scale == 0:
        return f"CAST({value} AS HUGEINT)"
    if precision + scale + 1 <= MAX_DIGITS:
        if precision <= _NARROW_DIGITS < precision + scale + 1:
            value = _widen(value, item)
        return f"CAST({value} * CAST(1{'0' * scale} AS DECIMAL({scale + 1},0)) AS HUGEINT)"
    return f"pg_unscaled({value}, {scale})"


# DuckDB multiplies decimals of up to 18 digits in 64 bits, three times as fast as in 128, and raises if the product
# needs more. An engine that can run a statement again sets this: only the second run then multiplies in 128 bits.
NARROW: ContextVar[bool] = ContextVar("NARROW", default=False)
_NARROW_DIGITS = 18


def _widen(value: str, item: SqlType) -> str:
    """Returns a decimal in 128 bits."""
    return f"CAST({value} AS DECIMAL({_NARROW_DIGITS + 1},{item.numeric_digits[1]}))"


def _make_sum(sign: str) -> Callable[[Operands], str]:
    def render(operands: Operands) -> str:
        left, right = operands.sql
        precisions = [item.numeric_digits[0] for item in operands.types]
        if operands.result.numeric_digits[0] == MAX_DIGITS:
            left, right = (
                convert_digits(value, source, operands.result)
                for value, source in zip(operands.sql, operands.types, strict=True)
            )
        elif max(precisions) <= _NARROW_DIGITS < operands.result.numeric_digits[0]:
            left = convert_digits(left, operands.types[0], operands.result)
        return f"({left} {sign} {right})"

    return render


def _render_product(operands: Operands) -> str:
    """Uses DuckDB's function if it keeps all decimals (and raises beyond 38 digits); Python's if zeros are dropped."""
    (left, right), (first, second) = operands.sql, operands.types
    (p, s), (q, r) = first.numeric_digits, second.numeric_digits
    scale = operands.result.numeric_digits[1]
    target = _get_decimal_type(operands.result)
    if scale == s + r:
        if max(p, q) <= _NARROW_DIGITS < p + q and not NARROW.get():
            left = _widen(left, first)
        return f"({left} * {right})"
    rounds = str(first.is_carried or second.is_carried).lower()
    return f"CAST(pg_numeric_product({left}, {right}, {scale}, {rounds}) AS {target})"


def _get_decimal_type(item: SqlType) -> str:
    return "DECIMAL({},{})".format(*item.numeric_digits)


_LARGER_SCALE = "greatest({s[0]}, {s[1]})"

declare("numeric_add", _make_sum("+"), scale=_LARGER_SCALE, result=_get_sum_type)
declare("numeric_sub", _make_sum("-"), scale=_LARGER_SCALE, result=_get_sum_type)
declare(
    "numeric_inc",
    lambda o: f"CAST({o.sql[0]} + 1::DECIMAL(1,0) AS {_get_decimal_type(o.result)})",
    scale="{s[0]}",
    result=lambda types, constants: _get_sum_type((types[0], exact_numeric(1, 0)), constants),
)
declare(
    "numeric_mul",
    _render_product,
    scale=lambda o: f"least({o.scales[0]} + {o.scales[1]}, {o.result.numeric_digits[1]})",
    result=_get_product_type,
)


def _keep_type(types: Types, _: Constants) -> SqlType:
    item = types[0]
    return exact_numeric(*item.numeric_digits, varying=item.is_carried)


declare("numeric_uminus", "(-{0})", scale="{s[0]}", result=_keep_type)
declare("numeric_uplus", "({0})", scale="{s[0]}", result=_keep_type)
declare("numeric_abs abs(numeric)", "abs({0})", scale="{s[0]}", result=_keep_type)


def render_quotient(dividend: str, divisor: str, scale: str, result: SqlType) -> str:
    """Returns a quotient of two exact numbers of a carried type; `scale` is the larger of their display scales."""
    return f"pg_quotient_{result.numeric_digits[1]}({dividend}, {divisor}, CAST({scale} AS INTEGER))"


def get_quotient_type(types: Types, _: Constants) -> SqlType:
    """Returns the type of quotients and averages of exact numbers, which show as many decimals as their operands."""
    fixed = (item.numeric_digits[1] for item in types if item.name == "numeric" and not item.is_carried)
    return carried_numeric(max(fixed, default=0))


def _get_larger_scale(operands: Operands) -> str:
    first, second = operands.scales
    return str(max(int(first), int(second))) if first.isdigit() and second.isdigit() else f"greatest({first}, {second})"


declare(
    "numeric_div",
    lambda o: render_quotient(o.sql[0], o.sql[1], _get_larger_scale(o), o.result),
    result=get_quotient_type,
)


def exceeds_int128(types: Types) -> bool:
    """Whether 128 bits cannot represent both operands at a common scale."""
    return sum(_get_widest(types)) > MAX_DIGITS


def call_unscaled(name: str, operands: Operands) -> str:
    """Returns a function of unscaled values of any size; 22003 for a result that cannot be represented."""
    from gpudb.functions.to_text import to_text

    left, right = (to_text(v, s, t) for v, s, t in zip(operands.sql, operands.scales, operands.types, strict=True))
    digits, scale = operands.result.numeric_digits
    return f"CAST({name}({left}, {right}, {scale}) AS DECIMAL({digits},{scale}))"


def _render_remainder(operands: Operands) -> str:
    target = operands.result
    if exceeds_int128(operands.types):
        return call_unscaled("pg_remainder", operands)
    # the digits of both operands, which may exceed the remainder's
    integer_digits = max(item.numeric_digits[0] - item.numeric_digits[1] for item in operands.types)
    common = exact_numeric(integer_digits + target.numeric_digits[1], target.numeric_digits[1])
    left, right = (convert_digits(v, t, common) for v, t in zip(operands.sql, operands.types, strict=True))
    return convert_digits(f"({left} % {right})", common, target)


declare(
    "numeric_mod mod(numeric,numeric)",
    _render_remainder,
    scale=_LARGER_SCALE,
    result=lambda types, _: exact_numeric(
        sum(_get_widest(types)), _get_widest(types)[1], varying=any(t.is_carried for t in types)
    ),
)
