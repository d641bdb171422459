"""Comparison operators. DuckDB orders NaN, text (by bytes) and timestamps as PostgreSQL does under collation C."""

from __future__ import annotations

from gpudb.functions.equality import compare_unmerged, normalize_operands
from gpudb.functions.let_binding import bind_values
from gpudb.functions.library import COMMUTATORS
from gpudb.functions.numeric import exceeds_int128
from gpudb.functions.registry import Operands, Template, declare
from gpudb.functions.wide_casts import align_numerics
from gpudb.types import SqlType

_SYMBOLS = {"eq": "=", "ne": "<>", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_FAMILIES = (
    "bool int2 int4 int8 int24 int42 int28 int82 int48 int84 float4 float8 float48 float84 bpchar bytea"
    " uuid_ oid char name date_ time_ timestamp_ timestamptz_ interval_"
    " oidvector"
)


def _make_comparison(symbol: str) -> str:
    return f"({{0}} {symbol} {{1}})"


def _make_row_comparison(symbol: str) -> Template:
    ordering = symbol not in {"=", "<>"}

    def render(operands: Operands) -> str:
        (left, right), (one, other) = operands.sql, operands.types
        return compare_unmerged(symbol, *normalize_operands(left, right, one, other, ordering=ordering))

    return render


_INTEGRAL = {"<": "(floor({}) < {})", "<=": "(ceil({}) <= {})", ">": "(ceil({}) > {})", ">=": "(floor({}) >= {})"}
"""Orders a number relative to an integral one by the integers below and above it."""
_SAME = {
    "=": ("=", ""),
    "<>": ("=", "NOT "),
    "IS NOT DISTINCT FROM": ("IS NOT DISTINCT FROM", ""),
    "IS DISTINCT FROM": ("IS NOT DISTINCT FROM", "NOT "),
}


def is_integral_beyond_int128(one: SqlType, other: SqlType) -> bool:
    """Whether one of two numeric types is integral and does not fit 128 bits at the other's scale."""
    if one.name != "numeric" or other.name != "numeric" or one.wide or other.wide:
        return False
    return exceeds_int128((one, other)) and 0 in {one.numeric_digits[1], other.numeric_digits[1]}


def compare_numbers(symbol: str, left: str, right: str, one: SqlType, other: SqlType) -> str:
    """Compares numerics: DuckDB converts both to one scale, which a large integral number may not fit."""
    left, right, one, other = align_numerics(left, right, one, other)
    if not is_integral_beyond_int128(one, other):
        return f"({left} {symbol} {right})"
    if one.numeric_digits[1] == 0:
        return compare_numbers(COMMUTATORS.get(symbol, symbol), right, left, other, one)
    if symbol in _INTEGRAL:
        return bind_values(_INTEGRAL[symbol].format, left, right)
    same, negation = _SAME[symbol]
    digits, scale = one.numeric_digits
    limit = f"'{'9' * (digits - scale)}.{'9' * scale}'::DECIMAL({digits},{scale})"

    def equal(n: str, w: str) -> str:
        # A number that is too large becomes the largest one of that scale, which is not integral. Only for equality, by
        # which joins go.
        bounded = (
            f"coalesce(TRY_CAST({w} AS DECIMAL({digits},{scale})), CASE WHEN {w} > 0 THEN {limit} ELSE -{limit} END)"
        )
        guarded = f"CASE WHEN {w} IS NOT NULL THEN {bounded} END"
        return f"({negation}({n} {same} {guarded} AND (abs({n}) = {limit}) {same} ({w} <> {w})))"

    return bind_values(equal, left, right)


def _make_numeric_comparison(symbol: str) -> Template:
    def render(operands: Operands) -> str:
        (left, right), (one, other) = operands.sql, operands.types
        return compare_numbers(symbol, left, right, one, other)

    return render


for _name, _symbol in _SYMBOLS.items():
    for _family in _FAMILIES.split():
        declare(_family + _name, _make_comparison(_symbol))
    declare("numeric_" + _name, _make_numeric_comparison(_symbol))
    declare(f"record_{_name} range_{_name} multirange_{_name}", _make_row_comparison(_symbol))
    for _pair in ("date", "timestamp"):
        declare(f"{_pair}_{_name}_timestamptz timestamptz_{_name}_{_pair}", _make_comparison(_symbol))
    declare(f"date_{_name}_timestamp timestamp_{_name}_date", _make_comparison(_symbol))
    declare(f"text{_name}name name{_name}text", _make_comparison(_symbol))
declare("texteq", "({0} = {1})")
declare("textne", "({0} <> {1})")
declare("text_lt", "({0} < {1})")
declare("text_le", "({0} <= {1})")
declare("text_gt", "({0} > {1})")
declare("text_ge", "({0} >= {1})")
declare("xideq xideqint4 cideq", "({0} = {1})")
declare("xidneq xidneqint4", "({0} <> {1})")
