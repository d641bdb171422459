"""Plans FROM, WHERE and subqueries that the planner's text cannot express, by joins with a subquery's domain.

A relation that reads columns of those to its left (LATERAL), and a subquery as a value, are planned once over the
distinct rows of what they read (`rows.Domain`), and joined back to the rows that they belong to.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Literal, Protocol

from gpudb.plan.dask.blocks import BlockPlanner, Ctes
from gpudb.plan.errors import NotSupportedOnWorkers
from gpudb.plan.logical import subquery_forms
from gpudb.plan.logical.rows import Domain, Rows, build_domain, join_back, number_rows
from gpudb.plan.logical.table_functions import join_function
from gpudb.plan.tree.functions import cast_to
from gpudb.plan.tree.joins import build_join
from gpudb.plan.tree.nodes import AsofJoin as PlannedAsofJoin
from gpudb.plan.tree.nodes import Filter, Join, JoinKind, Node, Project, Scan, Shared, Values, column
from gpudb.plan.tree.predicates import common_key_type, is_plain_core
from gpudb.plan.tree.traversal import transform
from gpudb.sql import bound
from gpudb.sql.asof_joins import AsofJoin, find_asof_join
from gpudb.sql.fallibility import may_fail
from gpudb.sql.traverse import has_subquery, join_conjuncts, outer_columns, split_conjuncts, walk
from gpudb.types import SqlType

ONE_EMPTY_ROW = Rows(Values(((),), ()), ())
"""Input of a block without FROM: one row without columns."""


class DomainPlanner(BlockPlanner, Protocol):
    """Plans whole queries, under a domain too."""

    def plan_block(self, query: bound.Query, ctes: Ctes, domain: Domain | None = None) -> Node:
        """Returns a query's node: the domain's columns first, then the query's own."""

    def cte_outer_columns(self, cte: int, ctes: Ctes) -> set[tuple[int, int]]:
        """Returns the columns that a WITH query reads from outside."""


class DependentPlanner:
    """Plans parts of one block in which the queries `ctes` are named."""

    def __init__(self, blocks: DomainPlanner, ctes: Ctes) -> None:
        self._planner = blocks
        self._ctes = ctes
        self.next_number = blocks.next_number
        # Conditions of WHERE that have not been applied yet while FROM is planned.
        self._pending: tuple[Any, ...] = ()

    # ------------------------------------------------------------------------------------------ FROM

    def plan_rows(self, query: bound.Select, domain: Domain | None) -> Rows:
        """Returns the rows of FROM for which WHERE is true; under a domain, for each of its rows, whose columns come
        first.

        A relation that reads columns to its left is computed only for the rows that conditions on those columns keep.
        """
        self._pending = tuple(each for each in split_conjuncts(query.where) if not has_subquery(each))
        rows = self._plan_source(query.source, domain)
        rest = (*self._pending, *(each for each in split_conjuncts(query.where) if has_subquery(each)))
        return self.filter(rows, join_conjuncts(rest))

    def _apply_waiting(self, rows: Rows) -> Rows:
        """Applies the conditions of WHERE that are on these rows alone."""
        own = tuple(each for each in self._pending if _is_over(each, rows))
        self._pending = tuple(each for each in self._pending if each not in own)
        return self.filter(rows, join_conjuncts(own))

    def _plan_unfiltered(self, source: Any, outside: Rows | None = None) -> Rows:
        """Plans a side of an outer join that may be NULL-extended, to which WHERE applies after the join alone."""
        waiting, self._pending = self._pending, ()
        made = self._plan_side(source, outside)
        self._pending = waiting
        return made

    def _plan_side(self, source: Any, outside: Rows | None) -> Rows:
        return self._plan_alone(source) if outside is None else self._join_beside(outside, source)

    def _plan_source(self, source: Any | None, domain: Domain | None) -> Rows:
        outside = domain.rows if domain is not None else ONE_EMPTY_ROW
        if source is None:
            return outside
        if domain is None:
            return self._plan_alone(source)
        if isinstance(source, bound.Derived) and self._reads(outside, source.query):
            # All of FROM is over the domain itself: it needs no join back, and its order is the rows' order.
            return self._plan_under(domain, source.rel, source.query)
        return self._join_beside(outside, source)

    def _join_beside(self, outside: Rows, source: Any) -> Rows:
        """Joins each row with the rows of a relation that may read its columns."""
        reads = self._outer_columns(source)
        if not any(outside.find_column(*each) is not None for each in reads):
            other = self._plan_alone(source)
            return Rows(Join("INNER", outside.node, other.node), (*outside.held, *other.held))
        if isinstance(source, bound.Join) and (asof := find_asof_join(source, self.next_number)) is not None:
            return self._plan_asof_join(asof, outside)
        match source:
            case bound.Join(kind="CROSS" | "INNER"):
                both = self._join_beside(self._join_beside(outside, source.left), source.right)
                return self.filter(both, source.on)
            case bound.Join():
                return self._plan_outer_join(source, outside)
            case bound.FunctionScan():
                return self._join_function(outside, source)
            case bound.Derived() | bound.CteScan():
                return self._join_lateral("INNER", outside, source)
            case _:
                raise NotSupportedOnWorkers(f"LATERAL {type(source).__name__}")

    def _plan_alone(self, source: Any) -> Rows:
        if isinstance(source, bound.Join) and (asof := find_asof_join(source, self.next_number)) is not None:
            return self._plan_asof_join(asof, None)
        match source:
            case bound.Scan(row_ids=False):
                table = source.table
                return _relation_rows(source.rel, Scan(table, tuple(range(len(table.columns)))))
            case bound.Derived():
                return _relation_rows(source.rel, self._planner.plan_block(source.query, self._ctes))
            case bound.CteScan():
                found = self._planner.resolve_cte(source, self._ctes)
                node = found if isinstance(found, Node) else self._planner.plan_block(found, self._ctes)
                return _relation_rows(source.rel, node)
            case bound.Join(kind="CROSS" | "INNER"):
                both = self._join_beside(self._plan_alone(source.left), source.right)
                return self.filter(both, source.on)
            case bound.Join():
                return self._plan_outer_join(source, None)
            case bound.FunctionScan():
                return self._join_function(ONE_EMPTY_ROW, source)
            case bound.Scan():
                raise NotSupportedOnWorkers("row identifiers")
            case bound.SystemScan():
                raise NotSupportedOnWorkers("the system catalog")
            case bound.FrameScan():
                raise NotSupportedOnWorkers("a registered frame")
            case _:
                raise NotSupportedOnWorkers(type(source).__name__)

    def _plan_outer_join(self, source: bound.Join, outside: Rows | None) -> Rows:
        """Plans LEFT, RIGHT and FULL JOIN."""
        first, second = (source.right, source.left) if source.kind == "RIGHT" else (source.left, source.right)
        kind: Literal["LEFT", "FULL"] = "FULL" if source.kind == "FULL" else "LEFT"
        left = self._plan_side(first, outside) if kind == "LEFT" else self._plan_unfiltered(first, outside)
        if any(left.find_column(*each) is not None for each in self._outer_columns(second)):
            if kind == "FULL":
                raise NotSupportedOnWorkers("a FULL JOIN that reads columns of an outer query")
            return self._join_lateral(kind, left, second, source.on)
        if kind == "FULL" and outside is not None:
            raise NotSupportedOnWorkers("a FULL JOIN that reads columns of an outer query")
        return self._join_outer(kind, left, self._plan_unfiltered(second), source.on)

    def _join_outer(self, kind: Literal["LEFT", "FULL"], left: Rows, right: Rows, on: Any | None) -> Rows:
        """Joins two sides. A subquery of ON that reads one side alone is that side's filter, or a column of it."""
        widths = len(left.held), len(right.held)
        parts: list[Any] = []
        for each in split_conjuncts(on):
            if kind == "LEFT" and has_subquery(each) and not self._reads(left, each):
                # The join pairs no other rows of its nullable side.
                right = self.filter(right, each)
                continue
            for subquery in _find_subqueries((each,)):
                if _may_fail(subquery):
                    continue  # only for pairs
                if not self._reads(right, subquery):
                    left = self.add_subquery_values(left, (subquery,))
                elif not self._reads(left, subquery):
                    right = self.add_subquery_values(right, (subquery,))
            parts.append(each)
        both = Rows(Join("INNER", left.node, right.node), (*left.held, *right.held))
        if all(each in both.held for part in parts for each in _find_subqueries((part,))):
            conditions = tuple(both.rewrite(each) for each in parts)
            made = Rows(build_join(kind, left.node, right.node, conditions), both.held)
        else:
            made = self._join_outer_by_pairs(kind, left, right, join_conjuncts(tuple(parts)))
        first = len(left.held)
        return made.select([*range(widths[0]), *range(first, first + widths[1])])

    def _join_outer_by_pairs(self, kind: Literal["LEFT", "FULL"], left: Rows, right: Rows, on: Any) -> Rows:
        """Joins two sides by a condition with a subquery that reads both: the matching pairs are computed first."""
        rows = number_rows(left, self.next_number())
        last = len(left.held)
        others = number_rows(right, self.next_number()) if kind == "FULL" else right
        pairs = self.filter(Rows(Join("INNER", rows.node, others.node), (*rows.held, *others.held)), on)
        made = pairs.select(range(last, last + 1 + len(others.held)))
        if kind == "FULL":
            made = made.select([0, len(others.held)])
        node: Node = Join("LEFT", rows.node, made.node, ((rows.column_at(last), made.column_at(0)),))
        joined = Rows(node, (*rows.held, *made.held))
        if kind == "FULL":
            key = joined.column_at(last + 2), others.column_at(len(right.held))
            joined = Rows(Join("FULL", node, others.node, (key,)), (*joined.held, *others.held))
            first, end = last + 3, last + 3 + len(right.held)
        else:
            first, end = last + 2, last + 2 + len(right.held)
        return joined.select([*range(last), *range(first, end)])

    def _plan_asof_join(self, join: AsofJoin, outside: Rows | None) -> Rows:
        left = self._apply_waiting(self._plan_side(join.left, outside))
        right = _relation_rows(join.rows, self._planner.plan_block(join.right, self._ctes))
        places = (*left.held, *right.held)
        pairs = Rows(Join("INNER", left.node, right.node), places)
        keys: list[tuple[Any, Any]] = []
        for one, other in (*join.keys, join.times):
            kind = common_key_type(one.type, other.type)
            assert kind is not None
            keys.append((cast_to(left.rewrite(one), kind), cast_to(right.rewrite(other), kind)))
        *equal, times = keys
        condition = join_conjuncts(tuple(map(pairs.rewrite, join.within)))
        node = PlannedAsofJoin(join.kind, left.node, right.node, tuple(equal), times, join.operator, condition)
        made = Rows(node, places)
        exprs = (*map(made.column_at, range(len(left.held))), *map(made.rewrite, join.outputs))
        outputs = (bound.Column(join.rel, n, each.type) for n, each in enumerate(join.outputs))
        return Rows(Project(node, exprs), (*left.held, *outputs))

    def _join_lateral(self, kind: JoinKind, left: Rows, source: Any, on: Any | None = None) -> Rows:
        """Joins rows with a relation that reads their columns, planned over the distinct values that it reads."""
        left = self._apply_waiting(left)
        domain = self._build_domain(left, self._outer_columns(source))
        match source:
            case bound.Derived():
                made = self._plan_under(domain, source.rel, source.query)
            case bound.CteScan():
                found = self._planner.resolve_cte(source, self._ctes)
                if isinstance(found, Node):
                    raise NotSupportedOnWorkers("a WITH query that reads columns of an outer query")
                made = self._plan_under(domain, source.rel, found)
            case _:
                made = self._join_beside(domain.rows, source)
        places = (*domain.outside.held, *made.held)
        width = len(domain.outside.held)
        condition = None
        if on is not None:
            # The domain's columns occur twice, with the same values.
            if has_subquery(on):
                raise NotSupportedOnWorkers("a subquery in ON of a LATERAL join")
            condition = Rows(Join("INNER", domain.outside.node, made.node), places).rewrite(on)
        assert kind in {"INNER", "LEFT"}
        node = join_back(kind, domain, made.node, condition=condition)
        return Rows(node, places).select(_all_but(len(left.held), width + domain.width, len(places)))

    def _plan_under(self, domain: Domain, rel: int, query: bound.Query) -> Rows:
        node = self._planner.plan_block(query, self._ctes, domain)
        own = tuple(bound.Column(rel, i, c.type, c.name) for i, c in enumerate(query.columns))
        return Rows(node, (*domain.rows.held, *own))

    def _join_function(self, outside: Rows, source: bound.FunctionScan) -> Rows:
        return join_function(self.add_subquery_values(self._apply_waiting(outside), source.args), source)

    # ------------------------------------------------------------------------------------------ conditions

    def filter(self, rows: Rows, condition: Any | None) -> Rows:
        """Returns the rows for which a condition is true; subqueries are evaluated for rows that the other
        conditions keep.
        """
        parts = split_conjuncts(condition)
        plain = join_conjuncts(tuple(rows.rewrite(each) for each in parts if not has_subquery(each)))
        if plain is not None:
            rows = replace(rows, node=Filter(rows.node, plain))
        for each in parts:
            if has_subquery(each):
                rows = self._filter_by_subquery(rows, each)
        return rows

    def _filter_by_subquery(self, rows: Rows, condition: Any) -> Rows:
        inner, negated = condition, False
        while isinstance(inner, bound.BoolOp) and inner.op == "NOT":
            inner, negated = inner.args[0], not negated
        if isinstance(inner, bound.Exists) and self._reads(rows, inner.query):
            if (made := self._filter_by_keys(rows, inner.query, negated)) is not None:
                return made
            domain = self._build_domain(rows, self._outer_columns(inner.query))
            below = self._planner.plan_block(_drop_order(inner.query), self._ctes, domain)
            node = join_back("ANTI" if negated else "SEMI", domain, below)
            return Rows(node, domain.outside.held).select(range(len(rows.held)))
        if isinstance(inner, bound.AnySubquery) and (made := self._filter_by_membership(rows, inner, negated)):
            return made
        held = self.add_subquery_values(rows, (condition,))
        return Rows(Filter(held.node, held.rewrite(condition)), held.held).select(range(len(rows.held)))

    def _filter_by_keys(self, rows: Rows, query: bound.Query, negated: bool) -> Rows | None:
        """Returns the rows for which EXISTS, or NOT EXISTS, is true, by a join on the equalities of its WHERE; None if
        the query is correlated in another way.
        """
        if not is_plain_core(query) or not isinstance(query, bound.Select) or query.grouped or query.ctes:
            return None
        if query.source is None or self._reads(rows, query.source):
            return None
        parts = split_conjuncts(query.where)
        outer = [each for each in parts if self._reads(rows, each)]
        if any(map(has_subquery, outer)):
            return None
        own = join_conjuncts(tuple(each for each in parts if each not in outer))
        inner = DependentPlanner(self._planner, self._ctes).plan_rows(replace(query, where=own), None)
        both = Rows(Join("INNER", rows.node, inner.node), (*rows.held, *inner.held))
        kind: JoinKind = "ANTI" if negated else "SEMI"
        made = build_join(kind, rows.node, inner.node, tuple(map(both.rewrite, outer)))
        return Rows(made, rows.held) if made.keys else None

    def _filter_by_membership(self, rows: Rows, subquery: bound.AnySubquery, negated: bool) -> Rows | None:
        """Returns the rows for which IN, or NOT IN, is true, by a join that keeps them; None if no such join does."""
        kinds = subquery_forms.membership_key_types(subquery)
        correlated = self._reads(rows, subquery.query)
        if not kinds or (negated and (correlated or len(kinds) > 1)):
            return None
        own = len(rows.held)
        rows = self.add_subquery_values(rows, subquery.left)
        lefts = [cast_to(rows.rewrite(each), kind) for each, kind in zip(subquery.left, kinds, strict=True)]
        domain = self._build_domain(rows, self._outer_columns(subquery.query)) if correlated else None
        node = self._planner.plan_block(_drop_order(subquery.query), self._ctes, domain)
        if domain is not None:
            domain, node = domain.reduce_to_keys(node)
        first = domain.width if domain is not None else 0
        keys = tuple(
            (left, cast_to(column(index, node.types[index]), kind))
            for index, (left, kind) in enumerate(zip(lefts, kinds, strict=True), first)
        )
        if domain is not None:
            return Rows(join_back("SEMI", domain, node, *keys), domain.outside.held).select(range(own))
        made = Join("ANTI" if negated else "SEMI", rows.node, node, keys, null_aware=negated)
        return Rows(made, rows.held).select(range(own))

    # ------------------------------------------------------------------------------------------ subqueries

    def add_subquery_values(self, rows: Rows, exprs: Iterable[Any]) -> Rows:
        """Returns the rows with one more column for each subquery in some expressions."""
        for each in _find_subqueries(exprs, rows.held):
            rows = self._add_subquery_value(rows, each)
        return rows

    def _add_subquery_value(self, rows: Rows, subquery: Any) -> Rows:
        match subquery:
            case bound.ScalarSubquery():
                return self._join_subquery(rows, subquery.query, subquery, subquery_forms.ScalarForm(subquery.type))
            case bound.Exists():
                return self._join_subquery(rows, _drop_order(subquery.query), subquery, subquery_forms.ExistsForm())
            case bound.ArraySubquery():
                query, ordered = subquery_forms.add_row_numbers(subquery.query, self.next_number)
                return self._join_subquery(rows, query, subquery, subquery_forms.ArrayForm(subquery.type, ordered))
            case _:
                kind = subquery_forms.membership_key_type(subquery)
                if kind is not None:
                    return self._join_membership(rows, subquery, kind)
                query = subquery_forms.comparison_query(subquery, self.next_number)
                return self._join_subquery(rows, query, subquery, subquery_forms.QuantifiedForm(subquery.all))

    def _join_subquery(self, rows: Rows, query: bound.Query, what: Any, form: subquery_forms.SubqueryForm) -> Rows:
        """Returns the rows with a subquery's value, which `form` computes from the subquery's rows, as the last
        column.
        """
        own = len(rows.held)
        if not self._reads(rows, query):
            made = form.aggregate(self._planner.plan_block(query, self._ctes), 0)
            node: Node = Join("INNER", rows.node, made)
            at = own
        else:
            domain = self._build_domain(rows, self._outer_columns(query))
            domain, below = domain.reduce_to_keys(self._planner.plan_block(query, self._ctes, domain))
            made = form.aggregate(below, domain.width)
            node = join_back("LEFT", domain, made)
            at = len(domain.outside.held) + domain.width
        value = form.value(tuple(column(index, node.types[index]) for index in range(at, len(node.types))))
        return Rows(node, rows.held).with_values(((what, value),))

    def _join_membership(self, rows: Rows, subquery: bound.AnySubquery, kind: SqlType) -> Rows:
        """Plans `x = ANY (subquery)`: a join with the rows that equal x, and a join with the counts of rows and
        non-NULLs.
        """
        own = len(rows.held)
        rows = self.add_subquery_values(rows, subquery.left)
        left = rows.rewrite(subquery.left[0])
        domain = (
            self._build_domain(rows, self._outer_columns(subquery.query)) if self._reads(rows, subquery.query) else None
        )
        node = self._planner.plan_block(subquery.query, self._ctes, domain)
        if domain is not None:
            domain, node = domain.reduce_to_keys(node)
        width = 0 if domain is None else domain.width
        member = Shared(node, -self.next_number())
        marked, counted = subquery_forms.split_members(member, width, kind)
        key = (cast_to(left, kind), column(width, kind))
        if domain is None:
            first = Join("LEFT", rows.node, marked, (key,))
            second = Join("INNER", first, counted)
        else:
            first = join_back("LEFT", domain, marked, key)
            second = join_back("LEFT", replace(domain, outside=Rows(first, domain.outside.held)), counted)
        at = len(first.types)
        mark, total, known = (column(index, second.types[index]) for index in (at - 1, at + width, at + width + 1))
        made = Rows(second, rows.held).with_values(
            ((subquery, subquery_forms.membership_value(mark, total, known, left)),)
        )
        return made.select([*range(own), len(made.held) - 1])

    def _reads(self, rows: Rows, query: Any) -> bool:
        return any(rows.find_column(*each) is not None for each in self._outer_columns(query))

    def _outer_columns(self, node: Any) -> set[tuple[int, int]]:
        """Returns the columns that a query or relation reads from outside, through the WITH queries that it names
        too.
        """
        found = outer_columns(node)
        inside = {each.number for each in walk(node) if isinstance(each, bound.Cte)}
        for each in walk(node):
            if isinstance(each, bound.CteScan) and each.cte not in inside:
                found |= self._planner.cte_outer_columns(each.cte, self._ctes)
        return found

    def _build_domain(self, rows: Rows, reads: set[tuple[int, int]]) -> Domain:
        required = sorted({place for each in reads if (place := rows.find_column(*each)) is not None})
        return build_domain(rows.share(self.next_number()), required, self.next_number())


def _relation_rows(rel: int, node: Node) -> Rows:
    return Rows(node, tuple(bound.Column(rel, i, t, n) for i, (t, n) in enumerate(zip(node.types, node.names))))


def _drop_order(query: bound.Query) -> bound.Query:
    """Drops the order of a query, unless it decides which rows there are."""
    if not isinstance(query, bound.Select) or isinstance(query.distinct, tuple):
        return query
    if query.limit is None and query.offset is None and query.order_by:
        return replace(query, order_by=())
    return query


def _may_fail(subquery: Any) -> bool:
    """Whether a subquery's value for a row may be an error: its operand's, or too many rows."""
    return isinstance(subquery, bound.ScalarSubquery) or any(map(may_fail, getattr(subquery, "left", ())))


def _find_subqueries(exprs: Iterable[Any], held: tuple[Any, ...] = ()) -> list[Any]:
    """Returns the subqueries in some expressions, without those inside of others and those in what is `held`."""
    found: list[Any] = []

    def look(each: Any) -> Any:
        if each in held and not isinstance(each, bound.Constant):
            return each
        if isinstance(each, bound.SUBQUERIES):
            if each not in found:
                found.append(each)
            return each
        return None

    for each in exprs:
        transform(each, look)
    return found


def _is_over(expr: Any, rows: Rows) -> bool:
    """Returns whether an expression reads columns, and only those of these rows."""
    read = [each for each in walk(expr) if isinstance(each, bound.Column) and each.rel >= 0]
    return bool(read) and all(rows.find_column(each.rel, each.index) is not None for each in read)


def _all_but(start: int, end: int, width: int) -> list[int]:
    return [*range(start), *range(end, width)]
