"""The columns that a chart's encodings name: which they are, and names that Vega-Lite would misread."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from gpudb.api.charts.channels import escape, unescape

_EXPRESSIONS = frozenset({"condition", "expr", "param", "test"})


def list_fields(encodings: Mapping[str, object]) -> set[str] | None:
    """Returns the columns that encodings name; None where an expression may name others."""
    try:
        return {name for given in encodings.values() for name in _iterate_channel(given)}
    except LookupError:
        return None


def _iterate_channel(given: object) -> Iterator[str]:
    for each in given if isinstance(given, list | tuple) else (given,):
        if isinstance(each, str):
            yield from _read_shorthand(each)
        else:
            yield from _iterate_fields(each)


def _read_shorthand(text: str) -> Iterator[str]:
    from altair.utils import parse_shorthand

    if isinstance(field := parse_shorthand(text).get("field"), str):
        yield unescape(field)


def _iterate_fields(given: object) -> Iterator[str]:
    """Yields the columns of a definition; LookupError for what does not tell."""
    if given is None or isinstance(given, str | int | float):
        return
    if isinstance(given, list | tuple):
        for each in given:
            yield from _iterate_fields(each)
        return
    for key, value in _get_parts(given).items():
        if key in _EXPRESSIONS or (key == "field" and not isinstance(value, str)):
            raise LookupError(key)
        if key == "shorthand":
            yield from _iterate_channel(value)
        elif key == "field":
            yield unescape(str(value))
        else:
            yield from _iterate_fields(value)


def _get_parts(given: object) -> dict[str, Any]:
    """Returns what a dict or an object of Altair is made of; LookupError for others."""
    from altair import Undefined

    parts = given if isinstance(given, Mapping) else getattr(given, "_kwds", None)
    if parts is None:
        raise LookupError(type(given).__qualname__)
    return {key: value for key, value in parts.items() if value is not Undefined}


def escape_fields(given: Any, columns: frozenset[str]) -> Any:
    """Returns a channel's shorthand or object whose field is one of the columns, not the way to a value within one."""
    if isinstance(given, list | tuple):
        return [escape_fields(each, columns) for each in given]
    if isinstance(given, str):
        return _escape_shorthand(given, columns)
    try:
        parts = _get_parts(given)
    except LookupError:
        return given
    ways: dict[str, Callable[[str, frozenset[str]], str]] = {"shorthand": _escape_shorthand, "field": _escape_name}
    changed = {
        key: new
        for key, change in ways.items()
        if isinstance(old := parts.get(key), str) and (new := change(old, columns)) != old
    }
    if not changed:
        return given
    if isinstance(given, Mapping):
        return {**given, **changed}
    copy = given.copy()
    for key, value in changed.items():
        copy[key] = value
    return copy


def _escape_name(field: str, columns: frozenset[str]) -> str:
    return escape(field) if field in columns else field


def _escape_shorthand(text: str, columns: frozenset[str]) -> str:
    from altair.utils import parse_shorthand

    field = parse_shorthand(text).get("field")
    return text.replace(field, _escape_name(field, columns), 1) if isinstance(field, str) else text
