"""Options of CREATE and ALTER of routines: what is computed of them, and the settings that they run with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gpudb.errors import FeatureNotSupported, SqlError
from gpudb.session.context import Context
from gpudb.session.objects.stored_settings import change_settings
from gpudb.sql.parse.parser import inner, present, strings

_VOLATILITY = {"immutable": "i", "stable": "s", "volatile": "v"}
_PARALLEL = {"unsafe": "u", "restricted": "r", "safe": "s"}
_NAMES = {"security": "definer"}
_OF_FUNCTIONS = frozenset({"volatility", "strict", "leakproof", "cost", "rows", "parallel"})
_OF_TRANSACTIONS = frozenset({"transaction_isolation", "transaction_read_only", "transaction_deferrable"})
_OF_ROLES = frozenset({"role", "session_authorization"})


def read_options(
    context: Context, nodes: Sequence[Any], settings: Mapping[str, str] | None = None, *, is_procedure: bool
) -> dict[str, Any]:
    """Returns options by their names as fields of Routine, `language` and `as` among them.

    `settings` are those that the routine has; they are among the result if an option sets or resets one. 42601 for an
    option that is given twice, 42P13 for one that a procedure has not, 22023 for values.
    """
    found: dict[str, Any] = {}
    for each in nodes:
        option = inner(each)
        name = _NAMES.get(option.defname, option.defname)
        if name == "set":
            settings = _change_settings(context, settings or {}, inner(option.arg))
            found["settings"] = tuple(settings.items())
            continue
        if name in found:
            error = SqlError.of("syntax_error", "conflicting or redundant options")
            raise context.binder().locate(error, option.location)
        if is_procedure and name in _OF_FUNCTIONS:
            error = SqlError.of("invalid_function_definition", "invalid attribute in procedure definition")
            raise context.binder().locate(error, option.location)
        found[name] = _read_option(name, inner(option.arg) if present(option.arg) else None)
    return found


def _read_option(name: str, value: Any) -> Any:
    match name:
        case "language":
            return value.sval.lower()
        case "as":
            return strings(value.items)
        case "volatility":
            return _VOLATILITY[value.sval]
        case "parallel":
            if value.sval not in _PARALLEL:
                message = 'parameter "parallel" must be SAFE, RESTRICTED, or UNSAFE'
                raise SqlError.of("syntax_error", message)
            return _PARALLEL[value.sval]
        case "strict" | "leakproof" | "definer":
            return bool(value.boolval)
        case "cost" | "rows":
            number = float(value.ival if value.DESCRIPTOR.name == "Integer" else value.fval)
            if number <= 0:
                raise SqlError.of("invalid_parameter_value", f"{name.upper()} must be positive")
            return number
        case _:
            raise FeatureNotSupported(f"the option {name.upper()} of functions is not supported")


def _change_settings(context: Context, settings: Mapping[str, str], change: Any) -> Mapping[str, str]:
    """Returns settings after SET or RESET; 0A000 for those that belong to a transaction or that change the role."""
    name = change.name.lower()
    if name in _OF_TRANSACTIONS:
        raise FeatureNotSupported(f'parameter "{name}" cannot be set locally in functions')
    if name in _OF_ROLES:
        raise FeatureNotSupported(f'parameter "{name}" of functions is not supported', hint="Use SECURITY DEFINER.")
    return change_settings(context, settings, change)
