"""Nodes of plans: immutable and typed; a column is known by its position in the node's output.

Expressions are those of the bound statement (`gpudb.sql.bound`), with one difference: a `Column` has relation `INPUT`
and names a position in the node's input. In a join the left columns come first and the right columns follow.
Expressions hold no subqueries. Aggregates and window calls occur only in `Aggregate` and `Window`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from operator import attrgetter, is_
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from gpudb.catalog.tables import Table
from gpudb.sql import bound
from gpudb.sql.bound import Expr
from gpudb.sql.tree import TreeNode
from gpudb.types import INT8, SqlType

INPUT = 0
"""Relation of every column in a plan's expressions."""
WHOLE = (0, 1)
"""Part of a scan that covers all rows: part 0 of 1."""

JoinKind = Literal["INNER", "LEFT", "FULL", "SEMI", "ANTI"]


def column(index: int, kind: SqlType, name: str = "") -> bound.Column:
    """Returns a reference to the input's column at a position."""
    return bound.Column(INPUT, index, kind, name)


@dataclass(frozen=True, slots=True)
class _Fields:
    """A node class's fields: a getter of all values, and the positions of those that are inputs, left first."""

    values: Callable[[Node], tuple[Any, ...]]
    inputs: tuple[int, ...]


_FIELDS_BY_KIND: dict[type[Node], _Fields] = {}


def _field_names(kind: type[Node]) -> _Fields:
    found = _FIELDS_BY_KIND.get(kind)
    if found is None:
        names = [each.name for each in fields(kind)]
        getter = attrgetter(*names)
        values = getter if len(names) > 1 else lambda node: (getter(node),)
        found = _FIELDS_BY_KIND[kind] = _Fields(values, tuple(map(names.index, kind.children)))
    return found


class Node(TreeNode):
    """Base of all nodes: the nodes that it reads, and the types and names of its output columns.

    These are computed on first use and cached in slots, as is the node's `profile` (see `cost.estimate`). They are no
    fields: comparison, hashing and pickling ignore them. The fields are declared: `children` hold the nodes that it
    reads, `expressions` expressions.
    """

    __slots__ = ("inputs", "names", "profile", "types")

    expressions: ClassVar[tuple[str, ...]] = ()
    """The fields that hold expressions."""
    inputs: tuple[Node, ...]
    """The nodes that this node reads, left first."""
    types: tuple[SqlType, ...]
    """Types of the output columns."""
    names: tuple[str, ...]
    """Names of the output columns, as EXPLAIN shows them."""

    def _compute_inputs(self) -> tuple[Node, ...]:
        own = _field_names(self.__class__)
        values = own.values(self)
        return tuple([values[place] for place in own.inputs])

    def _compute_types(self) -> tuple[SqlType, ...]:
        return self.inputs[0].types

    def _compute_names(self) -> tuple[str, ...]:
        return self.inputs[0].names

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Computes an attribute whose slot is empty."""
            if name == "types":
                value = self._compute_types()
            elif name == "inputs":
                value = self._compute_inputs()
            elif name == "names":
                value = self._compute_names()
            else:
                raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
            object.__setattr__(self, name, value)
            return value

    def with_inputs(self, *inputs: Node) -> Self:
        """Returns the same node over other inputs that have the same columns."""
        assert len(inputs) == len(self.inputs)
        if all(map(is_, inputs, self.inputs)):
            return self
        own = _field_names(self.__class__)
        values = list(own.values(self))
        for place, value in zip(own.inputs, inputs, strict=True):
            values[place] = value
        # Takes less time than `replace`; plans are rebuilt often.
        return self.__class__(*values)

    def __reduce__(self) -> tuple[type[Self], tuple[Any, ...]]:
        """Pickles the fields alone, by the constructor: it takes half the time of the state that dataclasses define."""
        return self.__class__, _field_names(self.__class__).values(self)


@dataclass(frozen=True, slots=True)
class Scan(Node):
    """Columns of a table, by their positions in it. `filter` is over the scan's own output.

    A worker reads its share of the rows, or `part` (number, count) of them; WHOLE is all of them. Rows for which
    `optional_filter` is not true may be left out but need not be; rows for which `filter` is not true are always left
    out.
    """

    expressions = ("filter", "optional_filter")

    table: Table
    columns: tuple[int, ...]
    filter: Expr | None = None
    part: tuple[int, int] | None = None
    optional_filter: Expr | None = None

    def _compute_types(self) -> tuple[SqlType, ...]:
        return tuple(self.table.columns[index].type for index in self.columns)

    def _compute_names(self) -> tuple[str, ...]:
        return tuple(self.table.columns[index].name for index in self.columns)


@dataclass(frozen=True, slots=True)
class Values(Node):
    """Rows of expressions over no input: constants, parameters and what is computed from them."""

    expressions = ("rows",)

    rows: tuple[tuple[Expr, ...], ...]
    columns: tuple[SqlType, ...]

    def _compute_types(self) -> tuple[SqlType, ...]:
        return self.columns

    def _compute_names(self) -> tuple[str, ...]:
        return tuple(f"column{number}" for number in range(1, len(self.columns) + 1))


@dataclass(frozen=True, slots=True)
class Filter(Node):
    """The input rows for which `condition` is true."""

    children = ("input",)
    expressions = ("condition",)

    input: Node
    condition: Expr


@dataclass(frozen=True, slots=True)
class Project(Node):
    """Expressions over each input row."""

    children = ("input",)
    expressions = ("exprs",)

    input: Node
    exprs: tuple[Expr, ...]
    labels: tuple[str, ...] = ()

    def _compute_types(self) -> tuple[SqlType, ...]:
        return tuple(expr.type for expr in self.exprs)

    def _compute_names(self) -> tuple[str, ...]:
        if self.labels:
            return self.labels
        return tuple(
            expr.name or self.input.names[expr.index] if isinstance(expr, bound.Column) else f"column{number}"
            for number, expr in enumerate(self.exprs, 1)
        )


@dataclass(frozen=True, slots=True)
class Join(Node):
    """Pairs of rows whose `keys` are equal (NULLs never are) and for which `condition` is true.

    The left expression of a key reads the left input's columns alone, the right one the right input's; both have one
    type. `condition` reads both inputs. SEMI and ANTI return left columns only. `null_aware` marks the anti-join of NOT
    IN, which has one key: it keeps a row unless the comparison with some right row is true or unknown. `fans_out` says
    that far more rows are expected than either input has.
    """

    children = ("left", "right")
    expressions = ("keys", "condition")

    kind: JoinKind
    left: Node
    right: Node
    keys: tuple[tuple[Expr, Expr], ...] = ()
    condition: Expr | None = None
    null_aware: bool = False
    fans_out: bool = False

    def _compute_types(self) -> tuple[SqlType, ...]:
        return self.left.types if self.kind in {"SEMI", "ANTI"} else self.left.types + self.right.types

    def _compute_names(self) -> tuple[str, ...]:
        return self.left.names if self.kind in {"SEMI", "ANTI"} else self.left.names + self.right.names


@dataclass(frozen=True, slots=True)
class AsofJoin(Node):
    """Each left row beside the right row of equal `keys` (NULLs never are) whose time is nearest, of several any.

    Keys and `times` are as in `Join`. `operator` compares the left time with the right one; the nearest right time is
    the greatest for >= and >, else the least. A nearest row for which `condition`, which reads both inputs, is not true
    is no match. LEFT returns left rows without a match beside NULLs.
    """

    children = ("left", "right")
    expressions = ("keys", "times", "condition")

    kind: Literal["INNER", "LEFT"]
    left: Node
    right: Node
    keys: tuple[tuple[Expr, Expr], ...]
    times: tuple[Expr, Expr]
    operator: Literal[">=", ">", "<=", "<"]
    condition: Expr | None = None

    def _compute_types(self) -> tuple[SqlType, ...]:
        return self.left.types + self.right.types

    def _compute_names(self) -> tuple[str, ...]:
        return self.left.names + self.right.names


@dataclass(frozen=True, slots=True)
class Aggregate(Node):
    """Groups of the input by `keys`: the key values, then `calls`. Without keys there is always one row."""

    children = ("input",)
    expressions = ("keys", "calls")

    input: Node
    keys: tuple[Expr, ...]
    calls: tuple[bound.Aggregate, ...] = ()

    def _compute_types(self) -> tuple[SqlType, ...]:
        return tuple(key.type for key in self.keys) + tuple(call.type for call in self.calls)

    def _compute_names(self) -> tuple[str, ...]:
        keys = tuple(
            self.input.names[key.index] if isinstance(key, bound.Column) else f"key{number}"
            for number, key in enumerate(self.keys, 1)
        )
        return keys + tuple(call.function.name for call in self.calls)


@dataclass(frozen=True, slots=True)
class Window(Node):
    """The input's columns, then the values of window calls that share one PARTITION BY."""

    children = ("input",)
    expressions = ("calls",)

    input: Node
    calls: tuple[bound.Window, ...]

    def _compute_types(self) -> tuple[SqlType, ...]:
        return self.input.types + tuple(call.type for call in self.calls)

    def _compute_names(self) -> tuple[str, ...]:
        return self.input.names + tuple(call.function.name for call in self.calls)


@dataclass(frozen=True, slots=True)
class AssignUniqueId(Node):
    """The input's columns, then a bigint that is unique to each row across all workers."""

    children = ("input",)

    input: Node

    def _compute_types(self) -> tuple[SqlType, ...]:
        return (*self.input.types, INT8)

    def _compute_names(self) -> tuple[str, ...]:
        return (*self.input.names, "row")


@dataclass(frozen=True, slots=True)
class ProjectSet(Node):
    """Each input row's columns beside the rows of set-returning calls.

    There are as many rows as the longest set has; shorter sets are filled with NULLs. With `numbered` the last column
    counts the rows from 1.
    """

    children = ("input",)
    expressions = ("calls",)

    input: Node
    calls: tuple[bound.SetReturning, ...]
    numbered: bool = False

    def _compute_types(self) -> tuple[SqlType, ...]:
        return self.input.types + tuple(call.type for call in self.calls) + (INT8,) * self.numbered

    def _compute_names(self) -> tuple[str, ...]:
        names = self.input.names + tuple(call.function.name for call in self.calls)
        return names + ("ordinality",) * self.numbered


@dataclass(frozen=True, slots=True)
class Sort(Node):
    """The input rows in order; `limit` and `offset` (expressions over no input) restrict them."""

    children = ("input",)
    expressions = ("keys", "limit", "offset")

    input: Node
    keys: tuple[bound.SortKey, ...]
    limit: Expr | None = None
    offset: Expr | None = None


@dataclass(frozen=True, slots=True)
class DistinctOn(Node):
    """The first row of each group of equal `keys`, by `order`."""

    children = ("input",)
    expressions = ("keys", "order")

    input: Node
    keys: tuple[Expr, ...]
    order: tuple[bound.SortKey, ...]


@dataclass(frozen=True, slots=True)
class SetOperation(Node):
    """UNION ALL, or INTERSECT and EXCEPT with or without ALL, of two inputs of the same types."""

    children = ("left", "right")

    op: Literal["UNION", "INTERSECT", "EXCEPT"]
    all: bool
    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class Shared(Node):
    """A subplan with several uses; equal numbers denote one result."""

    children = ("input",)

    input: Node
    number: int


@dataclass(frozen=True, slots=True)
class Recursive(Node):
    """WITH RECURSIVE: the left input's rows, then repeatedly the right input's over the previous iteration's rows.

    The right input reads those rows through the `WorkTableScan` of the same number. Iteration ends when the right input
    returns no rows. With `distinct` only rows that are new are kept.
    """

    children = ("left", "right")

    left: Node
    right: Node
    number: int
    distinct: bool


class DeclaredLeaf(Node):
    """Leaf whose columns are declared by name and type."""

    __slots__ = ()

    columns: tuple[tuple[str, SqlType], ...]

    def _compute_types(self) -> tuple[SqlType, ...]:
        return tuple(kind for _, kind in self.columns)

    def _compute_names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.columns)


@dataclass(frozen=True, slots=True)
class WorkTableScan(DeclaredLeaf):
    """The rows of the previous iteration, in the right input of a Recursive."""

    number: int
    columns: tuple[tuple[str, SqlType], ...]


@dataclass(frozen=True, slots=True)
class Exchange(Node):
    """Rows moved between workers.

    hash: by the values of `keys`, equal ones to one worker; with `hash_name` to the worker that has their bucket (see
    `distribution.Distribution`). broadcast: all rows to every worker. gather: all rows to one. range: by `order`,
    worker by worker; equal rows stay on one worker with `keep_peers`.
    """

    children = ("input",)
    expressions = ("keys", "order")

    input: Node
    kind: Literal["hash", "broadcast", "gather", "range"]
    keys: tuple[Expr, ...] = ()
    order: tuple[bound.SortKey, ...] = ()
    hash_name: str = ""
    keep_peers: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """A whole query: its root and its output columns."""

    root: Node
    columns: tuple[bound.OutputColumn, ...]
