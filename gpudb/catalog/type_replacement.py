"""Replacement of a type's definition in the columns, types and views that contain a copy of it."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

from gpudb.catalog.model import Catalog, Column, Sequence, TypeDefinition
from gpudb.types import SqlType, UserType


def mentions(item: SqlType, user: UserType) -> bool:
    """Whether a type is another one, or contains it."""
    own = any(each is not None and each.oid == user.oid for each in (item.user, item.domain))
    return own or any(mentions(field, user) for _, field in item.fields)


def with_changed_type(catalog: Catalog, made: TypeDefinition) -> Catalog:
    """Returns a catalog in which a type's definition is replaced, also in columns and types that contain it."""
    old = next(key for key, each in catalog.types.items() if each.oid == made.oid)
    catalog = catalog.without_type(old).with_type(made)
    types = {key: replace(each, type=_changed(each.type, made)) for key, each in catalog.types.items()}
    relations = {}
    for key, relation in catalog.relations.items():
        if not isinstance(relation, Sequence) and any(mentions(column.type, made.user) for column in relation.columns):
            relation = replace(relation, columns=tuple(_column(column, made) for column in relation.columns))
        relations[key] = relation
    return replace(catalog, types=MappingProxyType(types), relations=MappingProxyType(relations))


def _column(column: Column, made: TypeDefinition) -> Column:
    return replace(column, type=_changed(column.type, made))


def _changed(item: SqlType, made: TypeDefinition) -> SqlType:
    if not mentions(item, made.user):
        return item
    fields = tuple((name, _changed(field, made)) for name, field in item.fields)
    if item.user is not None and item.user.oid == made.oid:
        return replace(item, user=made.user, fields=made.type.fields)
    if item.domain is not None and item.domain.oid == made.oid:
        item = replace(item, domain=made.user)
    return replace(item, fields=fields)
