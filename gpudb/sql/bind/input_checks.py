"""pg_input_is_valid and pg_input_error_info: whether text is a value of a type, and what is wrong with it if not."""

from __future__ import annotations

from collections.abc import Sequence

from gpudb.errors import FeatureNotSupported, GpudbError, SqlError
from gpudb.functions.library import Function
from gpudb.sql.bind.binder import Binder
from gpudb.sql.bind.coerce import coerce
from gpudb.sql.bind.type_names import value_type
from gpudb.sql.bound import Cast, Constant, Expr, Row
from gpudb.sql.parse import inner, parse
from gpudb.types import BOOL, TEXT, UNKNOWN, SqlType

NAMES = frozenset({"pg_input_is_valid", "pg_input_error_info"})
_FIELDS = tuple((name, TEXT) for name in ("message", "detail", "hint", "sql_error_code"))


def checked_input(binder: Binder, function: Function, args: Sequence[Expr]) -> Expr:
    """The call's value, from a text and the name of a type that are both known; 42601, 42704 for no type."""
    if not all(isinstance(arg, Constant) for arg in args):
        raise FeatureNotSupported(f"function {function.name} of text that is not constant is not supported")
    text, name = (arg.value for arg in args if isinstance(arg, Constant))
    if text is None or name is None:
        parts: list[object] = [None] * len(_FIELDS)
        valid = None
    else:
        error = _error(binder, str(text), _type(binder, str(name)))
        valid = error is None
        parts = [None] * 4 if error is None else [error.message, error.detail, error.hint, error.sqlstate]
    if function.name == "pg_input_is_valid":
        return Constant(valid, BOOL)
    return Row(tuple(Constant(each, TEXT) for each in parts), SqlType("record", fields=_FIELDS))


def _type(binder: Binder, name: str) -> SqlType:
    try:
        (target,) = parse(f"SELECT CAST(NULL AS {name})")[0].node.target_list
        return value_type(inner(inner(target).val).type_name, binder)
    except SqlError as error:
        error.position = 0  # of another text
        raise
    except (ValueError, AttributeError):
        raise SqlError.of("syntax_error", f'invalid type name "{name}"') from None


def _error(binder: Binder, text: str, target: SqlType) -> GpudbError | None:
    """What reading the text raises."""
    try:
        made = coerce(binder, Constant(text, UNKNOWN), target, "a")
    except FeatureNotSupported:
        raise
    except GpudbError as error:
        return error
    while isinstance(made, Cast) and made.arg.type.name == made.type.name:
        made = made.arg  # of a value that was read
    if not isinstance(made, Constant | Row):
        raise FeatureNotSupported(f"checking text as a value of type {target} is not supported")
    return None
