"""Trees of PostgreSQL's parser: all messages of one, and its text."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import postgast
from google.protobuf.message import Message

from gpudb.catalog.identifiers import quote_name

T = TypeVar("T")
_BARE = frozenset({"WindowDef", "NamedArgExpr", "JoinExpr"})
"""Messages of whose names (of a join: of the alias of USING) the deparser quotes none."""


def deparse_tree(tree: Message) -> str:
    """Returns a tree of statements as SQL text."""
    if any(_get_bare(each) is not None for each in walk_messages(tree)):
        copied = type(tree)()
        copied.CopyFrom(tree)
        for each in walk_messages(copied):
            name = _get_bare(each)
            if name is None:
                continue
            if each.DESCRIPTOR.name == "JoinExpr":
                each.join_using_alias.aliasname = quote_name(name)
            else:
                each.name = quote_name(name)
        tree = copied
    return str(postgast.deparse(tree))


def _get_bare(message: Any) -> str | None:
    """Returns the name of a message that the deparser does not quote and that has to be quoted; None for none."""
    kind = message.DESCRIPTOR.name
    if kind not in _BARE:
        return None
    name = message.join_using_alias.aliasname if kind == "JoinExpr" else message.name
    return name if name and quote_name(name) != name else None


def walk_messages(node: Message) -> Iterator[Any]:
    """Yields a message of a parse tree and all messages below it: parents first, siblings in the order of fields."""
    waiting = [node]
    while waiting:
        each = waiting.pop()
        yield each
        below: list[Message] = []
        for field, value in each.ListFields():
            if field.message_type is not None:
                below += value if field.is_repeated else (value,)
        waiting += reversed(below)


def walk_with_state(node: Message, state: T, enter: Callable[[Any, str, T], T | None]) -> Iterator[tuple[Any, T]]:
    """Yields what `walk_messages` yields, each message with a state that depends on what it is in.

    `enter` gives the state of the messages in a field of a message: None leaves these out.
    """
    waiting = [(node, state)]
    while waiting:
        each, own = waiting.pop()
        yield each, own
        below: list[tuple[Message, T]] = []
        for field, value in each.ListFields():
            if field.message_type is not None and (inside := enter(each, field.name, own)) is not None:
                below += [(child, inside) for child in (value if field.is_repeated else (value,))]
        waiting += reversed(below)
