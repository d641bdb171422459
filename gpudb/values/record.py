"""Row literals `(1,"b c",)`: split into field texts, and written.

Source: PostgreSQL 16's record_in and record_out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from gpudb.errors import InvalidText
from gpudb.values.numbers import SPACE

NEEDS_QUOTES = r'[\s(),"\\]|^$'

_QUOTED = re.compile(NEEDS_QUOTES, re.ASCII)


def split_record(text: str, count: int) -> list[str | None]:
    """Splits a row into the texts of its `count` fields, None for a missing one; 22P02 for invalid text."""
    body = text.lstrip(SPACE)
    if not body.startswith("("):
        raise _malformed_error(text, "Missing left parenthesis.")
    fields: list[str | None] = []
    at = 1
    for number in range(count):
        if number:
            if at >= len(body) or body[at] != ",":
                raise _malformed_error(text, "Too few columns." if at < len(body) else "Unexpected end of input.")
            at += 1
        if at >= len(body):
            raise _malformed_error(text, "Unexpected end of input.")
        if body[at] in ",)":
            fields.append(None)
            continue
        field, at = _parse_field(body, at, text)
        fields.append(field)
    if at >= len(body) or body[at] != ")":
        raise _malformed_error(text, "Too many columns." if at < len(body) else "Unexpected end of input.")
    if body[at + 1 :].strip(SPACE):
        raise _malformed_error(text, "Junk after right parenthesis.")
    return fields


def _parse_field(body: str, at: int, text: str) -> tuple[str, int]:
    chars: list[str] = []
    quoted = False
    while at < len(body) and (quoted or body[at] not in ",)"):
        char = body[at]
        at += 1
        if char == "\\":
            if at >= len(body):
                raise _malformed_error(text, "Unexpected end of input.")
            chars.append(body[at])
            at += 1
        elif char == '"':
            if quoted and body[at : at + 1] == '"':
                chars.append('"')
                at += 1
            else:
                quoted = not quoted
        else:
            chars.append(char)
    if at >= len(body):
        raise _malformed_error(text, "Unexpected end of input.")
    return "".join(chars), at


def format_record(fields: Sequence[str | None]) -> str:
    """Returns a row's text from its fields' texts."""
    return f"({','.join(_quote_fields(fields))})"


def _quote_fields(fields: Sequence[str | None]) -> Iterator[str]:
    for field in fields:
        if field is None:
            yield ""
        elif _QUOTED.search(field):
            yield '"' + field.replace("\\", "\\\\").replace('"', '""') + '"'
        else:
            yield field


def _malformed_error(text: str, detail: str) -> InvalidText:
    return InvalidText(f'malformed record literal: "{text}"', detail=detail)
