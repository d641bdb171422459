"""Flags of regexp functions, and the patterns whose syntax they change."""

from __future__ import annotations

import re
from dataclasses import dataclass

from gpudb.errors import SqlError


@dataclass(slots=True)
class Options:
    """The options of a flags argument; `every` is g, the others are in the manual's table 9.25."""

    every: bool = False
    ignore: bool = False
    stops: bool = False
    lines: bool = False
    expanded: bool = False
    form: str = "advanced"

    def read(self, letters: str) -> Options:
        """Adds letters, of which later ones override earlier ones; 22023 for an unknown one."""
        for letter in letters:
            match letter:
                case "g":
                    self.every = True
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


def options(flags: str) -> Options:
    """Parses a flags argument; 22023 for an unknown letter."""
    return Options().read(flags)


_PARTS = re.compile(r"\\.|\[\^?\]?(?:\[[:.=].*?[:.=]\]|\\.|[^\]])*\]|.", re.S)


def tight(pattern: str) -> str:
    """Removes white space and comments from an expanded pattern (option x)."""
    made = []
    comment = False
    for part in _PARTS.findall(pattern):
        if comment or part == "#":
            comment = part != "\n"
        elif not part.isspace():
            made.append(part)
    return re.sub(r"\(\?#[^)]*\)", "", "".join(made))


def from_basic(pattern: str) -> str:
    r"""Converts a basic regular expression (option b), whose groups and bounds have backslashes, to an advanced one."""
    made: list[str] = []
    for part in _PARTS.findall(pattern):
        first = not made or made[-1] == "(" or made == ["^"]
        if part[:1] == "\\" and part[1:] in {"(", ")", "{", "}"}:
            made.append(part[1])
        elif part == r"\<" or part == r"\>":
            made.append(r"\m" if part == r"\<" else r"\M")
        elif part in set("(){}+?|") or (part == "*" and first) or (part == "^" and not first):
            made.append("\\" + part)
        else:
            made.append(part)
    if made[:-1] and "$" in made[:-1]:
        made = [rf"\{part}" if part == "$" and number < len(made) - 1 else part for number, part in enumerate(made)]
    return "".join(made)
