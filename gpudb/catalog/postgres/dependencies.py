"""Dependencies of views: the relations that their queries name."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import postgast
from google.protobuf.message import Message

from gpudb.catalog.model import Catalog, Relation, stored_query


def referenced(view: Relation, catalog: Catalog) -> list[int]:
    """Returns the OIDs of the tables and views that a view's query names, without duplicates."""
    found: dict[int, None] = {}
    for schema, name in _names(stored_query(view) or ""):
        relation = catalog.find(name, (schema,) if schema else (view.schema, "public"))
        if relation is not None and relation.oid != view.oid:
            found[relation.oid] = None
    return list(found)


@lru_cache(1024)
def _names(query: str) -> tuple[tuple[str, str], ...]:
    return tuple(_range_variables(postgast.parse(query)))


def _range_variables(node: Message) -> Iterator[tuple[str, str]]:
    if node.DESCRIPTOR.name == "RangeVar":
        yield node.schemaname, node.relname
    for field, value in node.ListFields():
        if field.message_type is None:
            continue
        for each in value if field.is_repeated else (value,):
            yield from _range_variables(each)
