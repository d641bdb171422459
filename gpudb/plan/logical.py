"""A bound query as a plan: the planner's part of each block, and what stands above it.

A block is a SELECT's joins, conditions and groups. Above it come, in this order, its windows, its select list,
DISTINCT, and ORDER BY with LIMIT.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from typing import Any

from gpudb.plan.carry import Carrier
from gpudb.plan.errors import NotCarried
from gpudb.plan.nodes import (
    Aggregate,
    DistinctOn,
    Filter,
    Node,
    Plan,
    Project,
    SetOperation,
    Shared,
    Sort,
    Values,
    Window,
    column,
)
from gpudb.plan.planner import relational_plan
from gpudb.plan.restore import Restorer
from gpudb.plan.traversal import transform
from gpudb.sql import bound
from gpudb.sql.traverse import walk
from gpudb.types import INT4


def plan_query(query: bound.Query, estimate: Callable[[Node], int]) -> Plan:
    """The plan of a whole query, not yet optimised; NotCarried names what no worker runs.

    `estimate` says how many rows a node is thought to give.
    """
    return _Builder(query, estimate).plan(query)


class _Builder:
    def __init__(self, query: bound.Query, estimate: Callable[[Node], int]) -> None:
        nodes = list(walk(query))
        highest = max((node.rel for node in nodes if hasattr(node, "rel")), default=0)
        self._numbers = count(highest + 1)
        self._uses = Counter(node.cte for node in nodes if isinstance(node, bound.CteScan))
        self._shared: dict[int, Node] = {}
        self._estimate = estimate

    def plan(self, query: bound.Query) -> Plan:
        if not query.columns:
            raise NotCarried("a result without columns")
        root = self.block(query, ())
        return Plan(Project(root, root_columns(root), tuple(c.name for c in query.columns)), query.columns)

    def block(self, query: bound.Query, ctes: tuple[bound.Cte, ...]) -> Node:
        """The node of a query that reads no column from outside."""
        match query:
            case bound.Select():
                return self._select(query, (*ctes, *query.ctes))
            case bound.SetOperation():
                return self._set_operation(query, (*ctes, *query.ctes))
            case bound.Values():
                return self._values(query)

    # ------------------------------------------------------------------------------------------ SELECT

    def _select(self, query: bound.Select, ctes: tuple[bound.Cte, ...]) -> Node:
        above: list[Any] = [*query.targets, *(key.expr for key in query.order_by)]
        above += [] if isinstance(query.distinct, bool) else query.distinct
        if any(isinstance(node, bound.SetReturning) for each in above for node in walk(each)):
            raise NotCarried("a set-returning function in the select list")
        if query.grouping_sets is not None:
            node, places = self._by_sets(query, query.grouping_sets, ctes, above)
        else:
            node, places = self._core(query, ctes, above)
        node, places = self._windows(node, places, above)

        def over(expr: Any) -> Any:
            return _placed(expr, places)

        targets = [over(each) for each in query.targets]
        keys = [bound.SortKey(over(key.expr), key.descending, key.nulls_first) for key in query.order_by]
        if query.distinct is True:
            return self._distinct(query, node, targets, keys)
        if query.distinct:
            node = DistinctOn(node, tuple(over(each) for each in query.distinct), tuple(keys))
        # ORDER BY may want what the select list does not have.
        extra = [key.expr for key in keys if key.expr not in targets]
        wide = Project(node, (*targets, *extra), tuple(c.name for c in query.columns) + ("",) * len(extra))
        return self._finished(query, wide, keys, [*targets, *extra])

    def _distinct(self, query: bound.Select, node: Node, targets: list[Any], keys: list[bound.SortKey]) -> Node:
        wide = Project(node, tuple(targets), tuple(column.name for column in query.columns))
        if any(kind.carried for kind in wide.types):
            raise NotCarried("DISTINCT of numerics of varying scale")
        return self._finished(query, Aggregate(wide, root_columns(wide)), keys, targets)

    def _finished(self, query: bound.Select, wide: Node, keys: list[bound.SortKey], given: list[Any]) -> Node:
        """ORDER BY and LIMIT over the columns `given`, of which the select list's come first."""
        if keys or query.limit is not None or query.offset is not None:
            sort = tuple(
                bound.SortKey(_at(given.index(key.expr), key.expr), key.descending, key.nulls_first) for key in keys
            )
            wide = Sort(wide, sort, _row_count(query.limit), _row_count(query.offset))
        if len(given) == len(query.columns):
            return wide
        return Project(wide, root_columns(wide)[: len(query.columns)], tuple(c.name for c in query.columns))

    def _core(self, query: bound.Select, ctes: tuple[bound.Cte, ...], above: list[Any]) -> tuple[Node, list[Any]]:
        """The block's planned part, and the expressions that its columns hold."""
        carrier = Carrier(self.block, self._estimate, lambda: next(self._numbers), ctes, self._shared, self._uses)
        # What stands above sees values: columns, groups' keys and aggregates, scalar subqueries.
        values: list[Any] = []
        keys = query.group_by

        def leaf(each: Any) -> Any:
            is_value = isinstance(each, bound.Column | bound.Aggregate) or each in keys
            if isinstance(each, bound.ScalarSubquery | bound.Exists | bound.AnySubquery | bound.ArraySubquery):
                is_value = True
            if not is_value or isinstance(each, bound.Constant):
                return None
            if each not in values:
                values.append(each)
            return each

        for each in above:
            transform(each, leaf)
        text = carrier.core(query, values)
        if not values:
            # The planner gives one column at least, and what stands above it counts it.
            values.append(bound.Constant(1, INT4))
        relations = {name: (len(found.node.types), found.rows) for name, found in carrier.leaves.items()}
        rel = relational_plan(text, relations)
        restorer = Restorer(carrier.symbols, {name: found.node for name, found in carrier.leaves.items()})
        try:
            return restorer.node(rel), values
        except TypeError as error:
            # What the planner's accessors raise for parts that they do not know.
            raise NotCarried("a subquery that the planner cannot undo") from error

    def _by_sets(
        self, query: bound.Select, sets: tuple[tuple[int, ...], ...], ctes: tuple[bound.Cte, ...], above: list[Any]
    ) -> tuple[Node, list[Any]]:
        """GROUPING SETS: the rows that are grouped, shared, and a grouping of them for each set."""
        keys = list(query.group_by)
        if any(isinstance(key, bound.Constant) for key in keys):
            raise NotCarried("GROUPING SETS of constants")
        calls: list[bound.Aggregate] = []
        groupings: list[bound.Grouping] = []
        for node in (node for each in (*above, query.having) if each is not None for node in walk(each)):
            if isinstance(node, bound.Aggregate) and node not in calls:
                calls.append(node)
            if isinstance(node, bound.Grouping) and node not in groupings:
                groupings.append(node)
        plain = replace(query, grouped=False, group_by=(), grouping_sets=None, having=None)
        inside = [part for call in calls for part in (*call.args, *(k.expr for k in call.order_by), call.filter)]
        rows, values = self._core(plain, ctes, [*keys, *(part for part in inside if part is not None)])
        shared = Shared(rows, -next(self._numbers))
        made: Node | None = None
        for each in sets:
            # A key that stands twice in GROUP BY is one.
            kept = [number for number, key in enumerate(keys) if any(keys[other] == key for other in each)]
            group = Aggregate(
                shared,
                tuple(_placed(keys[number], values) for number in kept),
                tuple(_placed(call, values, whole=False) for call in calls),
            )
            outputs: list[Any] = [
                column(kept.index(number), key.type) if number in kept else bound.Constant(None, key.type)
                for number, key in enumerate(keys)
            ]
            outputs += [column(len(kept) + number, call.type) for number, call in enumerate(calls)]
            outputs += [bound.Constant(_mask(grouping, keys, kept), grouping.type) for grouping in groupings]
            part = Project(group, tuple(outputs))
            made = part if made is None else SetOperation("UNION", True, made, part)
        assert made is not None
        places = [*keys, *calls, *groupings]
        if query.having is not None:
            made = Filter(made, _placed(query.having, places))
        return made, places

    def _windows(self, node: Node, places: list[Any], above: list[Any]) -> tuple[Node, list[Any]]:
        calls: list[bound.Window] = []
        for each in above:
            for inner in walk(each):
                if isinstance(inner, bound.Window) and inner not in calls:
                    calls.append(inner)
        # Calls that share a PARTITION BY share the node, and so the exchange.
        groups: dict[Any, list[bound.Window]] = {}
        for call in calls:
            groups.setdefault(repr(call.partition_by), []).append(call)
        places = list(places)
        for group in groups.values():
            made = tuple(_placed(call, places, whole=False) for call in group)
            node = Window(node, made)
            places += group
        return node, places

    # ------------------------------------------------------------------------------------------ the others

    def _set_operation(self, query: bound.SetOperation, ctes: tuple[bound.Cte, ...]) -> Node:
        left, right = self.block(query.left, ctes), self.block(query.right, ctes)
        if any(a.carried != b.carried or a.carried for a, b in zip(left.types, right.types, strict=True)):
            raise NotCarried(f"{query.op} of numerics of varying scale")
        node: Node = SetOperation(query.op, query.all or query.op == "UNION", left, right)
        if query.op == "UNION" and not query.all:
            node = Aggregate(node, root_columns(node))
        return self._ordered(query, node)

    def _values(self, query: bound.Values) -> Node:
        for row in query.rows:
            for each in row:
                if any(
                    isinstance(node, bound.ScalarSubquery | bound.Exists | bound.AnySubquery) for node in walk(each)
                ):
                    raise NotCarried("a subquery in VALUES")
        return self._ordered(query, Values(query.rows, tuple(column.type for column in query.columns)))

    def _ordered(self, query: bound.SetOperation | bound.Values, node: Node) -> Node:
        if not query.order_by and query.limit is None and query.offset is None:
            return node
        keys = tuple(bound.SortKey(column(i, node.types[i]), down, first) for i, down, first in query.order_by)
        return Sort(node, keys, _row_count(query.limit), _row_count(query.offset))


def root_columns(node: Node) -> tuple[bound.Column, ...]:
    """A node's columns as expressions over it."""
    return tuple(
        column(index, kind, name) for index, (kind, name) in enumerate(zip(node.types, node.names, strict=True))
    )


def _at(index: int, expr: Any) -> bound.Column:
    return column(index, expr.type, getattr(expr, "name", ""))


def _mask(grouping: bound.Grouping, keys: list[Any], kept: list[int]) -> int:
    """GROUPING(…) of a set: a bit for each argument, 1 for one that the set leaves out."""
    made = 0
    for arg in grouping.args:
        made = made * 2 + (keys.index(arg) not in kept)
    return made


def _placed(expr: Any, places: list[Any], *, whole: bool = True) -> Any:
    """An expression over a node whose columns hold `places`; with `whole` the expression itself may be one of them."""

    def change(each: Any) -> Any:
        if isinstance(each, bound.Constant) or (not whole and each is expr):
            return None
        if each in places:
            return _at(places.index(each), each)
        if isinstance(each, bound.Column):
            raise NotCarried("a column that stands in no group")
        return None

    return transform(expr, change)


def _row_count(limit: Any | None) -> Any | None:
    if limit is None or (isinstance(limit, bound.Constant) and limit.value is None):
        return None
    if any(isinstance(node, bound.Column | bound.ScalarSubquery) for node in walk(limit)):
        raise NotCarried("LIMIT of a subquery")
    return limit
