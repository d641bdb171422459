"""Queries: SELECT, set operations and VALUES, with their output columns and WITH queries."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from gpudb.catalog.tables import Table
from gpudb.sql.prepared import Prepared
from gpudb.sql.tree import TreeNode
from gpudb.types import SqlType

if TYPE_CHECKING:
    from gpudb.sql.bound import Expr, From, SortKey


ALL_ROWS = (1 << 63) - 1
"""The LIMIT that no result reaches: no engine moves a condition from above it to below it."""


@dataclass(frozen=True, slots=True)
class OutputColumn:
    """An output column of a query; `table_oid` and `number` identify an unchanged column of a table."""

    name: str
    type: SqlType
    table_oid: int = 0
    number: int = 0


@dataclass(frozen=True, slots=True)
class Cte(TreeNode):
    """WITH name AS [NOT] [MATERIALIZED] (query), under a number that is unique in the statement."""

    children = ("query",)

    number: int
    name: str
    query: Query
    materialized: bool | None = None
    recursive: bool = False


@dataclass(frozen=True, slots=True)
class RowLock:
    """The lock that FOR UPDATE and its like take for the rows of scan number `rel`; `clause` is their name.

    The scan may be within a subquery or view of the FROM clause.
    """

    rel: int
    table: Table
    clause: str
    shared: bool
    nowait: bool
    skips: bool


@dataclass(frozen=True, slots=True)
class Select(TreeNode):
    """SELECT. `targets` correspond to `columns`; GROUP BY and ORDER BY hold whole expressions, never positions.

    `grouping_sets` holds positions in `group_by`; `grouped` is true for a query with GROUP BY, HAVING or an
    aggregate. `distinct` is True, False, or the expressions of DISTINCT ON. The session takes the `locks` of rows;
    engines do not see them.
    """

    children = ("targets", "source", "where", "group_by", "having", "distinct", "order_by", "limit", "offset", "ctes")

    columns: tuple[OutputColumn, ...]
    targets: tuple[Expr, ...]
    source: From | None = None
    where: Expr | None = None
    grouped: bool = False
    group_by: tuple[Expr, ...] = ()
    grouping_sets: tuple[tuple[int, ...], ...] | None = None
    having: Expr | None = None
    distinct: bool | tuple[Expr, ...] = False
    order_by: tuple[SortKey, ...] = ()
    limit: Expr | None = None
    offset: Expr | None = None
    ctes: tuple[Cte, ...] = ()
    locks: tuple[RowLock, ...] = ()
    prepared: Prepared = field(default_factory=Prepared, init=False, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class SetOperation(TreeNode):
    """UNION, INTERSECT or EXCEPT [ALL]. Sort keys are positions in `columns`."""

    children = ("left", "right", "limit", "offset", "ctes")

    columns: tuple[OutputColumn, ...]
    op: Literal["UNION", "INTERSECT", "EXCEPT"]
    all: bool
    left: Query
    right: Query
    order_by: tuple[tuple[int, bool, bool], ...] = ()
    limit: Expr | None = None
    offset: Expr | None = None
    ctes: tuple[Cte, ...] = ()
    prepared: Prepared = field(default_factory=Prepared, init=False, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Values(TreeNode):
    """VALUES (…), (…)."""

    children = ("rows", "limit", "offset", "ctes")

    columns: tuple[OutputColumn, ...]
    rows: tuple[tuple[Expr, ...], ...]
    order_by: tuple[tuple[int, bool, bool], ...] = ()
    limit: Expr | None = None
    offset: Expr | None = None
    ctes: tuple[Cte, ...] = ()
    prepared: Prepared = field(default_factory=Prepared, init=False, repr=False, compare=False)


Query = Select | SetOperation | Values
