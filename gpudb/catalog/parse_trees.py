"""All messages of a tree of PostgreSQL's parser."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from google.protobuf.message import Message


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
