"""The plan's nodes: immutable, typed, each column known by its position in the node's output.

Expressions are those of the bound statement (`gpudb.sql.bound`), with one difference: a `Column` has relation `INPUT`
and names a position in the node's input; of a join, the left columns come first and the right ones follow. There are no
subqueries in them, and aggregates and window calls stand only in `Aggregate` and `Window`.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from operator import is_
from typing import Any, Literal, Self

from gpudb.catalog.model import Table
from gpudb.sql import bound
from gpudb.sql.bound import Expr
from gpudb.types import INT8, SqlType

INPUT = 0
"""The relation of every column of a plan's expressions."""
WHOLE = (0, 1)
"""The part of a scan that is all of it: the rows of the one worker of one."""

JoinKind = Literal["INNER", "LEFT", "FULL", "SEMI", "ANTI"]


def column(index: int, kind: SqlType, name: str = "") -> bound.Column:
    """The input's column at a position."""
    return bound.Column(INPUT, index, kind, name)


_FIELDS: dict[type, tuple[tuple[str, ...], tuple[str, ...]]] = {}


def _field_names(kind: type[Node]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names of a kind's fields, and of those among them that are its inputs, left first."""
    found = _FIELDS.get(kind)
    if found is None:
        every = tuple(each.name for each in fields(kind))
        found = _FIELDS[kind] = every, tuple(name for name in ("input", "left", "right") if name in every)
    return found


@dataclass(frozen=True)
class Node:
    """What every node has: the nodes that it reads, and the types and names of the columns that it gives."""

    def __getstate__(self) -> dict[str, Any]:
        """What another process gets: the fields alone, without what was found out of them."""
        return {name: self.__dict__[name] for name in _field_names(self.__class__)[0]}

    @cached_property
    def inputs(self) -> tuple[Node, ...]:
        """The nodes that it reads, left first."""
        held = self.__dict__
        return tuple([held[name] for name in _field_names(self.__class__)[1]])

    def with_inputs(self, *inputs: Node) -> Self:
        """The same node over other inputs, which give the same columns."""
        assert len(inputs) == len(self.inputs)
        if all(map(is_, inputs, self.inputs)):
            return self
        every, changed = _field_names(self.__class__)
        held = self.__dict__
        # A quarter of what `replace` takes, and plans are rebuilt all the time.
        made: Self = object.__new__(self.__class__)
        made.__dict__.update({name: held[name] for name in every})
        made.__dict__.update(zip(changed, inputs, strict=True))
        return made

    @cached_property
    def types(self) -> tuple[SqlType, ...]:
        """The types of the output's columns: the first input's, where a node gives its columns on."""
        return self.inputs[0].types

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The output's columns as EXPLAIN names them."""
        return self.inputs[0].names


@dataclass(frozen=True)
class Scan(Node):
    """Some columns of a table, by their positions in it. `filter` is over the scan's own output.

    A worker reads its share of the rows, or `part`: those of one worker of so many, WHOLE being all of them. Rows for
    which `wanted`, like `filter`, is not true may be left out, but need not be.
    """

    table: Table
    columns: tuple[int, ...]
    filter: Expr | None = None
    part: tuple[int, int] | None = None
    wanted: Expr | None = None

    @cached_property
    def types(self) -> tuple[SqlType, ...]:
        return tuple(self.table.columns[index].type for index in self.columns)

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(self.table.columns[index].name for index in self.columns)


@dataclass(frozen=True)
class Values(Node):
    """Rows of expressions over nothing: constants, parameters and what is computed from them."""

    rows: tuple[tuple[Expr, ...], ...]
    columns: tuple[SqlType, ...]

    @cached_property
    def types(self) -> tuple[SqlType, ...]:
        return self.columns

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(f"column{number}" for number in range(1, len(self.columns) + 1))


@dataclass(frozen=True)
class Filter(Node):
    """The input's rows for which `condition` is true."""

    input: Node
    condition: Expr


@dataclass(frozen=True)
class Project(Node):
    """Expressions over each row of the input."""

    input: Node
    exprs: tuple[Expr, ...]
    labels: tuple[str, ...] = ()

    @cached_property
    def types(self) -> tuple[SqlType, ...]:
        return tuple(expr.type for expr in self.exprs)

    @cached_property
    def names(self) -> tuple[str, ...]:
        if self.labels:
            return self.labels
        return tuple(
            expr.name or self.input.names[expr.index] if isinstance(expr, bound.Column) else f"column{number}"
            for number, expr in enumerate(self.exprs, 1)
        )


@dataclass(frozen=True)
class Join(Node):
    """Pairs of rows whose `keys` are equal (NULLs never are) and for which `condition` is true.

    Of a key the left expression is over the left input's columns alone, the right one over the right's alone; both
    are of one type. `condition` sees both inputs. SEMI and ANTI give left columns only. `null_aware` is NOT IN's
    anti-join on its one key: a row is kept only if the comparison with no right row is true or unknown.
    """

    kind: JoinKind
    left: Node
    right: Node
    keys: tuple[tuple[Expr, Expr], ...] = ()
    condition: Expr | None = None
    null_aware: bool = False

    @cached_property
    def types(self) -> tuple[SqlType, ...]:
        return self.left.types if self.kind in {"SEMI", "ANTI"} else self.left.types + self.right.types

    @cached_property
    def names(self) -> tuple[str, ...]:
        return self.left.names if self.kind in {"SEMI", "ANTI"} else self.left.names + self.right.names


@dataclass(frozen=True)
class Aggregate(Node):
    """The input's groups by `keys`: the keys' values, then `calls`. Without keys there is one row always."""

    input: Node
    keys: tuple[Expr, ...]
    calls: tuple[bound.Aggregate, ...] = ()

    @cached_property
    def types(self) -> tuple[SqlType, ...]:
        return tuple(key.type for key in self.keys) + tuple(call.type for call in self.calls)

    @cached_property
    def names(self) -> tuple[str, ...]:
        keys = tuple(
            self.input.names[key.index] if isinstance(key, bound.Column) else f"key{number}"
            for number, key in enumerate(self.keys, 1)
        )
        return keys + tuple(call.function.name for call in self.calls)


@dataclass(frozen=True)
class Window(Node):
    """The input's columns, then the values of window calls that share one PARTITION BY."""

    input: Node
    calls: tuple[bound.Window, ...]

    @cached_property
    def types(self) -> tuple[SqlType, ...]:
        return self.input.types + tuple(call.type for call in self.calls)

    @cached_property
    def names(self) -> tuple[str, ...]:
        return self.input.names + tuple(call.function.name for call in self.calls)


@dataclass(frozen=True)
class Numbered(Node):
    """The input's columns, then a bigint that differs from row to row, over all workers."""

    input: Node

    @cached_property
    def types(self) -> tuple[SqlType, ...]:
        return (*self.input.types, INT8)

    @cached_property
    def names(self) -> tuple[str, ...]:
        return (*self.input.names, "row")


@dataclass(frozen=True)
class ProjectSet(Node):
    """For each row of the input, its columns beside the rows of sets: as many as the longest has, NULLs after shorter
    ones; with `numbered` the last column counts them from 1."""

    input: Node
    calls: tuple[bound.SetReturning, ...]
    numbered: bool = False

    @cached_property
    def types(self) -> tuple[SqlType, ...]:
        return self.input.types + tuple(call.type for call in self.calls) + (INT8,) * self.numbered

    @cached_property
    def names(self) -> tuple[str, ...]:
        names = self.input.names + tuple(call.function.name for call in self.calls)
        return names + ("ordinality",) * self.numbered


@dataclass(frozen=True)
class Sort(Node):
    """The input's rows in order; with `limit` or `offset` (expressions over nothing) some of them."""

    input: Node
    keys: tuple[bound.SortKey, ...]
    limit: Expr | None = None
    offset: Expr | None = None


@dataclass(frozen=True)
class DistinctOn(Node):
    """The first row of each group of equal `keys`, by `order`."""

    input: Node
    keys: tuple[Expr, ...]
    order: tuple[bound.SortKey, ...]


@dataclass(frozen=True)
class SetOperation(Node):
    """UNION ALL, or INTERSECT and EXCEPT with or without ALL, of two inputs of the same types."""

    op: Literal["UNION", "INTERSECT", "EXCEPT"]
    all: bool
    left: Node
    right: Node


@dataclass(frozen=True)
class Shared(Node):
    """A subplan that is used more than once: equal numbers are one result."""

    input: Node
    number: int


@dataclass(frozen=True)
class Recursive(Node):
    """WITH RECURSIVE: the left input's rows, then again and again the right input's over the rows of the last time
    (`Working` of the same number), until it gives none; with `distinct` only rows that have not been there."""

    left: Node
    right: Node
    number: int
    distinct: bool


class Named(Node):
    """A leaf that is told its columns, by name and type."""

    columns: tuple[tuple[str, SqlType], ...]

    @cached_property
    def types(self) -> tuple[SqlType, ...]:
        return tuple(kind for _, kind in self.columns)

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.columns)


@dataclass(frozen=True)
class Working(Named):
    """In the right input of a Recursive, the rows of the last time."""

    number: int
    columns: tuple[tuple[str, SqlType], ...]


@dataclass(frozen=True)
class Exchange(Node):
    """Rows moved between workers.

    hash: by the values of `keys`, equal ones to one worker; with `by` the one that has their bucket (see
    `distribution.Distribution`). broadcast: all rows to every worker. gather: all rows to
    one. range: by the order of `order`, worker by worker, equal rows `together` where they have to be.
    """

    input: Node
    kind: Literal["hash", "broadcast", "gather", "range"]
    keys: tuple[Expr, ...] = ()
    order: tuple[bound.SortKey, ...] = ()
    by: str = ""
    together: bool = False


@dataclass(frozen=True)
class Plan:
    """A whole query: its root and the columns that it gives."""

    root: Node
    columns: tuple[bound.OutputColumn, ...]
