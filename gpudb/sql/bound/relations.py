"""Relations: what a FROM clause reads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from gpudb.catalog.file_tables import FileTable
from gpudb.catalog.tables import Table
from gpudb.functions.registry import Function
from gpudb.sql.tree import TreeNode

if TYPE_CHECKING:
    from gpudb.sql.bound import Expr, OutputColumn, Query


@dataclass(frozen=True, slots=True)
class Scan(TreeNode):
    """A table scan. With `row_ids`, two more columns follow: the file's path and the row's number in it.

    They are for a change of the table, or for a scan that `only_reads` them. It is `addressed` if addresses of its rows
    are computed from them.
    """

    rel: int
    table: Table
    row_ids: bool = False
    only_reads: bool = False
    addressed: bool = False

    @property
    def is_target(self) -> bool:
        """Whether it reads the rows that a statement changes."""
        return self.row_ids and not self.only_reads


@dataclass(frozen=True, slots=True)
class SystemScan(TreeNode):
    """A scan of a relation of pg_catalog or information_schema, by its qualified name."""

    rel: int
    name: str
    columns: tuple[OutputColumn, ...]


@dataclass(frozen=True, slots=True)
class FrameScan(TreeNode):
    """A scan of a registered Arrow, Polars or pandas frame, by its registered name."""

    rel: int
    name: str
    columns: tuple[OutputColumn, ...]


@dataclass(frozen=True, slots=True)
class FileScan(TreeNode):
    """A scan of files: the columns are the table's, hidden ones included."""

    rel: int
    files: FileTable
    columns: tuple[OutputColumn, ...]


@dataclass(frozen=True, slots=True)
class ForeignScan(TreeNode):
    """A scan of a foreign table whose rows are elsewhere, until the statement runs: a scan of files takes its place.

    It uses the user mapping of `role`: the owner of a view or of a SECURITY DEFINER routine, or None for the current
    role.
    """

    rel: int
    table: Table
    columns: tuple[OutputColumn, ...]
    role: str | None = None


@dataclass(frozen=True, slots=True)
class Derived(TreeNode):
    """A subquery in FROM; a `lateral` one sees the relations to its left."""

    children = ("query",)

    rel: int
    query: Query
    lateral: bool = False


@dataclass(frozen=True, slots=True)
class CteScan(TreeNode):
    """A scan of a WITH query, by the number of its definition."""

    rel: int
    cte: int


@dataclass(frozen=True, slots=True)
class FunctionScan(TreeNode):
    """A function in FROM: one column for its value or each field of its record, and one for `ordinality`."""

    children = ("args",)

    rel: int
    function: Function
    args: tuple[Expr, ...]
    columns: tuple[OutputColumn, ...]
    ordinality: bool = False
    lateral: bool = False


@dataclass(frozen=True, slots=True)
class TableFunction(TreeNode):
    """A function over the rows of queries, in FROM: the session calls it, and its rows take the place of this node.

    Each query has first so many columns that the result takes over (`kept`), then `features` as float8, then what else
    the function reads. `args` are the values of its parameters `names`.
    """

    children = ("queries", "args")

    rel: int
    function: Function
    queries: tuple[Query, ...]
    kept: tuple[int, ...]
    features: tuple[str, ...]
    names: tuple[str, ...]
    args: tuple[Expr, ...]
    columns: tuple[OutputColumn, ...]


@dataclass(frozen=True, slots=True)
class Join(TreeNode):
    """A join of two relations; `on` is None for CROSS. The binder rewrites USING and NATURAL to equalities."""

    children = ("left", "right", "on")

    kind: Literal["INNER", "LEFT", "RIGHT", "FULL", "CROSS"]
    left: From
    right: From
    on: Expr | None


From = Scan | SystemScan | FrameScan | FileScan | ForeignScan | Derived | CteScan | FunctionScan | TableFunction | Join
