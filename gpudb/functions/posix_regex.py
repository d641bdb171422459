"""PostgreSQL's advanced regular expressions (its manual, 9.7.3), translated for RE2 and for Python's `regex` package.

PostgreSQL selects the longest of the leftmost matches. RE2 in DuckDB selects the first matching alternative, so it
decides whether there is a match; it locates the match only if both rules agree (`same_extent`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from gpudb.errors import SqlError
from gpudb.functions.regex_options import Options, convert_basic, parse_options, strip_expanded

_CLASSES = {
    "alpha": r"\p{L}", "alnum": r"\p{L}\p{N}", "digit": "0-9", "upper": r"\p{Lu}", "lower": r"\p{Ll}",
    "space": r"\s\x0b", "blank": r" \t", "xdigit": "0-9A-Fa-f", "cntrl": r"\x00-\x1f\x7f",
    "punct": r"!-/:-@\[-`{-~", "print": r"\x20-\x7e\x{a0}-\x{10ffff}", "graph": r"\x21-\x7e\x{a1}-\x{10ffff}",
    "word": r"\p{L}\p{N}_",
}  # fmt: skip
_SHORTHANDS = {"d": "0-9", "s": r"\s\x0b", "w": r"\p{L}\p{N}_"}
_CHARACTERS = {"a": 7, "b": 8, "B": 92, "e": 27, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11}
_BOUND = re.compile(r"\{(\d+)(,?)(\d*)\}")
MAX_REPEATS = 255


@dataclass(frozen=True, slots=True)
class Pattern:
    """A translated pattern. `text` is for RE2 unless `python_only`.

    `.` matches newlines unless `stops`; with `lines`, `^` and `$` match at newlines too. `mixed` holds the tokens of a
    pattern with both greedy and non-greedy quantifiers.
    """

    text: str
    ignore_case: bool
    stops: bool
    lines: bool
    python_only: bool
    alternation: bool
    optional_groups: bool
    lazy: bool
    groups: int
    mixed: tuple[str, ...] = ()

    @property
    def same_extent(self) -> bool:
        """Whether RE2's first match is also the longest one."""
        return not (self.python_only or self.alternation or self.optional_groups or self.lazy)

    @property
    def re2_options(self) -> str:
        """The options of DuckDB's regexp functions."""
        return ("i" if self.ignore_case else "c") + ("" if self.stops else "s")

    @property
    def re2(self) -> str:
        """The pattern for RE2."""
        return "(?m)" + self.text if self.lines else self.text


_EMBEDDED = re.compile(r"\(\?([a-z]+)\)")


@lru_cache(maxsize=1024)
def translate(pattern: str, flags: str = "") -> Pattern:
    """Translates a pattern under the flags of a regexp function. 2201B if it is invalid, 0A000 if it is not
    supported.
    """
    asked = parse_options(flags)
    if pattern.startswith("***=") and asked.form == "advanced":
        asked.form, pattern = "literal", pattern[4:]
    elif pattern.startswith("***:"):
        asked.form, pattern = "advanced", pattern[4:]
    if asked.form == "advanced" and (match := _EMBEDDED.match(pattern)) is not None:
        asked.add_letters(match.group(1))
        pattern = pattern[match.end() :]
    if asked.form == "literal":
        return Pattern(re.escape(pattern), asked.ignore, asked.stops, asked.lines, False, False, False, False, 0)
    if asked.form == "basic":
        pattern = convert_basic(pattern)
    return _Translator(strip_expanded(pattern) if asked.expanded else pattern, asked).run()


_LOOK_AHEAD = 64
"""Characters that end a member of brackets: names of classes and collating elements are shorter."""


class _Translator:
    def __init__(self, pattern: str, asked: Options) -> None:
        self.pattern = pattern
        self.at = 0
        self.out: list[str] = []
        self.options = asked
        self.python_only = self.alternation = self.optional_groups = False
        self.greedy = self.lazy = False
        self.depth: list[bool] = []
        self.groups = 0

    def run(self) -> Pattern:
        quantifiable = False
        while self.at < len(self.pattern):
            quantifiable = self._piece(quantifiable)
        if self.depth:
            raise pattern_error("parentheses () not balanced")
        # several branches are greedy, whatever they contain
        mixed = tuple(self.out) if self.lazy and (self.greedy or self.alternation) else ()
        return Pattern(
            "".join(self.out), self.options.ignore, self.options.stops, self.options.lines, self.python_only,
            self.alternation, self.optional_groups, self.lazy, self.groups, mixed,
        )  # fmt: skip

    def _piece(self, quantifiable: bool) -> bool:
        """Reads one atom, quantifier or bar; returns whether a quantifier may follow."""
        char = self.pattern[self.at]
        if char in "*+?" or (char == "{" and self.pattern[self.at + 1 : self.at + 2].isdigit()):
            if not quantifiable:
                raise pattern_error("quantifier operand invalid")
            self._quantifier()
            return False
        self.at += 1
        match char:
            case "\\":
                return self._escape()
            case "[":
                self._bracket()
                return True
            case "(":
                return self._open()
            case ")" if self.depth:
                self.depth.pop()
                self.out.append(")")
                return True
            case ")":
                raise pattern_error("parentheses () not balanced")
            case "|":
                self.alternation = True
                self.out.append("|")
                return False
            case "^":
                self.out.append("^")
                return False
            case "$":
                self.out.append("$" if self.options.lines else r"\z")
                return False
            case ".":
                self.out.append(".")
                return True
        self.out.append(_escape_literal(char))
        return True

    def _open(self) -> bool:
        rest = self.pattern[self.at : self.at + 3]  # the longest of the forms
        for form in ("?:", "?=", "?!", "?<=", "?<!"):
            if rest.startswith(form):
                self.python_only |= form != "?:"
                self.at += len(form)
                self.out.append("(" + form)
                self.depth.append(True)
                return False
        if rest.startswith("?"):
            raise pattern_error("quantifier operand invalid")
        self.groups += 1
        self.depth.append(True)
        self.out.append("(")
        return False

    def _quantifier(self) -> None:
        group = bool(self.out) and self.out[-1] == ")"
        char = self.pattern[self.at]
        if char == "{":
            match = _BOUND.match(self.pattern, self.at)
            if match is None:
                raise pattern_error("invalid repetition count(s)")
            low, comma, high = match.groups()
            if int(low) > MAX_REPEATS or (high and not int(low) <= int(high) <= MAX_REPEATS):
                raise pattern_error("invalid repetition count(s)")
            self.at = match.end()
            quantifier = match.group()
            is_complete = not comma  # {2,2} has a preference, {2} does not
            optional = int(low) == 0
        else:
            self.at += 1
            quantifier, is_complete, optional = char, False, char != "+"
        if self.pattern[self.at : self.at + 1] == "?":
            self.at += 1
            quantifier += "?"
            self.lazy |= not is_complete
        else:
            self.greedy |= not is_complete
        if self.pattern[self.at : self.at + 1] in {"*", "+", "?"}:
            raise pattern_error("quantifier operand invalid")
        self.optional_groups |= group and (optional or not is_complete)
        self.out.append(quantifier)

    def _escape(self) -> bool:
        if self.at >= len(self.pattern):
            raise pattern_error(r"invalid escape \ sequence")
        char = self.pattern[self.at]
        if char.lower() in _SHORTHANDS:
            self.at += 1
            self.out.append(f"[{'^' if char.isupper() else ''}{_SHORTHANDS[char.lower()]}]")
            return True
        if char in "AZyYmM":
            self.at += 1
            self.python_only |= char not in "AZ"
            self.out.append({"A": r"\A", "Z": r"\z", "y": r"\b", "Y": r"\B", "m": r"\b(?=\w)", "M": r"\b(?<=\w)"}[char])
            return False
        if char.isdigit() and char != "0":
            match = re.compile(r"\d+").match(self.pattern, self.at)
            assert match is not None
            number = match.group() if int(match.group()) <= self.groups else char
            if int(number) > self.groups:
                raise pattern_error("invalid backreference number")
            self.at += len(number)
            self.python_only = True
            self.out.append(f"(?:\\{number})")
            return True
        self.out.append(_escape_literal(self._character()))
        return True

    def _character(self) -> str:
        """Returns the character that an escape denotes; the backslash has been read."""
        char = self.pattern[self.at]
        self.at += 1
        if char in _CHARACTERS:
            return chr(_CHARACTERS[char])
        if char == "c" and self.at < len(self.pattern):
            self.at += 1
            return chr(ord(self.pattern[self.at - 1]) & 31)
        for letter, form in (
            ("u", "[0-9a-fA-F]{4}"),
            ("U", "[0-9a-fA-F]{8}"),
            ("x", "[0-9a-fA-F]+"),
            ("0", "[0-7]{0,2}"),
        ):
            if char == letter:
                match = re.compile(form).match(self.pattern, self.at)
                if match is None:
                    raise pattern_error(r"invalid escape \ sequence")
                self.at = match.end()
                return chr(int(match.group() or "0", 8 if letter == "0" else 16))
        if char.isalnum():
            raise pattern_error(r"invalid escape \ sequence")
        return char

    def _bracket(self) -> None:
        if self.pattern.startswith("[:<:]]", self.at) or self.pattern.startswith("[:>:]]", self.at):
            self.python_only = True
            self.out.append(r"\b(?=\w)" if self.pattern[self.at + 2] == "<" else r"\b(?<=\w)")
            self.at += 6
            return
        parts = ["["]
        if self.pattern.startswith("^", self.at):
            self.at += 1
            parts.append("^\\n" if self.options.stops else "^")
        first = True
        while True:
            if self.at >= len(self.pattern):
                raise pattern_error("brackets [] not balanced")
            char = self.pattern[self.at]
            if char == "]" and not first:
                self.at += 1
                break
            parts.append(self._member())
            first = False
        self.out.append("".join(parts) + "]")

    def _member(self) -> str:
        rest = self.pattern[self.at : self.at + _LOOK_AHEAD]
        if rest.startswith("[:"):
            name, closed, _ = rest[2:].partition(":]")
            if not closed or name not in _CLASSES:
                raise pattern_error("invalid character class")
            self.at += len(name) + 4
            return _CLASSES[name]
        if rest[0] == "\\" and len(rest) > 1 and rest[1] in _SHORTHANDS:
            self.at += 2
            return _SHORTHANDS[rest[1]]
        low = self._end()
        rest = self.pattern[self.at : self.at + _LOOK_AHEAD]
        if rest.startswith("-") and len(rest) > 1 and rest[1] != "]":
            self.at += 1
            high = self._end()
            if ord(high) < ord(low):
                raise pattern_error("invalid character range")
            return f"{_escape_in_set(low)}-{_escape_in_set(high)}"
        return _escape_in_set(low)

    def _end(self) -> str:
        """Reads one end of a range: a character, an escape, or a collating element."""
        rest = self.pattern[self.at : self.at + _LOOK_AHEAD]
        for mark in ".=":
            if rest.startswith("[" + mark):
                name, closed, _ = rest[2:].partition(mark + "]")
                if not closed or len(name) != 1:
                    raise pattern_error("invalid collating element")
                self.at += len(name) + 4
                return name
        self.at += 1
        if rest[0] == "\\":
            if len(rest) == 1:
                raise pattern_error(r"invalid escape \ sequence")
            return self._character()
        return rest[0]


def _escape_literal(char: str) -> str:
    return re.escape(char) if char.isascii() and not char.isalnum() else char


def _escape_in_set(char: str) -> str:
    return "\\" + char if char in "\\[]^-&|~" else char


def pattern_error(what: str) -> SqlError:
    """Returns 2201B."""
    return SqlError.of("invalid_regular_expression", f"invalid regular expression: {what}")


def translate_similar(pattern: str, escape: str = "\\") -> str:
    """Translates SIMILAR TO's pattern to a regular expression (similar_escape_internal)."""
    first, *others = translate_similar_parts(pattern, escape)
    # the part between escaped quotes is SUBSTRING's result, and irrelevant to a test
    return f"^(?:{first}{''.join(f'(?:{part})' for part in others)})$" if others else f"^(?:{first})$"


def translate_similar_parts(pattern: str, escape: str) -> list[str]:
    """Translates SIMILAR TO's pattern: one regular expression, or those before, between and after escaped double
    quotes.
    """
    if len(escape) > 1:
        hint = "Escape string must be empty or one character."
        raise SqlError.of("invalid_escape_sequence", "invalid escape string", hint=hint)
    parts: list[list[str]] = [[]]
    part = parts[0]
    inside = escaped = False
    for char in pattern:
        if escaped:
            if char == '"' and not inside:
                if len(parts) == 3:
                    message = "SQL regular expression may not contain more than two escape-double-quote separators"
                    raise SqlError.of("invalid_use_of_escape_character", message)
                part = []
                parts.append(part)
            else:
                part.append("\\" + char)
            escaped = False
        elif escape and char == escape:
            escaped = True
        elif inside:
            part.append("\\\\" if char == "\\" else char)
            inside = char != "]"
        elif char == "[":
            part.append(char)
            inside = True
        else:
            part.append({"%": ".*", "_": ".", "(": "(?:"}.get(char, "\\" + char if char in "\\.^$" else char))
    return ["".join(chars) for chars in parts]
