"""Constants in SET statements."""

from __future__ import annotations

from typing import Any

from gpudb.errors import SqlError
from gpudb.sql.parse.parser import inner, kind


def constant_text(node: Any, name: str) -> str:
    """A constant as text; quotes identifiers of search_path if they need it."""
    message = inner(node)
    if kind(node) == "a_const":
        which = message.WhichOneof("val")
        if which == "sval":
            text = str(message.sval.sval)
            plain = text.replace("_", "a").replace("$", "a").isalnum() and text == text.lower()
            return f'"{text}"' if name == "search_path" and not plain else text
        return str(message.ival.ival if which == "ival" else message.fval.fval)
    if kind(node) == "type_cast":
        # SET TIME ZONE INTERVAL '+01:00' HOUR TO MINUTE
        return str(inner(message.arg).sval.sval)
    raise SqlError.of("syntax_error", f"SET {name} takes only simple constants")
