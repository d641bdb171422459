"""Estimated cost of a bound query on the embedded engine: the bytes that it holds at once, and its seconds.

It decides whether a statement waits for others, never how it runs, so it is rough: joins are as large as their larger
side, conditions keep a tenth or a third of the rows. Sorts, groups, windows and the smaller sides of joins are held in
memory; the other rows pass by.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa

from gpudb.engine.admission import Cost
from gpudb.engine.protocol import Request
from gpudb.sql import bound
from gpudb.sql.prepared import Artifact
from gpudb.sql.traverse import outer_columns, walk
from gpudb.types import SqlType

COST = Artifact[Cost]()
"""The cost of a query whose cost does not depend on its parameters or frames."""

_READ_A_SECOND = 10**9
"""Bytes that a thread reads from a table in a second; below, those that it sorts, groups or hashes."""
_HELD_A_SECOND = 1.5 * 10**8
_TEXT_BYTES = 24
_HASH_BYTES = 32
"""Bytes of a group or a hashed row beside its values."""
_UNKNOWN_ROWS = 1000.0
_EQUAL, _RANGE = 0.1, 1 / 3
_GROUPS = 1 / 4
_TOP_ROWS = 100_000
"""A sort with a LIMIT up to this holds so many rows alone."""
_COLLECTING = frozenset("array_agg string_agg json_agg jsonb_agg json_object_agg jsonb_object_agg xmlagg".split())
_SERIES = "generate_series"


def estimate_cost(request: Request, threads: int) -> Cost:
    """Estimates a request's cost on `threads` threads; remembers it with the query if it is always the same."""
    estimator = _Estimator(request)
    estimator.query(request.query)
    cost = Cost(int(estimator.held), (estimator.read / _READ_A_SECOND + estimator.worked / _HELD_A_SECOND) / threads)
    if not estimator.reads_tables:
        cost = Cost()  # the system catalog, or no relation at all
    if not estimator.varies:
        request.query.prepared.put(COST, cost)
    return cost


class _Estimator:
    """The bytes that a query reads, works on, and holds, added up over its parts."""

    def __init__(self, request: Request) -> None:
        self._request = request
        self._ctes: dict[int, float] = {}
        self._seen: set[int] = set()
        self._used: dict[int, dict[int, SqlType]] = {}
        self.read = self.worked = self.held = 0.0
        self.reads_tables = self.varies = False
        for node in walk(request.query):
            if type(node) is bound.Column:
                self._used.setdefault(node.rel, {})[node.index] = node.type

    # ---- queries

    def query(self, query: bound.Query) -> float:
        """Adds a query; returns its rows."""
        self._seen.add(id(query))
        for cte in query.ctes:
            rows = self.query(cte.query)
            self._ctes[cte.number] = 10 * rows if cte.recursive else rows
            self.held += rows * _width(cte.query.columns) if cte.materialized else 0
        match query:
            case bound.Select():
                rows = self._select(query)
            case bound.SetOperation():
                rows = self.query(query.left) + self.query(query.right)
                if not query.all or query.op != "UNION":
                    self._hold(rows, _width(query.columns) + _HASH_BYTES)
                if query.order_by:
                    self._sort(rows, _width(query.columns), query.limit)
            case bound.Values():
                rows = float(len(query.rows))
        limit = self._constant(query.limit)
        return rows if limit is None else min(rows, limit)

    def _select(self, query: bound.Select) -> float:
        pairs = list(_equated(query.where)) if query.where is not None else []
        rows = self._source(query.source, pairs) if query.source is not None else 1.0
        for expr in _expressions(query):
            self._subqueries(expr)
        if query.where is not None:
            rows *= _EQUAL if any(not right or not left for left, right in pairs) else _RANGE
        for node in (each for target in query.targets for each in walk(target)):
            if type(node) is bound.SetReturning:
                made = self._series(node) or 10.0
                self.reads_tables = self.reads_tables or made > _UNKNOWN_ROWS
                rows *= made
                self.read += 8 * rows
        rows = self._group(query, rows)
        width = _widths(target.type for target in query.targets)
        windows = {node.partition_by for t in query.targets for node in walk(t) if type(node) is bound.Window}
        for _ in windows:
            self._hold(rows, width + 8)
        if query.distinct:
            self._hold(rows, width + _HASH_BYTES)
        if query.order_by:
            self._sort(rows, width + _widths(key.expr.type for key in query.order_by), query.limit)
        return rows

    def _group(self, query: bound.Select, rows: float) -> float:
        """Adds aggregates; returns the number of groups, or the rows of a query without any."""
        if not query.grouped:
            return rows
        aggregates = [
            node
            for part in (*query.targets, query.having, *(key.expr for key in query.order_by))
            if part is not None
            for node in walk(part)
            if type(node) is bound.Aggregate
        ]
        for each in aggregates:
            if each.distinct or each.order_by or each.within_group or each.function.name in _COLLECTING:
                self._hold(rows, _widths(arg.type for arg in each.args) + _HASH_BYTES)
        if not query.group_by:
            self.read += 8 * rows
            return 1.0
        groups = max(rows * _GROUPS, 1.0)
        keys = _widths(key.type for key in query.group_by)
        self.worked += rows * keys
        sets = len(query.grouping_sets or (0,))
        self._hold(groups * sets, keys + 16 * len(aggregates) + _HASH_BYTES)
        return groups * sets

    def _sort(self, rows: float, width: float, limit: bound.Expr | None) -> None:
        top = self._constant(limit)
        if top is not None and top <= _TOP_ROWS:
            self.read += rows * 8
            rows = min(rows, top)
        self._hold(rows, width + 16)

    def _hold(self, rows: float, width: float) -> None:
        self.held += rows * width
        self.worked += rows * width

    def _subqueries(self, expr: bound.Expr) -> None:
        for node in walk(expr):
            if type(node) in bound.SUBQUERIES and id(node.query) not in self._seen:
                rows = self.query(node.query)
                self.held += rows * _width(node.query.columns)

    # ---- relations

    def _source(self, source: bound.From, pairs: Sequence[tuple[frozenset[int], frozenset[int]]]) -> float:
        """Adds a relation; returns its rows. `pairs` are the relations that equalities of WHERE connect."""
        match source:
            case bound.Scan():
                self.reads_tables = True
                table = self._request.table(source.table)
                rows = float(table.rows)
                self.read += rows * max(_widths(self._used.get(source.rel, {}).values()), 1.0)
                return rows
            case bound.FrameScan():
                self.reads_tables = self.varies = True
                frame = self._request.settings.frames.get(source.name)
                rows = float(frame.num_rows) if isinstance(frame, pa.Table) else _UNKNOWN_ROWS
                self.read += rows * _width(source.columns)
                return rows
            case bound.FileScan():
                self.reads_tables = self.varies = True
                self.read += float(source.files.size)
                return source.files.size / max(_width(source.columns), 1.0)
            case bound.SystemScan() | bound.ForeignScan() | bound.TableFunction():
                return _UNKNOWN_ROWS
            case bound.Derived():
                return self.query(source.query)
            case bound.CteScan():
                return self._ctes.get(source.cte, _UNKNOWN_ROWS)
            case bound.FunctionScan():
                rows = self._series(source) or _UNKNOWN_ROWS
                self.reads_tables = self.reads_tables or rows > _UNKNOWN_ROWS
                self.read += 8 * rows
                return rows
            case bound.Join():
                return self._join(source, pairs)

    def _join(self, join: bound.Join, pairs: Sequence[tuple[frozenset[int], frozenset[int]]]) -> float:
        if join.on is not None:
            pairs = [*pairs, *_equated(join.on)]
            self._subqueries(join.on)
        left, right = self._source(join.left, pairs), self._source(join.right, pairs)
        smaller, side = (right, join.right) if right <= left else (left, join.left)
        rels = _relations(side)
        used = (item for rel in rels for item in self._used.get(rel, {}).values())
        self._hold(smaller, _widths(used) + _HASH_BYTES)
        ours, theirs = _relations(join.left), _relations(join.right)
        if any((a <= ours and b <= theirs) or (a <= theirs and b <= ours) for a, b in pairs if a and b):
            return max(left, right)
        if _is_correlated(join.right):
            return max(left, right)
        self.worked += left * right * 8
        return left * right

    def _series(self, call: bound.FunctionScan | bound.SetReturning) -> float | None:
        """The rows of a series of numbers; None if they are unknown."""
        if call.function.name != _SERIES:
            return None
        values = [self._constant(arg) for arg in call.args]
        start, stop, step = (*values, 1.0)[:3]
        if start is None or stop is None or not step:
            return None
        return max((stop - start) // step + 1, 0.0)

    def _constant(self, expr: bound.Expr | None) -> float | None:
        """The number that an expression is; None if it is no constant and no parameter."""
        while type(expr) is bound.Cast:
            expr = expr.arg
        value: object = None
        if type(expr) is bound.Parameter:
            self.varies = True
            given = self._request.parameters
            value = given[expr.number - 1] if expr.number <= len(given) else None
        elif type(expr) is bound.Constant:
            value = expr.value
        try:
            return None if value is None or isinstance(value, bool) else float(value)  # type: ignore[arg-type]
        except (TypeError, ValueError, OverflowError):
            return None


def _expressions(query: bound.Select) -> Iterator[bound.Expr]:
    for each in (*query.targets, query.where, *query.group_by, query.having, *(key.expr for key in query.order_by)):
        if each is not None:
            yield each


def _equated(condition: bound.Expr) -> Iterator[tuple[frozenset[int], frozenset[int]]]:
    """Yields the relations of both sides of each equality among a condition's conjuncts; none for a constant."""
    match condition:
        case bound.BoolOp(op="AND", args=args):
            for arg in args:
                yield from _equated(arg)
        case bound.Call(args=(left, right), function=function) if function.name in _EQUALITIES:
            yield _read_relations(left), _read_relations(right)
        case bound.AnySubquery() | bound.InList():
            yield frozenset(), frozenset()
        case _:
            return


_EQUALITIES = frozenset(
    "int2eq int4eq int8eq int24eq int42eq int28eq int82eq int48eq int84eq texteq bpchareq nameeq chareq booleq"
    " float4eq float8eq float48eq float84eq numeric_eq date_eq timestamp_eq timestamptz_eq time_eq timetz_eq"
    " interval_eq uuid_eq oideq byteaeq enum_eq network_eq macaddr_eq jsonb_eq record_eq array_eq".split()
)


def _read_relations(expr: bound.Expr) -> frozenset[int]:
    return frozenset(node.rel for node in walk(expr) if type(node) is bound.Column)


def _is_correlated(source: bound.From) -> bool:
    """Whether a relation is computed for each row of those to its left."""
    if isinstance(source, bound.FunctionScan):
        return any(type(node) is bound.Column for arg in source.args for node in walk(arg))
    return isinstance(source, bound.Derived) and source.lateral and bool(outer_columns(source.query))


def _relations(source: bound.From) -> frozenset[int]:
    if isinstance(source, bound.Join):
        return _relations(source.left) | _relations(source.right)
    return frozenset((source.rel,))


def _width(columns: Sequence[bound.OutputColumn]) -> float:
    return _widths(column.type for column in columns)


def _widths(types: Iterable[SqlType]) -> float:
    """The bytes of a row of some types."""
    return sum(map(_type_width, types), 0.0)


def _type_width(item: SqlType) -> float:
    try:
        return float(item.arrow.bit_width) / 8
    except ValueError:
        return _TEXT_BYTES
