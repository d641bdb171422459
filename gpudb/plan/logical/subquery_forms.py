"""Subqueries in expressions: each kind's aggregate over the subquery's rows, and its value over that aggregate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

from gpudb.functions import library
from gpudb.plan.tree.functions import SINGLE, cast_to, count_rows, find_function
from gpudb.plan.tree.nodes import Aggregate, Filter, Node, Project, column
from gpudb.plan.tree.predicates import EQUALITIES, common_key_type
from gpudb.sql import bound
from gpudb.types import BOOL, INT8, SqlType


class SubqueryForm(Protocol):
    """A kind of subquery.

    `aggregate` aggregates its rows by the domain's columns, which are the first `width`. `value` computes the
    subquery's value from that aggregate's columns, which are NULL where the domain's row has no group.
    """

    def aggregate(self, node: Node, width: int) -> Aggregate:
        """Returns the aggregate."""

    def value(self, held: tuple[bound.Column, ...]) -> Any:
        """Returns the value."""


def _key_columns(node: Node, width: int) -> tuple[bound.Column, ...]:
    return tuple(column(index, kind) for index, kind in enumerate(node.types[:width]))


@dataclass(frozen=True, slots=True)
class ScalarForm:
    """(SELECT …): the row's value; NULL without rows, error 21000 for more than one."""

    type: SqlType

    def aggregate(self, node: Node, width: int) -> Aggregate:
        call = bound.Aggregate(SINGLE, (column(width, node.types[width]),), self.type)
        return Aggregate(node, _key_columns(node, width), (call,))

    def value(self, held: tuple[bound.Column, ...]) -> Any:
        return held[0]


@dataclass(frozen=True, slots=True)
class ExistsForm:
    """EXISTS (SELECT …)."""

    def aggregate(self, node: Node, width: int) -> Aggregate:
        return Aggregate(node, _key_columns(node, width), (count_rows(),))

    def value(self, held: tuple[bound.Column, ...]) -> Any:
        return _is_positive(held[0])


@dataclass(frozen=True, slots=True)
class QuantifiedForm:
    """ANY or ALL over rows of tests: one may decide, else one may be unknown."""

    all: bool

    def aggregate(self, node: Node, width: int) -> Aggregate:
        test = column(width, BOOL)
        decides = bound.Test(test, "FALSE" if self.all else "TRUE")
        return Aggregate(node, _key_columns(node, width), (count_rows(decides), count_rows(bound.Test(test, "NULL"))))

    def value(self, held: tuple[bound.Column, ...]) -> Any:
        decided = bound.Constant(not self.all, BOOL)
        branches = ((_is_positive(held[0]), decided), (_is_positive(held[1]), bound.Constant(None, BOOL)))
        return bound.Case(branches, bound.Constant(self.all, BOOL), BOOL)


@dataclass(frozen=True, slots=True)
class ArrayForm:
    """ARRAY(SELECT …): the values of the first column, ordered by the second if there is one."""

    type: SqlType
    ordered: bool

    def aggregate(self, node: Node, width: int) -> Aggregate:
        order = (bound.SortKey(column(width + 1, INT8), False, False),) if self.ordered else ()
        # Arrays are aggregated to an array of one more dimension, which requires equal shapes.
        taken = "anyarray" if node.types[width].element is not None else "anynonarray"
        (aggregate,) = (each for each in library.functions_by_name()["array_agg"] if each.args[0].name == taken)
        call = bound.Aggregate(aggregate, (column(width, node.types[width]),), self.type, order_by=order)
        return Aggregate(node, _key_columns(node, width), (call,))

    def value(self, held: tuple[bound.Column, ...]) -> Any:
        return bound.Choice("COALESCE", (held[0], bound.Array((), self.type)), self.type)


def _is_positive(number: Any) -> Any:
    zero = bound.Constant(0, INT8)
    return bound.Call(find_function("int8gt", INT8, INT8), (bound.Choice("COALESCE", (number, zero), INT8), zero), BOOL)


def comparison_query(subquery: bound.AnySubquery, fresh: Callable[[], int]) -> bound.Select:
    """Returns the query of an ANY or ALL with the comparison as its only column."""
    rel = fresh()
    calls = tuple(
        bound.Call(each, (left, bound.Column(rel, index, found.type)), BOOL)
        for index, (each, left, found) in enumerate(
            zip(subquery.functions, subquery.left, subquery.query.columns, strict=True)
        )
    )
    # Rows differ (<> ALL) if any of their columns does, and are equal (= ANY) if all are.
    test = calls[0] if len(calls) == 1 else bound.BoolOp("OR" if subquery.all else "AND", calls)
    return bound.Select((bound.OutputColumn("test", BOOL),), (test,), bound.Derived(rel, subquery.query))


def add_row_numbers(query: bound.Query, fresh: Callable[[], int]) -> tuple[bound.Query, bool]:
    """Adds each row's number in its order to a query of one column; returns the query unchanged if it has no order."""
    if not query.order_by:
        return query, False
    (number,) = library.functions_by_name()["row_number"]
    if isinstance(query, bound.Select) and not query.distinct:
        place: Any = bound.Window(number, (), INT8, order_by=query.order_by)
        columns = (*query.columns, bound.OutputColumn("place", INT8))
        return replace(query, columns=columns, targets=(*query.targets, place)), True
    rel = fresh()
    only = bound.Column(rel, 0, query.columns[0].type)
    down, first = (
        (query.order_by[0].descending, query.order_by[0].nulls_first)
        if isinstance(query, bound.Select)
        else query.order_by[0][1:]
    )
    # A single distinct column, or a set operation's single column, can only be ordered by itself.
    place = bound.Window(number, (), INT8, order_by=(bound.SortKey(only, down, first),))
    columns = (*query.columns, bound.OutputColumn("place", INT8))
    return bound.Select(columns, (only, place), bound.Derived(rel, query)), True


# ------------------------------------------------------------------------------------------ = ANY by keys


def membership_key_type(subquery: bound.AnySubquery) -> SqlType | None:
    """Returns the type under which `x = ANY (subquery)` is a join key; None for another comparison."""
    kinds = membership_key_types(subquery)
    return kinds[0] if len(kinds) == 1 else None


def membership_key_types(subquery: bound.AnySubquery) -> tuple[SqlType, ...]:
    """Returns the types under which `(x, …) = ANY (subquery)` are join keys; none for another comparison."""
    if subquery.all or any(each.name not in EQUALITIES for each in subquery.functions):
        return ()
    kinds = tuple(
        common_key_type(left.type, found.type)
        for left, found in zip(subquery.left, subquery.query.columns, strict=True)
    )
    known = tuple(each for each in kinds if each is not None)
    return known if len(known) == len(kinds) else ()


def split_members(node: Node, width: int, kind: SqlType) -> tuple[Node, Node]:
    """Returns the distinct values of a subquery, marked by TRUE, and its counts of rows and of non-NULL values."""
    own = column(width, node.types[width])
    keys = _key_columns(node, width)
    known = Project(Filter(node, bound.Test(own, "NULL", negated=True)), (*keys, cast_to(own, kind)))
    distinct = Aggregate(known, _key_columns(known, width + 1))
    marked = Project(distinct, (*_key_columns(distinct, width + 1), bound.Constant(True, BOOL)))
    values = bound.Aggregate(find_function("count", SqlType("any")), (own,), INT8)
    return marked, Aggregate(node, keys, (count_rows(), values))


def membership_value(mark: Any, rows: Any, values: Any, left: Any) -> Any:
    """Returns `x = ANY`: true if x is among the values; else NULL if x or a row is NULL and there are rows; else
    false.
    """
    unknown = bound.BoolOp(
        "OR", (bound.Test(left, "NULL"), bound.Call(find_function("int8gt", INT8, INT8), (rows, values), BOOL))
    )
    some = bound.BoolOp("AND", (_is_positive(rows), unknown))
    branches = (
        (bound.Test(mark, "NULL", negated=True), bound.Constant(True, BOOL)),
        (some, bound.Constant(None, BOOL)),
    )
    return bound.Case(branches, bound.Constant(False, BOOL), BOOL)
