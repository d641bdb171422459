"""Row types: the composite type of every table and view."""

from __future__ import annotations

from dataclasses import replace

from gpudb.catalog.model import Catalog
from gpudb.catalog.postgres import oids
from gpudb.catalog.relations import Relation
from gpudb.catalog.routines import Argument, Routine
from gpudb.types import SqlType, UserType


def get_row_type(relation: Relation) -> SqlType:
    """Returns the type of a relation's rows, with one field a column."""
    oid = oids.row_type(relation.oid)
    user = UserType(oid, oids.array_type(relation.oid), relation.schema, relation.name, "c")
    return SqlType(f".{oid}", fields=tuple((c.name, c.type) for c in relation.columns), user=user)


def refresh_row_types(catalog: Catalog, routine: Routine) -> Routine:
    """Returns a routine whose row-typed parameters and result have their relations' current columns."""
    table = catalog.find_relation_by_oid(routine.rows_of) if routine.rows_of else None
    if table is not None:
        columns = tuple(Argument(column.name, column.type, "t") for column in table.columns)
        kept = tuple(argument for argument in routine.arguments if argument.mode != "t")
        if (*kept, *columns) != routine.arguments:
            routine = replace(routine, arguments=(*kept, *columns))
    if not any(argument.type.user is not None and argument.type.user.kind == "c" for argument in routine.arguments):
        return routine
    return replace(routine, arguments=tuple(_refresh_argument(catalog, argument) for argument in routine.arguments))


def _refresh_argument(catalog: Catalog, argument: Argument) -> Argument:
    item = argument.type
    relation = catalog.find_relation_by_oid(oids.row_relation(item.user.oid)) if item.user is not None else None
    if relation is None:
        return argument
    row_type_ = get_row_type(relation)
    return replace(argument, type=row_type_ if item.element is None else row_type_.array)
