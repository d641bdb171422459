"""Conversion of rows: to named composite types, field by field, and from literals."""

from __future__ import annotations

from dataclasses import replace

from gpudb.errors import FeatureNotSupported, GpudbError, SqlError
from gpudb.sql.bind.base import Binder
from gpudb.sql.bind.types.conversions import coercion_error, is_coercible
from gpudb.sql.bind.types.literals import convert_literal
from gpudb.sql.bound import Cast, Column, Constant, Expr, Row
from gpudb.types import SqlType


def is_row(item: SqlType) -> bool:
    """Whether values of a type are rows, named composite types included."""
    return item.name == "record" or (item.category == "C" and item.user is not None)


def coerce_to_row(binder: Binder, expr: Expr, target: SqlType, context: str, target_name: str | None) -> Expr:
    """Converts `expr` to a row of `target`, which may be a record without declared fields."""
    source = expr.type
    if source.name == "unknown" and isinstance(expr, Constant):
        return _convert_literal(binder, expr, target)
    if not is_coercible(source, target, context):
        refused = coercion_error(source, target, context, target_name)
        raise refused if target_name is None else binder.locate_expr(refused, expr)
    if not target.fields and not is_row(source) and source.name != "unknown":
        raise FeatureNotSupported("input of anonymous composite types is not implemented")
    if not target.fields or source == target:
        return expr
    if isinstance(expr, Row) and target.user is not source.user:
        return _convert_fields(binder, expr, target)
    if isinstance(expr, Column) and source.name == "record" != target.name:
        # PostgreSQL converts only rows that are written out
        message = f"cannot cast type record to {target}"
        raise binder.locate_expr(SqlError.of("cannot_coerce", message), expr)
    if is_row(source):
        if len(source.fields) != len(target.fields):
            raise _width_error(source, target)
        _check_no_domains(source, target)
    return Cast(expr, target, context == "e")


def _convert_fields(binder: Binder, expr: Row, target: SqlType) -> Expr:
    if len(expr.items) != len(target.fields):
        raise _width_error(expr.type, target)
    items = []
    for number, (item, (_, field_type)) in enumerate(zip(expr.items, target.fields, strict=True), 1):
        if not is_coercible(item.type, field_type, "e"):
            message = f"cannot cast type {expr.type} to {target}"
            detail = f"Cannot cast type {item.type.plain} to {field_type.plain} in column {number}."
            raise SqlError.of("cannot_coerce", message, detail=detail)
        items.append(coerce_representation(binder, binder.coerce(item, field_type, "e"), field_type))
    return Row(tuple(items), target, whole=True)


def coerce_representation(binder: Binder, expr: Expr, target: SqlType) -> Expr:
    """Converts a field's value to the exact representation of the row's type."""
    if expr.type == target:
        return expr
    return Constant(None, target) if isinstance(expr, Constant) and expr.value is None else Cast(expr, target)


def _width_error(source: SqlType, target: SqlType) -> GpudbError:
    few = "few" if len(source.fields) < len(target.fields) else "many"
    message = f"cannot cast type {source} to {target}"
    return SqlError.of("cannot_coerce", message, detail=f"Input has too {few} columns.")


def _check_no_domains(source: SqlType, target: SqlType) -> None:
    for (_, one), (_, target_field) in zip(source.fields, target.fields, strict=True):
        if target_field.domain is not None and target_field.domain != one.domain:
            raise FeatureNotSupported(f"cast from {source} to {target}, whose fields have domains, is not supported")


def _convert_literal(binder: Binder, expr: Constant, target: SqlType) -> Expr:
    if expr.value is None:
        return Constant(None, target)
    if not target.fields:
        raise FeatureNotSupported("input of anonymous composite types is not implemented")
    result = convert_literal(expr, target, binder.timezone)
    assert result is not None
    assert isinstance(result.value, tuple)
    if any(item.domain is not None for _, item in target.fields):
        values = zip(result.value, target.fields, strict=True)
        row = Row(tuple(Constant(value, replace(item, domain=None)) for value, (_, item) in values))
        return _convert_fields(binder, row, target)
    return result
