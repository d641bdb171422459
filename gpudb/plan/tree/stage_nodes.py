"""The nodes that stages have beside the plan's own: aggregates in two parts, samples, and what is received."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from gpudb.plan.tree import nodes
from gpudb.plan.tree.nodes import Named, Node
from gpudb.types import BOOL, INT8, SqlType


class _Part(Node):
    """A half of an aggregate, which shows the whole one's columns."""

    aggregate: nodes.Aggregate

    @cached_property
    def types(self) -> tuple[SqlType, ...]:
        return self.aggregate.types

    @cached_property
    def names(self) -> tuple[str, ...]:
        return self.aggregate.names


@dataclass(frozen=True)
class Partial(_Part):
    """Each worker's part of an aggregate: a row of keys and states a group."""

    input: Node
    aggregate: nodes.Aggregate


@dataclass(frozen=True)
class Final(_Part):
    """The groups that partial ones make together; where these are `whole`, each group one of them, only their values
    are made of their states."""

    input: Node
    aggregate: nodes.Aggregate
    whole: bool = False


@dataclass(frozen=True)
class Sample(Node):
    """At most so many of the input's rows, evenly spaced."""

    input: Node
    rows: int


@dataclass(frozen=True)
class Kept(Node):
    """A shared part within a recursion, which is computed once each time round; equal numbers are one."""

    input: Node
    number: int


@dataclass(frozen=True)
class Defer(Node):
    """A scan's rows; the first of its `strings`, by their places, is the place of the row among those that are read,
    the others are NULL. A `Fetch` of the same number takes them from there."""

    input: nodes.Scan
    number: int
    strings: tuple[int, ...]

    @cached_property
    def types(self) -> tuple[SqlType, ...]:
        stand_in = dict.fromkeys(self.strings, BOOL) | {self.strings[0]: INT8}
        return tuple(stand_in.get(place, kind) for place, kind in enumerate(self.input.types))


@dataclass(frozen=True)
class Fetch(Node):
    """The input's rows with the strings that a `Defer` put off: at some places those of the scan's columns, of the row
    whose place is in the input's column `at`. Its columns are of these `kinds`."""

    input: Node
    number: int
    at: int
    columns: tuple[tuple[int, int], ...]
    kinds: tuple[SqlType, ...]

    @cached_property
    def types(self) -> tuple[SqlType, ...]:
        stood_in = dict(self.columns)
        return tuple(self.kinds[n] if n in stood_in else kind for n, kind in enumerate(self.input.types))


@dataclass(frozen=True)
class Receive(Named):
    """What a worker gets of another stage's rows; `rows` is how many there are thought to be on all workers."""

    stage: int
    columns: tuple[tuple[str, SqlType], ...]
    rows: int = 1
