"""Removes credentials from statements that are logged or shown, by the positions of their parse trees.

The password of CREATE and ALTER ROLE is replaced, in whichever way it is quoted, and so are all constants of CREATE and
ALTER USER MAPPING. Any other statement that mentions passwords in a name or a constant, such as the body of a function,
or that has an option named as a credential is, loses all its constants. With constants go all comments of the text; a
comment that mentions passwords goes by itself. Passwords and keys within addresses are replaced alone, wherever they
are. A text that cannot be parsed is not logged: a password may be anywhere in it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import postgast
from google.protobuf.message import Message
from postgast import pg_query_pb2 as pg

from gpudb.errors import GpudbError
from gpudb.sql.parse.parser import RawStatement, inner, parse
from gpudb.values.credentials import hide_credentials, names_credential

REDACTED, REDACTED_COMMENT = "'…'", "/*…*/"
UNPARSED = "<a text that cannot be parsed is not logged>"

_ROLE_STATEMENTS = frozenset({"CreateRoleStmt", "AlterRoleStmt"})
_STRINGS = frozenset({pg.SCONST, pg.USCONST})
_COMMENTS = frozenset({pg.SQL_COMMENT, pg.C_COMMENT})
_MAPPING_STATEMENTS = frozenset({"CreateUserMappingStmt", "AlterUserMappingStmt"})
_SUSPICIOUS = ("password", "passphrase", "mapping", "secret", "token", "key", "\\", "uescape")
"""Texts with none of these name no credential: the keywords cannot be written otherwise, but a constant can escape."""


def redact_credentials(text: str, *, failed: bool = False) -> str:
    """Returns a text of statements without passwords and keys. One that `failed` may be no SQL at all."""
    if not failed and not may_have_credentials(text):
        return hide_credentials(text)
    try:
        statements = parse(text)
        if not may_have_credentials(text):
            return hide_credentials(text)
        return hide_credentials(_replace(text, list(_find_constants(text, statements))))
    except (GpudbError, postgast.PgQueryError, RecursionError, ValueError):
        return UNPARSED


def may_have_credentials(text: str) -> bool:
    """Whether a text may hold credentials that `hide_credentials` does not find."""
    lower = text.lower()
    return any(word in lower for word in _SUSPICIOUS)


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
    has_escapes = "\\" in text or "uescape" in text.lower()
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
            or _mentions(statement.node, has_escapes=has_escapes)
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


def _mentions(node: Message, *, has_escapes: bool) -> bool:
    """Whether a constant or a name in a tree mentions passwords, or an option is named as a credential is.

    With escapes in the text, a constant with an address that has a password counts too.
    """
    if isinstance(node, pg.DefElem) and names_credential(node.defname):
        return True
    for descriptor, value in node.ListFields():
        held = value if descriptor.is_repeated else (value,)
        for each in held:
            if isinstance(each, Message):
                if _mentions(each, has_escapes=has_escapes):
                    return True
            elif isinstance(each, str) and (
                "password" in each.lower() or (has_escapes and hide_credentials(each) != each)
            ):
                return True
    return False
