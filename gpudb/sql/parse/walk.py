"""All messages of a parsed statement."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from google.protobuf.message import Message


def walk_messages(node: Message) -> Iterator[Any]:
    """Yields a message of PostgreSQL's parse tree and all messages below it, parents first."""
    waiting = [node]
    while waiting:
        each = waiting.pop()
        yield each
        for field, value in each.ListFields():
            if field.message_type is not None:
                waiting += value if field.is_repeated else (value,)
