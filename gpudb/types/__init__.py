"""The table of SQL types: PostgreSQL's name and OID, and how Arrow, DuckDB and Polars represent a value of each.

A type is immutable. How values are represented, where it is not obvious:
- `numeric` with a known scale (`digits`, or a declared modifier) is an exact decimal of at most 38 digits;
- `numeric` whose scale differs from value to value (a quotient, an average, a column declared plain `numeric`, a
  CASE over several scales) is *carried*: a struct `(v decimal(p,s), s tinyint)` of the value and its display scale,
  the number of decimals that PostgreSQL would show. NULL is a struct whose `v` is NULL, or a NULL struct;
- a *wide* `numeric`, which may be NaN, infinite, or have more than 38 digits, is carried too: its `v` is bytes in the
  type's order (`values.wide_numerics`), its `s` a smallint;
- `char(n)` is stored without its padding, which the encoder adds;
- `tid` is one integer of a block and an offset (`values.tid`);
- `timetz` is one integer in the type's order (`values.timetz`);
- `inet` and `cidr` are bytes in the types' order (`values.inet`);
- `money` is an integer number of cents;
- `vector` is a list of single-precision numbers (`values.vectors`);
- `halfvec` and `sparsevec` are bytes in the types' order (`values.half_vectors`, `values.sparse_vectors`);
- `matrix` is bytes: a header and the elements row by row (`values.matrix`);
- points and the other geometric types are bytes as PostgreSQL sends them (`values.geometry`);
- a range is a struct `(l, u)` of two bounds `(k tinyint, v, s tinyint)`, such that bounds and ranges compare as
  structs do: `k` is -1 in both bounds of an empty range, 0 for an infinite lower bound, 2 for an infinite upper one,
  else 1; `s` is 1 above the value `v` (an exclusive lower bound), -1 below it, else 0. A numrange is carried: its
  bounds are decimals, and an `s` beside them is 64 times the lower bound's scale plus the upper bound's scale;
- a multirange is the sorted list of its ranges; none is empty, and no two touch.

A user-defined type is identified by its OID, so it keeps its meaning when it is renamed. An enum is a DuckDB enum,
which orders labels as they were declared. A domain is its base type with a mark.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from gpudb import pgdata
from gpudb.errors import SqlError, UndefinedObject
from gpudb.types.facts import DISPLAY_NAMES, MULTIRANGE_RANGES, RANGE_SUBTYPES
from gpudb.types.interval_fields import format_interval_modifier
from gpudb.types.representations import REPRESENTATIONS

if TYPE_CHECKING:
    import polars as pl

MAX_DIGITS = 38
CARRIED_SCALE = 20
_FIRST_INITDB_OID = 12000
"""From here on are the OIDs of what initdb's scripts create: the types of information_schema."""


@dataclass(frozen=True, slots=True)
class Label:
    """A label of an enum. Files contain `stored` in its place, which renaming does not change."""

    oid: int
    name: str
    stored: str


@dataclass(frozen=True, slots=True)
class UserType:
    """A user-defined type; `kind` is PostgreSQL's typtype: e (enum), c (composite) or d (domain).

    `labels` are an enum's, in order; `base` is the internal name of a domain's base type.
    """

    oid: int
    array_oid: int
    schema: str
    name: str
    kind: str
    labels: tuple[Label, ...] = ()
    base: str = ""

    def __str__(self) -> str:
        """The name in messages: qualified by its schema, unless that is public."""
        names = (
            (self.name,) if self.schema == "public" or self.schema.startswith("pg_temp") else (self.schema, self.name)
        )
        return ".".join(each if _PLAIN_NAME.fullmatch(each) else '"' + each.replace('"', '""') + '"' for each in names)

    @property
    def type(self) -> SqlType:
        """Returns the type of an enum or a composite, the latter without its fields."""
        return SqlType(f".{self.oid}", user=self)


_PLAIN_NAME = re.compile(r"[a-z_][a-z0-9_$]*")


@dataclass(frozen=True, slots=True)
class SqlType:
    """A SQL type: `name` is PostgreSQL's internal one (`int4`, `_int4` for its array), `modifier` its typmod.

    `digits` and `varying` describe the representation of a numeric expression without modifier, `fields` those of a
    record; PostgreSQL has none of them. `digits` of a bpchar without modifier are (n, 0) if its values are output with
    blanks up to n characters. `user` is the user-defined type (its name here is `.OID`), `domain` the domain whose base
    type this is, or whose values its elements are. `dims` is an array's number of dimensions, each a nested list.
    `wide` is whether a numeric, or an array's elements, are in the wide form.
    """

    name: str
    modifier: int = -1
    digits: tuple[int, int] | None = None
    varying: bool = False
    fields: tuple[tuple[str, SqlType], ...] = ()
    user: UserType | None = None
    domain: UserType | None = None
    dims: int = 1
    wide: bool = False

    @property
    def oid(self) -> int:
        """The type's PostgreSQL OID, as clients receive it: for a domain its base type's."""
        if self.domain is not None and self.domain.base != self.name:
            return self.domain.array_oid
        if self.user is not None:
            return self.user.array_oid if self.name[0] == "_" else self.user.oid
        return _get_row(self.name).oid

    @property
    def declared_oid(self) -> int:
        """The OID with which a column of this type is declared: for a domain its own."""
        return self.domain.oid if self.domain is not None and self.domain.base == self.name else self.oid

    @property
    def labels(self) -> tuple[Label, ...] | None:
        """An enum's labels; None for other types."""
        return self.user.labels if self.user is not None and self.user.kind == "e" and self.name[0] == "." else None

    @property
    def members(self) -> tuple[str, ...]:
        """The quoted members of the struct that represents a row: its fields' names, or f1, f2, … if these repeat."""
        names = [name for name, _ in self.fields]
        if len({name.lower() for name in names}) < len(names):
            names = [f"f{number}" for number in range(1, len(names) + 1)]
        return tuple('"' + name.replace('"', '""') + '"' for name in names)

    @property
    def array(self) -> SqlType:
        """The type of arrays of this type. For an array it has one dimension more, unlike in PostgreSQL."""
        if self.name[0] == "_" and (self.domain is None or self.domain.base != self.name):
            return replace(self, dims=self.dims + 1)
        return replace(self, name="_" + self.name)

    @property
    def element(self) -> SqlType | None:
        """The type of an array's elements; None for other types."""
        if self.name[0] != "_":
            return None
        is_domain_array = self.domain is not None and self.domain.base == self.name
        return replace(self, name=self.name[1:], domain=None if is_domain_array else self.domain, dims=1)

    @property
    def item(self) -> SqlType | None:
        """The item type of an array's or multirange's list: elements, arrays of one dimension less, or ranges."""
        if self.name in MULTIRANGE_RANGES:
            return self.range_type
        return replace(self, dims=self.dims - 1) if self.dims > 1 else self.element

    @property
    def delimiter(self) -> str:
        """What is between the elements of an array, of this type or of this element type, in its text."""
        return ";" if self.name.lstrip("_") == "box" else ","

    @property
    def category(self) -> str:
        """PostgreSQL's typcategory: Number, String, Date/time, T interval, Boolean, Array, U other, X unknown."""
        if self.user is not None:
            return "A" if self.name[0] == "_" else self.user.kind.upper()
        return _get_row(self.name).category

    @property
    def is_preferred(self) -> bool:
        """Whether PostgreSQL prefers this type within its category."""
        return self.user is None and _get_row(self.name).is_preferred

    @property
    def plain(self) -> SqlType:
        """The same type without modifier, digits or domain, by which functions and operators are resolved."""
        if self.modifier == -1 and self.digits is None and self.domain is None and not self.wide:
            return self
        return SqlType(self.name, fields=self.fields, user=self.user, dims=self.dims)

    @property
    def typmod(self) -> int:
        """The modifier that clients receive; an array of a domain has none."""
        of_domains = self.domain is not None and self.domain.base != self.name
        return -1 if of_domains else self.modifier

    @property
    def without_modifier(self) -> SqlType:
        """The same type and representation without the declared modifier: the type of a function's or cast's result.

        A domain has its base type's modifier.
        """
        if self.modifier == -1 or self.domain is not None:
            return self
        base = self.name.lstrip("_")
        if self.wide:
            return replace(self, modifier=-1)
        digits = {"numeric": self.numeric_digits, "bpchar": (self.length or 0, 0)}.get(base)
        return replace(self, modifier=-1, digits=digits)

    @property
    def numeric_digits(self) -> tuple[int, int]:
        """(precision, scale) of the decimal that represents a numeric's value, or that a wide one is declared with."""
        if self.modifier != -1:
            packed = self.modifier - 4
            return packed >> 16, ((packed & 0x7FF) ^ 0x400) - 0x400
        return self.digits or (MAX_DIGITS, CARRIED_SCALE)

    @property
    def is_carried(self) -> bool:
        """Whether this is a numeric, or a range of numerics, with a display scale per value."""
        if self.name == "numrange":
            return True
        if self.name != "numeric":
            return False
        return self.wide or (self.modifier == -1 and (self.varying or self.digits is None))

    @property
    def subtype(self) -> SqlType | None:
        """A range's subtype; None for other types."""
        name = RANGE_SUBTYPES.get(self.name)
        return None if name is None else SqlType(name)

    @property
    def range_type(self) -> SqlType | None:
        """The range type of a multirange; None for other types."""
        name = MULTIRANGE_RANGES.get(self.name)
        return None if name is None else SqlType(name)

    @property
    def length(self) -> int | None:
        """n of varchar(n), char(n), bit(n), vector(n), halfvec(n) or sparsevec(n); None if undeclared."""
        base = self.name.lstrip("_")
        if self.modifier == -1:
            return None
        return self.modifier - 4 if base in {"varchar", "bpchar"} else self.modifier

    @property
    def padded_length(self) -> int | None:
        """The number of characters of a bpchar's values including blanks; None if unknown."""
        if self.name != "bpchar":
            return None
        return self.length if self.modifier != -1 else self.digits[0] if self.digits is not None else None

    @property
    def duckdb(self) -> str:
        """The DuckDB type."""
        if self.item is not None:
            return self.item.duckdb + "[]"
        if self.is_carried:
            return f"STRUCT(v {self.duckdb_value}, s {self.duckdb_scale})"
        if self.fields:
            fields = zip(self.members, self.fields, strict=True)
            return f"STRUCT({', '.join(f'{member} {item.duckdb}' for member, (_, item) in fields)})"
        if self.labels:
            return "ENUM({})".format(", ".join("'" + label.name.replace("'", "''") + "'" for label in self.labels))
        return self.duckdb_value

    @property
    def duckdb_scale(self) -> str:
        """The DuckDB type of a carried scale."""
        return "TINYINT" if self.name == "numeric" and not self.wide else "SMALLINT"

    @property
    def duckdb_value(self) -> str:
        """The DuckDB type of the value alone, without a carried scale."""
        if self.item is not None or self.fields or self.labels:
            return self.duckdb
        if self.name == "numeric":
            return "BLOB" if self.wide else "DECIMAL({},{})".format(*self.numeric_digits)
        if (subtype := self.subtype) is not None:
            bound = f"STRUCT(k TINYINT, v {subtype.duckdb_value}, s TINYINT)"
            return f"STRUCT(l {bound}, u {bound})"
        return "VARCHAR" if self.user is not None else REPRESENTATIONS[self.name][0]

    @property
    def arrow(self) -> pa.DataType:
        """The Arrow type of a result column."""
        if self.item is not None:
            return pa.list_(self.item.arrow)
        if self.is_carried:
            scale = pa.int8() if self.duckdb_scale == "TINYINT" else pa.int16()
            return pa.struct([("v", self.arrow_value), ("s", scale)])
        if self.fields:
            fields = zip(self.members, self.fields, strict=True)
            return pa.struct([(member[1:-1].replace('""', '"'), item.arrow) for member, (_, item) in fields])
        return self.arrow_value

    @property
    def arrow_value(self) -> pa.DataType:
        """The Arrow type of the value alone, without a carried scale."""
        if self.item is not None or self.fields:
            return self.arrow
        if self.name == "numeric":
            return pa.binary() if self.wide else pa.decimal128(*self.numeric_digits)
        if (subtype := self.subtype) is not None:
            bound = pa.struct([("k", pa.int8()), ("v", subtype.arrow_value), ("s", pa.int8())])
            return pa.struct([("l", bound), ("u", bound)])
        return pa.string() if self.user is not None else REPRESENTATIONS[self.name][1]

    @property
    def polars(self) -> pl.DataType:
        """The Polars type of a result column; for a carried numeric the Decimal of its value."""
        import polars as pl

        if self.subtype is not None or self.range_type is not None or self.name in {"timetz", "tid", "inet", "cidr"}:
            return pl.String()  # as PostgreSQL prints it
        if self.name == "money":
            return pl.Decimal(19, 2)
        if self.wide:
            return pl.String()
        if self.is_carried:
            return pl.Decimal(*self.numeric_digits)
        frame = pl.from_arrow(pa.array([], type=self.arrow))
        assert isinstance(frame, pl.Series)
        return frame.dtype

    @property
    def unmodified_name(self) -> str:
        """The name as format_type prints it for a modifier known to be absent: `bpchar`, where `character` would mean
        length 1.
        """
        if self.element is not None:
            return f"{self.element.unmodified_name}[]"
        unmodified = {"bpchar": "bpchar", "bit": '"bit"'}.get(self.name)
        return str(self) if unmodified is None or self.modifier != -1 or self.domain is not None else unmodified

    def __str__(self) -> str:
        """The name as PostgreSQL's format_type prints it: `character varying(3)`, `numeric(10,2)[]`."""
        if self.domain is not None and self.domain.base == self.name:
            return str(self.domain)
        if self.element is not None:
            return f"{self.element}[]"
        if self.user is not None:
            return str(self.user)
        name = DISPLAY_NAMES.get(self.name, self.name)
        if self.modifier == -1:
            return '"char"' if self.name == "char" else name
        if self.name == "numeric":
            return "numeric({},{})".format(*self.numeric_digits)
        if self.name in {"time", "timetz", "timestamp", "timestamptz"}:
            first, _, rest = name.partition(" ")
            return f"{first}({self.modifier}) {rest}"
        if self.name == "interval":
            return f"interval{format_interval_modifier(self.modifier)}"
        return f"{name}({self.length})"


BOOL = SqlType("bool")
INT2 = SqlType("int2")
INT4 = SqlType("int4")
INT8 = SqlType("int8")
FLOAT4 = SqlType("float4")
FLOAT8 = SqlType("float8")
NUMERIC = SqlType("numeric")
WIDE_NUMERIC = SqlType("numeric", wide=True)
TEXT = SqlType("text")
VARCHAR = SqlType("varchar")
BPCHAR = SqlType("bpchar")
BYTEA = SqlType("bytea")
DATE = SqlType("date")
TIME = SqlType("time")
TIMETZ = SqlType("timetz")
TIMESTAMP = SqlType("timestamp")
TIMESTAMPTZ = SqlType("timestamptz")
INTERVAL = SqlType("interval")
UUID = SqlType("uuid")
MONEY = SqlType("money")
VECTOR = SqlType("vector")
HALFVEC = SqlType("halfvec")
SPARSEVEC = SqlType("sparsevec")
BIT = SqlType("bit")
JSON = SqlType("json")
JSONB = SqlType("jsonb")
UNKNOWN = SqlType("unknown")
OID = SqlType("oid")
NAME = SqlType("name")
VOID = SqlType("void")
RECORD = SqlType("record")


def numeric(precision: int, scale: int) -> SqlType:
    """Returns `numeric(precision, scale)` as declared, wide if 128 bits have no room; 22023 for an invalid modifier."""
    if not 1 <= precision <= 1000:
        message = f"NUMERIC precision {precision} must be between 1 and 1000"
        raise SqlError.of("invalid_parameter_value", message)
    if not -1000 <= scale <= 1000:
        raise SqlError.of("invalid_parameter_value", f"NUMERIC scale {scale} must be between -1000 and 1000")
    wide = precision > MAX_DIGITS or not 0 <= scale <= precision
    return SqlType("numeric", ((precision << 16) | (scale & 0x7FF)) + 4, wide=wide)


def widen(type_: SqlType) -> SqlType:
    """Returns the type in which values of a numeric, or of arrays of numerics, may be of any size; others unchanged.

    Domains stay as they are too.
    """
    return replace(type_, wide=True) if type_.name.lstrip("_") == "numeric" and type_.domain is None else type_


def exact_numeric(precision: int, scale: int, *, varying: bool = False) -> SqlType:
    """Returns the type of a numeric expression without declared modifier, of at most 38 digits.

    Further leading digits are dropped.

    With `varying` it is carried: each value has its own scale, of at most `scale`.
    """
    scale = min(scale, MAX_DIGITS)
    return SqlType("numeric", -1, (max(min(precision, MAX_DIGITS), scale, 1), scale), varying)


@cache
def type_by_oid(oid: int) -> SqlType:
    """Returns the type of an OID; 42704 if PostgreSQL has none."""
    for row in _load_rows().values():
        if row.oid == oid:
            return SqlType(row.name)
    raise UndefinedObject(f"type with OID {oid} does not exist")


def get_output_function(name: str) -> int:
    """Returns the OID of a type's output function."""
    return _get_row(name).output


def get_type_length(name: str) -> int:
    """Returns the bytes of a type's values in PostgreSQL; -1 if they vary, or if there is no such type."""
    return _load_rows()[name].length if type_exists(name) else -1


@cache
def type_exists(name: str) -> bool:
    """Whether PostgreSQL has a type of this internal name."""
    return name in _load_rows()


class _TypeRow(NamedTuple):
    """What pg_type says of a type."""

    name: str
    oid: int
    category: str
    is_preferred: bool
    length: int
    output: int


@cache
def _load_rows() -> dict[str, _TypeRow]:
    """Returns PostgreSQL's types by name, without those that initdb's scripts create and those of relations' rows."""
    columns = "typname", "oid", "typcategory", "typispreferred", "typlen", "typoutput", "typrelid"
    return {
        name: _TypeRow(name, int(oid), category, preferred == "t", int(length), int(output))
        for name, oid, category, preferred, length, output, relation in pgdata.load_table("pg_type").select(*columns)
        if relation == "0" and int(oid) < _FIRST_INITDB_OID
    }


def _get_row(name: str) -> _TypeRow:
    try:
        return _load_rows()[name]
    except KeyError:
        raise UndefinedObject(f'type "{name}" does not exist') from None
