"""Approximate aggregates, which PostgreSQL lacks: approx_count_distinct and approx_percentile, and the latter's checks.

approx_count_distinct is a HyperLogLog sketch (`gpudb.sketches.hyperloglog`), which hashes the integers that the
function `distinct-bits` makes of values. The embedded engine computes approx_percentile exactly, which is as fast.
"""

from __future__ import annotations

from gpudb.errors import FeatureNotSupported, SqlError
from gpudb.functions.equality import render_sort_key
from gpudb.functions.library import Function
from gpudb.functions.numeric import to_unscaled
from gpudb.functions.registry import Operands, declare
from gpudb.types import INT8, SqlType

NAMES = frozenset({"approx_count_distinct", "approx_percentile"})
DISTINCT_BITS = Function(0, "distinct-bits", (SqlType("any"),), INT8)
"""The 64-bit integer that is hashed of a value, equal for equal values."""
DEFAULT_ACCURACY = 1000
MAX_ACCURACY = 1_000_000
WORD_DIGITS = 18
"""Numerics of at most as many digits are hashed as 64-bit integers."""
_HELD_AS_INTEGERS = frozenset("bool int2 int4 int8 oid money timetz".split())
_BITS = frozenset("date time timestamp timestamptz float4 float8 text varchar name json".split())


def check_fraction(value: object) -> float | None:
    """Returns a percentile's constant fraction, None for NULL; 22003 outside 0 to 1, 0A000 if it is not constant."""
    if value is None:
        return None
    if not isinstance(value, float):
        raise FeatureNotSupported("a percentile's fraction that is not constant is not supported")
    if not 0 <= value <= 1:
        message = f"percentile value {value:g} is not between 0 and 1"
        raise SqlError.of("numeric_value_out_of_range", message)
    return value


def check_accuracy(value: object) -> int | None:
    """Returns a percentile's constant accuracy, None for NULL; 22023 if it is out of range."""
    if value is None:
        return None
    if not isinstance(value, int):
        raise FeatureNotSupported("an accuracy that is not constant is not supported")
    if not 1 <= value <= MAX_ACCURACY:
        message = f"accuracy {value} is not between 1 and {MAX_ACCURACY}"
        raise SqlError.of("invalid_parameter_value", message)
    return value


def _has_intervals(item: SqlType) -> bool:
    """Whether values contain intervals, of which equal ones differ in their parts."""
    nested = [kind for _, kind in item.fields or ()] + ([item.element] if item.element is not None else [])
    return item.name == "interval" or any(map(_has_intervals, nested))


def _render_bits(operands: Operands) -> str:
    """Returns the integer that is hashed of a value."""
    (value,), (item,) = operands.sql, operands.types
    if item.name == "numeric" and item.wide:
        return f"pg_bits({value})"
    if item.name == "numeric":
        wide = item.numeric_digits[0] > WORD_DIGITS or item.is_carried
        digits = to_unscaled(value, item)
        return f"pg_wide_bits({digits})" if wide else f"CAST({digits} AS BIGINT)"
    if item.name == "interval":
        days = f"CAST(pg_interval_months({value}) AS HUGEINT) * 30 + pg_interval_days({value})"
        return f"pg_wide_bits(({days}) * 86400000000 + pg_interval_us({value}))"
    if item.name in _HELD_AS_INTEGERS:
        return f"CAST({value} AS BIGINT)"
    if item.name in _BITS:
        return f"pg_bits({value})"
    if item.name == "bpchar":
        return f"pg_bits(rtrim({value}, ' '))"
    if item.name == "uuid":
        return f"pg_bits(CAST({value} AS VARCHAR))"
    if _has_intervals(item):
        raise FeatureNotSupported(f"approx_count_distinct of type {item} is not supported")
    key = f"create_sort_key({render_sort_key(value, item)}, 'ASC NULLS LAST', '', 'ASC NULLS LAST')"
    return f"pg_bits(CASE WHEN {value} IS NOT NULL THEN {key} END)"


declare("distinct-bits", _render_bits)
declare(
    "approx_count_distinct",
    lambda o: f"pg_estimate_distinct({o.call('list', f'DISTINCT pg_register(pg_hash({_render_bits(o)}))')})",
)


def _render_percentile(operands: Operands) -> str:
    fraction = check_fraction(operands.constants[1])
    accuracy = check_accuracy(operands.constants[2] if len(operands.constants) > 2 else DEFAULT_ACCURACY)
    if fraction is None or accuracy is None:
        return f"CAST(NULL AS {operands.result.duckdb})"
    return operands.call("quantile_cont", operands.sql[0], repr(fraction))


declare("approx_percentile", _render_percentile)
# The binder replaces it by percentile_cont.
declare("median", lambda o: o.call("quantile_cont", o.sql[0], "0.5"))


def check_fractions(value: object) -> list[float | None]:
    """Returns the items of a constant array of fractions, checked as `check_fraction` does."""
    if not isinstance(value, list | tuple):
        raise FeatureNotSupported("a percentile's fractions that are not constant are not supported")
    return [check_fraction(each) for each in value]
