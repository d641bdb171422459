"""Which conversions exist, the errors of missing ones, and the conditions that clauses take."""

from __future__ import annotations

from collections.abc import Iterable

from gpudb.errors import DatatypeMismatch, GpudbError, SqlError, UndefinedFunction
from gpudb.functions.resolve import can_coerce
from gpudb.sql.bind.base import Binder
from gpudb.sql.bound import Expr
from gpudb.types import BOOL, SqlType


def is_coercible(source: SqlType, target: SqlType, context: str) -> bool:
    """Whether a conversion exists, including those between text types."""
    return can_coerce(source.plain, target.plain, context) or is_text_conversion(source, target)


def is_text_conversion(source: SqlType, target: SqlType) -> bool:
    return source.name == "unknown" or (source.category == "S" and target.category == "S")


def coercion_error(source: SqlType, target: SqlType, context: str, target_name: str | None) -> GpudbError:
    """Returns the error of a missing conversion; `target_name` is the column of an assignment."""
    if target_name is not None:
        return DatatypeMismatch(
            f"{target_name} is of type {display_type(target)} but expression is of type {display_type(source)}",
            hint="You will need to rewrite or cast the expression.",
        )
    return SqlError.of("cannot_coerce", f"cannot cast type {display_type(source)} to {display_type(target)}")


def display_type(item: SqlType) -> SqlType:
    """Returns a type as messages name it: without modifier, a domain by its own name."""
    return item if item.domain is not None else item.plain


def coerce_condition(binder: Binder, expr: Expr, clause: str) -> Expr:
    """Converts `expr` to the boolean that a clause takes; 42804 for other types."""
    if expr.type != BOOL and expr.type.name != "unknown":
        error = DatatypeMismatch(f"argument of {clause} must be type boolean, not type {expr.type}")
        raise binder.locate_expr(error, expr)
    return binder.coerce(expr, BOOL)


def check_equality(types: Iterable[SqlType]) -> None:
    """Raises 42883 for a type without an equality by which rows can be grouped: json, matrix."""
    for item in types:
        if item.name.lstrip("_") in {"json", "matrix"}:
            raise UndefinedFunction(f"could not identify an equality operator for type {item}")
        if item.fields:
            check_equality(field for _, field in item.fields)
