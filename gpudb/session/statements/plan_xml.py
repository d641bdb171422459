"""EXPLAIN's XML format: the items of a plan as elements, as PostgreSQL names and nests them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from xml.sax.saxutils import escape

_ITEMS = {"Plans": "Plan", "Output": "Item", "Workers": "Worker"}
"""The name of an element of a list."""


def write_xml(query: Mapping[str, object]) -> str:
    """Returns the document of one explained query, of the items that the JSON format has."""
    lines = ['<explain xmlns="http://www.postgresql.org/2009/explain">', *_write("Query", query, 1), "</explain>"]
    return "\n".join(lines)


def _write(name: str, value: object, depth: int) -> Iterator[str]:
    lead, tag = "  " * depth, name.replace(" ", "-").replace("(", "").replace(")", "")
    children: Sequence[tuple[str, object]] = ()
    if isinstance(value, Mapping):
        children = list(value.items())
    elif isinstance(value, list):
        children = [(_ITEMS.get(name, "Item"), each) for each in value]
    else:
        yield f"{lead}<{tag}>{escape(_show(value))}</{tag}>"
        return
    yield f"{lead}<{tag}>"
    for inner, child in children:
        yield from _write(inner, child, depth + 1)
    yield f"{lead}</{tag}>"


def _show(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
