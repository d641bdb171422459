"""GROUP BY, GROUPING SETS, aggregates and HAVING over rows, where the planner's text cannot express them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from gpudb.plan.errors import NotSupportedOnWorkers
from gpudb.plan.logical.dependent_joins import DependentPlanner
from gpudb.plan.logical.rows import Domain, Rows, join_back, rewrite_over
from gpudb.plan.tree.functions import COUNTS
from gpudb.plan.tree.nodes import Aggregate, Node, Project, SetOperation, Shared, column
from gpudb.plan.tree.traversal import transform
from gpudb.sql import bound
from gpudb.sql.traverse import replace_nodes, walk


def plan_groups(
    rows: Rows, query: bound.Select, domain: Domain | None, parts: DependentPlanner
) -> tuple[Rows, bound.Select]:
    """Returns the groups of a query's rows after HAVING, and the query with its outputs over the groups' columns."""
    keys = list(query.group_by)
    sets = query.grouping_sets
    if sets is not None and any(isinstance(key, bound.Constant) for key in keys):
        raise NotSupportedOnWorkers("GROUPING SETS of constants")
    inside = {each.rel for each in rows.held if isinstance(each, bound.Column)}
    inside -= {each.rel for each in (domain.rows.held if domain is not None else ()) if hasattr(each, "rel")}
    above = [
        *query.targets,
        *query.order_by,
        *_distinct_exprs(query),
        *([query.having] if query.having is not None else []),
    ]
    calls = _collect_calls(above)
    groupings: list[bound.Grouping] = []
    for each in (node for part in above for node in walk(part)):
        if isinstance(each, bound.Grouping) and each not in groupings and all(arg in keys for arg in each.args):
            groupings.append(each)
    groups = _Groups(parts.next_number(), keys, calls, groupings)
    # Columns that a primary key among the keys determines become keys too.
    for part in above:
        for loose in _ungrouped_columns(groups.over(part), inside):
            if loose not in keys:
                keys.append(loose)
                sets = sets if sets is None else tuple((*each, len(keys) - 1) for each in sets)
    rows = parts.add_subquery_values(rows, [*keys, *(each for call in calls for each in _call_exprs(call))])
    made = _build_groups(rows, keys, calls, groupings, sets, domain, parts)
    own = domain.rows.held if domain is not None else ()
    result = Rows(made, (*own, *groups.columns()))
    if query.having is not None:
        result = parts.filter(result, groups.over(query.having))
    distinct = query.distinct if isinstance(query.distinct, bool) else tuple(map(groups.over, query.distinct))
    changed = replace(
        query,
        targets=tuple(map(groups.over, query.targets)),
        order_by=tuple(map(groups.over, query.order_by)),
        distinct=distinct,
        having=None,
    )
    return result, changed


@dataclass(frozen=True, slots=True)
class _Groups:
    """The columns of groups, under the number `rel` of their relation: keys, then calls, then groupings."""

    rel: int
    keys: list[Any]
    calls: list[bound.Aggregate]
    groupings: list[bound.Grouping]

    def columns(self) -> tuple[bound.Column, ...]:
        """Returns the columns."""
        return tuple(self._column(number, each) for number, each in enumerate(self._values()))

    def over(self, expr: Any) -> Any:
        """Rewrites an expression above the groups to their columns, in its subqueries too."""
        return replace_nodes(expr, self._change)

    def _change(self, each: Any) -> Any:
        found = self._find(each)
        if found is None and isinstance(each, bound.SUBQUERIES):
            # An aggregate in it belongs to the subquery, even if an equal one is written outside.
            kept = replace(each, query=replace_nodes(each.query, self._change_within))
            return replace(kept, left=tuple(map(self.over, kept.left))) if isinstance(kept, bound.AnySubquery) else kept
        return found

    def _change_within(self, each: Any) -> Any:
        if isinstance(each, bound.Aggregate):
            return None
        return self._find(each)

    def _find(self, each: Any) -> bound.Column | None:
        """Returns the column whose value an expression is; None if there is none."""
        if isinstance(each, bound.Constant):
            return None
        for number, what in enumerate(self._values()):
            if each == what or _is_same_column(each, what):
                return self._column(number, each)
        return None

    def _values(self) -> tuple[Any, ...]:
        return (*self.keys, *self.calls, *self.groupings)

    def _column(self, number: int, each: Any) -> bound.Column:
        return bound.Column(self.rel, number, each.type, getattr(each, "name", ""))


def _build_groups(
    rows: Rows,
    keys: list[Any],
    calls: list[bound.Aggregate],
    groupings: list[bound.Grouping],
    sets: tuple[tuple[int, ...], ...] | None,
    domain: Domain | None,
    parts: DependentPlanner,
) -> Node:
    """Builds the groups: a domain's columns, keys, calls and groupings; several sets are united one after the other."""
    width = domain.width if domain is not None else 0
    if sets is not None and len(sets) > 1:
        rows = Rows(Shared(rows.node, -parts.next_number()), rows.held)
    made: Node | None = None
    for each in sets if sets is not None else (tuple(range(len(keys))),):
        # A key that occurs twice in GROUP BY is one.
        kept = [number for number, key in enumerate(keys) if any(keys[other] == key for other in each)]
        marks = [index for _, index in domain.keys] if domain is not None else []
        group: Node = Aggregate(
            rows.node,
            (*(rows.column_at(index) for index in marks), *(rows.rewrite(keys[number]) for number in kept)),
            tuple(rewrite_over(call, rows.held, whole=False) for call in calls),
        )
        start = len(marks)
        # A row of the domain without rows still has its group.
        single = not kept and (sets is not None or not keys)
        if domain is not None and (single or start < width):
            keyed = tuple((index, place) for place, index in enumerate(marks))
            itself = replace(domain, outside=domain.rows, keys=keyed)
            group, start = join_back("LEFT" if single else "INNER", itself, group), width + start
        else:
            single = False
        held: list[Any] = [column(index, group.types[index]) for index in range(width)]
        held += [
            column(start + kept.index(number), key.type) if number in kept else bound.Constant(None, key.type)
            for number, key in enumerate(keys)
        ]
        for number, call in enumerate(calls):
            value: Any = column(start + len(kept) + number, call.type)
            if single and call.function.name in COUNTS:
                value = bound.Choice("COALESCE", (value, bound.Constant(0, call.type)), call.type)
            held.append(value)
        held += [bound.Constant(_grouping_value(grouping, keys, kept), grouping.type) for grouping in groupings]
        part = Project(group, tuple(held))
        made = part if made is None else SetOperation("UNION", True, made, part)
    assert made is not None
    return made


def _is_same_column(one: Any, other: Any) -> bool:
    columns = isinstance(one, bound.Column) and isinstance(other, bound.Column)
    return columns and (one.rel, one.index) == (other.rel, other.index)


def _distinct_exprs(query: bound.Select) -> tuple[Any, ...]:
    return () if isinstance(query.distinct, bool) else query.distinct


def _call_exprs(call: bound.Aggregate) -> list[Any]:
    keys = [key.expr for key in (*call.order_by, *call.within_group)]
    return [*call.args, *keys, *([call.filter] if call.filter is not None else [])]


def _collect_calls(above: list[Any]) -> list[bound.Aggregate]:
    """Returns the aggregates of a query; those in its subqueries are theirs (see `bind.query.outer_aggregates`)."""
    found: list[bound.Aggregate] = []

    def look(each: Any) -> Any:
        if isinstance(each, bound.Aggregate) and each not in found:
            found.append(each)
        return each if isinstance(each, (bound.Aggregate, *bound.SUBQUERIES)) else None

    for each in above:
        transform(each, look)
    return found


def _ungrouped_columns(expr: Any, inside: set[int]) -> list[bound.Column]:
    """Returns the columns of an expression over groups that still refer to the rows below the groups."""
    return [node for node in walk(expr) if isinstance(node, bound.Column) and node.rel in inside]


def _grouping_value(grouping: bound.Grouping, keys: list[Any], kept: list[int]) -> int:
    """Returns the value of GROUPING(…) for a set: one bit per argument, 1 if the set leaves it out."""
    made = 0
    for arg in grouping.args:
        made = made * 2 + (keys.index(arg) not in kept)
    return made
