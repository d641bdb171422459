"""Facts about PostgreSQL's types, by their internal names: groups, what integers hold, subtypes of ranges, display."""

from __future__ import annotations

INTEGER_BITS = {"int2": 16, "int4": 32, "int8": 64}
"""The width of each integer type."""
INTEGER_LIMITS = {name: (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) for name, bits in INTEGER_BITS.items()}
"""The least and greatest value of each integer type."""
INTEGER_DIGITS = {name: len(str(greatest)) for name, (_, greatest) in INTEGER_LIMITS.items()}
"""The most decimal digits of a value of each integer type."""

INTEGERS = frozenset(INTEGER_BITS)
"""Signed integers, of which tables can have columns."""
FLOATS = frozenset({"float4", "float8"})
EXACT_NUMBERS = INTEGERS | {"numeric"}
"""Numbers without rounding errors."""
NUMBERS = EXACT_NUMBERS | FLOATS
GEOMETRIC_WIDTHS = {"point": 2, "line": 3, "lseg": 4, "box": 4, "circle": 3}
"""How many doubles a value of each geometric type of fixed width has."""
GEOMETRIC = frozenset({*GEOMETRIC_WIDTHS, "path", "polygon"})
GEOMETRIC_PARTS = {"point": "float8", "lseg": "point", "box": "point"}
"""What subscripts take out of the geometric types that have them, two of each."""
WITHOUT_CLASSES = frozenset({"json", "matrix"}) | GEOMETRIC
"""Types without a default operator class: no operation groups, sorts or indexes their values."""
EQUAL_BY_FUNCTION = frozenset({"matrix"})
"""Types of which equal values may differ in what represents them: only the function of `=` tells."""
STRINGS = frozenset({"text", "varchar", "bpchar", "name", "char", "cstring", "unknown"})
OIDS = frozenset({"oid", "xid", "cid", "xid8"})
"""Unsigned integers of the system catalog."""
VECTORS = {"int2vector": "int2", "oidvector": "oid"}
"""The element type of each array of the system catalog that starts at 0."""

RANGE_SUBTYPES = {
    "int4range": "int4",
    "int8range": "int8",
    "numrange": "numeric",
    "daterange": "date",
    "tsrange": "timestamp",
    "tstzrange": "timestamptz",
}
"""The type of each range type's bounds."""
MULTIRANGE_RANGES = {name.replace("range", "multirange"): name for name in RANGE_SUBTYPES}
"""The range type of each multirange type."""

COLUMN_TYPES = frozenset(
    "bool int2 int4 int8 float4 float8 numeric text varchar bpchar bytea date time timestamp timestamptz"
    " interval uuid json jsonb jsonpath int4range int8range numrange daterange tsrange tstzrange bit varbit"
    " int4multirange int8multirange nummultirange datemultirange tsmultirange tstzmultirange"
    " timetz money inet cidr macaddr macaddr8 name oid vector halfvec sparsevec matrix tsvector tsquery"
    " point line lseg box path polygon circle".split()
)
"""Types that columns of tables may have; so may their arrays."""

DISPLAY_NAMES = {
    "bool": "boolean",
    "int2": "smallint",
    "int4": "integer",
    "int8": "bigint",
    "float4": "real",
    "float8": "double precision",
    "varchar": "character varying",
    "bpchar": "character",
    "time": "time without time zone",
    "timetz": "time with time zone",
    "timestamp": "timestamp without time zone",
    "timestamptz": "timestamp with time zone",
    "varbit": "bit varying",
}
"""Names as PostgreSQL shows them, where they are not the internal ones."""


def fits_integer(value: int, name: str) -> bool:
    """Whether an integer type can represent a value."""
    least, greatest = INTEGER_LIMITS[name]
    return least <= value <= greatest


TYPE_ALIASES = {
    "int": "int4",
    "integer": "int4",
    "smallint": "int2",
    "bigint": "int8",
    "real": "float4",
    "boolean": "bool",
    "decimal": "numeric",
    "character": "bpchar",
}
"""PostgreSQL's internal names of types by those of its grammar."""
