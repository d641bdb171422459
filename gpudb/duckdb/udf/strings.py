"""String functions that DuckDB lacks or defines otherwise: case, code points, quoting, format, encodings."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
import unicodedata
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Decimal
from functools import partial
from typing import Literal

import numpy as np
import pyarrow as pa

from gpudb.duckdb.udf.distinct_rows import find_valid, map_by_name
from gpudb.duckdb.udf.format_columns import format_columns
from gpudb.duckdb.udf.registry import FunctionRegistry
from gpudb.errors import SqlError
from gpudb.functions.keywords import QUOTED_KEYWORDS
from gpudb.types import INT4
from gpudb.values.letter_case import capitalize
from gpudb.values.numbers import parse_integer
from gpudb.values.text_characters import Characters
from gpudb.values.text_pieces import Integers
from gpudb.values.to_ascii import to_ascii

_PLAIN = re.compile(r"[a-z_][a-z0-9_$]*")
_FORMAT = re.compile(r"%(?:(\d+)\$)?(-)?(?:(\d+)|(\*)(?:(\d+)\$)?)?(.)?", re.DOTALL)
_ENCODINGS = {"utf8": "utf-8", "unicode": "utf-8", "latin1": "latin-1", "iso88591": "latin-1", "sqlascii": "utf-8",
              "win1252": "cp1252", "win1251": "cp1251", "latin9": "iso8859-15"}  # fmt: skip
LINE_LENGTH = 76


def register(registry: FunctionRegistry) -> None:
    """Registers the string functions."""
    registry.add_columnar("pg_upper_slow", "VARCHAR", "VARCHAR", partial(_map_characters, capitalize))
    registry.add_columnar("pg_lower_slow", "VARCHAR", "VARCHAR", partial(_map_characters, _lower))
    registry.add_columnar("pg_initcap", "VARCHAR", "VARCHAR", _capitalize_words)
    registry.add_scalar("pg_reverse_slow", "VARCHAR", "VARCHAR", lambda s: s[::-1])
    registry.add_scalar("pg_characters", "VARCHAR", "VARCHAR[]", list)
    registry.add_scalar("pg_quote_ident", "VARCHAR", "VARCHAR", quote_ident)
    registry.add_columnar("pg_format", "VARCHAR VARCHAR[]", "VARCHAR", _format_column)
    for name in ("sha224", "sha384", "sha512"):
        registry.add_scalar(f"pg_{name}", "BLOB", "BLOB", lambda b, name=name: hashlib.new(name, b).digest())
    registry.add_scalar("pg_join", "VARCHAR[] VARCHAR", "VARCHAR", _join)
    registry.add_scalar("pg_encode", "BLOB VARCHAR", "VARCHAR", encode)
    registry.add_scalar("pg_decode", "VARCHAR VARCHAR", "BLOB", decode)
    registry.add_scalar("pg_convert_from", "BLOB VARCHAR", "VARCHAR", _convert_from)
    registry.add_scalar("pg_convert_to", "VARCHAR VARCHAR", "BLOB", _convert_to)
    registry.add_scalar("pg_get_byte", "BLOB INTEGER", "INTEGER", _get_byte)
    registry.add_scalar("pg_set_byte", "BLOB INTEGER INTEGER", "BLOB", _set_byte)
    registry.add_scalar("pg_get_bit", "BLOB BIGINT", "INTEGER", _get_bit)
    registry.add_scalar("pg_set_bit", "BLOB BIGINT INTEGER", "BLOB", _set_bit)
    registry.add_scalar(
        "pg_normalize",
        "VARCHAR VARCHAR",
        "VARCHAR",
        lambda s, form: unicodedata.normalize(_normalization_form(form), s),
    )
    registry.add_scalar("pg_is_normalized", "VARCHAR VARCHAR", "BOOLEAN",
                    lambda s, form: unicodedata.is_normalized(_normalization_form(form), s))  # fmt: skip
    registry.add_scalar("pg_unistr", "VARCHAR", "VARCHAR", _unistr)
    registry.add_scalar("pg_parse_ident", "VARCHAR BOOLEAN", "VARCHAR[]", _parse_ident)
    registry.add_scalar("pg_size_bytes", "VARCHAR", "BIGINT", _size_bytes)
    registry.add_scalar("pg_bytes_position", "BLOB BLOB", "INTEGER", lambda b, part: b.find(part) + 1)
    registry.add_scalar("pg_bytes_substring", "BLOB INTEGER INTEGER", "BLOB", _bytes_substring)
    registry.add_scalar("pg_bytes_overlay", "BLOB BLOB INTEGER INTEGER", "BLOB", _bytes_overlay)
    registry.add_scalar("pg_bytes_join", "BLOB[] BLOB", "BLOB", _bytes_join)
    registry.add_scalar("pg_to_ascii", "VARCHAR VARCHAR", "VARCHAR", to_ascii)
    registry.add_scalar("pg_convert", "BLOB VARCHAR VARCHAR", "BLOB", _convert)
    registry.add_scalar("pg_bytes_trim", "BLOB BLOB BOOLEAN BOOLEAN", "BLOB", _bytes_trim)


def _join(items: list[str | None], separator: str) -> str:
    return separator.join(item for item in items if item is not None)


def _lower(character: str) -> str:
    return character.lower()[:1]


def _map_characters(convert: Callable[[str], str], column: pa.Array) -> pa.Array:
    characters = Characters(column)
    return characters.build(characters.map(convert))


def _capitalize_words(column: pa.Array) -> pa.Array:
    """Capitalizes the first letter of each word; a word is a run of letters and digits."""
    characters = Characters(column)
    inside = characters.follow(characters.test(str.isalnum))
    return characters.build(np.where(inside, characters.map(_lower), characters.map(capitalize)))


def quote_ident(name: str) -> str:
    """Quotes an identifier if necessary."""
    if _PLAIN.fullmatch(name) and name not in QUOTED_KEYWORDS:
        return name
    return '"' + name.replace('"', '""') + '"'


def quote_literal(text: str) -> str:
    """Quotes a string literal."""
    if "\\" in text:
        text = text.replace("\\", "\\\\")
        return "E'" + text.replace("'", "''") + "'"
    return "'" + text.replace("'", "''") + "'"


_MAX_CHARACTERS = 64 << 20


def _format_column(formats: pa.Array, arguments: pa.Array) -> pa.Array:
    arguments = arguments.fill_null([]) if arguments.null_count else arguments

    def compute(text: str, rows: Integers) -> pa.Array:
        chosen = arguments.take(pa.array(rows))
        found = format_columns(text, chosen)
        return found if found is not None else pa.array([format_text(text, row) for row in chosen.to_pylist()])

    return map_by_name(formats, find_valid(formats), pa.string(), compute)


def format_text(text: str, arguments: list[str | None]) -> str:
    """format(): %s, %I, %L and %%, with positions and widths. 22023 for a bad specifier or too few arguments."""
    used = 0

    def argument(position: str | None) -> str | None:
        nonlocal used
        if position == "0":
            raise _invalid("format specifies argument 0, but arguments are numbered from 1")
        used = int(position) if position else used + 1
        if used > len(arguments):
            raise _invalid("too few arguments for format()")
        return arguments[used - 1]

    def specifier(found: re.Match[str]) -> str:
        position, left, width, star, star_position, kind = found.groups()
        if found.group(0) == "%%":
            return "%"
        if kind is None:
            raise _invalid("unterminated format() type specifier", 'For a single "%" use "%%".')
        size = int(width or 0)
        if star:
            size = _parse_width(argument(star_position))
            left, size = ("-" if size < 0 else left), abs(size)
        if size > 2**31 - 1:
            raise SqlError.of("numeric_value_out_of_range", "number is out of range")
        if kind not in "sIL":
            raise _invalid(f'unrecognized format() type specifier "{kind}"', 'For a single "%" use "%%".')
        value = argument(position)
        if size > _MAX_CHARACTERS:
            raise SqlError.of("program_limit_exceeded", "requested length too large")
        if kind == "s":
            result = value or ""
        elif kind == "L":
            result = "NULL" if value is None else quote_literal(value)
        elif value is None:
            message = "null values cannot be formatted as an SQL identifier"
            raise SqlError.of("null_value_not_allowed", message)
        else:
            result = quote_ident(value)
        return result.ljust(size) if left else result.rjust(size)

    return _FORMAT.sub(specifier, text)


def _parse_width(text: str | None) -> int:
    """Parses a width argument as an integer."""
    return 0 if text is None else parse_integer(INT4, text)


def _invalid(message: str, hint: str | None = None) -> SqlError:
    return SqlError.of("invalid_parameter_value", message, hint=hint)


def encode(data: bytes, form: str) -> str:
    """Encodes as hex, base64 (lines of 76) or escape; 22023 for any other name."""
    match form.lower():
        case "hex":
            return data.hex()
        case "base64":
            text = base64.b64encode(data).decode()
            return "\n".join(text[at : at + LINE_LENGTH] for at in range(0, len(text), LINE_LENGTH))
        case "escape":
            return "".join(
                "\\\\" if byte == 92 else f"\\{byte:03o}" if byte == 0 or byte > 127 else chr(byte) for byte in data
            )
    raise _invalid(f'unrecognized encoding: "{form}"')


def decode(text: str, form: str) -> bytes:
    """Decodes what `encode` returns; 22023 for invalid text."""
    match form.lower():
        case "hex":
            digits = re.sub(r"[ \n\t\r]", "", text)
            wrong = re.search("[^0-9a-fA-F]", digits)
            if wrong is not None:
                raise _invalid(f'invalid hexadecimal digit: "{wrong.group()}"')
            if len(digits) % 2:
                raise _invalid("invalid hexadecimal data: odd number of digits")
            return bytes.fromhex(digits)
        case "base64":
            digits = re.sub(r"[ \n\t\r]", "", text)
            wrong = re.search("[^A-Za-z0-9+/=]", digits)
            if wrong is not None:
                raise _invalid(f'invalid symbol "{wrong.group()}" found while decoding base64 sequence')
            try:
                return base64.b64decode(digits, validate=True)
            except binascii.Error:
                raise _invalid("invalid base64 end sequence") from None
        case "escape":
            from gpudb.values.bytes import parse_bytea

            return parse_bytea(text if not text.startswith("\\x") else "\\" + text)
    raise _invalid(f'unrecognized encoding: "{form}"')


def _encoding(name: str) -> str:
    found = _ENCODINGS.get(re.sub("[^a-z0-9]", "", name.lower()))
    if found is None:
        raise _invalid(f'invalid encoding name "{name}"')
    return found


def _convert_from(data: bytes, name: str) -> str:
    try:
        text = data.decode(_encoding(name))
    except UnicodeDecodeError as error:
        shown = " ".join(f"0x{byte:02x}" for byte in data[error.start : error.end])
        message = f'invalid byte sequence for encoding "{name.upper()}": {shown}'
        raise SqlError.of("character_not_in_repertoire", message) from None
    if "\0" in text:
        raise SqlError.of("character_not_in_repertoire", f'invalid byte sequence for encoding "{name.upper()}": 0x00')
    return text


def _convert_to(text: str, name: str) -> bytes:
    try:
        return text.encode(_encoding(name))
    except UnicodeEncodeError as error:
        shown = " ".join(f"0x{byte:02x}" for byte in text[error.start].encode())
        message = (
            f'character with byte sequence {shown} in encoding "UTF8" has no equivalent in encoding "{name.upper()}"'
        )
        raise SqlError.of("untranslatable_character", message) from None


# Encodings that PostgreSQL converts between directly, not by way of UTF-8.
_CYRILLIC = frozenset({"cp1251", "koi8-r", "cp866", "iso8859-5"})


def _convert(data: bytes, source: str, target: str) -> bytes:
    old, new = _named_encoding("source", source), _named_encoding("destination", target)
    if old == new or "SQL_ASCII" in {_canonical_encoding(source), _canonical_encoding(target)}:
        if _canonical_encoding(source) != "SQL_ASCII":
            _convert_from(data, source)
        return data
    if "utf-8" not in {old, new} and not {old, new} <= _CYRILLIC:
        pair = f'"{_canonical_encoding(source)}" to "{_canonical_encoding(target)}"'
        message = f"default conversion function for encoding {pair} does not exist"
        raise SqlError.of("undefined_function", message)
    return _convert_to(_convert_from(data, source), target)


def _canonical_encoding(name: str) -> str:
    return "SQL_ASCII" if re.sub("[^a-z0-9]", "", name.lower()) == "sqlascii" else name.upper()


def _named_encoding(which: str, name: str) -> str:
    found = _ENCODINGS.get(re.sub("[^a-z0-9]", "", name.lower()))
    if found is None:
        raise _invalid(f'invalid {which} encoding name "{name}"')
    return found


def _get_byte(data: bytes, index: int) -> int:
    if not 0 <= index < len(data):
        message = f"index {index} out of valid range, 0..{len(data) - 1}"
        raise SqlError.of("array_subscript_error", message)
    return data[index]


def _set_byte(data: bytes, index: int, value: int) -> bytes:
    _get_byte(data, index)
    return data[:index] + bytes([value & 255]) + data[index + 1 :]


def _bit_position(data: bytes, index: int) -> tuple[int, int]:
    if not 0 <= index < len(data) * 8:
        message = f"index {index} out of valid range, 0..{len(data) * 8 - 1}"
        raise SqlError.of("array_subscript_error", message)
    return index // 8, index % 8


def _get_bit(data: bytes, index: int) -> int:
    byte, bit = _bit_position(data, index)
    return data[byte] >> bit & 1


def _set_bit(data: bytes, index: int, value: int) -> bytes:
    byte, bit = _bit_position(data, index)
    if value not in (0, 1):
        raise _invalid("new bit must be 0 or 1")
    return _set_byte(data, byte, data[byte] & ~(1 << bit) | value << bit)


def _normalization_form(name: str) -> Literal["NFC", "NFD", "NFKC", "NFKD"]:
    match name.upper():
        case "NFC" | "NFD" | "NFKC" | "NFKD" as form:
            return form
    raise _invalid(f"invalid normalization form: {name}")


_ESCAPES = re.compile(r"\\(?:(\\)|([0-9a-fA-F]{4})|\+([0-9a-fA-F]{6})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|)")


def _unistr(text: str) -> str:
    def character(found: re.Match[str]) -> str:
        if found.group(1):
            return "\\"
        digits = next((each for each in found.groups()[1:] if each), None)
        if digits is None:
            raise SqlError.of("syntax_error", "invalid Unicode escape")
        if not 0 < int(digits, 16) <= 0x10FFFF:
            raise _invalid(f"invalid Unicode code point: {int(digits, 16):04X}")
        return chr(int(digits, 16))

    result = _ESCAPES.sub(character, text)
    # a pair of surrogates is one character
    try:
        return result.encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError:
        raise SqlError.of("syntax_error", "invalid Unicode surrogate pair") from None


# Every character beyond ASCII is a letter without case.
_IDENTIFIER = re.compile(
    r'[ \t\n\r\f]*(?:"((?:[^"]|"")+)"|([a-zA-Z_\x80-\U0010ffff][\w$\x80-\U0010ffff]*))[ \t\n\r\f]*'
)


def _parse_ident(text: str, strict: bool) -> list[str]:
    result: list[str] = []
    at = 0
    while True:
        found = _IDENTIFIER.match(text, at)
        if found is None:
            raise _invalid(f'string is not a valid identifier: "{text}"')
        quoted, plain = found.groups()
        result.append(quoted.replace('""', '"') if quoted is not None else plain.encode().lower().decode())
        at = found.end()
        if text[at : at + 1] != ".":
            break
        at += 1
    if strict and at < len(text):
        raise _invalid(f'string is not a valid identifier: "{text}"')
    return result


_SIZE = re.compile(r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*([a-zA-Z]*)\s*")
_UNITS = {"": 1, "b": 1, "bytes": 1, "kb": 1 << 10, "mb": 1 << 20, "gb": 1 << 30, "tb": 1 << 40, "pb": 1 << 50}


def _size_bytes(text: str) -> int:
    found = _SIZE.fullmatch(text)
    if found is None:
        raise _invalid(f'invalid size: "{text}"')
    if found.group(2).lower() not in _UNITS:
        hint = 'Valid units are "bytes", "B", "kB", "MB", "GB", "TB", and "PB".'
        raise _invalid(f'invalid size: "{text}"', hint)
    value = Decimal(found.group(1)) * _UNITS[found.group(2).lower()]
    return int(value.to_integral_value(rounding=ROUND_HALF_UP))


def _bytes_substring(data: bytes, start: int, length: int) -> bytes:
    if length < 0:
        raise SqlError.of("substring_error", "negative substring length not allowed")
    first = max(start, 1)
    return data[first - 1 : max(start + length, first) - 1]


def _bytes_overlay(data: bytes, new: bytes, start: int, length: int) -> bytes:
    if start <= 0:
        raise SqlError.of("substring_error", "negative substring length not allowed")
    return data[: start - 1] + new + data[max(start + length, 1) - 1 :]


def _bytes_join(items: list[bytes | None], separator: bytes) -> bytes | None:
    known = [item for item in items if item is not None]
    return separator.join(known) if known else None


def _bytes_trim(data: bytes, trimmed: bytes, left: bool, right: bool) -> bytes:
    data = data.lstrip(trimmed) if left and trimmed else data
    return data.rstrip(trimmed) if right and trimmed else data
