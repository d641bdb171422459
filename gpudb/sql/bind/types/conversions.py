"""Which conversions exist, the errors of missing ones, and the conditions that clauses take."""

from __future__ import annotations

from collections.abc import Iterable

from gpudb.errors import DatatypeMismatch, GpudbError, SqlError, UndefinedFunction
from gpudb.functions.resolve import can_coerce
from gpudb.sql.bind.base import Binder
from gpudb.sql.bound import Expr
from gpudb.types import BOOL, SqlType
from gpudb.types.facts import WITHOUT_CLASSES


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


def check_equality(types: Iterable[SqlType], what: str = "an equality operator") -> None:
    """Raises 42883 for a type without an equality by which rows can be grouped: json, matrix."""
    for item in types:
        if item.name.lstrip("_") in WITHOUT_CLASSES:
            raise UndefinedFunction(f"could not identify {what} for type {item}")
        if item.fields:
            check_equality((field for _, field in item.fields), what)


def check_comparison(types: Iterable[SqlType]) -> None:
    """Raises 42883 for a type without an order by which values are compared: json, matrix."""
    check_equality(types, "a comparison function")


_EQUATE_ITEMS = frozenset(
    """array_eq array_ne arraycontains arraycontained arrayoverlap array_position array_positions array_remove
    array_replace""".split()
)
_ORDER_ITEMS = frozenset("array_lt array_le array_gt array_ge".split())


def check_items(function: str, item: SqlType) -> None:
    """Raises 42883 for a call that compares items of arrays of a type whose values it cannot compare."""
    if item.element is not None and function in _EQUATE_ITEMS:
        check_equality([item.element])
    elif item.element is not None and function in _ORDER_ITEMS:
        check_comparison([item.element])
