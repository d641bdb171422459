"""Statements that change data, alone or in WITH; `Statement` is any statement that reads or writes rows."""

from __future__ import annotations

from dataclasses import dataclass

from gpudb.catalog.tables import Table
from gpudb.sql.bound.queries import OutputColumn, Query, Select
from gpudb.sql.tree import TreeNode

CHANGED = "gpudb changed rows"
"""The frame from which RETURNING reads the rows that a statement wrote or removed."""


NEW_ROWS = "gpudb new rows"
"""The frame of rows that are about to be written: the table's columns, then each row's number from 0."""

ROW_NUMBER = "gpudb$row"

OLD_ROWS = "gpudb old rows"
"""The frame of rows that are about to be changed: each one's file and number in it, then its number from 0."""


POLICY_CHECK, VIEW_CHECK = "42501", "44000"
"""The SQLSTATEs of a row that a policy rejects, and of one that a view's CHECK OPTION rejects."""


@dataclass(frozen=True, slots=True)
class RowCheck(TreeNode):
    """Conditions that rows must meet before they are written, or changed: those of policies, or of a view.

    `query` reads the frame NEW_ROWS, or OLD_ROWS for stored rows, and returns a row's number and the position of a
    condition: those of the first row that does not meet all, and of its first one; no row if there is none. `errors`
    are the SQLSTATE and the message of each condition.
    """

    children = ("query",)

    query: Query
    errors: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class OnConflict(TreeNode):
    """ON CONFLICT DO NOTHING, or DO UPDATE if `update` is set; both queries read the frame NEW_ROWS.

    `same_keys` returns each row's number and, for each arbiter key, the number of the first row with the same key (its
    own number if NULLs make the key distinct). `conflicts` returns the numbers of the rows whose key the table already
    has, with the file and number of the stored row. For DO UPDATE there is one key, and `conflicts` also returns
    whether WHERE accepts the row, and every new column; columns outside `assigned` keep their values. For exclusion
    constraints `pairs` returns the numbers of two rows that exclude each other, the later one first.
    """

    children = ("conflicts", "old_check", "new_check")
    apart = ("same_keys", "pairs")

    update: bool
    same_keys: Query
    conflicts: Query
    assigned: frozenset[str] = frozenset()
    old_check: RowCheck | None = None
    new_check: RowCheck | None = None
    pairs: Query | None = None


@dataclass(frozen=True, slots=True)
class Insert(TreeNode):
    """INSERT: `query` returns every column of the table, in order, defaults included.

    Here as in every change, `target` is the number of the relation that stands for the target, `check` is about
    each new row, and `view_check` about each written one.
    """

    children = ("query", "on_conflict", "returning", "check", "view_check")

    table: Table
    query: Query
    returning: Select | None = None
    on_conflict: OnConflict | None = None
    target: int = 0
    check: RowCheck | None = None
    view_check: RowCheck | None = None


@dataclass(frozen=True, slots=True)
class Update(TreeNode):
    """UPDATE: `query` returns the rows to change.

    Each has its file, its number in the file, every new column, and the columns of other relations that RETURNING
    reads; of a view with INSTEAD OF triggers also every old column. `named` are the columns that SET names.
    """

    children = ("query", "returning", "check", "view_check")

    table: Table
    query: Query
    returning: Select | None = None
    named: frozenset[str] | None = None
    target: int = 0
    check: RowCheck | None = None
    view_check: RowCheck | None = None


@dataclass(frozen=True, slots=True)
class Delete(TreeNode):
    """DELETE: `query` returns the rows to remove.

    Each has its file, its number in the file, every old column, and the columns of other relations that RETURNING
    reads.
    """

    children = ("query", "returning")

    table: Table
    query: Query
    returning: Select | None = None
    target: int = 0


@dataclass(frozen=True, slots=True)
class Merge(TreeNode):
    """MERGE: `query` returns the rows to write or remove.

    Each has the action (1 insert, 2 update, 3 delete), the file and number of the stored row (NULL for an insert), and
    every column: the new ones, or the old ones of a delete. An update keeps the columns that are not `assigned`.
    `events` are those of its WHEN clauses: INSERT, UPDATE, DELETE. The checks are about the rows that it inserts, the
    new rows of updates, and the stored rows that it updates or deletes.
    """

    children = ("query", "returning", "insert_check", "update_check", "updated_check", "deleted_check")

    table: Table
    query: Query
    returning: Select | None = None
    assigned: frozenset[str] = frozenset()
    events: tuple[str, ...] = ()
    target: int = 0
    insert_check: RowCheck | None = None
    update_check: RowCheck | None = None
    updated_check: RowCheck | None = None
    deleted_check: RowCheck | None = None


DataChange = Insert | Update | Delete | Merge


Part = tuple[str, Query | DataChange]


@dataclass(frozen=True, slots=True)
class WithChanges(TreeNode):
    """A statement whose WITH changes data. All parts see one snapshot: everything is computed before any write.

    Each part runs once, in order: `parts` before `statement`, and those `after` behind it, which it does not read. The
    rows that a part's query or RETURNING returns are a frame of the part's name, which later parts may read.
    """

    children = ("parts", "after", "statement")

    parts: tuple[Part, ...]
    statement: Query | DataChange
    after: tuple[Part, ...] = ()


Statement = Query | DataChange | WithChanges


def output_columns(statement: Statement) -> tuple[OutputColumn, ...] | None:
    """Returns the output columns of a statement; None if it returns no rows."""
    if isinstance(statement, WithChanges):
        return output_columns(statement.statement)
    if isinstance(statement, DataChange):
        return None if statement.returning is None else statement.returning.columns
    return statement.columns
