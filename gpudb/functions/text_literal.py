"""Texts that are known while a call is rendered, and texts as SQL literals."""

from __future__ import annotations

import re

from gpudb.functions.registry import Operands

_LITERAL = re.compile(r"'((?:[^']|'')*)'")


def quoted(text: str) -> str:
    """Text as a string literal."""
    return "'" + text.replace("'", "''") + "'"


def known(operands: Operands, index: int) -> str | None:
    """The text of an operand where it is constant: a literal, or what a template before made of one."""
    value = operands.constants[index]
    if isinstance(value, str):
        return value
    found = _LITERAL.fullmatch(operands.sql[index])
    return found.group(1).replace("''", "'") if found else None
