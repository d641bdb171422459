"""OIDs of objects that gpudb's catalog does not number: derived from the owning relation's OID, never stored."""

from __future__ import annotations

FIRST_USER = 16384
PUBLIC_SCHEMA = 2200
PG_TOAST = 99
CATALOG_SCHEMA = 11
DATABASE_OWNER = 6171
BOOTSTRAP_ROLE = 10
BTREE_AM = 403
# OIDs of PostgreSQL's access methods end at 4000 (spgist).
ICEBERG_AM = 9001
PLPGSQL_LANGUAGE = 12760

# The classes that descriptions and dependencies refer to.
PG_CLASS, PG_TYPE, PG_NAMESPACE, PG_CONSTRAINT = 1259, 1247, 2615, 2606
PG_PROC, PG_EXTENSION, PG_TRIGGER, PG_LANGUAGE, PG_LARGEOBJECT = 1255, 3079, 2620, 2612, 2613
PG_FOREIGN_DATA_WRAPPER, PG_FOREIGN_SERVER, PG_USER_MAPPING = 2328, 1417, 1418
PG_ATTRDEF, PG_REWRITE, PG_DATABASE, PG_AUTHID, PG_POLICY = 2604, 2618, 1262, 1260, 3256

_BAND = 1 << 28


def row_type(relation: int) -> int:
    """Returns the composite type of a relation's rows."""
    return _BAND + relation


def row_relation(oid: int) -> int:
    """Returns the relation of a row type; None for other types."""
    return oid - _BAND


def array_type(relation: int) -> int:
    """Returns the array type of a relation's rows."""
    return 2 * _BAND + relation


def type_array(made: int) -> int:
    """Returns the array type of a user-defined type."""
    return 8 * _BAND + made


def type_relation(made: int) -> int:
    """Returns the relation that has a composite type's columns."""
    return 9 * _BAND + made


def index(relation: int) -> int:
    """Returns the index of a table's primary key."""
    return 3 * _BAND + relation


def constraint(relation: int) -> int:
    """Returns the constraint of a table's primary key."""
    return 4 * _BAND + relation


def rule(relation: int) -> int:
    """Returns a view's rewrite rule."""
    return 5 * _BAND + relation


def default(relation: int, number: int) -> int:
    """Returns the OID of a column's default. With 1600 columns a table they repeat after some 160,000 OIDs, without
    harm.
    """
    return 6 * _BAND + ((relation - FIRST_USER) * 1664 + number) % _BAND


def schema(name: str) -> int:
    """Returns the OID of a session's temporary schema, which the catalog does not list."""
    digits = "".join(each for each in name if each.isdigit())
    return 7 * _BAND + int(digits or 0) % _BAND
