"""Nodes that occur in stages alone: aggregates in two phases, samples, and received rows."""

from __future__ import annotations

from dataclasses import dataclass

from gpudb.plan.tree import nodes
from gpudb.plan.tree.nodes import DeclaredLeaf, Node
from gpudb.types import BOOL, INT8, SqlType


class _Part(Node):
    """One phase of an aggregate; it has the columns of the whole aggregate."""

    __slots__ = ()

    aggregate: nodes.Aggregate

    def _compute_types(self) -> tuple[SqlType, ...]:
        return self.aggregate.types

    def _compute_names(self) -> tuple[str, ...]:
        return self.aggregate.names


@dataclass(frozen=True, slots=True)
class Partial(_Part):
    """Each worker's part of an aggregate: per group a row of keys and states."""

    children = ("input",)
    apart = ("aggregate",)

    input: Node
    aggregate: nodes.Aggregate


@dataclass(frozen=True, slots=True)
class Final(_Part):
    """Merges partial groups and computes their values.

    Where the partial groups are `whole`, each is one group already and only its values are computed from its states.
    """

    children = ("input",)
    apart = ("aggregate",)

    input: Node
    aggregate: nodes.Aggregate
    whole: bool = False


@dataclass(frozen=True, slots=True)
class Sample(Node):
    """At most `rows` of the input's rows, evenly spaced."""

    children = ("input",)

    input: Node
    rows: int


@dataclass(frozen=True, slots=True)
class RecursionShared(Node):
    """A shared subplan inside a recursion, computed once per iteration; equal numbers denote one result."""

    children = ("input",)

    input: Node
    number: int


@dataclass(frozen=True, slots=True)
class Defer(Node):
    """A scan's rows without their strings.

    The first of its `strings` (column positions) holds the row's position among the rows that are read, the others are
    NULL. A `Fetch` of the same number takes the strings from there.
    """

    children = ("input",)

    input: nodes.Scan
    number: int
    strings: tuple[int, ...]

    def _compute_types(self) -> tuple[SqlType, ...]:
        stand_in = dict.fromkeys(self.strings, BOOL) | {self.strings[0]: INT8}
        return tuple(stand_in.get(place, kind) for place, kind in enumerate(self.input.types))


@dataclass(frozen=True, slots=True)
class Fetch(Node):
    """The input's rows with the strings that a `Defer` left out.

    `columns` pairs output positions with the scan's columns; the row is the one whose position is in input column `at`.
    The output columns have types `kinds`.
    """

    children = ("input",)

    input: Node
    number: int
    at: int
    columns: tuple[tuple[int, int], ...]
    kinds: tuple[SqlType, ...]

    def _compute_types(self) -> tuple[SqlType, ...]:
        stood_in = dict(self.columns)
        return tuple(self.kinds[n] if n in stood_in else kind for n, kind in enumerate(self.input.types))


@dataclass(frozen=True, slots=True)
class Receive(DeclaredLeaf):
    """Rows that a worker receives of another stage; `rows` estimates their number on all workers."""

    stage: int
    columns: tuple[tuple[str, SqlType], ...]
    rows: int = 1
