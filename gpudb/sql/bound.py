"""Bound statements: immutable and typed, with every name resolved and every implicit cast explicit.

Relations of a FROM clause have numbers (`rel`) that are unique in the statement. A `Column` refers to a relation and a
position in it, so a correlated reference is a column of an outer query's relation. Arguments have exactly the types
that the function takes: nothing downstream converts them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from gpudb.catalog.file_tables import FileTable
from gpudb.catalog.tables import Table
from gpudb.functions.registry import Function
from gpudb.sql.prepared import Prepared
from gpudb.types import BOOL, INT4, RECORD, SqlType

# ---------------------------------------------------------------------------------------------- expressions


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a relation, by its position from 0. Messages and output columns use `name`."""

    rel: int
    index: int
    type: SqlType
    name: str = ""


@dataclass(frozen=True, slots=True)
class Constant:
    """A constant, in the representation of `gpudb.values`; None is NULL."""

    value: object
    type: SqlType

    def __hash__(self) -> int:
        try:
            return hash((self.value, self.type))
        except TypeError:
            return hash(self.type)  # arrays are lists


@dataclass(frozen=True, slots=True)
class Parameter:
    """Parameter `$number` of a prepared statement."""

    number: int
    type: SqlType


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a function or operator; `function` is PostgreSQL's."""

    function: Function
    args: tuple[Expr, ...]
    type: SqlType


@dataclass(frozen=True, slots=True)
class Cast:
    """A conversion to `type`. An `explicit` cast truncates strings that are too long; any other raises 22001."""

    arg: Expr
    type: SqlType
    explicit: bool = False

    @property
    def is_relabel(self) -> bool:
        """Whether the cast only drops the declared modifier of a type and changes no value."""
        return self.arg.type.without_modifier == self.type


@dataclass(frozen=True, slots=True)
class Constrained:
    """`arg` as a value of a domain: 23502 for NULL under `not_null`, 23514 for the first check that is false.

    `checks` are the names and conditions of constraints, in which DomainValue stands for the value.
    """

    arg: Expr
    checks: tuple[tuple[str, Expr], ...]
    not_null: bool
    type: SqlType


@dataclass(frozen=True, slots=True)
class DomainValue:
    """VALUE in a domain's check: the `arg` of the enclosing Constrained."""

    type: SqlType


@dataclass(frozen=True, slots=True)
class BoolOp:
    """AND, OR or NOT over booleans, in three-valued logic."""

    op: Literal["AND", "OR", "NOT"]
    args: tuple[Expr, ...]
    type: SqlType = BOOL


@dataclass(frozen=True, slots=True)
class Test:
    """IS [NOT] NULL, TRUE, FALSE or UNKNOWN: never NULL itself."""

    arg: Expr
    what: Literal["NULL", "TRUE", "FALSE", "UNKNOWN"]
    negated: bool = False
    type: SqlType = BOOL


@dataclass(frozen=True, slots=True)
class DistinctFrom:
    """IS [NOT] DISTINCT FROM over two values of one type."""

    left: Expr
    right: Expr
    negated: bool
    type: SqlType = BOOL


@dataclass(frozen=True, slots=True)
class Case:
    """CASE WHEN condition THEN value … ELSE default END; the binder rewrites a simple CASE to this form."""

    branches: tuple[tuple[Expr, Expr], ...]
    default: Expr
    type: SqlType


@dataclass(frozen=True, slots=True)
class Choice:
    """COALESCE, GREATEST or LEAST over values of one type; GREATEST and LEAST ignore NULLs."""

    op: Literal["COALESCE", "GREATEST", "LEAST"]
    args: tuple[Expr, ...]
    type: SqlType


@dataclass(frozen=True, slots=True)
class InList:
    """arg [NOT] IN (items), all of one type."""

    arg: Expr
    items: tuple[Expr, ...]
    negated: bool
    type: SqlType = BOOL


@dataclass(frozen=True, slots=True)
class AnyArray:
    """left op ANY (array), or ALL; `function` compares `left` with an element."""

    function: Function
    left: Expr
    array: Expr
    all: bool
    type: SqlType = BOOL


@dataclass(frozen=True, slots=True)
class Array:
    """ARRAY[…] of items of one type."""

    items: tuple[Expr, ...]
    type: SqlType


@dataclass(frozen=True, slots=True)
class Subscript:
    """array[index], or array[low:high] if `slice` is set; a slice's bound may be None.

    `inner` holds the bounds of a slice's further dimensions.
    """

    arg: Expr
    low: Expr | None
    high: Expr | None
    slice: bool
    type: SqlType
    inner: tuple[tuple[Expr | None, Expr | None], ...] = ()


@dataclass(frozen=True, slots=True)
class ArrayAssignment:
    """An array in which `replacement` replaces the item at `high`, a subscript for each dimension.

    The array grows if needed. With `slice`, the items of the array `replacement` replace those from `low` to `high`;
    NULL changes nothing.
    """

    arg: Expr
    low: Expr | None
    high: tuple[Expr | None, ...]
    slice: bool
    replacement: Expr
    type: SqlType


@dataclass(frozen=True, slots=True)
class JsonbAssignment:
    """A jsonb value in which `replacement` replaces the value at `path`, a text for each step.

    Missing containers are created. A NULL becomes an array if the first step is a number (`numbered`), else an object.
    """

    arg: Expr
    path: tuple[Expr, ...]
    numbered: bool
    replacement: Expr
    type: SqlType


@dataclass(frozen=True, slots=True)
class Field:
    """(row).field; `index` is the position from 0 among the fields of the row's type."""

    arg: Expr
    field: str
    type: SqlType
    index: int


@dataclass(frozen=True, slots=True)
class Row:
    """ROW(…), of a type with its items as `fields`; a `whole` row of a relation compares as one value."""

    items: tuple[Expr, ...]
    type: SqlType = RECORD
    whole: bool = False


@dataclass(frozen=True, slots=True)
class ScalarSubquery:
    """(SELECT …) as a value: NULL without rows, 21000 with more than one."""

    query: Query
    type: SqlType


@dataclass(frozen=True, slots=True)
class ArraySubquery:
    """ARRAY(SELECT …)."""

    query: Query
    type: SqlType


@dataclass(frozen=True, slots=True)
class Exists:
    """EXISTS (SELECT …)."""

    query: Query
    type: SqlType = BOOL


@dataclass(frozen=True, slots=True)
class AnySubquery:
    """left op ANY (SELECT …), or ALL; IN is `= ANY`. The query has as many columns as `left` has items."""

    functions: tuple[Function, ...]
    left: tuple[Expr, ...]
    query: Query
    all: bool
    type: SqlType = BOOL


SUBQUERIES = (ScalarSubquery, ArraySubquery, Exists, AnySubquery)
"""Expressions that contain a query."""


@dataclass(frozen=True, slots=True)
class SortKey:
    """An ORDER BY item with an explicit position of NULLs."""

    expr: Expr
    descending: bool
    nulls_first: bool


@dataclass(frozen=True, slots=True)
class Aggregate:
    """An aggregate call; it belongs to the query that contains it. `star` is count(*)."""

    function: Function
    args: tuple[Expr, ...]
    type: SqlType
    distinct: bool = False
    order_by: tuple[SortKey, ...] = ()
    within_group: tuple[SortKey, ...] = ()
    filter: Expr | None = None
    star: bool = False


@dataclass(frozen=True, slots=True)
class Grouping:
    """GROUPING(…): a bit mask over grouping expressions."""

    args: tuple[Expr, ...]
    type: SqlType = INT4


@dataclass(frozen=True, slots=True)
class Frame:
    """A window frame. Bounds are `UNBOUNDED PRECEDING`, `CURRENT ROW`, `PRECEDING`, … with an optional offset."""

    unit: Literal["ROWS", "RANGE", "GROUPS"]
    start: str
    start_offset: Expr | None
    end: str
    end_offset: Expr | None
    exclude: str | None = None


@dataclass(frozen=True, slots=True)
class Window:
    """A window call; `function` is an aggregate or a window function."""

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
class SetReturning:
    """A set-returning function in a select list: one row for each of its values."""

    function: Function
    args: tuple[Expr, ...]
    type: SqlType


@dataclass(frozen=True, slots=True)
class Default:
    """DEFAULT in INSERT or UPDATE, until the column's default replaces it."""

    type: SqlType


@dataclass(frozen=True, slots=True)
class Let:
    """`body` over computed values: columns of relation `rel`, a negative number, are `values`, computed once."""

    rel: int
    values: tuple[Expr, ...]
    body: Expr
    type: SqlType


@dataclass(frozen=True, slots=True)
class Fold:
    """The value of `body` after the last of `rows`, an array of records, starting from `initial`.

    In `body`, column 0 of relation `rel` is the value so far and column 1 of relation `item` is the current row; both
    numbers are negative. A NULL array counts as an empty one.
    """

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
    | Let
    | Fold
    | Default
)

# ---------------------------------------------------------------------------------------------- relations


@dataclass(frozen=True, slots=True)
class Scan:
    """A table scan. With `row_ids`, two more columns follow: the file's path and the row's number in it."""

    rel: int
    table: Table
    row_ids: bool = False


@dataclass(frozen=True, slots=True)
class SystemScan:
    """A scan of a relation of pg_catalog or information_schema, by its qualified name."""

    rel: int
    name: str
    columns: tuple[OutputColumn, ...]


@dataclass(frozen=True, slots=True)
class FrameScan:
    """A scan of a registered Arrow, Polars or pandas frame, by its registered name."""

    rel: int
    name: str
    columns: tuple[OutputColumn, ...]


@dataclass(frozen=True, slots=True)
class FileScan:
    """A scan of files: the columns are the table's, hidden ones included."""

    rel: int
    files: FileTable
    columns: tuple[OutputColumn, ...]


@dataclass(frozen=True, slots=True)
class ForeignScan:
    """A scan of a foreign table whose rows are elsewhere, until the statement runs: a scan of files takes its place.

    It uses the user mapping of `role`: the owner of a view or of a SECURITY DEFINER routine, or None for the current
    role.
    """

    rel: int
    table: Table
    columns: tuple[OutputColumn, ...]
    role: str | None = None


@dataclass(frozen=True, slots=True)
class Derived:
    """A subquery in FROM; a `lateral` one sees the relations to its left."""

    rel: int
    query: Query
    lateral: bool = False


@dataclass(frozen=True, slots=True)
class CteScan:
    """A scan of a WITH query, by the number of its definition."""

    rel: int
    cte: int


@dataclass(frozen=True, slots=True)
class FunctionScan:
    """A function in FROM: one column for its value or each field of its record, and one for `ordinality`."""

    rel: int
    function: Function
    args: tuple[Expr, ...]
    columns: tuple[OutputColumn, ...]
    ordinality: bool = False
    lateral: bool = False


@dataclass(frozen=True, slots=True)
class Join:
    """A join of two relations; `on` is None for CROSS. The binder rewrites USING and NATURAL to equalities."""

    kind: Literal["INNER", "LEFT", "RIGHT", "FULL", "CROSS"]
    left: From
    right: From
    on: Expr | None


From = Scan | SystemScan | FrameScan | FileScan | ForeignScan | Derived | CteScan | FunctionScan | Join

# ---------------------------------------------------------------------------------------------- queries


@dataclass(frozen=True, slots=True)
class OutputColumn:
    """An output column of a query; `table_oid` and `number` identify an unchanged column of a table."""

    name: str
    type: SqlType
    table_oid: int = 0
    number: int = 0


@dataclass(frozen=True, slots=True)
class Cte:
    """WITH name AS [NOT] [MATERIALIZED] (query), under a number that is unique in the statement."""

    number: int
    name: str
    query: Query
    materialized: bool | None = None
    recursive: bool = False


@dataclass(frozen=True, slots=True)
class Select:
    """SELECT. `targets` correspond to `columns`; GROUP BY and ORDER BY hold whole expressions, never positions.

    `grouping_sets` holds positions in `group_by`; `grouped` is true for a query with GROUP BY, HAVING or an
    aggregate. `distinct` is True, False, or the expressions of DISTINCT ON.
    """

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
    prepared: Prepared = field(default_factory=Prepared, init=False, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class SetOperation:
    """UNION, INTERSECT or EXCEPT [ALL]. Sort keys are positions in `columns`."""

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
class Values:
    """VALUES (…), (…)."""

    columns: tuple[OutputColumn, ...]
    rows: tuple[tuple[Expr, ...], ...]
    order_by: tuple[tuple[int, bool, bool], ...] = ()
    limit: Expr | None = None
    offset: Expr | None = None
    ctes: tuple[Cte, ...] = ()
    prepared: Prepared = field(default_factory=Prepared, init=False, repr=False, compare=False)


Query = Select | SetOperation | Values

# ---------------------------------------------------------------------------------------------- statements


CHANGED = "gpudb changed rows"
"""The frame from which RETURNING reads the rows that a statement wrote or removed."""


NEW_ROWS = "gpudb new rows"
"""The frame of rows that are about to be written: the table's columns, then each row's number from 0."""

ROW_NUMBER = "gpudb$row"


@dataclass(frozen=True, slots=True)
class OnConflict:
    """ON CONFLICT DO NOTHING, or DO UPDATE if `update` is set; both queries read the frame NEW_ROWS.

    `same_keys` returns each row's number and, for each arbiter key, the number of the first row with the same key (its
    own number if NULLs make the key distinct). `conflicts` returns the numbers of the rows whose key the table already
    has, with the file and number of the stored row. For DO UPDATE there is one key, and `conflicts` also returns
    whether WHERE accepts the row, and every new column; columns outside `assigned` keep their values.
    """

    update: bool
    same_keys: Query
    conflicts: Query
    assigned: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Insert:
    """INSERT: `query` returns every column of the table, in order, defaults included."""

    table: Table
    query: Query
    returning: Select | None = None
    on_conflict: OnConflict | None = None


@dataclass(frozen=True, slots=True)
class Update:
    """UPDATE: `query` returns the rows to change.

    Each has its file, its number in the file, every new column, and the columns of other relations that RETURNING
    reads; of a view with INSTEAD OF triggers also every old column. `named` are the columns that SET names.
    """

    table: Table
    query: Query
    returning: Select | None = None
    named: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class Delete:
    """DELETE: `query` returns the rows to remove.

    Each has its file, its number in the file, every old column, and the columns of other relations that RETURNING
    reads.
    """

    table: Table
    query: Query
    returning: Select | None = None


@dataclass(frozen=True, slots=True)
class Merge:
    """MERGE: `query` returns the rows to write or remove.

    Each has the action (1 insert, 2 update, 3 delete), the file and number of the stored row (NULL for an insert), and
    every column: the new ones, or the old ones of a delete. An update keeps the columns that are not `assigned`.
    `events` are those of its WHEN clauses: INSERT, UPDATE, DELETE.
    """

    table: Table
    query: Query
    returning: Select | None = None
    assigned: frozenset[str] = frozenset()
    events: tuple[str, ...] = ()


DataChange = Insert | Update | Delete | Merge


Part = tuple[str, Query | DataChange]


@dataclass(frozen=True, slots=True)
class WithChanges:
    """A statement whose WITH changes data. All parts see one snapshot: everything is computed before any write.

    Each part runs once, in order: `parts` before `statement`, and those `after` behind it, which it does not read. The
    rows that a part's query or RETURNING returns are a frame of the part's name, which later parts may read.
    """

    parts: tuple[Part, ...]
    statement: Query | DataChange
    after: tuple[Part, ...] = ()


Statement = Query | DataChange | WithChanges


@dataclass(frozen=True, slots=True)
class RowLock:
    """The lock that FOR UPDATE and its like take for the rows of scan number `rel`; `clause` is their name."""

    rel: int
    table: Table
    clause: str
    shared: bool
    nowait: bool
    skips: bool


def output_columns(statement: Statement) -> tuple[OutputColumn, ...] | None:
    """Returns the output columns of a statement; None if it returns no rows."""
    if isinstance(statement, WithChanges):
        return output_columns(statement.statement)
    if isinstance(statement, DataChange):
        return None if statement.returning is None else statement.returning.columns
    return statement.columns
