"""USING SAMPLE: some of the rows of FROM, before WHERE and groups, as in DuckDB.

A share of the rows is a condition over random numbers; a number of rows is the first ones in a random order. With
REPEATABLE a hash of the row's values and the seed takes the place of the random number: the same rows are chosen as
long as they are the same, and equal rows together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from gpudb.errors import FeatureNotSupported, SqlError
from gpudb.sql.bind.base import Binder
from gpudb.sql.bind.expressions.calls import call_function
from gpudb.sql.bind.expressions.operators import apply_operator
from gpudb.sql.bind.expressions.records import build_row
from gpudb.sql.bind.query.table_sample import is_below_share, is_drawn
from gpudb.sql.bind.scope import Scope
from gpudb.sql.bind.types.coercion import coerce
from gpudb.sql.bound import Column, Constant, Derived, Expr, From, OutputColumn, Select, SortKey
from gpudb.sql.parse.friendly.sample import SAMPLE
from gpudb.sql.parse.parser import inner, kind, strings
from gpudb.sql.parse.values import read_constant
from gpudb.types import INT8, TEXT


class Sample(NamedTuple):
    """A USING SAMPLE: its size, whether that is in percent, its method and seed, and its place in the text."""

    size: float
    percent: bool
    method: str
    seed: str | None
    location: int


def take_sample(nodes: Sequence[Any]) -> tuple[Sequence[Any], Sample | None]:
    """Returns the items of a FROM list without USING SAMPLE, which is the last one, and that if there is one."""
    last = nodes[-1] if len(nodes) else None
    if last is None or kind(last) != "range_function":
        return nodes, None
    call = inner(inner(last).functions[0]).items[0]
    if kind(call) != "func_call" or strings(inner(call).funcname) != (SAMPLE,):
        return nodes, None
    size, unit, method, seed = (read_constant(inner(each)) for each in inner(call).args)
    given = None if inner(inner(call).args[3]).isnull else str(seed)
    return nodes[:-1], Sample(float(str(size)), unit == "percent", str(method), given, inner(call).location)


def apply_sample(binder: Binder, scope: Scope, source: From | None, sample: Sample) -> tuple[From | None, Expr | None]:
    """Returns the sampled FROM and the condition on its rows; 2202H for a size or method that is none.

    Call it before anything but FROM is bound.
    """
    problem = _find_problem(sample)
    if problem is not None:
        raise binder.locate(SqlError.of("invalid_tablesample_argument", problem), sample.location)
    assert source is not None
    if not sample.percent:
        return _take_rows(binder, scope, source, sample), None
    if sample.seed is None:
        return source, is_drawn(binder, sample.size)
    return source, is_below_share(binder, _digest(binder, scope, sample.seed), sample.size)


def _find_problem(sample: Sample) -> str | None:
    if sample.percent:
        return None if 0 <= sample.size <= 100 else "sample percentage must be between 0 and 100"
    if sample.method in ("bernoulli", "system"):
        return f"sample method {sample.method} cannot take a number of rows"
    return None if sample.size.is_integer() else "a number of rows must be an integer"


def _digest(binder: Binder, scope: Scope, seed: str) -> Expr:
    """Returns a hash of the values of a row and a seed, as hexadecimal text."""
    values = [expr for _, expr in scope.columns]
    for each in values:
        binder.accesses.select(each)
    row = coerce(binder, build_row(values), TEXT, "e")
    return call_function(binder, "md5", (apply_operator(binder, "||", row, Constant(f" {seed}", TEXT)),))


def _take_rows(binder: Binder, scope: Scope, source: From, sample: Sample) -> Derived:
    """Returns a number of rows of FROM as a subquery, to whose columns the names in scope refer from now on."""
    if any(item.nullable for item in scope.items):
        hint = "Put the join into a subquery."
        error = FeatureNotSupported("USING SAMPLE of a number of rows of an outer join is not supported", hint=hint)
        raise binder.locate(error, sample.location)
    order = call_function(binder, "random", ()) if sample.seed is None else _digest(binder, scope, sample.seed)
    parts: list[Expr] = []
    for expr in (expr for columns in (scope.columns, *(item.columns for item in scope.items)) for _, expr in columns):
        if expr not in parts:
            binder.accesses.select(expr)
            parts.append(expr)
    columns = tuple(OutputColumn(f"c{number}", each.type) for number, each in enumerate(parts, 1))
    key = SortKey(order, descending=False, nulls_first=False)
    query = Select(columns, tuple(parts), source, order_by=(key,), limit=Constant(int(sample.size), INT8))
    rel = binder.new_rel()

    def move(columns: Sequence[tuple[str, Expr]]) -> tuple[tuple[str, Expr], ...]:
        return tuple((name, Column(rel, parts.index(expr), expr.type, name)) for name, expr in columns)

    scope.items = [replace(item, columns=move(item.columns), hidden=()) for item in scope.items]
    scope.columns, scope.rels = list(move(scope.columns)), {rel}
    return Derived(rel, query)
