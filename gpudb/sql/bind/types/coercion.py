"""Conversions that a context demands: of arguments, assignments, branches that must agree, and outputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gpudb.errors import DatatypeMismatch, FeatureNotSupported, GpudbError, SqlError
from gpudb.functions import resolve
from gpudb.functions.carried import is_wide_layout, layout_failure, use_layout
from gpudb.functions.registry import Function
from gpudb.functions.resolve import can_coerce, find_common_type, to_numeric_type, unify_types
from gpudb.sql.bind.base import Binder
from gpudb.sql.bind.types.conversions import coercion_error, is_coercible, is_text_conversion
from gpudb.sql.bind.types.domains import coerce_to_domain
from gpudb.sql.bind.types.literals import convert_literal, narrow_integer
from gpudb.sql.bind.types.named_objects import record_object
from gpudb.sql.bind.types.rows import coerce_to_row
from gpudb.sql.bound import Array, Call, Cast, Constant, Default, Expr, Parameter
from gpudb.types import INT8, TEXT, UNKNOWN, WIDE_NUMERIC, SqlType, widen
from gpudb.types.facts import INTEGERS

_OF_LENGTH = {"varchar", "bpchar", "bit", "varbit"}
# Types whose values have a known number of digits as numerics
_EXACT = INTEGERS | {"money"}


def coerce(binder: Binder, expr: Expr, target: SqlType, context: str = "i", target_name: str | None = None) -> Expr:
    """Converts `expr` to `target`; `context` is i (implicit), a (assignment) or e (explicit cast).

    A target without modifier keeps an expression of the same type, digits included; an explicit cast drops its declared
    modifier. 42846 if there is no cast; 42804 in an assignment, where `target_name` names the column.
    """
    if target.domain is not None and expr.type.domain != target.domain:
        return coerce_to_domain(binder, expr, target, context, target_name)
    if target_name is None:
        target = _widen(expr.type, target)
    if isinstance(expr, Default):
        raise binder.locate_expr(SqlError.of("syntax_error", "DEFAULT is not allowed in this context"), expr)
    settles = isinstance(expr, Parameter) and expr.type.name == "unknown"
    if (target.name == "record" or target.fields) and target.element is None and not settles:
        return coerce_to_row(binder, expr, target, context, target_name)
    if settles:
        assert isinstance(expr, Parameter)
        settled = binder.infer_parameter(expr, target)
        return settled if target.modifier == -1 else Cast(settled, target, context == "e")
    if isinstance(expr, Constant):
        if context == "e" and expr.type == TEXT and target.element is not None:
            expr = replace(expr, type=UNKNOWN)  # only the text of the literal has its dimensions
        if (
            expr.type == UNKNOWN
            and expr.value is not None
            and target.element is not None
            and _truncates(target, context)
        ):
            return coerce(binder, coerce(binder, expr, target.plain, context), target, context)
        if expr.type.name == "unknown" and target.name in _DATETIMES and str(expr.value).strip().lower() in _CURRENT:
            return _bind_current(binder, expr, target)
        try:
            result = convert_literal(expr, target, binder.timezone) if _can_fold(expr, target, context) else None
        except GpudbError as error:
            if layout_failure(error):
                use_layout()
            if expr.type.name != "unknown":
                # PostgreSQL converts typed constants at run time, where errors have no position
                error.position = error.position or 0
            raise binder.locate_expr(error, expr) from None
        if result is not None and result.type.name == "numeric" and target.digits not in {None, result.type.digits}:
            return Cast(result, target)
        if result is not None and target.element is not None and result.type.dims != target.dims:
            if result.value:
                return _change_dimensions(binder, result, target, context, target_name)
            return Constant(result.value, replace(result.type, dims=target.dims))
        if result is not None:
            if binder.fresh_labels and target.labels is not None:
                _check_committed(binder, expr, result)
            return result
        if binder.expansions is not None and expr.type == UNKNOWN:
            record_object(binder, expr, target)
    source = expr.type
    if source.name == "matrix" and target.element is not None and target_name is None:
        target = replace(target, dims=2)
    if source.dims != target.dims and source.element is not None and target.element is not None:
        return _change_dimensions(binder, expr, target, context, target_name)
    if source == target or (
        source.name == target.name and target.modifier == -1 and _has_same_representation(source, target)
    ):
        return _relabel(expr, target) if context == "e" and target.modifier == -1 else expr
    if isinstance(expr, Array) and target.item is not None and can_coerce(source.plain, target.plain, context):
        return Array(
            tuple(coerce_array_item(binder, item, target.item, context, target_name) for item in expr.items), target
        )
    if not is_coercible(source, target, context):
        refused = coercion_error(source, target, context, target_name)
        raise refused if target_name is None else binder.locate_expr(refused, expr)
    # Explicit and implicit casts differ only by a declared modifier; without one they must be the same expression
    return Cast(expr, _add_digits(source, target), context == "e" and target.modifier != -1)


def drop_modifier(expr: Expr) -> Expr:
    """Returns `expr` with its type's declared modifier dropped and its value unchanged."""
    return _relabel(expr, expr.type)


def _relabel(expr: Expr, target: SqlType) -> Expr:
    """Returns `expr` with its declared modifier dropped, in the domain of `target`, its value unchanged."""
    result = replace(expr.type, domain=target.domain).without_modifier
    if result == expr.type:
        return expr
    return Constant(expr.value, result) if isinstance(expr, Constant) else Cast(expr, result, True)


# Words whose value depends on when a statement runs, so that no plan may hold it
_DATETIMES = frozenset({"date", "time", "timetz", "timestamp", "timestamptz"})
_CURRENT = frozenset({"now", "today", "tomorrow", "yesterday"})


def _bind_current(binder: Binder, expr: Constant, target: SqlType) -> Expr:
    """Returns the date or time of such a word; `now` is the start of the transaction."""
    binder.cacheable = False
    if str(expr.value).strip().lower() == "now":
        now = resolve.resolve_function("now", ()).target
        assert isinstance(now, Function)
        return coerce(binder, Call(now, (), now.result), target, "e")
    result = convert_literal(expr, target, binder.timezone)
    assert result is not None
    return result


def _change_dimensions(binder: Binder, expr: Expr, target: SqlType, context: str, target_name: str | None) -> Expr:
    """Converts an array to other dimensions: PostgreSQL's arrays have any number, gpudb's columns a fixed one."""
    source = expr.type
    if isinstance(expr, Parameter) and target_name is not None:
        # The client declares the type; its value has the dimensions
        return coerce(binder, Parameter(expr.number, replace(source, dims=target.dims)), target, context, target_name)
    if isinstance(expr, Constant) and not expr.value:
        return coerce(binder, Constant(expr.value, replace(source, dims=target.dims)), target, context, target_name)
    if target_name is not None or (target.dims > 1 and context == "i"):
        message = f"{target_name or 'this place'} holds arrays of {target.dims} dimensions, not of {source.dims}"
        raise binder.locate_expr(FeatureNotSupported(message), expr)
    return coerce(binder, expr, replace(target, dims=source.dims), context)


def coerce_array_item(
    binder: Binder, item: Expr, target: SqlType, context: str = "i", target_name: str | None = None
) -> Expr:
    """Converts an item of ARRAY[…] to the representation of the array's elements."""
    result = coerce(binder, item, target, context, target_name)
    if result.type.duckdb == target.duckdb:
        return result
    if isinstance(result, Array) and target.item is not None:
        return Array(
            tuple(coerce_array_item(binder, each, target.item, context, target_name) for each in result.items), target
        )
    return Cast(result, target)


def _can_fold(expr: Constant, target: SqlType, context: str) -> bool:
    if expr.value is None and not (
        is_text_conversion(expr.type, target) or can_coerce(expr.type.plain, target.plain, context)
    ):
        return False  # an untyped NULL needs no cast, a typed one does
    if expr.type.name == "unknown" or expr.value is None:
        return not _truncates(target, context)
    return True


def _truncates(target: SqlType, context: str) -> bool:
    """Whether a cast truncates values to a length, where an assignment would reject longer ones."""
    return target.name.lstrip("_") in _OF_LENGTH and target.modifier != -1 and context == "e"


def _has_same_representation(source: SqlType, target: SqlType) -> bool:
    if target.fields and source.fields != target.fields:
        return False
    one, other = source.element or source, target.element or target
    if target.wide and not source.wide:
        return False
    return target.digits is None or (
        source.without_modifier.digits == target.digits and one.is_carried == other.is_carried
    )


def _add_digits(source: SqlType, target: SqlType) -> SqlType:
    """Returns the target with the digits that the source needs, if the target leaves them open."""
    base = source.name.lstrip("_")
    if target.name == "_numeric" and not target.wide and target.domain is None and base not in {*_EXACT, "numeric"}:
        use_layout()
        return widen(target) if is_wide_layout() else target
    if target.name != "numeric" or target.wide or target.domain is not None:
        return target
    if target.modifier == -1 and target.digits is None and source.name in _EXACT:
        return to_numeric_type(source)
    if source.name not in {*_EXACT, "numeric"}:
        use_layout()  # a text, a float or a jsonb may be NaN, and of any size
        return WIDE_NUMERIC if is_wide_layout() and target.modifier == -1 and target.digits is None else target
    return target


def _widen(source: SqlType, target: SqlType) -> SqlType:
    """Returns a declared numeric type in the wide form, if the source has it or the statement computes in it."""
    if target.name.lstrip("_") != "numeric" or target.wide or target.domain is not None or target.modifier == -1:
        return target
    return replace(target, wide=True) if source.wide or is_wide_layout() else target


def coerce_to_changed(binder: Binder, expr: Expr, column: str, target: SqlType) -> Expr:
    """Converts `expr` to a column's type and representation, for rows to be written.

    A wide numeric that has no room in a column's 128 bits raises 22003, with the column's name.
    """
    if target.name.lstrip("_") != "numeric" or target.wide or target.domain is not None:
        return coerce_to_column(binder, expr, column, target)
    use_layout()
    if not expr.type.wide and not is_wide_layout():
        result = coerce(binder, expr, target, "a", f'column "{column}"')
        if not result.type.wide:
            return coerce_to_column(binder, expr, column, target)
    made = coerce_to_column(binder, expr, column, replace(target, wide=True, digits=None))
    if isinstance(made, Constant) and made.value is None:
        return Constant(None, target)
    return Cast(made, target, column=column)


def coerce_to_column(binder: Binder, expr: Expr, column: str, target: SqlType) -> Expr:
    """Converts `expr` to a column's type and exact representation."""
    result = coerce(binder, expr, target, "a", f'column "{column}"')
    if result.type == target:
        return result
    return (
        Constant(result.value, target)
        if isinstance(result, Constant) and result.value is None
        else Cast(result, target)
    )


def _check_committed(binder: Binder, expr: Expr, constant: Constant) -> None:
    """Raises 55P04 for an enum label that this transaction added."""
    for label in constant.type.labels or ():
        if label.name == constant.value and label.oid in binder.fresh_labels:
            message = f'unsafe use of new value "{constant.value}" of enum type {constant.type.user}'
            hint = "New enum values must be committed before they can be used."
            raise binder.locate_expr(SqlError.of("unsafe_new_enum_value_usage", message, hint=hint), expr)


def fails_when_used(error: SqlError) -> bool:
    """Whether PostgreSQL raises an error of a declared expression's constant only when the expression is used.

    It detects values that cannot be read at all, `value "70000" is out of range`, in the declaration.
    """
    too_long = error.sqlstate in {"22001", "22026"}
    return too_long or (error.sqlstate == "22003" and not error.message.startswith('value "'))


def coerce_exactly(binder: Binder, expr: Expr, target: SqlType) -> Expr:
    """Converts `expr` by assignment to exactly the target type, digits included."""
    result = coerce(binder, expr, target, "a")
    return result if result.type == target else Cast(result, target)


def unify_branches(binder: Binder, exprs: Sequence[Expr], context: str) -> tuple[tuple[Expr, ...], SqlType]:
    """Converts expressions that must share a type (CASE, UNION, VALUES, COALESCE, ARRAY) to that type."""
    try:
        target = resolve_branch_type(exprs, context)
    except GpudbError as error:
        raise binder.locate_expr(error, _find_mismatch(exprs, context)) from None
    return tuple(coerce_to_branch(binder, expr, target) for expr in exprs), target


def coerce_to_branch(binder: Binder, expr: Expr, target: SqlType, context: str = "i") -> Expr:
    """Converts `expr` to the type that it shares with others; 0A000 for an array of other dimensions."""
    result = coerce(binder, expr, target, context)
    if result.type.dims != target.dims:
        message = f"an array of {result.type.dims} dimensions beside one of {target.dims} is not supported"
        raise binder.locate_expr(FeatureNotSupported(message), expr)
    return result


def _find_mismatch(exprs: Sequence[Expr], context: str) -> Expr:
    """Returns the first expression that has no common type with those before it."""
    for count in range(2, len(exprs)):
        try:
            resolve_branch_type(exprs[:count], context)
        except GpudbError:
            return exprs[count - 1]
    return exprs[-1]


def resolve_branch_type(exprs: Sequence[Expr], context: str) -> SqlType:
    """Returns the common type of expressions; 42804 if there is none.

    It has the modifier that all of them have; an untyped literal has none.
    """
    numeric = any(expr.type.name == "numeric" for expr in exprs)
    types = [narrow_integer(expr).type if numeric and isinstance(expr, Constant) else expr.type for expr in exprs]
    result = find_common_type(types, context)
    return unify_types([result, *(resolve_untyped(expr, result) for expr in exprs if expr.type.name == "unknown")])


def resolve_untyped(expr: Expr, kind: SqlType) -> SqlType:
    """Returns the type of an untyped expression as a value of `kind`; a literal has its own number of digits."""
    if kind.domain is not None and kind.domain.base == kind.name:
        kind = replace(kind, domain=None)
    if kind.name.lstrip("_") not in {"numeric", "bpchar"} or (isinstance(expr, Constant) and expr.value is None):
        return kind.without_modifier
    try:
        result = convert_literal(expr, kind.plain, "UTC") if isinstance(expr, Constant) else None
    except GpudbError:
        result = None  # raised again by the conversion
    return kind.plain if result is None or result.type.dims != kind.dims else result.type


def coerce_row_count(binder: Binder, expr: Expr, clause: str) -> Expr:
    """Converts `expr` to the bigint of LIMIT or OFFSET; 42804 for other types."""
    if not can_coerce(expr.type.plain, INT8, "a"):
        error = DatatypeMismatch(f"argument of {clause} must be type bigint, not type {expr.type}")
        raise binder.locate_expr(error, expr)
    if isinstance(expr, Parameter) and expr.type.name in INTEGERS:
        return Parameter(expr.number, INT8)  # as wide as its value; a cast would hide that its value is known
    return coerce(binder, expr, INT8, "a")


def resolve_unknown(binder: Binder, expr: Expr) -> Expr:
    """Returns an output expression; an untyped literal or parameter becomes text."""
    return coerce(binder, expr, TEXT) if expr.type.name == "unknown" else expr
