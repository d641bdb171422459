"""The place of the cursor in a statement: what is expected there, what is typed, which relations are seen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto

import postgast
from postgast import pg_query_pb2 as pg


class Expected(Enum):
    """What may stand at the cursor. KEYWORD is a keyword alone; the others admit keywords too, COMMAND excepted."""

    KEYWORD = auto()
    RELATION = auto()
    COLUMN = auto()
    JOIN_CONDITION = auto()
    COMMON_COLUMN = auto()
    TARGET_COLUMN = auto()
    TYPE = auto()
    SETTING = auto()
    SCHEMA = auto()
    ROLE = auto()
    COMMAND = auto()
    NOTHING = auto()


@dataclass(frozen=True, slots=True)
class Reference:
    """A relation in FROM, by the name that columns are qualified with.

    `columns` are those of a subquery or a common table expression; None for relations of the catalog.
    """

    schema: str
    name: str
    alias: str
    columns: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """The cursor's place: `qualifier` are the names before the point, `prefix` is the name's beginning."""

    expected: Expected
    prefix: str = ""
    qualifier: tuple[str, ...] = ()
    references: tuple[Reference, ...] = ()
    """The relations that are seen here, the nearest first."""
    expressions: tuple[str, ...] = ()
    """The names of the statement's common table expressions."""


@dataclass(slots=True)
class _Block:
    """The tokens between parentheses, or the whole statement."""

    start: int
    parent: _Block | None
    end: int = 1 << 60
    references: list[Reference] = field(default_factory=list)
    items: list[str] = field(default_factory=list)
    """The names of the columns that its SELECT gives."""
    expression: str = ""
    """The name of the common table expression that it is, if it is one."""


_Token = tuple[str, int, int, bool]
"""Text, start, end, whether it can be a name."""

_RELATION_WORDS = frozenset(
    "from join into update table only truncate analyze vacuum references copy view index".split()
)
_COLUMN_WORDS = frozenset(
    "select where and or not on having by set returning values distinct case when then else between like ilike in "
    "limit offset qualify filter over partition is all any exists interval cast".split()
)
_ENDS_FROM = frozenset(
    "where group order having limit offset window union intersect except qualify returning set values select on using "
    "for fetch".split()
)


def find_place(before: str, after: str = "") -> Place:
    """Analyses the text before and after the cursor: the last statement of `before`."""
    stripped = before.lstrip()
    if stripped.startswith("\\"):
        word = stripped.split()[0] if " " not in stripped else ""
        return Place(Expected.COMMAND, word) if word else Place(Expected.RELATION, stripped.rsplit(" ", 1)[1])
    tokens = _scan(before)
    if tokens is None:
        return Place(Expected.NOTHING)
    starts = [index for index, token in enumerate(tokens) if token[0] == ";"]
    head = tokens[starts[-1] + 1 :] if starts else tokens
    whole = _scan(before + after)
    if whole is not None:
        first = head[0][1] if head else len(before)
        whole = [token for token in whole if token[1] >= first]
        ends = [index for index, token in enumerate(whole) if token[0] == ";"]
        whole = whole[: ends[0]] if ends else whole
    head, qualifier, prefix = _take_typed(head, len(before))
    blocks = list(_read_blocks(whole or head))
    # The cursor's block and those around it
    open_block = min(
        (each for each in blocks if each.start <= len(before) <= each.end), key=lambda each: -each.start, default=None
    )
    seen: list[Reference] = []
    while open_block is not None:
        seen += open_block.references
        open_block = open_block.parent
    expressions = tuple(each.expression for each in blocks if each.expression)
    return Place(_expect(head), prefix, qualifier, tuple(seen), expressions)


def _scan(text: str) -> list[_Token] | None:
    """The tokens of a text without its comments, by characters; None inside quotes."""
    try:
        scanned = postgast.scan(text).tokens
    except postgast.PgQueryError:
        return None
    encoded = text.encode()
    tokens: list[_Token] = []
    for each in scanned:
        if each.token in (pg.SQL_COMMENT, pg.C_COMMENT):
            if each.end == len(encoded) and not encoded.endswith(b"*/"):
                return None  # the cursor is inside it
            continue
        start, end = len(encoded[: each.start].decode()), len(encoded[: each.end].decode())
        can_be_name = each.token == pg.IDENT or each.keyword_kind in (1, 2)  # unreserved, or names of columns
        tokens.append((text[start:end], start, end, can_be_name))
    return tokens


def _take_typed(tokens: list[_Token], end: int) -> tuple[list[_Token], tuple[str, ...], str]:
    """Splits off the name at the cursor: the tokens before it, its qualifiers, its beginning."""
    prefix = ""
    if tokens and tokens[-1][2] == end and (tokens[-1][0][0].isalpha() or tokens[-1][0][0] in '_"'):
        prefix = tokens[-1][0]
        tokens = tokens[:-1]
    qualifier: list[str] = []
    while len(tokens) >= 2 and tokens[-1][0] == "." and _is_name(tokens[-2]):
        qualifier.insert(0, _fold(tokens[-2][0]))
        tokens = tokens[:-2]
    return tokens, tuple(qualifier), prefix


def _is_name(token: _Token) -> bool:
    return token[3] or token[0].startswith('"')


def _fold(name: str) -> str:
    return name[1:-1].replace('""', '"') if name.startswith('"') else name.lower()


def _expect(tokens: Sequence[_Token]) -> Expected:
    """What may follow the tokens of a statement's beginning."""
    if not tokens:
        return Expected.KEYWORD
    words = [token[0].lower() for token in tokens]
    last, first = words[-1], words[0]
    level = _take_level(words)
    if last == "::" or (last == "as" and "cast" in words[-6:]):
        return Expected.TYPE
    if first in {"set", "show", "reset"} and len(words) <= 2:
        return Expected.ROLE if words[1:] == ["role"] else Expected.SETTING if len(words) == 1 else Expected.KEYWORD
    if last == "schema":
        return Expected.SCHEMA
    if last in {"role", "user"} or (last == "to" and first in {"grant", "alter"}):
        return Expected.ROLE
    if last in _RELATION_WORDS or (first in {"analyze", "vacuum"} and last == first):
        return Expected.RELATION
    if last == "(" and len(level) >= 2 and level[-1] == "using":
        return Expected.COMMON_COLUMN
    if first == "insert" and "into" in words and _is_in_list(words, after="into"):
        return Expected.TARGET_COLUMN
    if first == "create" and words[1:2] == ["table"] and "(" in words and "as" not in words:
        return Expected.TYPE if last not in {"(", ","} else Expected.NOTHING
    clause = next((word for word in reversed(level) if word in _RELATION_WORDS | _COLUMN_WORDS), "")
    if last == ",":
        return Expected.RELATION if clause == "from" else Expected.COLUMN
    if last == "on" and "join" in level:
        return Expected.JOIN_CONDITION
    if last == "as":
        return Expected.NOTHING
    if clause in _RELATION_WORDS:
        return Expected.KEYWORD
    return Expected.COLUMN if clause or last == "(" else Expected.KEYWORD


def _take_level(words: Sequence[str]) -> list[str]:
    """The words of the innermost open parenthesis, without what closed ones hold; those before it if it has none."""
    level: list[list[str]] = [[]]
    for word in words:
        if word == "(":
            level.append([])
        elif word == ")":
            if len(level) > 1:
                level.pop()
        else:
            level[-1].append(word)
    if level[-1] or len(level) == 1:
        return level[-1]
    return level[-2]


def _is_in_list(words: Sequence[str], *, after: str) -> bool:
    """Whether the end is in the first parenthesis after a word: the columns of INSERT INTO t (…."""
    rest = list(words[words.index(after) + 1 :])
    return "(" in rest and ")" not in rest and rest[-1] in {"(", ","} and rest.index("(") <= 3


def _read_blocks(tokens: Sequence[_Token]) -> Iterator[_Block]:
    """Yields the statement and each parenthesis in it, with the relations of their FROM."""
    root = _Block(0, None)
    stack, found = [root], [root]
    closed: _Block | None = None
    pending: dict[str, _Block] = {}  # common table expressions by name
    in_from: list[bool] = [False]
    in_select: list[bool] = [False]
    index = 0
    while index < len(tokens):
        text, start, end, _ = tokens[index]
        word, block = text.lower(), stack[-1]
        if word == "(":
            block = _Block(end, block)
            stack.append(block)
            found.append(block)
            in_from.append(False)
            in_select.append(False)
        elif word == ")" and len(stack) > 1:
            closed = stack.pop()
            closed.end = start
            in_from.pop()
            was_from, previous = in_from[-1], _name_before(tokens, closed)
            in_select.pop()
            if previous:
                pending[previous] = closed
                closed.expression = previous
            elif was_from:
                alias, index = _read_alias(tokens, index)
                stack[-1].references.append(Reference("", alias, alias, tuple(closed.items)))
        elif word == "select":
            in_select[-1], in_from[-1] = True, False
        elif word in {"from", "join", "update", "into"} or (word == "," and in_from[-1]):
            in_from[-1] = word != "update"
            in_select[-1] = False
            names, index = _read_relation(tokens, index)
            if names:
                alias, index = _read_alias(tokens, index)
                schema, name = names[-2] if len(names) > 1 else "", names[-1]
                made = tuple(pending[name].items) if not schema and name in pending else None
                block.references.append(Reference(schema, name, alias or name, made))
        elif word in _ENDS_FROM:
            in_from[-1] = False
        if in_select[-1] and _is_name(tokens[index]) and _ends_item(tokens, index):
            block.items.append(_fold(tokens[index][0]))
        index += 1
    yield from found


def _ends_item(tokens: Sequence[_Token], index: int) -> bool:
    """Whether a name is the last one of an item of SELECT: the name of its column."""
    return index + 1 == len(tokens) or tokens[index + 1][0].lower() in {",", "from", ")"}


def _name_before(tokens: Sequence[_Token], block: _Block) -> str:
    """The name of a common table expression whose query is a block: `name AS (`."""
    at = next((i for i, token in enumerate(tokens) if token[2] == block.start), 0)
    if at >= 2 and tokens[at - 1][0].lower() == "as" and _is_name(tokens[at - 2]):
        before = tokens[at - 3][0].lower() if at >= 3 else ""
        if before in {"with", "recursive", ","}:
            return _fold(tokens[at - 2][0])
    return ""


def _read_relation(tokens: Sequence[_Token], index: int) -> tuple[list[str], int]:
    """Reads the name of a relation after the token at `index`; returns its parts and the index of the last token."""
    names: list[str] = []
    at = index + 1
    while at < len(tokens) and tokens[at][0].lower() in {"only", "lateral"}:
        at += 1
    while at < len(tokens) and _is_name(tokens[at]):
        names.append(_fold(tokens[at][0]))
        if at + 1 < len(tokens) and tokens[at + 1][0] == ".":
            at += 2
            continue
        if at + 1 < len(tokens) and tokens[at + 1][0] == "(" and tokens[index][0].lower() != "into":
            return [], index  # a function
        return names, at
    return names, max(at - 1, index) if names else index


def _read_alias(tokens: Sequence[_Token], index: int) -> tuple[str, int]:
    """Reads [AS] alias after the token at `index`; returns it and the index of the last token."""
    at = index + 1
    if at < len(tokens) and tokens[at][0].lower() == "as":
        at += 1
    if at < len(tokens) and _is_name(tokens[at]) and tokens[at][0].lower() not in _ENDS_FROM | {"set", "join"}:
        return _fold(tokens[at][0]), at
    return "", index
