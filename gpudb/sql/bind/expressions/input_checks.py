"""pg_input_is_valid and pg_input_error_info: whether text is valid for a type, and the error if not."""

from __future__ import annotations

from collections.abc import Sequence

from gpudb.errors import FeatureNotSupported, GpudbError, SqlError
from gpudb.functions.input_checks import ERROR_OF
from gpudb.functions.library import Function
from gpudb.sql.bind.base import Binder
from gpudb.sql.bind.expressions.operators import disjunction
from gpudb.sql.bind.types.coercion import coerce
from gpudb.sql.bind.types.type_names import resolve_value_type
from gpudb.sql.bound import Call, Case, Cast, Constant, Expr, Row, Subscript, Test
from gpudb.sql.parse.parser import inner, parse
from gpudb.types import BOOL, INT4, TEXT, UNKNOWN, SqlType

NAMES = frozenset({"pg_input_is_valid", "pg_input_error_info"})
_FIELDS = tuple((name, TEXT) for name in ("message", "detail", "hint", "sql_error_code"))


def bind_input_check(binder: Binder, function: Function, args: Sequence[Expr]) -> Expr:
    """Binds a call over any text and a constant type name; 42601 or 42704 for an invalid type."""
    text, name = (coerce(binder, arg, TEXT) for arg in args)
    if not isinstance(name, Constant):
        raise FeatureNotSupported(f"function {function.name} of a type that is not constant is not supported")
    if isinstance(text, Constant):
        found = _check_constants(binder, text.value, name.value)
    else:
        found = _check_values(binder, text, name.value)
    if function.name == "pg_input_error_info":
        return Row(tuple(found), SqlType("record", fields=_FIELDS))
    valid = Test(found[0], "NULL")
    unknown = _is_any_null((text, name))
    return Case(((unknown, Constant(None, BOOL)),), valid, BOOL)


def _is_any_null(values: Sequence[Expr]) -> Expr:
    return disjunction([Test(value, "NULL") for value in values])


def _check_constants(binder: Binder, text: object, name: object) -> list[Expr]:
    error = None if text is None or name is None else _find_error(binder, str(text), _parse_type(binder, str(name)))
    parts = [None] * 4 if error is None else [error.message, error.detail, error.hint, error.sqlstate]
    return [Constant(each, TEXT) for each in parts]


def _check_values(binder: Binder, text: Expr, name: object) -> list[Expr]:
    target = SqlType("text") if name is None else _parse_type(binder, str(name))
    if target.modifier != -1 or target.user is not None or target.domain is not None or "reg" in target.name[:4]:
        raise FeatureNotSupported(f"checking texts that are not constant as values of type {target} is not supported")
    found = Call(ERROR_OF, (text, Constant(target.name, TEXT)), ERROR_OF.result)
    return [Subscript(found, None, Constant(place, INT4), False, TEXT) for place in range(1, 5)]


def _parse_type(binder: Binder, name: str) -> SqlType:
    try:
        (target,) = parse(f"SELECT CAST(NULL AS {name})")[0].node.target_list
        return resolve_value_type(inner(inner(target).val).type_name, binder)
    except SqlError as error:
        error.position = 0  # a position in another text
        raise
    except (ValueError, AttributeError):
        raise SqlError.of("syntax_error", f'invalid type name "{name}"') from None


def _find_error(binder: Binder, text: str, target: SqlType) -> GpudbError | None:
    """Returns the error that reading the text raises."""
    try:
        result = coerce(binder, Constant(text, UNKNOWN), target, "a")
    except FeatureNotSupported:
        raise
    except GpudbError as error:
        return error
    while isinstance(result, Cast) and result.arg.type.name == result.type.name:
        result = result.arg  # a cast of a value that was read
    if not isinstance(result, Constant | Row):
        raise FeatureNotSupported(f"checking text as a value of type {target} is not supported")
    return None
