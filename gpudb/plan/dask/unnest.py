"""Subqueries as joins of the planner's text: semi-joins, anti-joins, single rows, and groups by the correlated columns.

EXISTS, IN and their negations become conditions, scalar subqueries values. A correlated scalar subquery is a left join
with its groups by the columns that equal outer ones: a missing group is NULL, as is an aggregate over no rows.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Protocol

from gpudb.plan.dask.blocks import BlockPlanner, Ctes
from gpudb.plan.dask.joins import JoinChain, relations_read
from gpudb.plan.errors import NotSupportedOnWorkers
from gpudb.plan.tree.functions import NOT_IN, SINGLE
from gpudb.plan.tree.nodes import Aggregate, Node, Project, column
from gpudb.plan.tree.predicates import is_plain_core, match_column_equality, match_equality
from gpudb.sql import bound
from gpudb.sql.bound import Expr
from gpudb.sql.traverse import join_conjuncts, outer_columns, split_conjuncts, walk
from gpudb.types import BOOL

_UNSUPPORTED_SHAPE = "a correlated subquery of this shape"
_Match = Callable[[tuple[Expr, ...]], Expr]
"""Returns the condition on a subquery's columns under which one of its rows counts."""


class EncoderProtocol(Protocol):
    """The encoder of the block whose subqueries are unnested; `encode.Encoder` implements it."""

    block_planner: BlockPlanner
    ctes: Ctes

    def next_number(self) -> int:
        """Returns a number that no relation has."""

    def add_ctes(self, ctes: Ctes) -> None:
        """Adds named queries for the rest of the block."""

    def current_joins(self, *, alone: bool = False) -> JoinChain:
        """Returns the relations that a subquery joins."""

    def encode_from(self, source: Any | None) -> JoinChain:
        """Encodes the relations of a FROM."""

    def joining(self, joins: JoinChain | None) -> AbstractContextManager[JoinChain]:
        """Context in which subqueries of expressions join these relations."""

    def add_where(self, condition: Expr | None, source: Any | None) -> list[str]:
        """Adds a WHERE above a FROM; returns the conditions that read other relations."""

    def add_table(self, rel: int, node: Node) -> str:
        """Adds a node as a table of the text; returns its name."""

    def encode_value(self, expr: Expr) -> str:
        """Encodes an expression."""

    def encode_true(self, joins: JoinChain) -> str:
        """Encodes a true condition."""

    def encode_aggregate(self, call: bound.Aggregate) -> str:
        """Encodes an aggregate's call."""


class Unnester:
    """Joins the subqueries of one block to the current relations of its `encoder`."""

    def __init__(self, encoder: EncoderProtocol) -> None:
        self._encoder = encoder

    # ------------------------------------------------------------------------------------------ conditions

    def join_condition(self, expr: Expr) -> bool:
        """Joins a condition that is a subquery keeping or removing rows; returns whether it was one."""
        match expr:
            case bound.Exists():
                self._join_exists(expr.query)
            case bound.BoolOp(op="NOT", args=(bound.Exists() as inner,)):
                self._join_exists(inner.query, anti=True)
            case bound.AnySubquery(all=False):
                self._join_exists(expr.query, _match_any(expr))
            case bound.AnySubquery(all=True, functions=(_,)):
                self._join_exists(expr.query, _match_not_all(expr), anti=True)
            case bound.BoolOp(op="NOT", args=(bound.AnySubquery(all=False) as inner,)):
                self._join_exists(inner.query, _match_not_any(inner), anti=True)
            case _:
                return False
        return True

    def _join_exists(self, query: bound.Query, match: _Match | None = None, *, anti: bool = False) -> None:
        encoder = self._encoder
        outer = encoder.current_joins()
        if is_plain_core(query) and isinstance(query, bound.Select) and not query.grouped:
            # DISTINCT does not affect whether there is a row.
            if query.source is None:
                raise NotSupportedOnWorkers("EXISTS over a subquery without FROM")
            encoder.add_ctes(query.ctes)
            inner, source = encoder.encode_from(query.source), query.source
            condition = join_conjuncts((*split_conjuncts(query.where), *_apply_match(match, query.targets)))
        else:
            rel = encoder.next_number()
            source = bound.Derived(rel, query)
            inner = encoder.encode_from(source)
            columns = tuple(bound.Column(rel, i, each.type) for i, each in enumerate(query.columns))
            condition = join_conjuncts(_apply_match(match, columns))
        with encoder.joining(inner):
            outside = encoder.add_where(condition, source)
        on = [*inner.where, *outside] or [encoder.encode_true(outer)]
        if not all(relations_read(each) <= outer.visible | inner.visible for each in on):
            raise NotSupportedOnWorkers(_UNSUPPORTED_SHAPE)
        outer.add("LEFT ANTI" if anti else "LEFT SEMI", inner.bracketed_text, on=on)

    # ------------------------------------------------------------------------------------------ values

    def join_scalar(self, subquery: bound.ScalarSubquery) -> str:
        """Joins a scalar subquery; returns the text of its value."""
        query = subquery.query
        if outer_columns(query):
            return self._join_correlated(query)
        encoder = self._encoder
        node = encoder.block_planner.plan_block(query, encoder.ctes)
        if not _has_one_row(node):
            only = column(0, node.types[0])
            node = Aggregate(node, (), (bound.Aggregate(SINGLE, (only,), subquery.type),))
        name = encoder.add_table(encoder.next_number(), node)
        encoder.current_joins(alone=True).add("CROSS", name, {name})
        return f"{name}.c0"

    def _join_correlated(self, query: bound.Query) -> str:
        if not isinstance(query, bound.Select) or query.group_by or query.having is not None:
            raise NotSupportedOnWorkers(_UNSUPPORTED_SHAPE)
        if query.distinct or query.limit is not None or query.offset is not None or query.grouping_sets is not None:
            raise NotSupportedOnWorkers(_UNSUPPORTED_SHAPE)
        call = query.targets[0]
        if query.source is None or not isinstance(call, bound.Aggregate):
            raise NotSupportedOnWorkers(_UNSUPPORTED_SHAPE)
        if any(isinstance(each, bound.SUBQUERIES) for each in walk(call)):
            raise NotSupportedOnWorkers("a subquery inside a correlated aggregate")
        encoder = self._encoder
        outer = encoder.current_joins()
        encoder.add_ctes(query.ctes)
        inner = encoder.encode_from(query.source)
        inside = {node.rel for node in walk(query) if hasattr(node, "rel") and not isinstance(node, bound.Column)}
        own: list[Expr] = []
        pairs: list[tuple[bound.Column, bound.Column]] = []
        for part in split_conjuncts(query.where):
            if _is_inside(part, inside):
                own.append(part)
            else:
                pairs.append(_match_correlation(part, inside))
        with encoder.joining(inner):
            if encoder.add_where(join_conjuncts(tuple(own)), query.source):
                raise NotSupportedOnWorkers(_UNSUPPORTED_SHAPE)
            keys = list(dict.fromkeys(encoder.encode_value(each) for each, _ in pairs))
            held = encoder.encode_aggregate(call)
        name = f"r{encoder.next_number()}"
        on = [
            f"{encoder.encode_value(other)} = {name}.c{keys.index(encoder.encode_value(each))}" for each, other in pairs
        ]
        if not all(relations_read(each) <= {*outer.visible, name} for each in on):
            raise NotSupportedOnWorkers(_UNSUPPORTED_SHAPE)
        columns = ", ".join(f"{text} AS c{number}" for number, text in enumerate((*keys, held)))
        text = f"(SELECT {columns}{inner.from_where_text} GROUP BY {', '.join(keys)}) AS {name}"
        outer.add("LEFT", text, {name}, on)
        return f"{name}.c{len(keys)}"


def _apply_match(match: _Match | None, columns: tuple[Expr, ...]) -> tuple[Expr, ...]:
    return () if match is None else split_conjuncts(match(columns))


def _match_any(expr: bound.AnySubquery) -> _Match:
    def match(targets: tuple[Expr, ...]) -> Expr:
        pairs = zip(expr.functions, expr.left, targets, strict=True)
        calls = tuple(bound.Call(function, (left, right), BOOL) for function, left, right in pairs)
        return calls[0] if len(calls) == 1 else bound.BoolOp("AND", calls)

    return match


def _match_not_all(expr: bound.AnySubquery) -> _Match:
    return lambda targets: bound.Test(_match_any(expr)(targets), "TRUE", negated=True)


def _match_not_any(expr: bound.AnySubquery) -> _Match:
    def match(targets: tuple[Expr, ...]) -> Expr:
        if len(targets) == 1 and match_equality(_match_any(expr)(targets)) is not None:
            return bound.Call(NOT_IN, (expr.left[0], targets[0]), BOOL)
        return bound.Test(_match_any(expr)(targets), "FALSE", negated=True)

    return match


def _has_one_row(node: Node) -> bool:
    """Returns whether a node always has exactly one row."""
    while isinstance(node, Project):
        node = node.input
    return isinstance(node, Aggregate) and not node.keys


def _is_inside(part: Any, inside: set[int]) -> bool:
    """Returns whether a condition of a subquery reads no outer column; raises NotSupportedOnWorkers for one over outer
    aggregates.
    """
    nodes = list(walk(part))
    if any(isinstance(node, bound.Column) and node.rel not in inside for node in nodes):
        return False
    aggregates = any(isinstance(node, bound.Aggregate) for node in nodes)
    if aggregates and not any(isinstance(node, bound.Select) for node in nodes):
        raise NotSupportedOnWorkers("a subquery correlated by more than equalities")
    return True


def _match_correlation(part: Any, inside: set[int]) -> tuple[bound.Column, bound.Column]:
    """Returns the inner and the outer column that a condition equates."""
    sides = match_column_equality(part)
    if sides is None or sum(side.rel in inside for side in sides) != 1:
        raise NotSupportedOnWorkers("a subquery correlated by more than equalities")
    one, other = sides
    return (one, other) if one.rel in inside else (other, one)
