"""json, validated and kept as written, and jsonb in PostgreSQL's canonical text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from decimal import MAX_PREC, Context, Decimal
from json.encoder import encode_basestring
from typing import Any

from gpudb.errors import SqlError
from gpudb.values.json_errors import find_json_error
from gpudb.values.numbers import format_numeric

_DECODER = json.JSONDecoder(parse_float=Decimal, parse_int=Decimal)
_EXACT = Context(prec=MAX_PREC)
_PLAIN_WHITESPACE = re.compile(r"[ \t\n\r]*")


def parse_json(text: str) -> str:
    """Returns the text itself if it is JSON; 22P02 otherwise, 54001 if nested too deeply."""
    _parse(text, unescaped=False)
    return text


def parse_jsonb(text: str) -> str:
    r"""Returns the canonical text: keys by length then bytes, the last of equal ones; 22P05 for `\u0000`."""
    return format_jsonb(_parse(text, unescaped=True))


def format_jsonb(value: object) -> str:
    """Formats a value of `json.loads` (numbers as Decimal) as jsonb's output function does."""
    kind = type(value)
    if kind is str:
        return quote_string(value)  # type: ignore[arg-type]
    if kind is Decimal:
        return _format_number(value)  # type: ignore[arg-type]
    if isinstance(value, dict):
        return "{" + ", ".join([f"{quote_string(key)}: {format_jsonb(value[key])}" for key in sort_keys(value)]) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(format_jsonb, value)) + "]"
    if value is None:
        return "null"
    if value is True or value is False:
        return "true" if value else "false"
    if isinstance(value, str):
        return quote_string(value)
    return format_numeric(value if isinstance(value, Decimal) else Decimal(str(value)))


def sort_keys(keys: Iterable[str]) -> list[str]:
    """Returns an object's keys in jsonb's order: by length in bytes, then by bytes, whose order characters have too."""
    found = sorted(keys)
    found.sort(key=len if all(map(str.isascii, found)) else _count_bytes)
    return found


def _count_bytes(text: str) -> int:
    return len(text.encode())


def _format_number(value: Decimal) -> str:
    text = str(value)
    return text if text[0] != "-" and "E" not in text else format_numeric(value)


def normalize_jsonb(text: str) -> str:
    """Returns a text that is equal for equal documents: numbers without trailing zeros."""
    return format_jsonb(_normalize(_DECODER.decode(text)))


def _normalize(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _normalize(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_normalize(item) for item in value]
    if isinstance(value, Decimal):
        return value.normalize(_EXACT) if value else Decimal()
    return value


def quote_string(text: str) -> str:
    r"""Returns a string of JSON; 22P05 for one with `\u0000`."""
    if "\0" in text:
        detail = r"\u0000 cannot be converted to text."
        raise SqlError.of("untranslatable_character", "unsupported Unicode escape sequence", detail=detail)
    return encode_basestring(text)


def _parse(text: str, *, unescaped: bool) -> object:
    try:
        value, end = _STRICT_DECODER.raw_decode(text, _skip_whitespace(text, 0))
    except RecursionError:
        message = "stack depth limit exceeded"
        raise SqlError.of("statement_too_complex", message) from None
    except ValueError:
        raise find_json_error(text, unescaped=unescaped) from None
    if _skip_whitespace(text, end) != len(text) or (unescaped and "\\u" in text and _has_lone_surrogates(value)):
        raise find_json_error(text, unescaped=unescaped)
    return value


def _skip_whitespace(text: str, at: int) -> int:
    match = _PLAIN_WHITESPACE.match(text, at)
    return match.end() if match else at


def _reject_constant(name: str) -> object:
    raise ValueError(name)  # JSON has neither NaN nor infinities


_STRICT_DECODER = json.JSONDecoder(parse_float=Decimal, parse_int=Decimal, parse_constant=_reject_constant)


def _has_lone_surrogates(value: object) -> bool:
    parts = [value]
    while parts:
        part = parts.pop()
        if isinstance(part, dict):
            parts += [*part, *part.values()]
        elif isinstance(part, list):
            parts += part
        elif isinstance(part, str) and any("\ud800" <= char <= "\udfff" for char in part):
            return True
    return False
