"""Plans FROM, WHERE and subqueries that the planner's text cannot express, by joins with a subquery's domain.

A relation that reads columns of those to its left (LATERAL), and a subquery as a value, are planned once over the
distinct rows of what they read (`rows.Domain`), and joined back to the rows that they belong to.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Protocol

from gpudb.plan.dask.blocks import BlockPlanner, Ctes
from gpudb.plan.errors import NotSupportedOnWorkers
from gpudb.plan.logical import subquery_forms
from gpudb.plan.logical.rows import Domain, Rows, build_domain, join_back, number_rows
from gpudb.plan.logical.table_functions import join_function
from gpudb.plan.tree.functions import cast_to
from gpudb.plan.tree.joins import build_join
from gpudb.plan.tree.nodes import Filter, Join, JoinKind, Node, Scan, Shared, Values, column
from gpudb.plan.tree.traversal import join_conjuncts, split_conjuncts, transform
from gpudb.sql import bound
from gpudb.sql.traverse import outer_columns, walk
from gpudb.types import SqlType

ONE_EMPTY_ROW = Rows(Values(((),), ()), ())
"""Input of a block without FROM: one row without columns."""


class DomainPlanner(BlockPlanner, Protocol):
    """Plans whole queries, under a domain too."""

    def block(self, query: bound.Query, ctes: Ctes, domain: Domain | None = None) -> Node:
        """Returns a query's node: the domain's columns first, then the query's own."""

    def outer_columns_of(self, cte: int, ctes: Ctes) -> set[tuple[int, int]]:
        """Returns the columns that a WITH query reads from outside."""


class DependentPlanner:
    """Plans parts of one block in which the queries `ctes` are named."""

    def __init__(self, blocks: DomainPlanner, ctes: Ctes) -> None:
        self._blocks = blocks
        self._ctes = ctes
        self.fresh = blocks.fresh
        # Conditions of WHERE that have not been applied yet while FROM is planned.
        self._waiting: tuple[Any, ...] = ()

    # ------------------------------------------------------------------------------------------ FROM

    def rows(self, query: bound.Select, domain: Domain | None) -> Rows:
        """Returns the rows of FROM for which WHERE is true; under a domain, for each of its rows, whose columns come
        first.

        A relation that reads columns to its left is computed only for the rows that conditions on those columns keep.
        """
        self._waiting = tuple(each for each in split_conjuncts(query.where) if not _has_subquery(each))
        rows = self._source(query.source, domain)
        rest = (*self._waiting, *(each for each in split_conjuncts(query.where) if _has_subquery(each)))
        return self.filtered(rows, join_conjuncts(rest))

    def _left(self, rows: Rows) -> Rows:
        """Applies the conditions of WHERE that are on these rows alone."""
        own = tuple(each for each in self._waiting if _is_over(each, rows))
        self._waiting = tuple(each for each in self._waiting if each not in own)
        return self.filtered(rows, join_conjuncts(own))

    def _unfiltered(self, source: Any, outside: Rows | None = None) -> Rows:
        """Plans a side of an outer join that may be NULL-extended, to which WHERE applies after the join alone."""
        waiting, self._waiting = self._waiting, ()
        made = self._side(source, outside)
        self._waiting = waiting
        return made

    def _side(self, source: Any, outside: Rows | None) -> Rows:
        return self._alone(source) if outside is None else self._beside(outside, source)

    def _source(self, source: Any | None, domain: Domain | None) -> Rows:
        outside = domain.rows if domain is not None else ONE_EMPTY_ROW
        if source is None:
            return outside
        if domain is None:
            return self._alone(source)
        if isinstance(source, bound.Derived) and self._reads(outside, source.query):
            # All of FROM is over the domain itself: it needs no join back, and its order is the rows' order.
            return self._under(domain, source.rel, source.query)
        return self._beside(outside, source)

    def _beside(self, outside: Rows, source: Any) -> Rows:
        """Joins each row with the rows of a relation that may read its columns."""
        reads = self._outer_columns(source)
        if not any(outside.found(*each) is not None for each in reads):
            other = self._alone(source)
            return Rows(Join("INNER", outside.node, other.node), (*outside.places, *other.places))
        match source:
            case bound.Join(kind="CROSS" | "INNER"):
                both = self._beside(self._beside(outside, source.left), source.right)
                return self.filtered(both, source.on)
            case bound.Join():
                return self._outer(source, outside)
            case bound.FunctionScan():
                return self._function(outside, source)
            case bound.Derived() | bound.CteScan():
                return self._lateral("INNER", outside, source)
            case _:
                raise NotSupportedOnWorkers(f"LATERAL {type(source).__name__}")

    def _alone(self, source: Any) -> Rows:
        match source:
            case bound.Scan(row_ids=False):
                table = source.table
                return _relation_rows(source.rel, Scan(table, tuple(range(len(table.columns)))))
            case bound.Derived():
                return _relation_rows(source.rel, self._blocks.block(source.query, self._ctes))
            case bound.CteScan():
                found = self._blocks.with_query(source, self._ctes)
                node = found if isinstance(found, Node) else self._blocks.block(found, self._ctes)
                return _relation_rows(source.rel, node)
            case bound.Join(kind="CROSS" | "INNER"):
                both = self._beside(self._alone(source.left), source.right)
                return self.filtered(both, source.on)
            case bound.Join():
                return self._outer(source, None)
            case bound.FunctionScan():
                return self._function(ONE_EMPTY_ROW, source)
            case bound.Scan():
                raise NotSupportedOnWorkers("row identifiers")
            case bound.SystemScan():
                raise NotSupportedOnWorkers("the system catalog")
            case bound.FrameScan():
                raise NotSupportedOnWorkers("a registered frame")
            case _:
                raise NotSupportedOnWorkers(type(source).__name__)

    def _outer(self, source: bound.Join, outside: Rows | None) -> Rows:
        """Plans LEFT, RIGHT and FULL JOIN."""
        first, second = (source.right, source.left) if source.kind == "RIGHT" else (source.left, source.right)
        kind: JoinKind = "FULL" if source.kind == "FULL" else "LEFT"
        left = self._side(first, outside) if kind == "LEFT" else self._unfiltered(first, outside)
        if any(left.found(*each) is not None for each in self._outer_columns(second)):
            if kind == "FULL":
                raise NotSupportedOnWorkers("a FULL JOIN that reads columns from outside")
            return self._lateral(kind, left, second, source.on)
        if kind == "FULL" and outside is not None:
            raise NotSupportedOnWorkers("a FULL JOIN that reads columns from outside")
        right = self._unfiltered(second)
        both = (*left.places, *right.places)
        if source.on is None or not _has_subquery(source.on):
            parts = split_conjuncts(Rows(Join("INNER", left.node, right.node), both).over(source.on))
            return Rows(build_join(kind, left.node, right.node, parts), both)
        if kind == "FULL":
            raise NotSupportedOnWorkers("a subquery in ON of a FULL JOIN")
        # The matching pairs are computed first.
        rows = number_rows(left, self.fresh())
        pairs = Rows(Join("INNER", rows.node, right.node), (*rows.places, *right.places))
        pairs = self.filtered(pairs, source.on)
        last = len(left.places)
        made = pairs.only(range(last, last + 1 + len(right.places)))
        node = Join(kind, rows.node, made.node, ((rows.at(last), made.at(0)),))
        places = (*rows.places, *made.places)
        return Rows(node, places).only(_all_but(last, last + 2, len(places)))

    def _lateral(self, kind: JoinKind, left: Rows, source: Any, on: Any | None = None) -> Rows:
        """Joins rows with a relation that reads their columns, planned over the distinct values that it reads."""
        left = self._left(left)
        domain = self._domain(left, self._outer_columns(source))
        match source:
            case bound.Derived():
                made = self._under(domain, source.rel, source.query)
            case bound.CteScan():
                found = self._blocks.with_query(source, self._ctes)
                if isinstance(found, Node):
                    raise NotSupportedOnWorkers("a WITH query that reads columns from outside")
                made = self._under(domain, source.rel, found)
            case _:
                made = self._beside(domain.rows, source)
        places = (*domain.outside.places, *made.places)
        width = len(domain.outside.places)
        condition = None
        if on is not None:
            # The domain's columns occur twice, with the same values.
            if _has_subquery(on):
                raise NotSupportedOnWorkers("a subquery in ON of a LATERAL join")
            condition = Rows(Join("INNER", domain.outside.node, made.node), places).over(on)
        assert kind in {"INNER", "LEFT"}
        node = join_back(kind, domain, made.node, condition=condition)
        return Rows(node, places).only(_all_but(len(left.places), width + domain.width, len(places)))

    def _under(self, domain: Domain, rel: int, query: bound.Query) -> Rows:
        node = self._blocks.block(query, self._ctes, domain)
        own = tuple(bound.Column(rel, i, c.type, c.name) for i, c in enumerate(query.columns))
        return Rows(node, (*domain.rows.places, *own))

    def _function(self, outside: Rows, source: bound.FunctionScan) -> Rows:
        return join_function(self.valued(self._left(outside), source.args), source)

    # ------------------------------------------------------------------------------------------ conditions

    def filtered(self, rows: Rows, condition: Any | None) -> Rows:
        """Returns the rows for which a condition is true; subqueries are evaluated for rows that the other
        conditions keep.
        """
        parts = split_conjuncts(condition)
        plain = join_conjuncts(tuple(rows.over(each) for each in parts if not _has_subquery(each)))
        if plain is not None:
            rows = replace(rows, node=Filter(rows.node, plain))
        for each in parts:
            if _has_subquery(each):
                rows = self._tested(rows, each)
        return rows

    def _tested(self, rows: Rows, condition: Any) -> Rows:
        inner, negated = condition, False
        while isinstance(inner, bound.BoolOp) and inner.op == "NOT":
            inner, negated = inner.args[0], not negated
        if isinstance(inner, bound.Exists) and self._reads(rows, inner.query):
            domain = self._domain(rows, self._outer_columns(inner.query))
            made = self._blocks.block(_drop_order(inner.query), self._ctes, domain)
            node = join_back("ANTI" if negated else "SEMI", domain, made)
            return Rows(node, domain.outside.places).only(range(len(rows.places)))
        held = self.valued(rows, (condition,))
        return Rows(Filter(held.node, held.over(condition)), held.places).only(range(len(rows.places)))

    # ------------------------------------------------------------------------------------------ subqueries

    def valued(self, rows: Rows, exprs: Iterable[Any]) -> Rows:
        """Returns the rows with one more column for each subquery in some expressions."""
        found: list[Any] = []

        def look(each: Any) -> Any:
            if each in rows.places and not isinstance(each, bound.Constant):
                return each
            if isinstance(each, bound.SUBQUERIES):
                if each not in found:
                    found.append(each)
                return each
            return None

        for each in exprs:
            transform(each, look)
        for each in found:
            rows = self._value(rows, each)
        return rows

    def _value(self, rows: Rows, subquery: Any) -> Rows:
        match subquery:
            case bound.ScalarSubquery():
                return self._joined(rows, subquery.query, subquery, subquery_forms.ScalarForm(subquery.type))
            case bound.Exists():
                return self._joined(rows, _drop_order(subquery.query), subquery, subquery_forms.ExistsForm())
            case bound.ArraySubquery():
                query, ordered = subquery_forms.add_row_numbers(subquery.query, self.fresh)
                return self._joined(rows, query, subquery, subquery_forms.ArrayForm(subquery.type, ordered))
            case _:
                kind = subquery_forms.membership_key_type(subquery)
                if kind is not None:
                    return self._membership(rows, subquery, kind)
                query = subquery_forms.comparison_query(subquery, self.fresh)
                return self._joined(rows, query, subquery, subquery_forms.QuantifiedForm(subquery.all))

    def _joined(self, rows: Rows, query: bound.Query, what: Any, form: subquery_forms.SubqueryForm) -> Rows:
        """Returns the rows with a subquery's value, which `form` computes from the subquery's rows, as the last
        column.
        """
        own = len(rows.places)
        if not self._reads(rows, query):
            made = form.of(self._blocks.block(query, self._ctes), 0)
            node: Node = Join("INNER", rows.node, made)
            at = own
        else:
            domain = self._domain(rows, self._outer_columns(query))
            domain, below = domain.narrowed(self._blocks.block(query, self._ctes, domain))
            made = form.of(below, domain.width)
            node = join_back("LEFT", domain, made)
            at = len(domain.outside.places) + domain.width
        value = form.value(tuple(column(index, node.types[index]) for index in range(at, len(node.types))))
        return Rows(node, rows.places).with_values(((what, value),))

    def _membership(self, rows: Rows, subquery: bound.AnySubquery, kind: SqlType) -> Rows:
        """Plans `x = ANY (subquery)`: a join with the rows that equal x, and a join with the counts of rows and
        non-NULLs.
        """
        own = len(rows.places)
        rows = self.valued(rows, subquery.left)
        left = rows.over(subquery.left[0])
        domain = self._domain(rows, self._outer_columns(subquery.query)) if self._reads(rows, subquery.query) else None
        node = self._blocks.block(subquery.query, self._ctes, domain)
        if domain is not None:
            domain, node = domain.narrowed(node)
        width = 0 if domain is None else domain.width
        member = Shared(node, -self.fresh())
        marked, counted = subquery_forms.split_members(member, width, kind)
        key = (cast_to(left, kind), column(width, kind))
        if domain is None:
            first = Join("LEFT", rows.node, marked, (key,))
            second = Join("INNER", first, counted)
        else:
            first = join_back("LEFT", domain, marked, key)
            second = join_back("LEFT", replace(domain, outside=Rows(first, domain.outside.places)), counted)
        at = len(first.types)
        mark, total, known = (column(index, second.types[index]) for index in (at - 1, at + width, at + width + 1))
        made = Rows(second, rows.places).with_values(
            ((subquery, subquery_forms.membership_value(mark, total, known, left)),)
        )
        return made.only([*range(own), len(made.places) - 1])

    def _reads(self, rows: Rows, query: Any) -> bool:
        return any(rows.found(*each) is not None for each in self._outer_columns(query))

    def _outer_columns(self, node: Any) -> set[tuple[int, int]]:
        """Returns the columns that a query or relation reads from outside, through the WITH queries that it names
        too.
        """
        found = outer_columns(node)
        inside = {each.number for each in walk(node) if isinstance(each, bound.Cte)}
        for each in walk(node):
            if isinstance(each, bound.CteScan) and each.cte not in inside:
                found |= self._blocks.outer_columns_of(each.cte, self._ctes)
        return found

    def _domain(self, rows: Rows, reads: set[tuple[int, int]]) -> Domain:
        wanted = sorted({place for each in reads if (place := rows.found(*each)) is not None})
        return build_domain(rows.shared(self.fresh()), wanted, self.fresh())


def _relation_rows(rel: int, node: Node) -> Rows:
    return Rows(node, tuple(bound.Column(rel, i, t, n) for i, (t, n) in enumerate(zip(node.types, node.names))))


def _drop_order(query: bound.Query) -> bound.Query:
    """Drops the order of a query of which only the existence of rows matters."""
    if isinstance(query, bound.Select) and query.limit is None and query.offset is None and query.order_by:
        return replace(query, order_by=())
    return query


def _has_subquery(expr: Any) -> bool:
    return any(isinstance(each, bound.SUBQUERIES) for each in walk(expr))


def _is_over(expr: Any, rows: Rows) -> bool:
    """Returns whether an expression reads columns, and only those of these rows."""
    read = [each for each in walk(expr) if isinstance(each, bound.Column) and each.rel >= 0]
    return bool(read) and all(rows.found(each.rel, each.index) is not None for each in read)


def _all_but(start: int, end: int, width: int) -> list[int]:
    return [*range(start), *range(end, width)]
