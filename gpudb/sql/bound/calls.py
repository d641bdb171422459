"""Calls of functions, aggregates and window functions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from gpudb.analytics.trees.ensemble import TreeEnsemble
from gpudb.functions.registry import Function
from gpudb.sql.tree import TreeNode
from gpudb.types import INT4, SqlType

if TYPE_CHECKING:
    from gpudb.sql.bound import Expr


@dataclass(frozen=True, slots=True)
class Call(TreeNode):
    """A call of a function or operator; `function` is PostgreSQL's."""

    children = ("args",)

    function: Function
    args: tuple[Expr, ...]
    type: SqlType


@dataclass(frozen=True, slots=True)
class TreeScore(TreeNode):
    """The score of a row by an ensemble of trees, whose features are `args`: numbers or booleans; NULL is missing.

    A float8; or, of a type that is none, the number of a class, which stands for one of `labels` if there are any.
    """

    children = ("args",)

    ensemble: TreeEnsemble
    args: tuple[Expr, ...]
    type: SqlType
    labels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SortKey(TreeNode):
    """An ORDER BY item with an explicit position of NULLs."""

    children = ("expr",)

    expr: Expr
    descending: bool
    nulls_first: bool


@dataclass(frozen=True, slots=True)
class Aggregate(TreeNode):
    """An aggregate call; it belongs to the query that contains it. `star` is count(*)."""

    children = ("args", "order_by", "within_group", "filter")

    function: Function
    args: tuple[Expr, ...]
    type: SqlType
    distinct: bool = False
    order_by: tuple[SortKey, ...] = ()
    within_group: tuple[SortKey, ...] = ()
    filter: Expr | None = None
    star: bool = False


@dataclass(frozen=True, slots=True)
class Grouping(TreeNode):
    """GROUPING(…): a bit mask over grouping expressions."""

    children = ("args",)

    args: tuple[Expr, ...]
    type: SqlType = INT4


@dataclass(frozen=True, slots=True)
class Frame(TreeNode):
    """A window frame. Bounds are `UNBOUNDED PRECEDING`, `CURRENT ROW`, `PRECEDING`, … with an optional offset."""

    children = ("start_offset", "end_offset")

    unit: Literal["ROWS", "RANGE", "GROUPS"]
    start: str
    start_offset: Expr | None
    end: str
    end_offset: Expr | None
    exclude: str | None = None


@dataclass(frozen=True, slots=True)
class Window(TreeNode):
    """A window call; `function` is an aggregate or a window function."""

    children = ("args", "partition_by", "order_by", "frame", "filter")

    function: Function
    args: tuple[Expr, ...]
    type: SqlType
    partition_by: tuple[Expr, ...] = ()
    order_by: tuple[SortKey, ...] = ()
    frame: Frame | None = None
    filter: Expr | None = None
    distinct: bool = False
    star: bool = False


@dataclass(frozen=True, slots=True)
class SetReturning(TreeNode):
    """A set-returning function in a select list: one row for each of its values."""

    children = ("args",)

    function: Function
    args: tuple[Expr, ...]
    type: SqlType
