"""Options of views: WITH (security_invoker, security_barrier, check_option), and ALTER VIEW … SET and RESET."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from gpudb.catalog.relations import View
from gpudb.errors import FeatureNotSupported, SqlError
from gpudb.session.context import Context
from gpudb.session.objects.relations import put_relation
from gpudb.sql.bind.dml.view_targets import resolve_target
from gpudb.sql.parse.parser import inner
from gpudb.sql.parse.values import read_option_text

_OPTIONS = frozenset({"security_invoker", "security_barrier", "check_option"})
_BOOLEANS = frozenset({"true", "on", "yes", "1", "false", "off", "no", "0"})


def read_view_options(options: Iterable[Any], *, reset: bool = False) -> dict[str, str]:
    """The options of a view as texts by name; 22023 for an unknown one or a wrong value.

    To `reset` them they have no values.
    """
    found: dict[str, str] = {}
    for option in map(inner, options):
        name = option.defname
        if option.defnamespace or name not in _OPTIONS:
            raise SqlError.of("invalid_parameter_value", f'unrecognized parameter "{name}"')
        if name in found:
            raise SqlError.of("invalid_parameter_value", f'parameter "{name}" specified more than once')
        text = read_option_text(option) if not reset else "true"
        if name == "check_option" and not reset and text.lower() not in {"local", "cascaded"}:
            message = f'invalid value for enum option "{name}": {text}'
            raise SqlError.of("invalid_parameter_value", message, detail='Valid values are "local" and "cascaded".')
        if name != "check_option" and text.lower() not in _BOOLEANS:
            raise SqlError.of("invalid_parameter_value", f'invalid value for boolean option "{name}": {text}')
        found[name] = text
    return found


def show_options(options: Mapping[str, str]) -> tuple[str, ...]:
    """The options as a view keeps them."""
    return tuple(f"{name}={text}" for name, text in options.items())


def set_view_options(context: Context, view: View, options: Iterable[Any], *, reset: bool) -> None:
    """ALTER VIEW … SET (option = value, …) and RESET (option, …)."""
    changed = read_view_options(options, reset=reset)
    kept = tuple(each for each in view.options if each.partition("=")[0] not in changed)
    altered = replace(view, options=kept if reset else kept + show_options(changed))
    check_updatable(context, altered)
    put_relation(context, altered)


def check_updatable(context: Context, view: View) -> None:
    """0A000 for a CHECK OPTION of a view that is not automatically updatable by itself."""
    if not view.check_option:
        return
    binder = context.binder()
    try:
        resolve_target(binder, view, binder.new_rel(), "insert into")
    except SqlError as error:
        if error.sqlstate == "55000" and error.message.endswith(f'view "{view.name}"'):
            message = "WITH CHECK OPTION is supported only on automatically updatable views"
            raise FeatureNotSupported(message, hint=error.detail) from None
