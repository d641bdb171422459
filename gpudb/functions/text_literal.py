"""Texts that are known when a call is rendered, and texts as SQL literals."""

from __future__ import annotations

import re

from gpudb.functions.registry import Operands

_LITERAL = re.compile(r"'((?:[^']|'')*)'")


def quote_literal(text: str) -> str:
    """Returns a text as a string literal."""
    return "'" + text.replace("'", "''") + "'"


def get_constant_text(operands: Operands, index: int) -> str | None:
    """Returns the text of a constant operand: a literal, or the result of an earlier template."""
    value = operands.constants[index]
    if isinstance(value, str):
        return value
    match = _LITERAL.fullmatch(operands.sql[index])
    return match.group(1).replace("''", "'") if match else None
