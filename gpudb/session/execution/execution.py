"""Runs queries: what engines compute, and around it the calls of functions that the session carries out.

These are sequence functions, and functions of users that are more than a query.

An engine gives the rows without those calls, in the order that the query has; values are drawn for each row in turn,
and what is computed from them is a query over the rows so far. Queries inside that draw values are run first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from gpudb.catalog.model import FIRST_USER_OID, Catalog
from gpudb.engine.constants import constant_row
from gpudb.engine.protocol import Stream
from gpudb.errors import FeatureNotSupported
from gpudb.session.context import Context
from gpudb.session.execution import sequence_values as values
from gpudb.session.execution.requests import request_over
from gpudb.sql.bound import (
    Aggregate,
    BoolOp,
    Call,
    Case,
    Cast,
    Choice,
    Column,
    Constant,
    Cte,
    CteScan,
    Derived,
    Expr,
    FrameScan,
    FunctionScan,
    Let,
    OutputColumn,
    Query,
    Select,
    SetOperation,
    SetReturning,
    Values,
    Window,
)
from gpudb.sql.traverse import mapped, outer_columns, walk
from gpudb.types import INT8, OID, SqlType

FUNCTIONS = frozenset({"nextval", "currval", "lastval", "setval"})
_NEXTVAL = 1574
_FIRST_REL = 2_000_000
_QUERIES = (Select, SetOperation, Values)
_RANGES = {"int2": 1 << 15, "int4": 1 << 31}


def draws(node: Any) -> bool:
    """Whether a query or expression calls a sequence function."""
    return any(_is_call(each) for each in walk(node))


def _check_taken(node: Any) -> None:
    """0A000 for a function that changes data where it might not be called at all."""
    if not isinstance(node, Case | Choice | BoolOp):
        return
    if any(type(each) is Call and each.function.oid >= FIRST_USER_OID for each in walk(node)):
        raise FeatureNotSupported("functions that change data are not supported within CASE, COALESCE, AND and OR")


def _is_call(node: Any) -> bool:
    """Whether this is for the session to call: a sequence function, or one whose statements are carried out."""
    if type(node) is Call:
        return node.function.oid >= FIRST_USER_OID or node.function.name in FUNCTIONS
    return type(node) is FunctionScan and node.function.oid >= FIRST_USER_OID


def run(context: Context, query: Query, frames: Mapping[str, pa.Table] | None = None) -> Stream:
    """The rows of a query, over these `frames` beside the session's."""
    if context.draws is False or (context.draws is None and not draws(query)):
        return _engine(context, query, frames or {})
    return _Run(context, dict(frames or {})).stream(query)


def gathered(context: Context, query: Query, frames: Mapping[str, pa.Table] | None = None) -> pa.Table:
    """All rows of a query, as columns c1, c2, …"""
    return _table(run(context, query, frames))


def rows_of(context: Context, function: Any, args: Sequence[Expr]) -> pa.Table:
    """The rows of a function whose statements are carried out, which run queries in their turn."""
    from gpudb.session.execution import routine_calls

    return routine_calls.rows_of(replace(context, draws=None), function, args)


def literal(context: Context, item: SqlType, value: pa.Array) -> Expr:
    """The only value of an array as a literal."""
    from gpudb.session.execution import routine_calls

    return routine_calls.literal(context, item, value)


def undrawn(query: Query) -> Query:
    """The query with zeros for the values of sequences: what EXPLAIN shows, which draws none."""
    made: Query = mapped(query, lambda node: Constant(0, node.type) if _is_call(node) else None)
    return made


def _engine(context: Context, query: Query, frames: Mapping[str, pa.Table], snapshot: Catalog | None = None) -> Stream:
    # before all that a request says, which would be most of the work
    row = constant_row(query, context.parameters)
    return row or context.session.engine(query).run(request_over(context, query, frames, snapshot))


def _table(stream: Stream) -> pa.Table:
    try:
        return pa.Table.from_batches(list(stream), schema=stream.schema)
    finally:
        stream.close()


class _Run:
    """One query's run: the frames and relation numbers that it has made so far."""

    def __init__(self, context: Context, frames: dict[str, pa.Table]) -> None:
        self._context = context
        self._frames = frames
        self._rel = _FIRST_REL
        # what the functions that it calls change, a statement does not see
        self._snapshot = context.transaction.catalog

    def stream(self, query: Query, ctes: tuple[Cte, ...] = ()) -> Stream:
        """The rows of a query at the top, or of one that stands by itself."""
        query = self._without_inner(query, ctes)
        if not draws(query):
            return _engine(self._context, query, self._frames, self._snapshot)
        if isinstance(query, Values):
            return _engine(self._context, self._folded_values(query), self._frames, self._snapshot)
        if not isinstance(query, Select):
            raise FeatureNotSupported("a sequence function is not supported here")
        _check_places(query)
        if _single(query):
            targets = self._folded([query.targets])[0]
            return _engine(self._context, replace(query, targets=targets), self._frames, self._snapshot)
        return _Drawing(self._context, query, self._frames, self._fresh(), self._snapshot)

    def _fresh(self) -> int:
        self._rel += 1
        return self._rel

    # ---- queries inside

    def _without_inner(self, query: Query, ctes: tuple[Cte, ...]) -> Query:
        """The query with every query below it that draws values run, and its rows in its place."""
        seen = ctes

        def change(node: Any) -> Any:
            if isinstance(node, Cte) and draws(node.query):
                if node.recursive:
                    raise FeatureNotSupported("a sequence function in WITH RECURSIVE is not supported")
                return replace(node, query=self._held(node.query, seen))
            if isinstance(node, _QUERIES) and node is not query and draws(node):
                return self._held(node, (*seen, *query.ctes))
            if isinstance(node, FunctionScan) and _is_call(node):
                return self._function(node)
            return None

        if query.ctes and any(draws(cte.query) for cte in query.ctes):
            made: list[Cte] = []
            for cte in query.ctes:
                made.append(mapped(cte, change))
                seen = (*seen, made[-1])
            query = replace(query, ctes=tuple(made))
            seen = ctes
        if isinstance(query, SetOperation) and draws(query):
            # Both sides draw from left to right.
            left = self._held(query.left, (*ctes, *query.ctes)) if draws(query.left) else query.left
            right = self._held(query.right, (*ctes, *query.ctes)) if draws(query.right) else query.right
            query = replace(query, left=left, right=right)
        return mapped(query, change)  # type: ignore[no-any-return]

    def _held(self, query: Query, ctes: tuple[Cte, ...]) -> Query:
        if outer_columns(query):
            raise FeatureNotSupported("a sequence function in a correlated subquery is not supported")
        used = {node.cte for node in walk(query) if isinstance(node, CteScan)}
        needed = tuple(cte for cte in ctes if cte.number in used and cte not in query.ctes)
        table = _table(self.stream(replace(query, ctes=(*needed, *query.ctes))))
        return self._over(table, query.columns)

    def _function(self, node: FunctionScan) -> Derived:
        """A function in FROM whose statements are carried out, once, as the rows that it gave."""
        if any(isinstance(each, Column) for arg in node.args for each in walk(arg)):
            message = f"function {node.function.name}, which is carried out by statements, for each row"
            raise FeatureNotSupported(f"{message} of another relation is not supported")
        args = [self._literal(arg) for arg in self._folded([node.args])[0]]
        return Derived(node.rel, self._over(rows_of(self._context, node.function, args), node.columns))

    def _literal(self, arg: Expr) -> Expr:
        """An argument that names no column as its value."""
        if isinstance(arg, Constant):
            return arg
        table = _table(_engine(self._context, Select((OutputColumn("k1", arg.type),), (arg,)), self._frames))
        return literal(self._context, arg.type, table.column(0).combine_chunks())

    def _over(self, table: pa.Table, columns: Sequence[OutputColumn]) -> Select:
        """A query of rows that are there already."""
        rel = self._fresh()
        name = f"gpudb drawn rows {rel}"
        outputs = tuple(OutputColumn(f"k{n}", column.type) for n, column in enumerate(columns, 1))
        self._frames[name] = table.rename_columns([output.name for output in outputs])
        targets = tuple(Column(rel, index, output.type, output.name) for index, output in enumerate(outputs))
        return Select(tuple(columns), targets, FrameScan(rel, name, outputs))

    # ---- single rows

    def _folded_values(self, query: Values) -> Values:
        return replace(query, rows=tuple(self._folded(query.rows)))

    def _folded(self, rows: Sequence[tuple[Expr, ...]]) -> list[tuple[Expr, ...]]:
        """Rows with every call replaced by its value, drawn in the order in which they stand."""
        counts: dict[object, int] = {}
        only_next = True
        for node in (node for row in rows for expr in row for node in walk(expr) if _is_call(node)):
            only_next = only_next and node.function.name == "nextval"
            reference = _reference(node.args[0]) if node.args else None
            counts[reference] = counts.get(reference, 0) + 1
        blocks: dict[object, Iterator[int]] = {}
        if only_next and None not in counts and len(rows) > 1:
            for reference, count in counts.items():
                sequence = values.named_sequence(self._context, reference)
                drawn = values.draw(self._context, sequence, count)
                blocks[reference] = iter([value for block in drawn for value in block])

        def change(node: Any) -> Any:
            if isinstance(node, Aggregate | Window | SetReturning) and draws(node):
                raise FeatureNotSupported("a sequence function is not supported here")
            _check_taken(node)
            if not _is_call(node):
                return None
            if node.function.oid >= FIRST_USER_OID:
                literals = [self._literal(mapped(arg, change)) for arg in node.args]
                found = rows_of(self._context, node.function, literals).column(0).combine_chunks()
                return literal(self._context, node.type, found)
            if blocks:
                return Constant(next(blocks[_reference(node.args[0])]), INT8)
            args = tuple(self._known(mapped(arg, change)) for arg in node.args)
            return Constant(called(self._context, node.function.name, args), INT8)

        return [tuple(mapped(expr, change) for expr in row) for row in rows]

    def _known(self, arg: Expr) -> object:
        """The value of an argument that names no column: of a regclass an OID, or a name."""
        found = _reference(arg)
        if found is not None or (isinstance(arg, Constant) and arg.value is None):
            return found
        if any(isinstance(each, SetReturning) for each in walk(arg)):
            raise FeatureNotSupported("a set-returning function as an argument of a sequence function is not supported")
        query = Select((OutputColumn("k1", _sent(arg).type),), (_sent(arg),))
        (value,) = _table(_engine(self._context, query, self._frames)).column(0).to_pylist()
        return value


def called(context: Context, name: str, args: Sequence[object]) -> int | None:
    """A sequence function's value; all but lastval are strict."""
    if name == "lastval":
        return values.lastval(context)
    if args[0] is None or (isinstance(args[0], int) and None in args):
        return None
    sequence = values.named_sequence(context, args[0])
    if None in args:
        return None  # a name has been looked up all the same
    if name == "nextval":
        return values.draw(context, sequence, 1)[0][0]
    if name == "currval":
        return values.currval(context, sequence)
    value = args[1]
    assert isinstance(value, int)
    return values.setval(context, sequence, value, len(args) < 3 or args[2] is True)


def _reference(arg: Expr) -> object:
    """What a constant argument says; None for any other."""
    if isinstance(arg, Cast) and arg.type.name == "regclass":
        arg = arg.arg.arg if isinstance(arg.arg, Cast) and arg.arg.type.name == "text" else arg.arg
    return arg.value if isinstance(arg, Constant) else None


def _sent(arg: Expr) -> Expr:
    """An argument as an engine is to give it: of a regclass its OID."""
    return Cast(arg, OID) if arg.type.name == "regclass" else arg


def _single(query: Select) -> bool:
    return query.source is None and query.where is None and query.limit is None and query.offset is None


def _check_places(query: Select) -> None:
    """Values can be drawn for the rows that come out; not for sorting, grouping or filtering them."""
    apart = [query.where, *query.group_by, query.having, *query.order_by, query.limit, query.offset, query.source]
    if query.distinct is True or any(part is not None and draws(part) for part in apart):
        message = "functions that draw values or change data are supported in select lists and lists of values alone"
        raise FeatureNotSupported(message)


class _Drawing:
    """The rows of a Select whose targets call sequence functions, as a stream.

    The engine gives what the targets are made of; a batch gets its drawn values as further columns, and the targets
    are computed over it, by the engine where they are more than a column or a narrower integer.
    """

    def __init__(
        self, context: Context, query: Select, frames: Mapping[str, pa.Table], rel: int, snapshot: Catalog
    ) -> None:
        self._context = context
        self._frames = frames
        self._name = f"gpudb drawn rows {rel}"
        self._rel = rel
        self._inner: list[Expr] = []
        self._calls: list[tuple[Call, tuple[Expr, ...]]] = []
        targets = [mapped(target, self._taken) for target in query.targets]
        width = len(self._inner)
        # Drawn values follow what the engine gives.
        self._targets = tuple(mapped(target, lambda node: self._placed(node, width)) for target in targets)
        self._calls = [(call, tuple(self._placed(arg, width) or arg for arg in args)) for call, args in self._calls]
        inner = self._inner or [Constant(1, INT8)]
        kinds = [expr.type for expr in inner]
        outputs = tuple(OutputColumn(f"k{n}", kind) for n, kind in enumerate(kinds, 1))
        self._given = len(inner) if self._inner else 0
        made = replace(query, columns=outputs, targets=tuple(inner))
        kinds = [*kinds[: self._given], *(call.type for call, _ in self._calls)]
        self._columns = tuple(OutputColumn(f"k{n}", kind) for n, kind in enumerate(kinds, 1))
        self._outputs = query.columns
        self._stream = _engine(context, made, frames, snapshot)
        self.schema = pa.schema([pa.field(f"c{n}", c.type.arrow) for n, c in enumerate(query.columns, 1)])

    def _taken(self, node: Any) -> Any:
        """A part without calls becomes a column of the engine's, a call one of the drawn (numbered from -1 down)."""
        if isinstance(node, Constant):
            return node
        _check_taken(node)
        if _is_call(node):
            args = tuple(mapped(_sent(arg), self._taken) if _reference(arg) is None else arg for arg in node.args)
            self._calls.append((node, args))
            return Column(self._rel, -len(self._calls), node.type, node.function.name)
        if not draws(node):
            self._inner.append(node)
            return Column(self._rel, len(self._inner) - 1, node.type)
        if isinstance(node, Let) and not draws(node.body):
            # Its body is of what is bound there, and goes to the engine with it.
            return replace(node, values=tuple(mapped(value, self._taken) for value in node.values))
        if isinstance(node, Aggregate | Window | SetReturning) or not isinstance(node, Expr.__args__):
            raise FeatureNotSupported("a sequence function is not supported here")
        return None

    def _placed(self, node: Any, width: int) -> Any:
        if isinstance(node, Column) and node.rel == self._rel and node.index < 0:
            return replace(node, index=width - node.index - 1)
        return None

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        for batch in self._stream:
            drawn = self._drawn(batch)
            arrays = [*batch.columns[: self._given], *drawn]
            held = pa.Table.from_arrays(arrays, names=[column.name for column in self._columns])
            yield from self._finished(held)

    def _drawn(self, batch: pa.RecordBatch) -> list[pa.Array]:
        references = [_reference(args[0]) if call.function.oid == _NEXTVAL else None for call, args in self._calls]
        if None not in references:
            sequences = [values.named_sequence(self._context, reference) for reference in references]
            if len({sequence.oid for sequence in sequences}) == len(sequences):
                return [self._block(sequence, batch.num_rows) for sequence in sequences]
        return self._row_by_row(batch)

    def _block(self, sequence: Any, count: int) -> pa.Array:
        parts = values.draw(self._context, sequence, count)
        # the last value of a range may be the last int64 there is
        made = [np.int64(part[0]) + np.int64(part.step) * np.arange(len(part), dtype=np.int64) for part in parts]
        return pa.array(np.concatenate(made))

    def _row_by_row(self, batch: pa.RecordBatch) -> list[pa.Array]:
        made: list[list[pa.Array]] = [[] for _ in self._calls]
        for row in range(batch.num_rows):
            here = [column.slice(row, 1) for column in batch.columns[: self._given]]
            for (call, args), drawn in zip(self._calls, made, strict=True):
                if call.function.oid >= FIRST_USER_OID:
                    literals = [self._literal(arg, here) for arg in args]
                    value = rows_of(self._context, call.function, literals).column(0).combine_chunks()
                else:
                    known = [self._argument(arg, here) for arg in args]
                    value = pa.array([called(self._context, call.function.name, known)], pa.int64())
                drawn.append(value)
                here.append(value)
        return [
            pa.concat_arrays(drawn) if drawn else pa.nulls(0, call.type.arrow)
            for drawn, (call, _) in zip(made, self._calls, strict=True)
        ]

    def _literal(self, arg: Expr, here: list[pa.Array]) -> Expr:
        if isinstance(arg, Column) and arg.rel == self._rel:
            return literal(self._context, arg.type, here[arg.index])
        if not isinstance(arg, Constant):
            raise FeatureNotSupported("this argument of a function whose statements are carried out is not supported")
        return arg

    def _argument(self, arg: Expr, here: list[pa.Array]) -> object:
        if isinstance(arg, Column) and arg.rel == self._rel:
            return here[arg.index][0].as_py()
        found = _reference(arg)
        if found is None and not (isinstance(arg, Constant) and arg.value is None):
            raise FeatureNotSupported("this argument of a sequence function is not supported")
        return found

    def _finished(self, held: pa.Table) -> Iterator[pa.RecordBatch]:
        plain = [self._plain(held, target) for target in self._targets]
        if all(column is not None for column in plain):
            yield from pa.Table.from_arrays(plain, schema=self.schema).to_batches()
            return
        query = Select(self._outputs, self._targets, FrameScan(self._rel, self._name, self._columns))
        stream = _engine(self._context, query, {**self._frames, self._name: held})
        try:
            yield from stream
        finally:
            stream.close()

    def _plain(self, held: pa.Table, target: Expr) -> pa.ChunkedArray | None:
        """A target that is a column, or one of its integers that fits a narrower type; None for any other."""
        if isinstance(target, Column):
            return held.column(target.index)
        if isinstance(target, Cast) and isinstance(target.arg, Column) and _narrows(target.arg.type, target.type):
            try:
                return held.column(target.arg.index).cast(target.type.arrow)
            except pa.ArrowInvalid:
                return None  # the engine says what is wrong with it
        return None

    def close(self) -> None:
        """Ends the engine's query."""
        self._stream.close()


def _narrows(source: SqlType, target: SqlType) -> bool:
    return source == INT8 and target.name in _RANGES
