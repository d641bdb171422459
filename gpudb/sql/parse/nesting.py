"""Limits on nesting depth, so that no statement exhausts the stack of libpg_query or of Python.

PostgreSQL's grammar lets `a + b + c …`, `x::t::t …` and `SELECT … UNION SELECT …` nest without a limit, and
libpg_query serializes trees by recursion. So the tokens of a long text bound its depth first; then the depth of the
tree is measured if it exceeds protobuf's own limit of 100.
"""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any

from google.protobuf.message import DecodeError, Message

from gpudb.errors import SqlError
from gpudb.sql.parse.interrupts import check_interrupt

UNCHECKED_LENGTH = 16_000
"""Length of text that cannot nest deep enough to exhaust a thread's C stack: a level takes two characters."""
MAX_CHAIN = 8_000
"""Limit on consecutive tokens of a long text without a comma or AND between them."""
MAX_LEVELS = 2_000
"""Limit on nested protobuf messages; an operator takes two."""

_TOKENS = 20_000
"""Tokens between two looks for an interrupt: some 10 ms."""

TOKEN = re.compile(
    r"'(?:[^']|'')*'?|\"(?:[^\"]|\"\")*\"?|--[^\n]*|/\*.*?(?:\*/|\Z)|\$(?P<tag>\w*)\$.*?(?:\$(?P=tag)\$|\Z)"
    r"|(?P<open>[(\[]|\bcase\b)|(?P<close>[)\]]|\bend\b)|(?P<next>[,;]|\band\b|\bor\b)"
    r"|(?P<whole>\b(?:union|intersect|except|join|between)\b)|\w+(?:\.\w+)*|[^\w\s]",
    re.S | re.I,
)


def nesting_error() -> SqlError:
    """The 54001 error."""
    hint = "Break the statement up, or shorten its chains of operators."
    return SqlError.of("statement_too_complex", "stack depth limit exceeded", hint=hint)


def check_depth(text: str) -> None:
    """Raises 54001 for a text whose tree might exceed the C stack."""
    if len(text) <= UNCHECKED_LENGTH:
        return
    # For each open parenthesis: the longest run of tokens so far, and the current one
    longest, run, whole = 0, 0, 0
    outer: list[tuple[int, int]] = []
    for number, token in enumerate(TOKEN.finditer(text)):
        if number % _TOKENS == 0:
            check_interrupt()
        match token.lastgroup:
            case "open":
                outer.append((longest, run))
                longest, run = 0, 0
            case "close" if outer:
                inside = max(longest, run)
                longest, run = outer.pop()
                run = max(run, inside) + 1
            case "next":
                longest, run = max(longest, run), 0
            case "whole":
                # These join operands that commas and ANDs separate
                whole += 1
            case _:
                run += 1
        if run + whole + len(outer) > MAX_CHAIN:
            raise nesting_error()


def decode(kind: type[Message], data: bytes) -> Any:
    """Decodes a message; 54001 if it nests deeper than MAX_LEVELS."""
    try:
        return kind.FromString(data)
    except DecodeError as error:
        if "Depth" not in str(error):
            raise
    _allow_depth()
    try:
        message = kind.FromString(data)
    except DecodeError:
        raise nesting_error() from None
    _check_tree(message)
    return message


def _check_tree(message: Message) -> None:
    level: list[Any] = [message]
    for _ in range(MAX_LEVELS):
        below: list[Any] = []
        for each in level:
            for field, value in each.ListFields():
                if field.message_type is not None:
                    below.extend(value if field.is_repeated else (value,))
        if not below:
            return
        level = below
    raise nesting_error()


def _allow_depth() -> None:
    """Raises protobuf's limit of 100 levels to 65,535; it guards against hostile data, not a parser's output."""
    try:
        import_module("google._upb._message").SetAllowOversizeProtos(True)
    except (ImportError, AttributeError):  # pragma: no cover - another implementation of protobuf
        raise nesting_error() from None
