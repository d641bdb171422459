"""Texts that are known when a call is rendered, and texts as SQL literals."""

from __future__ import annotations

import re

from gpudb.functions.registry import Operands

_LITERAL = re.compile(r"'((?:[^']|'')*)'")


def quoted(text: str) -> str:
    """Returns a text as a string literal."""
    return "'" + text.replace("'", "''") + "'"


def known(operands: Operands, index: int) -> str | None:
    """Returns the text of a constant operand: a literal, or the result of an earlier template."""
    value = operands.constants[index]
    if isinstance(value, str):
        return value
    found = _LITERAL.fullmatch(operands.sql[index])
    return found.group(1).replace("''", "'") if found else None
