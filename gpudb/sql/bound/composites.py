"""Expressions over arrays, records and jsonb values: their construction, parts, and assignments to a part."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpudb.sql.tree import TreeNode
from gpudb.types import RECORD, SqlType

if TYPE_CHECKING:
    from gpudb.sql.bound import Expr


@dataclass(frozen=True, slots=True)
class Array(TreeNode):
    """ARRAY[…] of items of one type."""

    children = ("items",)

    items: tuple[Expr, ...]
    type: SqlType


@dataclass(frozen=True, slots=True)
class Subscript(TreeNode):
    """array[index], or array[low:high] if `slice` is set; a slice's bound may be None.

    `inner` holds the bounds of a slice's further dimensions.
    """

    children = ("arg", "low", "high", "inner")

    arg: Expr
    low: Expr | None
    high: Expr | None
    slice: bool
    type: SqlType
    inner: tuple[tuple[Expr | None, Expr | None], ...] = ()


@dataclass(frozen=True, slots=True)
class ArrayAssignment(TreeNode):
    """An array in which `replacement` replaces the item at `high`, a subscript for each dimension.

    The array grows if needed. With `slice`, the items of the array `replacement` replace those from `low` to `high`;
    NULL changes nothing.
    """

    children = ("arg", "low", "high", "replacement")

    arg: Expr
    low: Expr | None
    high: tuple[Expr | None, ...]
    slice: bool
    replacement: Expr
    type: SqlType


@dataclass(frozen=True, slots=True)
class JsonbAssignment(TreeNode):
    """A jsonb value in which `replacement` replaces the value at `path`, a text for each step.

    Missing containers are created. A NULL becomes an array if the first step is a number (`numbered`), else an object.
    """

    children = ("arg", "path", "replacement")

    arg: Expr
    path: tuple[Expr, ...]
    numbered: bool
    replacement: Expr
    type: SqlType


@dataclass(frozen=True, slots=True)
class Field(TreeNode):
    """(row).field; `index` is the position from 0 among the fields of the row's type."""

    children = ("arg",)

    arg: Expr
    field: str
    type: SqlType
    index: int


@dataclass(frozen=True, slots=True)
class Row(TreeNode):
    """ROW(…), of a type with its items as `fields`; a `whole` row of a relation compares as one value."""

    children = ("items",)

    items: tuple[Expr, ...]
    type: SqlType = RECORD
    whole: bool = False
