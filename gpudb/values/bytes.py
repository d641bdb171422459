"""bytea in its hex and escape forms, and uuid in the spellings that PostgreSQL reads."""

from __future__ import annotations

import re
import uuid

from gpudb.errors import InvalidText, SqlError

_ESCAPED = re.compile(rb"\\(\\|[0-3][0-7]{2})|\\")
_UUID = re.compile(r"\{(?:[0-9a-fA-F]{4}-?){7}[0-9a-fA-F]{4}\}|(?:[0-9a-fA-F]{4}-?){7}[0-9a-fA-F]{4}")


def parse_bytea(text: str) -> bytes:
    r"""Parses `\xDEAD beef` or `abc\000\\`; 22023 for invalid hex, 22P02 for an invalid escape."""
    if not text.startswith("\\x"):
        return _ESCAPED.sub(_unescape, text.encode())
    digits = re.sub(r"[ \n\t\r]", "", text[2:])
    invalid = re.search("[^0-9a-fA-F]", digits)
    if invalid is not None:
        raise SqlError.of("invalid_parameter_value", f'invalid hexadecimal digit: "{invalid.group()}"')
    if len(digits) % 2:
        raise SqlError.of("invalid_parameter_value", "invalid hexadecimal data: odd number of digits")
    return bytes.fromhex(digits)


def _unescape(match: re.Match[bytes]) -> bytes:
    code = match.group(1)
    if code is None:
        raise InvalidText("invalid input syntax for type bytea")
    return b"\\" if code == b"\\" else bytes([int(code, 8)])


def parse_uuid(text: str) -> uuid.UUID:
    """Parses a uuid, optionally in braces and with hyphens after any group of four digits; 22P02."""
    if not _UUID.fullmatch(text):
        raise InvalidText(f'invalid input syntax for type uuid: "{text}"')
    return uuid.UUID(hex=re.sub("[^0-9a-fA-F]", "", text))
