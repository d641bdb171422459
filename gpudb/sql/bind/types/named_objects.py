"""Literals of types as regclass that name an object of the database, in a text that the catalog is about to store."""

from __future__ import annotations

from gpudb.errors import FeatureNotSupported
from gpudb.sql.bind.base import Binder
from gpudb.sql.bound import Cast, Constant
from gpudb.sql.parse.parser import kind
from gpudb.types import INT8, OID, SqlType

_PINNED = frozenset({"regclass", "regtype", "regproc", "regprocedure", "regnamespace"})
_FIRST_OID = 16384
"""OIDs below are those of PostgreSQL's own objects, which no other object takes the place of."""


def record_object(binder: Binder, literal: Constant, target: SqlType) -> None:
    """Records the OID of what a literal names, as PostgreSQL stores it; 42P01, 42704 or 42883 if there is none.

    0A000 for roles, as in PostgreSQL, and for arrays.
    """
    assert binder.expansions is not None
    if target.name == "regrole" or target.name.startswith("_reg"):
        error = FeatureNotSupported(f"constant of the type {target.plain} cannot be used here")
        raise binder.locate_expr(error, literal)
    place = binder.parse_nodes.get(id(literal))
    if target.name not in _PINNED or place is None or kind(place[1]) != "a_const":
        return
    oid = binder.evaluate_integer(Cast(Cast(Cast(literal, target), OID), INT8))
    if oid is not None and (oid >= _FIRST_OID or target.name == "regclass"):
        binder.expansions.objects[place[1].a_const.SerializeToString(deterministic=True)] = oid, target.name
