"""Rows of a block while it is planned: what each column of a node holds, and domains of correlated subqueries.

A domain is the distinct rows of the columns that a subquery reads from outside. The subquery is planned once over all
of it and returns, beside its own columns, the domain's row to which each of its rows belongs (Neumann and Kemper,
"Unnesting Arbitrary Queries", 2015).
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal

from gpudb.plan.errors import NotSupportedOnWorkers
from gpudb.plan.tree.nodes import Aggregate, AssignUniqueId, Join, Node, Project, Shared, column
from gpudb.plan.tree.traversal import transform
from gpudb.sql import bound
from gpudb.types import INT8, SqlType
from gpudb.types.facts import INTEGERS

_NULL_STAND_INS: dict[str, object] = {
    **dict.fromkeys(INTEGERS | {"oid"}, 0),
    **dict.fromkeys(("text", "varchar", "name"), ""),
    "bool": False,
    "numeric": Decimal(0),
    "date": dt.date(2000, 1, 1),
    "timestamp": dt.datetime(2000, 1, 1),
    "timestamptz": dt.datetime(2000, 1, 1, tzinfo=dt.UTC),
}
"""Types whose equal values are identical, and a value that replaces NULL where NULL must equal NULL."""


@dataclass(frozen=True, slots=True)
class Rows:
    """A node, and the bound expression that each of its columns holds."""

    node: Node
    held: tuple[Any, ...]

    def column_at(self, index: int) -> bound.Column:
        """Returns a column of the node."""
        return column(index, self.node.types[index], self.node.names[index])

    def rewrite(self, expr: Any) -> Any:
        """Rewrites an expression of the block as one over the node."""
        return rewrite_over(expr, self.held)

    def find_column(self, rel: int, index: int) -> int | None:
        """Returns the position of a relation's column, or None."""
        return _find_column(self.held, rel, index)

    def with_values(self, values: Iterable[tuple[Any, Any]]) -> Rows:
        """Adds columns: what each holds, and its expression over the node."""
        pairs = list(values)
        if not pairs:
            return self
        every = (*(self.column_at(index) for index in range(len(self.held))), *(made for _, made in pairs))
        names = tuple(each.name for each in every[: len(self.held)]) + ("",) * len(pairs)
        return Rows(Project(self.node, every, names), (*self.held, *(what for what, _ in pairs)))

    def select(self, required: Sequence[int]) -> Rows:
        """Returns the rows with some of their columns."""
        if list(required) == list(range(len(self.node.types))):
            return self
        exprs = tuple(self.column_at(index) for index in required)
        return Rows(Project(self.node, exprs), tuple(self.held[index] for index in required))

    def share(self, number: int) -> Rows:
        """Returns the same rows, computed once for several uses."""
        return self if isinstance(self.node, Shared) else Rows(Shared(self.node, -number), self.held)


@dataclass(frozen=True, slots=True)
class Domain:
    """Outer rows over which a subquery is planned, its first columns, and the keys for the join back."""

    rows: Rows
    outside: Rows
    keys: tuple[tuple[int, int], ...]
    """Pairs of a column of the outside and the equal column of the domain."""
    numbered: bool = False
    """Whether the key is a row number of the outside, used where values alone do not identify rows."""

    @property
    def width(self) -> int:
        """The domain's number of columns."""
        return len(self.rows.held)

    def reduce_to_keys(self, node: Node) -> tuple[Domain, Node]:
        """Returns the domain reduced to its keys, and a node under the domain rewritten for it."""
        marks = [index for _, index in self.keys]
        if len(marks) == self.width:
            return self, node
        required = [*marks, *range(self.width, len(node.types))]
        made = Project(node, tuple(column(index, node.types[index]) for index in required))
        keys = tuple((place, number) for number, (place, _) in enumerate(self.keys))
        return Domain(self.rows.select(marks), self.outside, keys, self.numbered), made


def rewrite_over(expr: Any, places: Sequence[Any], *, whole: bool = True) -> Any:
    """Rewrites an expression over a node whose columns hold `held`; with `whole` the expression itself may be one
    of them.
    """

    def change(each: Any) -> Any:
        if isinstance(each, bound.Constant) or (not whole and each is expr):
            return None
        if isinstance(each, bound.Column):
            found = _find_column(places, each.rel, each.index)
            if found is None and each.rel >= 0:
                raise NotSupportedOnWorkers("a column that is not grouped")
            return None if found is None else column(found, each.type, each.name)
        return column(places.index(each), each.type) if each in places else None

    return transform(expr, change)


def _find_column(places: Sequence[Any], rel: int, index: int) -> int | None:
    for place, each in enumerate(places):
        # A column under another name is the same column.
        if isinstance(each, bound.Column) and (each.rel, each.index) == (rel, index):
            return place
    return None


def build_domain(rows: Rows, required: Sequence[int], number: int) -> Domain:
    """Returns the domain of some columns of shared rows; `number` is unused by relations and shared nodes."""
    if all(_has_stand_in(rows.node.types[place]) for place in required):
        project = Project(rows.node, tuple(rows.column_at(place) for place in required))
        keys = tuple(column(index, kind) for index, kind in enumerate(project.types))
        held = Rows(Shared(Aggregate(project, keys), -number), tuple(rows.held[place] for place in required))
        return Domain(held, rows, tuple((place, index) for index, place in enumerate(required)))
    # Equal values may display differently, or have no equality: rows are identified by a number.
    numbered = number_rows(rows, number)
    last = len(rows.held)
    project = Project(numbered.node, (*(numbered.column_at(place) for place in required), numbered.column_at(last)))
    held = Rows(project, (*(rows.held[place] for place in required), numbered.held[last]))
    return Domain(held, numbered, ((last, len(required)),), numbered=True)


def number_rows(rows: Rows, number: int) -> Rows:
    """Returns the rows, shared, with a last column that identifies them."""
    return Rows(Shared(AssignUniqueId(rows.node), -number), (*rows.held, bound.Column(number, 0, INT8, "row")))


def join_back(
    kind: Literal["INNER", "LEFT", "SEMI", "ANTI"],
    domain: Domain,
    made: Node,
    *more: tuple[Any, Any],
    condition: Any | None = None,
) -> Join:
    """Joins the outer rows with the rows computed for the domain, whose columns come first in `made`.

    `more` are further keys.
    """
    keys: list[tuple[Any, Any]] = []
    for place, index in domain.keys:
        one, other = domain.outside.column_at(place), column(index, made.types[index])
        if domain.numbered:
            keys.append((one, other))
            continue
        # NULL must equal NULL here, which it never does in a join's keys.
        keys.append((bound.Test(one, "NULL"), bound.Test(other, "NULL")))
        absent = bound.Constant(_NULL_STAND_INS[one.type.name], one.type)
        keys.append(
            (bound.Choice("COALESCE", (one, absent), one.type), bound.Choice("COALESCE", (other, absent), one.type))
        )
    return Join(kind, domain.outside.node, made, (*keys, *more), condition)


def _has_stand_in(kind: SqlType) -> bool:
    return kind.name in _NULL_STAND_INS and not kind.is_carried and kind.element is None and not kind.fields
