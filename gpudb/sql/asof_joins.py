"""ASOF joins: finds them in LATERAL subqueries that return the nearest row, as `ASOF JOIN` is bound and as SQL has it.

`LATERAL (SELECT … FROM b WHERE b.k = a.k AND b.t <= a.t ORDER BY b.t DESC LIMIT 1)` is one. Beside equalities and the
comparison of the times, its WHERE may have conditions on the rows of one side alone, a bound on how far the nearest row
may be (`b.t >= a.t - interval '1 hour'`), and further times from which a row is known (`b.known_at <= a.t`). ORDER BY
may have further keys, which choose among rows of one time. Any other subquery is left to be computed as it is written.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from gpudb.functions.library import COMMUTATORS, functions_by_name, get_comparison
from gpudb.sql import bound
from gpudb.sql.fallibility import may_fail
from gpudb.sql.traverse import has_volatile, replace_nodes, walk
from gpudb.sql.widening import bare
from gpudb.types import BOOL, SqlType
from gpudb.types.facts import FLOATS, INTEGERS
from gpudb.values.interval import Interval

Operator = Literal[">=", ">", "<=", "<"]
_TIMES = frozenset("int2 int4 int8 float4 float8 date time timestamp timestamptz numeric".split())
_KEYS = _TIMES | frozenset("bool text varchar uuid".split())
_FAMILIES = (INTEGERS, FLOATS, {"text", "varchar"})
"""Types that DuckDB and Polars compare with one another as PostgreSQL does."""
_PER_QUERY = (*bound.SUBQUERIES, bound.Aggregate, bound.Grouping, bound.Window, bound.SetReturning)
_EXACT_SHIFTS = frozenset(
    "int2pl int2mi int4pl int4mi int8pl int8mi int24pl int42pl int48pl int84pl int28pl int82pl int24mi int42mi int48mi"
    " int84mi int28mi int82mi numeric_add numeric_sub date_pli date_mii".split()
)
"""Functions that grow with their first argument, whatever the second one is."""
_SHIFTS = _EXACT_SHIFTS | frozenset(
    "float8pl float8mi timestamp_pl_interval timestamp_mi_interval timestamptz_pl_interval"
    " timestamptz_mi_interval".split()
)
_DISTANCES = frozenset(
    "int2mi int4mi int8mi int24mi int42mi int48mi int84mi int28mi int82mi numeric_sub date_mi timestamp_mi"
    " timestamptz_mi".split()
)
"""Functions that fall as their second argument grows."""


@dataclass(frozen=True, slots=True)
class AsofJoin:
    """Each row of `left` beside the row of `right` with equal keys whose time is nearest, or beside NULLs.

    `right` is relation number `rows`; the expressions here are over the left relations and that one. `operator`
    compares the left time with the right one. `conditions` are the equalities and that comparison as the query has
    them. A nearest row for which one of `within` is not true is no match. The subquery's columns, those of relation
    number `rel`, are `outputs`.
    """

    kind: Literal["INNER", "LEFT"]
    left: bound.From
    right: bound.Select
    rows: int
    rel: int
    outputs: tuple[bound.Expr, ...]
    keys: tuple[tuple[bound.Expr, bound.Expr], ...]
    times: tuple[bound.Expr, bound.Expr]
    operator: Operator
    conditions: tuple[bound.Expr, ...]
    within: tuple[bound.Expr, ...]


@dataclass(frozen=True, slots=True)
class _Comparison:
    """A comparison of an expression of the left side with one of the right."""

    call: bound.Call
    left: bound.Expr
    right: bound.Expr
    symbol: str


def find_asof_join(join: bound.Join, fresh: Callable[[], int]) -> AsofJoin | None:
    """Returns the ASOF join that a join with a LATERAL subquery is; None if it is none that is computed exactly.

    `fresh` returns numbers that no relation has.
    """
    derived = join.right
    if not isinstance(derived, bound.Derived) or not derived.lateral or not _joins_all(join):
        return None
    query = derived.query
    if not isinstance(query, bound.Select) or not _returns_first(query):
        return None
    own = {node.rel for node in walk(query.source) if hasattr(node, "rel") and not isinstance(node, bound.Column)}
    if not _read_relations(query.source) <= own or not _read_relations(query) <= own | _relations(join.left):
        return None
    return _Finder(join, fresh(), query, frozenset(own), fresh).find(derived.rel)


def _joins_all(join: bound.Join) -> bool:
    """Whether a join has no condition beside those in its right side."""
    always = join.on is None or (isinstance(join.on, bound.Constant) and join.on.value is True)
    return always and join.kind in {"INNER", "CROSS", "LEFT"}


def _returns_first(query: bound.Select) -> bool:
    """Whether a query only returns expressions over the first row of an order."""
    first = isinstance(query.limit, bound.Constant) and query.limit.value == 1
    if not first or query.offset is not None or not query.order_by or query.where is None:
        return False
    if query.source is None or query.grouped or query.distinct or query.ctes:
        return False
    every = (*query.targets, query.where, *(key.expr for key in query.order_by))
    return not any(has_volatile(each) or any(isinstance(node, _PER_QUERY) for node in walk(each)) for each in every)


def _relations(source: bound.From) -> frozenset[int]:
    if isinstance(source, bound.Join):
        return _relations(source.left) | _relations(source.right)
    return frozenset((source.rel,))


def _read_relations(node: Any) -> frozenset[int]:
    return frozenset(each.rel for each in walk(node) if isinstance(each, bound.Column))


@dataclass(slots=True)
class _Finder:
    """Looks at the conditions of a subquery over the relations `own`; its rows are relation number `rows`."""

    join: bound.Join
    rows: int
    query: bound.Select
    own: frozenset[int]
    fresh: Callable[[], int]
    columns: list[bound.Expr] = field(default_factory=list)

    def find(self, rel: int) -> AsofJoin | None:
        """Returns the join, whose columns are those of relation number `rel`."""
        key, *ties = self.query.order_by
        nearer = {">=", ">"} if key.descending else {"<=", "<"}
        filters: list[bound.Expr] = []
        within: list[bound.Expr] = []
        keys: list[_Comparison] = []
        orders: list[_Comparison] = []
        for part in _split(self.query.where):
            read = _read_relations(part)
            pair = self._match_comparison(part)
            if read and read <= self.own and not may_fail(part):
                filters.append(part)
            elif pair is not None and pair.symbol == "=" and _compare_alike(pair.left, pair.right, _KEYS):
                keys.append(pair)
            elif pair is not None and pair.symbol in nearer and _compare_alike(pair.left, pair.right, _TIMES):
                orders.append(pair)
            elif read.isdisjoint(self.own) or self._bounds_distance(part, key):
                within.append(part)
            else:
                return None
        nearest = next((each for each in orders if bare(each.right) == bare(key.expr)), None)
        if nearest is None or any(may_fail(each.expr) or _read_relations(each) - self.own for each in ties):
            return None
        known = [each for each in orders if each is not nearest]
        if known and (ties or not key.descending or not all(_has_same_moment(each, nearest) for each in known)):
            return None
        outputs = tuple(map(self._expose_output, self.query.targets))
        bounds = tuple(self._expose_columns(each) for each in within)
        exposed = [self._expose_side(each) for each in keys]
        time = self._expose_side(nearest)
        if known:
            moments = [nearest.right, *(each.right for each in known)]
            right, moment = self._keep_newest(filters, [each.right for each in keys], nearest.right, moments)
            time = self._replace_side(nearest, moment)
        else:
            right = self._select(self.columns, filters)
            if ties:
                same = [*(each.right for each in keys), nearest.right]
                order = (*(bound.SortKey(each, descending=False, nulls_first=False) for each in same), *ties)
                right = replace(right, distinct=tuple(same), order_by=order)
        return AsofJoin(
            "LEFT" if self.join.kind == "LEFT" else "INNER",
            self.join.left,
            right,
            self.rows,
            rel,
            outputs,
            tuple((each.left, each.right) for each in exposed),
            (time.left, time.right),
            nearest.symbol,  # type: ignore[arg-type]
            tuple(each.call for each in (*exposed, time)),
            bounds,
        )

    def _match_comparison(self, part: bound.Expr) -> _Comparison | None:
        """Returns a comparison of both sides, each of which reads that side alone."""
        symbol = get_comparison(part.function) if isinstance(part, bound.Call) and len(part.args) == 2 else None
        if symbol is None or not isinstance(part, bound.Call):
            return None
        one, other = part.args
        mine, theirs = _read_relations(one), _read_relations(other)
        if mine and theirs and theirs <= self.own and mine.isdisjoint(self.own):
            return _Comparison(part, one, other, symbol)
        if mine and theirs and mine <= self.own and theirs.isdisjoint(self.own):
            return _Comparison(part, other, one, COMMUTATORS[symbol])
        return None

    def _bounds_distance(self, part: bound.Expr, key: bound.SortKey) -> bool:
        """Whether no row fulfils a condition if the nearest one does not, since all others are farther away."""
        symbol = get_comparison(part.function) if isinstance(part, bound.Call) and len(part.args) == 2 else None
        if symbol in {None, "=", "<>"} or not isinstance(part, bound.Call):
            return False
        value, other = part.args
        if not _read_relations(other).isdisjoint(self.own):
            value, other, symbol = other, value, COMMUTATORS[symbol or ""]
        if not _read_relations(other).isdisjoint(self.own):
            return False
        grows = self._growth(value, bare(key.expr)) * (1 if symbol in {">", ">="} else -1)
        return grows == (1 if key.descending else -1)

    def _growth(self, value: bound.Expr, key: bound.Expr) -> int:
        """Returns 1 for an expression that grows with the key, -1 for one that falls, 0 for any other."""
        if bare(value) == key:
            return 1
        if not isinstance(value, bound.Call) or len(value.args) != 2:
            return 0
        first, second = value.args
        name = value.function.name
        if bare(first) == key and _read_relations(second).isdisjoint(self.own):
            return int(name in _EXACT_SHIFTS or (name in _SHIFTS and _is_uniform(second, first.type)))
        if bare(second) == key and _read_relations(first).isdisjoint(self.own) and name in _DISTANCES:
            return -1
        return 0

    # ------------------------------------------------------------------------------------------ the right rows

    def _expose(self, expr: bound.Expr) -> bound.Column:
        """Returns the column of the right side that holds an expression over its relations."""
        if expr not in self.columns:
            self.columns.append(expr)
        return bound.Column(self.rows, self.columns.index(expr), expr.type, getattr(expr, "name", ""))

    def _expose_output(self, target: bound.Expr) -> bound.Expr:
        """Returns an output of the subquery: a column, or an expression that is computed for matches alone."""
        if _read_relations(target) <= self.own and not may_fail(target):
            return self._expose(target)
        value = self._expose_columns(target)
        if self.join.kind != "LEFT":
            return value
        match = bound.Test(self._expose(bound.Constant(True, BOOL)), "NULL", negated=True)
        return bound.Case(((match, value),), bound.Constant(None, target.type), target.type)

    def _expose_columns(self, expr: bound.Expr) -> bound.Expr:
        def change(node: Any) -> Any:
            return self._expose(node) if isinstance(node, bound.Column) and node.rel in self.own else None

        result: bound.Expr = replace_nodes(expr, change)
        return result

    def _expose_side(self, pair: _Comparison) -> _Comparison:
        return self._replace_side(pair, self._expose(pair.right))

    def _replace_side(self, pair: _Comparison, right: bound.Expr) -> _Comparison:
        args = tuple(right if each is pair.right else each for each in pair.call.args)
        return replace(pair, call=replace(pair.call, args=args), right=right)

    def _select(self, exprs: list[bound.Expr], filters: list[bound.Expr]) -> bound.Select:
        columns = tuple(bound.OutputColumn(getattr(each, "name", ""), each.type) for each in exprs)
        return bound.Select(columns, tuple(exprs), self.query.source, _join(filters))

    def _keep_newest(
        self, filters: list[bound.Expr], keys: list[bound.Expr], time: bound.Expr, moments: list[bound.Expr]
    ) -> tuple[bound.Select, bound.Column]:
        """Returns the right rows that are the newest one at some moment, and the column from which each of them is.

        A row is known from the latest of its moments on. One that is older than a row known before it is never nearest.
        """
        known = [bound.Test(each, "NULL", negated=True) for each in moments]
        moment = bound.Choice("GREATEST", tuple(moments), time.type)
        order = bound.SortKey(moment, descending=False, nulls_first=False)
        newest = bound.Window(_find_maximum(time.type), (time,), time.type, tuple(keys), (order,))
        inside, width = self.fresh(), len(self.columns)
        at = self.columns.index(time)
        query = self._select([*self.columns, moment, newest], [*filters, *known])
        held = [bound.Column(inside, n, each.type, each.name) for n, each in enumerate(query.columns)]
        where = bound.DistinctFrom(held[at], held[width + 1], negated=True)
        kept = held[: width + 1]
        result = bound.Select(query.columns[: width + 1], tuple(kept), bound.Derived(inside, query), where)
        return result, bound.Column(self.rows, width, time.type)


def _split(condition: bound.Expr | None) -> list[bound.Expr]:
    if isinstance(condition, bound.BoolOp) and condition.op == "AND":
        return [part for each in condition.args for part in _split(each)]
    return [] if condition is None else [condition]


def _join(conditions: list[bound.Expr]) -> bound.Expr | None:
    if len(conditions) < 2:
        return conditions[0] if conditions else None
    return bound.BoolOp("AND", tuple(conditions), BOOL)


def _compare_alike(left: bound.Expr, right: bound.Expr, names: frozenset[str]) -> bool:
    """Whether all engines compare two expressions as values of one type, of those named."""
    one, other = left.type, right.type
    if one.name not in names or other.name not in names or one.is_carried or other.is_carried:
        return False
    if one.name == other.name:
        return one.name != "numeric" or one.numeric_digits == other.numeric_digits
    return any({one.name, other.name} <= family for family in _FAMILIES)


def _has_same_moment(pair: _Comparison, nearest: _Comparison) -> bool:
    """Whether a comparison is that of the times with another right side."""
    return pair.left == nearest.left and pair.symbol == nearest.symbol and pair.right.type == nearest.right.type


def _is_uniform(shift: bound.Expr, kind: SqlType) -> bool:
    """Whether adding a constant keeps the order of values: months do not, and in zones with summer time nor do days."""
    value = shift.value if isinstance(shift, bound.Constant) else None
    if isinstance(value, Interval):
        return value.months == 0 and (kind.name == "timestamp" or value.days == 0)
    return isinstance(value, int | float) and math.isfinite(value)


def _find_maximum(kind: SqlType) -> Any:
    found = functions_by_name()["max"]
    return next(each for each in found if each.args[0].name == kind.name)
