"""The composite type that every table and view has: the type of its rows."""

from __future__ import annotations

from gpudb.catalog.model import Relation
from gpudb.catalog.postgres import oids
from gpudb.types import SqlType, UserType


def row_type(relation: Relation) -> SqlType:
    """The type of a relation's rows, a field a column."""
    oid = oids.row_type(relation.oid)
    user = UserType(oid, oids.array_type(relation.oid), relation.schema, relation.name, "c")
    return SqlType(f".{oid}", fields=tuple((c.name, c.type) for c in relation.columns), user=user)
