"""Flags of regexp functions, and the patterns whose syntax they change."""

from __future__ import annotations

import re
from dataclasses import dataclass

from gpudb.errors import SqlError

NOT_GIVEN = -(1 << 31) - 1
"""Default for the number of a match, if a call does not name one."""


@dataclass(slots=True)
class Options:
    """The options of a flags argument; `replace_all` is g, the others are in the manual's table 9.25."""

    replace_all: bool = False
    ignore: bool = False
    stops: bool = False
    lines: bool = False
    expanded: bool = False
    form: str = "advanced"

    def add_letters(self, letters: str) -> Options:
        """Adds letters, of which later ones override earlier ones; 22023 for an unknown one."""
        for letter in letters:
            match letter:
                case "g":
                    self.replace_all = True
                case "i" | "c":
                    self.ignore = letter == "i"
                case "n" | "m":
                    self.stops = self.lines = True
                case "s":
                    self.stops = self.lines = False
                case "p":
                    self.stops, self.lines = True, False
                case "w":
                    self.stops, self.lines = False, True
                case "x" | "t":
                    self.expanded = letter == "x"
                case "q" | "b" | "e":
                    self.form = {"q": "literal", "b": "basic", "e": "extended"}[letter]
                case _:
                    raise SqlError.of("invalid_parameter_value", f'invalid regular expression option: "{letter}"')
        return self


def parse_options(flags: str) -> Options:
    """Parses a flags argument; 22023 for an unknown letter."""
    return Options().add_letters(flags)


_PARTS = re.compile(r"\\.|\[\^?\]?(?:\[[:.=].*?[:.=]\]|\\.|[^\]])*\]|.", re.S)


def strip_expanded(pattern: str) -> str:
    """Removes white space and comments from an expanded pattern (option x)."""
    parts = []
    comment = False
    for part in _PARTS.findall(pattern):
        if comment or part == "#":
            comment = part != "\n"
        elif not part.isspace():
            parts.append(part)
    return re.sub(r"\(\?#[^)]*\)", "", "".join(parts))


def convert_basic(pattern: str) -> str:
    r"""Converts a basic regular expression (option b), whose groups and bounds have backslashes, to an advanced one."""
    parts: list[str] = []
    for part in _PARTS.findall(pattern):
        first = not parts or parts[-1] == "(" or parts == ["^"]
        if part[:1] == "\\" and part[1:] in {"(", ")", "{", "}"}:
            parts.append(part[1])
        elif part == r"\<" or part == r"\>":
            parts.append(r"\m" if part == r"\<" else r"\M")
        elif part in set("(){}+?|") or (part == "*" and first) or (part == "^" and not first):
            parts.append("\\" + part)
        else:
            parts.append(part)
    if parts[:-1] and "$" in parts[:-1]:
        parts = [rf"\{part}" if part == "$" and number < len(parts) - 1 else part for number, part in enumerate(parts)]
    return "".join(parts)
