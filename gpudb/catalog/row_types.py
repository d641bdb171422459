"""Row types: the composite type of every table and view."""

from __future__ import annotations

from dataclasses import replace

from gpudb.catalog.model import Argument, Catalog, Relation, Routine
from gpudb.catalog.postgres import oids
from gpudb.types import SqlType, UserType


def row_type(relation: Relation) -> SqlType:
    """Returns the type of a relation's rows, with one field a column."""
    oid = oids.row_type(relation.oid)
    user = UserType(oid, oids.array_type(relation.oid), relation.schema, relation.name, "c")
    return SqlType(f".{oid}", fields=tuple((c.name, c.type) for c in relation.columns), user=user)


def as_of_now(catalog: Catalog, routine: Routine) -> Routine:
    """Returns a routine whose row-typed parameters have their relations' current columns."""
    if not any(each.type.user is not None and each.type.user.kind == "c" for each in routine.arguments):
        return routine
    return replace(routine, arguments=tuple(_argument(catalog, each) for each in routine.arguments))


def _argument(catalog: Catalog, argument: Argument) -> Argument:
    item = argument.type
    relation = catalog.by_oid(oids.row_relation(item.user.oid)) if item.user is not None else None
    if relation is None:
        return argument
    made = row_type(relation)
    return replace(argument, type=made if item.element is None else made.array)
