"""Expressions: columns, constants, conversions, logic and computed values; `Expr` is any expression."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from gpudb.functions.registry import Function
from gpudb.sql.bound.calls import Aggregate, Call, Grouping, SetReturning, TreeScore, Window
from gpudb.sql.bound.composites import Array, ArrayAssignment, Field, JsonbAssignment, Row, Subscript
from gpudb.sql.bound.subqueries import AnySubquery, ArraySubquery, Exists, ScalarSubquery
from gpudb.sql.tree import TreeNode
from gpudb.types import BOOL, SqlType


@dataclass(frozen=True, slots=True)
class Column(TreeNode):
    """A column of a relation, by its position from 0. Messages and output columns use `name`."""

    rel: int
    index: int
    type: SqlType
    name: str = ""


@dataclass(frozen=True, slots=True)
class Constant(TreeNode):
    """A constant, in the representation of `gpudb.values`; None is NULL."""

    value: object
    type: SqlType

    def __hash__(self) -> int:
        try:
            return hash((self.value, self.type))
        except TypeError:
            return hash(self.type)  # arrays are lists


@dataclass(frozen=True, slots=True)
class Parameter(TreeNode):
    """Parameter `$number` of a prepared statement."""

    number: int
    type: SqlType


@dataclass(frozen=True, slots=True)
class Cast(TreeNode):
    """A conversion to `type`. An `explicit` cast truncates strings that are too long; any other raises 22001.

    `column` is the name of a table's column for which a wide numeric is brought into 128 bits.
    """

    children = ("arg",)

    arg: Expr
    type: SqlType
    explicit: bool = False
    column: str = ""

    @property
    def is_relabel(self) -> bool:
        """Whether the cast only drops the declared modifier of a type and changes no value."""
        return self.arg.type.without_modifier == self.type


@dataclass(frozen=True, slots=True)
class Constrained(TreeNode):
    """`arg` as a value of a domain: 23502 for NULL under `not_null`, 23514 for the first check that is false.

    `checks` are the names and conditions of constraints, in which DomainValue stands for the value.
    """

    children = ("arg", "checks")

    arg: Expr
    checks: tuple[tuple[str, Expr], ...]
    not_null: bool
    type: SqlType


@dataclass(frozen=True, slots=True)
class DomainValue(TreeNode):
    """VALUE in a domain's check: the `arg` of the enclosing Constrained."""

    type: SqlType


@dataclass(frozen=True, slots=True)
class BoolOp(TreeNode):
    """AND, OR or NOT over booleans, in three-valued logic."""

    children = ("args",)

    op: Literal["AND", "OR", "NOT"]
    args: tuple[Expr, ...]
    type: SqlType = BOOL


@dataclass(frozen=True, slots=True)
class Test(TreeNode):
    """IS [NOT] NULL, TRUE, FALSE or UNKNOWN: never NULL itself."""

    children = ("arg",)

    arg: Expr
    what: Literal["NULL", "TRUE", "FALSE", "UNKNOWN"]
    negated: bool = False
    type: SqlType = BOOL


@dataclass(frozen=True, slots=True)
class DistinctFrom(TreeNode):
    """IS [NOT] DISTINCT FROM over two values of one type."""

    children = ("left", "right")

    left: Expr
    right: Expr
    negated: bool
    type: SqlType = BOOL


@dataclass(frozen=True, slots=True)
class Case(TreeNode):
    """CASE WHEN condition THEN value … ELSE default END; the binder rewrites a simple CASE to this form."""

    children = ("branches", "default")

    branches: tuple[tuple[Expr, Expr], ...]
    default: Expr
    type: SqlType


@dataclass(frozen=True, slots=True)
class Choice(TreeNode):
    """COALESCE, GREATEST or LEAST over values of one type; GREATEST and LEAST ignore NULLs."""

    children = ("args",)

    op: Literal["COALESCE", "GREATEST", "LEAST"]
    args: tuple[Expr, ...]
    type: SqlType


@dataclass(frozen=True, slots=True)
class InList(TreeNode):
    """arg [NOT] IN (items), all of one type."""

    children = ("arg", "items")

    arg: Expr
    items: tuple[Expr, ...]
    negated: bool
    type: SqlType = BOOL


@dataclass(frozen=True, slots=True)
class AnyArray(TreeNode):
    """left op ANY (array), or ALL; `function` compares `left` with an element."""

    children = ("left", "array")

    function: Function
    left: Expr
    array: Expr
    all: bool
    type: SqlType = BOOL


@dataclass(frozen=True, slots=True)
class Default(TreeNode):
    """DEFAULT in INSERT or UPDATE, until the column's default replaces it."""

    type: SqlType


@dataclass(frozen=True, slots=True)
class Let(TreeNode):
    """`body` over computed values: columns of relation `rel`, a negative number, are `values`, computed once."""

    children = ("values", "body")

    rel: int
    values: tuple[Expr, ...]
    body: Expr
    type: SqlType


@dataclass(frozen=True, slots=True)
class Fold(TreeNode):
    """The value of `body` after the last of `rows`, an array of records, starting from `initial`.

    In `body`, column 0 of relation `rel` is the value so far and column 1 of relation `item` is the current row; both
    numbers are negative. A NULL array counts as an empty one.
    """

    children = ("rows", "initial", "body")

    rel: int
    item: int
    rows: Expr
    initial: Expr
    body: Expr
    type: SqlType


Expr = (
    Column
    | Constant
    | Parameter
    | Call
    | Cast
    | Constrained
    | DomainValue
    | BoolOp
    | Test
    | DistinctFrom
    | Case
    | Choice
    | InList
    | AnyArray
    | Array
    | Subscript
    | ArrayAssignment
    | JsonbAssignment
    | Field
    | Row
    | ScalarSubquery
    | ArraySubquery
    | Exists
    | AnySubquery
    | Aggregate
    | Grouping
    | Window
    | SetReturning
    | TreeScore
    | Let
    | Fold
    | Default
)
