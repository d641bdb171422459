"""ASOF JOIN, which PostgreSQL's grammar lacks: as Snowflake writes it, and as DuckDB does.

`a ASOF JOIN b MATCH_CONDITION (a.t >= b.t) ON a.k = b.k` is Snowflake's, `a ASOF JOIN b ON a.k = b.k AND a.t >= b.t` is
DuckDB's. The words are removed from the text and the conditions kept. Only texts that PostgreSQL's grammar rejects are
searched, so that `asof` stays an ordinary name: in `FROM a ASOF JOIN b ON …` it is the alias of a. In the tree the join
is an ordinary one, on a call of a function whose name no function has. A stored view is deparsed and parsed in that
form.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from gpudb.errors import FeatureNotSupported
from gpudb.sql.parse.clause_text import hide_quoted

FUNCTION = "gpudb asof"
"""The function on whose call the tree joins: the MATCH_CONDITION or NULL, the ON or true, the names of USING."""

_SIDES = r"left|right|full|inner|cross|natural"
_WORD = re.compile(
    r"[();]"
    rf"|\b(?:(?P<before>{_SIDES})\s+(?:outer\s+)?)?asof\s+(?:(?P<after>{_SIDES})\s+(?:outer\s+)?)?join\b"
    rf"|\b(?:(?P<bare>cross|natural(?:\s+(?:{_SIDES})(?:\s+outer)?)?)\s+)?(?P<join>join)\b"
    r"|\b(?P<match>match_condition)\s*\(|\b(?P<on>on)\b|\b(?P<using>using)\b",
    re.I,
)
_NAMES = re.compile(r"\s*\busing\s*\((?P<names>[^()]*)\)", re.I)
_ON = re.compile(r"\s*\bon\b", re.I)
_PLACEHOLDER = "ON true"


@dataclass(frozen=True, slots=True)
class AsofClause:
    """An ASOF join: the condition of MATCH_CONDITION, if any, with its byte offset, the names of USING as written, and
    the byte offset behind which the condition of the join in the blanked text begins.
    """

    match: str | None
    match_offset: int
    using: str | None
    offset: int


@dataclass(slots=True)
class _Join:
    """A join whose condition has not been reached."""

    words: re.Match[str]
    match: tuple[int, int] | None = None


@dataclass(slots=True)
class _Reader:
    text: str
    clauses: list[AsofClause] = field(default_factory=list)
    edits: list[tuple[int, int, str]] = field(default_factory=list)

    def finish(self, join: _Join, place: int, using: str | None = None) -> None:
        """Ends a join at its condition, which begins behind `place`."""
        written = join.words["before"] or join.words["after"]
        side = written.upper() if written else "" if join.match is None else "LEFT"
        if side not in {"", "LEFT", "INNER"}:
            raise FeatureNotSupported(f"{side} ASOF JOIN is not supported")
        self.edits.append((*join.words.span(), "LEFT JOIN" if side == "LEFT" else "JOIN"))
        start, end = join.match or (place, place)
        match = None if join.match is None else self.text[start:end]
        self.clauses.append(AsofClause(match, self._byte(start), using, self._byte(place)))

    def blanked(self) -> str:
        """Returns the text with its edits, of the same length in bytes."""
        plain, done = "", 0
        for start, end, words in sorted(self.edits):
            plain += self.text[done:start] + words.ljust(len(self.text[start:end].encode()))
            done = end
        return plain + self.text[done:]

    def _byte(self, place: int) -> int:
        return len(self.text[:place].encode())


def extract_asof_joins(text: str) -> tuple[str, list[AsofClause]]:
    """Returns the text with its ASOF joins as ordinary ones, of the same length in bytes, and those joins.

    0A000 for one that is neither LEFT nor INNER.
    """
    hidden = hide_quoted(text, comments=" ")
    reader = _Reader(text)
    levels: list[list[_Join | None]] = [[]]
    place = 0
    while (word := _WORD.search(hidden, place)) is not None:
        place = word.end()
        joins = levels[-1]
        if word.group() == "(":
            levels.append([])
        elif word.group() == ")":
            levels = levels[:-1] or [[]]
        elif word.group() == ";":
            levels = [[]]
        elif word["join"]:
            joins += [] if word["bare"] else [None]
        elif word["match"]:
            place = _read_match(reader, hidden, joins, place)
        elif word["on"] or word["using"]:
            join = joins.pop() if joins else None
            names = _NAMES.match(hidden, word.start()) if word["using"] else None
            if join is not None and word["on"]:
                reader.finish(join, place)
            elif join is not None and names is not None:
                reader.edits.append((*names.span(), _PLACEHOLDER))
                reader.finish(join, word.start(), text[slice(*names.span("names"))])
        else:
            joins.append(_Join(word))
    return reader.blanked(), reader.clauses


def _read_match(reader: _Reader, hidden: str, joins: list[_Join | None], start: int) -> int:
    """Reads the MATCH_CONDITION of the last join, from behind its parenthesis; returns where to read on."""
    end = _closing(hidden, start)
    join = joins[-1] if joins else None
    if join is None or join.match is not None or end is None:
        return start
    join.match = start, end
    word = hidden.lower().rindex("match_condition", 0, start)
    names = _NAMES.match(hidden, end + 1)
    if names is None and _ON.match(hidden, end + 1):
        reader.edits.append((word, end + 1, ""))
        return end + 1
    reader.edits.append((word, end + 1, _PLACEHOLDER))
    joins.pop()
    reader.finish(join, word, None if names is None else reader.text[slice(*names.span("names"))])
    if names is not None:
        reader.edits.append((*names.span(), ""))
        return names.end()
    return end + 1


def _closing(hidden: str, start: int) -> int | None:
    """Returns the place of the parenthesis that closes the one before `start`."""
    depth = 1
    for place in range(start, len(hidden)):
        depth += {"(": 1, ")": -1}.get(hidden[place], 0)
        if not depth:
            return place
    return None


def attach_asof_join(
    tree: Any, clause: AsofClause, start: int, parse_expression: Callable[[str, int, str], Any], names: tuple[str, ...]
) -> None:
    """Replaces the condition of a clause's join in the tree of its statement, which starts at byte `start`."""
    joins = ((each, _first_location(each.quals, clause.offset - start)) for each in _list_joins(tree))
    join = min(((each, place) for each, place in joins if place is not None), key=lambda pair: pair[1])[0]
    call = type(join.quals)()
    call.func_call.funcname.add().string.sval = FUNCTION
    match, on = call.func_call.args.add(), call.func_call.args.add()
    if clause.match is None:
        match.a_const.isnull = True
    else:
        match.CopyFrom(parse_expression(clause.match, clause.match_offset - start, "MATCH_CONDITION"))
    on.CopyFrom(join.quals)
    for name in names:
        call.func_call.args.add().a_const.sval.sval = name
    call.func_call.location = clause.match_offset - start
    join.quals.CopyFrom(call)


def _list_joins(message: Any) -> list[Any]:
    found = [message] if message.DESCRIPTOR.name == "JoinExpr" and message.HasField("quals") else []
    for each in _children(message):
        found += _list_joins(each)
    return found


def _first_location(message: Any, least: int) -> int | None:
    """Returns the first byte offset in an expression; None if one is before `least`."""
    place = min((each for each in _locations(message) if each >= 0), default=-1)
    return place if place >= least else None


def _locations(message: Any) -> list[int]:
    found = [message.location] if "location" in message.DESCRIPTOR.fields_by_name else []
    for each in _children(message):
        found += _locations(each)
    return found


def _children(message: Any) -> list[Any]:
    fields = ((each, value) for each, value in message.ListFields() if each.message_type is not None)
    return [one for each, value in fields for one in (value if each.is_repeated else (value,))]
