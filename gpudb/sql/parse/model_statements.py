"""CREATE, DROP, ALTER, SHOW, COMMENT ON and GRANT … ON MODEL in Redshift's manner, which PostgreSQL's grammar lacks.

A placeholder statement of the same length replaces each before the text is parsed. Those that say about a model what
PostgreSQL says about functions carry PostgreSQL's statement, with the model's name as the function's.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from gpudb.errors import SyntaxError_
from gpudb.sql.parse.clause_text import hide_quoted
from gpudb.sql.parse.distribute_by import fold_identifier

_START = re.compile(
    r"(?:\A|;)\s*(?P<head>(?P<verb>CREATE|DROP|ALTER|SHOW)(?P<replace>\s+OR\s+REPLACE)?\s+MODEL"
    r"|COMMENT\s+ON\s+MODEL|(?:GRANT|REVOKE)\s[^;]*?\sON\s+MODEL)\s+(?=[^\s;])(?!(?:TO|FROM)\b|,)",
    re.I,
)
_WORD = re.compile(r"[^\W\d][\w$]*|\S")
_NAME = re.compile(r'(?:"(?:[^"]|"")+"|[^\W\d][\w$]*)(?:\s*\.\s*(?:"(?:[^"]|"")+"|[^\W\d][\w$]*))*')
_PART = re.compile(r'"(?:[^"]|"")+"|[^\W\d][\w$]*')
_LITERAL = re.compile(r"'(?:[^']|'')*'")
_VALUE = re.compile(r"'(?:[^']|'')*'|[-+]?[\w.]+(?:[eE][-+]?\d+)?")
_PARENTHESES = re.compile(r"[()]")
_CLAUSES = re.compile(r"\b(?:FUNCTION|TARGET|USING|WITH)\b", re.I)
_STAND_IN = "CHECKPOINT"

Name = tuple[str, ...]
"""A name with its qualifiers, folded."""


@dataclass(frozen=True, slots=True)
class CreateModel:
    """CREATE [OR REPLACE] MODEL. A model of rows has a `query` and a `target`; one of a `file` has the arguments.

    `query` is padded in front so that its positions are those in the statement; None stands for a `table`.
    `signature` is the text of a function's arguments in parentheses, and `returns` that of its type.
    """

    name: Name
    function: Name
    using: str
    replace: bool = False
    if_not_exists: bool = False
    query: str | None = None
    file: str | None = None
    target: str | None = None
    signature: str | None = None
    returns: str | None = None
    options: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class DropModel:
    """DROP MODEL [IF EXISTS] name, … [CASCADE | RESTRICT]."""

    names: tuple[Name, ...]
    missing_ok: bool = False
    cascade: bool = False


@dataclass(frozen=True, slots=True)
class ShowModel:
    """SHOW MODEL name, or ALL (None)."""

    name: Name | None


@dataclass(frozen=True, slots=True)
class RenameModel:
    """ALTER MODEL name RENAME TO another."""

    name: Name
    new: str


@dataclass(frozen=True, slots=True)
class ModelAsFunction:
    """A statement about models in the words of one about functions: ALTER, COMMENT ON, GRANT and REVOKE."""

    text: str


ModelStatement = CreateModel | DropModel | ShowModel | RenameModel | ModelAsFunction
Taken = list[tuple[int, ModelStatement]]
"""Statements with their byte offsets."""


def extract_model_statements(text: str) -> tuple[str, Taken]:
    """Returns the text with placeholders, and the statements that they replace; 42601 for a syntax error."""
    if "model" not in text.lower():
        return text, []
    hidden = hide_quoted(text, comments=" ")
    found: Taken = []
    place = 0
    while (match := _START.search(hidden, place)) is not None:
        start = match.start("head")
        end = hidden.find(";", match.end())
        end = len(hidden) if end < 0 else end
        end = start + len(hidden[start:end].rstrip())
        at = len(text[:start].encode())
        found.append((at, _read(text, hidden, match, end)))
        text = text[:start] + _STAND_IN.ljust(end - start) + text[end:]
        place = end
    return text, found


def _read(text: str, hidden: str, match: re.Match[str], end: int) -> ModelStatement:
    cursor = _Cursor(text, hidden, match.start("head"), match.end(), end)
    verb = (match["verb"] or "").upper()
    if verb == "CREATE":
        return _read_create(cursor, match)
    if match["replace"]:
        raise cursor.error(match.start("replace") + len(match["replace"]) - len(match["replace"].lstrip()))
    if verb == "DROP":
        return _read_drop(cursor)
    if verb == "SHOW":
        name = None if cursor.take("ALL") else cursor.name()
        cursor.finish()
        return ShowModel(name)
    if verb == "ALTER":
        name = cursor.name()
        if cursor.take("RENAME", "TO"):
            new = cursor.name()
            cursor.finish()
            if len(new) > 1:
                raise cursor.error(cursor.place)
            return RenameModel(name, new[0])
    start, word = match.start("head"), hidden.upper().rindex("MODEL", match.start("head"), match.end())
    return ModelAsFunction(text[start:word] + "FUNCTION" + text[word + len("MODEL") : end])


def _read_create(cursor: _Cursor, match: re.Match[str]) -> CreateModel:
    if_not_exists = cursor.take("IF", "NOT", "EXISTS")
    name = cursor.name()
    cursor.require("FROM")
    query, file, target, signature, returns = None, None, None, None, None
    if cursor.take("FILE"):
        file = cursor.literal()
    elif cursor.at("("):
        start, inside = cursor.parentheses()
        query = " " * (start - cursor.begin) + inside
    else:
        start = cursor.place
        cursor.name()
        query = f"TABLE {cursor.text[start : cursor.place]}".rjust(cursor.place - cursor.begin)
    if cursor.take("TARGET"):
        target = cursor.single_name()
    cursor.require("FUNCTION")
    function = cursor.name()
    if cursor.at("("):
        signature = cursor.parentheses()[1]
    if cursor.take("RETURNS"):
        returns = cursor.until(_CLAUSES)
    cursor.require("USING")
    using = cursor.single_name()
    options = cursor.options() if cursor.take("WITH") else ()
    cursor.finish()
    replace = match["replace"] is not None
    return CreateModel(name, function, using, replace, if_not_exists, query, file, target, signature, returns, options)


def _read_drop(cursor: _Cursor) -> DropModel:
    missing_ok = cursor.take("IF", "EXISTS")
    names = [cursor.name()]
    while cursor.take(","):
        names.append(cursor.name())
    cascade = cursor.take("CASCADE")
    if not cascade:
        cursor.take("RESTRICT")
    cursor.finish()
    return DropModel(tuple(names), missing_ok, cascade)


class _Cursor:
    """A place in a statement's text, beside the same text without what is quoted."""

    def __init__(self, text: str, hidden: str, begin: int, place: int, end: int) -> None:
        self.text, self._hidden, self.place, self._end = text, hidden, place, end
        self.begin = begin
        """Where the statement begins: its positions count from there."""
        self._skip()

    def error(self, place: int) -> SyntaxError_:
        """The error for what is at a place."""
        if place >= self._end:
            return SyntaxError_("syntax error at end of input", position=self._end - self.begin + 1)
        word = _NAME.match(self.text, place) or _VALUE.match(self.text, place) or _WORD.match(self.text, place)
        shown = word.group() if word else self.text[place]
        return SyntaxError_(f'syntax error at or near "{shown}"', position=place - self.begin + 1)

    def at(self, word: str) -> bool:
        """Whether a word, in capitals, comes next."""
        found = _WORD.match(self._hidden, self.place, self._end)
        return found is not None and found.group().upper() == word

    def take(self, *words: str) -> bool:
        """Takes words if all of them come next."""
        before = self.place
        for word in words:
            if not self.at(word):
                self.place = before
                return False
            self._move(self.place + len(word))
        return True

    def require(self, word: str) -> None:
        """Takes a word; 42601."""
        if not self.take(word):
            raise self.error(self.place)

    def name(self) -> Name:
        """Takes a name with its qualifiers."""
        return tuple(fold_identifier(part) for part in _PART.findall(self._match(_NAME)))

    def single_name(self) -> str:
        """Takes a name without qualifiers."""
        return fold_identifier(self._match(_PART))

    def literal(self) -> str:
        """Takes a string."""
        return _unquote(self._match(_LITERAL))

    def parentheses(self) -> tuple[int, str]:
        """Takes what is in parentheses; returns where it begins, and its text."""
        depth, start = 0, self.place
        for match in _PARENTHESES.finditer(self._hidden, start, self._end):
            depth += 1 if match.group() == "(" else -1
            if not depth:
                self._move(match.end())
                return start + 1, self.text[start + 1 : match.start()]
        raise self.error(self._end)

    def until(self, ends: re.Pattern[str]) -> str:
        """Takes the text up to one of some words."""
        found = ends.search(self._hidden, self.place, self._end)
        end = self._end if found is None else found.start()
        taken = self.text[self.place : end].strip()
        if not taken:
            raise self.error(self.place)
        self._move(end)
        return taken

    def options(self) -> tuple[tuple[str, str], ...]:
        """Takes options in parentheses: names in lower case, each with its value's text."""
        self.require("(")
        found: list[tuple[str, str]] = []
        while not self.take(")"):
            if found:
                self.require(",")
            name = self.single_name().lower()
            self.take("=")
            found.append((name, _unquote(self._match(_VALUE))))
        return tuple(found)

    def finish(self) -> None:
        """42601 unless the statement ends here."""
        if self.place < self._end:
            raise self.error(self.place)

    def _match(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self.text, self.place, self._end)
        if found is None:
            raise self.error(self.place)
        self._move(found.end())
        return found.group()

    def _move(self, place: int) -> None:
        self.place = place
        self._skip()

    def _skip(self) -> None:
        while self.place < self._end and self._hidden[self.place].isspace():
            self.place += 1


def _unquote(text: str) -> str:
    return text[1:-1].replace("''", "'") if text[0] == "'" else text
