"""OIDs of what PostgreSQL gives one and gpudb's catalog does not: made from the owning relation's, never stored."""

from __future__ import annotations

FIRST_USER = 16384
DATABASE = 5
PUBLIC_SCHEMA = 2200
DATABASE_OWNER = 6171
BOOTSTRAP_ROLE = 10
DEFAULT_COLLATION = 100
HEAP_AM = 2
BTREE_AM = 403
# PostgreSQL's own access methods stop at 4000 (spgist).
ICEBERG_AM = 9001

# The classes that descriptions and dependencies name.
PG_CLASS, PG_TYPE, PG_NAMESPACE, PG_CONSTRAINT = 1259, 1247, 2615, 2606
PG_PROC = 1255
PG_ATTRDEF, PG_REWRITE, PG_DATABASE, PG_AUTHID = 2604, 2618, 1262, 1260

_BAND = 1 << 28


def row_type(relation: int) -> int:
    """The composite type of a relation's rows."""
    return _BAND + relation


def row_relation(oid: int) -> int:
    """The relation whose rows are of a composite type, where it is of one."""
    return oid - _BAND


def array_type(relation: int) -> int:
    """The type of arrays of a relation's rows."""
    return 2 * _BAND + relation


def type_array(made: int) -> int:
    """The type of arrays of a type that a user made."""
    return 8 * _BAND + made


def type_relation(made: int) -> int:
    """The relation that has a composite type's columns."""
    return 9 * _BAND + made


def index(relation: int) -> int:
    """The index of a table's primary key."""
    return 3 * _BAND + relation


def constraint(relation: int) -> int:
    """A table's primary key."""
    return 4 * _BAND + relation


def rule(relation: int) -> int:
    """The rule that makes a view."""
    return 5 * _BAND + relation


def default(relation: int, number: int) -> int:
    """A column's default. At 1600 columns a table these repeat after some 160,000 OIDs, which harms nobody."""
    return 6 * _BAND + ((relation - FIRST_USER) * 1664 + number) % _BAND


def schema(name: str) -> int:
    """A session's temporary schema, which the catalog does not list."""
    digits = "".join(each for each in name if each.isdigit())
    return 7 * _BAND + int(digits or 0) % _BAND
