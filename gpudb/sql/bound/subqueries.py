"""Expressions that contain a query."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpudb.functions.registry import Function
from gpudb.sql.tree import TreeNode
from gpudb.types import BOOL, SqlType

if TYPE_CHECKING:
    from gpudb.sql.bound import Expr, Query


@dataclass(frozen=True, slots=True)
class ScalarSubquery(TreeNode):
    """(SELECT …) as a value: NULL without rows, 21000 with more than one."""

    children = ("query",)

    query: Query
    type: SqlType


@dataclass(frozen=True, slots=True)
class ArraySubquery(TreeNode):
    """ARRAY(SELECT …)."""

    children = ("query",)

    query: Query
    type: SqlType


@dataclass(frozen=True, slots=True)
class Exists(TreeNode):
    """EXISTS (SELECT …)."""

    children = ("query",)

    query: Query
    type: SqlType = BOOL


@dataclass(frozen=True, slots=True)
class AnySubquery(TreeNode):
    """left op ANY (SELECT …), or ALL; IN is `= ANY`. The query has as many columns as `left` has items."""

    children = ("left", "query")

    functions: tuple[Function, ...]
    left: tuple[Expr, ...]
    query: Query
    all: bool
    type: SqlType = BOOL


SUBQUERIES = (ScalarSubquery, ArraySubquery, Exists, AnySubquery)
"""Expressions that contain a query."""
