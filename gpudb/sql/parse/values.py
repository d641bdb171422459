"""The values of options, as in `WITH (name = value)`, and of constants, read from the parse tree."""

from __future__ import annotations

from typing import Any

from gpudb.errors import SqlError
from gpudb.sql.parse.parser import inner, kind, present, strings

OptionValue = str | int | bool | tuple[str, ...] | None


def read_option(option: Any) -> OptionValue:
    """Returns an option's value: a decimal number and a qualified name as text, None without a value; 42601."""
    if not present(option.arg):
        return None
    value = inner(option.arg)
    match kind(option.arg):
        case "string":
            return str(value.sval)
        case "integer":
            return int(value.ival)
        case "float":
            return str(value.fval)
        case "boolean":
            return bool(value.boolval)
        case "a_star":
            return "*"
        case "list":
            return strings(value.items)
        case "type_name":
            return ".".join(strings(value.names))
    raise SqlError.of("syntax_error", f'option "{option.defname}" has a value of the wrong kind')


def read_option_text(option: Any) -> str:
    """Returns an option's value as text, which is `true` without one; 42601."""
    value = read_option(option)
    return "true" if value is None else format_value(value)


def strip_casts(node: Any) -> Any:
    """Returns what the casts around an expression convert."""
    while kind(node) == "type_cast":
        node = inner(node).arg
    return node


def read_constant(constant: Any) -> str | int | bool | None:
    """Returns the value of an `A_Const`: a decimal number as text, None for NULL and for bits."""
    match constant.WhichOneof("val"):
        case "sval":
            return str(constant.sval.sval)
        case "ival":
            return int(constant.ival.ival)
        case "fval":
            return str(constant.fval.fval)
        case "boolval":
            return bool(constant.boolval.boolval)
    return None


def format_value(value: str | int | bool | tuple[str, ...]) -> str:
    """Returns a value as text: `true` or `false`, and a list's parts joined by dots."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return ".".join(value) if isinstance(value, tuple) else str(value)
