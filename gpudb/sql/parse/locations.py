"""The fields of a parse tree's messages that are places in the text."""

from __future__ import annotations

from typing import Any

_FIELDS: dict[str, tuple[str, ...]] = {}


def location_fields(message: Any) -> tuple[str, ...]:
    """Returns the names of a message's own fields that are places, as byte offsets."""
    descriptor = message.DESCRIPTOR
    name = descriptor.full_name
    found = _FIELDS.get(name)
    if found is None:
        own = (each for each in descriptor.fields if each.message_type is None)
        found = _FIELDS[name] = tuple(each.name for each in own if each.name.endswith("location"))
    return found
