"""Plans a bound query: the planner's part of each block, and what is above it.

A block consists of a SELECT's joins, conditions and groups. Above it come, in this order, its windows, its
set-returning functions, its select list, DISTINCT, and ORDER BY with LIMIT. Under a domain (a subquery that reads
columns from outside: `rows`) each node returns the domain's columns first, and groups, windows, DISTINCT and LIMIT are
computed per row of the domain.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from typing import Any

from gpudb.plan.dask.blocks import Ctes
from gpudb.plan.dask.dask_sql_planner import plan_text
from gpudb.plan.dask.decode import Decoder
from gpudb.plan.dask.encode import Encoder
from gpudb.plan.errors import NotSupportedOnWorkers
from gpudb.plan.logical.dependent_joins import ONE_EMPTY_ROW, DependentPlanner
from gpudb.plan.logical.groups import plan_groups
from gpudb.plan.logical.limits import apply_limit, is_constant_count
from gpudb.plan.logical.rows import Domain, Rows, rewrite_over
from gpudb.plan.tree.functions import cast_to
from gpudb.plan.tree.nodes import (
    Aggregate,
    DistinctOn,
    Node,
    Plan,
    Project,
    ProjectSet,
    Recursive,
    SetOperation,
    Shared,
    Values,
    Window,
    WorkTableScan,
    column,
)
from gpudb.plan.tree.relabels import remove_relabels
from gpudb.plan.tree.traversal import transform
from gpudb.sql import bound
from gpudb.sql.rewrite import rewrite_for_engine
from gpudb.sql.traverse import outer_columns, walk
from gpudb.types import INT4


def plan_query(query: bound.Query, estimate: Callable[[Node], int], *, optimize: bool = False) -> Plan:
    """Returns the plan of a whole query, not yet optimised; raises NotSupportedOnWorkers for what no worker runs.

    `estimate` returns the estimated rows of a node. dask-sql's own optimiser runs with `optimize` alone: the text has
    no subqueries for it to unnest, and `plan/optimize` does the rest of its work.
    """
    query = rewrite_for_engine(remove_relabels(query))
    return _PlanBuilder(query, estimate, optimize).plan(query)


class _PlanBuilder:
    def __init__(self, query: bound.Query, estimate: Callable[[Node], int], optimize: bool) -> None:
        nodes = list(walk(query))
        highest = max((node.rel for node in nodes if hasattr(node, "rel")), default=0)
        self._numbers = count(highest + 1)
        self._uses = Counter(node.cte for node in nodes if isinstance(node, bound.CteScan))
        self._shared: dict[int, Node] = {}
        self._working: dict[int, WorkTableScan] = {}
        self._estimate = estimate
        self._optimize = optimize

    def plan(self, query: bound.Query) -> Plan:
        if not query.columns:
            raise NotSupportedOnWorkers("a result without columns")
        root = self.plan_block(query, ())
        return Plan(Project(root, output_columns(root), tuple(c.name for c in query.columns)), query.columns)

    def next_number(self) -> int:
        """A number that no relation has."""
        return next(self._numbers)

    def plan_block(self, query: bound.Query, ctes: Ctes, domain: Domain | None = None) -> Node:
        """Returns the node of a query; under a domain, of a query that reads its columns."""
        match query:
            case bound.Select():
                return self._plan_select(query, (*ctes, *query.ctes), domain)
            case bound.SetOperation():
                return self._plan_set_operation(query, (*ctes, *query.ctes), domain)
            case bound.Values():
                return self._plan_values(query, (*ctes, *query.ctes), domain)

    # ------------------------------------------------------------------------------------------ WITH

    def resolve_cte(self, source: bound.CteScan, ctes: Ctes) -> Node | bound.Query:
        """A reference to a WITH query: its shared node, or the query itself where it stands in its place."""
        if source.cte in self._working:
            return self._working[source.cte]
        cte = next(each for each in ctes if each.number == source.cte)
        if cte.recursive and any(isinstance(each, bound.CteScan) and each.cte == cte.number for each in walk(cte)):
            if cte.number not in self._shared:
                self._shared[cte.number] = Shared(self._plan_recursive(cte, ctes), cte.number)
            return self._shared[cte.number]
        once = self._uses.get(source.cte, 0) < 2 and not cte.materialized
        if once or self.cte_outer_columns(cte.number, ctes):
            return cte.query
        if cte.number not in self._shared:
            self._shared[cte.number] = Shared(self.plan_block(cte.query, ctes), cte.number)
        return self._shared[cte.number]

    def _plan_recursive(self, cte: bound.Cte, ctes: Ctes) -> Node:
        query = cte.query
        if not isinstance(query, bound.SetOperation) or query.op != "UNION":
            raise NotSupportedOnWorkers("WITH RECURSIVE of this shape")
        if self.cte_outer_columns(cte.number, ctes):
            raise NotSupportedOnWorkers("WITH RECURSIVE that reads columns of an outer query")
        names = (*ctes, *query.ctes)
        first = _cast_columns(self.plan_block(query.left, names), query.columns)
        working = WorkTableScan(cte.number, tuple((column.name, column.type) for column in query.columns))
        self._working[cte.number] = working
        try:
            second = _cast_columns(self.plan_block(query.right, names), query.columns)
        finally:
            del self._working[cte.number]
        return self._apply_order(query, Recursive(first, second, cte.number, not query.all), names, None)

    def cte_outer_columns(self, cte: int, ctes: Ctes) -> set[tuple[int, int]]:
        """Returns the columns that a WITH query reads from outside, through other WITH queries too."""
        query = next(each.query for each in ctes if each.number == cte)
        found = outer_columns(query)
        inside = {each.number for each in walk(query) if isinstance(each, bound.Cte)} | {cte}
        for each in walk(query):
            if isinstance(each, bound.CteScan) and each.cte not in inside:
                found |= self.cte_outer_columns(each.cte, ctes)
        return found

    # ------------------------------------------------------------------------------------------ SELECT

    def _plan_select(self, query: bound.Select, ctes: Ctes, domain: Domain | None) -> Node:
        rows, query = self._plan_block_rows(query, ctes, domain)
        own = [*rows.held[: domain.width]] if domain is not None else []
        above = _output_exprs(query)
        rows = _add_sets(_add_windows(rows, above, len(own)), above)
        domain_columns = [rows.column_at(index) for index in range(len(own))]
        targets = [rows.rewrite(each) for each in query.targets]
        keys = [bound.SortKey(rows.rewrite(key.expr), key.descending, key.nulls_first) for key in query.order_by]
        limit, offset = (
            each if is_constant_count(each) else rows.rewrite(each) for each in (query.limit, query.offset)
        )
        labels = (*("",) * len(domain_columns), *(column.name for column in query.columns))
        if query.distinct is True:
            wide: Node = Project(rows.node, (*domain_columns, *targets), labels)
            wide, held = Aggregate(wide, output_columns(wide)), [*domain_columns, *targets]
        else:
            node = rows.node
            if query.distinct:
                node = DistinctOn(
                    node, (*domain_columns, *(rows.rewrite(each) for each in query.distinct)), tuple(keys)
                )
            # ORDER BY and LIMIT may read expressions that are not in the select list.
            sorted_by = [
                *(key.expr for key in keys),
                *(each for each in (limit, offset) if not is_constant_count(each)),
            ]
            extra = [each for n, each in enumerate(sorted_by) if each not in targets and each not in sorted_by[:n]]
            held = [*domain_columns, *targets, *extra]
            wide = Project(node, tuple(held), labels + ("",) * len(extra))
        order = tuple(
            bound.SortKey(_column_at(held.index(key.expr), key.expr), key.descending, key.nulls_first) for key in keys
        )
        limit, offset = (each if is_constant_count(each) else rewrite_over(each, held) for each in (limit, offset))
        made = apply_limit(wide, len(domain_columns), order, limit, offset)
        if len(held) == len(domain_columns) + len(targets):
            return made
        return Project(made, output_columns(made)[: len(domain_columns) + len(targets)], labels)

    def _plan_block_rows(self, query: bound.Select, ctes: Ctes, domain: Domain | None) -> tuple[Rows, bound.Select]:
        """Returns the block's rows, and the query with its outputs over them."""
        parts = DependentPlanner(self, ctes)
        if domain is None and all(is_constant_count(each) for each in (query.limit, query.offset)):
            try:
                if query.grouping_sets is None:
                    return self._plan_core(query, ctes, _output_exprs(query)), query
                plain = replace(query, grouped=False, group_by=(), grouping_sets=None, having=None)
                rows, made = plan_groups(self._plan_core(plain, ctes, _grouping_exprs(query)), query, None, parts)
                return parts.add_subquery_values(rows, _output_exprs(made)), made
            except NotSupportedOnWorkers:
                # The planner's text cannot express the block, or dask-sql cannot unnest it.
                pass
        rows = parts.plan_rows(query, domain)
        if query.grouped:
            rows, query = plan_groups(rows, query, domain, parts)
        return parts.add_subquery_values(rows, (*_output_exprs(query), query.limit, query.offset)), query

    def _plan_core(self, query: bound.Select, ctes: Ctes, above: list[Any]) -> Rows:
        """Returns the block's rows as dask-sql plans them."""
        encoder = Encoder(self, self._estimate, ctes)
        # What is above reads values: columns, grouping keys, aggregates, scalar subqueries.
        values: list[Any] = []
        keys = query.group_by

        def leaf(each: Any) -> Any:
            is_value = isinstance(each, bound.Column | bound.Aggregate) or each in keys
            if isinstance(each, bound.SUBQUERIES):
                is_value = True
            if not is_value or isinstance(each, bound.Constant):
                return None
            if each not in values:
                values.append(each)
            return each

        for each in above:
            if any(isinstance(node, bound.Grouping) for node in walk(each)):
                raise NotSupportedOnWorkers("GROUPING")
            transform(each, leaf)
        text = encoder.encode_select(query, values)
        if not values:
            # The planner returns at least one column, and the nodes above count it.
            values.append(bound.Constant(1, INT4))
        # Columns that the text does not read are not registered: each takes planning time.
        read = encoder.columns_read(text)
        relations = {name: (read[name], found.rows) for name, found in encoder.leaves.items()}
        rel = plan_text(text, relations, optimize=self._optimize)
        decoder = Decoder(encoder.symbols, {name: (found.node, read[name]) for name, found in encoder.leaves.items()})
        try:
            return Rows(decoder.decode_node(rel), tuple(values))
        except TypeError as error:
            # The planner's accessors raise it for parts that they do not know.
            raise NotSupportedOnWorkers("a subquery that the planner cannot decorrelate") from error

    # ------------------------------------------------------------------------------------------ other queries

    def _plan_set_operation(self, query: bound.SetOperation, ctes: Ctes, domain: Domain | None) -> Node:
        sides = (self.plan_block(query.left, ctes, domain), self.plan_block(query.right, ctes, domain))
        left, right = (_cast_columns(side, query.columns) for side in sides)
        node: Node = SetOperation(query.op, query.all or query.op == "UNION", left, right)
        if query.op == "UNION" and not query.all:
            node = Aggregate(node, output_columns(node))
        return self._apply_order(query, node, ctes, domain)

    def _plan_values(self, query: bound.Values, ctes: Ctes, domain: Domain | None) -> Node:
        if domain is None and not any(
            isinstance(node, bound.SUBQUERIES) for row in query.rows for node in _walk_all(row)
        ):
            values = Values(query.rows, tuple(column.type for column in query.columns))
            return self._apply_order(query, values, ctes, domain)
        parts = DependentPlanner(self, ctes)
        made: Node | None = None
        outside = domain.rows if domain is not None else ONE_EMPTY_ROW
        for row in query.rows:
            rows = parts.add_subquery_values(outside, row)
            own = (rows.column_at(index) for index in range(len(outside.held)))
            one = Project(rows.node, (*own, *(rows.rewrite(each) for each in row)))
            made = one if made is None else SetOperation("UNION", True, made, one)
        assert made is not None
        return self._apply_order(query, made, ctes, domain)

    def _apply_order(
        self, query: bound.SetOperation | bound.Values, node: Node, ctes: Ctes, domain: Domain | None
    ) -> Node:
        width = domain.width if domain is not None else 0
        keys = tuple(
            bound.SortKey(column(width + i, node.types[width + i]), down, first) for i, down, first in query.order_by
        )
        counts = (query.limit, query.offset)
        rows = Rows(node, domain.rows.held if domain is not None else ())
        if not all(map(is_constant_count, counts)):
            rows = Rows(
                node, (*rows.held, *(bound.Column(self.next_number(), 0, c.type, c.name) for c in query.columns))
            )
            rows = DependentPlanner(self, ctes).add_subquery_values(rows, counts)
        made = apply_limit(
            rows.node, width, keys, *(each if is_constant_count(each) else rows.rewrite(each) for each in counts)
        )
        return Rows(made, rows.held).select(range(width + len(query.columns))).node


def _cast_columns(node: Node, columns: tuple[bound.OutputColumn, ...]) -> Node:
    """Casts a node's last columns to the types that a query declares; the columns before them are a domain's."""
    own, made = node.types[-len(columns) :], output_columns(node)
    if not columns or all(kind == declared.type for kind, declared in zip(own, columns, strict=True)):
        return node
    domain_columns, made = made[: -len(columns)], made[-len(columns) :]
    return Project(node, (*domain_columns, *(cast_to(each, c.type) for each, c in zip(made, columns, strict=True))))


def output_columns(node: Node) -> tuple[bound.Column, ...]:
    """Returns a node's columns as expressions over it."""
    return tuple(
        column(index, kind, name) for index, (kind, name) in enumerate(zip(node.types, node.names, strict=True))
    )


def _column_at(index: int, expr: Any) -> bound.Column:
    return column(index, expr.type, getattr(expr, "name", ""))


def _output_exprs(query: bound.Select) -> list[Any]:
    """Returns the expressions above a block's rows."""
    distinct = [] if isinstance(query.distinct, bool) else list(query.distinct)
    return [*query.targets, *(key.expr for key in query.order_by), *distinct]


def _grouping_exprs(query: bound.Select) -> list[Any]:
    """Returns the expressions over ungrouped rows that GROUPING SETS read."""
    parts: list[Any] = list(query.group_by)
    for each in (*_output_exprs(query), query.having):
        for call in walk(each) if each is not None else ():
            if isinstance(call, bound.Aggregate):
                parts += [*call.args, *(key.expr for key in (*call.order_by, *call.within_group))]
                parts += [call.filter] if call.filter is not None else []
    return parts


def _add_windows(rows: Rows, above: list[Any], width: int) -> Rows:
    """Adds the values of window calls; a domain's columns, the first `width`, partition them too."""
    calls: list[bound.Window] = []

    def look(each: Any) -> Any:
        if isinstance(each, bound.Window) and each not in calls:
            calls.append(each)
        return None

    for each in above:
        transform(each, look)
    # Calls with the same PARTITION BY share a node, and so an exchange.
    groups: dict[Any, list[bound.Window]] = {}
    for call in calls:
        groups.setdefault(repr(call.partition_by), []).append(call)
    domain = tuple(rows.column_at(index) for index in range(width))
    for group in groups.values():
        made = [rewrite_over(call, rows.held, whole=False) for call in group]
        parted = tuple(replace(call, partition_by=(*domain, *call.partition_by)) for call in made)
        rows = Rows(Window(rows.node, parted), (*rows.held, *group))
    return rows


def _add_sets(rows: Rows, above: list[Any]) -> Rows:
    """Expands each row by the select list's set-returning calls, side by side."""
    calls: list[bound.SetReturning] = []

    def look(each: Any) -> Any:
        if isinstance(each, bound.SetReturning):
            if each not in calls:
                calls.append(each)
            return each
        return None

    for each in above:
        transform(each, look)
    if not calls:
        return rows
    made = tuple(rewrite_over(call, rows.held, whole=False) for call in calls)
    return Rows(ProjectSet(rows.node, made), (*rows.held, *calls))


def _walk_all(exprs: tuple[Any, ...]) -> list[Any]:
    """Returns expressions and all expressions below them."""
    return [node for each in exprs for node in walk(each)]
