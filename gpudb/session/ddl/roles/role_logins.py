"""Options of roles about their logins: CONNECTION LIMIT and VALID UNTIL."""

from __future__ import annotations

from typing import Any

from gpudb.errors import SqlError
from gpudb.session.context import Context
from gpudb.sql.parse.parser import inner
from gpudb.types import TIMESTAMPTZ
from gpudb.values.calendar import microseconds_from_timestamp
from gpudb.values.text import parse_text

LOGIN_OPTIONS = frozenset({"connectionlimit", "validUntil"})


def read_login_option(context: Context, option: Any) -> dict[str, int]:
    """Returns the field of `Role` that one of LOGIN_OPTIONS sets; 22023 for an invalid limit, 22007 for a time."""
    if option.defname == "connectionlimit":
        limit = int(inner(option.arg).ival)
        if limit < -1:
            raise SqlError.of("invalid_parameter_value", f"invalid connection limit: {limit}")
        return {"connection_limit": limit}
    until: Any = parse_text(TIMESTAMPTZ, inner(option.arg).sval, context.session.settings["timezone"], context.started)
    return {"valid_until": microseconds_from_timestamp(until)}
