"""Definition of a setting, and checks of values."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from gpudb.errors import SqlError

Check = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting: `check` returns a value's canonical text or raises 22023; `reported` settings are sent to clients.

    Clients cannot set a `fixed` one, and only superusers a `superuser` one; ALTER SYSTEM changes a fixed one that is
    `system`, for the server itself. SHOW ALL and pg_settings omit a `hidden` one. `merge`
    makes a value of what is given, the one before it, and that of DEFAULT.
    """

    name: str
    default: str
    description: str
    check: Check = str
    reported: bool = False
    fixed: bool = False
    kind: str = "string"
    hidden: bool = False
    superuser: bool = False
    system: bool = False
    merge: Callable[[str, str, str], str] | None = None


def invalid_value(name: str, value: str, hint: str | None = None) -> SqlError:
    """Returns 22023 for an invalid value."""
    message = f'invalid value for parameter "{name}": "{value}"'
    return SqlError.of("invalid_parameter_value", message, hint=hint)


def boolean(name: str) -> Check:
    """A check for on or off, in any of PostgreSQL's spellings."""

    def check(value: str) -> str:
        text = value.strip().lower()
        for answer, words in (("on", ("true", "yes", "on", "1")), ("off", ("false", "no", "off", "0"))):
            if text and any(word.startswith(text) for word in words) and text != "o":
                return answer
        raise SqlError.of("invalid_parameter_value", f'parameter "{name}" requires a Boolean value')

    return check


def choice(name: str, *values: str) -> Check:
    """A check for one of several words, case-insensitive."""

    def check(value: str) -> str:
        found = next((each for each in values if each.lower() == value.strip().lower()), None)
        if found is None:
            raise invalid_value(name, value, f"Available values: {', '.join(values)}.")
        return found

    return check


def integer(name: str, low: int, high: int) -> Check:
    """A check for an integer within bounds."""

    def check(value: str) -> str:
        if not re.fullmatch(r"\s*[+-]?\d+\s*", value):
            raise invalid_value(name, value)
        if not low <= int(value) <= high:
            message = f'{int(value)} is outside the valid range for parameter "{name}" ({low} .. {high})'
            raise SqlError.of("invalid_parameter_value", message)
        return str(int(value))

    return check
