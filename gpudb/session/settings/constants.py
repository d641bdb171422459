"""Constants in SET statements, and the lists of names that they make."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpudb.catalog.identifiers import quote_name
from gpudb.errors import SqlError
from gpudb.sql.parse.parser import inner, kind, strings
from gpudb.values.interval import parse_interval, parse_restricted_interval

_LISTS = frozenset({"search_path", "datestyle", "createrole_self_grant"})
"""Settings that take several values; the names of a search path are quoted, since they may contain commas."""


def read_value(nodes: Sequence[Any], name: str) -> str:
    """Returns the text of a setting's value from the constants of SET; 22023 for several where it takes one."""
    texts = [constant_text(each, name) for each in nodes]
    if len(texts) > 1 and name.lower() not in _LISTS:
        raise SqlError.of("invalid_parameter_value", f"SET {name} takes only one argument")
    return ", ".join(map(quote_name, texts) if name.lower() == "search_path" else texts)


def constant_text(node: Any, name: str) -> str:
    """A constant as text."""
    message = inner(node)
    if kind(node) == "a_const":
        which = message.WhichOneof("val")
        if which == "sval":
            return str(message.sval.sval)
        return str(message.ival.ival if which == "ival" else message.fval.fval)
    if kind(node) == "type_cast":
        text = str(inner(message.arg).sval.sval)
        is_interval = strings(message.type_name.names)[-1] == "interval"
        return _read_hours(text, message.type_name) if is_interval and name.lower() == "timezone" else text
    raise SqlError.of("syntax_error", f"SET {name} takes only simple constants")


def _read_hours(text: str, type_name: Any) -> str:
    """The hours of SET TIME ZONE INTERVAL '+01:00' HOUR TO MINUTE; 22023 for months or days."""
    fields = [inner(each).ival.ival for each in type_name.typmods]
    value = parse_restricted_interval(text, fields[0] << 16 | 0xFFFF) if fields else parse_interval(text)
    for count, unit in ((value.months, "months"), (value.days, "days")):
        if count:
            message = f'invalid value for parameter "TimeZone": "{text}"'
            detail = f"Cannot specify {unit} in time zone interval."
            raise SqlError.of("invalid_parameter_value", message, detail=detail)
    return f"{value.microseconds / 3_600_000_000:.12f}"
