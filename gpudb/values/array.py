"""Array literals `{1,"b c",NULL,{…}}`: parsed into nested lists, and written.

Source: PostgreSQL 16's array_in and array_out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from gpudb.errors import FeatureNotSupported, InvalidText, SqlError
from gpudb.values.numbers import SPACE

MAX_DIMENSIONS = 6

_TOKENS = {
    mark: re.compile(
        r'\s*(?:([{}MARK])|"((?:[^"\\]|\\.)*)"|((?:[^{}MARK"\\]|\\.)+))'.replace("MARK", mark), re.DOTALL | re.ASCII
    )
    for mark in (",", ";")
}
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_BOUNDS = re.compile(r"\s*((?:\[[+-]?\d+(?::[+-]?\d+)?\]\s*)+)=", re.ASCII)
_BOUND = re.compile(r"\[(?:([+-]?\d+):)?([+-]?\d+)\]", re.ASCII)
_NEEDS_QUOTES = re.compile(r'[\s{},"\\]|^$|^null$', re.IGNORECASE | re.ASCII)


def parse_array(text: str, parse_element: Callable[[str], object], delimiter: str = ",") -> list[object]:
    """Parses an array into a list, nested for several dimensions; `parse_element` parses one value. 22P02; 2202E, 0A000
    for bounds.
    """
    bounds = _BOUNDS.match(text)
    body = text
    sizes = None
    if bounds is not None:
        sizes = [_parse_dimension(low, high) for low, high in _BOUND.findall(bounds.group(1))]
        body = text[bounds.end() :]
    if not body.lstrip(SPACE).startswith("{"):
        detail = 'Array value must start with "{" or dimension information.'
        raise InvalidText(f'malformed array literal: "{text}"', detail=detail)
    tokens = _tokenize(body, text, _TOKENS[delimiter])
    next(tokens)
    value = _parse_items(tokens, text, parse_element, 1)
    if (extra := next(tokens, None)) is not None and not (extra[0] == "word" and not extra[1].strip(SPACE)):
        raise _malformed_error(text, "Junk after closing right brace.")
    _check_shape(value, text)
    if sizes is not None and sizes != _measure_dimensions(value):
        raise _malformed_error(text, "Specified array dimensions do not match array contents.")
    return value


def _parse_dimension(low: str, high: str) -> int:
    """Returns the number of elements that a bound declares: `[low:high]`, or `[high]` from 1 on."""
    first = int(low or 1)
    if int(high) < first:
        raise SqlError.of("array_subscript_error", "upper bound cannot be less than lower bound")
    if first != 1:
        raise FeatureNotSupported("arrays whose lower bound is not 1 are not supported")
    return int(high)


def _measure_dimensions(value: object) -> list[int]:
    """Returns the sizes of a list's dimensions; an empty list has none."""
    return [len(value), *_measure_dimensions(value[0])] if isinstance(value, list) and value else []


def _tokenize(body: str, text: str, token: re.Pattern[str]) -> Iterator[tuple[str, str]]:
    at = 0
    while body[at:].strip(SPACE):
        match = token.match(body, at)
        if match is None:
            raise _malformed_error(text, "Unexpected end of input.")
        mark, quoted, word = match.groups()
        at = match.end()
        if mark is not None:
            yield "mark", mark
        elif quoted is not None:
            yield "quoted", _ESCAPE.sub(r"\1", quoted)
        elif word.strip(SPACE):
            yield "word", word
    return


def _parse_items(
    tokens: Iterator[tuple[str, str]], text: str, parse_element: Callable[[str], object], level: int
) -> list[object]:
    """Parses the elements up to the closing brace; the opening one has been read."""
    if level > MAX_DIMENSIONS:
        message = f"number of array dimensions ({level}) exceeds the maximum allowed ({MAX_DIMENSIONS})"
        raise SqlError.of("program_limit_exceeded", message)
    parsed: list[object] = []
    expected = True  # an element, or the end of an empty array
    for kind, word in tokens:
        if kind == "mark" and word == "}":
            if (expected and parsed) or (level > 1 and not parsed):
                raise _malformed_error(text, 'Unexpected "}" character.')
            return parsed
        if kind == "mark" and word != "{":
            if expected:
                raise _malformed_error(text, f'Unexpected "{word}" character.')
            expected = True
            continue
        if not expected:
            detail = 'Unexpected "{" character.' if kind == "mark" else "Unexpected array element."
            raise _malformed_error(text, detail)
        expected = False
        if kind == "mark":
            parsed.append(_parse_items(tokens, text, parse_element, level + 1))
        elif kind == "quoted":
            parsed.append(parse_element(word))
        else:
            plain = _unescape(word)
            parsed.append(None if plain.lower() == "null" and "\\" not in word else parse_element(plain))
    raise _malformed_error(text, "Unexpected end of input.")


def _unescape(word: str) -> str:
    word = word.lstrip(SPACE)
    bare = word.rstrip(SPACE)
    if bare != word and (len(bare) - len(bare.rstrip("\\"))) % 2:
        bare = word[: len(bare) + 1]  # the space after a backslash belongs to the element
    return _ESCAPE.sub(r"\1", bare)


def count_dimensions(value: object) -> int:
    """Returns the number of dimensions of nested lists."""
    count = 0
    while isinstance(value, list):
        count += 1
        value = value[0] if value else None
    return count


def _check_shape(value: list[object], text: str) -> None:
    """Checks that all sub-arrays of one dimension have the same length."""
    level: list[object] = [value]
    while level and all(isinstance(item, list) for item in level):
        lists = [item for item in level if isinstance(item, list)]
        if len({len(item) for item in lists}) > 1:
            break
        level = [inner for item in lists for inner in item]
        if not any(isinstance(inner, list) for inner in level):
            return
    if not level:
        return
    raise _malformed_error(text, "Multidimensional arrays must have sub-arrays with matching dimensions.")


def format_array(value: list[object], format_element: Callable[[object], str], delimiter: str = ",") -> str:
    """Returns an array's text; `format_element` writes one value, which needs no quotes beside another delimiter."""
    items = []
    for item in value:
        if item is None:
            items.append("NULL")
        elif isinstance(item, list):
            items.append(format_array(item, format_element, delimiter))
        else:
            text = format_element(item)
            items.append(quote_element(text) if delimiter == "," and _NEEDS_QUOTES.search(text) else text)
    return "{" + delimiter.join(items) + "}"


def quote_element(text: str) -> str:
    """Returns an element in quotes."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _malformed_error(text: str, detail: str) -> SqlError:
    return InvalidText(f'malformed array literal: "{text}"', detail=detail)
