"""A fused pipeline: typed, immutable, over integers and floats alone. A kernel and its NumPy twin run the same one.

A row of the table's columns goes through `steps`, which drop it, or find its partner in a build side; the rows that are
left go to the `sink`. Every expression is an integer within `bounds` (a boolean is 0 or 1, text a dictionary's code)
or a float, whose bounds are None. `nullable` says whether it can be NULL. An error of a row that is reached is a code
of `gpudb.engine.gpu.lower.error_codes`; the greatest of all rows is the pipeline's.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Literal as OneOf

from gpudb.engine.gpu.fused.columns.packed_column import Form
from gpudb.engine.gpu.fused.unsupported import NotFused as NotFused

Bounds = tuple[int, int] | None
"""The least and the greatest value of an integer; None for a float."""
BOOLEAN = (0, 1)
WORD = 2**62
"""Keys' numbers in a hash table are less than this: what is above says that a slot is empty, or not yet written."""


@dataclass(frozen=True)
class Expr:
    """What every expression has."""

    bounds: Bounds
    nullable: bool

    @cached_property
    def _hash(self) -> int:
        values = tuple(value for name, value in self.__dict__.items() if name != "_hash")
        return hash((type(self).__name__, *values))

    def __hash__(self) -> int:
        return self._hash

    def __getstate__(self) -> dict[str, object]:
        # Another process has other hashes of text.
        return {name: value for name, value in self.__dict__.items() if name != "_hash"}


@dataclass(frozen=True)
class Field(Expr):
    """A column of the table, by its place among the pipeline's columns."""

    column: int


@dataclass(frozen=True)
class Payload(Expr):
    """A column of a lookup's build side, of the row's partner; NULL without one."""

    lookup: int
    column: int


@dataclass(frozen=True)
class Literal(Expr):
    """A constant; None is NULL. One that the statement gives is a parameter: another value makes no other kernel."""

    value: int | float | None
    given: bool = False


@dataclass(frozen=True)
class Arithmetic(Expr):
    """A sum, difference or product (of floats also a quotient). A result beyond `limits` is the error `code`.

    Bounds of an integer say what the result is within, where there is no error. Floats: `code` where finite operands
    give infinity, `under` where others than 0 give 0, `zero` for a quotient by 0 of what is no NaN.
    """

    op: OneOf["+", "-", "*", "/"]
    left: Expr
    right: Expr
    limits: Bounds = None
    code: int = 0
    under: int = 0
    zero: int = 0


@dataclass(frozen=True)
class Quotient(Expr):
    """An integer by a positive constant: cut towards zero, to the next below, or to the nearest (half away from 0).

    With `shift` the divisor is that power of two, and a parameter: another makes no other kernel.
    """

    arg: Expr
    divisor: int
    how: OneOf["truncate", "floor", "round"]
    shift: int | None = None


@dataclass(frozen=True)
class Checked(Expr):
    """An integer, or the error `code` where it is not within bounds."""

    arg: Expr
    code: int


@dataclass(frozen=True)
class Compare(Expr):
    """A comparison of two integers or two floats (NaN equals itself and is above all)."""

    op: OneOf["==", "!=", "<", "<=", ">", ">="]
    left: Expr
    right: Expr


@dataclass(frozen=True)
class Logic(Expr):
    """AND, OR and NOT in three-valued logic; an operand is reached unless one before it has decided."""

    op: OneOf["AND", "OR", "NOT"]
    args: tuple[Expr, ...]


@dataclass(frozen=True)
class IsNull(Expr):
    """Whether a value is NULL, or with `negated` that it is not."""

    arg: Expr
    negated: bool


@dataclass(frozen=True)
class IsBoolean(Expr):
    """Whether a boolean is this one, never NULL itself."""

    arg: Expr
    wanted: bool
    negated: bool


@dataclass(frozen=True)
class Mapped(Expr):
    """What a table has for an integer from 0 to `size` - 1; its entry number `size` is for NULL."""

    arg: Expr
    table: int
    size: int


@dataclass(frozen=True)
class Matches(Expr):
    """Whether a column of texts as they are is LIKE a pattern, which is a table of `length` bytes (see `like`).

    With `fold` both are taken in lower case; of ASCII alone.
    """

    arg: Expr
    table: int
    length: int
    fold: bool = False


@dataclass(frozen=True)
class Calendar(Expr):
    """A field of a date (days since 1970) or, with `micros`, of a timestamp (microseconds since 1970)."""

    field: OneOf["year", "month", "day", "quarter", "dow", "isodow", "doy", "hour", "minute"]
    arg: Expr
    micros: bool


@dataclass(frozen=True)
class Choose(Expr):
    """CASE: the value of the first condition that is true, else the default; only what is reached can fail."""

    branches: tuple[tuple[Expr, Expr], ...]
    default: Expr


@dataclass(frozen=True)
class Float(Expr):
    """An integer as a float, divided by a power of ten; or a float as one of 32 bits."""

    arg: Expr
    divisor: int = 1


@dataclass(frozen=True)
class Root(Expr):
    """The square root of a float; the error `code` for a negative one."""

    arg: Expr
    code: int


@dataclass(frozen=True)
class Ordered(Expr):
    """A float as an integer that orders as PostgreSQL orders floats; -0 is 0, or below it where `signed` keeps it."""

    arg: Expr
    signed: bool = False


@dataclass(frozen=True)
class Limb(Expr):
    """Bits of a wide integer, 32 from `number` * 32 on; of the last limb all that are left, with their sign."""

    arg: Expr
    number: int
    last: bool


for _kind in (
    Field, Payload, Literal, Arithmetic, Quotient, Checked, Compare, Logic, IsNull, IsBoolean, Mapped, Matches,
    Calendar, Choose, Float, Root, Ordered, Limb,
):  # fmt: skip
    _kind.__hash__ = Expr.__hash__  # type: ignore[method-assign]


# ---------------------------------------------------------------------------------------------- steps and sinks


@dataclass(frozen=True, slots=True)
class Filter:
    """Keeps the rows for which a condition is true."""

    condition: Expr


@dataclass(frozen=True, slots=True)
class Lookup:
    """Finds rows' partners in build side `number`.

    The keys' distances from the lows, in a number system of `sizes`, are one integer: an index of a direct table, or
    what a hash table is asked for. `payloads` are the bytes of each payload array (0: a float's 8), by column;
    `biases` what is added to a payload: 1 for "no partner" in the first of a direct table, 1 more where it can be NULL.
    Of semi, anti and left lookups a partner counts if the `condition` is true for it.
    """

    number: int
    kind: OneOf["inner", "left", "semi", "anti"]
    keys: tuple[Expr, ...]
    lows: tuple[int, ...]
    sizes: tuple[int, ...]
    hashed: bool
    unique: bool
    payloads: tuple[int, ...]
    biases: tuple[int, ...]
    bases: tuple[int, ...]
    presence: bool
    condition: Expr | None = None


@dataclass(frozen=True, slots=True)
class Key:
    """A group's key: its distance from `low`, less than `size`; a NULL is the distance `size` - 1."""

    expr: Expr
    low: int
    size: int


@dataclass(frozen=True, slots=True)
class Accumulator:
    """What a group keeps of a value that is not NULL: a sum of integers (modulo 2⁶⁴) or floats, the least, the most."""

    op: OneOf["add", "fadd", "min", "max"]
    value: Expr


@dataclass(frozen=True, slots=True)
class Groups:
    """Rows' groups: one without keys, `dense` ones in an array by the keys' number, others in a hash table.

    The first accumulator counts rows.
    """

    keys: tuple[Key, ...]
    accumulators: tuple[Accumulator, ...]
    form: OneOf["one", "dense", "hash"]

    @property
    def slots(self) -> int:
        """How many groups the keys' ranges allow."""
        return prod(key.size for key in self.keys)

    @property
    def words(self) -> list[tuple[Key, ...]]:
        """The keys, as many together as one word of a hash table holds; a direct table has one number of all."""
        if self.form != "hash":
            return [self.keys]
        found: list[list[Key]] = [[]]
        for key in self.keys:
            if prod(each.size for each in (*found[-1], key)) >= WORD:
                found.append([])
            found[-1].append(key)
        return [tuple(each) for each in found if each]


@dataclass(frozen=True, slots=True)
class Rows:
    """The values of every row that is left."""

    values: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Pipeline:
    """What runs over each segment: columns in the given forms, steps, and a sink. `tables` are those of Mapped:
    the bytes of an entry, and whether some are NULL. After `few` steps few rows may be left (None: many always)."""

    columns: tuple[Form, ...]
    steps: tuple[Filter | Lookup, ...]
    sink: Groups | Rows
    tables: tuple[tuple[int, bool], ...] = ()
    few: int | None = None

    @property
    def digest(self) -> str:
        """What tells pipelines apart, the same in every process."""
        return hashlib.sha256(repr(self).encode()).hexdigest()[:32]
