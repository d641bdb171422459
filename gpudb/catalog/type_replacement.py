"""Replacement of a type's definition in the columns, types and views that contain a copy of it."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

from gpudb.catalog.model import Catalog
from gpudb.catalog.relations import Sequence
from gpudb.catalog.routines import Routine
from gpudb.catalog.tables import Column
from gpudb.catalog.user_types import TypeDefinition
from gpudb.types import SqlType, UserType


def contains_type(item: SqlType, user: UserType) -> bool:
    """Whether a type is another one, or contains it."""
    is_same = any(used is not None and used.oid == user.oid for used in (item.user, item.domain))
    return is_same or any(contains_type(field, user) for _, field in item.fields)


def replace_type_definition(catalog: Catalog, definition: TypeDefinition) -> Catalog:
    """Returns a catalog in which a type's definition is replaced, also in columns and types that contain it."""
    old = next(each for each in catalog.types.values() if each.oid == definition.oid)
    catalog = catalog.drop(old).put(definition)
    types = {
        key: replace(old_definition, type=_replace_in_type(old_definition.type, definition))
        for key, old_definition in catalog.types.items()
    }
    relations = {}
    for key, relation in catalog.relations.items():
        if not isinstance(relation, Sequence) and any(
            contains_type(column.type, definition.user) for column in relation.columns
        ):
            relation = replace(
                relation, columns=tuple(_replace_in_column(column, definition) for column in relation.columns)
            )
        relations[key] = relation
    routines = {key: _replace_in_routine(routine, definition) for key, routine in catalog.routines.items()}
    return replace(
        catalog,
        types=MappingProxyType(types),
        relations=MappingProxyType(relations),
        routines=MappingProxyType(routines),
    )


def _replace_in_routine(routine: Routine, definition: TypeDefinition) -> Routine:
    """Returns a routine whose parameters and result have a type's new definition."""
    if not any(contains_type(item, definition.user) for item in (routine.result, *(a.type for a in routine.arguments))):
        return routine
    arguments = tuple(replace(each, type=_replace_in_type(each.type, definition)) for each in routine.arguments)
    return replace(routine, arguments=arguments, result=_replace_in_type(routine.result, definition))


def _replace_in_column(column: Column, definition: TypeDefinition) -> Column:
    return replace(column, type=_replace_in_type(column.type, definition))


def _replace_in_type(item: SqlType, definition: TypeDefinition) -> SqlType:
    if not contains_type(item, definition.user):
        return item
    fields = tuple((name, _replace_in_type(field, definition)) for name, field in item.fields)
    if item.user is not None and item.user.oid == definition.oid:
        return replace(item, user=definition.user, fields=definition.type.fields)
    if item.domain is not None and item.domain.oid == definition.oid:
        item = replace(item, domain=definition.user)
    return replace(item, fields=fields)
