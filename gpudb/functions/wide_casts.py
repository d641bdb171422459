"""Conversions from and to wide numerics as DuckDB SQL (see `values.wide_numerics`)."""

from __future__ import annotations

from gpudb.errors import FeatureNotSupported
from gpudb.functions.operands import ScaledSql, pack, unpack
from gpudb.functions.text_literal import quote_literal
from gpudb.types import WIDE_NUMERIC, SqlType
from gpudb.types.facts import FLOATS, INTEGERS, STRINGS

_FLOAT_DIGITS = {"float4": 6, "float8": 15}


def to_wide_struct(sql: str, scale: str | None, source: SqlType) -> str:
    """Returns an exact number as the struct of a wide numeric; without `scale` that of its type."""
    if source.name != "numeric":
        return f"pg_wide_of_decimal(CAST({sql} AS VARCHAR), 0)"
    shown = str(source.numeric_digits[1]) if scale is None else scale
    if not source.wide:
        return f"pg_wide_of_decimal(CAST({sql} AS VARCHAR), CAST({shown} AS INTEGER))"
    if sql.endswith(").v") and (scale is None or sql[:-1] == shown[:-1]):
        return sql[:-2]
    return f"struct_pack(v := {sql}, s := CAST({shown} AS SMALLINT))"


def to_wide_key(sql: str, scale: str | None, source: SqlType) -> str:
    """Returns the key of an exact number as a wide numeric, by which it is compared."""
    return sql if source.name == "numeric" and source.wide else f"({to_wide_struct(sql, scale, source)}).v"


def convert_wide(sql: str, scale: str, source: SqlType, target: SqlType) -> ScaledSql:
    """Converts a value to a numeric, where the value's type or the target is wide."""
    if not target.wide:
        return _narrow(sql, scale, source, target)
    if source.name == "numeric" or source.name in INTEGERS:
        made = to_wide_struct(sql, scale, source)
    elif source.name in FLOATS:
        made = f"pg_wide_of_float(CAST({sql} AS DOUBLE), {_FLOAT_DIGITS[source.name]})"
    elif source.name in STRINGS:
        made = f"pg_wide_in({sql})"
    elif source.name == "money":
        made = f"pg_wide_of_money({sql})"
    elif source.name == "jsonb":
        made = f"pg_wide_in(pg_jsonb_scalar({sql}, 'numeric', 'numeric'))"
    else:
        raise FeatureNotSupported(f"cast from {source.plain} to {target.plain} is not supported")
    if target.modifier != -1 and not (source.name == "numeric" and source.modifier == target.modifier):
        precision, decimals = target.numeric_digits
        made = f"pg_wide_fit({made}, {precision}, {decimals})"
    value, shown = unpack(made, target)
    return value, shown


def narrow_for_column(sql: str, scale: str, source: SqlType, target: SqlType, column: str) -> ScaledSql:
    """Returns a wide numeric, or an array of them, in 128 bits; 22003 with the column's name for one without room."""
    name = quote_literal(column)
    if source.element is not None and target.element is not None:
        item, inner = target.item or target.element, source.item or source.element
        each = narrow_for_column(*unpack("pg_e", inner), inner, item, column)
        return f"list_transform({sql}, lambda pg_e: {pack(*each, item)})", "0"
    precision, decimals = target.numeric_digits
    made = to_wide_struct(sql, scale, source)
    value = f"CAST(pg_wide_narrow_for({made}, {precision}, {decimals}, {name}) AS DECIMAL({precision},{decimals}))"
    return value, scale if target.is_carried else str(decimals)


def _narrow(sql: str, scale: str, source: SqlType, target: SqlType) -> ScaledSql:
    """Returns a wide numeric in 128 bits; 22003 for a value that has no room."""
    made = to_wide_struct(sql, scale, source)
    precision, decimals = target.numeric_digits
    if target.modifier != -1:
        made = f"pg_wide_fit({made}, {precision}, {decimals})"
    value = f"CAST(pg_wide_narrow({made}, {precision}, {decimals}) AS DECIMAL({precision},{decimals}))"
    return value, scale if target.is_carried else str(decimals)


def align_numerics(left: str, right: str, one: SqlType, other: SqlType) -> tuple[str, str, SqlType, SqlType]:
    """Returns two values, and their types, in one form if one of them is a wide numeric."""
    if one.name != "numeric" or other.name != "numeric" or one.wide == other.wide:
        return left, right, one, other
    return to_wide_key(left, None, one), to_wide_key(right, None, other), WIDE_NUMERIC, WIDE_NUMERIC
