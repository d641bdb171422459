"""All messages of a tree of PostgreSQL's parser."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from google.protobuf.message import Message

T = TypeVar("T")


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
