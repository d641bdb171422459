"""The fused pipeline: typed, immutable, over integers and floats alone. Kernels and NumPy run the same one.

A row of the table's columns passes `steps`, which drop it or find its match in a build side; remaining rows reach the
`sink`. Every expression is an integer within `bounds` (a boolean is 0 or 1, text is a dictionary code) or a float,
whose bounds are None. `nullable` says whether it can be NULL. An error that a row raises is a code of
`gpudb.engine.gpu.lower.error_codes`; the pipeline's error is the greatest code of all rows.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Literal as OneOf

from gpudb.analytics.trees.ensemble import TreeShape
from gpudb.engine.gpu.fused.columns.packed_column import Encoding
from gpudb.engine.gpu.fused.unsupported import NotFused as NotFused
from gpudb.plcuda.aggregates import CudaAggregate
from gpudb.plcuda.source import CudaFunction

Bounds = tuple[int, int] | None
"""The least and the greatest value of an integer; None for a float."""
BOOLEAN = (0, 1)
KEY_LIMIT = 2**62
"""Exclusive limit of the combined keys in a hash table; greater values mark a slot as empty or not yet written."""


@dataclass(frozen=True)
class Expr:
    """Base class of expressions."""

    bounds: Bounds
    nullable: bool

    @cached_property
    def _hash(self) -> int:
        values = tuple(value for name, value in self.__dict__.items() if name != "_hash")
        return hash((type(self).__name__, *values))

    def __hash__(self) -> int:
        return self._hash

    def __getstate__(self) -> dict[str, object]:
        # Hashes of strings differ between processes.
        return {name: value for name, value in self.__dict__.items() if name != "_hash"}


@dataclass(frozen=True)
class Field(Expr):
    """A column of the table, by its index among the pipeline's columns."""

    column: int


@dataclass(frozen=True)
class Payload(Expr):
    """A column of the build-side row that a lookup matched; NULL without a match."""

    lookup: int
    column: int


@dataclass(frozen=True)
class Literal(Expr):
    """A constant; None is NULL. A constant of the statement is a kernel parameter, so that kernels are reused."""

    value: int | float | None
    is_parameter: bool = False


@dataclass(frozen=True)
class Arithmetic(Expr):
    """A sum, difference or product (of floats also a quotient). A result beyond `limits` raises error `code`.

    An integer's bounds hold where no error is raised. For floats, `code` is raised where finite operands overflow to
    infinity, `under` where nonzero operands underflow to 0, `zero` where a number other than NaN is divided by 0.
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
    """An integer divided by a positive constant, and truncated, floored or rounded (half away from zero).

    With `shift` the divisor is that power of two, and a kernel parameter, so that kernels are reused.
    """

    arg: Expr
    divisor: int
    how: OneOf["truncate", "floor", "round"]
    shift: int | None = None


@dataclass(frozen=True)
class RangeCheck(Expr):
    """An integer; raises error `code` where it is out of bounds."""

    arg: Expr
    code: int


@dataclass(frozen=True)
class Compare(Expr):
    """A comparison of two integers or two floats (NaN equals itself and is greater than all)."""

    op: OneOf["==", "!=", "<", "<=", ">", ">="]
    left: Expr
    right: Expr


@dataclass(frozen=True)
class Logic(Expr):
    """AND, OR and NOT in three-valued logic; an operand is evaluated unless one before it has decided."""

    op: OneOf["AND", "OR", "NOT"]
    args: tuple[Expr, ...]


@dataclass(frozen=True)
class IsNull(Expr):
    """IS NULL, or IS NOT NULL where `negated`."""

    arg: Expr
    negated: bool


@dataclass(frozen=True)
class BooleanTest(Expr):
    """IS [NOT] TRUE and IS [NOT] FALSE; never NULL itself."""

    arg: Expr
    expected: bool
    negated: bool


@dataclass(frozen=True)
class TableEntry(Expr):
    """The entry of a table at an integer from 0 to `size` - 1; entry `size` is for NULL."""

    arg: Expr
    table: int
    size: int


@dataclass(frozen=True)
class LikeMatch(Expr):
    """Whether raw text is LIKE a pattern, which is a table of `length` bytes (see `numpy_backend.like`).

    With `fold` both are lowercased; for ASCII alone.
    """

    arg: Expr
    table: int
    length: int
    fold: bool = False


@dataclass(frozen=True)
class DateField(Expr):
    """A field of a date (days since 1970) or, with `micros`, of a timestamp (microseconds since 1970)."""

    field: OneOf["year", "month", "day", "quarter", "dow", "isodow", "doy", "hour", "minute"]
    arg: Expr
    micros: bool


@dataclass(frozen=True)
class CaseWhen(Expr):
    """CASE: the value of the first true condition, else the default; only what is evaluated can fail."""

    branches: tuple[tuple[Expr, Expr], ...]
    default: Expr


@dataclass(frozen=True)
class ToFloat(Expr):
    """An integer as a float, divided by a power of ten; or a float rounded to 32 bits."""

    arg: Expr
    divisor: int = 1


@dataclass(frozen=True)
class SquareRoot(Expr):
    """The square root of a float; raises error `code` for a negative one."""

    arg: Expr
    code: int


@dataclass(frozen=True)
class WholeFloat(Expr):
    """A float without its fraction: rounded down, up, towards zero, or to the nearest (halves to the even one)."""

    arg: Expr
    how: OneOf["floor", "ceil", "trunc", "rint"]


@dataclass(frozen=True)
class FloatToInteger(Expr):
    """A float rounded to the nearest integer, halves to the even one; raises error `code` out of bounds and for NaN."""

    arg: Expr
    code: int


@dataclass(frozen=True)
class FloatSortKey(Expr):
    """An integer that sorts as PostgreSQL sorts the float; -0 is 0, or below it where `signed`."""

    arg: Expr
    signed: bool = False


@dataclass(frozen=True)
class Limb(Expr):
    """32 bits of a wide integer from bit `number` * 32 on; the last limb has all remaining bits, with their sign."""

    arg: Expr
    number: int
    last: bool


@dataclass(frozen=True)
class BodyCall(Expr):
    """A call of a PL/CUDA function with values of its parameters' types.

    It is evaluated only for the rows that reach it, a strict one for those without NULL. The errors of the body are the
    codes from `code` on.
    """

    function: CudaFunction
    args: tuple[Expr, ...]
    code: int


@dataclass(frozen=True)
class TreeScore(Expr):
    """The score of features by an ensemble of trees, whose arrays are the four tables from `table` on.

    A float, the sum after its transform; or an integer, the number of a class. A feature that is NULL is missing.
    """

    args: tuple[Expr, ...]
    shape: TreeShape
    table: int


@dataclass(frozen=True)
class FoldInput(Expr):
    """What a row adds to a state of a PL/CUDA aggregate: its arguments, if the row is kept. It has no value.

    Errors of the transition function are the codes from `code` on, those of the combine function from `combine_code`.
    """

    aggregate: CudaAggregate
    args: tuple[Expr, ...]
    keep: Expr | None
    code: int
    combine_code: int


for _kind in (
    Field, Payload, Literal, Arithmetic, Quotient, RangeCheck, Compare, Logic, IsNull, BooleanTest, TableEntry,
    LikeMatch, DateField, CaseWhen, ToFloat, SquareRoot, WholeFloat, FloatToInteger, FloatSortKey, Limb, BodyCall,
    FoldInput, TreeScore,
):  # fmt: skip
    _kind.__hash__ = Expr.__hash__  # type: ignore[method-assign]


# ---------------------------------------------------------------------------------------------- steps and sinks


@dataclass(frozen=True, slots=True)
class Filter:
    """Keeps the rows for which a condition is true."""

    condition: Expr


@dataclass(frozen=True, slots=True)
class Lookup:
    """Probes build side `number` for a row's match.

    The keys' distances from `lows` combine to one integer in a mixed radix of `sizes`: an index of a direct table, or
    the key of a hash table. `payloads` are the bytes of each payload array by column (0: a float's 8). `biases` are
    added to payloads: 1 for "no match" in the first array of a direct table, 1 more where a payload can be NULL. In
    semi, anti and left lookups a match counts if `condition` is true for it.
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

    def payload_offset(self, column: int) -> int:
        """Returns what is added to a stored payload, modulo 2⁶⁴: distances from the base may need all 64 bits."""
        return (self.bases[column] - self.biases[column]) % 2**64

    def null_payload(self, column: int) -> int | None:
        """Returns the stored payload that means NULL; None if no payload of this column does."""
        direct = column == 0 and self.unique and not self.hashed and not self.presence
        return self.biases[column] - 1 if self.biases[column] > direct else None


@dataclass(frozen=True, slots=True)
class Key:
    """A grouping key: its distance from `low`, less than `size`; NULL is the distance `size` - 1."""

    expr: Expr
    low: int
    size: int


@dataclass(frozen=True, slots=True)
class Accumulator:
    """An accumulator over values that are not NULL: a sum of integers (modulo 2⁶⁴) or floats, a minimum, a maximum.

    The words of a PL/CUDA aggregate are consecutive ones of the operation `fold` and one FoldInput: what its cell has,
    then the bits of each field of the state (see `gpudb.plcuda.aggregates`).
    """

    op: OneOf["add", "fadd", "min", "max", "fold"]
    value: Expr
    word: int = 0


@dataclass(frozen=True, slots=True)
class GroupSink:
    """Groups rows: one group without keys, a `dense` array indexed by the combined keys, or a hash table.

    The first accumulator counts rows.
    """

    keys: tuple[Key, ...]
    accumulators: tuple[Accumulator, ...]
    storage: OneOf["one", "dense", "hash"]

    @property
    def slots(self) -> int:
        """Number of groups that the keys' ranges allow."""
        return prod(key.size for key in self.keys)

    @property
    def key_words(self) -> list[tuple[Key, ...]]:
        """The keys, split into words that a hash table compares; a direct table has one word of all keys."""
        if self.storage != "hash":
            return [self.keys]
        found: list[list[Key]] = [[]]
        for key in self.keys:
            if prod(each.size for each in (*found[-1], key)) >= KEY_LIMIT:
                found.append([])
            found[-1].append(key)
        return [tuple(each) for each in found if each]


@dataclass(frozen=True, slots=True)
class RowSink:
    """Outputs the values of every remaining row."""

    values: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A pipeline that runs over each segment: column encodings, steps and a sink.

    `tables` describe those of TableEntry: bytes per entry, and whether some entries are NULL. After `few_rows_after`
    steps few rows may remain (None: always many).
    """

    columns: tuple[Encoding, ...]
    steps: tuple[Filter | Lookup, ...]
    sink: GroupSink | RowSink
    tables: tuple[tuple[int, bool], ...] = ()
    few_rows_after: int | None = None

    @property
    def digest(self) -> str:
        """Identifies the pipeline, the same in every process."""
        return hashlib.sha256(repr(self).encode()).hexdigest()[:32]
