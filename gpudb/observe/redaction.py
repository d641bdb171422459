"""Removes passwords from statements that are logged, by the positions of their parse trees.

The password of CREATE and ALTER ROLE is replaced, in whichever way it is quoted, and so are all constants of CREATE and
ALTER USER MAPPING. Any other statement that mentions
passwords in a name or a constant, such as the body of a function, loses all its constants. With constants go all
comments of the text; a comment that mentions passwords goes by itself. A text that cannot be parsed is not logged: a
password may be anywhere in it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import postgast
from google.protobuf.message import Message
from postgast import pg_query_pb2 as pg

from gpudb.errors import GpudbError
from gpudb.sql.parse.parser import RawStatement, inner, parse

REDACTED, REDACTED_COMMENT = "'…'", "/*…*/"
UNPARSED = "<a text that cannot be parsed is not logged>"

_ROLE_STATEMENTS = frozenset({"CreateRoleStmt", "AlterRoleStmt"})
_STRINGS = frozenset({pg.SCONST, pg.USCONST})
_COMMENTS = frozenset({pg.SQL_COMMENT, pg.C_COMMENT})
_MAPPING_STATEMENTS = frozenset({"CreateUserMappingStmt", "AlterUserMappingStmt"})
_SUSPICIOUS = ("password", "mapping", "\\", "uescape")
"""Texts with none of these mention no password: the keywords cannot be written otherwise, but a constant can escape."""


def redact_passwords(text: str, *, failed: bool = False) -> str:
    """Returns a text of statements without passwords. One that `failed` may be no SQL at all."""
    lower = text.lower()
    if not failed and not any(word in lower for word in _SUSPICIOUS):
        return text
    try:
        statements = parse(text)
        if not any(word in lower for word in _SUSPICIOUS):
            return text
        return _replace(text, list(_find_constants(text, statements)))
    except (GpudbError, postgast.PgQueryError, RecursionError, ValueError):
        return UNPARSED


def _replace(text: str, constants: list[tuple[int, int]]) -> str:
    """Replaces constants, by their spans in bytes, and with them all comments; always those that mention passwords."""
    encoded = text.encode()
    spans = [(*span, REDACTED) for span in constants]
    for start, end in _list_tokens(text, _COMMENTS):
        if constants or b"password" in encoded[start:end].lower():
            spans.append((start, end, REDACTED_COMMENT))
    pieces, at = [], 0
    for start, end, replacement in sorted(spans):
        pieces += [encoded[at:start].decode(), replacement]
        at = end
    return "".join((*pieces, encoded[at:].decode()))


def _find_constants(text: str, statements: list[RawStatement]) -> Iterator[tuple[int, int]]:
    """Yields the spans, in bytes, of the constants to be replaced."""
    tokens = _list_tokens(text, _STRINGS)
    if any(text[each.start : each.start + len(each.text)] != each.text for each in statements):
        yield from tokens  # an extension was taken out of the text before: positions are not those of the text
        return
    starts = [len(text[: each.start].encode()) for each in statements]
    for statement, start, end in zip(statements, starts, [*starts[1:], len(text.encode())], strict=True):
        own = [span for span in tokens if start <= span[0] < end]
        if statement.kind in _ROLE_STATEMENTS:
            yield from _find_role_passwords(statement, start, own)
        elif (
            statement.kind in _MAPPING_STATEMENTS
            or statement.node_statement is not None
            or statement.direct_node is not None
            or _mentions(statement.node)
        ):
            yield from own


def _list_tokens(text: str, kinds: frozenset[int]) -> list[tuple[int, int]]:
    return [(each.start, each.end) for each in postgast.scan(text).tokens if each.token in kinds]


def _find_role_passwords(
    statement: RawStatement, start: int, strings: list[tuple[int, int]]
) -> Iterator[tuple[int, int]]:
    """Yields the constants from the option PASSWORD to the next option."""
    node: Any = statement.node
    options = sorted((inner(each).location, inner(each).defname) for each in node.options)
    for (location, name), following in zip(options, [*options[1:], None], strict=True):
        if name == "password":
            begin = start + location
            end = None if following is None else start + following[0]
            yield from (span for span in strings if begin <= span[0] and (end is None or span[0] < end))


def _mentions(node: Message) -> bool:
    """Whether a constant or a name in a tree mentions passwords."""
    for descriptor, value in node.ListFields():
        held = value if descriptor.is_repeated else (value,)
        for each in held:
            if isinstance(each, Message):
                if _mentions(each):
                    return True
            elif isinstance(each, str) and "password" in each.lower():
                return True
    return False
