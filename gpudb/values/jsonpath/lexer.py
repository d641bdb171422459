"""Lexer of jsonpaths: strings, numbers, variables, names, keywords, operators (jsonpath_scan.l)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from gpudb.errors import SqlError

_OPERATORS = ("**", "&&", "||", "==", "!=", "<>", "<=", ">=", *"<>!?%$.[]{}()@#,*:-+/")
_END = set('?%$.[]{}()|&!=<>@#,*:-+/\\" \t\n\r\f')
_BLANK = re.compile(r"[ \t\n\r\f]+|/\*.*?\*/", re.S)
_NUMBER = re.compile(
    r"0[xX](?P<hex>_?[0-9a-fA-F]+(?:_[0-9a-fA-F]+)*)|0[oO](?P<oct>_?[0-7]+(?:_[0-7]+)*)"
    r"|0[bB](?P<bin>_?[01]+(?:_[01]+)*)"
    r"|(?P<dec>(?:(?:0|[1-9](?:_?[0-9])*)(?:\.(?:[0-9](?:_?[0-9])*)?)?|\.[0-9](?:_?[0-9])*)"
    r"(?:[eE][+-]?[0-9](?:_?[0-9])*)?)"
)
_ESCAPE = re.compile(
    r"\\(?:(?P<one>[bfnrtv])|u\{(?P<braced>[0-9A-Fa-f]{1,6})\}|u(?P<four>[0-9A-Fa-f]{4})|x(?P<two>[0-9A-Fa-f]{2})"
    r"|(?P<bad>[ux])|(?P<other>.))",
    re.S,
)
_CONTROLS = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}

# Keywords; those of JSON itself only in lower case.
KEYWORDS = frozenset(
    "is to abs lax flag last size type with floor double exists starts strict ceiling unknown datetime keyvalue"
    " like_regex".split()
)
LITERALS = {"null": None, "true": True, "false": False}


@dataclass(frozen=True, slots=True)
class Token:
    """One token: `kind` is string, number, integer, variable, name, a keyword, an operator, or end."""

    kind: str
    value: object
    text: str


def syntax_error(token: Token) -> SqlError:
    """Returns PostgreSQL's 42601."""
    if token.kind == "end":
        return SqlError.of("syntax_error", "syntax error at end of jsonpath input")
    return SqlError.of("syntax_error", f'syntax error at or near "{token.text}" of jsonpath input')


def tokenize(text: str) -> Iterator[Token]:
    """Returns the tokens of a path, ended by an end token."""
    at = 0
    while at < len(text):
        if (blank := _BLANK.match(text, at)) is not None:
            at = blank.end()
            continue
        if text.startswith("/*", at):
            raise SqlError.of("syntax_error", "unexpected end of comment of jsonpath input")
        token, at = _read_token(text, at)
        yield token
    yield Token("end", None, "")


def _read_token(text: str, at: int) -> tuple[Token, int]:
    char = text[at]
    if char == '"':
        value, end = _read_string(text, at + 1)
        return Token("string", value, text[at:end]), end
    if char == "$" and at + 1 < len(text):
        if text[at + 1] == '"':
            value, end = _read_string(text, at + 2)
            return Token("variable", value, text[at:end]), end
        if text[at + 1] not in _END:
            value, end = _read_name(text, at + 1)
            return Token("variable", value, text[at:end]), end
    if char.isdigit() or (char == "." and text[at + 1 : at + 2].isdigit()):
        return _read_number(text, at)
    for operator in _OPERATORS:
        if text.startswith(operator, at):
            return Token("!=" if operator == "<>" else operator, None, operator), at + len(operator)
    value, end = _read_name(text, at)
    if end == at:
        raise syntax_error(Token("name", None, text[at]))
    word = text[at:end]
    if word in LITERALS:
        return Token(word, LITERALS[word], word), end
    if word.lower() in KEYWORDS:
        return Token(word.lower(), word, word), end
    return Token("name", value, word), end


def _read_number(text: str, at: int) -> tuple[Token, int]:
    match = _NUMBER.match(text, at)
    assert match is not None
    end = match.end()
    if end < len(text) and (text[end].isalnum() or text[end] == "_"):
        junk = re.compile(r"\w+").match(text, end)
        assert junk is not None
        near = text[at : end + 1]
        raise SqlError.of("syntax_error", f'trailing junk after numeric literal at or near "{near}" of jsonpath input')
    for group, base in (("hex", 16), ("oct", 8), ("bin", 2)):
        if match[group] is not None:
            return Token("integer", Decimal(int(match[group].replace("_", ""), base)), match.group()), end
    digits = match["dec"].replace("_", "")
    kind = "integer" if digits.isdigit() else "number"
    return Token(kind, Decimal(digits), match.group()), end


def _read_string(text: str, at: int) -> tuple[str, int]:
    """Reads a string after its opening quote."""
    chars: list[str] = []
    while at < len(text):
        if text[at] == '"':
            return _join_surrogates("".join(chars)), at + 1
        if text[at] == "\\":
            piece, at = _read_escape(text, at)
            chars.append(piece)
        else:
            chars.append(text[at])
            at += 1
    raise SqlError.of("syntax_error", "unterminated quoted string at end of jsonpath input")


def _read_name(text: str, at: int) -> tuple[str, int]:
    """Reads an unquoted name, which may contain escapes."""
    chars: list[str] = []
    while at < len(text):
        if text[at] == "\\":
            piece, at = _read_escape(text, at)
            chars.append(piece)
        elif text[at] in _END:
            break
        else:
            chars.append(text[at])
            at += 1
    return _join_surrogates("".join(chars)), at


def _read_escape(text: str, at: int) -> tuple[str, int]:
    match = _ESCAPE.match(text, at)
    if match is None:
        raise SqlError.of("syntax_error", "unexpected end after backslash at end of jsonpath input")
    if match["bad"] is not None:
        sequence = "Unicode escape sequence" if match["bad"] == "u" else "hexadecimal character sequence"
        raise SqlError.of("syntax_error", f'invalid {sequence} at or near "{match.group()}" of jsonpath input')
    if match["one"] is not None:
        return _CONTROLS[match["one"]], match.end()
    digits = match["braced"] or match["four"] or match["two"]
    if digits is None:
        return str(match["other"]), match.end()
    code = int(digits, 16)
    if code == 0:
        detail = r"\u0000 cannot be converted to text."
        raise SqlError.of("untranslatable_character", "unsupported Unicode escape sequence", detail=detail)
    if code > 0x10FFFF:
        raise SqlError.of("syntax_error", "Unicode escape value cannot be greater than 10FFFF.")
    return chr(code), match.end()


def _join_surrogates(text: str) -> str:
    """Replaces surrogate pairs by their characters; 22P02 for an unpaired one."""
    if not any("\ud800" <= char <= "\udfff" for char in text):
        return text
    try:
        return text.encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError:
        detail = "Unicode low surrogate must follow a high surrogate."
        raise SqlError.of("invalid_text_representation", "invalid input syntax for type json", detail=detail) from None
