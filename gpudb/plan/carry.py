"""Writes a bound query as the text that the planner reads: relations `r7` with columns `c0`, `c1`, … and symbols.

Joins, WHERE, GROUP BY, DISTINCT and subqueries are the text's own, so that the planner can order, decorrelate and
prune them. What it cannot carry (windows, limits, grouping sets, set operations, shared WITH queries) is planned by
itself, through `Carrier.block`, and is a table here.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from gpudb.plan.dependent import SUBQUERIES, Blocks, Ctes
from gpudb.plan.errors import NotCarried
from gpudb.plan.nodes import Filter, Node, Scan, column
from gpudb.plan.predicates import equality, factored, is_plain_core, plain_equality
from gpudb.plan.subqueries import pulled_out
from gpudb.plan.symbols import NOT_IN, SINGLE, Symbols
from gpudb.plan.traversal import conjunction, conjuncts, transform
from gpudb.sql import bound
from gpudb.sql.bound import Expr
from gpudb.sql.traverse import outer_columns, walk
from gpudb.types import BOOL

_NOT_TAKEN = (*SUBQUERIES, bound.Aggregate, bound.Window, bound.SetReturning, bound.Default)
_COLUMNS = re.compile(r"\b(r\d+)\.c(\d+)")


@dataclass
class Leaf:
    """A relation of the text: a table, or a part that was planned by itself; `rows` is what it is thought to have."""

    node: Node
    rows: int

    def keep(self, condition: Expr) -> None:
        """Keeps only the rows for which a condition over this relation is true."""

        def change(each: Any) -> Any:
            return column(each.index, each.type, each.name) if isinstance(each, bound.Column) else None

        part = transform(condition, change)
        if isinstance(self.node, Scan):
            self.node = replace(self.node, filter=conjunction((*conjuncts(self.node.filter), part)))
        else:
            self.node = Filter(self.node, part)


class Carrier:
    """Carries one block, in which the queries `ctes` have names; `blocks` plans what is planned by itself."""

    def __init__(self, blocks: Blocks, estimate: Callable[[Node], int], ctes: Ctes) -> None:
        self.symbols = Symbols()
        self.leaves: dict[str, Leaf] = {}
        self.nested = False
        """Whether the text has what the planner's optimiser undoes: subqueries, and outer joins that may be inner."""
        self._blocks = blocks
        self._estimate = estimate
        self._fresh = blocks.fresh
        self._ctes = ctes
        self._inside: set[int] = set()
        self._renamed: dict[tuple[int, int], str] = {}

    def read(self, text: str) -> dict[str, list[int]]:
        """By relation, the columns of it that a text reads: one at least, since the planner has no tables of none."""
        found: dict[str, set[int]] = {}
        for name, number in _COLUMNS.findall(text):
            found.setdefault(name, set()).add(int(number))
        return {name: sorted(found.get(name, ())) or [0] for name in self.leaves}

    # ------------------------------------------------------------------------------------------ queries

    def core(self, query: bound.Select, outputs: list[Expr]) -> str:
        """The text of a SELECT without what stands above its groups, giving `outputs` as c0, c1, …

        Of a grouped query the outputs are over its groups.
        """
        self._add(query.ctes)
        source = self._from(query.source) if query.source is not None else ""
        where = self._where(query.where, _inner(query.source))
        head = f" FROM {source}" if source else ""
        body = head + (f" WHERE {where}" if where else "")
        if not query.grouped:
            return f"SELECT {self._targets(outputs)}{body}"
        return self._grouped(query, outputs, body)

    def _grouped(self, query: bound.Select, outputs: list[Expr], body: str) -> str:
        keys = list(query.group_by)
        calls: list[bound.Aggregate] = []
        above = [*outputs, *conjuncts(query.having)]
        for each in above:
            for node in walk(each):
                if isinstance(node, bound.Aggregate) and node not in calls and self._own(node):
                    calls.append(node)
        # Columns that the primary key among the keys determines.
        for each in above:
            for loose in _loose_columns(each, tuple(keys)):
                if loose.rel in self._inside:
                    keys.append(loose)
        rel = self._fresh()
        texts = [self.value(key) for key in keys]
        if any(isinstance(each, bound.Exists | bound.AnySubquery) for call in calls for each in walk(call)):
            raise NotCarried("a subquery inside an aggregate")
        texts += [f"max({self.symbols.call(call, self._leaf_text, 'e')})" for call in calls]
        if not texts:
            texts = ["max('§')"]
        selected = ", ".join(f"{text} AS c{number}" for number, text in enumerate(texts))
        by = f" GROUP BY {', '.join(texts[: len(keys)])}" if keys else ""
        inner = f"(SELECT {selected}{body}{by}) AS r{rel}"
        parts: list[Any] = [*keys, *calls]
        for number, part in enumerate(parts):
            if isinstance(part, bound.Column):
                self._renamed[part.rel, part.index] = f"r{rel}.c{number}"
        self._inside.add(rel)

        def over(expr: Any) -> Any:
            def place(each: Any) -> Any:
                if isinstance(each, bound.Constant) or each not in parts:
                    return None
                return bound.Column(rel, parts.index(each), each.type, getattr(each, "name", ""))

            return transform(expr, place)

        text = f"SELECT {self._targets([over(each) for each in outputs])} FROM {inner}"
        having = self._where(over(query.having)) if query.having is not None else ""
        return text + (f" WHERE {having}" if having else "")

    def _own(self, call: bound.Aggregate) -> bool:
        columns = [node for node in walk(call) if isinstance(node, bound.Column)]
        return not columns or any(column.rel in self._inside for column in columns)

    def _targets(self, outputs: list[Expr]) -> str:
        return ", ".join(f"{self.value(each)} AS c{n}" for n, each in enumerate(outputs)) or "'§' AS c0"

    def _add(self, ctes: Ctes) -> None:
        self._ctes = (*self._ctes, *ctes)

    # ------------------------------------------------------------------------------------------ relations

    def _from(self, source: Any) -> str:
        match source:
            case bound.Scan(row_ids=False):
                return self._table(source.rel, Scan(source.table, tuple(range(len(source.table.columns)))))
            case bound.Derived():
                return self._derived(source.rel, source.query)
            case bound.CteScan():
                return self._cte(source)
            case bound.Join():
                left, right = self._from(source.left), self._from(source.right)
                if isinstance(source.right, bound.Join):
                    right = f"({right})"
                on = self._where(source.on, _inner(source) if source.kind == "INNER" else frozenset())
                if not on:
                    return f"{left} CROSS JOIN {right}"
                self.nested = self.nested or source.kind != "INNER"
                return f"{left} {source.kind} JOIN {right} ON {on}"
            case bound.Scan():
                raise NotCarried("row identifiers")
            case bound.FunctionScan():
                raise NotCarried(f"function {source.function.name} in FROM")
            case bound.SystemScan():
                raise NotCarried("the system catalog")
            case bound.FrameScan():
                raise NotCarried("a registered frame")
            case _:
                raise NotCarried(type(source).__name__)

    def _table(self, rel: int, node: Node) -> str:
        self._inside.add(rel)
        self.leaves[f"r{rel}"] = Leaf(node, max(self._estimate(node), 1))
        self.symbols.some_column = f"r{rel}.c0"
        return f"r{rel}"

    def _derived(self, rel: int, query: bound.Query) -> str:
        # Who reads rows in an order, array_agg say, is to find them in it.
        if is_plain_core(query) and not (isinstance(query, bound.Select) and query.order_by):
            assert isinstance(query, bound.Select)
            text = self._subselect(query, list(query.targets), distinct=query.distinct is True)
            self._inside.add(rel)
            return f"({text}) AS r{rel}"
        if self._correlated(query):
            raise NotCarried("LATERAL")
        return self._table(rel, self._blocks.block(query, self._ctes))

    def _subselect(self, query: bound.Select, outputs: list[Expr], *, distinct: bool = False) -> str:
        text = self.core(query, outputs)
        return "SELECT DISTINCT" + text.removeprefix("SELECT") if distinct else text

    def _cte(self, source: bound.CteScan) -> str:
        found = self._blocks.with_query(source, self._ctes)
        return self._table(source.rel, found) if isinstance(found, Node) else self._derived(source.rel, found)

    def _correlated(self, query: bound.Query) -> bool:
        return bool(outer_columns(query))

    # ------------------------------------------------------------------------------------------ conditions

    def _where(self, condition: Expr | None, inner: frozenset[int] = frozenset()) -> str:
        """The text of a condition, without what is of one of the `inner` relations alone."""
        parts = (part for each in conjuncts(condition) for part in factored(each))
        return " AND ".join(self._conjunct(part) for part in parts if not self._taken(part, inner))

    def _taken(self, part: Expr, inner: frozenset[int]) -> bool:
        """Whether a condition is of one relation alone. It is that relation's then: the planner is not told of it."""
        nodes = list(walk(part))
        read = {node.rel for node in nodes if isinstance(node, bound.Column)}
        if len(read) != 1 or not read <= inner or any(isinstance(node, _NOT_TAKEN) for node in nodes):
            return False
        if isinstance(part, bound.Call) and part.function == NOT_IN:  # which a join alone understands
            return False
        leaf = self.leaves.get(f"r{read.pop()}")
        if leaf is not None:
            leaf.keep(part)
        return leaf is not None

    def _conjunct(self, expr: Expr) -> str:
        match expr:
            case bound.Exists():
                return f"EXISTS {self._exists(expr.query)}"
            case bound.BoolOp(op="NOT", args=(bound.Exists() as inner,)):
                return f"NOT EXISTS {self._exists(inner.query)}"
            case bound.AnySubquery(all=False):
                return f"EXISTS {self._exists(expr.query, self._matches(expr))}"
            case bound.AnySubquery(all=True, functions=(_,)):
                return f"NOT EXISTS {self._exists(expr.query, self._missed(expr))}"
            case bound.BoolOp(op="NOT", args=(bound.AnySubquery(all=False) as inner,)):
                return f"NOT EXISTS {self._exists(inner.query, self._unmatched(inner))}"
            case _:
                return self._predicate(expr)

    def _predicate(self, expr: Expr) -> str:
        """A boolean: what the planner may look into stays, the rest is opaque."""
        match expr:
            case bound.BoolOp(op="AND" | "OR"):
                return "(" + f" {expr.op} ".join(self._predicate(each) for each in expr.args) + ")"
            case bound.Call() if (sides := plain_equality(expr)) is not None:
                return f"{self.value(sides[0])} = {self.value(sides[1])}"
            case _:
                return self.symbols.call(self._prepared(expr), self._leaf_text, "b")

    def value(self, expr: Expr) -> str:
        """An expression as the planner's text: a column as itself, all else opaque."""
        expr = self._prepared(expr)
        return self._leaf_text(expr) or self.symbols.call(expr, self._leaf_text)

    def _prepared(self, expr: Any) -> Any:
        """An expression whose subqueries are all scalar ones, each over one aggregate: the planner joins those."""

        def change(each: Any) -> Any:
            match each:
                case bound.Exists() | bound.AnySubquery() | bound.ArraySubquery():
                    raise NotCarried("EXISTS, ANY, ALL or ARRAY of a subquery as a value")
                case bound.ScalarSubquery() if self._correlated(each.query):
                    pulled = pulled_out(each)
                    return pulled if pulled is each else self._prepared(pulled)
                case bound.ScalarSubquery() | bound.Aggregate():
                    return each
                case bound.SetReturning():
                    raise NotCarried("a set-returning function")
                case bound.Default():
                    raise NotCarried("DEFAULT")
                case _:
                    return None

        return transform(expr, change)

    def _leaf_text(self, each: Any) -> str | None:
        if isinstance(each, bound.Column):
            found = self._renamed.get((each.rel, each.index))
            if found is not None:
                return found
            return f"r{each.rel}.c{each.index}"
        if isinstance(each, bound.ScalarSubquery):
            return self._scalar(each)
        return None

    # ------------------------------------------------------------------------------------------ subqueries

    def _scalar(self, subquery: bound.ScalarSubquery) -> str:
        self.nested = True
        query = subquery.query
        if not self._correlated(query):
            rel = self._fresh()
            name = self._table(rel, self._blocks.block(query, self._ctes))
            only: Expr = bound.Column(rel, 0, query.columns[0].type)
            call = bound.Aggregate(SINGLE, (only,), subquery.type)
            return f"(SELECT max({self.symbols.call(call, self._leaf_text)}) FROM {name})"
        if not isinstance(query, bound.Select) or query.group_by or query.having is not None:
            raise NotCarried("a correlated subquery of this shape")
        if query.distinct or query.limit is not None or query.offset is not None or query.grouping_sets is not None:
            raise NotCarried("a correlated subquery of this shape")
        self._add(query.ctes)
        source = self._from(query.source) if query.source is not None else None
        if source is None:
            raise NotCarried("a correlated subquery without FROM")
        target = query.targets[0]
        if not isinstance(target, bound.Aggregate):
            raise NotCarried("a correlated subquery of this shape")
        inside = {node.rel for node in walk(query) if hasattr(node, "rel") and not isinstance(node, bound.Column)}
        for part in conjuncts(query.where):
            if not _is_undone(part, inside):
                raise NotCarried("a subquery correlated by more than equalities")
        where = self._where(query.where, _inner(query.source))
        held = f"max({self.symbols.call(self._prepared_call(target), self._leaf_text)})"
        return f"(SELECT {held} FROM {source}" + (f" WHERE {where})" if where else ")")

    def _prepared_call(self, call: bound.Aggregate) -> bound.Aggregate:
        if any(isinstance(each, bound.ScalarSubquery | bound.Exists | bound.AnySubquery) for each in walk(call)):
            raise NotCarried("a subquery inside a correlated aggregate")
        return call

    def _exists(self, query: bound.Query, match: Callable[[tuple[Expr, ...]], Expr] | None = None) -> str:
        self.nested = True
        if is_plain_core(query) and isinstance(query, bound.Select) and not query.grouped:
            # DISTINCT changes nothing of whether there is a row.
            condition = match(query.targets) if match is not None else None
            self._add(query.ctes)
            source = self._from(query.source) if query.source is not None else ""
            inner = _inner(query.source)
            parts = [text for each in (query.where, condition) if (text := self._where(each, inner))]
            if not source:
                raise NotCarried("EXISTS over a subquery without FROM")
            where = f" WHERE {' AND '.join(parts)}" if parts else ""
            return f"(SELECT 1 FROM {source}{where})"
        rel = self._fresh()
        source = self._derived(rel, query)
        columns = tuple(bound.Column(rel, i, column.type) for i, column in enumerate(query.columns))
        where = f" WHERE {self._where(match(columns))}" if match is not None else ""
        return f"(SELECT 1 FROM {source}{where})"

    @staticmethod
    def _matches(expr: bound.AnySubquery) -> Callable[[tuple[Expr, ...]], Expr]:
        def match(targets: tuple[Expr, ...]) -> Expr:
            pairs = zip(expr.functions, expr.left, targets, strict=True)
            calls = tuple(bound.Call(function, (left, right), BOOL) for function, left, right in pairs)
            return calls[0] if len(calls) == 1 else bound.BoolOp("AND", calls)

        return match

    @classmethod
    def _missed(cls, expr: bound.AnySubquery) -> Callable[[tuple[Expr, ...]], Expr]:
        return lambda targets: bound.Test(cls._matches(expr)(targets), "TRUE", negated=True)

    @classmethod
    def _unmatched(cls, expr: bound.AnySubquery) -> Callable[[tuple[Expr, ...]], Expr]:
        def match(targets: tuple[Expr, ...]) -> Expr:
            if len(targets) == 1 and equality(cls._matches(expr)(targets)) is not None:
                return bound.Call(NOT_IN, (expr.left[0], targets[0]), BOOL)
            return bound.Test(cls._matches(expr)(targets), "FALSE", negated=True)

        return match


def _inner(source: Any) -> frozenset[int]:
    """The relations whose rows alone a condition above a FROM removes: those that no outer join fills up."""
    match source:
        case bound.Join(kind="CROSS" | "INNER"):
            return _inner(source.left) | _inner(source.right)
        case bound.Join(kind="LEFT"):
            return _inner(source.left)
        case bound.Join(kind="RIGHT"):
            return _inner(source.right)
        case bound.Scan() | bound.CteScan() | bound.Derived():
            return frozenset({source.rel})
        case _:
            return frozenset()


def _is_undone(part: Any, inside: set[int]) -> bool:
    """Whether the planner undoes a condition of a scalar subquery: it reads no outer column, or equals one."""
    nodes = list(walk(part))
    if not any(isinstance(node, bound.Column) and node.rel not in inside for node in nodes):
        return not any(isinstance(node, bound.Aggregate) for node in nodes) or any(
            isinstance(node, bound.Select) for node in nodes
        )
    sides = plain_equality(part)
    return sides is not None and sum(side.rel in inside for side in sides) == 1


def _loose_columns(expr: Any, keys: tuple[Any, ...]) -> list[bound.Column]:
    """The columns of an expression over groups that are in no key and no aggregate."""
    found: list[bound.Column] = []

    def look(each: Any) -> Any:
        if each in keys or isinstance(each, bound.Aggregate):
            return each
        if isinstance(each, bound.Column):
            found.append(each)
        return None

    transform(expr, look)
    return found
