"""Dependencies of views: the relations that their queries name."""

from __future__ import annotations

from functools import lru_cache

import postgast

from gpudb.catalog.model import Catalog
from gpudb.catalog.parse_trees import walk_messages
from gpudb.catalog.relations import Relation, get_stored_query


def list_referenced_relations(view: Relation, catalog: Catalog) -> list[int]:
    """Returns the OIDs of the tables and views that a view's query names, without duplicates."""
    oids_: dict[int, None] = {}
    for schema, name in _list_names(get_stored_query(view) or ""):
        relation = catalog.find(name, (schema,) if schema else (view.schema, "public"))
        if relation is not None and relation.oid != view.oid:
            oids_[relation.oid] = None
    return list(oids_)


def list_relations_in(expression: str, catalog: Catalog) -> list[int]:
    """Returns the OIDs of the relations that a stored expression names in its subqueries, without duplicates."""
    found = (catalog.relation(*name) for name in _list_names(f"SELECT {expression}"))
    return list(dict.fromkeys(each.oid for each in found if each is not None))


@lru_cache(1024)
def _list_names(query: str) -> tuple[tuple[str, str], ...]:
    ranges = (each for each in walk_messages(postgast.parse(query)) if each.DESCRIPTOR.name == "RangeVar")
    return tuple((each.schemaname, each.relname) for each in ranges)
