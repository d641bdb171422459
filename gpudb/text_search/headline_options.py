"""The options of ts_headline."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from gpudb.errors import SqlError


@dataclass(frozen=True, slots=True)
class Options:
    """How a headline is made: the names are PostgreSQL's."""

    start_sel: str = "<b>"
    stop_sel: str = "</b>"
    max_words: int = 35
    min_words: int = 15
    short_word: int = 3
    highlight_all: bool = False
    max_fragments: int = 0
    fragment_delimiter: str = " ... "


_OPTION = re.compile(r"""\s*+"?(\w++)"?\s*+=\s*+(?:"((?:[^"]|"")*)"|'((?:[^']|'')*)'|([^,\s]*+))\s*+(?:,|$)""")
_NUMBERS = {
    "maxwords": "max_words",
    "minwords": "min_words",
    "shortword": "short_word",
    "maxfragments": "max_fragments",
}
_TEXTS = {"startsel": "start_sel", "stopsel": "stop_sel", "fragmentdelimiter": "fragment_delimiter"}


def read_options(text: str) -> Options:
    """Returns the options that a text like `MaxWords=10, StartSel=<i>` sets; 22023 and 42601 for others."""
    changes: dict[str, Any] = {}
    at = 0
    while at < len(text.rstrip()):
        found = _OPTION.match(text, at)
        if found is None:
            raise SqlError.of("syntax_error", f'invalid parameter list format: "{text}"')
        name, value = found[1].lower(), next(each for each in (*found.groups()[1:], "") if each is not None)
        value = value.replace('""', '"') if found[2] is not None else value.replace("''", "'")
        if name in _NUMBERS:
            changes[_NUMBERS[name]] = _read_number(value)
        elif name in _TEXTS:
            changes[_TEXTS[name]] = value
        elif name == "highlightall":
            changes["highlight_all"] = value.lower() in ("1", "on", "true", "t", "y", "yes")
        else:
            raise SqlError.of("invalid_parameter_value", f'unrecognized headline parameter: "{found[1]}"')
        at = found.end()
    made = Options(**changes)
    if not made.highlight_all:
        _check(made)
    return made


def _read_number(value: str) -> int:
    if re.fullmatch(r"\s*[+-]?\d+\s*", value, re.A) is None:
        message = f'invalid input syntax for type integer: "{value}"'
        raise SqlError.of("invalid_text_representation", message)
    if len(value.strip()) > 20 or not -(2**31) <= int(value) < 2**31:
        message = f'value "{value}" is out of range for type integer'
        raise SqlError.of("numeric_value_out_of_range", message)
    return int(value)


def _check(options: Options) -> None:
    wrong = (
        (options.min_words >= options.max_words, "MinWords should be less than MaxWords"),
        (options.min_words <= 0, "MinWords should be positive"),
        (options.short_word < 0, "ShortWord should be >= 0"),
        (options.max_fragments < 0, "MaxFragments should be >= 0"),
    )
    for is_wrong, message in wrong:
        if is_wrong:
            raise SqlError.of("invalid_parameter_value", message)
