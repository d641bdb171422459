"""Options of views: WITH (security_invoker, security_barrier), and ALTER VIEW … SET and RESET of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from gpudb.catalog.relations import View
from gpudb.errors import FeatureNotSupported, SqlError
from gpudb.session.context import Context
from gpudb.session.objects.relations import put_relation
from gpudb.sql.parse.parser import inner
from gpudb.sql.parse.values import read_option_text

_OPTIONS = frozenset({"security_invoker", "security_barrier"})
_BOOLEANS = frozenset({"true", "on", "yes", "1", "false", "off", "no", "0"})


def read_view_options(options: Iterable[Any]) -> dict[str, str]:
    """The options of a view as texts by name; 22023 for an unknown one or a wrong value, 0A000 for check_option."""
    found: dict[str, str] = {}
    for option in map(inner, options):
        name = option.defname
        if name == "check_option":
            raise FeatureNotSupported("WITH CHECK OPTION of a view is not supported")
        if option.defnamespace or name not in _OPTIONS:
            raise SqlError.of("invalid_parameter_value", f'unrecognized parameter "{name}"')
        if name in found:
            raise SqlError.of("invalid_parameter_value", f'parameter "{name}" specified more than once')
        text = read_option_text(option)
        if text.lower() not in _BOOLEANS:
            raise SqlError.of("invalid_parameter_value", f'invalid value for boolean option "{name}": {text}')
        found[name] = text
    return found


def show_options(options: Mapping[str, str]) -> tuple[str, ...]:
    """The options as a view keeps them."""
    return tuple(f"{name}={text}" for name, text in options.items())


def set_view_options(context: Context, view: View, options: Iterable[Any], *, reset: bool) -> None:
    """ALTER VIEW … SET (option = value, …) and RESET (option, …)."""
    changed = read_view_options(options)
    kept = tuple(each for each in view.options if each.partition("=")[0] not in changed)
    put_relation(context, replace(view, options=kept if reset else kept + show_options(changed)))
