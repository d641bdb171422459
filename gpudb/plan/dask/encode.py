"""Encodes a bound query as the planner's text: relations `r7` with columns `c0`, `c1`, … and symbols.

Joins, WHERE, GROUP BY and DISTINCT are expressed in the text, and subqueries are its joins (`unnest`). What the text
cannot express (windows, limits, grouping sets, set operations, shared WITH queries) is planned separately, through
`BlockPlanner.block`, and is a table in the text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from gpudb.plan.dask.blocks import BlockPlanner, Ctes
from gpudb.plan.dask.joins import COLUMN_PATTERN, JoinChain
from gpudb.plan.dask.scalar_subqueries import pull_out_aggregates
from gpudb.plan.dask.symbols import Symbols
from gpudb.plan.dask.unnest import Unnester
from gpudb.plan.errors import NotSupportedOnWorkers
from gpudb.plan.tree.functions import NOT_IN
from gpudb.plan.tree.nodes import Filter, Node, Scan, Values, column
from gpudb.plan.tree.predicates import factor_disjunction, is_plain_core, match_column_equality
from gpudb.plan.tree.traversal import transform
from gpudb.sql import bound
from gpudb.sql.bound import Expr
from gpudb.sql.traverse import join_conjuncts, outer_columns, split_conjuncts, walk
from gpudb.types import BOOL

_NOT_PUSHED = (*bound.SUBQUERIES, bound.Aggregate, bound.Window, bound.SetReturning, bound.Default)
_OUTER_CONDITION = "a condition on columns from outside"


@dataclass(slots=True)
class Leaf:
    """A relation of the text: a table, or a subplan that was planned separately; `rows` is its estimate."""

    node: Node
    rows: int

    def add_filter(self, condition: Expr) -> None:
        """Keeps only the rows for which a condition over this relation is true."""

        def change(each: Any) -> Any:
            return column(each.index, each.type, each.name) if isinstance(each, bound.Column) else None

        part = transform(condition, change)
        if isinstance(self.node, Scan):
            self.node = replace(self.node, filter=join_conjuncts((*split_conjuncts(self.node.filter), part)))
        else:
            self.node = Filter(self.node, part)


class Encoder:
    """Encodes one block in which the queries `ctes` are named; `block_planner` plans what is planned separately."""

    def __init__(self, blocks: BlockPlanner, estimate: Callable[[Node], int], ctes: Ctes) -> None:
        self.symbols = Symbols()
        self.leaves: dict[str, Leaf] = {}
        self.block_planner = blocks
        self.ctes = ctes
        self.next_number = blocks.next_number
        self._estimate = estimate
        self._unnester = Unnester(self)
        self._joins: JoinChain | None = None
        self._relations: set[int] = set()
        self._renamed: dict[tuple[int, int], str] = {}

    def columns_read(self, text: str) -> dict[str, list[int]]:
        """Returns the columns that a text reads, by relation: at least one, as the planner has no tables without
        columns.
        """
        found: dict[str, set[int]] = {}
        for name, number in COLUMN_PATTERN.findall(text):
            found.setdefault(name, set()).add(int(number))
        return {name: sorted(found.get(name, ())) or [0] for name in self.leaves}

    # ------------------------------------------------------------------------------------------ queries

    def encode_select(self, query: bound.Select, outputs: list[Expr]) -> str:
        """Encodes a SELECT without what is above its groups; `outputs` become c0, c1, …

        Outputs of a grouped query are over its groups.
        """
        self.add_ctes(query.ctes)
        with self.joining(self.encode_from(query.source)) as joins:
            if self.add_where(query.where, query.source):
                raise NotSupportedOnWorkers(_OUTER_CONDITION)
            return self._encode_groups(query, outputs, joins) if query.grouped else self._encode_outputs(outputs, joins)

    def _encode_outputs(self, outputs: list[Expr], joins: JoinChain) -> str:
        texts = ", ".join(f"{self.encode_value(each)} AS c{n}" for n, each in enumerate(outputs)) or "'§' AS c0"
        return f"SELECT {texts}{joins.from_where_text}"

    def _encode_groups(self, query: bound.Select, outputs: list[Expr], joins: JoinChain) -> str:
        keys = list(query.group_by)
        calls: list[bound.Aggregate] = []
        above = [*outputs, *split_conjuncts(query.having)]
        for each in above:
            for node in walk(each):
                if isinstance(node, bound.Aggregate) and node not in calls and self._reads_inside(node):
                    calls.append(node)
        # Columns that are functionally dependent on a primary key among the keys.
        for each in above:
            for loose in _ungrouped_columns(each, tuple(keys)):
                if loose.rel in self._relations:
                    keys.append(loose)
        rel = self.next_number()
        texts = [self.encode_value(key) for key in keys]
        if any(isinstance(each, bound.SUBQUERIES) for call in calls for each in walk(call)):
            raise NotSupportedOnWorkers("a subquery inside an aggregate")
        texts += [f"max({self.symbols.encode_call(call, self._value_text, 'e')})" for call in calls]
        if not texts:
            texts = ["max('§')"]
        selected = ", ".join(f"{text} AS c{number}" for number, text in enumerate(texts))
        by = f" GROUP BY {', '.join(texts[: len(keys)])}" if keys else ""
        groups = JoinChain()
        groups.add("CROSS", f"(SELECT {selected}{joins.from_where_text}{by}) AS r{rel}", {f"r{rel}"})
        parts: list[Any] = [*keys, *calls]
        for number, part in enumerate(parts):
            if isinstance(part, bound.Column):
                self._renamed[part.rel, part.index] = f"r{rel}.c{number}"
        self._relations.add(rel)

        def over(expr: Any) -> Any:
            def place(each: Any) -> Any:
                if isinstance(each, bound.Constant) or each not in parts:
                    return None
                return bound.Column(rel, parts.index(each), each.type, getattr(each, "name", ""))

            return transform(expr, place)

        with self.joining(groups):
            if self.add_where(over(query.having) if query.having is not None else None, None):
                raise NotSupportedOnWorkers(_OUTER_CONDITION)
            return self._encode_outputs([over(each) for each in outputs], groups)

    def _reads_inside(self, call: bound.Aggregate) -> bool:
        columns = [node for node in walk(call) if isinstance(node, bound.Column)]
        return not columns or any(column.rel in self._relations for column in columns)

    def add_ctes(self, ctes: Ctes) -> None:
        """Adds named queries for the rest of the block."""
        self.ctes = (*self.ctes, *ctes)

    # ------------------------------------------------------------------------------------------ relations

    def encode_from(self, source: Any | None) -> JoinChain:
        """Encodes the relations of a FROM."""
        made = JoinChain()
        if source is not None:
            self._add_source(made, source)
        return made

    @contextmanager
    def joining(self, joins: JoinChain | None) -> Iterator[JoinChain]:
        """Context in which subqueries of expressions join these relations; None where they may not join any."""
        before, self._joins = self._joins, joins
        try:
            yield joins if joins is not None else JoinChain()
        finally:
            self._joins = before

    def current_joins(self, *, alone: bool = False) -> JoinChain:
        """Returns the relations that a subquery joins.

        If there are none yet, adds a relation of a single row, unless the subquery's relation may be `alone`.
        """
        if self._joins is None:
            raise NotSupportedOnWorkers("a subquery in ON")
        if not self._joins.parts and not alone:
            name = self.add_table(self.next_number(), Values(((),), ()))
            self._joins.add("CROSS", name, {name})
        return self._joins

    def _add_source(self, joins: JoinChain, source: Any) -> None:
        match source:
            case bound.Join():
                self._add_source(joins, source.left)
                self._add_right(joins, source)
            case bound.Scan(row_ids=False):
                name = self.add_table(source.rel, Scan(source.table, tuple(range(len(source.table.columns)))))
                joins.add("CROSS", name, {name})
            case bound.Derived():
                joins.add("CROSS", self.encode_derived(source.rel, source.query), {f"r{source.rel}"})
            case bound.CteScan():
                found = self.block_planner.resolve_cte(source, self.ctes)
                text = (
                    self.add_table(source.rel, found)
                    if isinstance(found, Node)
                    else self.encode_derived(source.rel, found)
                )
                joins.add("CROSS", text, {f"r{source.rel}"})
            case bound.Scan():
                raise NotSupportedOnWorkers("row identifiers")
            case bound.FunctionScan():
                raise NotSupportedOnWorkers(f"function {source.function.name} in FROM")
            case bound.SystemScan():
                raise NotSupportedOnWorkers("the system catalog")
            case bound.FrameScan():
                raise NotSupportedOnWorkers("a registered frame")
            case _:
                raise NotSupportedOnWorkers(type(source).__name__)

    def _add_right(self, joins: JoinChain, source: bound.Join) -> None:
        right = self.encode_from(source.right)
        inner = _inner_relations(source) if source.kind in {"CROSS", "INNER"} else frozenset[int]()
        with self.joining(None):
            on = self._encode_conditions(source.on, inner, joins)
        joins.add(source.kind, right.bracketed_text, right.visible, on)

    def add_table(self, rel: int, node: Node) -> str:
        """Adds a node as a table of the text; returns its name."""
        self._relations.add(rel)
        self.leaves[f"r{rel}"] = Leaf(node, max(self._estimate(node), 1))
        return f"r{rel}"

    def encode_derived(self, rel: int, query: bound.Query) -> str:
        """Encodes a query in FROM, inline if the text can express it, else as a table.

        Raises NotSupportedOnWorkers for a query that reads columns of an outer query.
        """
        # A reader that depends on the rows' order, such as array_agg, must find them in it.
        if is_plain_core(query) and not (isinstance(query, bound.Select) and query.order_by):
            assert isinstance(query, bound.Select)
            text = self.encode_select(query, list(query.targets))
            if query.distinct is True:
                text = "SELECT DISTINCT" + text.removeprefix("SELECT")
            self._relations.add(rel)
            return f"({text}) AS r{rel}"
        if outer_columns(query):
            raise NotSupportedOnWorkers("LATERAL")
        return self.add_table(rel, self.block_planner.plan_block(query, self.ctes))

    # ------------------------------------------------------------------------------------------ conditions

    def add_where(self, condition: Expr | None, source: Any | None) -> list[str]:
        """Adds a WHERE above a FROM to the current relations; returns the conditions that read other relations."""
        joins = self._joins
        assert joins is not None
        conditions = self._encode_conditions(condition, _inner_relations(source), joins)
        return [each for each in conditions if not joins.add_condition(each)]

    def _encode_conditions(self, condition: Expr | None, inner: frozenset[int], joins: JoinChain) -> list[str]:
        """Encodes the parts of a condition, without those on one of the `inner` relations alone and those that
        became joins.
        """
        texts: list[str] = []
        for part in (part for each in split_conjuncts(condition) for part in factor_disjunction(each)):
            if not self._push_to_relation(part, inner) and not self._unnester.join_condition(part):
                self.symbols.some_column = joins.some_column
                texts.append(self._encode_predicate(part))
        return texts

    def _push_to_relation(self, part: Expr, inner: frozenset[int]) -> bool:
        """Moves a condition on one relation alone to that relation, so that the planner does not see it; returns
        whether it did.
        """
        nodes = list(walk(part))
        read = {node.rel for node in nodes if isinstance(node, bound.Column)}
        if len(read) != 1 or not read <= inner or any(isinstance(node, _NOT_PUSHED) for node in nodes):
            return False
        if isinstance(part, bound.Call) and part.function == NOT_IN:  # only a join can evaluate it
            return False
        leaf = self.leaves.get(f"r{read.pop()}")
        if leaf is not None:
            leaf.add_filter(part)
        return leaf is not None

    def _encode_predicate(self, expr: Expr) -> str:
        """Encodes a boolean: what the planner may look into stays visible, the rest is opaque."""
        match expr:
            case bound.BoolOp(op="AND" | "OR"):
                return "(" + f" {expr.op} ".join(self._encode_predicate(each) for each in expr.args) + ")"
            case bound.Call() if (sides := match_column_equality(expr)) is not None:
                return f"{self.encode_value(sides[0])} = {self.encode_value(sides[1])}"
            case _:
                return self.symbols.encode_call(self._prepare(expr), self._value_text, "b")

    def encode_value(self, expr: Expr) -> str:
        """Encodes an expression: a column as itself, all else opaque."""
        expr = self._prepare(expr)
        return self._value_text(expr) or self.symbols.encode_call(expr, self._value_text)

    def encode_true(self, joins: JoinChain) -> str:
        """Encodes a true condition for a join of these relations that has no other."""
        self.symbols.some_column = joins.some_column
        return self._encode_predicate(bound.Constant(True, BOOL))

    def encode_aggregate(self, call: bound.Aggregate) -> str:
        """Encodes an aggregate's call."""
        return f"max({self.symbols.encode_call(call, self._value_text)})"

    def _prepare(self, expr: Any) -> Any:
        """Rewrites an expression so that its subqueries are all scalar, and correlated ones are over one aggregate
        each.
        """

        def change(each: Any) -> Any:
            match each:
                case bound.Exists() | bound.AnySubquery() | bound.ArraySubquery():
                    raise NotSupportedOnWorkers("EXISTS, ANY, ALL or ARRAY of a subquery as a value")
                case bound.ScalarSubquery() if outer_columns(each.query):
                    pulled = pull_out_aggregates(each)
                    return pulled if pulled is each else self._prepare(pulled)
                case bound.ScalarSubquery() | bound.Aggregate():
                    return each
                case bound.SetReturning():
                    raise NotSupportedOnWorkers("a set-returning function")
                case bound.Default():
                    raise NotSupportedOnWorkers("DEFAULT")
                case _:
                    return None

        return transform(expr, change)

    def _value_text(self, each: Any) -> str | None:
        if isinstance(each, bound.Column):
            found = self._renamed.get((each.rel, each.index))
            if found is not None:
                return found
            return f"r{each.rel}.c{each.index}"
        if isinstance(each, bound.ScalarSubquery):
            return self._unnester.join_scalar(each)
        return None


def _inner_relations(source: Any) -> frozenset[int]:
    """Returns the relations that a condition above a FROM filters directly: those that no outer join NULL-extends."""
    match source:
        case bound.Join(kind="CROSS" | "INNER"):
            return _inner_relations(source.left) | _inner_relations(source.right)
        case bound.Join(kind="LEFT"):
            return _inner_relations(source.left)
        case bound.Join(kind="RIGHT"):
            return _inner_relations(source.right)
        case bound.Scan() | bound.CteScan() | bound.Derived():
            return frozenset({source.rel})
        case _:
            return frozenset()


def _ungrouped_columns(expr: Any, keys: tuple[Any, ...]) -> list[bound.Column]:
    """Returns the columns of an expression over groups that are in no key and no aggregate."""
    found: list[bound.Column] = []

    def look(each: Any) -> Any:
        if each in keys or isinstance(each, bound.Aggregate):
            return each
        if isinstance(each, bound.Column):
            found.append(each)
        return None

    transform(expr, look)
    return found
