"""The bound statement: immutable, typed, every name resolved, every implicit cast explicit.

Relations of a FROM clause carry numbers (`rel`) that are unique in the whole statement; a `Column` names a relation
and a position in it, so a correlated reference is simply a column of a relation further out. Types of arguments are
exactly what the function takes: nothing downstream converts on its own.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from gpudb.catalog.model import Table
from gpudb.functions.registry import Function
from gpudb.sql.prepared import Prepared
from gpudb.types import BOOL, INT4, RECORD, SqlType

# ---------------------------------------------------------------------------------------------- expressions


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a relation, by its position from 0; `name` is for messages and output names."""

    rel: int
    index: int
    type: SqlType
    name: str = ""


@dataclass(frozen=True, slots=True)
class Constant:
    """A value known now, as `gpudb.values` holds it; None is NULL."""

    value: object
    type: SqlType

    def __hash__(self) -> int:
        try:
            return hash((self.value, self.type))
        except TypeError:
            return hash(self.type)  # arrays are lists


@dataclass(frozen=True, slots=True)
class Parameter:
    """`$number` of a prepared statement."""

    number: int
    type: SqlType


@dataclass(frozen=True, slots=True)
class Call:
    """A function or operator applied; `function` says which of PostgreSQL's it is."""

    function: Function
    args: tuple[Expr, ...]
    type: SqlType


@dataclass(frozen=True, slots=True)
class Cast:
    """A conversion to `type`. `explicit` casts cut strings that are too long; others raise 22001."""

    arg: Expr
    type: SqlType
    explicit: bool = False

    @property
    def relabels(self) -> bool:
        """Whether this leaves out what is declared of a type, and changes no value."""
        return self.arg.type.undeclared == self.type


@dataclass(frozen=True, slots=True)
class Constrained:
    """`arg` as a value of a domain: 23502 for NULL under `not_null`, 23514 for the first check that is false.

    `checks` are constraints' names and conditions, in which DomainValue stands for the value.
    """

    arg: Expr
    checks: tuple[tuple[str, Expr], ...]
    not_null: bool
    type: SqlType


@dataclass(frozen=True, slots=True)
class DomainValue:
    """VALUE in a domain's check: what the Constrained around it has for `arg`."""

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
    """CASE WHEN condition THEN value … ELSE default END; a simple CASE has been made one of these."""

    branches: tuple[tuple[Expr, Expr], ...]
    default: Expr
    type: SqlType


@dataclass(frozen=True, slots=True)
class Choice:
    """COALESCE, GREATEST or LEAST over values of one type (the last two pass over NULLs)."""

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
    """left op ANY (array), or ALL: `function` compares left with an element."""

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
    """array[index], or array[low:high] where `slice` is set; a bound may be None in a slice.

    `inner` holds the bounds of a slice's further dimensions.
    """

    arg: Expr
    low: Expr | None
    high: Expr | None
    slice: bool
    type: SqlType
    inner: tuple[tuple[Expr | None, Expr | None], ...] = ()


@dataclass(frozen=True, slots=True)
class Replaced:
    """An array with its item at `high`, a subscript for each dimension, replaced by `given`; it grows as it must.

    With `slice` the items from `low` to `high` are those of the array `given`, which changes nothing if it is NULL.
    """

    arg: Expr
    low: Expr | None
    high: tuple[Expr | None, ...]
    slice: bool
    given: Expr
    type: SqlType


@dataclass(frozen=True, slots=True)
class PathReplaced:
    """jsonb with what stands at `path`, a text for each step, replaced by `given`; containers are made as they lack.

    Of a NULL an array is made where the first step is a number (`numbered`), else an object.
    """

    arg: Expr
    path: tuple[Expr, ...]
    numbered: bool
    given: Expr
    type: SqlType


@dataclass(frozen=True, slots=True)
class Field:
    """(row).field; `index` is its position among the fields of the row's type, from 0."""

    arg: Expr
    field: str
    type: SqlType
    index: int


@dataclass(frozen=True, slots=True)
class Row:
    """ROW(…), of a type whose `fields` are its items'; `whole` for a relation's name, which compares as one value."""

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
    """left op ANY (SELECT …), or ALL; IN is `= ANY`. More than one column where `left` has more than one item."""

    functions: tuple[Function, ...]
    left: tuple[Expr, ...]
    query: Query
    all: bool
    type: SqlType = BOOL


SUBQUERIES = (ScalarSubquery, ArraySubquery, Exists, AnySubquery)
"""Expressions that have a query."""


@dataclass(frozen=True, slots=True)
class SortKey:
    """An ORDER BY item; PostgreSQL's default for NULLs has been filled in."""

    expr: Expr
    descending: bool
    nulls_first: bool


@dataclass(frozen=True, slots=True)
class Aggregate:
    """An aggregate call of the query that it stands in. `star` is count(*)."""

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
    """A window frame. Bounds are `UNBOUNDED PRECEDING`, `CURRENT ROW`, `PRECEDING`, … with an offset or None."""

    unit: Literal["ROWS", "RANGE", "GROUPS"]
    start: str
    start_offset: Expr | None
    end: str
    end_offset: Expr | None
    exclude: str | None = None


@dataclass(frozen=True, slots=True)
class Window:
    """OVER (…): `function` is an aggregate or a window function."""

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
    """DEFAULT in INSERT or UPDATE, before it is replaced by the column's default."""

    type: SqlType


@dataclass(frozen=True, slots=True)
class Let:
    """`body`, in which columns of the relation `rel`, a negative number, are `values`, each computed once."""

    rel: int
    values: tuple[Expr, ...]
    body: Expr
    type: SqlType


@dataclass(frozen=True, slots=True)
class Fold:
    """The value that `body` leaves after the last of `rows`, an array of records, starting from `initial`.

    In the body column 0 of the relation `rel` is the value so far and column 1 of `item` the row at hand, both
    relations negative numbers. NULL for an array counts as one without items.
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
    | Replaced
    | PathReplaced
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
    """A table read. With `row_ids` two columns follow the table's own: the file's path and the row's number in it."""

    rel: int
    table: Table
    row_ids: bool = False


@dataclass(frozen=True, slots=True)
class SystemScan:
    """A relation of pg_catalog or information_schema, by its qualified name."""

    rel: int
    name: str
    columns: tuple[OutputColumn, ...]


@dataclass(frozen=True, slots=True)
class FrameScan:
    """A registered Arrow, Polars or pandas frame, by its registered name."""

    rel: int
    name: str
    columns: tuple[OutputColumn, ...]


@dataclass(frozen=True, slots=True)
class Derived:
    """A subquery in FROM; `lateral` ones see the relations to their left."""

    rel: int
    query: Query
    lateral: bool = False


@dataclass(frozen=True, slots=True)
class CteScan:
    """A reference to a WITH query, by the number of its definition."""

    rel: int
    cte: int


@dataclass(frozen=True, slots=True)
class FunctionScan:
    """A function in FROM: a column for its value, or its record's, and one more under `ordinality`."""

    rel: int
    function: Function
    args: tuple[Expr, ...]
    columns: tuple[OutputColumn, ...]
    ordinality: bool = False
    lateral: bool = False


@dataclass(frozen=True, slots=True)
class Join:
    """Two relations joined; `on` is None for CROSS. USING and NATURAL have become equalities."""

    kind: Literal["INNER", "LEFT", "RIGHT", "FULL", "CROSS"]
    left: From
    right: From
    on: Expr | None


From = Scan | SystemScan | FrameScan | Derived | CteScan | FunctionScan | Join

# ---------------------------------------------------------------------------------------------- queries


@dataclass(frozen=True, slots=True)
class OutputColumn:
    """A column that a query gives; `table_oid` and `number` where it is a table's column unchanged."""

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
    """SELECT. `targets` stand beside `columns`; GROUP BY and ORDER BY hold whole expressions, no positions.

    `grouping_sets` holds positions into `group_by`; `grouped` is true for a query with GROUP BY, HAVING or an
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
    """UNION, INTERSECT or EXCEPT [ALL]. Sort keys are positions into `columns`."""

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
"""The frame under which RETURNING finds the rows that a statement wrote or removed."""


NEW_ROWS = "gpudb new rows"
"""The frame of rows that are about to be written: the table's columns, and behind them each row's number from 0."""

ROW_NUMBER = "gpudb$row"


@dataclass(frozen=True, slots=True)
class OnConflict:
    """ON CONFLICT DO NOTHING, or DO UPDATE where `update` is set; both queries are over the frame NEW_ROWS.

    `same_keys` gives each row's number and, for each key that is looked at, the number of the first row that has the
    same key (its own where NULLs make it different from all). `conflicts` gives the numbers of the rows whose key the
    table has already, with the file and number of the row that is there; for DO UPDATE also whether its WHERE lets
    them, and every new column, of which those not `assigned` are as they were; there is one key then.
    """

    update: bool
    same_keys: Query
    conflicts: Query
    assigned: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Insert:
    """INSERT: `query` gives every column of the table, in order, defaults filled in."""

    table: Table
    query: Query
    returning: Select | None = None
    on_conflict: OnConflict | None = None


@dataclass(frozen=True, slots=True)
class Update:
    """UPDATE: `query` gives, for each row to change, its file, its number in the file, every new column, and behind
    those what RETURNING reads of other relations."""

    table: Table
    query: Query
    returning: Select | None = None


@dataclass(frozen=True, slots=True)
class Delete:
    """DELETE: `query` gives, for each row to go, its file, its number in the file, every old column, and behind those
    what RETURNING reads of other relations."""

    table: Table
    query: Query
    returning: Select | None = None


@dataclass(frozen=True, slots=True)
class Merge:
    """MERGE: `query` gives, for each row to write or remove, what to do (1 insert, 2 update, 3 delete), the file and
    the number in it of the row that is there (NULL for an insert), and every column: new ones, or old of a delete.

    An update leaves the columns as they were that are not `assigned`.
    """

    table: Table
    query: Query
    returning: Select | None = None
    assigned: frozenset[str] = frozenset()


DataChange = Insert | Update | Delete | Merge


Part = tuple[str, Query | DataChange]


@dataclass(frozen=True, slots=True)
class WithChanges:
    """A statement whose WITH changes data. All of it sees one snapshot: nothing is written before all is computed.

    `parts` are carried out once each, in order, those `after` behind `statement`, which does not read them; the rows
    that one gives, of a query or by RETURNING, are the frame of its name, which what comes after it may read.
    """

    parts: tuple[Part, ...]
    statement: Query | DataChange
    after: tuple[Part, ...] = ()


Statement = Query | DataChange | WithChanges


def outputs(statement: Statement) -> tuple[OutputColumn, ...] | None:
    """The columns that a statement gives; None for one without rows."""
    if isinstance(statement, WithChanges):
        return outputs(statement.statement)
    if isinstance(statement, DataChange):
        return None if statement.returning is None else statement.returning.columns
    return statement.columns
