"""Options of views: WITH (security_invoker, security_barrier), and ALTER VIEW … SET and RESET of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from gpudb.catalog.model import View
from gpudb.errors import FeatureNotSupported, SqlError
from gpudb.session.context import Context
from gpudb.session.objects.relations import put_relation
from gpudb.sql.parse.parser import inner, kind, present, strings

_OPTIONS = frozenset({"security_invoker", "security_barrier"})
_BOOLEANS = {**dict.fromkeys(("true", "on", "yes", "1"), True), **dict.fromkeys(("false", "off", "no", "0"), False)}


def read_view_options(options: Iterable[Any]) -> dict[str, Any]:
    """The options of a view by name; 22023 for an unknown one or a wrong value, 0A000 for check_option."""
    found: dict[str, Any] = {}
    for option in map(inner, options):
        name = option.defname
        if name == "check_option":
            raise FeatureNotSupported("WITH CHECK OPTION of a view is not supported")
        if option.defnamespace or name not in _OPTIONS:
            raise SqlError.of("invalid_parameter_value", f'unrecognized parameter "{name}"')
        if name in found:
            raise SqlError.of("invalid_parameter_value", f'parameter "{name}" specified more than once')
        text = _read_text(option)
        if text.lower() not in _BOOLEANS:
            raise SqlError.of("invalid_parameter_value", f'invalid value for boolean option "{name}": {text}')
        found[name] = _BOOLEANS[text.lower()]
    return found


def _read_text(option: Any) -> str:
    if not present(option.arg):
        return "true"
    arg = inner(option.arg)
    match kind(option.arg):
        case "string":
            return str(arg.sval)
        case "integer":
            return str(arg.ival)
        case "float":
            return str(arg.fval)
        case "boolean":
            return "true" if arg.boolval else "false"
        case "type_name":
            return ".".join(strings(arg.names))
    return ""


def set_view_options(context: Context, view: View, options: Iterable[Any], *, reset: bool) -> None:
    """ALTER VIEW … SET (option = value, …) and RESET (option, …)."""
    changed: dict[str, Any] = {name: None if reset else value for name, value in read_view_options(options).items()}
    put_relation(context, replace(view, **changed))
