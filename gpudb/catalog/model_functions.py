"""The functions of models in a catalog: found by their model's name, and dropped with its bytes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gpudb.catalog.model import Catalog
from gpudb.catalog.models import PROBABILITY
from gpudb.catalog.routines import Routine


def find_model(catalog: Catalog, name: str, schemas: Sequence[str]) -> tuple[Routine, ...]:
    """Returns the functions of the first model of a name in the schemas, that which scores first; () if none."""
    for schema in schemas if catalog.routines else ():
        found = [
            each
            for each in catalog.routines.values()
            if each.model is not None and each.model.name == name and each.schema == schema
        ]
        if found:
            return tuple(sorted(found, key=lambda each: each.model is None or each.model.output == PROBABILITY))
    return ()


def list_with_model(catalog: Catalog, routine: Routine) -> tuple[Routine, ...]:
    """Returns all functions of a function's model, which have one owner and one schema; itself if it has no model."""
    if routine.model is None:
        return (routine,)
    return find_model(catalog, routine.model.name, (routine.schema,))


def drop_function(catalog: Catalog, routine: Routine) -> Catalog:
    """Returns a catalog without a routine, and without the bytes of its model if no other routine needs them."""
    catalog = catalog.drop(routine)
    if routine.model is None or not routine.model.content:
        return catalog
    oid = routine.model.content
    if any(each.model is not None and each.model.content == oid for each in catalog.routines.values()):
        return catalog
    content = catalog.find_relation_by_oid(oid)
    return catalog if content is None else catalog.drop(content)


def has_namesake(routines: Iterable[Routine], routine: Routine) -> bool:
    """Returns whether another model than a function's has the same name in the same schema."""
    own = routine.model
    return own is not None and any(
        each.model is not None
        and (each.schema, each.model.name) == (routine.schema, own.name)
        and each.model.created != own.created
        for each in routines
    )
